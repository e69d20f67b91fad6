"""From a synopsis to clusters: refine, then weighted k-means. Post-processing throughout."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.clustering.central import auto
from discreet.clustering.how_many.suggest import KSuggestion, check_clusters, suggest_k
from discreet.clustering.leaves.columns import (
    category_shares,
    cluster_columns,
    distance_units,
    left_out,
    released_weights,
    view,
    within_values,
)
from discreet.clustering.leaves.kmeans import nearest, weighted_kmeans
from discreet.clustering.leaves.mixture import fit_mixture
from discreet.core import EMPTY_UP_TO, BoolArray, FloatArray, Frames, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses import CenterSynopsis, Lifted, Synopsis
from discreet.synopses import refine as refinement_steps
from discreet.synopses.queries import wide

#: What may be passed as ``refine``: "auto", None (or "none"), a name, a function of a synopsis, or a sequence of
#: names and functions.
Refine: TypeAlias = str | Callable[[Synopsis], Synopsis] | Sequence[Any] | None

_STEPS: dict[str, Callable[[Synopsis], Synopsis]] = {
    "consistent": refinement_steps.consistent,
    "means": refinement_steps.means,
    "project": refinement_steps.project,
    "threshold": refinement_steps.threshold,
}
#: Names that ``refine`` understands.
NAMES = ("auto", *_STEPS, "mixture", "checked", "none")
#: A mixture is believed as long as its centres cost at most this much more on the counts than those of "project" do.
BELIEVED = 1.1


@dataclass(frozen=True, eq=False, repr=False)
class ClusterResult(Frames):
    """Clusters found on a synopsis.

    Attributes
    ----------
    centers : array of shape (clusters, columns)
        Their centres on `columns`, in the coordinates of the domain, sorted.
    weights, std_errors : array of shape (clusters,)
        Estimated number of rows nearest to each centre, and its standard error from the noise of the released counts.
    may_be_noise : array of shape (clusters,) or None
        Whether a weight is within its noise of zero: then there may be no cluster.
    cost : float
        The k-means cost on the refined synopsis (not on the data).
    synopsis : Synopsis
        The refined synopsis; its guarantee lists the refinements.
    note : str
        What a reader should know, such as that columns took no part. Empty if nothing.
    categories : mapping
        For every category column that took no part, the share of each category in each cluster's weight, by the
        synopsis (an array of shape (clusters, categories)); None where the column was never cut.
    suggestion : KSuggestion or None
        What the number of clusters rests on, if it was not given.

    Examples
    --------
    >>> ClusterResult(np.zeros((1, 2)), np.ones(1), 0.0, None, "")
    <ClusterResult: 1 centre of 2 columns>
    """

    centers: FloatArray
    weights: FloatArray
    cost: float
    synopsis: Synopsis
    note: str = ""
    columns: tuple[str, ...] = ()
    categories: Mapping[str, FloatArray | None] = field(default_factory=dict)
    std_errors: FloatArray | None = None
    may_be_noise: BoolArray | None = None
    suggestion: KSuggestion | None = None

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the ends of intervals for the weights: noise alone, not where the centres are."""
        if self.std_errors is None:
            raise InvalidArgument("std_errors", None, "known: no errors were computed for the weights")
        reach = wide(level) * self.std_errors
        return np.maximum(self.weights - reach, 0.0), np.maximum(self.weights + reach, 0.0)

    def to_arrow(self) -> pa.Table:
        """Return one row per cluster: its centre, and its weight with a 95 % interval (noise alone) where known."""
        names = self.columns or tuple(f"x{j}" for j in range(self.centers.shape[1]))
        made = {name: pa.array(self.centers[:, j]) for j, name in enumerate(names)}
        made["weight"] = pa.array(self.weights)
        if self.std_errors is not None:
            low, high = self.interval(0.95)
            made |= {"std_error": pa.array(self.std_errors), "low": pa.array(low), "high": pa.array(high)}
        if self.may_be_noise is not None:
            made["may_be_noise"] = pa.array(self.may_be_noise)
        return pa.table(made)

    def __repr__(self) -> str:
        k, d = self.centers.shape
        text = f"{k} centre{'s' * (k != 1)} of {d} column{'s' * (d != 1)}"
        return f"<ClusterResult: {text}{'; ' + self.note if self.note else ''}>"


def cluster_synopsis(
    synopsis: Synopsis,
    n_clusters: int | str,
    *,
    refine: Refine = "auto",
    n_init: int = 10,
    scale: str = "none",
    random_state: int = 0,
    columns: Sequence[str] | None = None,
    max_clusters: int = 20,
) -> ClusterResult:
    """Find clusters in a synopsis: weighted k-means on its leaves after refinement.

    Centres are found on numbers and dates. Categories are described afterwards, by their shares in each cluster.

    Parameters
    ----------
    synopsis : Synopsis
        A release with weights as drawn.
    n_clusters : int or "auto"
        Number of centres. If fewer leaves have positive weight, those leaves are the centres. "auto" asks `suggest_k`;
        without an answer there is one centre.
    refine : str, callable, sequence of them, or None
        Steps to take before, in order: "consistent", "means", "project", "threshold", "mixture", "checked" (a mixture
        if its centres suit the counts, else "project"), or functions from synopsis to synopsis. "auto" takes the steps
        that suit the synopsis, as `PrivateKMeans` does. None, or "none", takes the leaves of positive weight as they
        are.
    n_init : int, default 10
        Starts of k-means.
    scale : {"none", "domain"}
        Measure distances in the units of the columns, as scikit-learn does, or in shares of their declared ranges.
    random_state : int, default 0
        Seed of the search. It is not a secret: the search sees published values only.
    columns : list of str, optional
        The columns to cluster on; by default all but categories. A category named here counts by its place in the
        declared order.
    max_clusters : int, default 20
        The most clusters that "auto" looks for.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.synopses import BoxSynopsis
    >>> s = BoxSynopsis(dc.Domain.box(0, 3), lower=[[0], [1], [2]], upper=[[1], [2], [3]], weights=[90, 10, 50],
    ...              variances=[1.0, 1.0, 1.0], guarantee=dc.Guarantee("central"))
    >>> cluster_synopsis(s, 2, refine="threshold").centers.round(2).tolist()
    [[0.5], [2.33]]
    """
    if not isinstance(synopsis, Synopsis):
        raise InvalidType("synopsis", type(synopsis).__name__, "a Synopsis", "GridSynopsis(...).fit(data).synopsis_")
    given, suggestion = check_clusters(n_clusters), None
    if given is None:
        how: dict[str, Any] = {"scale": scale, "random_state": random_state, "columns": columns}
        suggestion = suggest_k(synopsis, max_clusters=max_clusters, **how)
    n_clusters = given or (suggestion and suggestion.n_clusters) or 1
    axes = cluster_columns(synopsis.domain, columns)
    known = synopsis.lifted if isinstance(synopsis, CenterSynopsis) else None
    if known is not None and (scale, axes) == (known.scale, synopsis.domain.names):
        made_for = synopsis.guarantee.parameters.get("n_clusters")  # it may have ended with fewer centres
        if n_clusters == len(known.centers) or (given is not None and given == made_for):
            return _lifted(synopsis, known, n_clusters, suggestion)
    released, seen, steps = synopsis, synopsis, refine
    if axes != synopsis.domain.names:
        # Counts above the leaves are about all columns: they are used before the others are summed out.
        if synopsis.tree is not None and (isinstance(refine, str) and refine in ("auto", "consistent")):
            synopsis, steps = refinement_steps.consistent(synopsis), "auto" if refine == "auto" else None
        seen = view(synopsis, axes)
    widths = distance_units(seen.domain, scale)
    refined = refined_synopsis(seen, n_clusters, steps, n_init=n_init, scale=scale, random_state=random_state)
    # A leaf of missing values has no place to be clustered at.
    placed = np.isfinite(refined.points).all(axis=1)
    found = weighted_kmeans(
        refined.points[placed] / widths, refined.weights[placed], n_clusters, n_init=n_init, seed=random_state
    )
    centers, weights = within_values(seen.domain, found.centers * widths), found.weights
    notes = ["" if suggestion is None else suggestion.text, left_out(synopsis.domain, axes)]
    if not len(centers):
        centers, weights = seen.domain.bounds.center[np.newaxis], np.zeros(1)
        notes.append("no leaf has positive weight: the middle of the domain is the only centre")
    elif len(centers) < n_clusters:
        notes.append(_fewer(len(centers), n_clusters, "has positive weight", "have positive weight"))
    if known is not None and n_clusters > len(known.centers):
        more = f"the release was made for {len(known.centers)} clusters: these are places of its {synopsis.n_leaves}"
        notes.append(f"{more} groups, which have more noise and overlap")
    if known is None and set(axes) <= set(seen.uncut):  # groups of a projection have means
        notes.append("none of these columns was divided, so the synopsis does not know where clusters are")
    shares = category_shares(synopsis, axes, centers, widths)
    weights, errors, doubtful = released_weights(released, axes, centers, widths, weights)
    note = "; ".join(filter(None, notes))
    return ClusterResult(centers, weights, found.cost, refined, note, axes, shares, errors, doubtful, suggestion)


def _lifted(synopsis: Synopsis, known: Lifted, n_clusters: int, suggestion: KSuggestion | None) -> ClusterResult:
    """Return the centres that a release in many dimensions ended with."""
    errors = np.sqrt(known.center_variances)
    doubtful = (known.center_weights <= EMPTY_UP_TO * errors) & (errors > 0)
    weights = np.maximum(known.center_weights, 0.0)
    said, n = "" if suggestion is None else suggestion.text, len(weights)
    fewer = _fewer(n, n_clusters, "stands out of the noise", "stand out of the noise") if n < n_clusters else ""
    note, names = "; ".join(filter(None, [said, fewer])), synopsis.domain.names
    return ClusterResult(known.centers, weights, np.nan, synopsis, note, names, {}, errors, doubtful, suggestion)


def _fewer(found: int, wanted: int, does: str, do: str) -> str:
    """Say that there are fewer centres than asked for."""
    said = f"1 place {does}: it is the only centre" if found == 1 else f"{found} places {do}: they are the centres"
    return f"{said}, fewer than {wanted}"


def refined_synopsis(
    synopsis: Synopsis, n_clusters: int, steps: Refine, *, n_init: int = 10, scale: str = "none", random_state: int = 0
) -> Synopsis:
    """Take the refinement steps that ``steps`` names, in order."""
    for step in _listed(synopsis, n_clusters, steps):
        if callable(step):
            synopsis = step(synopsis)
        elif step in ("mixture", "checked"):
            fit = fit_mixture(synopsis, n_clusters, n_init=n_init, scale=scale, random_state=random_state).synopsis
            synopsis = fit if step == "mixture" else _checked(synopsis, fit, n_clusters, n_init, scale, random_state)
        else:
            synopsis = _STEPS[step](synopsis)
    return synopsis


def _checked(synopsis: Synopsis, fit: Synopsis, n_clusters: int, n_init: int, scale: str, seed: int) -> Synopsis:
    """Return a fitted mixture, or the projected counts if its centres suit them badly: a fit may have gone astray.

    The cost of centres on the projected counts counts rows as uniform in their leaf. Post-processing.
    """
    plain, units = refinement_steps.project(synopsis), distance_units(synopsis.domain, scale)
    placed = np.isfinite(plain.points).all(axis=1)
    places, weights = plain.points[placed] / units, plain.weights[placed]
    inside = (((plain.upper - plain.lower)[placed] / units) ** 2).sum(axis=1) / 12

    def misfit(made: Synopsis) -> float:
        points = made.points[placed] / units
        centers = weighted_kmeans(points, made.weights[placed], n_clusters, n_init=n_init, seed=seed).centers
        if not len(centers):
            return np.inf
        return float(weights @ (((places - centers[nearest(places, centers)]) ** 2).sum(axis=1) + inside))

    return fit if misfit(fit) <= BELIEVED * misfit(plain) else plain


def check_refine(steps: Refine) -> None:
    """Refuse what is not a refinement."""
    if isinstance(steps, str):
        checks.choice("refine", steps, NAMES)
        return
    for step in _as_list(steps):
        if not callable(step):
            checks.choice("refine", step, NAMES[1:-1])


def _listed(synopsis: Synopsis, n_clusters: int, steps: Refine) -> list[Any]:
    if isinstance(steps, str) and steps == "auto":
        return list(auto.refinement_for(synopsis, n_clusters))
    check_refine(steps)
    return _as_list(steps)


def _as_list(steps: Refine) -> list[Any]:
    if steps is None or (isinstance(steps, str) and steps == "none"):
        return []
    if isinstance(steps, str) or callable(steps):
        return [steps]
    if not isinstance(steps, Sequence):
        raise InvalidType("refine", steps, f"one of {', '.join(NAMES)}, functions or a list of these", 'refine="auto"')
    return list(steps)
