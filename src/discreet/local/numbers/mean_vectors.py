"""The means of several numbers per user. Each report contains a few of them, drawn at random.

The budget is spent on k of the D attributes, ε/k each, never ε on every one (Wang and others 2019).
"""

from dataclasses import MISSING
from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, IntArray, checks, option
from discreet.errors import InvalidArgument, InvalidType
from discreet.local.mechanism import REPORT_EPSILON, Mechanism, adds_up, count_places, within
from discreet.local.numbers.means import METHOD, POINTS, WINDOW, MeanEstimate, half_window, moments
from discreet.local.numbers.scales import Scale
from discreet.local.wire.bits import Layout, Rows, bits_for
from discreet.noise import Generator
from discreet.noise.reports import MeanLaw, Sampled, Together, mean_law, numbers_sent, places_of

#: More attributes than this are not a vector of numbers about a person.
MOST_ATTRIBUTES = 2**16


class MeanVector(Mechanism):
    """Report k of D numbers, drawn at random, each with ε/k; k = max(1, min(D, ⌊ε/2.5⌋)).

    Values outside the bounds count as the nearest bound; missing ones as the middle.

    Privacy
    -------
    Neighbours: any two vectors of one user, which may differ in every attribute. Which attributes are reported does not
    depend on the values. Each costs ε/k as in `MeanResponse`, together ε. Cost: ε per report.

    Examples
    --------
    >>> m = MeanVector(epsilon=5, low=[0, 0, 0], high=[10, 1, 100])
    >>> m.n_sent, m.report_bits
    (2, 22)
    >>> rows = np.tile([3.0, 0.5, 20.0], (30_000, 1))
    >>> found = m.estimate(m.aggregate(m.encode(rows, rng=1)))
    >>> found.mean.round(1).tolist(), found.std_error.round(3).tolist()
    ([3.0, 0.5, 19.8], [0.028, 0.003, 0.285])
    """

    NAME = "mean-vector"

    epsilon: float = REPORT_EPSILON
    low: Any = option(default=MISSING, help="Lower bounds, one per attribute.", example=[0.0, 0.0])
    high: Any = option(default=MISSING, help="Upper bounds, one per attribute.", example=[1.0, 1.0])
    method: str = METHOD
    steps: int = POINTS
    window: int | None = WINDOW

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            ends = getattr(self, name)
            if not isinstance(ends, (list, tuple, np.ndarray)) or np.ndim(ends) != 1:
                raise InvalidType(name, ends, "a list of numbers, one per attribute", f"{name}=[0.0, 0.0]")
        if len(self.low) != len(self.high) or not 1 <= len(self.low) <= MOST_ATTRIBUTES:
            lengths = f"{len(self.low)} and {len(self.high)} entries"
            raise InvalidArgument("low, high", lengths, "of one length, at least 1", "low=[0, 0], high=[1, 1]")
        scales = [Scale.read(a, b) for a, b in zip(self.low, self.high, strict=True)]
        self._set(low=tuple(scale.low for scale in scales), high=tuple(scale.high for scale in scales))
        self._set(window=half_window(self, self._exact / self.n_sent))

    @cached_property
    def n_sent(self) -> int:
        """Number k of attributes in a report."""
        return numbers_sent(len(self.low), self._exact)

    @cached_property
    def law(self) -> MeanLaw:
        """The law of one number of a report, on [-1, 1], with ε/k."""
        return mean_law(self.method, self._exact / self.n_sent, self.steps, self.window)

    @cached_property
    def randomiser(self) -> Together:
        """The law of a whole report: k numbers, each by its own law."""
        return Together((("one report", Sampled(self.law, self.n_sent, len(self.low))),))

    @cached_property
    def layout(self) -> Layout:
        """Pairs of an attribute and its report."""
        pair = (("attribute", bits_for(len(self.low))), ("report", bits_for(len(self.law.values))))
        return Layout(tuple((f"{name}_{i}", bits) for i in range(self.n_sent) for name, bits in pair))

    def _encode(self, values: Any, stream: Generator) -> Rows:
        try:
            table = checks.as_floats(np.asarray(values))
        except ValueError:
            raise InvalidArgument("values", "rows of different lengths", f"rows by {len(self.low)} columns") from None
        if table.shape == (0,):
            table = table.reshape(0, len(self.low))
        if table.ndim != 2 or table.shape[1] != len(self.low):
            form = f"{table.ndim} dimensions" if table.ndim != 2 else f"{table.shape[1]} columns"
            raise InvalidArgument("values", form, f"rows by {len(self.low)} columns", "values=np.column_stack([a, b])")
        ends = np.array(self.low), np.array(self.high)
        taken = self._attributes(len(table), stream)
        fields = {}
        for i in range(self.n_sent):
            chosen = taken[:, i]
            said = table[np.arange(len(table)), chosen]
            fields[f"attribute_{i}"] = chosen
            fields[f"report_{i}"] = self.law.draw(places_of(said, ends[0][chosen], ends[1][chosen]), stream)
        return self.layout.pack(**fields)

    def _attributes(self, n: int, stream: Generator) -> IntArray:
        """Draw k different attributes per row: a number below the number left, shifted past those taken."""
        taken = np.empty((n, self.n_sent), np.int64)
        for i in range(self.n_sent):
            place = noise.below(len(self.low) - i, size=n, rng=stream)
            for earlier in np.sort(taken[:, :i], axis=1).T:
                place += place >= earlier
            taken[:, i] = place
        return taken

    @property
    def _counters(self) -> tuple[int, int]:
        return len(self.low), len(self.law.values)

    def _column(self, rows: Rows, name: str) -> IntArray:
        return np.stack([self.layout.unpack(rows, f"{name}_{i}") for i in range(self.n_sent)], axis=1)

    @property
    def _limits(self) -> dict[str, int]:
        most = {"attribute": len(self.low), "report": len(self.law.values)}
        return {name: most[name.partition("_")[0]] for name, _ in self.layout.fields}

    def possible(self, rows: Rows) -> BoolArray:
        """Return which packed reports are valid: no attribute twice."""
        different = np.diff(np.sort(self._column(rows, "attribute"), axis=1), axis=1) > 0
        return np.asarray(super().possible(rows) & different.all(axis=1))

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        places = self._column(rows, "attribute") * len(self.law.values) + self._column(rows, "report")
        count_places(counters["reports"].reshape(-1), places.ravel())

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return within(counters["reports"].sum(axis=1), n) and adds_up(counters["reports"], n * self.n_sent)

    def estimate(self, counts: Any) -> MeanEstimate:  # type: ignore[override]
        """Estimate the mean of every attribute from the result of `aggregate`.

        Reporters of an attribute are a random sample of all, so their mean is unbiased. It is divided by their actual
        number; the expected one, n k/D, would give a larger variance.
        """
        counts = self._own(counts)
        reports = counts.counters["reports"]
        mean, error, wide = moments(self.law, reports, reports.sum(axis=1) / max(counts.n, 1))
        low = np.array(self.low)
        scale = (np.array(self.high) - low) / 2
        return MeanEstimate(low + scale + scale * mean, scale * error, scale * wide, counts.n, counts.guarantee)

    def variance(self, n: int, f: Any = 0) -> Any:
        """Return the worst-case variance of every attribute's estimated mean, with nk/D reports of it."""
        flat, growth = self.law.second
        spoke = n * self.n_sent / len(self.low)
        # As in `moments`, at the worst: mean 0, and all values in the middle or all at the ends.
        worst = max(flat, flat + growth - self.n_sent / len(self.low))
        return ((np.array(self.high) - np.array(self.low)) / 2) ** 2 * worst / spoke

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        if self.n_sent > 1:
            raise InvalidArgument("epsilon", self.epsilon, "below 5 to list all reports", "epsilon=1.0")
        table = checks.as_floats(np.asarray([value]))
        places = places_of(table[0], np.array(self.low), np.array(self.high))
        chances = np.concatenate([self.law.probabilities(int(p)) for p in places]) / len(places)
        each = len(self.law.values)
        attributes, said = np.divmod(np.arange(len(chances)), each)
        return self.layout.pack(attribute_0=attributes, report_0=said), chances
