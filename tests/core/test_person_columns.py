"""A column that says whose row it is needs no bounds, and what a refused declaration suggests is accepted."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import InvalidArgument, SchemaError


@pytest.mark.parametrize("role", ["identifier", "person"])
def test_who_it_is_needs_neither_bounds_nor_categories(role: str) -> None:
    domain = dc.Domain.from_toml(f'[columns.who]\nrole = "{role}"\n[columns.age]\nbounds = [0, 110]\n')
    assert domain.column("who").role == role
    assert dc.Domain.from_toml(domain.to_toml()) == domain
    assert dc.Domain({"who": {"role": role}, "age": (0, 110)}) == domain


def test_such_a_table_is_anonymised() -> None:
    domain = dc.Domain({"who": {"role": "person"}, "age": {"bounds": (0, 110), "role": "quasi-identifier"}})
    table = {"who": [f"p{i}" for i in range(30)], "age": list(range(30))}
    release = dc.anonymity.DensityTree(k=5, domain=domain).fit_transform(pa.table(table))
    assert release.table.column_names == ["age"]
    assert release.guarantee.parameters["reached"]["k"] >= 5


@pytest.mark.parametrize("role", ["attribute", "quasi-identifier", "sensitive", "target"])
def test_any_other_column_is_declared(role: str) -> None:
    with pytest.raises(SchemaError, match="either 'bounds' or 'categories'"):
        dc.Domain({"x": {"role": role}})


def test_bounds_the_wrong_way_round_are_turned() -> None:
    with pytest.raises(InvalidArgument, match=r"try \(0, 110\)"):
        dc.Domain({"age": (110, 0)})
    with pytest.raises(InvalidArgument, match=r"try \('2025-01-01', '2025-12-31'\)"):
        dc.Domain({"day": ("2025-12-31", "2025-01-01")})
