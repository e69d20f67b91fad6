"""The number of clusters that a synopsis shows, by four criteria. Post-processing of a release, without a price.

Noise makes every table look as if it had more clusters, so its share is taken out of each criterion. **Gap**
(Tibshirani, Walther and Hastie 2001), **elbow** and **silhouette** (with centres in place of pairs; Hruschka, de Castro
and Campello 2004) are compared with tables without clusters: the same weights, shuffled, at places drawn evenly along
the principal axes. **BIC** is that of a mixture fitted to the signed counts, against one cluster (`bic.py`). Each votes
for a number; a vote counts half for its neighbours. There is no answer where too few agree, noise covers what could be
there, or the density has hills (`leaves/hills.py`) that the answer does not account for. The constants were chosen on
generated tables by ``benchmarks/tuning/how_many.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.clustering.how_many.bic import mixture_bic
from discreet.clustering.leaves.hills import hills
from discreet.clustering.leaves.kmeans import mass_by, weighted_kmeans
from discreet.clustering.leaves.leaves import Leaves
from discreet.core import FloatArray, Frames, IntArray, checks
from discreet.errors import InvalidArgument
from discreet.synopses import BoxSynopsis, Marginals, ModelSynopsis, Synopsis, rate_of

#: Rows of a cluster, times the ε of a count, below which noise covers it.
LEAST_ROWS = 20.0
#: The same for each of the most clusters there may be, below which rows that lie anywhere are not called one cluster;
#: rows lie anywhere if they vary by more than this share of what rows spread evenly over the domain do.
LEAST_ROWS_OF_ONE, WIDE = 40.0, 0.4
#: At most this share of the leaves that hold more than noise: with a centre for nearly every leaf all costs vanish.
LEAVES_PER_CLUSTER = 1.6
#: Up to these a criterion votes for one cluster: excess fall of the log cost, gain of the gap, excess silhouette.
LEAST_FALL, LEAST_GAP, LEAST_SILHOUETTE = 0.15, 0.15, 0.05
#: What a vote counts, the share of all votes that have to lie within one of the answer, and how many times as many
#: votes as any number farther away it must have: two against two is no answer.
WEIGHTS: Mapping[str, float] = {"elbow": 1.0, "silhouette": 0.75, "gap": 1.0, "BIC": 0.5}
AGREEMENT, LEAD = 0.5, 1.3
#: A hill of the density: how far it stands out of the noise and of the saddle (see `DensityClusters`; more than there,
#: because a wrong one here takes a right answer away), and which share of the rows it holds at least.
PROMINENCE, CONTRAST, HILL_SHARE = 6.0, 1.6, 0.05
#: One cluster explains the counts if it leaves at most so many times the variance of noise and sampling.
UNEXPLAINED = 2.5
#: Tables without clusters, k-means starts, leaves that are clustered at most; where leaves do not divide the domain,
#: how many of them, and on how many principal axes (time grows with both, and there may be hundreds of columns).
_REFERENCES, _STARTS, _MOST, _MOST_OF_MANY, _AXES = 6, 4, 1000, 400, 16


@dataclass(frozen=True, eq=False, repr=False)
class KSuggestion(Frames):
    """A suggested number of clusters, and the evidence for it.

    Attributes
    ----------
    n_clusters : int or None
        The number; None if it cannot be determined, and `reason` says why.
    votes : mapping
        The number that each criterion ("elbow", "silhouette", "gap", "BIC") votes for.
    reason : str
        What limits the answer; empty if nothing.
    largest : int
        The most clusters that could have been seen.
    hills : int or None
        Regions, of any shape, that are denser than their surroundings; None where leaves do not divide the domain.
    elbow, silhouette, gap, gap_errors, bic : array of shape (largest,)
        The four curves over 1, 2, …; more is better, except for `bic`. NaN where a criterion is not defined.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(5000, 2, 4, random_state=0)
    >>> suggest_k(dc.GridSynopsis(1.0, data.domain, 20, random_state=0).fit(data.X).synopsis_)
    <KSuggestion: 4 clusters; elbow 4, silhouette 4, gap 4, BIC 4>
    """

    n_clusters: int | None
    votes: Mapping[str, int]
    reason: str
    largest: int
    hills: int | None
    elbow: FloatArray
    silhouette: FloatArray
    gap: FloatArray
    gap_errors: FloatArray
    bic: FloatArray

    def to_arrow(self) -> pa.Table:
        """Return the four curves, one row per number of clusters."""
        names = ("elbow", "silhouette", "gap", "gap_errors", "bic")
        return pa.table({"clusters": pa.array(range(1, len(self.gap) + 1)), **{n: getattr(self, n) for n in names}})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; what is not defined is None."""
        names = ("elbow", "silhouette", "gap", "gap_errors", "bic")
        curves = {n: [v if math.isfinite(v) else None for v in getattr(self, n).tolist()] for n in names}
        known = {"n_clusters": self.n_clusters, "votes": dict(self.votes), "reason": self.reason}
        return {**known, "text": self.text, "largest": self.largest, "hills": self.hills, "curves": curves}

    def plot(self) -> Any:
        """Draw the four curves with their votes; needs Plotly (the extra ``plot``)."""
        from discreet.clustering.plots import draw_suggestion

        return draw_suggestion(self)

    @property
    def text(self) -> str:
        """Return the answer in words, and the votes."""
        votes = ", ".join(f"{name} {vote}" for name, vote in self.votes.items())
        n = self.n_clusters
        said = (
            f"cannot tell how many clusters there are: {self.reason}" if n is None else f"{n} cluster{'s' * (n != 1)}"
        )
        return said + (f"; {votes}" if votes else "") + (f" ({self.reason})" if n is not None and self.reason else "")

    def __repr__(self) -> str:
        return f"<KSuggestion: {self.text}>"


def suggest_k(
    synopsis: Synopsis,
    *,
    max_clusters: int = 20,
    scale: str = "none",
    random_state: int = 0,
    columns: Sequence[str] | None = None,
) -> KSuggestion:
    """Suggest a number of clusters by elbow, silhouette, gap statistic and BIC, corrected for noise.

    Parameters
    ----------
    synopsis : Synopsis
        A release with weights as drawn.
    max_clusters : int, default 20
        The most clusters to look for.
    scale, columns
        See `cluster_synopsis`.
    random_state : int, default 0
        Seed of the search. It is not a secret.

    Returns
    -------
    KSuggestion
        Rows without clusters suggest 1. If noise hides the clusters, or the criteria disagree, the number is None.

    Privacy
    -------
    Post-processing of a release: nothing is charged.

    Examples
    --------
    >>> import discreet as dc
    >>> even = np.random.default_rng(0).random((5000, 2))
    >>> suggest_k(dc.GridSynopsis(1.0, (0, 1), 12, random_state=0).fit(even).synopsis_).n_clusters
    1
    """
    most = checks.whole("max_clusters", max_clusters, low=1)
    seed = checks.whole("random_state", random_state)
    leaves = Leaves.of(synopsis, columns, scale)
    # Groups of a projection have no boxes, and rows of a model overlap: neither divides the domain.
    divided = isinstance(synopsis, BoxSynopsis)
    measured = synopsis.measured if isinstance(synopsis, ModelSynopsis) else None
    signal, places = _signal(leaves.seen, measured), len(leaves.points)
    seen, held = min(signal / LEAST_ROWS, float(most)), int(places / LEAVES_PER_CLUSTER)
    if seen < 2 <= most or places < 2:
        nothing = np.empty(0)
        why = f"about {max(signal, 0.0):,.1f} rows times ε do not stand out of the noise"
        why = why if seen < 2 <= most else "all rows lie in one box" if places else "no box holds more than noise"
        return KSuggestion(None, {}, why, 0, None, nothing, nothing, nothing, nothing, nothing)
    top = max(1, min(int(seen), held))
    points, weights, inner = leaves.bundled(_MOST if divided else _MOST_OF_MANY)
    if not divided:
        points, inner = _turned(points, weights, inner)
    found, unexplained = _curves(leaves, points, weights, inner, top, seed, divided)
    votes, peaks = _votes(found), _peaks(leaves) if divided else None
    answer, agreed = _count(votes, top)
    reason = ""
    if top < most:
        few = held < seen
        reason = f"up to {top} could be seen: " + (
            f"{places} boxes hold more than noise" if few else "noise covers more"
        )
    told: int | None = answer
    if not agreed:
        told, reason = None, "the criteria disagree"
    elif most == 1:
        reason = ""  # there is nothing to choose from
    elif peaks is not None and (peaks > answer + 1 or peaks > answer == 1):
        many = f"more than the {most} that were looked for" if peaks > most else "so clusters are not round"
        told, reason = None, f"the density has {peaks} hills, {many} (DensityClusters finds hills)"
    elif answer > 1 and peaks == 1 == votes.get("BIC"):
        told, reason = None, "one cluster explains the counts, and the density has one hill: it may be lopsided"
    elif answer == 1 and (votes.get("BIC", 1) > 1 or unexplained > UNEXPLAINED):
        told, reason = None, "one round cluster does not explain the counts: several overlap, or it has another shape"
    elif answer == 1 and (loose := _loose(leaves, measured)):
        told, reason = None, loose
    elif answer == 1 and signal < LEAST_ROWS_OF_ONE * most and (not divided or _wide(leaves)):
        told, reason = None, f"{most} clusters would look like one, because noise covers them"
    elif 1 < answer == top and votes["elbow"] != answer:
        told, reason = None, f"at least {answer}, and {reason or 'no more were looked for'}"
    return KSuggestion(told, votes, reason, top, peaks, **found)


def check_clusters(n_clusters: int | str) -> int | None:
    """Return a given number of clusters; None for "auto"."""
    if not isinstance(n_clusters, str):
        return checks.whole("n_clusters", n_clusters, low=1)
    if n_clusters != "auto":
        raise InvalidArgument("n_clusters", n_clusters, 'a whole number, or "auto"', 'n_clusters="auto"')
    return None


def _signal(seen: Synopsis, measured: Marginals | None) -> float:
    """Return the number of rows times the ε of a count; of a model, that of a count of what it was made from."""
    if not seen.n_leaves or seen.total <= 0:
        return 0.0
    variances = seen.variances if measured is None else [m.variance for m in measured.measured]
    return seen.total * rate_of(float(np.median(variances)))


def _peaks(leaves: Leaves) -> int | None:
    """Return how many hills of the density hold enough rows; None for one column, or where no leaf is smaller than the
    domain.
    """
    if len(leaves.seen.domain) == 1 or set(leaves.seen.domain.names) <= set(leaves.seen.uncut):
        return None
    _, label = np.unique(hills(leaves, PROMINENCE, CONTRAST), return_inverse=True)
    held = mass_by(label, leaves.weights, int(label.max()) + 1)
    return int((held >= HILL_SHARE * held.sum()).sum())


def _loose(leaves: Leaves, measured: Marginals | None) -> str:
    """Say why a model that shows no clusters does not mean that there are none; nothing where it does."""
    together = max((len(m.columns) for m in measured.measured), default=0) if measured else len(leaves.seen.domain)
    if together >= len(leaves.seen.domain):
        return ""
    return f"its model holds up to {together} columns together, and may lose clusters in more columns"


def _wide(leaves: Leaves) -> bool:
    """Return whether the rows take up much of the domain: then many clusters could hide among them."""
    middle = leaves.weights @ leaves.points / leaves.weights.sum()
    varied = leaves.weights @ ((leaves.points - middle) ** 2 + leaves.within) / leaves.weights.sum()
    span = (leaves.seen.domain.high - leaves.seen.domain.low) / leaves.units
    return bool((varied / (span**2 / 12)).mean() > WIDE)


def _turned(points: FloatArray, weights: FloatArray, inner: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return places on the principal axes that matter most; what is left on the others adds to the spread inside."""
    if points.shape[1] <= _AXES:
        return points, inner
    apart = points - weights @ points / weights.sum()
    axes = np.linalg.svd(apart * np.sqrt(weights)[:, np.newaxis], full_matrices=False)[2][:_AXES]
    kept: FloatArray = apart @ axes.T
    return kept, inner + np.maximum((apart**2).sum(axis=1) - (kept**2).sum(axis=1), 0.0)


def _curves(
    leaves: Leaves, points: FloatArray, weights: FloatArray, inner: FloatArray, top: int, seed: int, divided: bool
) -> tuple[dict[str, FloatArray], float]:
    """Return the curves by name, and what one cluster leaves unexplained of the counts (NaN if that is not known)."""
    last = min(top + 1, len(points) - 1)  # one more, so that there is a bend at the end
    fits = [weighted_kmeans(points, weights, k, n_init=_STARTS, seed=seed).centers for k in range(1, last + 1)]
    squares = [((points[:, np.newaxis] - centers) ** 2).sum(axis=2) for centers in fits]
    rest = float(weights @ inner)
    floor = 1e-12 * float(weights @ squares[0].min(axis=1)) + 1e-300
    costs = np.log([max(float(weights @ near.min(axis=1)) + rest, floor) for near in squares])
    others, even = _references(points, weights, inner, last, seed, floor)
    gap = others.mean(axis=0) - costs
    elbow = np.full(last, np.nan)
    elbow[1:-1] = -np.diff(gap, 2)
    errors = others.std(axis=0, ddof=1) * math.sqrt(1 + 1 / len(others))
    silhouettes = np.array([np.nan, *(_silhouette(near, weights, inner) for near in squares[1:])])
    bic, unexplained = mixture_bic(leaves, fits[:top]) if divided else (np.full(top, np.nan), math.nan)
    return {
        "elbow": elbow[:top],
        "silhouette": (silhouettes - even)[:top],
        "gap": gap[:top],
        "gap_errors": errors[:top],
        "bic": bic,
    }, unexplained


def _silhouette(squares: FloatArray, weights: FloatArray, inner: FloatArray) -> float:
    two = np.partition(squares, 1, axis=1)[:, :2] + inner[:, np.newaxis]
    own, other = np.sqrt(two.min(axis=1)), np.sqrt(two.max(axis=1))
    return float(weights @ (1 - own / np.maximum(other, 1e-300)) / weights.sum())


def _references(
    points: FloatArray, weights: FloatArray, inner: FloatArray, last: int, seed: int, floor: float
) -> tuple[FloatArray, FloatArray]:
    """Return log costs of 1, 2, … centres on tables without clusters, one row per table, and their mean silhouettes."""
    middle = weights @ points / weights.sum()
    _, _, axes = np.linalg.svd((points - middle) * np.sqrt(weights)[:, np.newaxis], full_matrices=False)
    turned = (points - middle) @ axes.T
    low, span = turned.min(axis=0), np.ptp(turned, axis=0)
    stream, rest = noise.generator(seed), float(weights @ inner)
    costs, near = np.empty((_REFERENCES, last)), np.full((_REFERENCES, last), np.nan)
    for i in range(_REFERENCES):
        even = low + span * (noise.below(2**53, turned.shape, stream) / 2.0**53)
        order = np.argsort(noise.below(2**53, (len(weights),), stream), kind="stable")
        for k in range(1, last + 1):
            fit = weighted_kmeans(even, weights[order], k, n_init=1, seed=seed)
            costs[i, k - 1] = fit.cost + rest
            if k > 1:
                squares = ((even[:, np.newaxis] - fit.centers) ** 2).sum(axis=2)
                near[i, k - 1] = _silhouette(squares, weights[order], inner[order])
    return np.log(np.maximum(costs, floor)), near.mean(axis=0)


def _votes(found: Mapping[str, FloatArray]) -> dict[str, int]:
    """Return the number that each criterion is for."""
    bends, near, gap, bic = (found[name] for name in ("elbow", "silhouette", "gap", "bic"))
    falls = np.diff(gap) >= LEAST_FALL
    votes = {
        "elbow": _best(0.0, np.where(falls & np.isfinite(bends[1:]), bends[1:], -np.inf)),
        "silhouette": _best(LEAST_SILHOUETTE, near[1:]),
        "gap": _best(float(gap[0]) + LEAST_GAP, gap[1:]),
    }
    return votes | ({"BIC": int(np.argmin(bic)) + 1} if np.isfinite(bic).all() else {})


def _best(one: float, more: FloatArray) -> int:
    """Return which of 1, 2, … is best, given what one cluster has to be beaten by."""
    return int(np.argmax(np.concatenate([[one], more]))) + 1


def _count(votes: Mapping[str, int], top: int) -> tuple[int, bool]:
    """Return the number that most votes are for, and whether enough are, and no other number has nearly as many."""
    numbers: IntArray = np.arange(1, top + 1)
    score, whole = np.zeros(top), sum(WEIGHTS[name] for name in votes)
    for name, vote in votes.items():
        score += WEIGHTS[name] * np.select([numbers == vote, np.abs(numbers - vote) == 1], [1.0, 0.5], 0.0)
    answer = int(numbers[np.argmax(score)])
    near = sum(WEIGHTS[name] for name, vote in votes.items() if abs(vote - answer) <= 1)
    rival = float(score[np.abs(numbers - answer) > 1].max(initial=0.0))
    return answer, near >= AGREEMENT * whole and float(score.max()) >= LEAD * rival
