"""A list of every public mechanism with the inputs it is audited on and the ε it must keep.

A test fails if a public mechanism is missing here. An entry is named after the public name, ``room.Name``, with a
variant after a slash: ``synopses.GridSynopsis/adaptive``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from discreet.errors import InvalidArgument
from discreet.evaluation.audits.black_box import audit
from discreet.evaluation.audits.exact import ExactAudit, exact_audit
from discreet.evaluation.audits.neighbours import NeighbourPair
from discreet.evaluation.audits.result import AuditResult
from discreet.noise.stream import root_of


@dataclass(frozen=True, eq=False)
class AuditedMechanism:
    """A mechanism of this package as it is audited.

    Attributes
    ----------
    name : str
        The public name, and a variant after a slash.
    mechanism, batch, features, epsilon, delta
        As in `audit`.
    pairs : tuple of NeighbourPair
        Neighbouring inputs; the first uses up most of the promise.
    trials, tight
        Runs on each input in a quick audit; True if the first pair uses up the claim.
    law : callable or None
        The exact distribution of the release, for `exact_audit`.

    Examples
    --------
    >>> from discreet.evaluation import audited_mechanisms
    >>> entry = audited_mechanisms()["noise.discrete_laplace"]
    >>> entry.epsilon, entry.public, entry.pairs[0]
    (1.0, 'noise.discrete_laplace', NeighbourPair('no one against one row'))
    >>> found = entry.audit(20_000, random_state=1)[0]
    >>> found.passed, found.epsilon_lower > 0.8
    (True, True)
    """

    name: str
    mechanism: Callable[..., Any]
    pairs: tuple[NeighbourPair, ...]
    epsilon: float
    delta: float = 0.0
    batch: bool = True
    features: Any = None
    trials: int = 4000
    tight: bool = False
    law: Callable[[Any], Any] | None = field(default=None, repr=False)

    @property
    def public(self) -> str:
        """The public name that is audited."""
        return self.name.partition("/")[0]

    def audit(
        self, trials: int | None = None, confidence: float = 0.99, *, pairs: int | None = None,
        time_budget: float | None = None, workers: int | None = 1, progress: bool | None = False,
        random_state: object = None,
    ) -> list[AuditResult]:  # fmt: skip
        """Audit every pair, or the first few; ``time_budget`` is that of one pair."""
        root, runs = root_of(random_state) % 2**62, self.trials if trials is None else trials
        return [
            audit(
                self.mechanism, pair.data, pair.neighbour, runs, confidence, epsilon=self.epsilon, delta=self.delta,
                features=self.features, batch=self.batch, workers=workers, time_budget=time_budget, progress=progress,
                random_state=root + place,
            )
            for place, pair in enumerate(self.pairs[:pairs])
        ]  # fmt: skip

    def exact(self) -> ExactAudit | None:
        """Return the exact loss of the first pair; None if its distribution is not known."""
        if self.law is None:
            return None
        first = self.pairs[0]
        return exact_audit(self.law, first.data, first.neighbour, epsilon=self.epsilon, delta=self.delta)


@cache
def _listed() -> dict[str, AuditedMechanism]:
    rooms = (import_module(f"discreet.evaluation.registry.{room}") for room in ("noise", "central", "local", "metric"))
    return {entry.name: entry for room in rooms for entry in room.entries()}


def audited_mechanisms() -> dict[str, AuditedMechanism]:
    """Return every mechanism that promises an ε, by name. For anonymous tables see `audited_tables`.

    Examples
    --------
    >>> names = list(audited_mechanisms())
    >>> names[0], "local.DirectResponse" in names, len(names) > 60
    ('noise.discrete_laplace', True, True)
    """
    return dict(_listed())


def audited_mechanism(name: str) -> AuditedMechanism:
    """Return one mechanism; the error lists similar names.

    Examples
    --------
    >>> audited_mechanism("metric.Piecewise/duchi").epsilon
    1.0
    """
    listed = _listed()
    if name in listed:
        return listed[name]
    word = str(name).lower()
    near = [n for n in listed if word in n.lower() or n.partition("/")[0].lower() in word][:6]
    shown = ", ".join(near) if near else ", ".join(sorted({n.partition(".")[0] + ".*" for n in listed}))
    raise InvalidArgument("mechanism", name, f"a name of the list, such as {shown}", "discreet audit --list")
