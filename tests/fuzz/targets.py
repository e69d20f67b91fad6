"""What the fuzzers feed: every parser of bytes that come from outside, in seven targets.

The first byte of an input chooses a parser of the target, the rest is what that parser reads. Checksums and seals are
put right where a parser checks one first, so that inputs reach what lies behind it: whoever writes a file can seal it.

A parser may raise a `DiscreetError`. Anything else is a finding: another exception, a warning that Python would print,
an input that takes longer than `SECONDS`, or a process that grows beyond `MEGABYTES`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.errors import DiscreetError
from discreet.synopses.file import CHECKSUM_MARK

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
#: Limits of one input, and of a process.
SECONDS, MEGABYTES = 20, 2048
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
Parser = Callable[[bytes], object]
Seeds = list[tuple[str, bytes]]


@dataclass(frozen=True)
class Target:
    """Parsers by name, the inputs to start from, and the longest input."""

    name: str
    parsers: dict[str, Parser]
    seeds: Callable[[], Seeds]
    longest: int

    def feed(self, data: bytes) -> None:
        """Give one input to its parser; `DiscreetError` is what it may raise."""
        parsers = list(self.parsers.values())
        if data:
            with contextlib.suppress(DiscreetError):
                parsers[data[0] % len(parsers)](data[1:])

    def inputs(self) -> list[bytes]:
        """Return the inputs to start from."""
        order = list(self.parsers)
        return [bytes([order.index(name)]) + data for name, data in self.seeds()]


@cache
def _folder() -> Path:
    """Return a folder in memory for what the parsers read; whoever runs them removes it."""
    return Path(tempfile.mkdtemp(prefix="discreet-fuzz-", dir=MEMORY))


def _file(data: bytes, name: str) -> Path:
    place = _folder() / name
    place.write_bytes(data)
    return place


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _golden(pattern: str, most: int = 100) -> list[bytes]:
    return [place.read_bytes() for place in islice(sorted(GOLDEN.glob(pattern)), most)]


@cache
def _vectors(name: str) -> Any:
    return json.loads((ROOT / "docs" / f"{name}-vectors.json").read_text(encoding="utf-8"))


@cache
def _domain() -> dc.Domain:
    return dc.Domain(
        {
            "age": dc.Integer(0, 120),
            "income": (0, 1e6),
            "sex": ["f", "m"],
            "day": ("2020-01-01", "2024-12-31"),
            "zip": {"pattern": "[0-9]{3}"},
            "own": {"categories": ["a", "b"], "missing": "own"},
        }
    )


# ---- tables


def _table(data: bytes, name: str) -> None:
    """Do what `discreet schema --look` and a release do with a table."""
    from discreet import engines
    from discreet.core.schema import draft_schema
    from discreet.engines import first_line

    place = str(_file(data, name))
    found = first_line.proposed(place)
    source = engines.open(place, dialect=found.dialect)
    first_line.may_be_a_record(source)
    if not source.types:
        found = first_line.look(found, source, 20)
    draft_schema(
        source.names,
        place,
        read="first line",
        labels=source.labels,
        declared={},
        rules=(),
        dialect=found.dialect,
        reasons=found.reasons,
        kinds=found.kinds,
    )
    first_line.first_rows(source, 5)
    names = [name for name in source.names if name][:3]
    kinds: list[Any] = [(0, 100), ["a", "b"], ("2020-01-01", "2024-12-31")]
    if names and len(set(names)) == len(names):
        domain = dc.Domain(dict(zip(names, kinds, strict=False)))
        engines.open(place, domain, dialect=found.dialect).count(engines.GridMap(domain, 3)).dense()


def _tables(name: str) -> Parser:
    return lambda data: _table(data, name)


def _database(data: bytes) -> None:
    place = _file(data, "fuzz.db")
    source = dc.engines.sql(f"sqlite:///{place}", table="people")
    domain = dc.Domain({source.names[0]: (0, 100)})
    dc.engines.sql(f"sqlite:///{place}", table="people", domain=domain).count(dc.engines.GridMap(domain, 2)).dense()


def _table_seeds() -> Seeds:
    import sqlite3

    import openpyxl
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq
    import pyreadstat

    texts = [
        b"age,sex,day\n35,f,2024-01-02\n,m,\n",
        b'"a;b";c\n"1,5";"x""y"\n"two\nlines";z\n',
        b"\xef\xbb\xbfa\tb\r\n1\t2\r\n",
        "größe,preis\n1.234,56 €,x\n".encode("cp1252"),
        "a,b\n1,2\n".encode("utf-16"),
        b"1,2,3\n4,5,6\n",
        b"a\n",
        b"",
        b"name,joined\nx,31.12.2024 10:30\n-999,?\n",
        b"a,a,\n1,2,3,4\n",
    ]
    found: Seeds = [("csv", text) for text in texts] + [("lines", texts[0])]
    frame = pd.DataFrame({"age": [35, 52], "sex": ["f", "m"], "day": ["2024-01-02", "2024-02-03"]})
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(frame), sink, compression="none")
    found.append(("parquet", sink.getvalue().to_pybytes()))
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in [list(frame), *frame.to_numpy().tolist()]:
        book.active.append(row)
    book.save(out)
    found.append(("xlsx", out.getvalue()))
    folder = _folder()
    for kind, write in (
        ("sav", pyreadstat.write_sav),
        ("dta", pyreadstat.write_dta),
        ("xpt", pyreadstat.write_xport),
        ("por", pyreadstat.write_por),
    ):
        write(frame, str(folder / f"seed.{kind}"))
        found.append((kind, (folder / f"seed.{kind}").read_bytes()))
    base = sqlite3.connect(folder / "seed.db")
    base.execute("pragma page_size = 512")
    base.execute("create table people (age integer, sex text)")
    base.execute("insert into people values (35, 'f'), (52, null)")
    base.commit()
    base.close()
    return [*found, ("database", (folder / "seed.db").read_bytes())]


# ---- texts that people write


def _schema(data: bytes) -> None:
    domain = dc.Domain.from_toml(_file(data, "fuzz.toml"))
    assert dc.Domain.from_toml(domain.to_toml()) == domain
    str(domain)


def _job(data: bytes) -> None:
    job = dc.Job.from_toml(_file(data, "job.toml"))
    assert dc.Job.from_toml(job.to_toml() + "\n") == job


def _sheet(data: bytes) -> None:
    from discreet.studio.schema.sheet import Sheet

    made = Sheet.of_text(_text(data))
    made.problem()
    for name in made.columns:
        made.texts(name)


def _sql(data: bytes) -> None:
    from discreet.synopses.session.sql import compiled

    compiled(_text(data), _domain(), {"t": _domain()})


def _question(data: bytes) -> None:
    from discreet.synopses.queries.ask import parse

    parse(_domain(), _text(data))


def _declarations(data: bytes) -> None:
    from discreet.core.schema import read_declarations

    declared = read_declarations(_text(data).split("\n"), ["age", "sex", "zip"])
    dc.Domain({name: told for name, told in declared.items() if told})


def _rules(data: bytes) -> None:
    dc.Domain({"a": (0, 9), "b": dc.Integer(0, 9), "c": ("2020-01-01", "2024-12-31")}, rules=_text(data).split("\n"))


def _address(data: bytes) -> None:
    from discreet.core.schema import is_address, read_address
    from discreet.core.schema.address import without_password

    if is_address(text := _text(data)):
        without_password(text)
        read_address(text)


def _codebook(data: bytes) -> None:
    from discreet.core.schema import read_codebook

    read_codebook(_file(data, "fuzz.names"))


_SQL = (
    "SELECT COUNT(*) FROM t WHERE age BETWEEN 3 AND 9 GROUP BY sex",
    "select avg(income) as m, stddev(income), percentile_cont(0.5) within group (order by age) from t where sex = 'f' "
    "or not (day >= '2021-01-01') group by sex order by m desc limit 3",
    'SELECT sum("income"), sum(case when age > 3 then 1 else 0 end) FROM t LEFT JOIN u ON t.zip = u.zip',
)
_QUESTIONS = (
    "age between 30 and 40 and sex = 'f'",
    "not (income > 1e5 or own is missing) and day < '2021-01-01'",
    "sex in ('f', 'm') or age <> 3.5",
    "`zip` = '123' && own != null",
)
_DECLARED = (
    "age=0..120\nsex=f,m\nzip=code:[0-9]{5}",
    "age=0:1.5\nsex=person\nzip=levels:5,10",
    "age=2020-01-01:2024-12-31",
    "sex=boolean\nage=own\nzip=household:4",
    "*=0..9",
)
_RULES = ("a <= b", "a + b = 9\nc >= 2021-01-01", "b - a <= 3\na = b")
_ADDRESSES = (
    "sqlite:///people.db?table=people",
    "postgresql://me:secret@host/base?query=select%201&sslmode=on",
    "http://x/y",
)


def _text_seeds() -> Seeds:
    texts = {"sql": _SQL, "question": _QUESTIONS, "declarations": _DECLARED, "rules": _RULES, "address": _ADDRESSES}
    schemas = _golden("schemas/*.toml")
    found = [(name, text.encode()) for name, listed in texts.items() for text in listed]
    found += [(kind, text) for text in schemas for kind in ("schema", "sheet")]
    found += [("job", text) for text in _golden("jobs/*.toml")]
    deep = b"[columns.a]\nbounds = " + b"[" * 3000 + b"]" * 3000 + b"\n"
    found += [
        ("schema", deep),
        ("job", deep),
        ("sheet", deep),
        ("question", b"(" * 3000),
        ("sql", b"select " + b"(" * 3000),
    ]
    return [*found, ("codebook", b"yes, no.\nage: continuous.\n| note\nsex: f, m.\nid: ignore.\n")]


# ---- wire


def _resealed(data: bytes) -> bytes:
    """Put the sizes and the checksum of a message right."""
    head, rest = data[:12], data[12:]
    length = int.from_bytes(head[8:12], "little")
    if len(rest) < length + 16 + 32 or head[:4] != b"DSCL":
        return data
    n, body = rest[length : length + 8], rest[length + 16 : -32]
    header = rest[:length]
    try:  # the same header in canonical form
        from discreet.local.wire.binary import canonical

        header = canonical(json.loads(header.decode("utf-8", "surrogatepass")))
    except (ValueError, RecursionError):
        pass
    message = head[:8] + len(header).to_bytes(4, "little") + header + n + len(body).to_bytes(8, "little") + body
    return message + hashlib.sha256(message).digest()


def _reports(data: bytes) -> None:
    reports = dc.local.Reports.from_bytes(_resealed(data))
    reports.mechanism.aggregate(reports)
    str(reports.mechanism.guarantee)


def _counts(data: bytes) -> None:
    counts = dc.local.Counts.from_bytes(_resealed(data))
    assert dc.local.Counts.from_bytes((counts + counts).to_bytes()).n == 2 * counts.n


def _bitmap(data: bytes) -> None:
    dc.local.FlippedBitmap.from_bytes(_resealed(data)).estimate()


def _stored(data: bytes) -> None:
    """Read a file of several messages, as `discreet verify` does."""
    from discreet.jobs.work.audit import examine

    examine(_file(data, "fuzz.reports"))


def _canonical(data: bytes) -> bytes:
    from discreet.local.wire.binary import canonical

    try:
        found = json.loads(data)
        return canonical(found) if isinstance(found, dict) else data
    except (ValueError, RecursionError):
        return data


def _task(data: bytes) -> None:
    from discreet.local import Task

    task = Task.from_json(_canonical(data))
    assert Task.from_json(task.to_json()) == task


def _device(data: bytes) -> None:
    from discreet.local.tasks.device_file import DeviceState

    DeviceState.from_json(_text(data))


@cache
def _tasks() -> list[Any]:
    from discreet.local import Task

    return [Task.from_json(one["task"]) for one in _vectors("wire")["tasks"]]


def _frame(data: bytes) -> None:
    """Split a frame for one of the tasks, and check and count its reports, as a collector does."""
    import numpy as np

    from discreet.local.tasks import split_frame

    tasks = _tasks()
    mechanism = tasks[data[0] % len(tasks)].mechanism if data else tasks[0].mechanism
    _, n, body = split_frame(mechanism.layout.size, data[1:])
    rows = np.frombuffer(body, np.uint8).reshape(n, -1)
    valid = mechanism.possible(rows)
    mechanism.empty().add(rows[valid])


@cache
def _sealed() -> tuple[Any, Any]:
    from discreet.local.tasks import private_key

    return private_key(bytes(range(32))), private_key(bytes(range(1, 33)))


def _seal(data: bytes) -> None:
    from discreet.local.tasks import INNER, OUTER, unseal

    for key in _sealed():
        for layer in (INNER, OUTER):
            unseal(key, layer, "ab" * 32, data)


def _ledger(data: bytes) -> None:
    for kind in (dc.metric.UserLedger, dc.local.ReportLedger):
        with contextlib.suppress(DiscreetError):
            kind.from_json(data)


def _wire_seeds() -> Seeds:
    vectors = _vectors("wire")["tasks"]
    found: Seeds = [("reports", one) for one in _golden("local/*.reports")]
    found += [("counts", one) for one in _golden("local/*.counts") if len(one) < 2000]
    found += [("bitmap", one) for one in _golden("local/*.bitmap")]
    found += [
        ("stored", a + b) for a, b in zip(_golden("local/*.reports", 3), _golden("local/*.reports", 3), strict=True)
    ]
    found += [("task", one["task"].encode()) for one in vectors if len(one["task"]) < 2500]
    for i, one in enumerate(vectors):
        if "frames" in one:
            found += [("frame", bytes([i]) + bytes.fromhex(one["frames"][kind])) for kind in ("one", "batch")]
    found += [("device", one) for one in _golden("tasks/device.json")]
    found += [("ledger", one) for one in _golden("ledgers/*.json")]
    return [*found, ("seal", bytes(80))]


# ---- artifacts


def _checksummed(data: bytes) -> bytes:
    """Put the checksum right that the file of a synopsis has of itself."""
    place = data.rfind(CHECKSUM_MARK) + len(CHECKSUM_MARK)
    if place < len(CHECKSUM_MARK):
        return data
    blank = data[:place] + b"0" * 64 + data[place + 64 :]
    return data[:place] + hashlib.sha256(blank).hexdigest().encode() + data[place + 64 :]


def synopsis_file(table: Any, **changed: bytes) -> bytes:
    """Write the table of a synopsis with other metadata, as the library writes it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink, bare = pa.BufferOutputStream(), table.schema.remove_metadata()
    told = {f"discreet.{name}".encode(): text for name, text in changed.items()}
    with pq.ParquetWriter(sink, bare, compression="none", use_dictionary=False, store_schema=False) as writer:
        writer.write_table(table.replace_schema_metadata(None))
        checksum = {b"discreet.checksum": CHECKSUM_MARK + b"0" * 64}
        writer.add_key_value_metadata({**table.schema.metadata, **told, **checksum})
    return _checksummed(sink.getvalue().to_pybytes())


def _synopsis(data: bytes) -> None:
    made = dc.Synopsis.load(_file(_checksummed(data), "fuzz.parquet"))
    made.sample(3, rng=1)


def _sealed_synopsis(data: bytes) -> None:
    """Let the input replace the facts or the guarantee of a synopsis, in a file that is whole."""
    which = data[0] if data else 0
    table = list(_tables_of().values())[which % 64 % len(_tables_of())]
    changed = synopsis_file(table, **{"guarantee" if which >= 64 else "synopsis": data[1:]})
    dc.Synopsis.load(_file(changed, "sealed.parquet")).sample(3, rng=1)


@cache
def _tables_of() -> dict[str, Any]:
    import pyarrow.parquet as pq

    return {place.name: pq.read_table(place) for place in sorted((GOLDEN / "synopses").glob("*.parquet"))}


def _guarantee(data: bytes) -> None:
    promise = dc.Guarantee.from_json(data)
    promise.sentence()
    assert dc.Guarantee.from_json(promise.to_json()).to_dict() == promise.to_dict()


def _released(data: bytes) -> None:
    """Check a table whose guarantee is the input, sealed to it again if it can be read."""
    from discreet.jobs.work.audit import examine

    table = GOLDEN / "tables" / "mondrian.csv"
    place = _file(table.read_bytes(), "fuzz.csv")
    with contextlib.suppress(DiscreetError):
        data = dc.Guarantee.from_json(data).seal(place.read_bytes()).to_json().encode()
    _file(data, "fuzz.csv.guarantee.json")
    examine(place)


def _record(data: bytes) -> None:
    from discreet.anonymity.release.record import ReleaseRecord

    ReleaseRecord.load(_file(data, "000001.record"))


def _entry(data: bytes) -> None:
    history = _folder() / "fuzz.history"
    history.mkdir(exist_ok=True)
    (history / "000001.json").write_bytes(data)
    from discreet.anonymity import ReleaseHistory

    assert ReleaseHistory(history).entries is not None


def _artifact_seeds() -> Seeds:
    small = [one for one in _golden("synopses/*.parquet") if len(one) < 7000]
    found: Seeds = [("synopsis", one) for one in small]
    for i, table in enumerate(_tables_of().values()):
        held = table.schema.metadata
        found += [("sealed synopsis", bytes([i]) + held[b"discreet.synopsis"])]
        found += [("sealed synopsis", bytes([64 + i]) + held[b"discreet.guarantee"])]
    found += [("guarantee", one) for one in _golden("guarantees/*.json")]
    found += [("released", one) for one in _golden("tables/*.guarantee.json")]
    found += [("record", one) for one in _golden("histories/*.record")]
    return [*found, *(("entry", one) for one in _golden("histories/*.json"))]


# ---- accounts


def _account(data: bytes) -> None:
    account = dc.Account(_file(data, "fuzz.account"))
    account.to_dict()
    account.verify()


def _chained(data: bytes) -> None:
    """Read lines of JSON as an account whose hashes are right."""
    head, lines = "0" * 64, []
    for line in data.split(b"\n"):
        try:
            facts = json.loads(line)
            facts["after"] = head
            text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        except (ValueError, TypeError, RecursionError):
            text = line
        head = hashlib.sha256(text).hexdigest()
        lines.append(text + b" " + head.encode() + b"\n")
    _account(b"".join(lines))


def _account_seeds() -> Seeds:
    texts = [one["text"].encode() for one in _vectors("evidence")["accounts"]] + _golden("accounts/*.account")
    bare = [re.sub(rb" [0-9a-f]{64}$", b"", text, flags=re.MULTILINE).strip() for text in texts]
    return [*(("account", text) for text in texts), *(("chained", text) for text in bare)]


# ---- evidence


@cache
def _verifier() -> Any:
    spec = importlib.util.spec_from_file_location("verifier", ROOT / "verifier" / "verify.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@cache
def _handed_out() -> Path:
    """Return a folder with a released table, its guarantee, signature and key, and a page."""
    folder = _folder() / "handed"
    folder.mkdir()
    for name, text in _vectors("evidence")["releases"][0]["files"].items():
        (folder / name).write_bytes(text.encode())
    from discreet.reporting import write_report

    write_report(folder / "safe.csv", folder / "page.html")
    for name in ("safe.csv", "safe.csv.guarantee.json", "safe.csv.signature.json", "office.key.pub", "page.html"):
        shutil.copy(folder / name, folder / f"whole-{name}")
    return folder


def _evidence(data: bytes, name: str) -> None:
    """Let the input replace one of the files, and ask both verifiers."""
    from discreet.core import PublicKey
    from discreet.reporting.verify import verify

    folder = _handed_out()
    place = folder / name
    place.write_bytes(data)
    try:
        page = folder / "page.html"
        keys = [PublicKey.load(folder / "office.key.pub")]
        found = verify([folder / "safe.csv"], page, keys=keys)
        assert found.code in (0, 1, 2)
        json.dumps(found.to_dict())
    finally:
        try:
            other = _verifier()
            told = other.verify([str(folder / "safe.csv")], str(page), None, [str(folder / "office.key.pub")], [])
            json.dumps(told.to_dict())
        except (other.Usage, other.Wrong, other.Unchecked):
            pass
        shutil.copy(folder / f"whole-{name}", place)


def _evidences(name: str) -> Parser:
    return lambda data: _evidence(data, name)


def _page_facts(data: bytes) -> None:
    """Let the input replace the facts that a page carries, with the digest of the page put right."""
    from discreet.reporting.pages import carried

    page = (_handed_out() / "whole-page.html").read_text(encoding="utf-8")
    _evidence(carried.put(page, carried.FACTS, _text(data)).encode("utf-8", "replace"), "page.html")


def _attached(data: bytes) -> None:
    """Read a result of an attack that is attached to a page."""
    from discreet.reporting import report_facts

    report_facts(_handed_out() / "safe.csv", attacks=[_file(data, "attack.json")])


def _evidence_seeds() -> Seeds:
    from discreet.reporting.pages import carried

    folder = _handed_out()
    names = {
        "table": "safe.csv",
        "promise": "safe.csv.guarantee.json",
        "signature": "safe.csv.signature.json",
        "key": "office.key.pub",
        "page": "page.html",
    }
    found: Seeds = [(kind, (folder / name).read_bytes()) for kind, name in names.items() if kind != "page"]
    page = (folder / "page.html").read_text(encoding="utf-8")
    small = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)[:6000]
    found += [("page", small.encode()), ("facts", carried.held(page, carried.FACTS).encode())]
    found += [("signature", json.dumps(one["signature"]).encode()) for one in _vectors("evidence")["signatures"]]
    return [*found, *(("attached", one) for one in _golden("results/*.json"))]


# ---- requests


def _web(kind: str) -> Parser:
    def fed(data: bytes) -> None:
        from fuzz import web

        getattr(web, kind)(data)

    return fed


def _web_seeds() -> Seeds:
    from fuzz import web

    return web.seeds()


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target(
            "tables",
            {
                "csv": _tables("fuzz.csv"),
                "lines": _tables("fuzz.txt"),
                "packed": _tables("fuzz.csv.gz"),
                "parquet": _tables("fuzz.parquet"),
                "xlsx": _tables("fuzz.xlsx"),
                "sav": _tables("fuzz.sav"),
                "dta": _tables("fuzz.dta"),
                "xpt": _tables("fuzz.xpt"),
                "por": _tables("fuzz.por"),
                "database": _database,
            },
            _table_seeds,
            12_000,
        ),
        Target(
            "texts",
            {
                "schema": _schema,
                "job": _job,
                "sheet": _sheet,
                "sql": _sql,
                "question": _question,
                "declarations": _declarations,
                "rules": _rules,
                "address": _address,
                "codebook": _codebook,
            },
            _text_seeds,
            8_000,
        ),
        Target(
            "wire",
            {
                "reports": _reports,
                "counts": _counts,
                "bitmap": _bitmap,
                "stored": _stored,
                "task": _task,
                "device": _device,
                "frame": _frame,
                "seal": _seal,
                "ledger": _ledger,
            },
            _wire_seeds,
            4_000,
        ),
        Target(
            "artifacts",
            {
                "synopsis": _synopsis,
                "sealed synopsis": _sealed_synopsis,
                "guarantee": _guarantee,
                "released": _released,
                "record": _record,
                "entry": _entry,
            },
            _artifact_seeds,
            8_000,
        ),
        Target("accounts", {"account": _account, "chained": _chained}, _account_seeds, 6_000),
        Target(
            "evidence",
            {
                "table": _evidences("safe.csv"),
                "promise": _evidences("safe.csv.guarantee.json"),
                "signature": _evidences("safe.csv.signature.json"),
                "key": _evidences("office.key.pub"),
                "page": _evidences("page.html"),
                "facts": _page_facts,
                "attached": _attached,
            },
            _evidence_seeds,
            8_000,
        ),
        Target(
            "requests",
            {
                "collector": _web("collector"),
                "shuffler": _web("shuffler"),
                "studio": _web("studio"),
                "upload": _web("upload"),
                "answer": _web("answer"),
            },
            _web_seeds,
            4_000,
        ),
    )
}
