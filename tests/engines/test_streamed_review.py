"""What rows out of core must not do: lose the raw file, count a person twice, leave files behind, charge too little."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engines import shuffled, writer
from discreet.engines.tables.columns import as_text, read_columns
from discreet.engines.tables.memory import ArrowTable
from discreet.errors import DataSourceError, InvalidType

PLACES = dc.Domain({"x": (0, 1), "y": (0, 1)})
ROLES = {
    "age": {"bounds": [0, 100], "role": "quasi-identifier"},
    "#": {"bounds": [0, 1000], "role": "attribute"},
    "ill": {"categories": ["no", "flu"], "role": "sensitive"},
}


def people(n: int = 600) -> pa.Table:
    rng = np.random.default_rng(8)
    return pa.table({"age": rng.integers(0, 100, n), "#": np.arange(n), "ill": rng.choice(["no", "flu"], n)})


def places() -> pa.Table:
    return pa.table(dict(zip("xy", np.random.default_rng(3).random((2, 50)), strict=True)))


def tree() -> Any:
    return dc.anonymity.DensityTree(k=10, domain=dc.Domain(ROLES), keep=["#"]).fit(people())


# The target


def test_a_file_that_is_read_is_not_written_over(tmp_path: Path) -> None:
    raw, linked = tmp_path / "raw.csv", tmp_path / "linked.csv"
    csv.write_csv(places(), raw)
    linked.symlink_to(raw)
    before = raw.read_bytes()
    noise = dc.metric.NDLaplace(1.0, 0.1, PLACES)
    model = dc.PrivateKMeans(2, epsilon=5.0, domain=PLACES).fit(places())
    for target in (raw, linked):
        with pytest.raises(DataSourceError, match="is a file that is read, and would be lost"):
            noise.transform_file(tmp_path, target)
        with pytest.raises(DataSourceError, match="is a file that is read"):
            model.predict_file(str(raw), target)
    pq.write_table(people(), tmp_path / "people.parquet")
    with pytest.raises(DataSourceError, match="is a file that is read"):
        tree().transform_file(tmp_path / "people.parquet", tmp_path / "people.parquet")
    assert raw.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["linked.csv", "people.parquet", "raw.csv"]


def test_a_name_that_promises_compression_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataSourceError, match="would not be compressed"):
        dc.metric.NDLaplace(1.0, 0.1, PLACES).transform_file(places(), tmp_path / "noisy.csv.gz")
    assert not list(tmp_path.iterdir())


def test_a_table_whose_promise_cannot_be_written_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, data: str) -> None:
        raise DataSourceError("output: cannot write the promise")

    monkeypatch.setattr(writer, "write_whole", refuse)
    with pytest.raises(DataSourceError, match="the promise"):
        dc.metric.NDLaplace(1.0, 0.1, PLACES).transform_file(places(), tmp_path / "noisy.csv")
    assert not list(tmp_path.iterdir())


def test_a_column_of_labels_needs_a_name(tmp_path: Path) -> None:
    model = dc.PrivateKMeans(2, epsilon=5.0, domain=PLACES).fit(places())
    with pytest.raises(InvalidType, match="column must be a name"):
        model.predict_file(places(), tmp_path / "labels.csv", column=5)  # type: ignore[arg-type]


# Shuffled rows


def test_a_column_of_any_name_is_shuffled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffled, "_ROWS", 50)
    release = tree().transform(people(), order="shuffled", random_state=2)
    written = tree().transform_file(people(), tmp_path / "rows.parquet", order="shuffled", random_state=2)
    assert pq.read_table(written.path).replace_schema_metadata(None).equals(release.table.combine_chunks())


@pytest.fixture
def room() -> Iterator[int]:
    """No file may be longer than this."""
    resource = pytest.importorskip("resource", reason="files cannot be limited here")
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    yield 3000
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("order", ["input", "shuffled"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_disk_without_room_is_named_and_nothing_stays(order: str, suffix: str, room: int, tmp_path: Path) -> None:
    with pytest.raises(DataSourceError, match=r"output: cannot write .*check the folder and its room"):
        tree().transform_file(people(), tmp_path / f"rows.{suffix}", order=order)
    assert not list(tmp_path.iterdir())


def test_shuffled_rows_are_deleted_though_their_files_cannot_be_closed(tmp_path: Path) -> None:
    class Broken:
        def close(self) -> None:
            raise OSError(28, "No space left on device")

    with shuffled.Shuffler(tmp_path, dc.noise.RowOrder(1)) as rows:
        rows.add(pa.table({"age": [31, 32, 33]}))
        rows._files.writers[0] = Broken()
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


# Ledger


def test_rows_that_nobody_was_charged_for_are_not_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, passes = ArrowTable.read, []

    def growing(self: Any, positions: Any, batch_size: int) -> Any:
        passes.append(1)
        rows = self if len(passes) == 1 else ArrowTable(pa.concat_tables([self._data, self._data]))
        return original(rows, positions, batch_size)

    monkeypatch.setattr(ArrowTable, "read", growing)
    ledger = dc.metric.UserLedger(lifetime=1)
    with pytest.raises(DataSourceError, match="changed while it was read"):
        dc.metric.NDLaplace(1.0, 0.1, PLACES).transform_file(
            places(), tmp_path / "noisy.csv", users=np.arange(50), ledger=ledger
        )
    assert len(passes) == 2
    assert not list(tmp_path.iterdir())


# Risk


def test_values_of_rows_that_are_left_out_are_no_steps_of_an_order() -> None:
    table = pa.table({"q": ["a", "a", "b", None], "pay": [1, 2, 4, 3]})
    report = dc.anonymity.risk(table, ["q"], ["pay"], missing="drop").sensitive["pay"]
    kept = dc.anonymity.risk(table.slice(0, 3), ["q"], ["pay"]).sensitive["pay"]
    assert report == kept
    assert report.t_ordered == pytest.approx(0.5)  # (1/3 + 2/3) / 2 steps


# Files and tables of several types


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Three persons (one of them nameless) by whole numbers here, as pandas writes a column with a gap there."""
    pq.write_table(pa.table({"q": ["a"] * 4, "who": [10**16, 10**16, None, 0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"q": ["a"] * 4, "who": [1e16, 1e16, np.nan, -0.0]}), tmp_path / "1.parquet")
    return tmp_path


def test_a_person_is_one_whatever_types_files_have(mixed: Path) -> None:
    report = dc.anonymity.risk(str(mixed), ["q"], person="who")
    assert (report.rows, report.k) == (8, 3)
    assert dc.anonymity.risk(str(mixed), ["q"], ["who"]).sensitive["who"].distinct_l == 3


def test_a_zero_with_a_sign_is_no_other_person(tmp_path: Path) -> None:
    domain = dc.Domain({"age": ROLES["age"], "who": {"bounds": [0, 9], "role": "person"}})
    rows = pa.table({"age": [30] * 6, "who": [0.0, -0.0, 1.0, 2.0, 2.0, None]})
    model = dc.anonymity.DensityTree(k=2, domain=domain).fit(rows)
    found = [model.transform(rows).guarantee, model.transform_file(rows, tmp_path / "rows.csv").guarantee]
    assert [promise.parameters["reached"]["k"] for promise in found if promise is not None] == [4, 4]


def test_equal_numbers_are_written_alike() -> None:
    decimals = pa.array([Decimal("7.00"), Decimal("0.10"), None], pa.decimal128(9, 2))
    assert as_text(decimals).to_pylist() == ["7", "0.1", None]
    assert as_text(pa.array([0.1, 7], pa.float32())).to_pylist() == ["0.1", "7"]
    assert as_text(pa.array([np.inf, 7, 1e-9])).to_pylist()[:2] == ["inf", "7"]
    assert as_text(pa.array([7, None])).to_pylist() == ["7", None]


def test_a_population_of_another_type_is_matched_by_value(tmp_path: Path) -> None:
    pq.write_table(pa.table({"q": [1e16, 1e16, np.nan, np.nan]}), tmp_path / "all.parquet")
    report = dc.anonymity.risk(pa.table({"q": [10**16, None]}), ["q"], population=tmp_path / "all.parquet")
    assert report.k_map == 2


def test_a_file_with_an_empty_column_leaves_the_others_their_type(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": pa.nulls(2)}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"v": [3, None]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"v": pa.nulls(0)}), tmp_path / "2.parquet")
    found = read_columns(dc.engines.open(str(tmp_path)), ["v"])
    assert found["v"].type == pa.int64()
    assert found["v"].to_pylist() == [None, None, 3, None]


@pytest.mark.parametrize("kind", [pa.decimal128(5, 2), pa.bool_(), pa.date32(), pa.float16()])
def test_an_empty_column_takes_any_type(kind: pa.DataType, tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": pa.nulls(2)}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"v": pa.nulls(1, kind)}), tmp_path / "1.parquet")
    assert read_columns(dc.engines.open(str(tmp_path)), ["v"])["v"].null_count == 3


@pytest.mark.parametrize("kind", [np.float16, np.longdouble])
def test_numbers_of_any_precision_are_counted_and_released(kind: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, 100, 200), rng.integers(0, 3, 200)])
    domain = dc.Domain({"age": ROLES["age"], "pay": {"bounds": [0, 9], "role": "sensitive"}})
    model = dc.anonymity.DensityTree(k=10, domain=domain, l_diversity=2).fit(rows.astype(float))
    expected = model.transform(rows.astype(float), random_state=1).table["pay"].to_pylist()
    written = model.transform_file(rows.astype(kind), tmp_path / "rows.parquet", random_state=1)
    assert pq.read_table(written.path)["pay"].to_pylist() == expected
    half = pa.table({"q": pa.array(np.array([1, 1, 2], np.float16))})
    assert dc.anonymity.risk(half, ["q"]).classes == 2
