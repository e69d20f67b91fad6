"""Damaged files and odd arguments end every verb with one sentence: no traceback, and no cell of a table quoted."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import exit_code

_SCHEMA = """
[columns.age]
bounds = [0, 120]
role = "quasi-identifier"
[columns.cost]
bounds = [0, 100]
role = "sensitive"
"""
#: Verbs that read files; the one that is damaged is in braces.
LINES = """
audit {safe.csv}
audit {safe.parquet}
audit {noisy.csv}
audit {s.parquet}
audit {counts.state}
audit {reports.bin}
audit {alone.json}
audit {safe.csv.guarantee.json}
audit safe.csv {safe.csv.guarantee.json}
report {safe.csv} -o r.html
report {safe.parquet} -o r.html
report {noisy.csv} -o r.html
report {s.parquet} -o r.html
report {counts.state} -o r.html
report safe.csv {safe.csv.guarantee.json} -o r.html
report s.parquet --attack {attack.json} -o r.html
report s.parquet --audit {attack.json} -o r.html
report s.parquet --clusters {clusters.json} -o r.html
report s.parquet --against {people.csv} -o r.html
report counts.state --candidates {labels.txt} -o r.html
ask {s.parquet} age>30
cluster {s.parquet} --n-clusters 2
risk {safe.csv} --qi age --sensitive cost
risk safe.csv {safe.csv.guarantee.json} --require k=2
sketch encode {values.txt} --domain labels.txt --epsilon 1 -o o.bin
sketch encode values.txt --domain {labels.txt} --epsilon 1 -o o.bin
sketch aggregate {reports.bin} -o o.state
sketch merge {counts.state} counts.state -o o.state
sketch estimate {counts.state} --candidates labels.txt
schema {people.csv} -o new.toml
schema check {schema.toml}
anonymize {people.csv} --schema schema.toml --k 3 -o a.csv
anonymize people.csv --schema {schema.toml} --k 3 -o a.csv
anonymize named.csv --schema named.toml --k 3 --history {people.history/000001.record} -o a.csv
synopsis people.csv --schema {schema.toml} --epsilon 1 -o x.parquet
perturb people.csv --schema {schema.toml} --epsilon 1 --radius 1 -o x.csv
synopsis people.csv --schema schema.toml --epsilon 1 --account {books.account} -o x.parquet
account show {books.account}
run {job.toml}
""".strip().splitlines()
#: Texts that are no good as a path, a title or a number.
ODD = (".", "/", "..", "a\0b", "~nobody-here/x", "\ud800", "x" * 5000, "\x1b[31m", "[bold", "9" * 5000, "nan", "-inf")
ODD_LINES = """
audit {}
report {} -o r.html
report s.parquet -o {}
report s.parquet -o r.html --title {}
report s.parquet -o r.html --date {}
report s.parquet -o r.html --attack {}
ask s.parquet {}
ask {} age>3
risk {} --qi age
risk safe.csv --qi {}
risk safe.csv --require {}
sketch encode values.txt --domain {} --epsilon 1 -o o.bin
sketch estimate counts.state --candidates {}
cluster s.parquet --n-clusters {}
anonymize people.csv --schema {} --k 3 -o a.csv
anonymize people.csv --schema schema.toml --k {} -o a.csv
anonymize people.csv --schema schema.toml --k 3 -o {}
account show {}
run {}
""".strip().splitlines()


def _damages(seed: int) -> list[Callable[[bytes], bytes]]:
    draw = random.Random(seed)

    def flipped(data: bytes) -> bytes:
        changed = bytearray(data or b"\0")
        for _ in range(3):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        return bytes(changed)

    def spliced(piece: bytes) -> Callable[[bytes], bytes]:
        at = draw.random()
        return lambda data: data[: int(at * len(data))] + piece + data[int(at * len(data)) :]

    return [
        lambda data: b"",
        lambda data: data[: draw.randrange(max(len(data), 1))],
        lambda data: data[:-1],
        flipped,
        spliced(b"\xff\xfe"),
        spliced(b"\0"),
        spliced(b'",\n{"'),
        lambda data: b"[1]\n",
        lambda data: b"[" * 10_000,
        lambda data: b'{"a":' * 10_000,
        lambda data: b'{"format": "discreet.guarantee", "format_version": ' + b"9" * 5000 + b"}",
        lambda data: b"9" * 5000 + b"\n",
        lambda data: b'{"columns": NaN, "centers": NaN, "weights": NaN, "may_be_noise": NaN}',
        lambda data: re.sub(rb"\d+", b"NaN", data, count=4),
        lambda data: re.sub(rb"\d+", b"9" * 400, data, count=4),
        lambda data: b"PAR1" + data[4 : len(data) // 2] + b"PAR1",
        lambda data: data.decode("latin-1").encode("utf-16"),
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small artifact of every kind. The costs are in rows only, never in a schema or a promise."""
    folder, draw = tmp_path_factory.mktemp("whole"), np.random.default_rng(5)
    people = pa.table({"age": draw.integers(0, 100, 40), "cost": 10 + draw.integers(0, 80, 40) + 0.31459})
    pa_csv.write_csv(people, folder / "people.csv")
    (folder / "schema.toml").write_text(_SCHEMA)
    domain = dc.Domain.from_toml(folder / "schema.toml")
    release = dc.anonymity.DensityTree(k=3, domain=domain).fit_transform(people)
    for name in ("safe.csv", "safe.parquet"):
        release.save(folder / name)
    dc.metric.NDLaplace(epsilon=1, radius=5, domain={"age": (0, 120)}).transform_file(people, folder / "noisy.csv")
    synopsis = dc.GridSynopsis(1.0, {"age": (0, 120), "cost": (0, 100)}, 4).fit(people).synopsis_
    synopsis.save(folder / "s.parquet")
    (folder / "alone.json").write_text(synopsis.guarantee.to_json(indent=2))
    mechanism = dc.local.DirectResponse(1, ["u", "v"])
    reports = mechanism.encode(["u", "v", "u"])
    (folder / "reports.bin").write_bytes(reports.to_bytes())
    mechanism.aggregate(reports).save(folder / "counts.state")
    named = people.append_column("who", pa.array(range(40)))
    whose = dc.Domain({"who": {"role": "identifier"}, **domain.to_dict()})
    whose.to_toml(folder / "named.toml")
    pa_csv.write_csv(named, folder / "named.csv")
    dc.anonymity.DensityTree(k=3, domain=whose).fit_transform(named, history=folder / "people.history").save(
        folder / "1.csv"
    )
    dc.Account.create(folder / "books.account", dataset="people", epsilon=9)
    for name, text in {
        "labels.txt": "u\nv\n",
        "values.txt": "u\nu\nv\n",
        "attack.json": '{"rate": 0.5, "interval": [0.4, 0.6]}',
        "clusters.json": '{"columns": ["age", "cost"], "centers": [[3, 4]], "weights": [5], "may_be_noise": [false], '
        '"weight_std_errors": [1]}',
        "job.toml": '[job]\nkind = "anonymize"\n[data]\npath = "people.csv"\n[schema]\npath = "schema.toml"\n'
        '[parameters]\nk = 3\n[outputs]\nrelease = "a.csv"\n',
    }.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def folder(made: Path, workdir: Path) -> Path:
    shutil.copytree(made, workdir, dirs_exist_ok=True)
    return workdir


def _ended_well(code: int, capsys: pytest.CaptureFixture[str], told: str) -> None:
    out, errors = capsys.readouterr()
    assert code in (0, 1, 2), told
    assert "Traceback" not in out + errors, told
    said = errors if code == 0 else out + errors
    assert "31459" not in said, f"{told} quotes a cell: {said}"
    assert code != 2 or errors.strip(), f"{told} says nothing"


@pytest.mark.parametrize("line", LINES)
def test_a_damaged_file_ends_in_one_sentence(
    line: str, folder: Path, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (name,) = re.findall(r"{(.*)}", line)
    words = line.replace("{", "").replace("}", "").replace("/000001.record", "").split()  # a history is a folder
    words = [word for word in words if word != name or not name.endswith(".guarantee.json") or words[1] == name]
    whole = (made / name).read_bytes()
    assert exit_code(*words) == 0, capsys.readouterr()
    capsys.readouterr()
    damages = list(enumerate(_damages(len(line))))
    for number, damage in random.Random(line).sample(damages, 5):
        shutil.copytree(made, folder, dirs_exist_ok=True)
        (folder / name).write_bytes(damage(whole))
        _ended_well(exit_code(*words), capsys, f"{line} with damage {number}")
    (folder / name).unlink()
    (folder / name).mkdir()
    _ended_well(exit_code(*words), capsys, f"{line} with a folder")


@pytest.mark.parametrize("line", ODD_LINES)
def test_an_odd_argument_ends_in_one_sentence(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ODD:
        words = [text if word == "{}" else word for word in line.split()]
        _ended_well(exit_code(*words), capsys, f"{line} with {text[:20]!r}")
