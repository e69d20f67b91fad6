"""Runs of a mechanism on two inputs, in portions with their own random streams, over processes where that pays.

The stream of a portion depends on the seed and its position only, so the number of workers does not matter.
"""

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import FloatArray, Meter
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.audits.features import FeatureMap
from discreet.noise.hashing import cores
from discreet.noise.stream import numpy_stream

#: Takes the side (0 or 1) and the features of a portion of releases.
Take = Callable[[int, FloatArray], None]

#: Releases in the first portion and in the largest: one by one, and in batches.
_SINGLE, _BATCH = (1, 256), (1 << 12, 1 << 16)
#: Seconds of work left below which processes are not worth starting.
_WORTH = 20.0
#: Seconds after which the speed is known.
_SEEN = 0.5


@dataclass(frozen=True)
class Game:
    """A mechanism on two inputs."""

    mechanism: Callable[..., Any]
    inputs: tuple[Any, Any]
    root: int
    batch: bool

    def releases(self, side: int, size: int, *place: int) -> Any:
        """Return ``size`` releases of one input, as a list or an array."""
        rng = numpy_stream(self.root, side, *place)
        if not self.batch:
            return [self.mechanism(self.inputs[side], rng) for _ in range(size)]
        found = self.mechanism(self.inputs[side], rng, size)
        if not hasattr(found, "__len__"):
            kind = type(found).__name__
            raise InvalidType("mechanism", kind, "one that returns a list or array with batch=True", "batch=False")
        if len(found) != size:
            raise InvalidArgument(
                "mechanism", f"{len(found)} releases", f"one that returns the {size} releases asked for", "batch=False"
            )
        return found

    def portion(self, features: FeatureMap, columns: Any, side: int, size: int, *place: int) -> FloatArray:
        """Return the features of ``size`` releases."""
        releases = self.releases(side, size, *place)
        found = features.batch(releases) if self.batch else np.array([features(r) for r in releases], np.float64)
        found = found.reshape(size, len(features.names))
        return found if columns is None else np.ascontiguousarray(found[:, columns])


class Runner:
    """Runs portions of a game, alternating between the inputs; ``workers=None`` starts processes for long work."""

    def __init__(self, game: Game, features: FeatureMap, columns: Any, workers: int | None, meter: Meter) -> None:
        self.game, self.features, self.columns, self.meter = game, features, columns, meter
        self.workers = workers
        self.speed = 0.0  # pairs of releases per second
        self._started = False

    def run(self, phase: int, pairs: int, take: Take, *, deadline: float | None = None, ahead: int = 0) -> int:
        """Run ``pairs`` releases of each input, or fewer if the deadline passes; return how many.

        Releases that are counted have no deadline: their number is fixed beforehand. ``ahead`` releases of later
        phases count in the decision to start processes.
        """
        sizes = list(_sizes(pairs, *(_BATCH if self.game.batch else _SINGLE)))
        self._start()
        done, place, start = 0, 0, (0, time.monotonic())
        while place < len(sizes):
            wave = sizes[place : place + (1 if (self.workers or 1) == 1 else 4 * int(self.workers or 1))]
            for i, found in enumerate(self._portions(phase, place, wave)):
                take(i % 2, found)
            place, done = place + len(wave), done + sum(wave)
            self.meter.advance(sum(wave))
            now = time.monotonic()
            spent = max(now - start[1], 1e-9)
            self.speed = (done - start[0]) / spent
            if deadline is not None and now >= deadline:
                break
            if not start[0]:  # the first runs load and compile: they say little of the speed
                start = (done, now)
            elif self.workers is None and spent > _SEEN and (pairs - done + ahead) / self.speed > _WORTH:
                self.workers = cores()
                self._start()
                start = (done, time.monotonic())
        return done

    def _start(self) -> None:
        """Start the processes, so that their start is not part of the measured speed."""
        if self.workers is not None and self.workers > 1 and not self._started:
            from sklearn.utils.parallel import Parallel, delayed

            Parallel(n_jobs=self.workers)([delayed(int)(0) for _ in range(self.workers)])
            self._started = True

    def _portions(self, phase: int, place: int, wave: list[int]) -> list[FloatArray]:
        """Return the features of portions of releases, for both inputs in turn."""
        both = [(i, size, side) for i, size in enumerate(wave) for side in (0, 1)]
        jobs = [(self.features, self.columns, side, size, phase, place + i) for i, size, side in both]
        if len(wave) > 1:
            from sklearn.utils.parallel import Parallel, delayed

            try:
                return list(Parallel(n_jobs=self.workers)([delayed(self.game.portion)(*job) for job in jobs]))
            except pickle.PicklingError:  # it cannot leave this process
                self.workers = 1
        return [self.game.portion(*job) for job in jobs]


def _sizes(pairs: int, first: int, largest: int) -> Iterator[int]:
    """Yield growing sizes of portions, so that the speed of a slow mechanism is known early."""
    left, size = pairs, first
    while left > 0:
        yield min(size, left)
        left -= size
        size = min(2 * size, largest)
