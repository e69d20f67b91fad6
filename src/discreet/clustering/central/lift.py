"""Private k-means in many dimensions: project, over-seed, lift, merge, polish.

On hundreds of axes no box holds enough rows to be seen. So rows are projected to a few axes, at random and without a
look at them, which keeps distances about right (Johnson and Lindenstrauss). There private k-means is accurate, and is
asked for more groups than there are clusters: clusters that overlap after the projection are then seldom one group.
Noisy means of the groups are bought in all dimensions (*lifted*), merged to k centres, and these improved by noisy
steps of Lloyd's algorithm. Relatives: Balcan et al. 2017; Chang and Kamath 2021; Su et al. 2016 for the last steps.

All noise on sums is proportional to the radius of the ball that rows are clipped to, so the ball is bought before the
sums: a noisy mean as its centre, a private quantile of the distances from it as its radius. The last steps clip what
matters more: a row's offset *from the centre it is assigned to*, which is known by then. On separated clusters that
radius is a half or a third of the first one, and with it the noise; and what clipping takes away pulls a centre towards
where it was, not towards the middle of the table.

Merging knows the noise. A group's place on the axes of the projection is known well; in the other directions its noisy
mean is shrunk towards that of all rows by as much as noise outweighs what sets groups apart (empirical Bayes).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.clustering.central import auto
from discreet.clustering.central.columns import distance_units
from discreet.clustering.central.of_synopsis import cluster_synopsis
from discreet.clustering.kmeans import mass_by, nearest, weighted_kmeans
from discreet.core.arrays import FloatArray, IntArray
from discreet.core.checks import Exact
from discreet.core.domain import Domain
from discreet.core.guarantee import Ledger
from discreet.engines.passes.lattice import NORM_CELLS, ONE, REACH, BallPass, Groups, Lattice, NormMap, Projection
from discreet.engines.passes.lattice import batch_rows as _batch_rows
from discreet.engines.projected import projected
from discreet.errors import InvalidArgument
from discreet.noise.integer.laplace import LARGEST_SCALE
from discreet.noise.vector.isotropic import isotropic_laplace
from discreet.synopses import Synopsis
from discreet.synopses.artifact.lifted import Lifted
from discreet.synopses.grid import estimator as grid
from discreet.synopses.grid.settings import GridSettings
from discreet.synopses.opening import OpenRelease
from discreet.synopses.prices import pay, pure_part, root
from discreet.synopses.tree import estimator as tree
from discreet.synopses.tree.settings import TreeSettings

#: Axes of the projection: as many as leave a group this many times the rows that its mean on them needs, within bounds.
AXIS_ROWS, FEWEST_AXES, MOST_AXES = 12.0, 8, 16
#: Groups for each cluster.
OVER = 2.5
#: Shares of the budget: radius round a public place (each), centre, radius round it, projection, lift, radius of
#: offsets. The rest is for the last steps.
SHARES = {"first radius": 0.01, "centre": 0.06, "radius": 0.015, "projection": 0.27, "lift": 0.25, "last radius": 0.015}
#: Quantiles of the norms that make the radii.
FIRST_QUANTILE, QUANTILE, LAST_QUANTILE = 0.9, 0.9, 0.75
#: Above this noise (`added_noise`) a lift of more groups than clusters says nothing. Then there are k groups, for this
#: share, clipped at this quantile, and their means get all that is left.
LIFT_NOISE, DIRECT_SHARE, DIRECT_QUANTILE = 1.5, 0.2, 0.6
#: The box on the axes of the projection reaches this many radii over the root of the number of columns.
WIDE = 2.2
#: A count takes this part of the ball's radius in the joint draw with the sums.
COUNT_WEIGHT = Fraction(1, 4)
#: The radius, at most, of a ball on the finer lattice of Gaussian noise.
BALL = 2**30
#: With balls of at most this many steps, σ for ρ = 1/2 can be drawn.
_WIDEST = LARGEST_SCALE * 9 // 10
#: Last steps are as many as add no more than this noise each; the very last one has so many times the share of others.
STEP_NOISE, MOST_STEPS, LAST_WEIGHT = 0.004, 3, 2
#: What the average of all columns counts for in the signal of one.
PRIOR = 4.0
#: Groups with fewer rows than this share of the average are noise.
FEW = 0.1
_SHARE_STEPS = 2**20


@dataclass(frozen=True)
class Means:
    """Noisy counts and sums of some groups, and the noise variance of a coordinate of the sums."""

    counts: FloatArray
    sums: FloatArray
    variance: float
    count_variance: float


class Purse:
    """What is left of a ledger, to be spent in shares; every price is charged before rows are read."""

    def __init__(self, opening: OpenRelease, lattice: Lattice) -> None:
        self.source, self.ledger, self.stream = opening.source, opening.ledger, opening.stream
        self.lattice = lattice
        self.whole: Exact = opening.ledger.remaining.exact

    def share(self, share: float) -> Exact:
        """Return a share of what there was at first."""
        return self.whole * Fraction(round(share * _SHARE_STEPS), _SHARE_STEPS) if self._finite else self.whole

    @property
    def _finite(self) -> bool:
        return isinstance(self.whole, Fraction)

    def radius(self, label: str, groups: Groups, quantile: float, price: Exact) -> int:
        """Buy a quantile of the rows' distances from the centres of their groups, in lattice steps.

        Privacy
        -------
        Neighbours: add or remove one row, which is one distance. A private quantile on public cells
        (`discreet.noise.quantiles_from_counts`) at ε costs ε; in ρ, ε²/2.
        """
        epsilon = pure_part(price, self.ledger.unit)
        self.ledger.spend(label, epsilon)
        norms = NormMap(groups)
        counts = self.source.count(norms, batch_size=_batch_rows(len(norms.domain)))
        found = noise.quantiles_from_counts(
            counts.counts, [quantile], epsilon=epsilon, low=0.0, high=2.0 * REACH, cells=counts.cells,  # type: ignore[arg-type]
            n_cells=NORM_CELLS, rng=self.stream,
        )  # fmt: skip
        return max(64, math.ceil(float(found[0])))

    def means(self, label: str, groups: Groups, anchors: FloatArray, radius: int, price: Exact) -> Means:
        """Buy counts and sums of all groups, in one joint draw each.

        Privacy
        -------
        Neighbours: add or remove one row. Groups are disjoint, so a row changes one of them: its count by 1, its sums
        by a whole vector of norm at most R (`discreet.engines.passes.lattice`). With the count times c, c a public
        whole number, the vector (c n, Σq) moves by at most Δ = √(R² + c²). Isotropic Laplace noise of scale Δ/ε on it
        is ε-DP (`discreet.noise.vector.isotropic`); discrete Gaussian noise with σ² >= Δ²/(2ρ) on every entry is
        ρ-zCDP, and so is what is √(2ρ)-DP. Δ and σ are rounded up. With all of it times a public whole number m (on a
        finer lattice), Δ is m times as large, and any bound above. Price: ε or ρ, once for all groups.
        """
        unit, weight = self.ledger.unit, max(1, int(radius * COUNT_WEIGHT))
        pay(self.ledger, label, price, unit)
        table = self.source.ball_sums(BallPass(groups, anchors, radius))
        table[:, 0] *= weight
        finer, square = 1, radius**2 + weight**2
        if unit == "rho" and price != math.inf:
            # Gaussian noise has a table for every σ: on a finer lattice, on which all balls are about as large, σ
            # follows from the price alone. Where that is wider than can be drawn, Laplace noise for √(2ρ) is not.
            ball = min(BALL, int(_WIDEST * root(2 * Fraction(price))))
            if ball < radius:
                price, unit = pure_part(price, unit), "epsilon"
            else:
                finer, square = ball // radius, ball**2 + int(ball * COUNT_WEIGHT) ** 2
        drawn, variance = vector_noise(table.shape, square, price, unit, self.stream)
        noisy = (finer * table + drawn) / finer
        variance /= finer**2
        return Means(noisy[:, 0] / weight, noisy[:, 1:], variance, variance / weight**2)


def vector_noise(
    shape: tuple[int, int], square: int, price: Exact, unit: str, stream: noise.Generator
) -> tuple[IntArray, float]:
    """Draw noise for vectors of which a row moves one, by at most the root of ``square``; and the variance of an entry.

    Examples
    --------
    >>> drawn, variance = vector_noise((5000, 3), 100**2, Fraction(1), "epsilon", noise.generator(1))
    >>> round(float(drawn.var() / variance), 1), vector_noise((1, 2), 1, math.inf, "epsilon", noise.generator(1))[1]
    (1.0, 0.0)
    """
    if price == math.inf:
        return np.zeros(shape, np.int64), 0.0
    if unit == "rho":
        sigma = root(Fraction(square) / (2 * Fraction(price)), up=True)
        return noise.discrete_gaussian(sigma, shape, stream), float(sigma) ** 2
    scale = root(Fraction(square), up=True) / Fraction(price)
    # A direction is uniform, so every entry has the same share of E‖y‖² = D (D + 1) s².
    return isotropic_laplace(*shape, scale, stream), float(scale) ** 2 * (shape[1] + 1)


def check(domain: Domain) -> None:
    """Refuse columns that cannot be projected: without a number in every place, a single one, or of absurd bounds."""
    if len(domain) < 2 or not auto.is_whole(domain):
        expected = "used with two or more columns of numbers, none of which keeps missing values as a category"
        raise InvalidArgument("synopsis", "lift", expected, 'synopsis="auto"')
    if not auto.has_lengths(domain):
        expected = "used with bounds of which the widest are 1e-100 to 1e+100 apart, so that distances can be squared"
        raise InvalidArgument("synopsis", "lift", expected, 'synopsis="auto"')


def gaussian_lift(domain: Domain, pure: Exact, rho: Fraction) -> bool:
    """Tell whether sums have less noise for ρ than for ε: 1/(2ρ) against (d + 2)/ε², of a ball of radius 1."""
    return not isinstance(pure, float) and pure * pure < 2 * rho * (len(domain) + 2)


def fit(opening: OpenRelease, n_clusters: int, *, scale: str = "none", n_init: int = 10) -> Synopsis:
    """Find centres with all that a ledger has left.

    Privacy
    -------
    Neighbours: add or remove one row. The steps are bought one after the other, and add up: radii (`Purse.radius`), a
    centre, the lift and the last steps (`Purse.means`), and a synopsis on the axes of the projection, which sees a
    function of each row by itself. The projection is drawn before any row is read. Everything else is a function of
    what was bought and of public values. Price: all that is left.
    """
    lattice = Lattice(opening.domain, distance_units(opening.domain, scale))
    purse = Purse(opening, lattice)
    n, d = max(opening.n_rows, 1.0), len(opening.domain)
    lift = purse.share(SHARES["lift"])
    n_groups = max(n_clusters + 1, round(OVER * n_clusters))
    direct = added_noise(lift, opening.ledger.unit, n / n_groups, d) > LIFT_NOISE
    n_groups = n_clusters if direct else n_groups
    share = purse.share(DIRECT_SHARE if direct else SHARES["projection"])
    like = auto.like_pure(share, opening.ledger.unit, FEWEST_AXES)
    matrix = projection_matrix(d, min(n_axes(n * like / n_groups), d - 1), opening.stream)
    origin, radius = _ball(purse, n, DIRECT_QUANTILE if direct else QUANTILE)
    projection = Projection(lattice, matrix, origin)
    leaves, places = _groups(opening, purse, projection, radius, n_groups, share)
    groups = Groups(lattice, places, projection)
    anchors = np.repeat(origin[np.newaxis], len(places), axis=0)
    price = opening.ledger.remaining.exact if direct else lift
    lifted = purse.means("means of groups", groups, anchors, radius, price)
    held = lifted.counts > max(1.0, FEW * n / n_groups)
    if not held.any():
        held[np.argmax(lifted.counts)] = True
    seed = int(noise.below(2**31, rng=opening.stream))
    points, centers, member = _merge(lifted, held, places, projection, n_clusters, n_init, seed)
    centers = lattice.points(lattice.coordinates(centers + origin))
    weights, variances = member @ lifted.counts, member.sum(axis=1) * lifted.count_variance
    if not direct:
        centers, last = _polish(purse, centers, n)
        weights, variances = last.counts, np.full(len(centers), last.count_variance)
    order = np.lexsort(centers.T[::-1])
    centers, weights, variances = lattice.coordinates(centers)[order], weights[order], variances[order]
    centers = opening.domain.clamp(centers)
    facts = {"method": "lift", "n_clusters": n_clusters, "n_rows": opening.n_rows, "axes": matrix.shape[1]}
    facts |= {"groups": len(places), "radius": radius * lattice.step, "scale": scale}
    whole = np.repeat(opening.domain.low[np.newaxis], len(places), axis=0)
    return Synopsis(
        opening.domain,
        lower=whole,
        upper=np.repeat(opening.domain.high[np.newaxis], len(places), axis=0),
        weights=lifted.counts,
        variances=np.full(len(places), lifted.count_variance),
        points=opening.domain.clamp(lattice.coordinates(points + origin)),
        guarantee=opening.promise(facts),
        total=opening.n_rows,
        total_variance=opening.n_rows_variance or 0.0,
        uncut=opening.domain.names,
        lifted=Lifted(
            matrix, lattice.coordinates(origin), leaves.lower, leaves.upper, leaves.points, leaves.weights,
            leaves.variances, places, centers, weights, variances, scale,
        ),
    )  # fmt: skip


def projection_matrix(n_columns: int, n_axes: int, stream: noise.Generator) -> IntArray:
    """Draw random orthonormal directions, in whole numbers of which 1024 stand for 1.

    Examples
    --------
    >>> drawn = projection_matrix(50, 3, noise.generator(1)) / 1024
    >>> (drawn.T @ drawn).round(2).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    normal = noise.discrete_gaussian(1000.0, (n_columns, n_axes), stream).astype(np.float64)
    turned, corner = np.linalg.qr(normal)
    return np.asarray(np.rint(turned * np.where(np.diag(corner) < 0, -ONE, ONE)), np.int64)


def _ball(purse: Purse, n: float, quantile: float) -> tuple[FloatArray, int]:
    """Buy a ball that holds nearly all rows: its centre, a lattice point, and its radius."""
    lattice = purse.lattice
    d = len(lattice.domain)
    # Public places to begin at: the middle of the domain, and where all is 0, which is nearer to sparse rows.
    public = [np.zeros(d), lattice.points(np.zeros((1, d)))[0]]
    public = public[:1] if np.array_equal(*public) else public
    price = purse.share(SHARES["first radius"])
    names = ("radius around the middle", "radius around zero")
    radii = [
        purse.radius(label, Groups(lattice, place[np.newaxis]), FIRST_QUANTILE, price)
        for label, place in zip(names, public, strict=False)
    ]
    first = int(np.argmin(radii))
    start, radius = public[first], radii[first]
    one = Groups(lattice, start[np.newaxis])
    found = purse.means("centre", one, start[np.newaxis], radius, purse.share(SHARES["centre"]))
    mean = found.sums[0] / max(float(found.counts[0]), n / 2)
    blur = d * found.variance / n**2
    signal = max(0.0, float(mean @ mean) - blur)
    moved = start + (signal / (signal + blur) if signal else 0.0) * mean
    centre = lattice.points(lattice.coordinates(moved[np.newaxis]))
    around = purse.radius("radius", Groups(lattice, centre), quantile, purse.share(SHARES["radius"]))
    return (centre[0], around) if around < radius else (start, radius)


def _groups(
    opening: OpenRelease, purse: Purse, projection: Projection, radius: int, n_groups: int, price: Exact
) -> tuple[Synopsis, FloatArray]:
    """Buy a synopsis on the axes of the projection, and find groups in it."""
    d, p = projection.matrix.shape
    reach = WIDE * radius * projection.lattice.step / math.sqrt(d)
    domain = Domain.box([-reach] * p, [reach] * p, names=[f"axis {i + 1}" for i in range(p)])
    unit = purse.ledger.unit
    source = projected(opening.source, projection, domain)
    chosen, gaussian = auto.on_axes(opening.n_rows, domain, n_groups, price, unit)
    if gaussian:
        pay(purse.ledger, "groups on the axes of the projection", price, unit)
        own = Ledger(rho=price, delta=Fraction(1, 2))  # charged above; the δ of this one is told nowhere
    else:
        epsilon = purse.ledger.spend("groups on the axes of the projection", pure_part(price, unit))
        own = Ledger(epsilon)
    part = dataclasses.replace(
        opening, source=source, domain=domain, declared=domain, ledger=own, counts=None, n_rows_variance=None,
        reserved=None, person=None, paid=(),
    )  # fmt: skip
    if chosen.method == "tree":
        made = tree.build(part, TreeSettings.read(**chosen.settings))
    else:
        made = grid.build(part, GridSettings.read(**chosen.settings))
    seed = int(noise.below(2**31, rng=opening.stream))
    found = cluster_synopsis(made, n_groups, refine=chosen.refine, n_init=5, random_state=seed)
    return made, found.centers


def _merge(
    lifted: Means, held: Any, places: FloatArray, projection: Projection, k: int, n_init: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return estimates of all groups' means and k centres, as offsets from the origin, and which groups are whose.

    Post-processing: everything here was bought.
    """
    counts = np.maximum(lifted.counts, 1.0)
    axes = projection.matrix / ONE
    inside = places / projection.lattice.step @ axes.T
    means = lifted.sums / counts[:, np.newaxis]
    beyond = means - means @ axes @ axes.T
    mass = np.where(held, counts, 0.0)
    common = mass @ beyond / mass.sum()
    apart = beyond - common
    signal = _signal(apart[held], mass[held], lifted.variance / counts[held] ** 2)
    points = inside + common + _shrunk(apart, signal, lifted.variance / counts**2)
    found = weighted_kmeans(points[held], mass[held], k, n_init=2 * n_init, seed=seed)
    label = nearest(points[held], found.centers)
    # The centre of several groups has less noise than each of them, and is shrunk less.
    heavy = mass_by(label, mass[held], len(found.centers))
    member = np.zeros((len(heavy), len(mass)))
    member[label, np.flatnonzero(held)] = 1.0
    part = member * mass / heavy[:, np.newaxis]
    blur = lifted.variance * member.sum(axis=1) / heavy**2
    return points, part @ inside + common + _shrunk(part @ apart, signal, blur), member


def _signal(apart: FloatArray, mass: FloatArray, blur: FloatArray) -> FloatArray:
    """Return by column how far true means lie apart, squared: what noisy ones do, without the noise.

    A column has few means, so its own figure is averaged with that of all columns, which counts as `PRIOR` more.
    """
    own = mass @ (apart * apart - blur[:, np.newaxis]) / mass.sum()
    free = len(mass) - 1
    return np.asarray(np.maximum((free * own + PRIOR * own.mean()) / (free + PRIOR), 1e-12))


def _shrunk(apart: FloatArray, signal: FloatArray, blur: FloatArray) -> FloatArray:
    """Shrink noisy offsets by as much as noise outweighs the signal of their column."""
    return apart * (signal / (signal + blur[:, np.newaxis]))


def _polish(purse: Purse, centers: FloatArray, n: float) -> tuple[FloatArray, Means]:
    """Improve lattice centres by noisy steps of Lloyd's algorithm, with all that is left."""
    k, d = centers.shape
    lattice, unit = purse.lattice, purse.ledger.unit
    price = purse.share(SHARES["last radius"])
    radius = purse.radius("radius of clusters", Groups(lattice, centers), LAST_QUANTILE, price)
    left = purse.ledger.remaining.exact
    steps = n_steps(left, unit, n / k, d)
    for step in range(steps):
        rest, later = purse.ledger.remaining.exact, steps - 1 - step
        part = rest / (later + LAST_WEIGHT) if later and isinstance(rest, Fraction) else rest
        last = purse.means(f"step {step + 1}", Groups(lattice, centers), centers, radius, part)
        counts = np.maximum(last.counts, 0.05 * n / k)
        moved = centers + last.sums / counts[:, np.newaxis]
        common = counts @ moved / counts.sum()
        apart, blur = moved - common, last.variance / counts**2
        moved = common + _shrunk(apart, _signal(apart, counts, blur), blur)
        centers = lattice.points(lattice.coordinates(moved))
    return centers, last


def n_axes(x: float) -> int:
    """Return how many axes a projection has for groups of so many rows times ε.

    Examples
    --------
    >>> n_axes(10.0), n_axes(400.0), n_axes(math.inf)
    (8, 11, 16)
    """
    enough = (p for p in range(MOST_AXES, FEWEST_AXES, -1) if x >= AXIS_ROWS * auto.rows_for_a_mean(p))
    return next(enough, FEWEST_AXES)


def added_noise(price: Exact, unit: str, rows: float, n_axes: int) -> float:
    """Return what noise adds to the squared distances of rows from their mean, for a ball of radius 1.

    d v/n² with v the variance of an entry: (d + 2)/ε², or 1/(2ρ).

    Examples
    --------
    >>> added_noise(Fraction(1, 2), "epsilon", 100.0, 10)
    0.048
    """
    if isinstance(price, float):
        return 0.0
    variance = (n_axes + 2) / float(price) ** 2 if unit == "epsilon" else 1 / (2 * float(price))
    return n_axes * variance / max(rows, 1.0) ** 2


def n_steps(price: Exact, unit: str, rows: float, n_axes: int) -> int:
    """Return how many steps a price is divided into: as many as add little noise each.

    Examples
    --------
    >>> n_steps(Fraction(2, 5), "epsilon", 5000.0, 784), n_steps(Fraction(1, 100), "rho", 6000.0, 784)
    (1, 2)
    """
    if isinstance(price, float):
        return MOST_STEPS
    parts = range(LAST_WEIGHT + 1, LAST_WEIGHT + MOST_STEPS)
    return 1 + sum(added_noise(price / part, unit, rows, n_axes) <= STEP_NOISE for part in parts)
