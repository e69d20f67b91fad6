"""The vectors that docs/wire-format.md publishes are what the library reads and writes."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.local.mechanism import mechanism_from_dict, mechanisms

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("wire-format.md", "wire-mechanisms.md", "wire-numbers.md")
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in NAMES)


def vectors(name: str) -> Any:
    found = re.search(rf"```json title=\"vectors: {name}\"\n(.*?)```", PAGE, re.S)
    assert found is not None
    return json.loads(found.group(1))


@pytest.mark.parametrize("vector", vectors("hashing"))
def test_hashing(vector: dict[str, Any]) -> None:
    key = int.from_bytes(bytes.fromhex(vector["key"]), "little")
    assert f"{int(noise.fingerprint([vector['value']], key)[0]):016x}" == vector["fingerprint"]
    family = noise.HashFamily(1024, 256, key=key, independence=3)
    assert family([vector["value"]], index=5)[0] == vector["bucket of function 5, width 256, independence 3"]


@pytest.mark.parametrize("vector", vectors("messages"))
def test_messages(vector: dict[str, Any]) -> None:
    reports = dc.local.Reports.from_bytes(bytes.fromhex(vector["reports"]))
    assert reports.mechanism == mechanism_from_dict(vector["mechanism"])
    for name, values in vector["fields"].items():
        field = reports.field(name)
        assert (field.tolist() if field.ndim == 1 else [row.tobytes().hex() for row in field]) == values
    assert reports.to_bytes().hex() == vector["reports"]
    counts = reports.mechanism.aggregate(reports)
    assert counts.to_bytes().hex() == vector["counts"]
    assert dc.local.Counts.from_bytes(bytes.fromhex(vector["counts"])) == counts


def test_a_message_can_be_written_with_this_page_alone() -> None:
    """A client in another language, in a few lines: no code of the library but SHA-256."""
    import hashlib

    header = json.dumps({"domain": 5, "epsilon": "1", "mechanism": "direct-response"}, separators=(",", ":")).encode()
    body = bytes([4, 0, 2])
    message = b"DSCL" + bytes([1, 1, 0, 0]) + len(header).to_bytes(4, "little") + header
    message += (3).to_bytes(8, "little") + len(body).to_bytes(8, "little") + body
    message += hashlib.sha256(message).digest()
    counts = dc.local.DirectResponse(1, 5).aggregate(message)
    assert counts.counters["reports"].tolist() == [1, 0, 1, 0, 1]


def test_every_mechanism_is_listed_with_all_its_parameters() -> None:
    for name, kind in mechanisms().items():
        line = re.search(rf"^\| `{name}` \| ([^|]*) \|", PAGE, re.M)
        assert line is not None, name
        assert re.findall(r"`(\w+)`", line.group(1)) == [field.name for field in fields(kind)], name


def test_every_field_of_a_task_and_every_coin_is_explained() -> None:
    page = set(re.findall(r"`(\w+)`", PAGE))
    for entry in json.loads((DOCS / "wire-vectors.json").read_text())["tasks"]:
        task = json.loads(entry["task"])
        assert set(task) | set(task["coins"]) <= page


def test_ten_thousand_damaged_messages_are_refused() -> None:
    m = dc.local.HadamardSketch(2, 16, 64, key=7)
    counts = m.aggregate(m.encode(["cat", "dog"] * 10, rng=1))
    good, before = m.encode(["cat"] * 5, rng=2).to_bytes(), counts.to_bytes()
    rng = np.random.default_rng(1)
    for _ in range(10_000):
        bad = bytearray(good)
        for place in rng.integers(0, len(bad), rng.integers(1, 5)):
            bad[place] = rng.integers(256)
        if rng.random() < 0.3:
            bad = bad[: rng.integers(len(bad))]
        if bytes(bad) == good:
            continue
        with pytest.raises(dc.errors.FormatError):
            counts.add(bytes(bad))
    assert counts.to_bytes() == before


def test_a_sealed_message_with_foreign_parameters_is_refused() -> None:
    """The checksum is right, the header is not: nothing is counted."""
    import hashlib

    good = dc.local.DirectResponse(1, 5).encode([1, 2], rng=1).to_bytes()
    counts = dc.local.DirectResponse(1, 5).empty()
    for old, new in [
        (b'"domain":5', b'"domain":6'),
        (b'"epsilon":"1"', b'"epsilon":"2"'),
        (b'"epsilon":"1"', b'"epsilon":"x"'),
        (b'"domain":5', b'"domain":0'),
        (b"direct-response", b"direct-responsf"),
    ]:
        assert old in good
        body = good[:-32].replace(old, new)
        with pytest.raises(dc.errors.DiscreetError):
            counts.add(body + hashlib.sha256(body).digest())
    assert counts.n == 0


def test_counts_of_another_process_can_be_merged(tmp_path: Path) -> None:
    """Hashes and parameters do not depend on the process: what another one counted adds up with what this one did."""
    import subprocess
    import sys

    script = (
        "import discreet as dc; m = dc.local.HadamardSketch(6, 64, 64, key=7); "
        f"m.aggregate(m.encode(['cat'] * 3000 + ['dog'] * 1000, rng=1)).save({str(tmp_path / 'c.bin')!r})"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    m = dc.local.HadamardSketch(6, 64, 64, key=7)
    merged = dc.local.Counts.load(tmp_path / "c.bin") + m.aggregate(m.encode(["cat"] * 3000, rng=2))
    found = m.estimate(merged, ["cat", "dog"])
    assert merged.n == 7000
    assert np.all(np.abs(found.count - [6000, 1000]) < 5 * found.std_error)
