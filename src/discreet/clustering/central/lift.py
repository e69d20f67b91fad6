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

Merging knows the noise (`shrinking.py`): where it outweighs what sets groups apart, their means are drawn together.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.clustering.central import auto
from discreet.clustering.central.columns import distance_units, within_values
from discreet.clustering.central.of_synopsis import cluster_synopsis
from discreet.clustering.central.shrinking import Means, in_ball, merge, shrunk, signal_of
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
FIRST_QUANTILE, QUANTILE, LAST_QUANTILE = 0.6, 0.9, 0.75
#: Radii are looked for among so many cells of equal ratio, over so many octaves (below a bound that was bought, fewer).
#: A quantile is lowered until missing the cells beyond it costs `SURE` in the exponent; before that its share is
#: raised, up to so many times, until it has these rows times ε.
RADIUS_CELLS, OCTAVES, LATER_OCTAVES, ROOM, SURE, RADIUS_ROWS, RADIUS_MORE = 2**12, 8, 3, 1.0, 8.0, 36.0, 8.0
#: Above this noise (`added_noise`) a lift of more groups than clusters says nothing. Then there are k groups, for this
#: share, clipped at this quantile, and their means get all that is left.
LIFT_NOISE, DIRECT_SHARE, DIRECT_CENTRE, DIRECT_QUANTILE = 0.35, 0.2, 0.12, 0.6
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
#: Groups with fewer rows than this share of the average are noise.
FEW = 0.1
_SHARE_STEPS = 2**20


class Purse:
    """What is left of a ledger, to be spent in shares; every price is charged before rows are read."""

    def __init__(self, opening: OpenRelease, lattice: Lattice) -> None:
        self.source, self.ledger, self.stream = opening.source, opening.ledger, opening.stream
        self.lattice = lattice
        self.whole: Exact = opening.ledger.remaining.exact
        self.n = max(opening.n_rows, 1.0)

    def share(self, share: float) -> Exact:
        """Return a share of what there was at first."""
        return self.whole * Fraction(round(share * _SHARE_STEPS), _SHARE_STEPS) if self._finite else self.whole

    @property
    def _finite(self) -> bool:
        return isinstance(self.whole, Fraction)

    def radius(
        self, label: str, groups: Groups, quantile: float, share: float, most: float, *, bought: bool = False
    ) -> int:
        """Buy a quantile of the rows' distances from the centres of their groups, in lattice steps.

        It is looked for up to a public or bought bound, among cells that grow with the distance: where budget and rows
        are few, what comes out is a wrong octave and not a place on the domain's diagonal. For the same reason the
        share is raised there, and a lower quantile taken, which has more rows above it (`surest`).

        Privacy
        -------
        Neighbours: add or remove one row, which is one distance. A private quantile on public cells
        (`discreet.noise.quantiles_from_counts`) at ε costs ε; in ρ, ε²/2.
        """
        unit = self.ledger.unit
        wanted = RADIUS_ROWS / (self.n * float(pure_part(self.share(share), unit)))
        more = min(max(1.0, wanted if unit == "epsilon" else wanted**2), RADIUS_MORE)
        epsilon = pure_part(self.share(share * more), unit)
        self.ledger.spend(label, epsilon)
        norms = NormMap(groups)
        counts = self.source.count(norms, batch_size=_batch_rows(len(norms.domain)))
        low = max(64.0, most * 2.0 ** -(LATER_OCTAVES if bought else OCTAVES))
        # A cell of distances counts as at its upper end, so that it is not called shorter than it is; and beyond the
        # longest there are cells, as a quantile lies between two.
        ends = low, most * 2.0**ROOM
        lengths = np.minimum((counts.cells + 1) * (2.0 * REACH / NORM_CELLS), most)
        far = np.log(lengths / ends[0]) / math.log(ends[1] / ends[0])
        cells = np.clip(np.ceil(far * RADIUS_CELLS) - 1, 0, RADIUS_CELLS - 1).astype(np.int64)
        found = noise.quantiles_from_counts(
            counts.counts, [surest(quantile, self.n * float(epsilon))], epsilon=epsilon,  # type: ignore[arg-type]
            low=math.log(ends[0]), high=math.log(ends[1]), cells=cells, n_cells=RADIUS_CELLS, rng=self.stream,
        )  # fmt: skip
        return max(64, math.ceil(math.exp(float(found[0]))))

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


def check(domain: Domain, declared: Sequence[str] = ()) -> None:
    """Refuse columns that cannot be projected, as "lift" or a declared ball asks for: places are needed."""
    if len(domain) < 2 or not auto.is_whole(domain):
        expected = "used with two or more columns of numbers, none of which keeps missing values as a category"
        fix = ", ".join(['synopsis="auto"', *(f"{name}=None" for name in declared)])
        raise InvalidArgument(declared[0] if declared else "synopsis", "lift", expected, fix)


def gaussian_lift(domain: Domain, pure: Exact, rho: Fraction) -> bool:
    """Tell whether sums have less noise for ρ than for ε: 1/(2ρ) against (d + 2)/ε², of a ball of radius 1."""
    return not isinstance(pure, float) and pure * pure < 2 * rho * (len(domain) + 2)


def first_radii(opening: OpenRelease, scale: str) -> tuple[int, ...]:
    """Buy how far rows are from public places (`Purse.radius`), in lattice steps: `REACH` from middle to corner."""
    return _radii(Purse(opening, Lattice(opening.domain, distance_units(opening.domain, scale))))


def _public_places(lattice: Lattice) -> list[tuple[str, FloatArray, float]]:
    """Return where to begin, and how far rows can be: the domain's middle, and 0, which is nearer to sparse ones."""
    d = len(lattice.domain)
    zero = lattice.points(np.zeros((1, d)))
    places = [("radius around the middle", np.zeros((1, d)), float(REACH)), ("radius around zero", zero, 2.0 * REACH)]
    return places if zero.any() else places[:1]


def _radii(purse: Purse) -> tuple[int, ...]:
    """Buy the radii around public places; of the first alone, if rows do not suffice for all."""
    places = _public_places(purse.lattice)
    enough = pure_part(purse.share(RADIUS_MORE * SHARES["first radius"]), purse.ledger.unit)
    if purse.n * float(enough) < RADIUS_ROWS / 2:
        places = places[:1]
    return tuple(
        purse.radius(label, Groups(purse.lattice, place), FIRST_QUANTILE, SHARES["first radius"], most)
        for label, place, most in places
    )


def fit(
    opening: OpenRelease, n_clusters: int, *, scale: str = "none", n_init: int = 10, center: FloatArray | None = None,
    radius: float | None = None, first: tuple[int, ...] = (),
) -> Synopsis:  # fmt: skip
    """Find centres with all that a ledger has left, but for what was declared of the ball or bought (`first_radii`).

    Privacy
    -------
    Neighbours: add or remove one row. The steps are bought one after the other, and add up: radii (`Purse.radius`), a
    centre, the lift and the last steps (`Purse.means`), and a synopsis on the axes of the projection, which sees a
    function of each row by itself. The projection is drawn before any row is read. Everything else is a function of
    what was bought and of public values, a declared centre or radius among them. Price: all that is left.
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
    wanted = (DIRECT_CENTRE, DIRECT_QUANTILE) if direct else (SHARES["centre"], QUANTILE)
    declared = None if radius is None else max(64, math.ceil(min(radius / lattice.step, 2.0 * REACH)))
    known = {"center": center, "radius": declared}
    told = " and ".join(name for name, value in known.items() if value is not None)
    origin, radius = _ball(purse, *wanted, center, declared, first)
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
    points, centers, member = merge(lifted, held, places, projection, radius, n_clusters, n_init, seed)
    centers = lattice.points(lattice.coordinates(centers + origin))
    weights, variances = member @ lifted.counts, member.sum(axis=1) * lifted.count_variance
    if not direct:
        centers, last = _polish(purse, centers, n, radius)
        weights, variances = last.counts, np.full(len(centers), last.count_variance)
    order = np.lexsort(centers.T[::-1])
    centers, weights, variances = lattice.coordinates(centers)[order], weights[order], variances[order]
    centers = within_values(opening.domain, centers)
    facts = {"method": "lift", "n_clusters": n_clusters, "n_rows": opening.n_rows, "axes": matrix.shape[1]}
    facts |= {
        "groups": len(places),
        "radius": radius * lattice.step,
        "scale": scale,
        **({"declared": told} if told else {}),
    }
    whole = np.repeat(opening.domain.low[np.newaxis], len(places), axis=0)
    return Synopsis(
        opening.domain,
        lower=whole,
        upper=np.repeat(opening.domain.high[np.newaxis], len(places), axis=0),
        weights=lifted.counts,
        variances=np.full(len(places), lifted.count_variance),
        points=within_values(opening.domain, lattice.coordinates(points + origin)),
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


def _ball(
    purse: Purse, share: float, quantile: float, center: FloatArray | None, radius: int | None, first: tuple[int, ...]
) -> tuple[FloatArray, int]:
    """Buy a ball that holds nearly all rows: its centre, a lattice point, and its radius; less what was declared."""
    if center is None:
        place, most = _centre(purse, share, first)
    else:
        place, most = purse.lattice.points(center[np.newaxis]), 2.0 * REACH
    if radius is None:
        near = Groups(purse.lattice, place)
        radius = purse.radius("radius", near, quantile, SHARES["radius"], most, bought=center is None)
    return place[0], radius


def _centre(purse: Purse, share: float, bought: tuple[int, ...]) -> tuple[FloatArray, float]:
    """Buy a place amid the rows, from a public one that is not far from them; and what they are within of."""
    lattice, n, radii = purse.lattice, purse.n, bought or _radii(purse)
    places = [place for _, place, _ in _public_places(lattice)]
    first = int(np.argmin(radii))
    start, radius = places[first], radii[first]
    if len(radii) > 1 and sum(radii) < np.linalg.norm(places[1] - places[0]):
        # More than half of the rows cannot be near both: one is wrong, and nobody knows which.
        start, radius = places[0], REACH
    found = purse.means("centre", Groups(lattice, start), start, radius, purse.share(share))
    # The number of rows is known better than the count that comes with the sums.
    mean, blur = found.sums / n, np.array([found.variance / n**2])
    moved = start + in_ball(shrunk(mean, signal_of(mean, np.ones(1), blur, radius**2), blur), radius)
    return lattice.points(lattice.coordinates(moved)), float(radius)


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


def _polish(purse: Purse, centers: FloatArray, n: float, most: int) -> tuple[FloatArray, Means]:
    """Improve lattice centres by noisy steps of Lloyd's algorithm, with all that is left."""
    k, d = centers.shape
    lattice, unit = purse.lattice, purse.ledger.unit
    near = Groups(lattice, centers)
    radius = purse.radius("radius of clusters", near, LAST_QUANTILE, SHARES["last radius"], most, bought=True)
    left = purse.ledger.remaining.exact
    steps = n_steps(left, unit, n / k, d)
    for step in range(steps):
        rest, later = purse.ledger.remaining.exact, steps - 1 - step
        part = rest / (later + LAST_WEIGHT) if later and isinstance(rest, Fraction) else rest
        last = purse.means(f"step {step + 1}", Groups(lattice, centers), centers, radius, part)
        counts = np.maximum(last.counts, 0.05 * n / k)
        way, blur = last.sums / counts[:, np.newaxis], last.variance / counts**2
        moved = centers + in_ball(way, radius)
        common = counts @ moved / counts.sum()
        apart = moved - common
        moved = common + shrunk(apart, signal_of(apart, counts, blur, most**2), blur)
        centers = lattice.points(lattice.coordinates(moved))
    return centers, last


def surest(quantile: float, x: float) -> float:
    """Return a quantile that is not missed for want of rows: x of them, times ε.

    Beyond all rows the exponent of the draw is x (1 - q)/(2q) lower than at the quantile.

    Examples
    --------
    >>> surest(0.9, 1000.0), round(surest(0.9, 40.0), 2), surest(0.9, 1.0)
    (0.9, 0.71, 0.5)
    """
    return min(quantile, max(0.5, x / (x + 2 * SURE))) if math.isfinite(x) else quantile


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
