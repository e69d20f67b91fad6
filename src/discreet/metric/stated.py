"""The facts that follow from the parameters of a perturbed table: to compare with what its guarantee states."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from discreet.core import Box, Categorical, Date, Domain, Guarantee, Time
from discreet.metric.at_distance import LatticeNoise
from discreet.metric.elastic.elastic_laplace import elastic_neighbours
from discreet.metric.geometry.lattice import reading_of, rounding_of
from discreet.metric.geometry.scaling import declared_scaling
from discreet.metric.perturber import ANY_NUMBERS, numeric_names, row_neighbours
from discreet.metric.points.nd_laplace import PointNoise
from discreet.metric.sphere import globe
from discreet.metric.sphere.spherical import PlaceNoise
from discreet.metric.trajectory import TRAJECTORY, trajectory_neighbours

_AT_DISTANCE: dict[str, type[LatticeNoise]] = {"NDLaplace": PointNoise, "SphericalLaplace": PlaceNoise}
_LOCAL = ("Piecewise", "Duchi", "Hybrid", "SquareWave", "PrivUnit")
_OF_USERS = "Trajectory of "


def restated(promise: Guarantee) -> dict[str, Any] | None:
    """Return model, unit, neighbours and, if the parameters state them, levels; None for an unknown mechanism.

    Parameters that cannot be read raise a `LookupError`, `TypeError`, `ValueError` or `ArithmeticError`.
    """
    facts, domain, name = promise.parameters, promise.domain, str(promise.parameters.get("mechanism"))
    kind = name.removeprefix(_OF_USERS)
    if domain is None or kind not in (*_AT_DISTANCE, *_LOCAL, "ElasticLaplace"):
        return None
    numeric, named = bool(numeric_names(domain)), [c.name for c in domain if isinstance(c, Categorical)]
    prices: Mapping[str, Any] = facts["category_epsilon"] if named else {}
    by_category = sum(_number(prices[column]) for column in named)
    words, price, more = "", None if numeric else 0.0, {}
    if numeric and kind in _AT_DISTANCE:
        radius = float(facts["radius"])
        words = _AT_DISTANCE[kind].apart(radius)
        far, rounding = float(facts["diameter"]), float(facts["rounding"])
        sizes = [c for d, c in _sizes(kind, facts, domain) if math.isclose(far, d, rel_tol=1e-9)]
        level = float(promise.spent) * max(far / radius, 1.0)
        if name == kind:
            price, rate = float(facts["rate"]) * radius, float(facts["noise_rate"])
            rate *= 2 if facts["remap"] == "resample" else 1
            level, sizes = rate * (far + rounding), [c for c in sizes if math.isclose(rounding, c, rel_tol=1e-4)]
            sizes *= math.isclose(price, rate * (radius + rounding), rel_tol=1e-9)
        if not sizes:
            raise ValueError("rate, diameter or rounding is not that of the promise, the domain or the lattice")
        more = {"epsilon_at_diameter": level}
    elif numeric and kind == "ElasticLaplace":
        words = elastic_neighbours(float(promise.ledger[0].amount), facts["min_people"])
    elif numeric:
        words = ANY_NUMBERS
        price = int(facts["reported"]) * _number(facts["epsilon_each"]) if kind != "PrivUnit" else None
    found = {"model": "local" if kind in _LOCAL else "metric", "unit": "one row", **more}
    found["neighbours"] = row_neighbours(words, bool(named))
    if name != kind:
        found |= {"unit": TRAJECTORY, "neighbours": trajectory_neighbours(words)}
    return found if price is None else {**found, "epsilon": price + by_category}


def _sizes(kind: str, facts: Mapping[str, Any], domain: Domain) -> Iterator[tuple[float, float]]:
    """Give the diameter of the box, and the rounding; on the globe for both orders of columns, whose names are free."""
    columns, step = domain.select(numeric_names(domain)), Fraction(facts["step"])
    box, told = columns.bounds, facts["scaling"]
    if kind == "NDLaplace":
        own = told["kind"] in ("box", "none")
        scaling = declared_scaling(told["kind"] if own else told.get("units") or told["matrix"], box)
        reading = reading_of(scaling, [isinstance(c, (Date, Time)) for c in columns])
        yield scaling.diameter, float(rounding_of(step, scaling.dimension, scaling.diameter, reading))
        return
    for order in ([0, 1], [1, 0]):
        yield globe.diameter(Box(box.lower[order], box.upper[order])), float(globe.rounding_of(round(90 / step)))


def _number(text: str) -> float:
    """Return the number that an exact text such as "1/3" or "inf" stands for."""
    return math.inf if text == "inf" else float(Fraction(text))
