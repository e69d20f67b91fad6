"""Mechanisms of equal total privacy: the ε between the two farthest rows of the box."""

from functools import partial
from typing import Any

from discreet import Domain
from discreet.metric import NDLaplace, Piecewise, PrivUnit

_LOCAL: dict[str, Any] = {
    **{method: partial(Piecewise, method=method) for method in ("piecewise", "duchi", "hybrid", "square_wave")},
    "priv_unit": PrivUnit,
}


def equal_privacy(mechanism: str, total: float, domain: Domain, seed: int) -> Any:
    """Return "nd_laplace" or one of its rivals in the local model, with ``total`` between any two rows of the box."""
    if mechanism != "nd_laplace":
        return _LOCAL[mechanism](epsilon=total, domain=domain, random_state=seed)
    diameter = NDLaplace(domain=domain).fit().guarantee_.parameters["diameter"]
    return NDLaplace(total, diameter, domain, random_state=seed)
