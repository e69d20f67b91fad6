"""Scripted noise with a transcript: the exact law of a whole pipeline, also of what it draws and does not publish.

Every draw takes all values of a small set in turn, and its chance is that of the law the code asked for. What a draw is
added to is written down, so that an outcome is every noisy value the pipeline saw, and what it published. Noise
that is too small loses more than ε; noise that was left out, or drawn and not used, loses less or leads to one outcome
in two ways; a decision on raw rows gives outcomes that the neighbour cannot have.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.noise.stream import watch

REAL = {name: getattr(noise, name) for name in ("discrete_laplace", "max_norm_laplace")}


class Drawn(np.ndarray):
    """Noise that notes what it is added to."""

    notes: list[Any]
    touched: list[bool]

    def __array_finalize__(self, made: Any) -> None:
        self.notes, self.touched = getattr(made, "notes", []), getattr(made, "touched", [])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **more: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, Drawn) else x for x in inputs]
        if out is not None:
            getattr(ufunc, method)(*plain, out=tuple(x.view(np.ndarray) for x in out), **more)
            self.touched.append(True)
            return out[0]
        made = getattr(ufunc, method)(*plain, **more)
        if ufunc in (np.add, np.subtract):
            self.notes.append(made.tolist())
        return made


class Number(int):
    """The same for a single draw."""

    notes: list[Any]

    def __add__(self, other: Any) -> Any:
        made = int(self) + other
        self.notes.append(made)
        return made

    __radd__ = __add__


class Script:
    """Noise that takes all combinations of the values it may have, run after run.

    ``values(kind, i)`` are the values of an entry of the i-th draw of a kind ("number" or "vector") in a run.
    """

    def __init__(self, values: Callable[[str, int], Sequence[Any]]) -> None:
        self._values = values
        self._path: list[list[int]] = []  # of every entry drawn: which value, of how many

    def start(self) -> None:
        self._place, self.log_chance, self.notes = 0, 0.0, []
        self._draws = {"number": 0, "vector": 0}
        self._vectors: list[Drawn] = []

    def advance(self) -> bool:
        """Go to the next combination; tell whether there is one."""
        del self._path[self._place :]
        while self._path and self._path[-1][0] + 1 == self._path[-1][1]:
            self._path.pop()
        if self._path:
            self._path[-1][0] += 1
        return bool(self._path)

    def transcript(self) -> str:
        """All noisy values: what was made from draws, and draws that something was added to in place."""
        return f"{self.notes} {[drawn.tolist() for drawn in self._vectors if drawn.touched]}"

    def _next(self, values: Sequence[Any]) -> Any:
        if self._place == len(self._path):
            self._path.append([0, len(values)])
        self._place += 1
        return values[self._path[self._place - 1][0]]

    def _drawn(self, z: Any) -> Any:
        made = np.asarray(z, dtype=np.int64).view(Drawn)
        made.notes, made.touched = self.notes, []
        return made

    def discrete_laplace(self, scale: Any, size: Any = None, rng: object = None) -> Any:
        values, law = self._values("number", self._draws["number"]), noise.DiscreteLaplace(scale)
        self._draws["number"] += 1
        shape = (1,) if size is None else (size,) if isinstance(size, int) else tuple(size)
        z = np.array([self._next(values) for _ in range(math.prod(shape))], dtype=np.int64).reshape(shape)
        self.log_chance += float(np.sum(law.logpmf(z)))
        watch.drew("laplace", scale, z.size, rng)
        if size is None:
            number = Number(z[0])
            number.notes = self.notes
            return number
        return self._drawn(z)

    def max_norm_laplace(self, scale: Any, dimension: int, size: int, rng: object = None) -> Any:
        values = self._values("vector", self._draws["vector"])
        self._draws["vector"] += 1
        z = np.array([self._next(values) for _ in range(size)], dtype=np.int64).reshape(size, dimension)
        self.log_chance += float(np.sum(log_top(scale, dimension) - np.abs(z).max(axis=1) / float(scale)))
        watch.drew("max-norm", scale, size, rng)
        made = self._drawn(z)
        self._vectors.append(made)
        return made


@functools.lru_cache
def log_top(scale: Any, dimension: int) -> float:
    """Log-probability of zero under max-norm noise."""
    radius = np.arange(int(60 * dimension * scale) + 60)
    weights = np.exp(dimension * np.log(2 * radius + 1.0) - radius / float(scale))
    return -math.log(float(weights.sum()) * -math.expm1(-1 / float(scale)))


def law_of(fit: Callable[[Any], str], X: Any, script: Script) -> dict[str, float]:
    """Return the log-probability of every outcome, transcript included, that the script leads to."""
    law: dict[str, float] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name in REAL:
            patch.setattr(noise, name, getattr(script, name))
        while True:
            script.start()
            outcome = fit(X)
            outcome = f"{script.transcript()} {outcome}"
            assert outcome not in law, "two ways to one outcome: noise was drawn that nothing depends on"
            law[outcome] = script.log_chance
            if not script.advance():
                return law


def worst_loss(
    fit: Callable[[Any], str],
    rows: Sequence[Sequence[float]],
    row: Sequence[float] | Sequence[Sequence[float]],
    *,
    numbers: Callable[[int], Sequence[int]] = lambda draw: (0, 1),
    moves: Callable[[int], Sequence[int]] = lambda draw: (1,),
    vectors: Sequence[tuple[int, ...]] = (),
    moved: Sequence[tuple[int, ...]] = (),
) -> float:
    """Return the largest |log ratio| of any outcome when a row, or several, are put before the others, or taken away.

    ``numbers(i)`` are the values tried for the i-th draw of numbers, ``moves(i)`` what the row may add there;
    ``vectors`` and ``moved`` the same for draws of vectors. Signs turn when the row is removed. An outcome that the
    neighbour cannot have is an infinite loss.
    """
    added = np.atleast_2d(np.asarray(row, dtype=float))
    table = np.asarray(rows, dtype=float).reshape(-1, added.shape[1])
    more = np.vstack([added, table])
    worst = 0.0
    for X, other, sign in ((table, more, 1), (more, table, -1)):

        def narrow(kind: str, draw: int, sign: int = sign) -> list[Any]:
            if kind == "vector":
                return [tuple(sign * x for x in v) for v in vectors]
            return [sign * v for v in numbers(draw)]

        def wide(kind: str, draw: int, sign: int = sign, narrow: Any = narrow) -> list[Any]:
            found = narrow(kind, draw)
            if kind == "vector":
                shifted = {tuple(x - sign * m for x, m in zip(v, move, strict=True)) for v in found for move in moved}
                return sorted({*found, *shifted})
            return sorted({v - sign * m for v in found for m in (0, *moves(draw))})

        law, against = law_of(fit, X, Script(narrow)), law_of(fit, other, Script(wide))
        worst = max(worst, *(abs(p - against.get(outcome, -math.inf)) for outcome, p in law.items()))
    return worst
