"""Private k-means in many dimensions: project, over-seed, lift, merge, polish.

Rows are projected to a few axes at random, which keeps distances about right. There private k-means is asked for more
groups than there are clusters. Noisy means of the groups are published in all dimensions (*lifted*), merged to k
centres (`shrinking.py`), and improved by noisy steps of Lloyd's algorithm. Relatives: Balcan et al. 2017; Chang and
Kamath 2021; Su et al. 2016. Noise on sums is proportional to the radius of the ball that rows are clipped to, so the
ball is estimated first; the last steps clip a row's offset from its own centre, for which a smaller radius will do.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.clustering.central import auto
from discreet.clustering.central.of_synopsis import cluster_synopsis
from discreet.clustering.central.shrinking import Means, in_ball, merge, shrunk, signal_of
from discreet.clustering.leaves.columns import distance_units, within_values
from discreet.core import Domain, FloatArray, IntArray
from discreet.core.budget import Epsilon, Price, Rho, root
from discreet.engines import projected
from discreet.engines.passes import NORM_CELLS, ONE, REACH, BallPass, Groups, Lattice, NormMap, Projection
from discreet.engines.passes import batch_rows as _batch_rows
from discreet.errors import InvalidArgument
from discreet.mechanisms import LARGEST_SCALE, Moves
from discreet.noise import PublicRandomness
from discreet.synopses import CenterSynopsis, GridSynopsis, Lifted, OpenRelease, Synopsis, TreeSynopsis
from discreet.synopses.boxes.grid import estimator as grid
from discreet.synopses.boxes.tree import estimator as tree

#: Axes of the projection, within bounds, so that a group has `AXIS_ROWS` times the rows that its mean on them needs.
AXIS_ROWS, FEWEST_AXES, MOST_AXES = 12.0, 8, 16
#: Groups for each cluster.
OVER = 2.5
#: Shares of the budget: radius round a public place (each), centre, radius round it, projection, lift, radius of
#: offsets. The rest is for the last steps.
SHARES = {"first radius": 0.01, "centre": 0.06, "radius": 0.015, "projection": 0.27, "lift": 0.25, "last radius": 0.015}
#: Quantiles of the norms that make the radii.
FIRST_QUANTILE, QUANTILE, LAST_QUANTILE = 0.6, 0.9, 0.75
#: Radii are looked for among so many cells of equal ratio, over so many octaves (fewer below a noisy bound).
#: A quantile is lowered until missing the cells beyond it costs `SURE` in the exponent; before that its share is
#: raised, up to so many times, until it has these rows times ε.
RADIUS_CELLS, OCTAVES, LATER_OCTAVES, ROOM, SURE, RADIUS_ROWS, RADIUS_MORE = 2**12, 8, 3, 1.0, 8.0, 36.0, 8.0
#: Above this noise (`added_noise`) a lift of more groups than clusters says nothing. Then there are k groups, for this
#: share, clipped at this quantile, and their means get all that is left.
LIFT_NOISE, DIRECT_SHARE, DIRECT_CENTRE, DIRECT_QUANTILE, GROUP_NOISE = 0.35, 0.2, 0.12, 0.6, 0.1
#: Reach of the box on the axes of the projection, in radii over the root of the number of columns.
WIDE = 2.2
#: A count takes this part of the ball's radius in the joint draw with the sums.
COUNT_WEIGHT = Fraction(1, 4)
#: The radius, at most, of a ball on the finer lattice of Gaussian noise.
BALL = 2**30
#: Largest ball, in steps, for which σ for ρ = 1/2 can be drawn.
_WIDEST = LARGEST_SCALE * 9 // 10
#: Last steps are as many as add no more than this noise each; the very last one has so many times the share of others.
STEP_NOISE, MOST_STEPS, LAST_WEIGHT = 0.004, 3, 2
#: Groups with fewer rows than this share of the average are noise.
FEW = 0.1
_SHARE_STEPS = 2**20


class OnLattice:
    """A table on a lattice, and the gate through which radii and means of it are published."""

    def __init__(self, opening: OpenRelease, lattice: Lattice) -> None:
        self.source, self.gate, self.lattice = opening.source, opening.gate, lattice
        self.whole = opening.gate.left
        self.n = max(opening.n_rows, 1.0)

    def share(self, share: float) -> Price:
        """Return a share of what there was at first."""
        return self.whole * Fraction(round(share * _SHARE_STEPS), _SHARE_STEPS)

    def radius(
        self, label: str, groups: Groups, quantile: float, share: float, most: float, *, private: bool = False
    ) -> int:
        """Choose a quantile of the rows' distances from the centres of their groups, in lattice steps.

        It is looked for up to a public or noisy bound, among cells that grow with the distance. With few rows the share
        of the budget is raised, and a lower quantile is taken, which has more rows above it (`surest`).

        Privacy
        -------
        Neighbours: add or remove one row, which is one distance. A private quantile on public cells (`Gate.quantile`)
        at ε costs ε; in ρ, ε²/2.
        """
        wanted = RADIUS_ROWS / (self.n * self.share(share).pure().shown)
        more = min(max(1.0, wanted if self.gate.pure else wanted**2), RADIUS_MORE)
        epsilon = self.share(share * more).pure()
        norms = NormMap(groups)
        low = max(64.0, most * 2.0 ** -(LATER_OCTAVES if private else OCTAVES))
        # A cell of distances counts as at its upper end, so that it is not called shorter than it is; and beyond the
        # longest there are cells, as a quantile lies between two.
        ends = low, most * 2.0**ROOM

        def read() -> tuple[IntArray, IntArray]:
            counts = self.source.count(norms, batch_size=_batch_rows(len(norms.domain)))
            lengths = np.minimum((counts.cells + 1) * (2.0 * REACH / NORM_CELLS), most)
            far = np.log(lengths / ends[0]) / math.log(ends[1] / ends[0])
            return np.clip(np.ceil(far * RADIUS_CELLS) - 1, 0, RADIUS_CELLS - 1).astype(np.int64), counts.counts

        share = surest(quantile, self.n * epsilon.shown)
        line = self.gate.quantiles(label, lambda: [read()], [share], epsilon, RADIUS_CELLS, "sequential").item()
        low, high = map(math.log, ends)
        found = low + line / RADIUS_CELLS * (high - low)
        return max(64, math.ceil(math.exp(found)))

    def means(self, label: str, groups: Groups, anchors: FloatArray, radius: int, price: Price) -> Means:
        """Publish counts and sums of all groups, in one joint draw each.

        Privacy
        -------
        Neighbours: add or remove one row. Groups are disjoint, so a row changes one of them: its count by 1, its sums
        by a whole vector of norm at most R (`discreet.engines.passes.lattice`). With the count times c, c a public
        whole number, the vector (c n, Σq) moves by at most Δ = √(R² + c²). Isotropic Laplace noise of scale Δ/ε on it
        is ε-DP (`discreet.noise.vector.isotropic`); discrete Gaussian noise with σ² >= Δ²/(2ρ) on every entry is
        ρ-zCDP, and so is what is √(2ρ)-DP. Δ and σ are rounded up. With all of it times a public whole number m (on a
        finer lattice), Δ is m times as large, and any bound above. Price: ε or ρ, once for all groups.
        """
        weight, finer = max(1, int(radius * COUNT_WEIGHT)), 1
        square = radius**2 + weight**2
        if isinstance(price, Rho):
            # Gaussian noise has a table for every σ: on a finer lattice, on which all balls are about as large, σ
            # follows from the price alone. Where that is wider than can be drawn, Laplace noise for √(2ρ) is not.
            ball = min(BALL, int(_WIDEST * root(2 * Fraction(price.amount))))
            if ball < radius:
                price = price.pure()
            else:
                finer, square = ball // radius, ball**2 + int(ball * COUNT_WEIGHT) ** 2

        def read() -> IntArray:
            table: IntArray = self.source.ball_sums(BallPass(groups, anchors, radius))
            table[:, 0] *= weight
            return finer * table

        found = self.gate.vectors(label, read, price, Moves(l2_squared=square))
        noisy, variance = found.values / finer, found.variance / finer**2
        return Means(noisy[:, 0] / weight, noisy[:, 1:], variance, variance / weight**2)


def check(domain: Domain, declared: Sequence[str] = ()) -> None:
    """Refuse columns that cannot be projected, as "lift" or a declared ball asks for: places are needed."""
    if len(domain) < 2 or not auto.is_whole(domain):
        expected = "used with two or more columns of numbers, none of which keeps missing values as a category"
        fix = ", ".join(['synopsis="auto"', *(f"{name}=None" for name in declared)])
        raise InvalidArgument(declared[0] if declared else "synopsis", "lift", expected, fix)


def gaussian_lift(domain: Domain, pure: Epsilon, rho: Rho) -> bool:
    """Return whether sums have less noise for ρ than for ε: 1/(2ρ) against (d + 2)/ε², of a ball of radius 1."""
    return not pure.infinite and pure.as_rho() < rho * (len(domain) + 2)


def _public_places(lattice: Lattice) -> list[tuple[str, FloatArray, float]]:
    """Return where to begin, and how far rows can be: the domain's middle, and 0, which is nearer to sparse ones."""
    d = len(lattice.domain)
    zero = lattice.points(np.zeros((1, d)))
    places = [("radius around the middle", np.zeros((1, d)), float(REACH)), ("radius around zero", zero, 2.0 * REACH)]
    return places if zero.any() else places[:1]


def _radii(rows: OnLattice) -> tuple[int, ...]:
    """Publish the radii around public places; of the first alone, if rows do not suffice for all."""
    places = _public_places(rows.lattice)
    enough = rows.share(RADIUS_MORE * SHARES["first radius"]).pure()
    if rows.n * enough.shown < RADIUS_ROWS / 2:
        places = places[:1]
    return tuple(
        rows.radius(label, Groups(rows.lattice, place), FIRST_QUANTILE, SHARES["first radius"], most)
        for label, place, most in places
    )


def fit(
    opening: OpenRelease, n_clusters: int, *, scale: str = "none", n_init: int = 10, center: FloatArray | None = None,
    radius: float | None = None,
) -> Synopsis:  # fmt: skip
    """Find centres with all that is left, but for what was declared of the ball.

    Privacy
    -------
    Neighbours: add or remove one row. The steps come one after the other, and add up: radii (`OnLattice.radius`), a
    centre, the lift and the last steps (`OnLattice.means`), and a synopsis on the axes of the projection, which sees a
    function of each row by itself. The projection is drawn before any row is read. Everything else is a function of
    what was published and of public values, a declared centre or radius among them. Price: all that is left.
    """
    lattice = Lattice(opening.domain, distance_units(opening.domain, scale))
    rows = OnLattice(opening, lattice)
    n, d = max(opening.n_rows, 1.0), len(opening.domain)
    lift = rows.share(SHARES["lift"])
    n_groups = max(n_clusters + 1, round(OVER * n_clusters))
    direct = added_noise(lift, n / n_groups, d) > LIFT_NOISE
    n_groups = min(n_clusters, affordable(rows.share(1 - DIRECT_SHARE), n, d)) if direct else n_groups
    share = rows.share(DIRECT_SHARE if direct else SHARES["projection"])
    like = auto.like_pure(share, FEWEST_AXES)
    matrix = projection_matrix(d, min(n_axes(n * like / n_groups), d - 1), opening.gate.free)
    wanted = (DIRECT_CENTRE, DIRECT_QUANTILE) if direct else (SHARES["centre"], QUANTILE)
    declared = None if radius is None else max(64, math.ceil(min(radius / lattice.step, 2.0 * REACH)))
    known = {"center": center, "radius": declared}
    told = " and ".join(name for name, value in known.items() if value is not None)
    origin, radius = _ball(rows, *wanted, center, declared)
    projection = Projection(lattice, matrix, origin)
    leaves, places = _groups(opening, projection, radius, n_groups, share)
    groups = Groups(lattice, places, projection)
    anchors = np.repeat(origin[np.newaxis], len(places), axis=0)
    price = opening.gate.left if direct else lift
    lifted = rows.means("means of groups", groups, anchors, radius, price)
    held = lifted.counts > max(1.0, FEW * n / n_groups)
    if not held.any():
        held[np.argmax(lifted.counts)] = True
    seed = opening.gate.free.seed()
    points, centers, member = merge(lifted, held, places, projection, radius, n_clusters, n_init, seed)
    centers = lattice.points(lattice.coordinates(centers + origin))
    weights, variances = member @ lifted.counts, member.sum(axis=1) * lifted.count_variance
    if not direct:
        centers, last = _polish(rows, centers, n, radius)
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
    return CenterSynopsis(
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


def projection_matrix(n_columns: int, n_axes: int, random: PublicRandomness) -> IntArray:
    """Draw random orthonormal directions, in whole numbers of which 1024 stand for 1."""
    normal = random.normals((n_columns, n_axes)).astype(np.float64)
    turned, corner = np.linalg.qr(normal)
    return np.asarray(np.rint(turned * np.where(np.diag(corner) < 0, -ONE, ONE)), np.int64)


def _ball(
    rows: OnLattice,
    share: float,
    quantile: float,
    center: FloatArray | None,
    radius: int | None,
) -> tuple[FloatArray, int]:
    """Find a ball that holds nearly all rows: its centre, a lattice point, and its radius; less what was declared."""
    if center is None:
        place, most = _centre(rows, share)
    else:
        place, most = rows.lattice.points(center[np.newaxis]), 2.0 * REACH
    if radius is None:
        near = Groups(rows.lattice, place)
        radius = rows.radius("radius", near, quantile, SHARES["radius"], most, private=center is None)
    return place[0], radius


def _centre(rows: OnLattice, share: float) -> tuple[FloatArray, float]:
    """Find a place amid the rows, from a public one that is not far from them; and what they are within of."""
    lattice, n, radii = rows.lattice, rows.n, _radii(rows)
    places = [place for _, place, _ in _public_places(lattice)]
    first = int(np.argmin(radii))
    start, radius = places[first], radii[first]
    if len(radii) > 1 and sum(radii) < np.linalg.norm(places[1] - places[0]):
        # More than half of the rows cannot be near both: one is wrong, and it is not known which.
        start, radius = places[0], REACH
    found = rows.means("centre", Groups(lattice, start), start, radius, rows.share(share))
    # The number of rows is known better than the count that comes with the sums.
    mean, blur = found.sums / n, np.array([found.variance / n**2])
    moved = start + in_ball(shrunk(mean, signal_of(mean, np.ones(1), blur, radius**2), blur), radius)
    return lattice.points(lattice.coordinates(moved)), float(radius)


def _groups(
    opening: OpenRelease, projection: Projection, radius: int, n_groups: int, price: Price
) -> tuple[Synopsis, FloatArray]:
    """Publish a synopsis on the axes of the projection, and find groups in it."""
    d, p = projection.matrix.shape
    reach = WIDE * radius * projection.lattice.step / math.sqrt(d)
    domain = Domain.box([-reach] * p, [reach] * p, names=[f"axis {i + 1}" for i in range(p)])
    source = projected(opening.source, projection, domain)
    chosen, gaussian = auto.on_axes(opening.n_rows, domain, n_groups, price)
    share = opening.gate.share if gaussian else opening.gate.pure_share
    with share("groups on the axes of the projection", price) as gate:
        part = dataclasses.replace(
            opening, source=source, domain=domain, declared=domain, gate=gate, counts=None, n_rows_variance=None
        )
        if chosen.method == "tree":
            made = tree.build(part, TreeSynopsis(**chosen.settings).settings())
        else:
            made = grid.build(part, GridSynopsis(**chosen.settings).settings())
    seed = opening.gate.free.seed()
    found = cluster_synopsis(made, n_groups, refine=chosen.refine, n_init=5, random_state=seed)
    return made, found.centers


def _polish(rows: OnLattice, centers: FloatArray, n: float, most: int) -> tuple[FloatArray, Means]:
    """Improve lattice centres by noisy steps of Lloyd's algorithm, with all that is left."""
    k, d = centers.shape
    lattice, gate = rows.lattice, rows.gate
    near = Groups(lattice, centers)
    radius = rows.radius("radius of clusters", near, LAST_QUANTILE, SHARES["last radius"], most, private=True)
    steps = n_steps(gate.left, n / k, d)
    for step in range(steps):
        later = steps - 1 - step
        part = gate.left / (later + LAST_WEIGHT) if later else gate.left
        last = rows.means(f"step {step + 1}", Groups(lattice, centers), centers, radius, part)
        counts = np.maximum(last.counts, 0.05 * n / k)
        way, blur = last.sums / counts[:, np.newaxis], last.variance / counts**2
        moved = centers + in_ball(way, radius)
        common = counts @ moved / counts.sum()
        apart = moved - common
        moved = common + shrunk(apart, signal_of(apart, counts, blur, most**2), blur)
        centers = lattice.points(lattice.coordinates(moved))
    return centers, last


def surest(quantile: float, x: float) -> float:
    """Return a quantile that is found even with few rows: x of them, times ε.

    Beyond all rows the exponent of the draw is x (1 - q)/(2q) lower than at the quantile.
    """
    return min(quantile, max(0.5, x / (x + 2 * SURE))) if math.isfinite(x) else quantile


def n_axes(x: float) -> int:
    """Return how many axes a projection has for groups of so many rows times ε."""
    enough = (p for p in range(MOST_AXES, FEWEST_AXES, -1) if x >= AXIS_ROWS * auto.rows_for_a_mean(p))
    return next(enough, FEWEST_AXES)


def added_noise(price: Price, rows: float, n_axes: int) -> float:
    """Return what noise adds to the squared distances of rows from their mean, for a ball of radius 1.

    d v/n² with v the variance of an entry: (d + 2)/ε², or 1/(2ρ).
    """
    if price.infinite:
        return 0.0
    variance = (n_axes + 2) / price.shown**2 if isinstance(price, Epsilon) else 1 / (2 * price.shown)
    return n_axes * variance / max(rows, 1.0) ** 2


def affordable(price: Price, n_rows: float, n_axes: int) -> int:
    """Return the most groups of equal size whose means get no more than `GROUP_NOISE` from a price; at least one."""
    whole = added_noise(price, n_rows, n_axes)
    return 2**20 if whole == 0 else max(1, int(min(math.sqrt(GROUP_NOISE / whole), 2.0**20)))


def n_steps(price: Price, rows: float, n_axes: int) -> int:
    """Return how many steps a price is divided into: as many as add little noise each."""
    if price.infinite:
        return MOST_STEPS
    parts = range(LAST_WEIGHT + 1, LAST_WEIGHT + MOST_STEPS)
    return 1 + sum(added_noise(price / part, rows, n_axes) <= STEP_NOISE for part in parts)
