"""What a claim may be: an ε from 0 to infinity, a δ from 0 to below 1."""

from discreet.core import checks
from discreet.errors import InvalidArgument


def read_claim(epsilon: object) -> float | None:
    """Check a claimed ε; None if nothing is claimed.

    Examples
    --------
    >>> read_claim(None), read_claim(0), read_claim(1)
    (None, 0.0, 1.0)
    """
    if epsilon is None:
        return None
    if isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool) and epsilon == 0:
        return 0.0
    return float(checks.budget("epsilon", epsilon))


def read_delta(delta: object) -> float:
    """Check a δ.

    Examples
    --------
    >>> read_delta(1e-6)
    1e-06
    """
    number = float(checks.probability("delta", delta, closed=True))
    if number == 1:
        raise InvalidArgument("delta", delta, "less than 1", "delta=1e-6")
    return number
