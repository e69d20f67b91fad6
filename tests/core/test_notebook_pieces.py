"""What a notebook shows: small, without colours of its own for text, and with everything escaped."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc
from discreet.synopses import Count
from handmade_synopses import KINDS, people

EVIL = "<script>alert(1)</script>"


def _risk() -> Any:
    return dc.anonymity.risk(pa.table({EVIL: ["a"] * 4, "ill": ["x", "y"] * 2}), [EVIL], ["ill"])


def _ledger() -> dc.Ledger:
    ledger = dc.Ledger(epsilon=1.0)
    ledger.spend(EVIL, 0.25)
    return ledger


PIECES: dict[str, tuple[Any, str]] = {
    "domain": (dc.Domain({EVIL: (0, 1), "town": [f"{EVIL}{i}" for i in range(40)]}), "and 28 more"),
    "ledger": (_ledger(), "remaining"),
    "guarantee": (dc.Guarantee.from_ledger(_ledger(), model="central", seeded=True), "Do not publish"),
    "count": (Count(41.5, 3.0, 4.0), "41.5 ± 5"),
    "marginal": (people().marginal("sex"), "evenness_error"),
    "table": (people().table("sex", "age", bins={"age": 25}), "and 30 more"),
    "risk": (_risk(), "prosecutor"),
    **{f"synopsis, {name}": (made(), "leaves") for name, made in KINDS.items()},
}


@pytest.mark.parametrize("name", PIECES)
def test_a_piece_is_small_and_takes_the_colours_of_the_page(name: str) -> None:
    piece, words = PIECES[name]
    text = piece._repr_html_()
    assert words in re.sub(r"<[^>]*>", "", text)
    assert EVIL not in text
    assert len(text) < 30_000
    # No colour of letters or ground is fixed, so that light and dark pages both show it.
    assert not re.search(r"(?<![-\w])(color|background):(?!inherit|none)", text)
    assert "http" not in text
    assert text.count("<div") == text.count("</div>")
    assert text.count("<table") == text.count("</table>")
