"""Odd tables and declarations are released by the rules or refused in words; spellings of one value are not diverse."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.anonymity import DensityTree, Generalization, Microaggregation, Mondrian, RankSwapping, risk
from discreet.core.domain import Domain
from discreet.errors import DiscreetError, InvalidArgument, SchemaError


def qi(**declared: Any) -> dict[str, Any]:
    return {"role": "quasi-identifier", **declared}


def keys(table: pa.Table, columns: list[str]) -> list[Any]:
    return list(zip(*(table[c].to_pylist() for c in columns), strict=True))


SMALL = Domain(
    {"a": qi(bounds=[0, 10]), "c": qi(categories=["x", "ü"]), "s": {"categories": ["p"], "role": "sensitive"}}
)


OWN = Domain({name: {**column, "missing": "own"} for name, column in SMALL.to_dict().items()})


def small(a: list[Any], c: list[Any]) -> pa.Table:
    return pa.table({"a": pa.array(a, pa.float64()), "c": pa.array(c, pa.string()), "s": ["p"] * len(a)})


ODD = {
    "no rows": small([], []),
    "one row": small([1], ["x"]),
    "no value in a": small([None] * 4, ["x"] * 4),
    "no value in c": small([1, 2, 3, 4], ["zz", None, "", "y"]),
    "infinite": small([math.inf, -math.inf, math.nan, 4, 5], ["x"] * 5),
    "all alike": small([3] * 5, ["ü"] * 5),
}


KINDS = (DensityTree, Mondrian, Generalization, Microaggregation)


def test_one_column_has_one_part() -> None:
    domain = Domain({"x": qi(bounds=[0, 1]), "s": {"categories": ["a", "b"], "role": "sensitive"}})
    table = pa.table({"x": [0.1, 0.2, 0.8, 0.9], "s": ["a", "b", "a", "b"]})
    for part in ("sensitive", "target", "person", "keep"):
        with pytest.raises(InvalidArgument, match=f"^{part} must be"):
            DensityTree(2, domain=domain, **{part: ["x"] if part == "keep" else "x"}).fit(table)
    with pytest.raises(InvalidArgument, match="person must be a column that is not passed on"):
        DensityTree(2, domain=domain, person="s").fit(table)
    two = Domain({"x": (0, 1), "p": {"categories": ["a"], "role": "person"}, "q": {"bounds": [0, 1], "role": "person"}})
    with pytest.raises(SchemaError, match="all declared person"):
        DensityTree(2, domain=two).fit(pa.table({"x": [1.0], "p": ["a"], "q": [1]}))


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ({"bounds": [0, 9]}, pa.array(["1", "1.0", " 1", "1e0"])),
        ({"bounds": [0, 9]}, pa.array([math.nan, None, math.nan, None])),
        ({"bounds": [0, 9]}, pa.array(["", " ", None, "nan"])),
        ({"categories": ["p", "q"]}, pa.array(["p", " p", "p ", "p"])),
    ],
)
def test_spellings_of_one_value_are_not_diverse(declared: dict[str, Any], values: pa.Array) -> None:
    domain = Domain({"x": qi(bounds=[0, 1]), "s": {**declared, "role": "sensitive"}})
    with pytest.raises(InvalidArgument, match="l_diversity"):
        DensityTree(2, 2, domain=domain).fit_transform(pa.table({"x": [0.5] * 4, "s": values}))


def test_more_categories_than_bins_are_refused() -> None:
    domain = Domain({"c": qi(categories=[f"c{i}" for i in range(40_000)])})
    with pytest.raises(InvalidArgument, match="categories of column 'c'"):
        DensityTree(2, domain=domain).fit(pa.table({"c": ["c0", "c1", "c39999"]}))


@pytest.mark.parametrize("name", ODD)
def test_odd_tables_are_released_or_refused_in_words(name: str) -> None:
    for domain in (SMALL, OWN):
        methods = [kind(2, domain=domain) for kind in KINDS]
        methods.append(RankSwapping(domain=domain))
        for method in methods:
            if name not in ("infinite", "all alike"):
                with pytest.raises(DiscreetError):
                    method.fit_transform(ODD[name])
                continue
            release = method.fit_transform(ODD[name])
            assert len(release) + release.suppressed + release.dropped == 5
            if not isinstance(method, RankSwapping):
                assert min(Counter(keys(release.table, ["a", "c"])).values()) >= 2


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.table([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], names=["a", "a"])
    for job in (
        lambda: DensityTree(2, domain=Domain({"a": (0, 10)})).fit(table),
        lambda: risk(table, ["a"]),
    ):
        with pytest.raises(SchemaError, match="more than one column 'a'"):
            job()


def test_nothing_is_written_if_the_promise_cannot_be(tmp_path: Path) -> None:
    release = DensityTree(2, domain=Domain({"a": (0, 10)})).fit_transform(pa.table({"a": [1.0, 2.0, 8.0, 9.0]}))
    (tmp_path / "safe.csv.guarantee.json").mkdir()
    with pytest.raises(DiscreetError, match=r"cannot write|is a folder"):
        release.save(tmp_path / "safe.csv")
    assert not (tmp_path / "safe.csv").exists()
