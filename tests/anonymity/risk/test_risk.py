"""Risk measures against plain, slow definitions."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.anonymity import DensityTree
from discreet.anonymity.risk.report import risk
from discreet.errors import InvalidArgument

QI = ["age", "zip", "sex"]


def invented(seed: int, n: int = 200, gaps: bool = False) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    table: dict[str, list[Any]] = {
        "age": rng.integers(2, 6, n).tolist(),
        "zip": [f"{z}*" for z in rng.integers(0, 3, n)],
        "sex": rng.choice(["f", "m"], n).tolist(),
        "ill": rng.choice(["no", "flu", "cold", "gout"], n, p=[0.6, 0.2, 0.15, 0.05]).tolist(),
        "pay": (rng.integers(1, 9, n) * 10.0).tolist(),
    }
    if gaps:
        for name in QI:
            table[name] = [None if rng.random() < 0.1 else v for v in table[name]]
    return table


def groups(table: dict[str, list[Any]]) -> dict[tuple[Any, ...], list[int]]:
    found: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(zip(*(table[q] for q in QI), strict=True)):
        found.setdefault(key, []).append(i)
    return found


def slow(table: dict[str, list[Any]], column: str, l_wanted: int) -> dict[str, float]:
    values = table[column]
    whole, n = Counter(values), len(values)
    order = sorted(whole, key=lambda v: v if isinstance(v, float) else str(v))
    worst: dict[str, list[float]] = {}
    for rows in groups(table).values():
        inside = Counter(values[i] for i in rows)
        p = {v: inside[v] / len(rows) for v in whole}
        q = {v: whole[v] / n for v in whole}
        falling = sorted(inside.values(), reverse=True)
        rest = sum(falling[l_wanted - 1 :])
        cumulated = np.cumsum([p[v] - q[v] for v in order])
        measures = {
            "distinct_l": -len(inside),
            "entropy_l": -math.exp(-sum(x * math.log(x) for x in p.values() if x)),
            "recursive_c": falling[0] / rest if rest else math.inf,
            "t_equal": sum(abs(p[v] - q[v]) for v in whole) / 2,
            "t_ordered": float(np.abs(cumulated).sum() / (len(order) - 1)),
            "alpha": max(p.values()),
            "beta": max((p[v] - q[v]) / q[v] for v in whole),
            "enhanced_beta": max(min((p[v] - q[v]) / q[v], -math.log(q[v])) for v in inside),
            "delta": max(abs(math.log(p[v] / q[v])) if p[v] else math.inf for v in whole),
        }
        for name, value in measures.items():
            worst.setdefault(name, []).append(value)
    found = {name: max(values) for name, values in worst.items()}
    return {**found, "distinct_l": -found["distinct_l"], "entropy_l": -found["entropy_l"]}


@pytest.mark.parametrize("seed", range(8))
def test_measures_equal_their_definitions(seed: int) -> None:
    table = invented(seed, gaps=seed % 2 == 1)
    report = risk(pa.table(table), QI, ["ill", "pay"], recursive_l=2 + seed % 2)
    sizes = [len(rows) for rows in groups(table).values()]
    n = len(table["age"])
    assert (report.k, report.classes, report.rows) == (min(sizes), len(sizes), n)
    assert report.unique == pytest.approx(sum(s for s in sizes if s == 1) / n)
    assert report.prosecutor["mean"] == pytest.approx(len(sizes) / n)
    assert report.marketer == pytest.approx(len(sizes) / n)
    assert report.prosecutor["share"] == pytest.approx(sum(s for s in sizes if 1 / s > 0.2) / n)
    pairs = sum(s * (s - 1) for s in sizes)
    assert report.columns["*"]["separation"] == pytest.approx(1 - pairs / (n * (n - 1)))
    assert report.columns["zip"]["distinction"] == pytest.approx(len(set(table["zip"])) / n)
    for column in ("ill", "pay"):
        wanted, found = slow(table, column, 2 + seed % 2), report.sensitive[column]
        for name, value in wanted.items():
            if name == "t_ordered" and column == "ill":
                assert found.t_ordered is None
                continue
            assert getattr(found, name) == pytest.approx(value, rel=1e-12, abs=1e-12), (column, name)


@pytest.mark.parametrize(("l_wanted", "ratio"), [(2, 5 / 6), (3, 5 / 3), (4, 5 / 1), (5, math.inf)])
def test_recursive_diversity_compares_the_commonest_value_with_those_from_the_lth_on(
    l_wanted: int, ratio: float
) -> None:
    table = pa.table({"age": [30] * 11, "zip": ["1"] * 11, "ill": list("aaaaabbbccd")})
    assert risk(table, ["age", "zip"], ["ill"], recursive_l=l_wanted).sensitive["ill"].recursive_c == ratio


def test_population_gives_k_map_and_the_journalist() -> None:
    people, table = invented(1, 2000), invented(2, 60)
    report = risk(pa.table(table), QI, population=pa.table(people))
    known = groups(people)
    matches = [len(known.get(key, [])) for key in zip(*(table[q] for q in QI), strict=True)]
    assert report.k_map == min(matches)
    assert report.journalist is not None
    assert report.journalist["max"] == pytest.approx(1 / max(min(matches), 1))
    assert risk(pa.table(table), QI).journalist is None


def test_a_gap_can_match_anything() -> None:
    table = {"a": [1, 1, None, 2, None], "b": [1, None, 1, 2, None]}

    def agree(i: int, j: int) -> bool:
        return all(c[i] is None or c[j] is None or c[i] == c[j] for c in table.values())

    sizes = [sum(agree(i, j) for j in range(5)) for i in range(5)]
    report = risk(pa.table(table), ["a", "b"], missing="wildcard")
    assert report.k == min(sizes)
    assert report.prosecutor["mean"] == pytest.approx(np.mean([1 / s for s in sizes]))
    assert risk(pa.table(table), ["a", "b"]).k == 1
    dropped = risk(pa.table(table), ["a", "b"], missing="drop")
    assert (dropped.rows, dropped.missing["left_out"]) == (2, 3)


def test_many_columns_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.integers(0, 2**40, 300) for i in range(12)}
    assert risk(pa.table(columns), list(columns)).unique == 1.0


def test_requirements() -> None:
    report = risk(pa.table(invented(3)), QI, "ill")
    assert report.check(k=1, alpha=1.0) == []
    assert report.check(k=10_000) == [f"k is {report.k}, required is at least 10000"]
    assert report.check(l=9)[0].startswith("l of 'ill' is")
    assert report.check(t=0.0)[0].startswith("t of 'ill' is")
    assert report.check(k_map=2) == ["k_map is not known here"]
    with pytest.raises(dc.errors.InvalidArgument, match="one of"):
        report.check(kk=3)
    with pytest.raises(dc.errors.InvalidArgument, match="sensitive"):
        risk(pa.table(invented(3)), QI).check(l=2)


def test_figures_are_plain_data() -> None:
    report = risk(pa.table({"zip": [1, 2, 2], "ill": ["a", "b", "b"]}), ["zip"], "ill")
    assert json.loads(report.to_json())["sensitive"]["ill"]["delta"] == "inf"
    assert "rows of the smallest group" in str(report)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quasi_identifiers": []}, "at least one column"),
        ({"quasi_identifiers": ["age", "age"]}, "named once"),
        ({"sensitive": ["age"]}, "not a quasi-identifier"),
        ({"missing": "guess"}, "missing must be one of"),
        ({"threshold": 2}, "threshold"),
        ({"recursive_l": 1}, "recursive_l"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        risk(pa.table(invented(0)), **{"quasi_identifiers": QI, **arguments})


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(dc.errors.SchemaError, match="'town'"):
        risk(pa.table(invented(0)), ["town"])


def test_values_of_rows_that_are_left_out_are_no_steps_of_an_order() -> None:
    table = pa.table({"q": ["a", "a", "b", None], "pay": [1, 2, 4, 3]})
    report = dc.anonymity.risk(table, ["q"], ["pay"], missing="drop").sensitive["pay"]
    kept = dc.anonymity.risk(table.slice(0, 3), ["q"], ["pay"]).sensitive["pay"]
    assert report == kept
    assert report.t_ordered == pytest.approx(0.5)  # (1/3 + 2/3) / 2 steps


@pytest.mark.parametrize("seed", range(6))
def test_risk_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 60, 90
    draw = lambda size: {  # noqa: E731
        "a": [None if g < 0.2 else int(v) for g, v in zip(rng.random(size), rng.integers(0, 3, size), strict=True)],
        "b": rng.choice(["x", "y"], size).tolist(),
    }
    rows = {**draw(n), "s": rng.choice(["p", "q", "r"], n, p=[0.7, 0.2, 0.1]).tolist()}
    extra = draw(m)
    everyone = {c: rows[c] + extra[c] for c in ("a", "b")}
    table, population = pa.table(rows), pa.table(everyone)
    mine, theirs = list(zip(rows["a"], rows["b"], strict=True)), list(zip(everyone["a"], everyone["b"], strict=True))

    report = risk(table, ["a", "b"], "s", population=population, threshold=0.15)
    size, held = Counter(mine), Counter(theirs)
    assert report.k == min(size.values())
    assert report.k_map == min(held[key] for key in mine)
    assert report.unique == pytest.approx(sum(size[key] == 1 for key in mine) / n)
    assert report.prosecutor["mean"] == pytest.approx(len(size) / n)
    assert report.prosecutor["share"] == pytest.approx(sum(1 / size[key] > 0.15 for key in mine) / n)
    assert report.journalist is not None
    assert report.journalist["mean"] == pytest.approx(sum(1 / held[key] for key in mine) / n)
    assert report.marketer == pytest.approx(sum(size[key] / held[key] for key in size) / n)
    pairs = sum(mine[i] != mine[j] for i in range(n) for j in range(n)) / (n * (n - 1))
    assert report.columns["*"]["separation"] == pytest.approx(pairs)

    whole = {v: rows["s"].count(v) / n for v in "pqr" if v in rows["s"]}
    found = report.sensitive["s"]
    classes = [[rows["s"][i] for i in range(n) if mine[i] == key] for key in size]
    shares = [{v: c.count(v) / len(c) for v in whole} for c in classes]
    assert found.distinct_l == min(len(set(c)) for c in classes)
    assert found.entropy_l == pytest.approx(
        min(math.exp(-sum(p * math.log(p) for p in s.values() if p)) for s in shares)
    )
    assert found.t_equal == pytest.approx(max(sum(abs(s[v] - whole[v]) for v in whole) / 2 for s in shares))
    assert found.beta == pytest.approx(max((s[v] - whole[v]) / whole[v] for s in shares for v in whole))
    assert found.homogeneous == pytest.approx(sum(len(c) for c in classes if len(set(c)) == 1) / n)
    lacking = any(p == 0 for s in shares for p in s.values())
    delta = max(abs(math.log(s[v] / whole[v])) for s in shares for v in whole if s[v])
    assert found.delta == (math.inf if lacking else pytest.approx(delta))

    wild = risk(table, ["a", "b"], missing="wildcard")
    fits = lambda one, two: all(u is None or v is None or u == v for u, v in zip(one, two, strict=True))  # noqa: E731
    assert wild.k == min(sum(fits(one, two) for two in mine) for one in mine)
    dropped = risk(table, ["a", "b"], missing="drop")
    left = Counter(key for key in mine if None not in key)
    assert (dropped.rows, dropped.k) == (sum(left.values()), min(left.values()))


def test_a_release_names_its_own_quasi_identifiers(tmp_path: Path) -> None:
    people = dc.datasets.people(300)
    release = DensityTree(5, domain=people.domain).fit_transform(people.table)
    release.save(tmp_path / "safe.parquet")
    for thing in (release, tmp_path / "safe.parquet"):
        found = risk(thing)
        assert found.k == release.guarantee.parameters["reached"]["k"]
        assert set(found.columns) == {"*", "age", "town", "job", "hours"}
    with pytest.raises(InvalidArgument, match="at least one column"):
        risk(people.table)
