"""Suggestions in errors about one column are accepted when typed, in Python and in the shell."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import discreet as dc
from command_line import run
from discreet.anonymity import DensityTree, Generalization
from discreet.errors import InvalidArgument

DOMAIN = dc.Domain({"pay": (0, 1000), "age": dc.Integer(0, 120), "born": dc.Date("born", "1990-01-01", "1999-12-31"),
                    "one": ["only"]})  # fmt: skip


def _table(n: int = 60) -> pa.Table:
    at = np.arange(n) // 2  # everybody has a twin, so that k = 2 holds whatever the levels
    return pa.table({"pay": at * 7.0, "age": at, "born": [f"199{i % 10}-02-03" for i in at], "one": ["only"] * n})


@pytest.mark.parametrize(
    ("method", "given"),
    [
        (Generalization, {"levels": {"pay": 99}}),
        (Generalization, {"levels": {"pay": "high"}}),
        (Generalization, {"levels": {"one": 7}}),
        (Generalization, {"levels": {"pya": 1}}),
        (Generalization, {"levels": 3}),
        (Generalization, {"widths": {"pay": [7.3]}}),
        (Generalization, {"widths": {"born": [100]}, "grid": {"born": "month"}}),
        (DensityTree, {"grid": {"Pay": 3}}),
        (DensityTree, {"grid": {"pay": 0}}),
        (DensityTree, {"grid": {"pay": [3, 2]}}),
        (DensityTree, {"grid": {"pay": ["low"]}}),
        (DensityTree, {"grid": {"age": 0.5}}),
        (DensityTree, {"grid": {"age": [9, 9]}}),
        (DensityTree, {"grid": {"born": "week"}}),
        (DensityTree, {"grid": {"born": 0}}),
    ],
)
def test_python(method: Any, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        method(2, domain=DOMAIN, **given).fit(_table())
    suggested = eval(f"dict({caught.value.fix})")  # as it would be typed
    assert set(suggested) <= set(given)
    method(2, domain=DOMAIN, **{**given, **suggested}).fit(_table())


@pytest.mark.parametrize(
    ("options", "suggested"),
    [
        ("--method generalization --level pay=99", "--level pay=1"),
        ("--method generalization --level one=7", "--level one=0"),
        ("--method generalization --level pya=1", "--level pay=1"),
        ("--method generalization --widths pay=7.3", "--widths pay=5"),
        ("--grid Pay=3", "--grid pay=3"),
        ("--grid pay=many", "--grid pay=128"),
        ("--grid born=week", "--grid born=month"),
        ("--top age=120", "--top age=59"),
        ("--bottom pay=little", "--bottom pay=90"),
    ],
)
def test_command_line(tmp_path: Path, options: str, suggested: str) -> None:
    csv.write_csv(_table(), tmp_path / "t.csv")
    DOMAIN.to_toml(tmp_path / "schema.toml")
    base = ["anonymize", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "schema.toml"), "--k", "2"]
    base += ["-o", str(tmp_path / "safe.csv")]
    refused = run(*base, *options.split(), catch=True)
    assert isinstance(refused.exception, InvalidArgument)
    found = re.search("; try (--.*)$", str(refused.exception))
    assert found is not None
    assert found[1] == suggested
    kept = [] if options.startswith("--grid") or "--method" not in options else options.split()[:2]
    done = run(*base, *kept, *shlex.split(found[1]), catch=True)
    assert done.exit_code == 0, done.output
