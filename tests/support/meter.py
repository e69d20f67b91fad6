"""A meter on every release: what was drawn, against what its ledger says was paid.

The suite installs it for every test. It sees each draw of a sampler, each byte that a release takes from its stream,
the reason that the gate gives for it, and the promise at the end. It fails the test, whatever that is about, on a draw
or a byte without a reason, noise of another law or scale than the line states, a line cheaper than its noise, or a
promise below the sum of its lines.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from discreet.core.budget.draws import Draw
from discreet.core.budget.guarantee import Guarantee
from discreet.core.budget.ledger import Ledger, Line, add_up
from discreet.noise.stream import watch
from discreet.noise.stream.generator import Generator

#: Which samplers a line's law may use, and what they must report.
_SAMPLERS = {
    "laplace": ("laplace",),
    "gaussian": ("gaussian",),
    "max-norm": ("max-norm",),
    "isotropic": ("isotropic",),
    "privtree": ("laplace",),
    "choice": ("choice",),
    "choices": ("choice",),
    "flip": (),
    "selection": (),
    "sampling": (),
}
#: What public randomness may use: directions of projections.
_PUBLIC = ("gaussian",)


class Meter:
    """Watches all releases of a process; `faults` lists what was wrong."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.releases = 0
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        self._reasons: list[tuple[Any, Draw | None]] = []
        #: What the samplers reported for each draw that a line may state.
        self._drawn: dict[int, list[tuple[str, Fraction, int]]] = {}
        self._kept: list[Any] = []  # keeps ids of draws from being used again

    # ---- what the package tells

    def opened(self, stream: Any) -> None:
        self._open.add(stream)

    def began(self, stream: Any, reason: Draw | None) -> None:
        self._reasons.append((stream, reason))
        if reason is not None:
            self._kept.append(reason)

    def ended(self, stream: Any) -> None:
        _, reason = self._reasons.pop()
        if reason is None:
            return
        found = self._drawn.get(id(reason), [])
        scaled = _SAMPLERS[reason.law]
        if scaled and reason.law not in ("choice", "choices") and not found:
            self._fault(f"a line states {reason.law} noise and none was drawn")

    def drew(self, law: str, scale: Fraction, number: int, rng: Any) -> None:
        if not self._reasons:
            if isinstance(rng, Generator) and rng in self._open:
                self._fault(f"{law} noise of scale {scale} was drawn from a release's stream and is in no line")
            return
        _, reason = self._reasons[-1]
        if reason is None:
            if law not in _PUBLIC:
                self._fault(f"{law} noise was drawn as public randomness")
            return
        if law not in _SAMPLERS[reason.law]:
            self._fault(f"a line states {reason.law} noise, and {law} noise was drawn")
        elif reason.law in ("choice", "choices"):
            self._check_choice(reason, scale)
        elif scale != reason.scale:
            self._fault(f"a line states {reason.law} noise of scale {reason.scale}, and {scale} was drawn")
        self._drawn.setdefault(id(reason), []).append((law, scale, number))

    def took(self, stream: Any, number: int) -> None:
        if number and stream in self._open and not any(where is stream for where, _ in self._reasons):
            self._fault(f"{number} bytes of a release's stream were taken without a reason")

    def promised(self, ledger: Ledger, promise: Guarantee) -> None:
        self.releases += 1
        spent = add_up(promise.ledger)
        if spent > ledger.total.exact:
            self._fault(f"{spent} was spent of {ledger.total.exact}")
        if promise.spent.exact < spent:
            self._fault(f"{promise.spent.exact} is promised, and the lines add up to {spent}")
        for line in promise.ledger:
            self._check_line(line, promise.accounting)
        if promise.accounting == "epsilon" and promise.delta < sum(_deltas(promise.ledger)):
            self._fault(f"delta {promise.delta} is promised, and the lines add up to more")

    # ---- checks

    def _check_choice(self, reason: Draw, scale: Fraction) -> None:
        """Compare rates: a choice for ε has the rate ε over the span of its scores, whatever the span."""
        paid = Fraction(0) if not reason.scale else reason.moves / reason.scale
        used = math.inf if not scale else 1 / scale
        if (reason.scale == 0) != (scale == 0) or (scale and used > paid):
            self._fault(f"a line states a choice for {paid}, and {used} was used")

    def _check_line(self, line: Line, accounting: str) -> None:
        for part in line.parts:
            self._check_line(part, "epsilon" if line.kind == "pure" else accounting)
        if line.parts or line.unused:
            return
        if not line.draws:
            self._fault(f"the line {line.label!r} of a release has no draw")
        for draw in line.draws:
            if draw.cost(accounting) > line.amount:
                self._fault(f"the line {line.label!r} is cheaper than its noise")

    def _fault(self, text: str) -> None:
        self.faults.append(text)


def _deltas(lines: tuple[Line, ...]) -> list[float]:
    return [float(draw.delta) for line in lines for draw in line.draws] + [d for x in lines for d in _deltas(x.parts)]


@pytest.fixture(autouse=True)
def meter(request: pytest.FixtureRequest) -> Iterator[Meter]:
    """Fail the test if a release drew what it did not pay for.

    A test that looks at planted faults clears `Meter.faults`; one that replaces samplers is marked ``unmetered``.
    """
    watching = Meter()
    watch.watch(watching)
    yield watching
    watch.watch(None)
    assert not watching.faults or request.node.get_closest_marker("unmetered"), watching.faults
