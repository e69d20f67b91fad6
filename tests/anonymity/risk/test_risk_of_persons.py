"""If k counts persons, every stated risk is about persons, or says that it counts rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.anonymity import risk
from discreet.anonymity.risk.report import with_promise
from discreet.errors import InvalidArgument
from discreet.evaluation import recount
from discreet.reporting.facts import report_facts

KEY = b"0123456789abcdef"
DOMAIN = dc.Domain(
    {
        "who": {"categories": ["any"], "role": "person"},
        "age": {"bounds": (0, 100), "role": "quasi-identifier"},
        "ill": {"categories": ["no", "yes"], "role": "sensitive"},
    }
)


def visits() -> pa.Table:
    """40 people of one or two visits, and one who came 30 times."""
    rng = np.random.default_rng(8)
    who = [*range(40), *range(20), *[40] * 30]
    ages = rng.integers(0, 100, 41)
    ill = [("no", "yes")[i % 2] for i in range(len(who))]
    return pa.table({"who": [f"p{i}" for i in who], "age": [int(ages[i]) for i in who], "ill": ill})


def share(release: dc.anonymity.Release, table: pa.Table) -> float:
    """Count the largest share by hand."""
    groups: dict[str, list[str]] = {}
    for row, age in zip(release.rows, release.table["age"].to_pylist(), strict=True):
        groups.setdefault(age, []).append(table["who"][int(row)].as_py())
    return max(max(g.count(p) for p in set(g)) / len(g) for g in groups.values())


@pytest.mark.parametrize("method", ["DensityTree", "Mondrian"])
def test_the_guarantee_states_the_largest_share_of_one_person(method: str, tmp_path: Path) -> None:
    table = visits()
    model = getattr(dc.anonymity, method)(k=5, domain=DOMAIN).fit(table)
    release = model.transform(table)
    reached = release.guarantee.parameters["reached"]
    assert reached["largest_share"] == pytest.approx(share(release, table))
    assert reached["largest_share"] > 1 / 5
    assert f"{np.ceil(1000 * reached['largest_share']) / 10:g} %" in str(release.guarantee)
    written = model.transform_file(table, tmp_path / "o.csv")
    assert written.guarantee is not None
    assert written.guarantee.parameters["reached"] == reached


def test_rows_promise_has_no_share() -> None:
    table = visits().drop(["who"])
    release = dc.anonymity.DensityTree(k=5, domain=DOMAIN.select(["age", "ill"])).fit_transform(table)
    assert "largest_share" not in release.guarantee.parameters["reached"]


def test_report_and_risk_speak_of_persons(tmp_path: Path) -> None:
    table = visits()
    release = dc.anonymity.DensityTree(k=5, domain=DOMAIN).fit_transform(table)
    release.save(tmp_path / "safe.csv")
    reached = release.guarantee.parameters["reached"]
    risk = report_facts(tmp_path / "safe.csv")["release"]["risk"]
    assert risk["k"] == reached["k"]
    assert risk["prosecutor"]["max"] == pytest.approx(max(1 / reached["k"], reached["largest_share"]))
    assert risk["rows_of_smallest"] == dc.anonymity.risk(release.table, ["age"]).k > reached["k"]
    assert "do not show whose they are" in risk["notes"][-1]
    by_rows = dc.anonymity.risk(release.table, ["age"])
    told = with_promise(by_rows, tmp_path / "safe.csv")
    (said,) = told.notes
    assert told.to_rows()[0][:2] == ("k of persons", str(reached["k"]))
    assert [row[0] for row in told.to_rows()].count("k of rows") == 1
    assert "count rows" in said
    assert f"k is {reached['k']}" in said
    assert with_promise(by_rows, tmp_path / "other.csv") == by_rows
    shares = replace(told, promised={"k": 5, "found": 6 / 11}, prosecutor={**told.prosecutor, "max": 6 / 11}).to_rows()
    worst = {name: value for name, value, _ in shares if name.endswith("worst")}
    assert worst == {"prosecutor of persons, worst": "54.6 %", "prosecutor, worst": "54.6 %"}  # rounded up


def test_persons_are_counted_again_by_their_hash(tmp_path: Path) -> None:
    release = dc.anonymity.DensityTree(k=5, domain=DOMAIN).fit_transform(visits(), identifiers="hash", key=KEY)
    reached = release.guarantee.parameters["reached"]
    found = recount(release.table, release.guarantee)
    assert found.failures == ()
    assert found.found["k"] == reached["k"]
    assert found.found["largest_share"] == pytest.approx(reached["largest_share"])
    assert not any("not in the table" in note for note in found.notes)
    everybody = release.table.set_column(0, "who", pa.array(["one"] * len(release)))
    assert "k is 1, required 5" in recount(everybody, release.guarantee).failures


def test_risk_counts_persons() -> None:
    table = pa.table({"zip": [1, 1, 1, 2, 2, 2], "who": ["a", "a", "b", "c", "c", "c"]})
    report = risk(table, ["zip"], person="who")
    assert (report.k, report.unique, report.prosecutor["max"]) == (1, 0.5, 1.0)
    assert report.prosecutor["mean"] == pytest.approx((3 * 0.5 + 3 * 1) / 6)
    assert "persons of the smallest group" in str(report)
    assert risk(table, ["zip"]).k == 3
    for bad in ("zip", ["who", "zip"]):
        with pytest.raises(InvalidArgument, match="person"):
            risk(table, ["zip"], person=bad)
    with pytest.raises(InvalidArgument, match="missing"):
        risk(table, ["zip"], person="who", missing="wildcard")
