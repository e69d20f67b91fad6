"""Person columns: they are never released, and a promise about rows must be explicit.

If a person may have m rows, a promise about one row protects them at m times the ε. So a schema with a person column
must state the unit: one row, or one person (`Person`) with a bounded number of rows.
"""

from discreet.core.columns.kinds import NAMING
from discreet.core.columns.unit import Person
from discreet.core.domain import Domain
from discreet.errors import SchemaError


def released_columns(domain: Domain, *, weights: bool = True) -> Domain:
    """Return the columns that may be released: all except person columns and, with ``weights=False``, weights."""
    kept = [c.name for c in domain if c.role not in NAMING and (weights or c.role != "weight")]
    if not kept:
        raise SchemaError(
            f"the schema declares only identifiers, persons and weights ({', '.join(domain.names[:8])}), which are "
            "never released; declare a column that does not say whose row it is"
        )
    return domain if len(kept) == len(domain) else domain.select(kept)


def with_person(domain: Domain) -> Domain:
    """Return the domain with the column that its unit names, even if it was not declared."""
    if not isinstance(domain.unit, Person) or domain.unit.column in domain.names or not domain.named:
        return domain
    columns = {**{c.name: c for c in domain}, domain.unit.column: {"role": "person"}}
    return Domain(columns, unit=domain.unit, source=domain.source, **domain.facts.to_dict())


def persons(domain: Domain) -> tuple[str, ...]:
    """Return the columns that name a person: by their role or by the unit."""
    named = tuple(c.name for c in domain if c.role == "person")
    return named or ((domain.unit.column,) if isinstance(domain.unit, Person) else ())


def check_unit(domain: Domain, *, bounded: bool = True) -> None:
    """Refuse a promise about rows if the schema has a person column and does not state the unit "row".

    It depends on the schema alone. Without ``bounded``, promises to persons are refused too: rows that are returned one
    by one cannot be bounded.
    """
    named = persons(domain)
    if domain.weights and not bounded:
        raise SchemaError(
            f"column {domain.weights[0]!r} has the role 'weight', and rows that are randomised one by one cannot be "
            "weighted: a weight would show whose row it is. Leave the column out, or give it the role 'attribute' to "
            "randomise it like the others"
        )
    if isinstance(domain.unit, Person) and not bounded:
        called = domain.unit.called
        raise SchemaError(
            f"the unit is one {called} (column {domain.unit.column!r}), and what is promised here is about one row "
            f"that is handed back: rows of a {called} add up. Keep account with a UserLedger (users=, ledger=), or "
            'say that one row is meant: unit="row" in Domain(...), or --unit row'
        )
    if named and domain.unit is None:
        instead = (
            f" Otherwise bound the rows of a person: unit=Person({named[0]!r}, rows=8), [unit] with person = "
            f'"{named[0]}" and rows = 8 in the schema file, or --person {named[0]} --person-rows 8'
        )
        raise SchemaError(
            f"the schema names a person (column {named[0]!r}), and what is promised here is about one row: somebody "
            'with m rows is protected at m times the epsilon. If that is meant, say so: unit="row" in Domain(...), '
            'a first line unit = "row" in the schema file, unit = "row" under [parameters] of a job, or --unit row'
            + (f".{instead}" if bounded else "")
        )


def row_promise(domain: Domain) -> tuple[str, ...]:
    """Return what a guarantee about rows assumes where the schema names a person; nothing where it does not."""
    named = persons(domain)
    if not named or isinstance(domain.unit, Person):
        return ()
    return (
        f"one row is what is to be hidden: the schema names a person ({', '.join(map(repr, named))}), and somebody "
        "with m rows is protected at m times the epsilon only",
    )
