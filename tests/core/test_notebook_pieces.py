"""Notebook output is small, sets no text colours, and escapes everything."""

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


def _estimate() -> Any:
    m = dc.local.DirectResponse(epsilon=2, domain=[EVIL, "dog"])
    return m.estimate(m.aggregate(m.encode([EVIL] * 60 + ["dog"] * 30, rng=1)))


PIECES: dict[str, tuple[Any, str]] = {
    "domain": (dc.Domain({EVIL: (0, 1), "town": [f"{EVIL}{i}" for i in range(40)]}), "and 28 more"),
    "ledger": (_ledger(), "remaining"),
    "guarantee": (dc.Guarantee.from_ledger(_ledger(), model="central", seeded=True), "Do not publish"),
    "count": (Count(41.5, 3.0, 4.0), "41.5 ± 5"),
    "marginal": (people().marginal("sex"), "evenness_error"),
    "table": (people().table("sex", "age", bins={"age": 25}), "and 55 more"),
    "risk": (_risk(), "prosecutor"),
    "clusters": (dc.clustering.cluster_synopsis(people(), 2, columns=["age"]), "weight"),
    "estimates": (_estimate(), "frequency"),
    **{f"synopsis, {name}": (made(), "leaves") for name, made in KINDS.items()},
}


def test_results_become_frames() -> None:
    found = dc.clustering.cluster_synopsis(people(), 2, columns=["age"])
    low, high = found.interval(0.95)
    frame = found.to_pandas()
    assert frame["weight"].tolist() == found.weights.tolist()
    assert (frame["low"].tolist(), frame["high"].tolist()) == (low.tolist(), high.tolist())
    assert (low <= found.weights).all()
    assert (high >= found.weights).all()
    assert _estimate().to_polars()["candidate"].to_list() == [EVIL, "dog"]
    assert _estimate().to_pandas().shape == (2, 6)


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
