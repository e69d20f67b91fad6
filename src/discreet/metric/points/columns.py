"""Numbers reported one by one, right in the mean: the piecewise mechanism, Duchi's sign, and a mixture of the two.

These promise the same for *any* two rows of the box, however far apart. To set one beside `NDLaplace`, compare at equal
total privacy: see `equal_privacy`. Published comparisons spent the whole ε on every column, so that a row of d
columns cost dε, against rate times diameter for the noise it was compared with.
"""

from fractions import Fraction

from discreet.metric.points.column_base import Columnwise, NumberLaw
from discreet.noise.reports import mean_law

#: Half the points of a piecewise report: its variance is within 0.1 % of the continuous one's up to ε = 5.
STEPS = 1 << 12


class _Mean(Columnwise):
    METHOD = ""

    def _law(self, epsilon: Fraction) -> NumberLaw:
        return mean_law(self.METHOD, epsilon, STEPS)


class Piecewise(_Mean):
    """Report every number as a point that is likelier near it than far from it, right in the mean.

    Wang and others (2019), on whole numbers.

    Parameters
    ----------
    epsilon : float
        Budget of a whole row's numbers, between any two rows. ``math.inf`` adds no noise.
    domain : Domain, mapping or (low, high)
        The declared columns. Categorical ones need ``category_epsilon``.
    attributes : {"all", "sample"}
        "all": every one of d numbers is reported, with ε/d; for clustering and other uses of rows. "sample": k =
        max(1, min(d, ⌊ε/2.5⌋)) numbers, drawn anew for every row, are reported with ε/k and their distance from the
        middle is multiplied by d/k; the others are reported as the middle. Column means are better so, rows are not.
    category_epsilon : float or dict, optional
        Budget of every categorical column, by randomised response; comes on top of ``epsilon``.
    random_state : None, int or Generator
        None is secure; anything else marks the guarantee as seeded.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`; its model is "local".

    Privacy
    -------
    Neighbours: any two values of one row, which may differ in every column. A number is clamped to its bounds and put
    on a public grid; then every report has a chance between Q and e^(ε/k) Q, whole numbers and exact
    (`discreet.noise.reports.means`), so k reports are within e^ε. Which numbers are reported does not depend on the
    row. Cost: ε per row, and the categories' own. The published baseline spent ε on *every* column: dε per row.

    Examples
    --------
    >>> import discreet as dc
    >>> import numpy as np
    >>> mechanism = dc.metric.Piecewise(epsilon=8, domain={"x": (0, 1), "y": (0, 10)}, random_state=1)
    >>> mechanism.transform(np.array([[0.2, 3.0], [0.8, 9.0]])).round(2).tolist()
    [[0.2, 3.21], [0.85, 10.35]]
    >>> mechanism.guarantee_.epsilon, mechanism.guarantee_.model, mechanism.n_sent
    (8.0, 'local', 2)
    >>> round(float(dc.metric.Piecewise(epsilon=2, domain={"x": (-1, 1)}).law.variance(0.3)), 3)
    0.698
    """

    METHOD = "piecewise"


class Duchi(_Mean):
    """Report every number as one of two points, the higher one the likelier the larger the number; right in the mean.

    Duchi, Jordan, Wainwright (2018), number by number.

    Parameters
    ----------
    epsilon, domain, attributes, category_epsilon, random_state
        See `Piecewise`.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`; its model is "local".

    Privacy
    -------
    Neighbours: any two values of one row. Of E = e^(ε/k), each of the two points has a chance between 1/(E + 1) and
    E/(E + 1), exactly: ratio E, and e^ε for k numbers. Cost: ε per row, and the categories' own.

    Examples
    --------
    >>> import discreet as dc
    >>> import numpy as np
    >>> mechanism = dc.metric.Duchi(epsilon=2, domain=(0, 1), random_state=1)
    >>> mechanism.transform(np.array([[0.2], [0.8], [0.5]])).round(3).tolist()
    [[-0.157], [1.157], [1.157]]
    >>> mechanism.guarantee_.epsilon
    2.0
    """

    METHOD = "duchi"


class Hybrid(_Mean):
    """Report every number by `Piecewise` or by `Duchi`, drawn at random; the least variance at worst of the three.

    Wang and others (2019). With ε/k <= 0.61 it is all `Duchi`.

    Parameters
    ----------
    epsilon, domain, attributes, category_epsilon, random_state
        See `Piecewise`.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`; its model is "local".

    Privacy
    -------
    Neighbours: any two values of one row. Which of the two mechanisms answers does not depend on the number, and each
    has a ratio of exactly e^(ε/k); together e^ε. Cost: ε per row, and the categories' own.

    Examples
    --------
    >>> import discreet as dc
    >>> law = dc.metric.Hybrid(epsilon=2, domain={"x": (-1, 1)}).law
    >>> [round(float(law.variance(t)), 2) for t in (0, 0.5, 1)]
    [1.04, 1.04, 1.04]
    """

    METHOD = "hybrid"
