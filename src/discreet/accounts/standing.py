"""The read-only view of an account: totals, entries, text and tables."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.accounts.book import Entry, Totals
from discreet.accounts.chain import Chain
from discreet.accounts.composition import Neighbours, compose
from discreet.accounts.facts import prices_of, unit_column, unit_text
from discreet.accounts.laws import Price
from discreet.accounts.listing import listed, unchecked
from discreet.core import Budget, html
from discreet.core.budget import zcdp_to_epsilon
from discreet.errors import DiscreetError

#: Default δ of `together`.
_DELTA = 1e-6
#: Most entries in the text, the newest.
_SHOWN = 20


class Standing:
    """The readable part of an account; every figure is current."""

    _chain: Chain
    _totals: Totals

    def _fresh(self) -> Totals:
        self._chain.read()
        return self._totals

    @property
    def path(self) -> Path:
        """The file."""
        return self._chain.path

    @property
    def dataset(self) -> str:
        """Name of the data."""
        return str(self._totals.opened["dataset"])

    @property
    def unit(self) -> str:
        """The unit of privacy of all releases, in words."""
        return unit_text(self._totals.opened["unit"])

    @property
    def person(self) -> str | None:
        """The column that names persons; None if the unit is a row."""
        return unit_column(self._totals.opened["unit"])

    @property
    def currency(self) -> str:
        """Unit of the limit: "epsilon" or "rho"."""
        return self._totals.currency

    @property
    def total(self) -> Budget:
        """The limit."""
        return Budget(self._totals.limit)

    @property
    def delta(self) -> Budget:
        """Limit of the sum of δ; in an account in ρ, the δ at which its ε is stated."""
        return Budget(self._totals.delta_limit)

    @property
    def spent(self) -> Budget:
        """Total of reserved and booked prices."""
        return Budget(self._fresh().spent)

    @property
    def remaining(self) -> Budget:
        """The rest of the limit."""
        totals = self._fresh()
        return Budget(totals.limit - totals.spent)

    @property
    def epsilon(self) -> float:
        """The ε of all releases together, at `delta_spent` (in an account in ρ, at `delta`)."""
        spent = self.spent
        return spent if self.currency == "epsilon" else zcdp_to_epsilon(spent.exact, self.delta.exact)

    @property
    def delta_spent(self) -> Budget:
        """Sum of δ so far."""
        return Budget(self._fresh().delta_spent)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The releases, in order."""
        return tuple(self._fresh().entries.values())

    @property
    def prices(self) -> list[Price]:
        """Prices of all releases, by law."""
        return prices_of(self.entries, self.currency)

    @property
    def listed(self) -> list[dict[str, Any]]:
        """What the releases without a price in the limit promise together, by kind.

        Rates of perturbed tables with one metric add up, and so do the ε of local reports, for someone who is in all
        of them. Anonymous tables have no sum. Each has the numbers of its ``entries`` and a sentence ``said``.
        """
        return listed(self.entries)

    @property
    def warnings(self) -> list[str]:
        """Warnings about releases of the same people that were not checked with each other."""
        return unchecked(self.entries)

    def together(self, delta: Any = None, *, neighbours: Neighbours = "add or remove") -> float:
        """Return the ε of all releases together at ``delta``, if no price was chosen after seeing an earlier release.

        Information, not a limit: see `discreet.accounts.compose`.
        """
        return compose(self.prices, delta=self.stated_delta if delta is None else delta, neighbours=neighbours)

    @property
    def stated_delta(self) -> float:
        """The default δ of `together`."""
        return float(self.delta) or _DELTA

    @property
    def closed(self) -> str:
        """Time of closing; empty if it is open."""
        return self._fresh().closed

    @property
    def head(self) -> str:
        """Hash of the last line, which depends on all lines before."""
        self._chain.read()
        return f"sha256:{self._chain.head}"

    def balance(self, digest: str | None) -> dict[str, Any]:
        """Return the facts for a page: the limit, what is left, and the entry of a release with this digest."""
        mine = next((entry for entry in reversed(self.entries) if digest in [d for _, d in entry.shown]), None)
        told: dict[str, Any] = {"dataset": self.dataset, "currency": self.currency, "spent": float(self.spent)}
        told |= {"total": float(self.total), "remaining": float(self.remaining), "releases": len(self.entries)}
        told |= {"listed": [each["said"] for each in self.listed], "warnings": self.warnings, "head": self.head}
        if mine is None:
            return {**told, "entry": None}
        return {**told, "entry": mine.number, "model": mine.model, "price": mine.cost, "when": mine.when}

    def to_dict(self) -> dict[str, Any]:
        """Return totals and entries as plain data."""
        totals = self._fresh()
        return {
            "dataset": self.dataset, "unit": self.unit, "currency": self.currency, "total": str(totals.limit),
            "delta": str(totals.delta_limit), "spent": str(totals.spent), "delta_spent": str(totals.delta_spent),
            "remaining": str(totals.limit - totals.spent), "epsilon": float(self.epsilon),
            "created": totals.opened["when"], "closed": totals.closed or None, "repairs": totals.repairs,
            "lines": len(self._chain), "head": f"sha256:{self._chain.head}", "listed": self.listed,
            "warnings": self.warnings,
            "entries": [entry.to_dict() for entry in tuple(totals.entries.values())],
        }  # fmt: skip

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return a table: number, day, job, price, state."""
        return [
            (str(e.number), e.when[:10], e.what, e.cost, e.state + (", seeded" if e.seeded else ""))
            for e in self.entries
        ]

    def __str__(self) -> str:
        rows = self.rows()
        table = [("", "day", "job", self.currency, "state"), *rows[-_SHOWN:]]
        widths = [max(len(row[i]) for row in table) for i in range(5)]
        lines = (" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in table)
        left = [f"({len(rows) - _SHOWN} earlier ones are not shown)"] if len(rows) > _SHOWN else []
        return "\n".join([repr(self).strip("<>"), *left, *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        return html.table(repr(self).strip("<>"), ["", "day", "job", self.currency, "state"], self.rows())

    def __repr__(self) -> str:
        with suppress(DiscreetError):  # an estimator shows its arguments, also where the file is gone
            self._fresh()
        totals = self._totals
        other = sum(entry.terms is not None for entry in totals.entries.values())
        n = len(totals.entries) - other
        more = f" and {other} other{'s' * (other != 1)} listed" if other else ""
        return (
            f"<Account {self.dataset!r}: {self.currency} {float(totals.spent):.6g} of {float(totals.limit):.6g} spent "
            f"by {n} release{'s' * (n != 1)}{more}{', closed' * bool(totals.closed)}>"
        )
