"""A synopsis survives a file, and every byte and field of it is guarded against damage and forgery."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.errors import DataSourceError, DiscreetError, FormatError, InvalidArgument
from discreet.synopses import BoxSynopsis, HiddenCells, Synopsis
from discreet.synopses import file as _file
from handmade_synopses import KINDS, people, promise, with_tree


def rewrite(path: Path, change: Callable[[pa.Table, dict[bytes, bytes]], tuple[pa.Table, dict[bytes, bytes]]]) -> None:
    """Forge a well-formed file: other content, a checksum that matches, the old seal."""
    file = pq.ParquetFile(path)
    table, metadata = change(file.read().replace_schema_metadata(None), dict(file.metadata.metadata))
    buffer = pa.BufferOutputStream()
    with pq.ParquetWriter(buffer, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({**metadata, b"discreet.checksum": _file.CHECKSUM_MARK + b"0" * 64})
    data = bytearray(buffer.getvalue().to_pybytes())
    place = data.rfind(_file.CHECKSUM_MARK) + len(_file.CHECKSUM_MARK)
    data[place : place + 64] = hashlib.sha256(data).hexdigest().encode()
    path.write_bytes(bytes(data))


def forged_promise(metadata: dict[bytes, bytes], **changes: Any) -> dict[bytes, bytes]:
    facts = json.loads(metadata[b"discreet.guarantee"])
    return {**metadata, b"discreet.guarantee": json.dumps({**facts, **changes}).encode()}


def forged_facts(metadata: dict[bytes, bytes], **changes: Any) -> dict[bytes, bytes]:
    facts = json.loads(metadata[b"discreet.synopsis"])
    return {**metadata, b"discreet.synopsis": json.dumps({**facts, **changes}).encode()}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_what_is_loaded(kind: str, tmp_path: Path) -> None:
    s = KINDS[kind]()
    s.save(tmp_path / "s.parquet")
    back = Synopsis.load(tmp_path / "s.parquet")
    assert back == s
    assert back.guarantee == s.guarantee
    assert back.weights.dtype == s.weights.dtype
    for name in ("weights", "variances", "lower", "upper", "points"):
        assert np.array_equal(getattr(back, name), getattr(s, name), equal_nan=True)
    assert (back.tree, back.hidden, back.total, back.uncut) == (s.tree, s.hidden, s.total, s.uncut)
    assert back.domain == s.domain
    assert [p.name for p in tmp_path.iterdir()] == ["s.parquet"]  # no temporary file stays


def test_any_reader_of_parquet_sees_the_leaves_and_the_promise(tmp_path: Path) -> None:
    s = people()
    s.save(tmp_path / "s.parquet")
    table = pq.read_table(tmp_path / "s.parquet")
    assert table.column_names == ["age_from", "age_to", "sex_from", "sex_to", "age_at", "sex_at", "weight", "variance"]
    assert table["weight"].to_pylist() == [60, 40, -3]
    assert dc.Guarantee.from_json(table.schema.metadata[b"discreet.guarantee"]) == s.guarantee
    assert s.to_arrow().column_names == table.column_names
    assert dc.Guarantee.from_json(s.to_arrow().schema.metadata[b"discreet.guarantee"]) == s.guarantee


def test_an_empty_synopsis_and_odd_names_survive_a_file(tmp_path: Path) -> None:
    names = ["weight", "a_from", "a", "tree", "snow\n☃", _file.CHECKSUM_MARK.decode() + "0" * 64]
    s = BoxSynopsis(
        dc.Domain.box(0, 1, names=names),
        lower=np.empty((0, 6)),
        upper=np.empty((0, 6)),
        weights=np.empty(0, dtype=int),
        variances=np.empty(0),
        guarantee=promise(),
        total=-0.0,
        hidden=HiddenCells(2**70, 5, 2.0),
    )
    s.save(tmp_path / "s.pq")
    assert Synopsis.load(tmp_path / "s.pq") == s


def test_every_single_byte_is_guarded(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    s = with_tree()
    s.save(path)
    data = path.read_bytes()
    for place in range(0, len(data), 29):
        for flip in (0x01, 0x80):
            damaged = bytearray(data)
            damaged[place] ^= flip
            path.write_bytes(bytes(damaged))
            with pytest.raises(FormatError, match=r"s\.parquet"):
                Synopsis.load(path)
    for length in range(0, len(data), 197):
        path.write_bytes(data[:length])
        with pytest.raises(FormatError):
            Synopsis.load(path)
    path.write_bytes(data + b"x")
    with pytest.raises(FormatError, match="cut off or has been added to"):
        Synopsis.load(path)


@pytest.mark.parametrize("column", ["age_from", "age_to", "sex_at", "weight", "variance"])
def test_a_forger_who_repairs_the_checksum_meets_the_seal(column: str, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    with_tree().save(path)

    def nudge(table: pa.Table, metadata: dict[bytes, bytes]) -> tuple[pa.Table, dict[bytes, bytes]]:
        values = table[column].to_numpy().copy()
        values[0] = np.nextafter(values[0], 1e9)
        return table.set_column(table.column_names.index(column), column, pa.array(values)), metadata

    rewrite(path, lambda t, m: (t, m))
    assert Synopsis.load(path) == with_tree()  # rewriting alone changes nothing
    rewrite(path, nudge)
    with pytest.raises(FormatError, match="seal"):
        Synopsis.load(path)


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda t, m: (t, forged_promise(m, seeded=True)), "seal"),
        (lambda t, m: (t, forged_promise(m, assumptions=[])), "seal"),
        (lambda t, m: (t, forged_promise(m, epsilon=0.5)), "add up"),
        (lambda t, m: (t, forged_promise(m, ledger=[])), "add up"),
        (lambda t, m: (t, forged_promise(m, domain=None)), "domain"),
        (lambda t, m: (t, forged_promise(m, digest=None)), "seal"),
        (lambda t, m: (t, {**m, b"discreet.guarantee": b"{"}), "guarantee"),
        (lambda t, m: (t, {k: v for k, v in m.items() if k != b"discreet.guarantee"}), "guarantee"),
        (lambda t, m: (t, forged_facts(m, total=1.0)), "seal"),
        (lambda t, m: (t, forged_facts(m, total=None)), "seal"),
        (lambda t, m: (t, forged_facts(m, total="many")), "damaged"),
        (lambda t, m: (t, forged_facts(m, total_variance=0)), "seal"),
        (lambda t, m: (t, forged_facts(m, uncut=[])), "seal"),
        (lambda t, m: (t, forged_facts(m, uncut=["height"])), "damaged"),
        (lambda t, m: (t, forged_facts(m, uncut=7)), "damaged"),
        (lambda t, m: (t, forged_facts(m, hidden={"n_cells": 9, "cutoff": 1, "variance": 1.0})), "seal"),
        (lambda t, m: (t, forged_facts(m, hidden={"n_cells": 9})), "damaged"),
        (lambda t, m: (t, forged_facts(m, format_version=2)), "upgrade discreet"),
        (lambda t, m: (t, forged_facts(m, format_version="one")), "must be a whole number"),
        (lambda t, m: (t, forged_facts(m, format="other")), "not a Discreet synopsis"),
        (lambda t, m: (t, {**m, b"discreet.synopsis": b"\xff"}), "damaged"),
        (lambda t, m: (t, {k: v for k, v in m.items() if k != b"discreet.synopsis"}), "not a Discreet synopsis"),
        (lambda t, m: (t.drop_columns(["tree"]), m), "seal"),
        (lambda t, m: (t.drop_columns(["weight"]), m), "damaged"),
        (lambda t, m: (t.slice(0, 1), m), "damaged"),
        (lambda t, m: (t.append_column("more", pa.array([1, 2])), m), "damaged"),
        (lambda t, m: (t.set_column(6, "weight", pa.array(["60", "40"])), m), "damaged"),
        (lambda t, m: (t.set_column(6, "weight", pa.array([60.5, None])), m), "damaged"),
        (lambda t, m: (t.set_column(6, "weight", pa.array([60, 40])), m), "seal"),
        (lambda t, m: (t.set_column(8, "tree", pa.array([1, 2])), m), "damaged"),
        (lambda t, m: (t.set_column(8, "tree", t["tree"].combine_chunks().slice(1).take([0, 0])), m), "damaged"),
    ],
)
def test_each_field_of_the_file_is_guarded(forge: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    with_tree().save(path)
    rewrite(path, forge)
    with pytest.raises(FormatError, match=reason):
        Synopsis.load(path)


def test_foreign_files_are_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(DataSourceError, match="check the path"):
        Synopsis.load(tmp_path / "nowhere.parquet")
    with pytest.raises(DataSourceError):
        Synopsis.load(tmp_path)
    with pytest.raises(DataSourceError):
        Synopsis.load(None)  # type: ignore[arg-type]
    (tmp_path / "a.csv").write_text("age,sex\n1,f\n")
    with pytest.raises(FormatError, match="not a Parquet file"):
        Synopsis.load(tmp_path / "a.csv")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    with pytest.raises(FormatError, match="not a Discreet synopsis"):
        Synopsis.load(tmp_path / "b.parquet")
    with pytest.raises(DataSourceError, match="check the folder"):
        people().save(tmp_path / "no" / "such" / "folder.parquet")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.parquet"
    people().save(path)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(DataSourceError, match="No space left"):
        with_tree().save(path)
    assert Synopsis.load(path) == people()
    assert [p.name for p in tmp_path.iterdir()] == ["s.parquet"]


def test_a_changed_pickle_is_noticed() -> None:
    release = dc.GridSynopsis(1.0, (0, 1), 4, random_state=0).fit(np.full((50, 1), 0.3)).synopsis_
    text = pickle.dumps(release)
    weights = release.weights.tobytes()
    assert weights in text
    changed = text.replace(weights, (release.weights + 1).tobytes())
    with pytest.raises((FormatError, DiscreetError)):
        pickle.loads(changed)
    assert pickle.loads(text) == release


@pytest.mark.parametrize("name", ["s.csv", "s.json", "s"])
def test_a_name_that_says_another_format_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArgument, match=r"path must be a file that ends in .parquet or .pq.*s\.parquet"):
        people().save(tmp_path / name)
    assert not list(tmp_path.iterdir())
