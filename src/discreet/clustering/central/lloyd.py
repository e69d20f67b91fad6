"""DPLloyd: k-means with noise in every step, the classic interactive method.

Every iteration assigns rows to their nearest centre and releases a noisy count and noisy sums per cluster in one joint
draw, from which the next centres follow (Blum et al. 2005; number of iterations by Su et al. 2016). On most tables
`PrivateKMeans` is better, because a synopsis is paid for once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.clustering.central.estimator import Centers
from discreet.clustering.central.packing import pack
from discreet.clustering.leaves.columns import distance_units, left_out, no_part, select_columns, within_values
from discreet.clustering.options import COLUMNS, SCALE
from discreet.core import Declared, Domain, FloatArray, option
from discreet.core import options as shared
from discreet.core.budget import Epsilon, Price, Rho
from discreet.engines.passes import NearestMap
from discreet.synopses import FIXED_POINT, OpenRelease, count_variance, method_options, note_columns, open_for, publish
from discreet.synopses.queries import empty_text

#: Bounds of the number of iterations.
FEWEST_ITERATIONS, MOST_ITERATIONS = 2, 7
#: ρ of Su et al.: the typical distance of a centre from the origin, in half widths.
TYPICAL_CENTER = 0.225
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
    the fixed-point sums of one cluster, |q_j| <= S. One draw of max-norm noise of scale S/ε on (S n, Σq) costs ε. In ρ
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
    epsilon: float = shared.EPSILON
    domain: Any = shared.DOMAIN
    n_iter: str | int = option(
        default="auto",
        choices=("auto",),
        low=1,
        high=1000,
        help='Number of iterations; "auto" takes 2 to 7, by what one of them needs.',
    )
    n_rows: float | None = shared.N_ROWS
    size_share: float = shared.SIZE_SHARE
    scale: str = SCALE
    random_state: Any = shared.RANDOM_STATE
    columns: Any = COLUMNS
    rho: Any = shared.RHO
    delta: Any = shared.DELTA
    ledger: Any = shared.LEDGER

    def fit(self, X: Any, y: Any = None) -> DPLloyd:
        """Run the private iterations. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        options = method_options(self)
        k, asked = options["n_clusters"], None if self.n_iter == "auto" else options["n_iter"]
        select, gaussian = partial(select_columns, columns=self.columns), _gaussian(asked or FEWEST_ITERATIONS)
        opening = open_for(self, X, select=select, gaussian=gaussian)
        domain, gate = opening.domain, opening.gate
        units, needed = distance_units(domain, self.scale), one_iteration(k, len(domain), opening.n_rows)
        left = gate.left  # of ρ, what t iterations have together if each has 2√(ρ/t) like ε
        steps = asked or iterations(left.shown if isinstance(left, Epsilon) else 4 * left.shown / needed, needed)
        centers = domain.from_unit(pack(k, len(domain), gate.free))
        for step in range(steps):
            centers = _iterate(opening, centers, units, gate.left / (steps - step), f"iteration {step + 1}")
        self.domain_, self._declared = domain, opening.declared
        self.cluster_centers_ = centers = within_values(domain, centers)
        # With a public number of rows there is no noisy one to judge by.
        spread = opening.n_rows_variance
        empty = "" if spread is None else empty_text(opening.n_rows, spread)
        said = left_out(opening.declared, domain.names, fix=self.columns is None)
        self.note_ = "; ".join(filter(None, [said, empty]))
        facts = {"method": "DPLloyd", "n_clusters": k, "iterations": steps, "scale": self.scale}
        facts |= no_part(opening.declared, domain)
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


def _gaussian(steps: int) -> Callable[[Domain, Epsilon, Rho], bool]:
    """Return a rule that decides by public values whether Gaussian noise is better."""

    def better(domain: Domain, pure: Epsilon, rho: Rho) -> bool:
        d = len(domain)
        return count_variance(rho / steps, d, means=True) < count_variance(pure / steps, d, means=True)

    return better


def _iterate(opening: OpenRelease, centers: FloatArray, units: FloatArray, price: Price, label: str) -> FloatArray:
    """Run one private Lloyd step.

    Privacy
    -------
    Neighbours: add or remove one row, which is in one cluster: `publish`. Price: as given.
    """
    domain = opening.domain
    line = opening.gate.hold(label, price)
    counts, sums = opening.source.sums(NearestMap(domain, centers, units), FIXED_POINT).dense()
    out = publish(line, counts, sums, typical_offset=_NO_SHRINKING)
    offsets: FloatArray = np.zeros(centers.shape) if out.offsets is None else out.offsets
    # Public: a mean of fewer rows than the noise of their count says nothing.
    enough = (out.weights.astype(np.float64) >= max(1.0, math.sqrt(out.variances[0])))[:, np.newaxis]
    half = (domain.high - domain.low) / 2
    return np.where(enough, domain.low + half * (1 + offsets), centers)
