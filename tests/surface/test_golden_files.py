"""Files of an earlier library load, verify and answer as they did: readers hold files longer than we hold code.

`tests/golden/` has one file of every kind as 1.0.0rc1 writes it, made once by its `make.py`, and `answers.json`: what
each said on that day. A kind of file that the code knows and the folder does not have fails here. `golden/older` has
files of before ledger lines stated their draws: they are refused, in one sentence, as are files of later versions.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import FormatError
from discreet.jobs.work.audit import examine
from fuzz.targets import synopsis_file
from golden.answers import files

GOLDEN = Path(__file__).parents[1] / "golden"
#: The golden files of every format that the code names.
FORMATS = {
    "account": "accounts/epsilon.account", "attack": "results/attack.json", "device": "tasks/device.json",
    "guarantee": "guarantees/nested.json", "history": "histories/000001.json", "key": "evidence/office.key.pub",
    "page": "evidence/s.html", "record": "evidence/record.json", "report-ledger": "ledgers/report-kinds.json",
    "signature": "evidence/s.parquet.signature.json", "synopsis": "synopses/grid.parquet", "task": "tasks/plain.json",
    "user-ledger": "ledgers/user-numbers.json",
}  # fmt: skip
#: Texts of that form that are no format of a file: keys in the metadata of a file, names of files, entry points, logs;
#: and the facts behind a page, which are printed and never read.
NO_FORMATS = {"checksum", "js", "verbs", "report", "client", "kernels", "languages", ""}
ANSWERS = json.loads((GOLDEN / "answers.json").read_text(encoding="utf-8"))


def test_every_file_has_answers_and_every_answer_its_file() -> None:
    assert {name for name, _ in files()} == set(ANSWERS)
    assert len(ANSWERS) >= 130
    assert sum(p.stat().st_size for p in GOLDEN.rglob("*") if p.suffix != ".pyc") < 1_000_000


def _named() -> set[str]:
    """Return what the code calls discreet.SOMETHING and is no module."""
    found = set()
    for place in Path(dc.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) else ""
            text = text.decode("latin-1") if isinstance(text, bytes) else text
            if (
                isinstance(text, str)
                and text.startswith("discreet.")
                and text.replace(".", "").replace("-", "").isalpha()
            ):
                found.add(text.removeprefix("discreet."))
    return {name for name in found if "." not in name and find_spec(f"discreet.{name}") is None}


def test_every_format_in_the_code_has_a_golden_file() -> None:
    assert _named() - NO_FORMATS == set(FORMATS)
    for name, place in FORMATS.items():
        assert f"discreet.{name}".encode() in (GOLDEN / place).read_bytes(), name


def test_every_kind_within_a_format_has_a_golden_file() -> None:
    """Jobs, mechanisms, messages, synopses, lines of an account, kinds of columns and sections of a schema."""
    from discreet.accounts.book import _FIELDS
    from discreet.core.columns.kinds import Categorical, Numeric
    from discreet.core.schema.file import _BESIDE
    from discreet.jobs.kinds import KINDS
    from discreet.local.wire import binary
    from discreet.local.wire.parameters import _HOMES
    from discreet.synopses import file

    jobs = {dc.Job.from_toml(p).kind for p in (GOLDEN / "jobs" / "examples").glob("*.toml")}
    assert jobs == set(KINDS)
    for ending in ("reports", "counts"):
        kept = {ANSWERS[f"local/{p.stem}.reports"]["mechanism"]["mechanism"] for p in GOLDEN.glob(f"local/*.{ending}")}
        assert kept == set(_HOMES)
    assert {p.read_bytes()[5] for p in (GOLDEN / "local").iterdir()} == set(binary._KINDS)
    kinds = {type(dc.Synopsis.load(p)).__name__ for p in (GOLDEN / "synopses").glob("*.parquet")}
    assert kinds == {"BoxSynopsis", *file._KINDS.values()}
    assert {kind for p in GOLDEN.glob("accounts/*") for kind in ANSWERS[f"accounts/{p.name}"]["lines"]} == set(_FIELDS)
    schemas = [p.read_text(encoding="utf-8") for p in (GOLDEN / "schemas").glob("*.toml")]
    assert all(any(part in text for text in schemas) for part in _BESIDE)
    known = {kind.kind for kind in (Numeric, Categorical, *_below(Numeric), *_below(Categorical))}
    assert {column.kind for text in schemas for column in dc.Domain.from_toml(text).columns} == known


def test_every_kind_of_store_has_a_golden_file_and_all_hold_the_same_reports() -> None:
    from discreet.collector.stores import base, batches, postgres, sqlite

    homes = {"SqliteStore": "collected/collected.sqlite", "PostgresStore": "postgresql.sql",
             "BatchStore": "shuffled/shuffled.sqlite"}  # fmt: skip
    assert {sqlite.SqliteStore, postgres.PostgresStore, batches.BatchStore} == _below(base.Store)
    assert {kind.__name__ for kind in _below(base.Store)} == set(homes)
    assert {f"stores/{home}" for home in homes.values()} < set(ANSWERS)

    def counts(text: str) -> Any:
        return dc.local.Counts.from_bytes(bytes.fromhex(text))

    held = {name: told for name, told in ANSWERS.items() if name.startswith("stores/")}
    all_of_them = counts(held["stores/collected/collected.sqlite"]["counts"]["0"])
    assert counts(held["stores/postgresql.sql"]["counts"]["0"]) == all_of_them
    (segment,) = (told for name, told in held.items() if "/segments/" in name)
    assert counts(segment["0"]) + counts(held["stores/segmented/collected.sqlite"]["counts"]["0"]) == all_of_them


def _below(kind: Any) -> set[Any]:
    return {each for one in kind.__subclasses__() for each in (one, *_below(one)) if one.__module__[:9] == "discreet."}


def _later(name: str, folder: Path, version: Any = 9) -> Path:
    """Write a golden file with another version of its format, sealed as its own writer would."""
    import pyarrow.parquet as pq

    place, kind = GOLDEN / FORMATS[name], name
    out = folder / place.name
    if kind == "synopsis":
        table = pq.read_table(place)
        facts = json.loads(table.schema.metadata[b"discreet.synopsis"])
        out.write_bytes(synopsis_file(table, synopsis=json.dumps({**facts, "format_version": version}).encode()))
        return out
    text = place.read_text(encoding="utf-8")
    if kind == "account":
        first = json.loads(text.partition("\n")[0].rpartition(" ")[0])
        line = json.dumps({**first, "version": version}, sort_keys=True, separators=(",", ":"))
        text = f"{line} {hashlib.sha256(line.encode()).hexdigest()}\n"
    elif kind == "page":
        from discreet.reporting.pages import carried

        facts = json.loads(carried.held(text, carried.FACTS))
        text = carried.put(text, carried.FACTS, json.dumps({**facts, "format_version": version}))
    else:
        facts = json.loads(text)
        facts["version" if "version" in facts and "format_version" not in facts else "format_version"] = version
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    out.write_text(text, encoding="utf-8")
    return out


def _read_page(path: Path) -> Any:
    from discreet.reporting.pages import carried

    return carried.read(carried.held(path.read_text(encoding="utf-8"), carried.FACTS))


def _read_device(path: Path) -> Any:
    from discreet.local.tasks.device_file import DeviceState

    return DeviceState.from_json(path.read_text(encoding="utf-8"))


def _read_signed(path: Path) -> Any:
    from discreet.core import PublicKey, Signature

    return PublicKey.load(path) if path.suffix == ".pub" else Signature.from_json(path.read_bytes())


READERS: dict[str, Any] = {
    "account": dc.Account, "device": _read_device, "guarantee": lambda p: dc.Guarantee.from_json(p.read_bytes()),
    "history": lambda p: dc.anonymity.ReleaseHistory(p.parent).entries, "key": _read_signed, "page": _read_page,
    "report-ledger": lambda p: dc.local.ReportLedger.from_json(p.read_bytes()), "signature": _read_signed,
    "synopsis": dc.Synopsis.load, "task": lambda p: dc.local.Task.from_json(p.read_bytes()),
    "user-ledger": dc.metric.UserLedger.load,
}  # fmt: skip


@pytest.mark.parametrize(
    "name", sorted(FORMATS.keys() - {"attack", "record"})
)  # written for others, read by no one here
def test_a_file_of_a_later_version_is_refused_in_plain_words(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"is of format version 9, and this version of Discreet reads up to \d"
    ) as error:
        READERS[name](_later(name, tmp_path))
    assert str(error.value).endswith("; upgrade discreet")


@pytest.mark.parametrize("version", [1.0, True, "1"])
@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"attack", "record", "task"}))  # a task is canonical JSON
def test_a_version_that_is_not_a_whole_number_is_refused(name: str, version: Any, tmp_path: Path) -> None:
    """In Python, 1.0 and True equal 1; another program would read such a file in another way."""
    with pytest.raises(FormatError, match=r"version must be a whole number, got (1\.0|True|'1')"):
        READERS[name](_later(name, tmp_path, version))


def test_a_release_record_of_a_later_version_is_refused(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from discreet.anonymity.release.record import META, ReleaseRecord

    table = pq.read_table(GOLDEN / "histories" / "000001.record")
    facts = {**json.loads(table.schema.metadata[META]), "format_version": 9}
    pq.write_table(table.replace_schema_metadata({META: json.dumps(facts)}), tmp_path / "000001.record")
    with pytest.raises(FormatError, match=r"cannot be read: it is of format version 9, .*; upgrade discreet"):
        ReleaseRecord.load(tmp_path / "000001.record")


def test_a_message_or_frame_or_store_of_a_later_version_is_refused(tmp_path: Path) -> None:
    import sqlite3

    from discreet.collector import open_store
    from discreet.errors import DataSourceError
    from discreet.local.tasks import split_frame

    for kind, name in ((dc.local.Reports, "rappor.reports"), (dc.local.FlippedBitmap, "distinct.bitmap")):
        data = bytearray((GOLDEN / "local" / name).read_bytes())
        data[4] = 9
        with pytest.raises(FormatError, match="of wire version 9: this library reads version 1"):
            kind.from_bytes(bytes(data))
    with pytest.raises(FormatError, match="a frame of version 9: this collector reads version 1"):
        split_frame(1, bytes([0x90]) + (GOLDEN / "tasks" / "plain.frame").read_bytes()[1:])
    shutil.copytree(GOLDEN / "stores" / "collected", tmp_path / "collected")
    base = sqlite3.connect(tmp_path / "collected" / "collected.sqlite")
    base.execute("update fact set value = 9 where name = 'format'")
    base.commit()
    base.close()
    with pytest.raises(DataSourceError, match="has format 9, and this version reads up to 1; upgrade discreet"):
        open_store(tmp_path / "collected")


def test_texts_with_parts_of_a_later_version_name_the_part() -> None:
    """Schemas and jobs have no version: what is not known is refused by its name."""
    schema = (GOLDEN / "schemas" / "every-part.toml").read_text(encoding="utf-8")
    with pytest.raises(dc.errors.DiscreetError, match="later"):
        dc.Domain.from_toml(schema + "[later]\nx = 1\n")
    with pytest.raises(dc.errors.DiscreetError, match="later"):
        dc.Domain.from_toml(schema.replace("[columns.age]", "[columns.age]\nlater = 1"))
    job = (GOLDEN / "jobs" / "synopsis.toml").read_text(encoding="utf-8")
    with pytest.raises(dc.errors.DiscreetError, match="later"):
        dc.Job.from_toml(job.replace("[parameters]", "[parameters]\nlater = 1"))


@pytest.mark.parametrize(("name", "ask"), files(), ids=[name for name, _ in files()])
def test_an_old_file_answers_as_it_did(name: str, ask: Any) -> None:
    now, then = ask(GOLDEN / name), ANSWERS[name]
    for question, answer in then.items():
        said = json.loads(json.dumps(now[question]))
        if isinstance(answer, float) or (isinstance(answer, list) and all(type(v) in (int, float) for v in answer)):
            assert said == pytest.approx(answer, rel=1e-9, abs=1e-9), question
        else:
            assert said == answer, question


@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("nested.json", lambda path: dc.Guarantee.from_json(path.read_text("utf-8"))),
        ("grid.parquet", dc.Synopsis.load),
    ],
)
def test_a_file_without_draws_is_refused_in_one_sentence(name: str, load: Any) -> None:
    with pytest.raises(FormatError, match=r"not a guarantee this version can read: .* got .*1") as refused:
        load(GOLDEN / "older" / name)
    assert ". " not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["synopses/tree-binary.parquet", "local/direct-response.counts", "tables/mondrian.csv", "tables/duchi.csv"]
)
def test_an_old_file_that_was_changed_is_refused(name: str, tmp_path: Path) -> None:
    shutil.copytree((GOLDEN / name).parent, tmp_path, dirs_exist_ok=True)
    file = tmp_path / Path(name).name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    assert not examine(file).passed


@pytest.mark.parametrize("name", sorted(p.name for p in (GOLDEN / "jobs").glob("*.toml")))
def test_an_old_job_runs(name: str, tmp_path: Path) -> None:
    """With the tables and schemas of its day; what it writes passes the audit of today."""
    for data in [*GOLDEN.glob("*.csv"), *(GOLDEN / "schemas").glob("*.toml"), GOLDEN / "jobs" / name]:
        shutil.copy(data, tmp_path)
    job = dc.Job.from_toml(tmp_path / name)
    assert dc.Job.from_toml(job.to_toml()) == job
    done = job.run()
    assert {job.place(path) for path in job.outputs.values()} <= set(done.files.values())
    assert examine(done.files["release"]).passed
    if "epsilon" in job.parameters:
        assert done.guarantee.epsilon == job.parameters["epsilon"]
