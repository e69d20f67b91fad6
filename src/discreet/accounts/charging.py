"""Charging a release to the ledger in memory or the account that its user named."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.accounts.account import Account, Reservation
from discreet.core import Entry, Ledger
from discreet.core.budget import zcdp_to_epsilon
from discreet.errors import InvalidType


def reserve(
    ledger: Any,
    job: str,
    own: Ledger,
    *,
    unit: Any = "row",
    asked: Mapping[str, Any] | None = None,
    artifact: bool = True,
) -> Reservation | Entry | None:
    """Charge a release to the user's ledger or account, before any row is read.

    A ledger is charged at once. An account gets a reservation, or with ``artifact=False`` a spent price. ``own`` is
    the budget of the release itself.

    Examples
    --------
    >>> everything = Ledger(epsilon=1)
    >>> _ = reserve(everything, "synopsis", Ledger(epsilon=0.25))
    >>> everything.remaining
    0.75
    """
    check_ledger(ledger)
    if ledger is None:
        return None
    price = _price(ledger, own)
    if isinstance(ledger, Account):
        if artifact:
            return ledger.reserve(job, **price, unit=unit, asked=asked)
        ledger.spend(job, **price, unit=unit)
        return None
    assert isinstance(ledger, Ledger)
    _, amount = ledger.priced(job, price.get("epsilon"), price.get("rho"))
    return ledger.charge(job, amount, delta=price.get("delta", 0))


def check_ledger(ledger: Any, own: Ledger | None = None, unit: Any = "row", job: str = "release") -> None:
    """Refuse anything that is not a ledger or account, or that cannot pay for a release.

    Examples
    --------
    >>> check_ledger(Ledger(epsilon=1), Ledger(epsilon=2))
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetExceeded: 'release' needs epsilon 2 but only 1 of 1 is left; spend less or open a larger
    ledger
    """
    if not isinstance(ledger, (Ledger, Account, type(None))):
        raise InvalidType("ledger", type(ledger).__name__, "a Ledger or an Account", 'ledger=Account("a.account")')
    if ledger is None or own is None:
        return
    price = _price(ledger, own)
    if isinstance(ledger, Account):
        ledger.check(job, **price, unit=unit)
    else:
        ledger.check(job, **price)


def _price(ledger: Ledger | Account, own: Ledger) -> dict[str, Any]:
    """Return the price of a release in its own unit, or in ε at its δ for a ledger in ε."""
    whole, delta = own.total.exact, own.delta_limit
    if isinstance(ledger, Account):
        return {own.unit: whole, "delta": delta}
    if own.unit == "epsilon":
        return {"epsilon": whole, "delta": delta}
    if own.unit == ledger.unit:
        return {own.unit: whole}
    return {"epsilon": zcdp_to_epsilon(Fraction(whole), delta), "delta": delta}
