"""DPLloyd: k-means with noise in every step, the classic interactive method, done right.

Every iteration assigns rows to their nearest centre and releases a noisy count and noisy sums per cluster, from which
the next centres follow (Blum et al. 2005; schedules by Su et al. 2016; ). Known faults of
shipped versions are not here: the number of iterations comes from a noisy or declared number of rows, the shares of
counts and sums are in the right order, noise is drawn for every cluster whether or not rows are in it, and noise is
exact.

It serves as a baseline: on most tables `PrivateKMeans` is better, because a synopsis is paid for once.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.clustering.central.estimator import Centers
from discreet.clustering.central.of_synopsis import cluster_synopsis
from discreet.clustering.central.packing import pack
from discreet.clustering.leaves.columns import distance_units, no_part, select_columns, within_values
from discreet.clustering.options import COLUMNS, SCALE
from discreet.core import (
    DELTA,
    DOMAIN,
    EPSILON,
    LEDGER,
    N_ROWS,
    RANDOM_STATE,
    RHO,
    SIZE_SHARE,
    Declared,
    Domain,
    FloatArray,
    option,
)
from discreet.core.budget import Epsilon, Price, Rho
from discreet.engines.passes import NearestMap
from discreet.mechanisms import Moves
from discreet.synopses import (
    FIXED_POINT,
    GridSynopsis,
    OpenRelease,
    count_variance,
    method_options,
    note_columns,
    open_for,
    publish,
)
from discreet.synopses.boxes.grid import check_size, estimator
from discreet.synopses.queries import empty_text

#: Iterations of the plain schedule, and bounds of the improved one.
PLAIN_ITERATIONS, FEWEST_ITERATIONS, MOST_ITERATIONS = 5, 2, 7
#: ρ of Su et al.: the typical distance of a centre from the origin, in half widths.
TYPICAL_CENTER = 0.225
#: Shares are rounded to this, because budgets are exact rationals and the best share is not rational.
_SHARE_STEPS = 2**20
#: Larger than any offset: the means of clusters are not shrunk towards the middle of the domain.
_NO_SHRINKING = 1e9


class DPLloyd(Declared, Centers):
    """k-means with differentially private Lloyd steps.

    Attributes
    ----------
    cluster_centers_ : array of shape (clusters, columns)
        The private centres.
    guarantee_ : Guarantee
        Its promise, sealed over the centres.
    note_ : str
        A warning if the number of rows may be zero; usually empty.

    Privacy
    -------
    Neighbours: add or remove one row. Given the centres, which are public by then, a row adds (1, q) to the count and
    the fixed-point sums of one cluster, |q_j| <= S. One draw of max-norm noise of scale S/ε on (S n, Σq) costs ε;
    separate draws cost ε_0 for the count (scale 1/ε_0) and ε_i for each sum (scale S/ε_i), ε_0 + d ε_i in total. In ρ
    the vector, which moves by at most S √(d + 1) in Euclidean norm, gets Gaussian noise with σ² >= S² (d + 1)/(2ρ).
    Clusters are disjoint, iterations add up. A cluster keeps its centre if its *noisy* count is below a public
    constant.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(2000, 2, 3, random_state=0)
    >>> lloyd = DPLloyd(3, epsilon=2.0, domain=data.domain, random_state=0).fit(data.X)
    >>> lloyd.cluster_centers_.shape, lloyd.guarantee_.epsilon
    ((3, 2), 2.0)
    """

    n_clusters: int = option(default=8, low=1, high=2**20, help="Number of clusters.")
    epsilon: float = EPSILON
    domain: Any = DOMAIN
    schedule: str = option(
        default="improved",
        choices=("improved", "plain"),
        help="Number of iterations, and shares of the budget.",
        details=(
            '"plain": 5 iterations, and equal shares for the count and each sum with ``draw="split"``. "improved": 2 '
            "to 7 iterations by what one of them needs, and the shares of Su et al."
        ),
    )
    draw: str = option(
        default="joint",
        choices=("joint", "split"),
        help="Draw noise for count and sums of a cluster together, which needs less, or apart, as published.",
    )
    init: str = option(
        default="packing",
        choices=("packing", "synopsis"),
        help="Start from spheres packed into the domain, or from the clusters of a grid synopsis for half the budget.",
        details=(
            'With "synopsis" one iteration follows (the hybrid of Su et al. 2017), or none if it would need more than '
            "the other half."
        ),
    )
    n_iter: str | int = option(default="auto", choices=("auto",), low=1, high=1000, help="Number of iterations.")
    n_rows: float | None = N_ROWS
    size_share: float = SIZE_SHARE
    scale: str = SCALE
    random_state: Any = RANDOM_STATE
    columns: Any = COLUMNS
    rho: Any = RHO
    delta: Any = DELTA
    ledger: Any = LEDGER

    def fit(self, X: Any, y: Any = None) -> DPLloyd:
        """Run the private iterations. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        options = method_options(self)
        k, plain, joint = options["n_clusters"], self.schedule == "plain", self.draw == "joint"
        hybrid, asked = self.init == "synopsis", None if self.n_iter == "auto" else options["n_iter"]
        grids, possible = GridSynopsis(n_clusters=k).settings(), joint and not hybrid
        opening = open_for(
            self,
            X,
            check=lambda domain, epsilon: check_size(domain, grids, epsilon, self.n_rows) if hybrid else None,
            select=lambda domain: select_columns(domain, self.columns),
            gaussian=_gaussian(asked or (PLAIN_ITERATIONS if plain else FEWEST_ITERATIONS)) if possible else None,
        )
        domain, gate = opening.domain, opening.gate
        units, needed = distance_units(domain, self.scale), one_iteration(k, len(domain), opening.n_rows)
        if hybrid:
            steps = asked or (1 if gate.left.shown / 2 >= needed else 0)
            centers = _synopsis_start(opening, k, self.scale, Fraction(1, 2) if steps else Fraction(1))
        else:
            automatic = PLAIN_ITERATIONS if plain else iterations(_for_iterations(gate.left, needed), needed)
            steps = asked or automatic
            centers = domain.from_unit(pack(k, len(domain), gate.free))
        share = count_share(len(domain), plain=plain) if not joint else None
        for step in range(steps):
            centers = _iterate(opening, centers, units, gate.left / (steps - step), share, f"iteration {step + 1}")
        self.domain_, self._declared = domain, opening.declared
        self.cluster_centers_ = centers = within_values(domain, centers)
        # With a public number of rows there is no noisy one to judge by.
        spread = opening.n_rows_variance
        self.note_ = "" if spread is None else empty_text(opening.n_rows, spread)
        facts = {"method": "DPLloyd", "n_clusters": k, "schedule": self.schedule, "draw": self.draw, "init": self.init}
        facts |= {"iterations": steps, "scale": self.scale, **no_part(opening.declared, domain)}
        self.guarantee_ = opening.book(opening.promise(facts).seal(np.ascontiguousarray(centers).tobytes()))
        note_columns(self, X)
        return self


def one_iteration(n_clusters: int, n_axes: int, n_rows: float) -> float:
    """Return ε_m, the budget below which an iteration does more harm than good (Su et al. 2016).

    sqrt( 500 k³/N² (d + (4 d ρ²)^(1/3))³ ), with a noisy or public N.
    """
    d = n_axes
    factor = (d + (4 * d * TYPICAL_CENTER**2) ** (1 / 3)) ** 3
    return math.sqrt(500 * n_clusters**3 * factor) / max(n_rows, 1.0)


def iterations(epsilon: float, needed: float) -> int:
    """Return min(7, max(2, floor(ε/ε_m)))."""
    return int(min(MOST_ITERATIONS, max(FEWEST_ITERATIONS, min(epsilon / needed, 1e6))))


def _for_iterations(left: Price, needed: float) -> float:
    """Return the ε that `iterations` is to divide: of ρ, what t iterations have together if each has 2√(ρ/t) like ε."""
    return left.shown if isinstance(left, Epsilon) else 4 * left.shown / needed


def _gaussian(steps: int) -> Callable[[Domain, Epsilon, Rho], bool]:
    """Return a rule that decides by public values whether Gaussian noise is better."""

    def better(domain: Domain, pure: Epsilon, rho: Rho) -> bool:
        d = len(domain)
        return count_variance(rho / steps, d, means=True) < count_variance(pure / steps, d, means=True)

    return better


def count_share(n_axes: int, *, plain: bool) -> Fraction:
    """Return the share ε_0/(ε_0 + d ε_i) of an iteration's budget that goes to the count; the sums divide the rest.

    Improved: ε_0/ε_i = (4 d ρ²)^(1/3), which minimises d/ε_i² + 4 d ρ²/ε_0². Plain: equal shares.
    """
    if plain:
        return Fraction(1, n_axes + 1)
    ratio = (4 * n_axes * TYPICAL_CENTER**2) ** (1 / 3)
    return Fraction(round(ratio / (ratio + n_axes) * _SHARE_STEPS), _SHARE_STEPS)


def _iterate(
    opening: OpenRelease, centers: FloatArray, units: FloatArray, price: Price, share: Fraction | None, label: str
) -> FloatArray:
    """Run one private Lloyd step.

    Privacy
    -------
    Neighbours: add or remove one row, which is in one cluster. In one draw: `publish`. Otherwise its count moves by 1,
    and its d sums by at most S each, hence by d S in the l1 norm. Price: as given.
    """
    domain, gate = opening.domain, opening.gate
    cells = NearestMap(domain, centers, units)
    if share is None:
        line = gate.hold(label, price)
        counts, sums = opening.source.sums(cells, FIXED_POINT).dense()
        out = publish(line, counts, sums, typical_offset=_NO_SHRINKING)
        weights, spread = out.weights.astype(np.float64), math.sqrt(out.variances[0])
        offsets: FloatArray = np.zeros(centers.shape) if out.offsets is None else out.offsets
    else:
        step = gate.sequential(label)
        counting, adding = step.hold("counts", price * share), step.hold("sums", price * (1 - share))
        counts, sums = opening.source.sums(cells, FIXED_POINT).dense()
        counted = counting.numbers(counts)
        weights, spread = counted.values, math.sqrt(counted.variance)
        sums = adding.numbers(sums, Moves(l1=len(domain) * FIXED_POINT)).values
        offsets = np.clip(sums / FIXED_POINT / np.maximum(weights, 1)[:, np.newaxis], -1.0, 1.0)
    # Public: a mean of fewer rows than the noise of their count says nothing.
    enough = (weights >= max(1.0, spread))[:, np.newaxis]
    half = (domain.high - domain.low) / 2
    return np.where(enough, domain.low + half * (1 + offsets), centers)


def _synopsis_start(opening: OpenRelease, k: int, scale: str, share: Fraction) -> FloatArray:
    """Return the clusters of a grid synopsis for a share of the remaining budget."""
    with opening.gate.share("synopsis", opening.gate.left * share) as part:
        paid = dataclasses.replace(opening, gate=part, n_rows_variance=None)
        released = estimator.build(paid, GridSynopsis(n_clusters=k).settings())
    seed = opening.gate.free.seed()
    return cluster_synopsis(released, k, scale=scale, random_state=seed, columns=opening.domain.names).centers
