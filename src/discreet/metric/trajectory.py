"""Places of one user over time: the last report is repeated while it is still accurate.

A fresh noisy place at every step would cost each time. A cheap noisy test asks whether the last report is still near
enough; if so, it is sent again (Chatzikokolakis, Palamidessi, Stronati 2014).

The total cost. Fix any transcript: which steps were tested, the answers, the places drawn. Two trajectories whose
places are at most ``radius`` apart at every time give a test the same answer with probabilities within e^test_epsilon
of each other, and a fresh place within e^epsilon. The probability of the transcript is the product of these conditional
probabilities, so it changes by at most e^c, where c adds up the costs of *this transcript*, which is public. The rule
"no step starts unless a test and a fresh place can still be paid" depends on c only: it reveals nothing more, and c
never exceeds the budget. After the end the last place is repeated without looking.

The test. d is the distance between the true place and the last report; it changes by at most D if the true place moves
by D. It is counted in whole steps of g: the count changes by at most D/g + 1, and by D/g + 2 with room for the rounding
of doubles (counts are cut off 2^20 steps beyond the threshold). Reading a record can move two places apart by e more (a
day for a date column: `discreet.metric.geometry.lattice`). Discrete Laplace noise of scale ((radius + e)/g +
2)/test_epsilon is added. The answer costs test_epsilon·(D + e + 2g)/(radius + e + 2g): test_epsilon at distance
``radius``, at most proportional beyond it. A fresh place costs epsilon·(D + c)/(radius + c), where c is the rounding of
its lattice, reading included. So below the radius a transcript costs at most budget·(D + c')/(radius + c'), where c' is
the larger of c and e + 2g.
"""

import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, Declared, Domain, FloatArray, Guarantee, IntArray, checks, option, persons
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.metric.geometry.lattice import lattice_assumption, short
from discreet.metric.geometry.laws import AxesLatticeLaw, TrajectoryLaw
from discreet.metric.perturber import IN_ORDER, ORDERS, PUBLIC_DOMAIN, numeric_names
from discreet.metric.points.nd_laplace import NDLaplace, PointNoise
from discreet.metric.rows import like, read_rows, rows_of
from discreet.metric.sphere.spherical import PlaceNoise, SphericalLaplace
from discreet.metric.user_ledger import UserLedger, charge_rows, metric_of, read_names

#: Steps of the test in one radius, at least.
_FINENESS = 1024
#: Counts of steps are cut off this far beyond the threshold.
_FAR = 2**20
#: Most steps of the test between two places of the box, with the noise.
_MOST_STEPS = 2**46
TRAJECTORY = "one user's trajectory"


def trajectory_neighbours(places: str) -> str:
    """Return the neighbours of a trajectory in words, given those of one of its places."""
    return f"two trajectories of one length, at all times {places.partition(' (')[0]} or less"


@dataclass(frozen=True, eq=False)
class TrajectoryReport:
    """Reported places, and their cost.

    Attributes
    ----------
    places : table
        Of the kind and shape of the input: the report at every step. By default users come in random order, one after
        the other, each user's places in the order of time.
    fresh, tested : ndarray of bool
        True if the row's place was drawn anew, and if it was tested. Public, like the places.
    trajectory : ndarray of int
        The user of each row, as an index into ``users``. Public: by default the numbers are random.
    users, rows : ndarray
        All users, in the same order as ``tests`` and ``draws``; and for every reported row, its row number in the
        input. Not part of the report: a pickle replaces both by plain numbers.
    tests, draws, prices
        Number of tests and of fresh places per user; the cost of one test and of one fresh place.
    guarantee : Guarantee
        The promise for one user's whole trajectory.

    Examples
    --------
    >>> import discreet as dc
    >>> still = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=(0, 1), random_state=5)
    >>> report = Trajectory(still, threshold=0.8, test_epsilon=0.25, budget=4).report(np.full((6, 2), 0.5))
    >>> report.fresh.tolist(), report.exact(0)
    ([True, False, False, False, False, False], Fraction(9, 4))
    """

    places: Any
    fresh: BoolArray
    tested: BoolArray
    trajectory: IntArray
    users: Any = field(repr=False)
    rows: IntArray = field(repr=False)
    tests: IntArray
    draws: IntArray
    prices: tuple[Fraction, Fraction]
    guarantee: Guarantee

    @property
    def spent(self) -> FloatArray:
        """Cost of each user's report, in the order of ``users``."""
        return np.asarray(self.tests * float(self.prices[0]) + self.draws * float(self.prices[1]))

    def exact(self, user: int) -> Fraction:
        """Return the exact cost of the report of the user at this place in ``users``."""
        return int(self.tests[user]) * self.prices[0] + int(self.draws[user]) * self.prices[1]

    def __getstate__(self) -> dict[str, Any]:
        # What is pickled travels: without names, and without the order that was shuffled.
        return {**self.__dict__, "users": np.arange(len(self.users)), "rows": np.arange(len(self.rows))}


class Trajectory(Declared):
    """Report trajectories: repeat the last place while a noisy test finds it near enough, else draw a fresh one.

    Privacy
    -------
    Neighbours: two trajectories of one user, of the same length, with places at most ``radius`` apart at every time.
    Cost: ε at most ``budget``; a transcript costs (tests · test_epsilon + fresh places · epsilon), and the rule to stop
    depends on the public transcript only. The proof is at the head of this module.

    Examples
    --------
    >>> import discreet as dc
    >>> walker = dc.metric.SphericalLaplace(epsilon=1, radius=200, random_state=1)
    >>> steps = np.array([[48.85, 2.35]] * 5 + [[48.95, 2.35]] * 5)          # eleven kilometres north after five steps
    >>> report = Trajectory(walker, threshold=2000, test_epsilon=0.5, budget=10).report(steps)
    >>> report.fresh.tolist()
    [True, False, False, False, False, True, False, False, False, False]
    >>> report.spent.tolist(), report.guarantee.epsilon
    ([6.5], 10.0)
    """

    mechanism: Any = option(help="`NDLaplace` or `SphericalLaplace`; draws fresh places, each at its own ε and radius.")
    threshold: Any = option(
        default=MISSING, takes="number", above=0, example=0.5,
        help="How far from the last report the true place may be, in the mechanism's metric.",
        details="It should be well above the mechanism's expected error.",
    )  # fmt: skip
    test_epsilon: Any = option(
        default=MISSING, takes="number", low=1e-6, example=0.1, help="Cost of a test, at the mechanism's radius."
    )
    budget: Any = option(
        default=MISSING, takes="number", above=0, example=10, help="The most that one user's trajectory may cost.",
        details="Then the last place is repeated.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        self._check()

    def _check(self) -> None:
        """Check all settings as they are now: they, and those of the mechanism, may have been set since."""
        if not isinstance(self.mechanism, (NDLaplace, SphericalLaplace)):
            fix, given = "mechanism=NDLaplace(...)", type(self.mechanism).__name__
            raise InvalidType("mechanism", given, "an NDLaplace or a SphericalLaplace", fix)
        for name in ("threshold", "test_epsilon", "budget"):
            setattr(self, name, self.read_option(name))
        #: Tests, fresh places and guarantee must use the same radius.
        self._radius = checks.positive("radius", self.mechanism.radius)
        self._step = Fraction(2) ** math.floor(math.log2(float(self._radius) / _FINENESS))

    def report(
        self,
        X: Any,
        users: Any = None,
        *,
        ledger: UserLedger | None = None,
        period: Any = None,
        order: str = "shuffled",
    ) -> TrajectoryReport:
        """Report the trajectories of one or many users.

        Parameters
        ----------
        X : array of (users, times, columns), or table
            Places. The rows of a table are in the order of time.
        users : array, optional
            For a table: the user of each row. By default all rows are about one user.
        ledger, period : UserLedger and str, optional
            Charged the whole budget for every user before anything is drawn; the period, if it has a limit for each.
        order : {"shuffled", "input"}
            Users in random order, or all rows in their order for internal reports, which the guarantee then states.
        """
        self._check()
        order = checks.choice("order", order, ORDERS)
        declared = self.mechanism._whole(X)
        if users is None and declared is not None and persons(declared):
            named = persons(declared)[0]
            expected = f"given: the schema names a person (column {named!r}), so rows are about several users"
            raise InvalidArgument("users", None, expected, f"users=table[{named!r}]")
        table, names = _long(X, users)
        rows, domain = read_rows(table, self.mechanism._declared(table))
        numbers, point = self._drawing(domain)
        people, own = np.unique(names, return_inverse=True)
        if len(own) != len(rows):
            raise InvalidArgument("users", f"{len(own)} of them", f"one per row, {len(rows)}", "users=table['user']")
        stream = noise.generator(self.mechanism.random_state, "random_state")
        guarantee = self._guarantee(domain, numbers, point, order, stream.seeded)
        if ledger is not None:
            self.mechanism._set_guarantee(domain, numbers, {})
            charge_rows(ledger, people, len(people), guarantee, period, metric_of(self.mechanism.guarantee_))
        run = _UsersSoFar(self, numbers, point, len(people))
        fresh, tested = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
        shown = np.empty_like(rows)
        for now in _times(own, len(people)):
            fresh[now], tested[now] = run.step(rows[now], own[now], stream)
            shown[now] = run.last[own[now]]
        picked, dealt = np.arange(len(rows)), np.arange(len(people))
        if order == "shuffled":
            dealt = noise.permutation(len(people), rng=noise.second_stream(self.mechanism.random_state, stream))
            own = np.argsort(dealt)[own]
            picked = np.argsort(own, kind="stable")  # one user behind the other, each in the order of time
            shown, fresh, tested, own = shown[picked], fresh[picked], tested[picked], own[picked]
        if isinstance(X, np.ndarray):
            # Columns that say whose row it is are gone.
            places: Any = shown.reshape(X.shape if shown.size == X.size else (*X.shape[:-1], shown.shape[1]))
            shape = X.shape[:-1] if X.ndim > 1 else X.shape
            fresh, tested, own, picked = (a.reshape(shape) for a in (fresh, tested, own, picked))
        else:
            places = like(X, domain.names, {name: shown[:, j] for j, name in enumerate(domain.names)})
        return TrajectoryReport(
            places, fresh, tested, own, people[dealt], picked, run.tests[dealt], run.draws[dealt],
            (self.test_epsilon, point), guarantee,
        )  # fmt: skip

    def _drawing(self, domain: Domain) -> tuple[PointNoise | PlaceNoise, Fraction]:
        """Return the mechanism of fresh places, and its price."""
        if len(numeric_names(domain)) < len(domain):
            raise SchemaError("a trajectory has numeric columns only; report categories by a mechanism of their own")
        numbers, _ = self.mechanism._mechanisms(domain)
        price = numbers.noise_law.epsilon
        if price == math.inf:
            raise InvalidArgument("epsilon", math.inf, "finite in a trajectory's mechanism", "epsilon=1.0")
        if price > self.budget:
            expected = f"at least what the first place costs, {float(price):g}"
            raise InvalidArgument("budget", float(self.budget), expected, f"budget={10 * float(price):g}")
        facts = numbers.spending.parameters
        # Beyond this, doubles would round distances by more than the step that the test sets aside for it.
        if facts["diameter"] + 100 * len(domain) / facts["noise_rate"] > _MOST_STEPS * float(self._step):
            expected = "larger compared with the box and the noise: a test could not resolve distances so finely"
            raise InvalidArgument("radius", self.mechanism.radius, expected, "radius=0.1")
        return numbers, Fraction(price)

    def _law(self, numbers: PointNoise | PlaceNoise) -> TrajectoryLaw:
        """Return the law of tests and fresh places; a step of the tests covers reading and rounding."""
        reach = (self._radius + _reading(numbers, self._step)) / self._step + 2
        test = AxesLatticeLaw(self.test_epsilon, reach / self.test_epsilon, reach)
        return TrajectoryLaw(self.budget, test, numbers.noise_law)

    def _guarantee(self, domain: Domain, numbers: Any, point: Fraction, order: str, seeded: bool) -> Guarantee:
        spending = numbers.spending
        facts = dict(spending.parameters)
        # The rate of one place is not that of a trajectory, whose level is proportional beyond the radius.
        facts["point_rate"] = facts.pop("rate")
        facts["rounding"] = max(facts["rounding"], float(2 * self._step + _reading(numbers, self._step)))
        facts["epsilon_at_diameter"] = float(self.budget) * max(facts["diameter"] / float(self._radius), 1.0)
        degrees = " degrees" if isinstance(numbers, PlaceNoise) else ""
        tested = f"distances tested in steps of {float(self._step):.3g}{numbers.UNIT}"
        steps, radius = f"{facts['step']:.3g}{degrees} and {tested}", float(self._radius)
        return Guarantee.of_law(
            self._law(numbers),
            model="metric",
            unit=TRAJECTORY,
            neighbours=trajectory_neighbours(spending.neighbours),
            parameters={
                **facts,
                "mechanism": "Trajectory of " + type(self.mechanism).__name__,
                "threshold": float(self.threshold),
                "test_epsilon": str(self.test_epsilon),
                "point_epsilon": str(point),
                "test_step": float(self._step),
                "order": "users shuffled" if order == "shuffled" else order,
            },
            domain=domain,
            assumptions=(
                PUBLIC_DOMAIN,
                "how many places a user reports, and when, is public",
                "every user has one trajectory, reported once; further ones add up",
                lattice_assumption(steps, facts["rounding"], radius, self.budget, numbers.UNIT, read=numbers.read),
                *(line for line in spending.assumptions if "rounded to a lattice" not in line),
                *([IN_ORDER] if order == "input" else []),
            ),
            seeded=seeded,
        )


class _UsersSoFar:
    """The state of all users: last reports and counts."""

    def __init__(self, plan: Trajectory, numbers: PointNoise | PlaceNoise, point: Fraction, users: int) -> None:
        self._numbers = numbers
        self._step = float(plan._step)
        self._threshold = int(plan.threshold // plan._step)
        self._tests = plan._law(numbers).test
        common = math.lcm(point.denominator, plan.test_epsilon.denominator)
        self._test, self._point = int(plan.test_epsilon * common), int(point * common)
        self._budget = math.floor(plan.budget * common)
        self.tests = np.zeros(users, np.int64)
        self.draws = np.zeros(users, np.int64)
        self.last = np.full((users, len(numbers.box.lower)), np.nan)

    def step(self, rows: FloatArray, users: IntArray, stream: noise.Generator) -> tuple[BoolArray, BoolArray]:
        """Report one place for each of some users; return which were drawn and which were tested."""
        new = self.draws[users] == 0
        tested = ~new & self._can_pay(users)
        far = np.zeros(len(users), bool)
        if tested.any():
            counts = self._far_counts(rows[tested], self.last[users[tested]])
            far[tested] = self._tests.draw(counts, stream) > self._threshold
        drawn = new | far
        if drawn.any():
            self.last[users[drawn]] = self._numbers.perturb(np.ascontiguousarray(rows[drawn]), stream)
        self.tests[users] += tested
        self.draws[users] += drawn
        return drawn, tested

    def _can_pay(self, users: IntArray) -> BoolArray:
        """Return who can pay for a test and a fresh place, from the public counts."""
        tests, draws = self.tests[users] + 1, self.draws[users] + 1
        if self._budget + self._test + self._point < 2**62 // max(int(tests.max()), int(draws.max())):
            return np.asarray(tests * self._test + draws * self._point <= self._budget)
        spent = [t * self._test + d * self._point for t, d in zip(tests.tolist(), draws.tolist(), strict=True)]
        return np.array([s <= self._budget for s in spent], bool)

    def _far_counts(self, rows: FloatArray, last: FloatArray) -> IntArray:
        """Return the distances to the last reports in whole steps; a step is a power of two, so dividing is exact."""
        steps = self._numbers.distance(rows, last) / self._step
        return np.floor(np.minimum(steps, self._threshold + _FAR)).astype(np.int64)


def _reading(numbers: PointNoise | PlaceNoise, step: Fraction) -> Fraction:
    """Return e, by how much reading can move two places apart; 0 below half a step, which the test covers."""
    e = Fraction(numbers.reading)
    return Fraction(0) if 2 * e <= step else short(e, step)


def _long(X: Any, users: Any) -> tuple[Any, Any]:
    """Return rows in the order of time with the user of each."""
    if isinstance(X, np.ndarray) and X.ndim == 3:
        if users is not None:
            raise InvalidArgument("users", "given", "left out: the first axis of X is the users", "users=None")
        return X.reshape(-1, X.shape[2]), np.repeat(np.arange(X.shape[0]), X.shape[1])
    if users is not None:
        return X, read_names(users)
    if isinstance(X, Sequence) and not isinstance(X, str):
        X = rows_of(X)
    if isinstance(X, str) or not hasattr(X, "__len__"):
        raise InvalidType("X", type(X).__name__, "an array, or a table with users", "users=table['user']")
    return X, np.zeros(len(X), np.int64)


def _times(own: IntArray, users: int) -> list[IntArray]:
    """Return for every time the rows of all users at that time."""
    counts = np.bincount(own, minlength=users)
    order = np.argsort(own, kind="stable")
    rank = np.empty(len(own), np.int64)
    rank[order] = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)
    by_time = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank))
    return [part for part in np.split(by_time, ends) if len(part)]
