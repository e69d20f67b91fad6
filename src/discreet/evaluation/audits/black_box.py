"""Audits by running a mechanism many times on two neighbouring inputs, which bounds ε from below.

The method (Ding et al. 2018; Bichsel et al. 2021; Jagielski, Ullman and Oprea 2020) looks for an event that is much
more likely on one input. Half of the runs choose it, the other half count it: the choice cannot make the bound wrong.
"""

import math
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from discreet.core import FloatArray, IntArray, Meter, checks
from discreet.errors import InvalidType
from discreet.evaluation.audits.bounds import lower_bound, read_claim, read_delta
from discreet.evaluation.audits.events import Event, choose
from discreet.evaluation.audits.features import FeatureMap, OwnFeatures
from discreet.evaluation.audits.release_features import features_for
from discreet.evaluation.audits.result import AuditResult
from discreet.evaluation.audits.trials import Game, Runner
from discreet.noise.stream import root_of

#: Places of the streams: the first look, screening, choosing, counting.
_LOOK, _SCREEN, _CHOOSE, _COUNT = range(4)
#: More features than this are thinned out by a few runs of their own.
_MOST_FEATURES, _FIRST_FEATURES = 64, 8
_SCREENED = 400
_LEAST, _FEWEST = 50, 10


def audit(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    trials: int = 100_000,
    confidence: float = 0.99,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    features: Callable[[Any], Any] | None = None,
    batch: bool = False,
    workers: int | None = None,
    time_budget: float | None = None,
    progress: bool | None = None,
    random_state: object = None,
) -> AuditResult:
    """Bound the ε of a mechanism from below by running it on two neighbouring inputs.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng)`` makes one release with the given `numpy.random.Generator`. Each call must be a fresh
        release.
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
        counted = _affordable(total - total // 2, runner.speed, begun, seconds)
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
    return features_for(look[0], *game.inputs)


def _screen(runner: Runner, begun: float, seconds: float | None) -> IntArray | None:
    """Reduce many features to the first ones and those whose means differ most, on separate runs."""
    if len(runner.features.names) <= _MOST_FEATURES:
        return None
    kept: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    deadline = None if seconds is None else begun + 0.1 * seconds
    runner.run(_SCREEN, _SCREENED, lambda side, X: kept[side].append(X), deadline=deadline)
    tables = [np.concatenate(part) for part in kept]
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
    kept: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    deadline = None if seconds is None else begun + 0.4 * seconds
    done = runner.run(_CHOOSE, pairs, lambda side, X: kept[side].append(X), deadline=deadline, ahead=pairs)
    first, second = (np.concatenate(part) for part in kept)
    seed = runner.game.root % 2**32
    return done, choose(first, second, names, miss=miss, delta=delta, seed=seed)


def _affordable(pairs: int, speed: float, begun: float, seconds: float | None) -> int:
    """Return how many runs to count; fixed before the first of them."""
    if seconds is None:
        return pairs
    left = begun + seconds - time.monotonic()
    return min(pairs, max(int(0.9 * speed * left), _FEWEST))


def _count(runner: Runner, pairs: int, event: Event) -> tuple[int, int]:
    hits = [0, 0]

    def take(side: int, X: FloatArray) -> None:
        hits[side] += event.count(X)

    runner.run(_COUNT, pairs, take)
    return hits[0], hits[1]
