"""Rows written to a file: the raw file is not lost, a failure leaves nothing behind, and no one goes uncharged."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engines.tables.memory import ArrowTable
from discreet.engines.writing import shuffled
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


@pytest.fixture
def room() -> Iterator[int]:
    """No file may be longer than this."""
    resource = pytest.importorskip("resource", reason="files cannot be limited here")
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    yield 3000
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


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


def test_a_minus_is_no_name_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataSourceError, match="'-' is not a file"):
        dc.metric.NDLaplace(1.0, 0.1, PLACES).transform_file(places(), "-")
    assert not list(tmp_path.iterdir())


def test_a_table_whose_promise_cannot_be_written_is_not_left(tmp_path: Path) -> None:
    (tmp_path / "noisy.csv.guarantee.json").mkdir()
    with pytest.raises(DataSourceError, match=r"guarantee\.json"):
        dc.metric.NDLaplace(1.0, 0.1, PLACES).transform_file(places(), tmp_path / "noisy.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["noisy.csv.guarantee.json"]


def test_a_column_of_labels_needs_a_name(tmp_path: Path) -> None:
    model = dc.PrivateKMeans(2, epsilon=5.0, domain=PLACES).fit(places())
    with pytest.raises(InvalidType, match="column must be a name"):
        model.predict_file(places(), tmp_path / "labels.csv", column=5)  # type: ignore[arg-type]


def test_a_column_of_any_name_is_shuffled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffled, "_ROWS", 50)
    release = tree().transform(people(), order="shuffled", random_state=2)
    written = tree().transform_file(people(), tmp_path / "rows.parquet", order="shuffled", random_state=2)
    assert pq.read_table(written.path).replace_schema_metadata(None).equals(release.table.combine_chunks())


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


def test_rows_that_no_one_was_charged_for_are_not_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
