"""Mechanisms of equal total privacy, for comparisons."""

import math
from functools import partial
from typing import Any

from discreet.core import checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.metric.geometry.scaling import declared_scaling
from discreet.metric.perturber import Perturber, checked_domain, numeric_mechanism, numeric_names
from discreet.metric.points.nd_laplace import NDLaplace
from discreet.metric.points.piecewise import Piecewise
from discreet.metric.points.priv_unit import PrivUnit

LOCAL: dict[str, Any] = {
    **{method: partial(Piecewise, method=method) for method in ("piecewise", "duchi", "hybrid", "square_wave")},
    "priv_unit": PrivUnit,
}


def equal_privacy(mechanism: str, epsilon: Any, domain: Any, **settings: Any) -> Perturber:
    """Make a mechanism that promises a given ε between any two rows of the box.

    Use it to compare mechanisms fairly. Their ε mean different things: per unit of distance, between any two values,
    or for each of d columns (dε per row). The common measure here is the ε between the two farthest rows of the box.
    For noise with a rate per distance it is rate · diameter; other mechanisms get that ε for a whole row.

    Parameters
    ----------
    mechanism : str
        "nd_laplace", "piecewise", "duchi", "hybrid", "square_wave" or "priv_unit".
    epsilon : float or NDLaplace
        The total; or noise whose level between the two farthest rows of the box is the total.
    domain : Domain or mapping
        The declared columns, with at least one number. Categories cost ``category_epsilon`` in every mechanism.
    **settings
        Further arguments of the mechanism.

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
        made: Perturber = LOCAL[name](epsilon=total, domain=domain, **settings)
        return made
    diameter = declared_scaling(settings.get("scaling", "box"), box).diameter
    # Resampling doubles the rate.
    level = total / 2 if settings.get("remap") == "resample" else total
    return NDLaplace(epsilon=level, radius=diameter, domain=domain, **settings)


def _box(domain: Any) -> Any:
    declared = checked_domain(NDLaplace(domain=domain))
    numeric = numeric_names(declared)
    if not numeric:
        raise InvalidArgument("domain", list(declared.names), "with at least one numeric column", '{"age": (0, 120)}')
    return declared.select(numeric).bounds
