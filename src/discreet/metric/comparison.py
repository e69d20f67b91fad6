"""Mechanisms of equal total privacy, to be compared with each other."""

import math
from typing import Any

from discreet.core import checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.metric.perturber import Perturber, checked_domain, numeric_mechanism, numeric_names
from discreet.metric.points.column_laplace import ColumnLaplace
from discreet.metric.points.columns import Duchi, Hybrid, Piecewise
from discreet.metric.points.nd_laplace import NDLaplace
from discreet.metric.points.priv_unit import PrivUnit
from discreet.metric.points.scaling import declared_scaling
from discreet.metric.points.square_wave import SquareWave

LOCAL: dict[str, type[Perturber]] = {
    "piecewise": Piecewise,
    "duchi": Duchi,
    "hybrid": Hybrid,
    "square_wave": SquareWave,
    "column_laplace": ColumnLaplace,
    "priv_unit": PrivUnit,
}


def equal_privacy(mechanism: str, epsilon: Any, domain: Any, **settings: Any) -> Perturber:
    """Make a mechanism that promises a given ε between any two rows of the box.

    An ε per unit of distance and an ε between any two values are different currencies, and an ε on each of d columns is
    dε per row. This converts: noise of a rate tells the two farthest rows of the box apart by e^(rate · diameter), and
    that is what a mechanism without a distance must be given for a whole row.

    Parameters
    ----------
    mechanism : str
        "nd_laplace", "piecewise", "duchi", "hybrid", "square_wave", "column_laplace" or "priv_unit".
    epsilon : float or NDLaplace
        The total; or noise whose level between the two farthest rows of the box is the total.
    domain : Domain or mapping
        The declared columns, with at least one number. Categories cost what ``category_epsilon`` says, in every one.
    **settings
        Further arguments of the mechanism.

    Returns
    -------
    Perturber

    Examples
    --------
    >>> import discreet as dc
    >>> domain = dc.Domain.box([0, 0], [1, 1])
    >>> noise = dc.metric.NDLaplace(epsilon=2, radius=0.5, domain=domain)
    >>> rival = dc.metric.equal_privacy("piecewise", noise, domain)
    >>> round(rival.epsilon, 4), rival.fit().guarantee_.parameters["reported"]
    (5.6567, 2)
    >>> dc.metric.equal_privacy("nd_laplace", 6.0, domain).fit().guarantee_.parameters["epsilon_at_diameter"]
    6.0
    """
    names = ("nd_laplace", *LOCAL)
    if not isinstance(mechanism, str):
        raise InvalidType("mechanism", mechanism, f"one of {', '.join(names)}", 'mechanism="piecewise"')
    name = checks.choice("mechanism", mechanism, names)
    box = _box(domain)
    if isinstance(epsilon, NDLaplace):
        numbers = numeric_mechanism(epsilon, checked_domain(NDLaplace(domain=domain)))
        level = numbers.spending.parameters["epsilon_at_diameter"]
        total = math.inf if level == "inf" else float(level)
    else:
        checks.budget("epsilon", epsilon)
        total = epsilon
    if name != "nd_laplace":
        return LOCAL[name](epsilon=total, domain=domain, **settings)
    diameter = declared_scaling(settings.get("scaling", "box"), box).diameter
    # Drawing again until a point lies in the box doubles the rate.
    level = total / 2 if settings.get("remap") == "resample" else total
    return NDLaplace(epsilon=level, radius=diameter, domain=domain, **settings)


def _box(domain: Any) -> Any:
    declared = checked_domain(NDLaplace(domain=domain))
    numeric = numeric_names(declared)
    if not numeric:
        raise InvalidArgument("domain", list(declared.names), "with at least one numeric column", '{"age": (0, 120)}')
    return declared.select(numeric).bounds
