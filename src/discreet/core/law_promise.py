"""The promise of a law: what one report costs by the chances it is drawn with."""

from collections.abc import Sequence
from typing import Any, Protocol

from discreet.core.checks import Exact
from discreet.core.guarantee import Guarantee, Ledger, Model


class PricedLaw(Protocol):
    """A frozen law of reports that knows what a report may cost, and what it costs by its own chances."""

    @property
    def epsilon(self) -> Exact:
        """What a report is said to cost."""

    @property
    def price(self) -> Exact:
        """What it costs at most by the chances that are drawn with."""

    @property
    def lines(self) -> Sequence[tuple[str, Exact]]:
        """The lines of the ledger: a label and an amount each."""

    @property
    def one_of(self) -> str:
        """Why only the dearest line counts, if a report is one of several; empty if all lines add up."""


def promise_of(law: PricedLaw, **details: Any) -> Guarantee:
    """State what a report of a law costs.

    Parameters
    ----------
    law : PricedLaw
        Its ledger is written from its own lines.
    **details
        The other fields of the `Guarantee`, ``model`` among them.

    Raises
    ------
    ArithmeticError
        If the law's chances cost more than it says: nothing may be drawn from it.
    """
    if law.price > law.epsilon:
        raise ArithmeticError(f"the chances of a report cost epsilon {float(law.price):.17g}, above {law.epsilon}")
    ledger = Ledger(law.epsilon)
    scope = ledger.parallel(law.one_of) if law.one_of else ledger
    for label, amount in law.lines:
        scope.spend(label, amount)
    model: Model = details.pop("model")
    return Guarantee.from_ledger(ledger, model=model, **details)
