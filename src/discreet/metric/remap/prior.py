"""Public knowledge of places: places and weights, from an array or a synopsis."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import Box, FloatArray
from discreet.errors import InvalidArgument, InvalidType
from discreet.noise import generator

#: Points that a synopsis is taken as.
_POINTS = 1 << 15


@dataclass(frozen=True, eq=False)
class PlacePrior:
    """Public places, in the columns' own units, their weights and their origin."""

    places: FloatArray
    weights: FloatArray
    origin: str
    epsilon: float | None = None

    def describe(self) -> dict[str, Any]:
        """Return its facts for the guarantee."""
        return {"origin": self.origin, "places": len(self.places), "epsilon": self.epsilon}


def read_prior(prior: Any, box: Box) -> PlacePrior:
    """Read a ``prior`` argument.

    A synopsis has ``points``, ``weights`` and ``guarantee``; its negative weights count as 0.
    """
    fix = "prior=places, or prior=(places, weights)"
    if prior is None:
        raise InvalidArgument("prior", None, "public places (remap='bayes' needs them)", fix)
    epsilon, origin = None, "public places"
    if all(hasattr(prior, name) for name in ("points", "weights", "guarantee")):
        given, weights = _spread(prior)
        origin, epsilon = "a released synopsis", prior.guarantee.epsilon
    elif isinstance(prior, tuple) and len(prior) == 2:
        given, weights = prior
    else:
        given, weights = prior, None
    try:
        places = np.array(given, dtype=np.float64)
        mass = np.ones(len(places)) if weights is None else np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType("prior", type(prior).__name__, "places and weights, or a synopsis", fix) from None
    if places.ndim != 2 or places.shape[1] != len(box.lower) or not np.isfinite(places).all():
        expected = f"places with {len(box.lower)} finite coordinates, one per numeric column"
        raise InvalidArgument("prior", f"an array of shape {places.shape}", expected, fix)
    if mass.shape != (len(places),) or not np.isfinite(mass).all():
        raise InvalidArgument("prior", f"weights of shape {mass.shape}", f"{len(places)} finite weights", fix)
    mass = np.maximum(mass, 0)
    if mass.max(initial=0.0) > 1e300 / max(len(mass), 1):
        mass = mass / mass.max()  # their sum would be beyond doubles
    if not mass.any():
        raise InvalidArgument("prior", "no positive weight", "places with positive weights", fix)
    return PlacePrior(places, mass, origin, epsilon)


def leaf_masses(synopsis: Any, name: str) -> FloatArray:
    """Return the number of people in each leaf of a synopsis, the option ``name``; none of them is negative.

    A count that noise alone could explain contains no information: Laplace noise exceeds t standard errors with
    probability e^(-√2 t)/2, so of m empty leaves about fifty pass t = ln(m/100)/√2. The sum of all other leaves is
    spread over them by volume.
    """
    if synopsis.guarantee.epsilon == np.inf:
        expected = "released with a finite epsilon: exact counts must be public, and are given as places"
        raise InvalidArgument(name, "a synopsis with epsilon=inf", expected, f"{name}=(places, weights)")
    lower, upper, weights = (np.asarray(x, np.float64) for x in (synopsis.lower, synopsis.upper, synopsis.weights))
    errors = np.sqrt(np.asarray(synopsis.variances, np.float64))
    clear = weights > errors * max(2.0, np.log(len(weights) / 100) / np.sqrt(2))
    volume = np.where(clear, 0.0, np.prod((upper - lower) / np.ptp(upper, axis=0).clip(1e-300), axis=1))
    rest = max(float(weights[~clear].sum()), 0.0)
    return np.where(clear, weights, rest * volume / volume.sum() if volume.any() else 0.0)


def _spread(synopsis: Any) -> tuple[FloatArray, FloatArray]:
    """Represent a synopsis by points drawn in its leaves, in proportion to their weights: public constants."""
    lower, upper = np.asarray(synopsis.lower, np.float64), np.asarray(synopsis.upper, np.float64)
    mass = leaf_masses(synopsis, "prior")
    if not mass.any():
        return synopsis.points, mass
    # Not an evenly spread sequence: the density's fit takes every other point as if drawn by itself.
    words = generator(9).bytes(8 * _POINTS * (lower.shape[1] + 1)).view("<u8")
    uniform = (words >> 11).astype(np.float64).reshape(_POINTS, -1) / 2**53
    leaf = np.searchsorted(np.cumsum(mass) / mass.sum(), uniform[:, 0], side="right")
    leaf = np.minimum(leaf, len(mass) - 1)
    return lower[leaf] + uniform[:, 1:] * (upper - lower)[leaf], np.ones(_POINTS)
