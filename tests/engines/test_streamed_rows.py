"""Rows that are handed back, from tables larger than memory: the same as in memory, and little memory for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.anonymity.risk import counted
from discreet.engines.readers import columns as engine_columns
from discreet.engines.writing import shuffled
from discreet.errors import BudgetExceeded, DataSourceError, InvalidArgument
from discreet.metric import perturber
from discreet.metric import rows as _rows

N = 2000
DOMAIN = dc.Domain({"x": (0, 1), "y": (0, 10), "kind": ["a", "b", "c"], "day": ("2020-01-01", "2020-12-31")})
NUMBERS = dc.Domain({"x": (0, 1), "y": (0, 10)})


def table(n: int = N) -> pa.Table:
    rng = np.random.default_rng(2)
    x = rng.random(n)
    x[::37] = np.nan
    days = np.datetime64("2020-01-01") + rng.integers(0, 366, n)
    return pa.table({"name": [f"p{i}" for i in range(n)], "x": x, "y": rng.normal(5, 2, n),
                     "kind": rng.choice(["a", "b", "c", "?"], n), "day": days})  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two Parquet files of several row groups, whose sizes do not divide anything."""
    place = tmp_path_factory.mktemp("rows")
    for i, (start, rows) in enumerate([(0, 1100), (1100, N)]):
        pq.write_table(table().slice(start, rows - start * (i > 0)), place / f"{i}.parquet", row_group_size=333)
    return place


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many chunks and batches, also of a small table."""
    for module in (_rows, perturber):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 128)
    monkeypatch.setattr(engine_columns.column_batches, "__defaults__", (None, 250))
    monkeypatch.setattr(counted, "_FEW", 4)
    monkeypatch.setattr(shuffled, "_ROWS", 200)


MECHANISMS = {
    "none": lambda: dc.metric.NDLaplace(1.0, 0.1, DOMAIN, category_epsilon=1.0, random_state=3),
    "clip": lambda: dc.metric.NDLaplace(1.0, 0.1, NUMBERS, "clip", random_state=3),
    "resample": lambda: dc.metric.NDLaplace(4.0, 0.1, NUMBERS, "resample", random_state=3),
    "sample": lambda: dc.metric.Piecewise(1.0, DOMAIN, "sample", category_epsilon=1.0, random_state=3),
    "wave": lambda: dc.metric.Piecewise(2.0, NUMBERS, method="square_wave", random_state=3),
    "direction": lambda: dc.metric.PrivUnit(2.0, NUMBERS, random_state=3),
    "sphere": lambda: dc.metric.SphericalLaplace(
        1.0, 200.0, domain=dc.Domain({"lat": (-90, 90), "lon": (-180, 180)}), random_state=3
    ),
}


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_a_perturbed_file_is_the_perturbed_table(name: str, folder: Path, tmp_path: Path) -> None:
    rows: Any = table()
    data: Any = str(folder)
    if name == "sphere":
        rows = rows.select(["x", "y"]).rename_columns(["lat", "lon"])
        pq.write_table(rows, tmp_path / "places.parquet", row_group_size=77)
        data = tmp_path / "places.parquet"
    mechanism = MECHANISMS[name]()
    expected = mechanism.transform(rows)
    for suffix in ("parquet", "csv"):
        written = mechanism.transform_file(data, tmp_path / f"noisy.{suffix}", order="input")
        assert (written.n_rows, written.names) == (N, tuple(expected.column_names))
        if suffix == "parquet":
            assert pq.read_table(written.path).replace_schema_metadata(None).equals(expected)
            assert written.head.equals(expected.slice(0, 6))
        else:
            csv.write_csv(expected, tmp_path / "whole.csv")
            assert written.path.read_bytes() == (tmp_path / "whole.csv").read_bytes()
        assert written.guarantee.verify(written.path.read_bytes())
        beside = dc.Guarantee.from_json((tmp_path / f"noisy.{suffix}.guarantee.json").read_text(encoding="utf-8"))
        assert beside == written.guarantee
        assert beside.epsilon == mechanism.guarantee_.epsilon
    assert not list(tmp_path.glob(".noisy*"))


def test_an_array_is_perturbed_in_the_same_chunks(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((1000, 2))
    mechanism = dc.metric.NDLaplace(1.0, 0.1, (0, 1), random_state=5)
    expected = mechanism.transform(X)
    csv.write_csv(pa.table({"x0": X[:, 0], "x1": X[:, 1]}), tmp_path / "rows.csv")
    mechanism.transform_file(tmp_path / "rows.csv", tmp_path / "noisy.parquet", order="input")
    found = pq.read_table(tmp_path / "noisy.parquet")
    assert np.array_equal(np.column_stack([found["x0"], found["x1"]]), expected)
    assert len(np.unique(expected - X, axis=0)) == len(X)  # no chunk has the noise of another
    assert mechanism.transform_file(np.empty((0, 2)), tmp_path / "none.parquet").n_rows == 0
    assert pq.read_table(tmp_path / "none.parquet").column_names == ["x0", "x1"]


def test_a_user_ledger_is_charged_before_anything_is_written(folder: Path, tmp_path: Path) -> None:
    mechanism = dc.metric.NDLaplace(1.0, 0.1, NUMBERS)
    ledger = dc.metric.UserLedger(lifetime=1)
    who = np.arange(N)
    mechanism.transform_file(str(folder), tmp_path / "noisy.csv", users=who, ledger=ledger)
    assert np.asarray(ledger.spent(who[:3])).astype(float).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(BudgetExceeded):
        mechanism.transform_file(str(folder), tmp_path / "again.csv", users=who, ledger=ledger)
    with pytest.raises(InvalidArgument, match="one per row"):
        mechanism.transform_file(str(folder), tmp_path / "again.csv", users=who[1:], ledger=ledger)
    assert not list(tmp_path.glob("*again*"))


def test_what_fails_half_way_leaves_nothing_behind(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, written = pq.ParquetWriter.write_table, []

    def write_table(self: Any, rows: pa.Table) -> None:
        written.append(rows.num_rows)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        original(self, rows)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", write_table)
    with pytest.raises(DataSourceError, match=r"cannot write .*noisy.parquet' \(No space left on device\)"):
        dc.metric.NDLaplace(1.0, 0.1, NUMBERS).transform_file(str(folder), tmp_path / "noisy.parquet")
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataSourceError, match="cannot write"):
        dc.metric.NDLaplace(1.0, 0.1, NUMBERS).transform_file(str(folder), tmp_path / "nowhere" / "noisy.parquet")


# Anonymous tables

ROLES = {
    "age": {"bounds": [0, 100], "role": "quasi-identifier", "missing": "own"},
    "pay": {"bounds": [0, 1000], "role": "quasi-identifier"},
    "job": {"categories": ["cook", "smith", "baker"], "role": "quasi-identifier"},
    "ill": {"categories": ["no", "flu", "cold"], "role": "sensitive"},
    "note": {"bounds": [0, 9], "role": "attribute"},
    "name": {"categories": ["p0"], "role": "identifier"},
}
PEOPLE = dc.Domain(ROLES)
OWNERS = dc.Domain({**ROLES, "name": {"categories": ["p0"], "role": "person"}})
TREES: dict[str, dict[str, Any]] = {
    "k": {"k": 20},
    "l": {"k": 10, "l_diversity": 2, "l_kind": "entropy"},
    "t": {"k": 10, "t_closeness": 0.25, "suppress": 0.05},
    "persons": {"k": 8, "domain": OWNERS},
}


def people(n: int = N) -> pa.Table:
    rng = np.random.default_rng(4)
    age = pa.array(rng.integers(0, 100, n), mask=np.arange(n) % 41 == 0)
    pay = rng.gamma(2.0, 100.0, n)
    pay[::53] = np.nan
    return pa.table({
        "age": age, "pay": pay, "job": rng.choice(["cook", "smith", "baker"], n, p=[0.7, 0.2, 0.1]),
        "ill": rng.choice(["no", "flu", "cold", None], n, p=[0.6, 0.2, 0.15, 0.05]), "note": rng.integers(0, 9, n),
        "name": [f"p{i}" for i in rng.integers(0, n // 2, n)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def register(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("people")
    pq.write_table(people().slice(0, 900), place / "0.parquet", row_group_size=200)
    pq.write_table(people().slice(900), place / "1.parquet", row_group_size=170)
    return place


def models() -> dict[str, Any]:
    made: dict[str, Any] = {
        f"density-{name}": dc.anonymity.DensityTree(**{"domain": PEOPLE, "keep": ["note"], **chosen})
        for name, chosen in TREES.items()
    }
    made["mondrian"] = dc.anonymity.Mondrian(k=15, domain=PEOPLE, keep=["note"])
    levels = {"age": 5, "pay": 5, "job": 0}
    for name in ("t", "persons"):
        chosen = {"domain": PEOPLE, "keep": ["note"], "levels": levels, **TREES[name], "suppress": 0.9}
        made[f"levels-{name}"] = dc.anonymity.Generalization(**chosen)
    return made


#: Trees with l or t are written by the same code as those with k; levels with t are always tried.
LONGER = ("density-l", "density-t")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONGER)) for n in models()])
def test_an_anonymous_file_is_the_anonymous_table(name: str, register: Path, tmp_path: Path) -> None:
    model = models()[name].fit(people().slice(0, 1500))
    ways: list[dict[str, Any]] = [
        {"order": "shuffled", "random_state": 6},
        {"output": "center", "identifiers": "hash", "key": b"k" * 16, "random_state": 7},
        {"form": "bounds", "order": "input"},
    ]
    for i, way in enumerate(ways):
        form = way.pop("form", "text")
        release = model.transform(people(), **way)
        suffix = "csv" if form == "bounds" else "parquet"
        release.save(tmp_path / f"whole{i}.{suffix}", form=form)
        written = model.transform_file(str(register), tmp_path / f"rows{i}.{suffix}", form=form, **way)
        assert written.guarantee.to_dict() | {"digest": None} == release.guarantee.to_dict() | {"digest": None}
        assert written.guarantee.verify(written.path.read_bytes())
        assert len(written) == len(release)
        if suffix == "csv":
            assert written.path.read_bytes() == (tmp_path / f"whole{i}.csv").read_bytes()
        else:
            found = pq.read_table(written.path).replace_schema_metadata(None)
            assert found.equals(release.table.combine_chunks())
    assert not list(tmp_path.glob(".*"))


def test_a_release_that_cannot_be_made_is_refused_and_not_written(register: Path, tmp_path: Path) -> None:
    model = dc.anonymity.DensityTree(k=20, domain=PEOPLE, keep=["note"]).fit(people())
    for few in (people().slice(0, 15), people().slice(0, 0)):
        with pytest.raises(InvalidArgument, match="at most the number of records"):
            model.transform_file(few, tmp_path / "rows.csv")
    with pytest.raises(InvalidArgument, match="output must be interval or center in a file"):
        model.transform_file(str(register), tmp_path / "rows.csv", output="sample")
    with pytest.raises(InvalidArgument, match="at least 16 secret bytes"):
        model.transform_file(str(register), tmp_path / "rows.csv", identifiers="hash")
    rare = dc.anonymity.Generalization(k=20, domain=PEOPLE, keep=["note"], levels={}, suppress=0.1).fit(people())
    with pytest.raises(InvalidArgument, match="levels must be left out, or higher"):
        rare.transform_file(str(register), tmp_path / "rows.csv")
    assert not list(tmp_path.iterdir())


def test_rows_that_change_between_the_passes_are_noticed(
    register: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.anonymity.release import rows

    model = dc.anonymity.DensityTree(k=20, domain=PEOPLE, keep=["note"]).fit(people())
    original, passes = rows.column_batches, []

    def changing(source: Any, names: Any, domain: Any, **more: Any) -> Any:
        passes.append(1)
        for i, (coordinates, raw) in enumerate(original(source, names, domain, **more)):
            # In the second pass rows of the first batch are all in one place.
            moved = [np.full_like(c, c[0]) for c in coordinates] if len(passes) == 2 and i == 0 else coordinates
            yield moved, raw

    monkeypatch.setattr(rows, "column_batches", changing)
    with pytest.raises(DataSourceError, match="changed while it was read"):
        model.transform_file(str(register), tmp_path / "rows.parquet")
    assert not list(tmp_path.iterdir())


# Risk


@pytest.mark.parametrize("missing", ["own", "wildcard", "drop"])
def test_risk_is_the_same_from_files_in_any_batches(missing: str, register: Path, tmp_path: Path) -> None:
    quasi, population = ["age", "job"], people().select(["age", "job"]).slice(100)
    pq.write_table(population, tmp_path / "all.parquet", row_group_size=99)
    texts = population.set_column(0, "age", population["age"].cast(pa.string()))
    found = [
        dc.anonymity.risk(data, quasi, ["ill", "note"], population=of, missing=missing).to_dict()
        for data, of in (
            (people(), population),
            (str(register), tmp_path / "all.parquet"),
            (people().to_pandas(), texts),
        )
    ]
    assert found[1] == found[0]
    assert found[2].pop("sensitive") is not None  # NaN in pandas makes a float of it, no other number
    assert found[2] == {name: value for name, value in found[0].items() if name != "sensitive"}
    assert found[0]["k_map"] is not None
    assert dc.anonymity.risk(str(register), quasi, person="name") == dc.anonymity.risk(people(), quasi, person="name")


def test_files_that_disagree_on_a_type_are_read_as_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"zip": [1, 2]}), tmp_path / "0.parquet")
    csv.write_csv(pa.table({"zip": ["2", "3"]}), tmp_path / "1.csv")
    report = dc.anonymity.risk(str(tmp_path), ["zip"])
    assert (report.rows, report.classes) == (4, 3)


# Labels


def test_labels_in_a_file_are_those_in_memory(folder: Path, tmp_path: Path) -> None:
    model = dc.PrivateKMeans(3, epsilon=5.0, domain=NUMBERS, random_state=1).fit(table())
    expected = model.predict(table())
    written = model.predict_file(str(folder), tmp_path / "labels.parquet", column="group")
    assert np.array_equal(pq.read_table(written.path)["group"], expected)
    assert (written.n_rows, written.guarantee) == (N, None)
    assert -1 in expected
    assert not (tmp_path / "labels.parquet.guarantee.json").exists()
    assert model.predict_file(table(0), tmp_path / "none.csv").n_rows == 0


# Memory

LARGE = """
import json, resource, sys
import pyarrow.parquet as pq
import discreet as dc
source, place = sys.argv[1:]
domain = dc.Domain({**{f"x{i}": {"bounds": [0, 1], "role": "quasi-identifier"} for i in range(8)},
                    "ill": {"categories": ["a", "b"], "role": "sensitive"}})
numbers = domain.select([f"x{i}" for i in range(8)])
small = pq.ParquetFile(source).read_row_group(0)
few = small.slice(0, 5000)
tree = dc.anonymity.Mondrian(k=500, domain=domain).fit(few)
grid = dc.GridSynopsis(rule=2)
model = dc.PrivateKMeans(2, epsilon=9.0, domain=numbers, synopsis=grid).fit(few)
def work(data, name):
    return [
        dc.metric.NDLaplace(1.0, 0.1, numbers, random_state=1).transform_file(data, f"{place}/{name}.parquet").n_rows,
        tree.transform_file(data, f"{place}/{name}.pq", order="shuffled").n_rows,
        model.predict_file(data, f"{place}/{name}.csv").n_rows,
        dc.anonymity.risk(data, ["grade", "ill"], ["town"]).rows,
    ]
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
work(small, "small")
before = most()
print(json.dumps({"n": work(source, "large"), "grown": most() - before}))
"""
GROUPS, GROUP = 8, 1 << 17


@pytest.mark.slow
def test_memory_is_that_of_some_batches(tmp_path: Path) -> None:
    path, rng = tmp_path / "rows.parquet", np.random.default_rng(0)
    words = {
        "ill": ["a", "b"],
        "grade": list("uvwxyz"),
        "town": [f"a town with a long name {i:03}" for i in range(500)],
    }
    out: Any = None
    for _ in range(GROUPS):
        numbers = {f"x{i}": column for i, column in enumerate(rng.random((8, GROUP)))}
        texts = {name: np.array(some, object)[rng.integers(0, len(some), GROUP)] for name, some in words.items()}
        rows = pa.table({**numbers, **texts})
        out = out or pq.ParquetWriter(path, rows.schema, compression="none")
        out.write_table(rows)
    out.close()
    script = [sys.executable, "-c", LARGE, str(path), str(tmp_path)]
    done = subprocess.run(script, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found = json.loads(done.stdout)
    assert found["n"] == [GROUPS * GROUP] * 4
    # The raw numbers alone take 64 MiB, and work in memory holds them several times over.
    assert found["grown"] < 8 * 8 * GROUPS * GROUP, found["grown"] >> 20
