"""Numbers reported one by one within reach of the truth: the square wave (Li and others 2020)."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

from discreet.core import Box, checks
from discreet.errors import InvalidType
from discreet.metric.points.column_base import ColumnReports, Columnwise, NumberLaw
from discreet.noise.reports import SquareWaveLaw


@dataclass(eq=False, repr=False)
class SquareWave(Columnwise):
    """Report every number as a bucket, e^(ε/k) times as likely within reach of its own bucket as elsewhere.

    Made for distributions: the report tells most about where a number lies, but its mean is drawn to the middle. With
    ``debias`` it is right, as a mean of buckets.

    Parameters
    ----------
    epsilon, domain, category_epsilon, random_state
        See `Piecewise`.
    attributes : {"all", "sample"}
        "all": every one of d numbers is reported, with ε/d. "sample": k = max(1, min(d, ⌊ε/2.5⌋)) numbers, drawn anew
        for every row, with ε/k; of the others nothing is said: NaN (with ``debias``: as in `Piecewise`).
    buckets : int
        Equal buckets that a column's range is cut into.
    debias : bool
        Whether to stretch reports about the middle until their mean is that of the buckets.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`; its model is "local".

    Privacy
    -------
    Neighbours: any two values of one row. Given its bucket, every report has chance Q or e^(ε/k) Q, exactly; k reports
    are within e^ε. Which numbers are reported does not depend on the row. Cost: ε per row, and the categories' own.

    Examples
    --------
    >>> import discreet as dc
    >>> import numpy as np
    >>> mechanism = dc.metric.SquareWave(epsilon=8, domain={"x": (0, 1), "y": (0, 10)}, random_state=1)
    >>> mechanism.transform(np.array([[0.2, 3.0], [0.8, 9.0]])).round(2).tolist()
    [[0.18, 3.12], [0.82, 8.86]]
    >>> mechanism.guarantee_.epsilon, mechanism.guarantee_.parameters["epsilon_each"]
    (8.0, '4')
    """

    _: KW_ONLY
    buckets: int = 1024
    debias: bool = False

    def _law(self, epsilon: Fraction) -> NumberLaw:
        if not isinstance(self.debias, bool):
            raise InvalidType("debias", self.debias, "True or False", "debias=False")
        return SquareWaveLaw(epsilon, checks.whole("buckets", self.buckets, low=2, high=2**20), self.debias)

    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> ColumnReports:
        reports = super()._numbers(box, dates)
        return ColumnReports(reports.epsilon, box, reports.attributes, reports.make, self.debias)
