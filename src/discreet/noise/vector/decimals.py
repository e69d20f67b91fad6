"""π, cosine, sine and arctangent of decimals, to the precision of the context."""

import decimal
from decimal import Decimal
from functools import lru_cache


@lru_cache(maxsize=8)
def _pi_to(digits: int) -> Decimal:
    # Machin: π/4 = 4 arctan(1/5) - arctan(1/239).
    with decimal.localcontext(decimal.Context(prec=digits + 10)):
        return 16 * _series(Decimal(1) / 5) - 4 * _series(Decimal(1) / 239)


def pi() -> Decimal:
    """Return π to the context's precision."""
    return _pi_to(decimal.getcontext().prec)


def _series(x: Decimal) -> Decimal:
    """Return arctan x of a small x by its series, to the context's precision."""
    least = Decimal(10) ** -decimal.getcontext().prec
    power, total, k, square = x, Decimal(0), 0, x * x
    while abs(power) > least:
        total += power / (2 * k + 1)
        power = -power * square
        k += 1
    return total


def cos_sin(angle: Decimal) -> tuple[Decimal, Decimal]:
    """Return cosine and sine of an angle in (-2π, 2π) by their series, to the context's precision."""
    with decimal.localcontext() as context:
        context.prec += 6
        least = Decimal(10) ** -context.prec
        cosine, sine, term, k = Decimal(0), Decimal(0), Decimal(1), 0
        while abs(term) > least or k < 8:  # the terms grow while k is below the angle
            if k % 2 == 0:
                cosine += term if k % 4 == 0 else -term
            else:
                sine += term if k % 4 == 1 else -term
            k += 1
            term = term * angle / k
        return cosine, sine


def arctan2(y: Decimal, x: Decimal) -> Decimal:
    """Return the angle of the point (x, y), from -π to π; the error is a few units of the context's last place."""
    if x == y == 0:
        return Decimal(0)
    with decimal.localcontext() as context:
        context.prec += 12
        # Divide by the larger coordinate, so that the ratio is at most 1.
        if abs(y) <= abs(x):
            angle = _arctan(y / x)
            if x < 0:
                angle += pi() if y >= 0 else -pi()
        else:
            angle = (pi() / 2 if y > 0 else -pi() / 2) - _arctan(x / y)
        return angle


def _arctan(x: Decimal) -> Decimal:
    """Return arctan of a number in [-1, 1]: halved until the series is short."""
    for _ in range(5):
        x = x / (1 + (1 + x * x).sqrt())
    return 32 * _series(x)
