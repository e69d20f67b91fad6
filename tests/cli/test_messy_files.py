"""Thirty files as people hold them: each is read as declared or refused in a sentence; no traceback, no row quoted."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.cli import app

SECRET = "Zyxwvut"  # is in every file, and in no message
N = 120


@dataclass(frozen=True)
class Messy:
    """A file, what is declared of it, and how many of its rows that should read."""

    name: str
    data: bytes
    source: dict[str, Any] = field(default_factory=dict)
    rows: int | None = N
    refused: str = ""


def _table(
    delimiter: str = ",",
    end: str = "\n",
    quote: str = "",
    number: Callable[[float], str] = repr,
    header: str | None = None,
    extra: Callable[[int], list[str]] = lambda i: [],
) -> str:
    draw = np.random.default_rng(4)
    names = ["age", "pay", "town", "note"] if header is None else header.split("|")
    wrap = (lambda text: quote + text + quote) if quote else (lambda text: text)
    lines = [delimiter.join(map(wrap, names))] if names != [""] else []
    for i in range(N):
        cells = [
            str(int(draw.integers(18, 90))),
            number(round(float(draw.uniform(0, 9000)), 2)),
            "ulm" if i % 2 else "bonn",
            SECRET,
        ]
        lines.append(delimiter.join(map(wrap, cells + extra(i))))
    return end.join(lines) + end


def _german(value: float) -> str:
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def _ragged() -> str:
    lines = _table().splitlines()
    lines[10] += ",more"
    lines[20] = lines[20].rpartition(",")[0]
    lines.insert(30, "")
    return "\n".join(lines)


def _quotes() -> str:
    lines = _table(quote='"').splitlines()
    lines[5] = lines[5].replace(SECRET, f'{SECRET} ""quoted"" and\nbroken over, lines')
    lines[6] = lines[6].replace(f'"{SECRET}"', f'{SECRET}"')
    return "\n".join(lines) + "\n"


CASES = [
    Messy("plain.csv", _table().encode()),
    Messy("semicolons.csv", _table(";").encode(), {"delimiter": ";"}),
    Messy("tabs.tsv", _table("\t").encode()),
    Messy("tabs_as.csv", _table("\t").encode(), {"delimiter": "\t"}),
    Messy("bars.csv", _table("|").encode(), {"delimiter": "|"}),
    Messy("undeclared_semicolons.csv", _table(";").encode(), rows=None, refused="delimiter = ';'"),
    Messy("windows_ends.csv", _table(end="\r\n").encode()),
    Messy("old_mac_ends.csv", _table(end="\r").encode()),
    Messy("mixed_ends.csv", _table().replace("\n", "\r\n", 50).encode()),
    Messy("no_last_end.csv", _table().rstrip().encode()),
    Messy("marked.csv", b"\xef\xbb\xbf" + _table().encode()),
    Messy("wide.csv", _table().encode("utf-16"), {"encoding": "utf-16"}),
    Messy("undeclared_wide.csv", _table().encode("utf-16"), rows=None, refused='encoding = "utf-16"'),
    Messy("latin.csv", _table(header="age|pay|town|Größe").encode("latin-1"), {"encoding": "latin-1"}),
    Messy("windows.csv", _table(header="age|pay|town|€").encode("cp1252"), {"encoding": "windows-1252"}),
    Messy("german.csv", _table(";", number=_german).encode(), {"delimiter": ";", "decimal": ",", "thousands": "."}),
    Messy("german_undeclared.csv", _table(";", number=_german).encode(), {"delimiter": ";"}, rows=0),
    Messy("quoted.csv", _table(quote='"').encode()),
    Messy("single_quoted.csv", _table(quote="'").encode(), {"quote": "'"}),
    Messy("quotes_in_quotes.csv", _quotes().encode()),
    Messy("ragged.csv", _ragged().encode(), rows=N - 2),
    Messy("nuls.csv", _table().replace("\n", "\n\0\n", 30).encode()),
    Messy("no_header.csv", _table(header="").encode(), {"header": False, "names": ["age", "pay", "town", "note"]}),
    Messy("lines_above.csv", b"Export of today\n\n" + _table().encode(), {"skip": 2}),
    Messy("marks.csv", _table(number=lambda v: f"{v} EUR").encode(), {"marks": ["EUR"]}),
    Messy("question_marks.csv", _table().replace(",bonn,", ",?,").encode(), {"missing": ["?"]}, rows=N // 2),
    Messy("zipped.csv.gz", gzip.compress(_table().encode())),
    Messy("packed.csv.zst", pa.compress(_table().encode(), codec="zstd", asbytes=True)),
    Messy("two_hundred.csv", _table(header="age|pay|town|note|" + "|".join(f"c{i}" for i in range(196)),
                                    extra=lambda i: ["x"] * 196).encode()),
    Messy("twice.csv", _table(header="age|pay|town|age").encode()),  # the last is called age_2
    Messy("empty.csv", b"", rows=None, refused="no header"),
    Messy("header_only.csv", b"age,pay,town,note\n", rows=0),
    Messy("cut_short.csv.gz", gzip.compress(_table().encode())[:-40], rows=None, refused="cannot be read"),
    Messy("no_table.bin", b"\x00\x01", rows=None, refused="must end in"),
    Messy("not_parquet.parquet", b"PAR1 no", rows=None, refused="cannot be read as Parquet"),
    Messy("long_line.csv", _table().encode() + b"1," * 2_000_000, rows=N),
]  # fmt: skip


def _run(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        app.main([str(w) for w in words])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert SECRET not in said.out + said.err
    return int(end.value.code or 0), said.out + said.err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_messy_file_is_read_as_declared_or_refused_in_a_sentence(
    case: Messy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.data)
    columns = {
        "age": dc.Integer(0, 120, role="quasi-identifier"),
        "pay": dc.Numeric("pay", 0, 10_000, role="quasi-identifier"),
        "town": dc.Categorical("town", ("ulm", "bonn"), role="sensitive"),
    }
    schema = tmp_path / "s.toml"
    dc.Domain(columns, source=case.source).to_toml(schema)
    _run(capsys, "schema", path)
    made = tmp_path / "made.parquet"
    code, said = _run(
        capsys,
        "synopsis",
        path,
        "--schema",
        schema,
        "--epsilon",
        1000,
        "--yes-really",
        "--seed",
        1,
        "-o",
        made,
        "--json",
    )
    if case.refused:
        assert code == 2
        assert case.refused in " ".join(said.split())
        assert said.count("\n") <= 8
        for verb in (("anonymize", "--k", 5), ("perturb", "--epsilon", 1, "--radius", 0.1)):
            assert _run(capsys, verb[0], path, "--schema", schema, *verb[1:], "-o", tmp_path / "x.csv")[0] == 2
        return
    assert code == 0, said
    assert dc.Synopsis.load(made).total == pytest.approx(case.rows, abs=1)
    if not case.rows:
        return
    assert _run(capsys, "report", made, "-o", tmp_path / "page.html")[0] == 0
    safe = tmp_path / "safe.parquet"
    words = ("anonymize", path, "--schema", schema, "--k", 5, "-o", safe, "--json")
    code, said = _run(capsys, *words)
    assert code == 0, said
    assert 0 < pq.read_metadata(safe).num_rows <= N
    assert set(pq.read_table(safe).column_names) <= {"age", "pay", "town"}
    code, said = _run(capsys, "risk", path, "--schema", schema, "--json")
    assert code == 0, said
    assert json.loads(said)["rows"] >= case.rows
    numbers, moved = tmp_path / "n.toml", ("--epsilon", 1, "--radius", 0.1)
    dc.Domain({name: columns[name] for name in ("age", "pay")}, source=case.source).to_toml(numbers)
    code, said = _run(capsys, "perturb", path, "--schema", numbers, *moved, "-o", tmp_path / "p.csv", "--json")
    assert code == 0, said
