"""The law of a whole pipeline by enumeration: the real `fit` with scripted noise, every outcome with its chance."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.noise.stream import watch
from scripted_noise import log_top

DRAWS = noise.discrete_laplace, noise.max_norm_laplace


class Script:
    """Noise that takes all combinations of the values it may have, run after run.

    ``numbers(i)`` are the values of an entry of the i-th draw of discrete Laplace noise of a run, ``vectors`` those of
    max-norm noise.
    """

    def __init__(self, numbers: Callable[[int], Sequence[int]], vectors: Sequence[tuple[int, ...]] = ()) -> None:
        self._numbers, self._vectors = numbers, vectors
        self._path: list[list[int]] = []  # of every entry drawn: which value, of how many

    def start(self) -> None:
        self._place, self._draws, self.log_chance = 0, 0, 0.0

    def advance(self) -> bool:
        """Go to the next combination; tell whether there is one."""
        del self._path[self._place :]
        while self._path and self._path[-1][0] + 1 == self._path[-1][1]:
            self._path.pop()
        if self._path:
            self._path[-1][0] += 1
        return bool(self._path)

    def _next(self, values: Sequence[Any]) -> Any:
        if self._place == len(self._path):
            self._path.append([0, len(values)])
        self._place += 1
        return values[self._path[self._place - 1][0]]

    def discrete_laplace(self, scale: Any, size: Any = None, rng: object = None) -> Any:
        values, law = self._numbers(self._draws), noise.DiscreteLaplace(scale)
        self._draws += 1
        shape = (1,) if size is None else (size,) if isinstance(size, int) else tuple(size)
        z = np.array([self._next(values) for _ in range(math.prod(shape))], dtype=np.int64).reshape(shape)
        self.log_chance += float(np.sum(law.logpmf(z)))
        watch.drew("laplace", scale, z.size, rng)
        return int(z[0]) if size is None else z

    def max_norm_laplace(self, scale: Any, dimension: int, size: int, rng: object = None) -> Any:
        z = np.array([self._next(self._vectors) for _ in range(size)], dtype=np.int64).reshape(size, dimension)
        self.log_chance += float(np.sum(log_top(scale, dimension) - np.abs(z).max(axis=1) / float(scale)))
        watch.drew("max-norm", scale, size, rng)
        return z


def law_of(fit: Callable[[Any], str], X: Any, script: Script, patch: pytest.MonkeyPatch) -> dict[str, float]:
    """Return the log-probability of every outcome that the script leads to."""
    patch.setattr(noise, "discrete_laplace", script.discrete_laplace)
    patch.setattr(noise, "max_norm_laplace", script.max_norm_laplace)
    law: dict[str, float] = {}
    while True:
        script.start()
        outcome = fit(X)
        assert outcome not in law  # one way to each: its chance is known in full
        law[outcome] = script.log_chance
        if not script.advance():
            break
    patch.setattr(noise, "discrete_laplace", DRAWS[0])
    patch.setattr(noise, "max_norm_laplace", DRAWS[1])
    return law


def worst_loss(
    fit: Callable[[Any], str],
    rows: list[float],
    row: float,
    patch: pytest.MonkeyPatch,
    *,
    sizes: range = range(1),
    vectors: Sequence[tuple[int, int]] = (),
    moved: Sequence[tuple[int, int]] = (),
    either: Collection[int] = (),
) -> float:
    """Return the largest |log ratio| of any outcome when a row is added, or removed again.

    Tried are noise of 0 and 1 (of 0 and -1 when the row is removed), ``sizes`` for the first draw, that of the number
    of rows, and ``vectors`` for those of means; ``moved`` is what the row may add to the vector of its leaf. ``either``
    names draws of numbers that the row may raise or lower. An outcome that the neighbour cannot have is an infinite
    loss.
    """
    table, more = np.reshape(rows, (-1, 1)), np.reshape([*rows, row], (-1, 1))
    worst = 0.0
    for X, other, step in ((table, more, 1), (more, table, -1)):

        def reach(draw: int, *, wide: bool, step: int = step) -> list[int]:
            values = sizes if draw == 0 else (0, step)
            moves = range(-1, 2) if draw in either else range(2)
            return sorted({v - step * w for v in values for w in (moves if wide else [0])})

        shifted = {(v[0] - step * m[0], v[1] - step * m[1]) for v in vectors for m in moved}
        narrow = Script(functools.partial(reach, wide=False), vectors)
        wide = Script(functools.partial(reach, wide=True), sorted({*vectors, *shifted}))
        law, against = law_of(fit, X, narrow, patch), law_of(fit, other, wide, patch)
        worst = max(worst, *(abs(p - against.get(outcome, -math.inf)) for outcome, p in law.items()))
    return worst
