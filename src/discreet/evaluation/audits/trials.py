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
        done, start = 0, (0, time.monotonic())
        for places in self._waves(sizes):
            wave = [(index, sizes[index]) for index in places]
            for (_, size), found in zip(wave, self._portions(phase, wave), strict=True):
                for side in (0, 1):
                    take(side, found[side])
                done += size
                self.meter.advance(size)
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

            Parallel(n_jobs=self.workers)([delayed(_ready)(place) for place in range(self.workers)])
            self._started = True

    def _waves(self, sizes: list[int]) -> Iterator[range]:
        """Yield positions of portions: one at a time here, several at a time over processes."""
        start = 0
        while start < len(sizes):
            step = 1 if (self.workers or 1) == 1 else 4 * int(self.workers or 1)
            yield range(start, min(start + step, len(sizes)))
            start += step

    def _portions(self, phase: int, wave: list[tuple[int, int]]) -> list[tuple[FloatArray, FloatArray]]:
        if len(wave) == 1 or (self.workers or 1) == 1:
            return [self._pair(phase, index, size) for index, size in wave]
        from sklearn.utils.parallel import Parallel, delayed

        work = [
            delayed(_portion)(self.game, self.features, self.columns, side, size, phase, index)
            for index, size in wave
            for side in (0, 1)
        ]
        try:
            found = list(Parallel(n_jobs=self.workers)(work))
        except pickle.PicklingError:  # it cannot leave this process
            self.workers = 1
            return [self._pair(phase, index, size) for index, size in wave]
        return list(zip(found[::2], found[1::2], strict=True))

    def _pair(self, phase: int, index: int, size: int) -> tuple[FloatArray, FloatArray]:
        first, second = (self.game.portion(self.features, self.columns, side, size, phase, index) for side in (0, 1))
        return first, second


def _sizes(pairs: int, first: int, largest: int) -> Iterator[int]:
    """Yield growing sizes of portions, so that the speed of a slow mechanism is known early."""
    left, size = pairs, first
    while left > 0:
        yield min(size, left)
        left -= size
        size = min(2 * size, largest)


def _ready(place: int) -> int:
    return place


def _portion(game: Game, features: FeatureMap, columns: Any, side: int, size: int, *place: int) -> FloatArray:
    return game.portion(features, columns, side, size, *place)
