"""A drawn and recoded table: what it shows, what it hides, what it costs and what it refuses."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.anonymity import SampledGeneralization, sampling_epsilon
from discreet.core.budget.guarantee import Guarantee
from discreet.errors import BudgetExceeded, DiscreetError
from small_tables import one_of, random_table, whole

JOBS = {"office": ["clerk", "manager"], "craft": ["smith", "cook"]}
NAMES = ["clerk", "manager", "smith", "cook"]
DOMAIN = dc.Domain({"age": dc.Integer(0, 119), "job": NAMES})


def people(n: int, seed: int = 0) -> pa.Table:
    return random_table({"age": whole(0, 120), "job": one_of(NAMES)}, n, seed)


def method(**given: Any) -> SampledGeneralization:
    settings: dict[str, Any] = {
        "levels": {"age": 2, "job": 1},
        "hierarchies": {"job": JOBS},
        "widths": {"age": [10, 30]},
    }
    return SampledGeneralization(**{"k": 20, "sample": 0.2, "delta": 1e-6, "domain": DOMAIN, **settings, **given})


def test_classes_of_k_drawn_rows_are_published_and_nothing_else(tmp_path: Path) -> None:
    release = method().fit_transform(people(5000))
    shown = list(zip(*release.table.to_pydict().values(), strict=True))
    sizes = {row: shown.count(row) for row in set(shown)}
    assert min(sizes.values()) >= 20
    assert set(sizes) == {(age, job) for age in ("[0, 29]", "[30, 59]", "[60, 89]", "[90, 119]") for job in JOBS}
    assert all(80 < size < 220 for size in sizes.values())  # 125 on average, σ about 11
    assert shown == sorted(shown, key=lambda row: (row[0], NAMES.index(JOBS[row[1]][0])))  # class by class
    promise = release.guarantee
    assert promise.model == "central"
    assert promise.delta == 1e-6
    assert promise.epsilon == pytest.approx(sampling_epsilon(20, 0.2, 1e-6))
    assert "differential privacy" in str(promise)
    assert release.bounds["job_set"][0].as_py() == ["clerk", "manager"]
    assert Guarantee.from_json(promise.to_json()) == promise
    release.save(tmp_path / "a.csv")
    saved = Guarantee.from_json((tmp_path / "a.csv.guarantee.json").read_text())
    assert saved == promise  # sealed over this very file
    assert pickle.loads(pickle.dumps(release)).table.equals(release.table)


def test_what_is_told_does_not_depend_on_rows_that_are_not_shown() -> None:
    # Rare classes, gaps and the number of rows leave no trace: not in the release, not in the fitted object.
    crowd = pa.table({"age": [10] * 400, "job": ["clerk"] * 400})
    odd = pa.table(
        {"age": [10] * 400 + [100] * 3 + [None] * 50, "job": ["clerk"] * 400 + ["cook"] * 3 + ["smith"] * 50}
    )
    found = [method(random_state=7).fit(data) for data in (crowd, odd)]
    assert found[0].release_.table.equals(found[1].release_.table)
    assert found[0].guarantee_.to_json() == found[1].guarantee_.to_json()
    release = found[1].release_
    assert release.suppressed is None
    assert release.dropped is None
    assert len(release.rows) == 0
    assert len(release.cells.of) == len(release)
    assert not {"suppressed", "rows", "dropped_for_missing_values", "reached"} & set(release.guarantee.parameters)
    stored = str({k: v for k, v in vars(found[1]).items() if not isinstance(v, (pa.Table, dc.Domain))})
    assert "453" not in stored
    assert "403" not in stored
    assert len(method(random_state=7).fit_transform(crowd.slice(0, 0))) == 0  # no table is refused for its rows
    assert len(method(random_state=7).fit_transform(crowd.slice(0, 5))) == 0


def test_same_seed_same_table_from_memory_and_files(tmp_path: Path) -> None:
    table = people(3000)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    pa_csv.write_csv(table, tmp_path / "a.csv")
    order = np.random.default_rng(1).permutation(3000)
    ways = [table, table.to_pandas(), tmp_path / "a.parquet", tmp_path / "a.csv", table.take(pa.array(order))]
    digests = {method(random_state=5).fit_transform(data).guarantee.digest for data in ways}
    assert len(digests) == 1
    assert method(random_state=5).fit(table).guarantee_.seeded
    assert not method().fit(table).guarantee_.seeded


def test_it_is_charged_before_rows_are_read(tmp_path: Path) -> None:
    epsilon = sampling_epsilon(20, 0.2, 1e-6)
    account = dc.Account.create(tmp_path / "a.account", dataset="people", epsilon=2 * epsilon, delta=1e-5)
    release = method(ledger=account).fit_transform(people(2000))
    entry = account.entries[0]
    assert (float(entry.price), float(entry.delta), entry.state) == (pytest.approx(epsilon), 1e-6, "booked")
    assert entry.digest == release.guarantee.digest
    assert release.guarantee.parameters["account"]["dataset"] == "people"
    ledger = dc.Ledger(epsilon=1.5 * epsilon, delta=1e-5)
    method(ledger=ledger).fit(people(100))
    assert (float(ledger.spent), ledger.delta) == (pytest.approx(epsilon), 1e-6)
    with pytest.raises(BudgetExceeded):
        method(ledger=ledger).fit(people(100))
    with pytest.raises(BudgetExceeded):
        method(ledger=ledger).check()


def _roles(**roles: str) -> dc.Domain:
    return dc.Domain({"age": {"kind": "integer", "bounds": [0, 119], "role": roles.get("age", "quasi-identifier")},
                      "job": {"categories": NAMES, "role": roles.get("job", "quasi-identifier")}})  # fmt: skip


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"levels": None}, "levels must be given: levels chosen on the rows reveal something about them"),
        ({"hierarchies": {"job": "merge"}}, "follows the rows, and sampling then proves nothing"),
        ({"domain": _roles(job="sensitive")}, "'job' has the role sensitive and would be passed on"),
        ({"domain": _roles(job="target")}, "'job' has the role target"),
        ({"domain": _roles(job="person")}, "names a person, who may have many rows"),
        ({"domain": _roles(job="attribute")}, "no role in an anonymous table"),
        ({"domain": None}, "domain must be"),
        ({"k": 3, "sample": 0.5}, r"at least sample\^k"),
        ({"sample": 1.0}, "sample must be"),
        ({"levels": {"age": 9}}, "level of column 'age'"),
    ],
)
def test_what_would_break_the_argument_is_refused_before_any_row(given: dict[str, Any], wrong: str) -> None:
    with pytest.raises(DiscreetError, match=wrong):
        method(**{"hierarchies": None, **given}).check()
    with pytest.raises(DiscreetError, match=wrong):
        method(**{"hierarchies": None, **given}).fit(people(50))


def test_methods_whose_cells_follow_the_data_take_no_sample() -> None:
    for name in ("DensityTree", "Mondrian", "Generalization"):
        assert "sample" not in getattr(dc.anonymity, name)().get_params()


def test_pages_and_audits_call_the_rows_what_they_are(tmp_path: Path) -> None:
    domain = dc.Domain({"age": dc.Integer(0, 119, top=90), "job": NAMES})
    release = method(domain=domain, widths=None, levels={"age": 5, "job": 1}).fit_transform(people(5000))
    assert {"> 90", "office"} <= {text for column in release.table.to_pydict().values() for text in column}
    release.save(tmp_path / "a.csv")
    dc.reporting.write_report(tmp_path / "a.csv", tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"{len(release):,} drawn rows" in text
    assert "0 to 119, top 90" in text
    assert "with δ" in text
    assert "invented" not in text
    audited = dc.Job("audit", str(tmp_path / "a.csv")).run()
    assert [(check["check"], check["detail"]) for check in audited.figures["checks"] if check["holds"] is False] == []
