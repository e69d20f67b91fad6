"""The facts that follow from the parameters of a perturbed table: to compare with what its guarantee states."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.core import Categorical, Guarantee
from discreet.metric.at_distance import LatticeNoise
from discreet.metric.elastic.elastic_laplace import elastic_neighbours
from discreet.metric.perturber import ANY_NUMBERS, numeric_names, row_neighbours
from discreet.metric.points.nd_laplace import PointNoise
from discreet.metric.sphere.spherical import PlaceNoise
from discreet.metric.trajectory import TRAJECTORY, trajectory_neighbours

_AT_DISTANCE: dict[str, type[LatticeNoise]] = {"NDLaplace": PointNoise, "SphericalLaplace": PlaceNoise}
_LOCAL = ("Piecewise", "Duchi", "Hybrid", "SquareWave", "PrivUnit")
_OF_USERS = "Trajectory of "


def restated(promise: Guarantee) -> dict[str, Any] | None:
    """Return model, unit, neighbours and, if the parameters state it, ε; None if the mechanism is not known here.

    Parameters that cannot be read raise a `LookupError`, `TypeError`, `ValueError` or `ArithmeticError`.

    Examples
    --------
    >>> import discreet as dc
    >>> made = dc.metric.NDLaplace(epsilon=2, radius=0.5, domain={"x": (0, 1)}).fit().guarantee_
    >>> restated(made)["epsilon"], restated(made)["neighbours"] == made.neighbours
    (2.0, True)
    """
    facts, domain, name = promise.parameters, promise.domain, str(promise.parameters.get("mechanism"))
    kind = name.removeprefix(_OF_USERS)
    if domain is None or kind not in (*_AT_DISTANCE, *_LOCAL, "ElasticLaplace"):
        return None
    numeric, named = bool(numeric_names(domain)), [c.name for c in domain if isinstance(c, Categorical)]
    prices: Mapping[str, Any] = facts["category_epsilon"] if named else {}
    by_category = sum(_number(prices[column]) for column in named)
    words, price = "", 0.0 if not numeric else None
    if numeric and kind in _AT_DISTANCE:
        radius = float(facts["radius"])
        words = _AT_DISTANCE[kind].apart(radius)
        if name == kind:
            price = float(facts["rate"]) * radius
            times = 2 if facts["remap"] == "resample" else 1
            if not math.isclose(price, float(facts["noise_rate"]) * times * (radius + facts["rounding"]), rel_tol=1e-9):
                raise ValueError("the rate of the noise is not that of the promise")
    elif numeric and kind == "ElasticLaplace":
        words = elastic_neighbours(float(promise.ledger[0].amount), facts["min_people"])
    elif numeric:
        words = ANY_NUMBERS
        price = int(facts["reported"]) * _number(facts["epsilon_each"]) if kind != "PrivUnit" else None
    found = {"model": "local" if kind in _LOCAL else "metric", "unit": "one row"}
    found["neighbours"] = row_neighbours(words, bool(named))
    if name != kind:
        found |= {"unit": TRAJECTORY, "neighbours": trajectory_neighbours(words)}
    return found if price is None else {**found, "epsilon": price + by_category}


def _number(text: str) -> float:
    """Return the number that an exact text such as "1/3" or "inf" stands for."""
    return math.inf if text == "inf" else float(Fraction(text))
