"""The pages on the wire format suffice: a client written from them alone makes the bytes of every vector of numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import page_client

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "docs" / "scripts"))
NUMBERS = ("square-wave", "mean-response", "mean-vector")


def test_a_client_written_from_the_page_makes_every_vector_of_numbers() -> None:
    from wire_vectors import unwrapped

    seen: dict[str, Any] = {}
    for entry in json.loads((ROOT / "docs" / "wire-vectors.json").read_text())["tasks"]:
        kind = json.loads(entry["task"])["mechanism"]["mechanism"]
        if kind not in NUMBERS:
            continue
        for row in entry["reports"]:
            client = page_client.PageClient(entry["task"], bytes.fromhex(row["coins"]))
            assert client.digest == entry["digest"]
            report = client.report(unwrapped(row["value"]))
            assert report.hex() == row["report"], (kind, row["value"])
            assert next(client.stream, None) is None
            seen[kind] = seen.get(kind, 0) + 1
        first = bytes.fromhex(entry["reports"][0]["report"])
        assert page_client.frame(first, bytes.fromhex(entry["frames"]["key"])).hex() == entry["frames"]["one"]
    assert set(seen) == set(NUMBERS)


def test_the_client_is_short_and_uses_nothing_of_the_package() -> None:
    text = Path(page_client.__file__).read_text()
    assert "discreet" not in text.replace("of Discreet", "").replace("docs/", "")
    code = [line for line in text.splitlines() if line.strip() and not line.startswith(('"""', "import", "from"))]
    assert len(code) <= 76, len(code)
