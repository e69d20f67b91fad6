"""Audits by running a mechanism many times on two neighbouring inputs, which bounds ε from below.

The method (Ding et al. 2018; Bichsel et al. 2021; Jagielski, Ullman and Oprea 2020) looks for an event that is much
more likely on one input. Half of the runs choose it, the other half count it: the choice cannot make the bound wrong.
"""

import copy
import math
import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, cast

import numpy as np

from discreet.core import FloatArray, IntArray, Meter, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.audits.event_scores import Event, choose
from discreet.evaluation.audits.features import FeatureMap, OwnFeatures, flatten
from discreet.evaluation.audits.release_features import features_for
from discreet.evaluation.audits.result import AuditResult, lower_bound, read_claim, read_delta
from discreet.noise.hashing import cores
from discreet.noise.stream import numpy_stream, root_of

# The stream of a portion depends on the seed and its position only, so the number of workers does not matter.

#: Takes the side (0 or 1) and the features of a portion of releases.
Take = Callable[[int, FloatArray], None]

#: Releases in the first portion and in the largest: one by one, and in batches.
_SINGLE, _BATCH = (1, 256), (1 << 12, 1 << 16)
#: Seconds of work left below which processes are not worth starting.
_WORTH = 20.0
#: Seconds after which the speed is known.
_SEEN = 0.5
#: Parts of an input that a mechanism could change.
_CHANGEABLE = (list, dict, set, bytearray, np.ndarray)
#: Releases of each input to look at until one holds anything.
_LOOKS = 20


@dataclass(frozen=True)
class Game:
    """A mechanism on two inputs."""

    mechanism: Callable[..., Any]
    inputs: tuple[Any, Any]
    root: int
    batch: bool

    def releases(self, side: int, size: int, *place: int) -> Any:
        rng, data = numpy_stream(self.root, side, *place), self.inputs[side]
        fresh = _copying(data)
        if not self.batch:
            return [self.mechanism(fresh(data), rng) for _ in range(size)]
        found = self.mechanism(fresh(data), rng, size)
        if not hasattr(found, "__len__"):
            kind = type(found).__name__
            raise InvalidType("mechanism", kind, "one that returns a list or array with batch=True", "batch=False")
        if len(found) != size:
            raise InvalidArgument(
                "mechanism", f"{len(found)} releases", f"one that returns the {size} releases asked for", "batch=False"
            )
        return found

    def portion(self, features: FeatureMap, columns: Any, side: int, size: int, *place: int) -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first look has shown them
            releases = self.releases(side, size, *place)
        found = features.batch(releases) if self.batch else np.array([features(r) for r in releases], np.float64)
        found = found.reshape(size, len(features.names))
        return found if columns is None else np.ascontiguousarray(found[:, columns])


def _copying(data: Any) -> Callable[[Any], Any]:
    """Return how to copy an input, so that a mechanism that changes it does not change that of later runs."""
    if isinstance(data, (list, tuple, dict, set)):
        inner = data.values() if isinstance(data, dict) else data
        return copy.deepcopy if any(isinstance(x, _CHANGEABLE) for x in inner) else copy.copy
    return methodcaller("copy") if isinstance(data, (np.ndarray, bytearray)) or hasattr(data, "iloc") else _same


def _same(data: Any) -> Any:
    return data


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

            Parallel(n_jobs=self.workers)([delayed(abs)(0) for _ in range(self.workers)])
            self._started = True

    def _portions(self, phase: int, place: int, wave: list[int]) -> list[FloatArray]:
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


#: Places of the streams: the first look, screening, choosing, counting.
_LOOK, _SCREEN, _CHOOSE, _COUNT = range(4)
#: More features than this are thinned out by a few runs of their own.
_MOST_FEATURES, _FIRST_FEATURES = 64, 8
_SCREENED = 400
_LEAST, _FEWEST = 50, 10


def audit(
    mechanism: Callable[..., Any], data: Any, neighbour: Any, trials: int = 100_000, confidence: float = 0.99, *,
    epsilon: float | None = None, delta: float = 0.0, features: Callable[[Any], Any] | None = None,
    batch: bool = False, workers: int | None = None, time_budget: float | None = None, progress: bool | None = None,
    random_state: object = None,
) -> AuditResult:  # fmt: skip
    """Bound the ε of a mechanism from below by running it on two neighbouring inputs.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng)`` makes one release with the given `numpy.random.Generator`. Each call must be a fresh
        release. It gets a copy of a list, mapping, array or data frame, which it may change: about 1 ms per run for an
        array of a million numbers. Its warnings are shown in the first run only.
    data, neighbour : object
        Two neighbouring inputs. Only the mechanism reads them, and the default features for the differing records.
    trials : int, default 100000
        Runs on each input. Half of them choose the event, half count it.
    confidence : float, default 0.99
        Confidence of the bound.
    epsilon : float, optional
        The claim.
    delta : float, default 0
        The δ of the claim.
    features : callable, optional
        Turns a release into numbers; by default chosen by the type of the release.
    batch : bool, default False
        If True, the mechanism is called as ``mechanism(data, rng, size)`` and returns that many independent releases as
        an array or list. Your own features then get the whole batch and return an array of shape (size, k).
    workers : int, optional
        Processes. By default as many as there are cores if the work is long and can be sent to other processes. The
        result does not depend on it.
    time_budget : float, optional
        Seconds. If the runs do not fit, fewer are made; their number is fixed before the first counted run.
    progress : bool, optional
        True shows a progress bar, False none, None shows one on a terminal if the work is long.
    random_state : None, int or Generator
        Seed of all runs.

    Notes
    -----
    Events are half lines of a feature, sets of cells or outcomes, and sets where a likelihood ratio or a classifier
    exceeds a cut. The first half of the runs chooses one event. On the second half it occurs k and m times in n runs
    each. With the Clopper-Pearson bounds p⁻(k) and q⁺(m), each at (1 - confidence)/2, the result is
    max(0, ln((p⁻ - δ)/q⁺)), at most about ln(n) - ln ln(2/(1 - confidence)).

    Examples
    --------
    >>> def leaky(data, rng, size):          # claims ε = 1, draws noise for ε = 2
    ...     return len(data) + rng.laplace(scale=0.5, size=size)
    >>> found = audit(leaky, [3, 4], [3], epsilon=1, batch=True, random_state=7)
    >>> found.passed, round(found.epsilon_lower, 1)
    (False, 1.9)
    """
    if not callable(mechanism):
        raise InvalidType("mechanism", mechanism, "a function mechanism(data, rng)", "mechanism=lambda data, rng: ...")
    total = checks.whole("trials", trials, low=2 * _LEAST)
    level = float(checks.probability("confidence", confidence))
    claimed, slack = read_claim(epsilon), read_delta(delta)
    seconds = None if time_budget is None else float(checks.positive("time_budget", time_budget))
    if workers is not None:
        checks.whole("workers", workers, low=1, high=256)
    if features is not None and not callable(features):
        raise InvalidType("features", features, "a function from a release to numbers, or None", "features=None")
    begun = time.monotonic()
    game = Game(mechanism, (data, neighbour), root_of(random_state), bool(batch))
    chosen = _features(game, features)
    with Meter(total, progress) as meter:
        columns = _screen(Runner(game, chosen, None, workers, meter), begun, seconds)
        runner = Runner(game, chosen, columns, workers, meter)
        names = chosen.names if columns is None else tuple(chosen.names[c] for c in columns)
        first, event = _choose(runner, total // 2, names, 1 - level, slack, begun, seconds)
        counted = total - total // 2
        if seconds is not None:
            left = begun + seconds - time.monotonic()
            counted = min(counted, max(int(0.9 * runner.speed * left), _FEWEST))
        hits = _count(runner, counted, event)
    likelier, other = hits if event.first else hits[::-1]
    bound = lower_bound(likelier, other, counted, 1 - level, slack)
    estimate = _estimate(likelier / counted, other / counted, slack)
    counts = {"data": hits[0], "neighbour": hits[1]}
    return AuditResult(
        bound, claimed, level, slack, first + counted, counted, event.words, "data" if event.first else "neighbour",
        counts, estimate, names, time.monotonic() - begun,
    )  # fmt: skip


def _estimate(p: float, q: float, delta: float) -> float:
    if p <= delta:
        return 0.0
    return max(0.0, math.log((p - delta) / q)) if q else math.inf


def _features(game: Game, own: Callable[[Any], Any] | None) -> FeatureMap:
    """Choose the feature map by a first release, which takes no part in the audit."""
    look = game.releases(0, 2 if game.batch else 1, _LOOK, 0)
    if own is not None:
        if hasattr(own, "names") and hasattr(own, "batch"):
            return cast(FeatureMap, own)
        return OwnFeatures(own, look if game.batch else look[0], game.batch)
    for i in range(2, 2 * _LOOKS):
        if not _empty(look[0]):
            break
        look = game.releases(i % 2, 2 if game.batch else 1, _LOOK, i)
    if _empty(look[0]):
        got = "None" if look[0] is None else "NaN"
        raise InvalidType("mechanism", got, "a function that returns its release (is a return missing?)")
    return features_for(look[0], *game.inputs)


def _empty(release: Any) -> bool:
    """Return whether a release is None, or numbers that are all missing."""
    numbers = isinstance(release, (float, np.floating)) or (isinstance(release, np.ndarray) and release.size)
    if isinstance(release, (list, tuple)) and release:
        return all(map(_empty, release))
    return release is None or (bool(numbers) and bool(np.isnan(flatten(release)).all()))


def _screen(runner: Runner, begun: float, seconds: float | None) -> IntArray | None:
    """Reduce many features to the first ones and those whose means differ most, on separate runs."""
    if len(runner.features.names) <= _MOST_FEATURES:
        return None
    _, tables = _gathered(runner, _SCREEN, _SCREENED, None if seconds is None else begun + 0.1 * seconds)
    known = [np.isfinite(x) for x in tables]
    counts = [np.maximum(k.sum(axis=0), 1) for k in known]
    means = [np.where(k, x, 0.0).sum(axis=0) / c for x, k, c in zip(tables, known, counts, strict=True)]
    parts = zip(tables, known, means, counts, strict=True)
    squares = [(np.where(k, x - m, 0.0) ** 2).sum(axis=0) / c**2 for x, k, m, c in parts]
    gap = np.abs(means[0] - means[1])
    strength = np.where(gap > 0, gap / np.sqrt(squares[0] + squares[1] + 1e-300), 0.0)
    strength = np.maximum(strength, np.abs(counts[0] - counts[1]) / math.sqrt(len(tables[0])))
    strength[:_FIRST_FEATURES] = np.inf
    return np.sort(np.argsort(-strength, kind="stable")[:_MOST_FEATURES])


def _choose(
    runner: Runner, pairs: int, names: tuple[str, ...], miss: float, delta: float, begun: float, seconds: float | None
) -> tuple[int, Event]:
    deadline = None if seconds is None else begun + 0.4 * seconds
    done, tables = _gathered(runner, _CHOOSE, pairs, deadline, pairs)
    if all(bool(np.isnan(table).all()) for table in tables):
        raise InvalidArgument("features", "NaN in every run", "a function that returns numbers", "features=None")
    texts = getattr(runner.features, "texts", None)
    return done, choose(tables[0], tables[1], names, texts, miss=miss, delta=delta, seed=runner.game.root % 2**32)


def _gathered(
    runner: Runner, phase: int, pairs: int, deadline: float | None, ahead: int = 0
) -> tuple[int, list[FloatArray]]:
    """Return how many releases of each input were made, and their features."""
    kept: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    done = runner.run(phase, pairs, lambda side, X: kept[side].append(X), deadline=deadline, ahead=ahead)
    return done, [np.concatenate(part) for part in kept]


def _count(runner: Runner, pairs: int, event: Event) -> tuple[int, int]:
    hits: tuple[list[int], list[int]] = ([], [])
    runner.run(_COUNT, pairs, lambda side, X: hits[side].append(event.count(X)))
    return sum(hits[0]), sum(hits[1])
