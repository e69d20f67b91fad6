"""`discreet schema --buy-categories`: the categories of columns whose words nobody can list, bought with budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core import SURE_DELTA
from discreet.errors import InvalidArgument, SchemaError
from discreet.jobs import SURE


@dataclass(frozen=True)
class Purchase:
    """What is to be bought: columns, and what all of them may cost together."""

    columns: tuple[str, ...]
    epsilon: float | None
    delta: float | None
    account: Path | None

    def check(self) -> None:
        """Refuse what can be refused before the table is opened."""
        for name, value in (("--epsilon", self.epsilon), ("--delta", self.delta), ("--account", self.account)):
            if not self.columns and value is not None:
                raise InvalidArgument(name, str(value), "left out if nothing is bought", "--buy-categories COLUMN")
        if not self.columns:
            return
        if self.epsilon is None or not 0 < self.epsilon <= SURE:
            expected = f"given with --buy-categories, above 0 and at most {SURE}"
            raise InvalidArgument("--epsilon", self.epsilon, expected, "--epsilon 1")
        if self.delta is None or not 0 < self.delta <= SURE_DELTA:
            expected = f"given with --buy-categories, above 0 and at most {SURE_DELTA:g}"
            raise InvalidArgument("--delta", self.delta, expected, "--delta 1e-6")


def buy(
    purchase: Purchase, data: Any, names: Sequence[str], declared: Mapping[str, Mapping[str, Any]], dialect: Any
) -> tuple[dict[str, list[str]], Any]:
    """Buy the categories of each column; return them, and the dialect with what they cost written into it."""
    from discreet.core import checks
    from discreet.engines import MISSING, texts
    from discreet.engines.tables import person_key
    from discreet.mechanisms import private_categories

    for column in purchase.columns:
        if column not in names:
            near = checks.nearest(column, list(names)) or names[0]
            raise InvalidArgument("--buy-categories", column, "a column of the table", f"--buy-categories {near}")
        if declared.get(column):
            raise SchemaError(f"{column!r} is declared already; declare it, or buy its categories, but not both")
    persons = [name for name in names if declared.get(name, {}).get("role") == "person"]
    if len(persons) != 1:
        raise SchemaError(
            "whether a word is anybody's secret depends on how many persons have it: name the column that says whose "
            "row it is; try --declare user=person"
        )
    account = None
    if purchase.account is not None:
        from discreet.accounts import Account

        account = Account(purchase.account)
        if account.person not in (None, persons[0]):
            raise SchemaError(
                f"the account promises privacy to {account.unit}, and the table's persons are in {persons[0]!r}"
            )
    share = Fraction(1, len(purchase.columns))
    price: dict[str, Any] = {
        "epsilon": checks.positive("epsilon", purchase.epsilon) * share,
        "delta": checks.slack(purchase.delta) * share,
    }
    if account is not None:
        account.check("categories", **{n: v * len(purchase.columns) for n, v in price.items()}, unit=_unit(account))
    marks = (*MISSING, *dialect.missing)  # people who are not named are not one person
    found, bought = {}, []
    for column in purchase.columns:
        batches = list(texts(data, [column, persons[0]], dialect=dialect))
        words, whose = (_read([batch[side] for batch in batches], marks) for side in (0, 1))
        # Somebody who is spelt in fourteen ways would be fourteen persons, and their words come out.
        found[column] = private_categories(words, person_key(whose), **price, ledger=account)
        bought.append(
            f"{column} at epsilon {float(price['epsilon']):g}, delta {float(price['delta']):g}, for one person "
            f"(column {persons[0]!r})"
        )
    return found, replace(dialect, bought=tuple(bought))


def _read(pieces: list[Any], missing: Sequence[str]) -> Any:
    """Return a column as text, without marks of missing values; no text is decoded, so that none can fail."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.ascii_trim_whitespace(pa.chunked_array(pieces, pa.large_string()))
    return pc.if_else(pc.is_in(column, value_set=pa.array(list(missing), pa.large_string())), None, column)


def _unit(account: Any) -> dict[str, str]:
    return {"person": account.person or "persons"}
