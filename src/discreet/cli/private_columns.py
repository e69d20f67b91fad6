"""`discreet schema --private-categories`: select the categories of a column privately, for a price."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core import SURE_DELTA
from discreet.errors import InvalidArgument, SchemaError
from discreet.jobs import SURE

_FLAG = "--private-categories"


@dataclass(frozen=True)
class PrivateColumns:
    """Columns whose categories are selected privately, and the budget of all of them together."""

    columns: tuple[str, ...]
    epsilon: float | None
    delta: float | None
    account: Path | None

    def check(self) -> None:
        """Refuse what can be refused before the table is opened."""
        for name, value in (("--epsilon", self.epsilon), ("--delta", self.delta), ("--account", self.account)):
            if not self.columns and value is not None:
                raise InvalidArgument(name, str(value), f"used with {_FLAG}", f"{_FLAG} COLUMN")
        if not self.columns:
            return
        if self.epsilon is None or not 0 < self.epsilon <= SURE:
            expected = f"given with {_FLAG}, above 0 and at most {SURE}"
            raise InvalidArgument("--epsilon", self.epsilon, expected, "--epsilon 1")
        if self.delta is None or not 0 < self.delta <= SURE_DELTA:
            expected = f"given with {_FLAG}, above 0 and at most {SURE_DELTA:g}"
            raise InvalidArgument("--delta", self.delta, expected, "--delta 1e-6")

    def select(
        self, data: Any, names: Sequence[str], declared: Mapping[str, Mapping[str, Any]], dialect: Any
    ) -> tuple[dict[str, list[str]], Any]:
        """Return the categories of each column, and the dialect with their price."""
        from discreet.core import checks
        from discreet.engines import MISSING, texts
        from discreet.engines.tables import person_key
        from discreet.mechanisms import private_categories

        for column in self.columns:
            if column not in names:
                near = checks.nearest(column, list(names)) or names[0]
                raise InvalidArgument(_FLAG, column, "a column of the table", f"{_FLAG} {near}")
            if declared.get(column, {}).keys() - {"role", "missing"}:
                raise SchemaError(f"{column!r} is already declared; leave out its declaration, or {_FLAG} {column}")
        persons = [name for name in names if declared.get(name, {}).get("role") == "person"]
        if len(persons) != 1:
            raise SchemaError(
                "a category is selected if enough persons have it, so one column must identify persons; "
                "try --declare user=person"
            )
        account = self._account(persons[0])
        share = Fraction(1, len(self.columns))
        price: dict[str, Any] = {
            "epsilon": checks.positive("epsilon", self.epsilon) * share,
            "delta": checks.slack(self.delta) * share,
        }
        if account is not None:
            unit = {"person": persons[0]}
            account.check("categories", **{n: v * len(self.columns) for n, v in price.items()}, unit=unit)
        marks = (*MISSING, *dialect.missing)  # unnamed people are not one person
        found, paid = {}, []
        for column in self.columns:
            batches = list(texts(data, [column, persons[0]], dialect=dialect))
            words, whose = (_read([batch[side] for batch in batches], marks) for side in (0, 1))
            # With 14 spellings of a name, one person would count as 14 persons, enough to reveal their words.
            found[column] = private_categories(words, person_key(whose), **price, ledger=account)
            paid.append(
                f"{column} at epsilon {float(price['epsilon']):g}, delta {float(price['delta']):g}, for one person "
                f"(column {persons[0]!r})"
            )
        return found, replace(dialect, selected=tuple(paid))

    def _account(self, person: str) -> Any:
        if self.account is None:
            return None
        from discreet.accounts import Account

        account = Account(self.account)
        if account.person not in (None, person):
            raise SchemaError(f"the account protects {account.unit}, but the persons of the table are in {person!r}")
        return account


def _read(pieces: list[Any], missing: Sequence[str]) -> Any:
    """Return a column as text without marks of missing values. No text is decoded, so that none can fail."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.ascii_trim_whitespace(pa.chunked_array(pieces, pa.large_string()))
    return pc.if_else(pc.is_in(column, value_set=pa.array(list(missing), pa.large_string())), None, column)
