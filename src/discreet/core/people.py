"""Columns that say whose row it is: they are never released, and a promise about rows has to be meant.

Most promises of this library are about one row. Where a person may have many rows that is less than it sounds: somebody
with m rows is protected at m times the ε. So a schema that names a person gets no promise about rows by accident; it
must say that one row is what is meant.
"""

from discreet.core.columns import NAMING
from discreet.core.domain import Domain
from discreet.errors import SchemaError


def released_columns(domain: Domain) -> Domain:
    """Return the columns that may be released: all but those that say whose row it is.

    Examples
    --------
    >>> released_columns(Domain({"user": {"bounds": (0, 9), "role": "person"}, "age": (0, 120)})).names
    ('age',)
    """
    kept = [c.name for c in domain if c.role not in NAMING]
    if not kept:
        raise SchemaError(
            f"the schema declares only identifiers and persons ({', '.join(domain.names[:8])}), which are never "
            "released; declare a column that does not say whose row it is"
        )
    return domain if len(kept) == len(domain) else domain.select(kept)


def persons(domain: Domain) -> tuple[str, ...]:
    """Return the columns that name a person."""
    return tuple(c.name for c in domain if c.role == "person")


def check_unit(domain: Domain) -> None:
    """Refuse a promise about rows where the schema names a person and does not say that a row is meant.

    A function of the schema alone: no row has been looked at.

    Examples
    --------
    >>> columns = {"user": {"bounds": (0, 9), "role": "person"}, "age": (0, 120)}
    >>> check_unit(Domain(columns, unit="row"))
    >>> check_unit(Domain(columns))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    discreet.errors.SchemaError: the schema names a person (column 'user'), and ... or --unit row
    """
    named = persons(domain)
    if named and domain.unit is None:
        raise SchemaError(
            f"the schema names a person (column {named[0]!r}), and what is promised here is about one row: somebody "
            'with m rows is protected at m times the epsilon. If that is meant, say so: unit="row" in Domain(...), '
            'a first line unit = "row" in the schema file, unit = "row" under [parameters] of a job, or --unit row'
        )


def row_promise(domain: Domain) -> tuple[str, ...]:
    """Return what a guarantee about rows assumes where the schema names a person; nothing where it does not."""
    named = persons(domain)
    if not named:
        return ()
    return (
        f"one row is what is to be hidden: the schema names a person ({', '.join(map(repr, named))}), and somebody "
        "with m rows is protected at m times the epsilon only",
    )
