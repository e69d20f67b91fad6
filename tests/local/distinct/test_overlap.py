"""Bitmaps that are set side by side or merged: what they promise persons, and what does not belong together."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from command_line import run
from discreet.local import DistinctOverlap, DistinctSketch, FlippedBitmap
from discreet.local.distinct.bitmaps import check_together


def test_who_sees_a_merged_bitmap_alone_learns_no_more_of_a_person_than_it_says() -> None:
    """By enumeration: two holders each use one item of a person, and these set two bits of the merged bitmap."""
    m = DistinctSketch(1, items=1, buckets=8, levels=1, key=5)
    parts = [m.sketch([], []) for _ in range(2)]
    merged = parts[0].merge(parts[1])
    # One merged bit is flipped with probability q: its reading has a ratio of at most e^m, and the person has two.
    q = merged.flip
    bits = np.array([q, 1 - q])
    without, with_both = np.multiply.outer(bits[::-1], bits[::-1]), np.multiply.outer(bits, bits)
    loss = math.log(float((with_both / without).max()))
    said = re.search(
        r"only the merged bitmap learns at most what epsilon ([0-9.]+) allows", str(merged.guarantee.assumptions)
    )
    assert said is not None
    assert loss <= float(said[1]) <= merged.guarantee.epsilon
    # An item has one bit, the same for every holder.
    item = DistinctSketch(1, buckets=8, levels=1, key=5)
    alone = item.sketch([]).merge(item.sketch([])).guarantee.assumptions
    assert any("epsilon 0.51012 allows" in text for text in alone)


def test_bitmaps_that_share_coins_are_refused_and_others_are_not() -> None:
    m = DistinctSketch(1, buckets=1024, key=5)
    one, two, same_seed = m.sketch(range(5000), rng=1), m.sketch(range(5000), rng=2), m.sketch(range(9000), rng=1)
    merged = one.merge(two, rng=3)
    for bad in ({"a": one, "b": one}, {"a": one, "b": same_seed}, {"a": one, "b": merged}, {"x": merged, "b": two}):
        with pytest.raises(dc.errors.InvalidArgument, match="coins of their own"):
            DistinctOverlap(bad)
        with pytest.raises(dc.errors.InvalidArgument, match="coins of their own"):
            bad.popitem()[1].merge(*bad.values())
    # Equal items, twice the same number of bits, no items at all: coins of their own are enough.
    check_together([m.sketch(range(5000), rng=seed) for seed in range(30)], "bitmaps")
    check_together([m.sketch([], rng=seed) for seed in range(30)], "bitmaps")
    # So much budget that no coin falls the other way: the same items give the same bitmap.
    sure = DistinctSketch(200, buckets=1024, key=5)
    assert DistinctOverlap({"a": sure.sketch(range(900)), "b": sure.sketch(range(900))}).count("a and b").count > 800


def test_a_file_counts_once_on_the_command_line(tmp_path: Path) -> None:
    m = DistinctSketch(200, buckets=8, levels=2, key=5)
    m.sketch(["a"]).save(tmp_path / "clinic.bin")
    again = str(tmp_path / "." / "clinic.bin")
    done = run("sketch", "overlap", tmp_path / "clinic.bin", again, catch=True)
    assert done.exit_code != 0
    assert "different files" in " ".join(str(done.exception or done.output).split())


def test_many_holders_are_counted_together_and_files_of_one_name_are_distinguished(tmp_path: Path) -> None:
    m, files = DistinctSketch(4, buckets=1024, key=5), []
    for i in range(8):
        (tmp_path / str(i)).mkdir()
        files.append(str(tmp_path / str(i) / "site.bin"))
        m.sketch(range(i * 1000, i * 1000 + 3000), rng=i).save(files[-1])
    merged = str(tmp_path / "all.bin")
    done = run("sketch", "overlap", *files, "--merged", merged, "--json", catch=True)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["epsilon"] == 32
    assert [row["question"] for row in told["answers"][:8]] == [repr(file) for file in files]
    assert abs(told["answers"][8]["count"] - 10_000) < 4 * told["answers"][8]["std_error"] < 10_000
    assert len(FlippedBitmap.load(merged).epsilons) == 8
    lost = run("sketch", "overlap", *files, "--question", "a and b", catch=True)
    assert lost.exit_code != 0
    assert "left out with more than 6 bitmaps" in " ".join(str(lost.exception or lost.output).split())


def test_names_are_one_name_however_they_are_composed_and_suggestions_can_be_typed_back() -> None:
    m = DistinctSketch(1, buckets=8, levels=1, key=5)
    one, two = m.sketch([]), m.sketch([])
    for name in (
        "caf\u00e9",
        unicodedata.normalize("NFD", "caf\u00e9"),
        "\ufb01le",
        "None",
        "site-a",
        "2026-01",
        "St Mary",
    ):
        overlap = DistinctOverlap({name: one, "lab": two})
        assert overlap.count(f"{name!r} and not lab").std_error > 0
        for wrong in ("a &", "lob"):
            with pytest.raises(dc.errors.InvalidArgument) as refused:
                overlap.count(wrong)
            overlap.count(eval(refused.value.fix.partition("=")[2]))
    assert DistinctOverlap({unicodedata.normalize("NFD", "caf\u00e9"): one}).count("caf\u00e9").std_error > 0
    with pytest.raises(dc.errors.InvalidArgument, match="names that differ"):
        DistinctOverlap({1: one, "1": two})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ("ann", r"items must be .*got 'str'; try items=\[item\]"),
        (np.array([["ann"]]), r"items must be one-dimensional.*try items=items.ravel\(\)"),
        ({1, 2}, r"items must be .*try items=list\(items\)"),
    ],
)
def test_errors_speak_of_items_and_what_they_suggest_works(items: Any, said: str) -> None:
    m = DistinctSketch(1, buckets=8, levels=1, key=5)
    with pytest.raises(dc.errors.InvalidArgument, match=said) as refused:
        m.sketch(items)
    given = {"items": items, "item": "ann"}
    m.sketch(eval(refused.value.fix.partition("=")[2], given))


def test_parts_of_persons_that_end_early_and_budgets_that_are_too_thin_are_named() -> None:
    m = DistinctSketch(1, items=2, buckets=8, levels=1, key=5)
    with pytest.raises(dc.errors.InvalidArgument, match="one person per item"):
        m.sketch(iter([["a"], ["b"]]), iter([["ann"]]))
    with pytest.raises(dc.errors.InvalidArgument, match=r"items must be so few .*try items=1000000") as refused:
        DistinctSketch(1, items=2**20)
    DistinctSketch(1, items=eval(refused.value.fix.partition("=")[2]))
    with pytest.raises(dc.errors.InvalidArgument, match="n must be a number of at least 0"):
        m.std_error(-5)


def test_a_message_with_a_budget_out_of_range_is_damaged() -> None:
    data = DistinctSketch(1, buckets=8, levels=1, key=5).sketch([]).to_bytes()
    with pytest.raises(dc.errors.FormatError):
        FlippedBitmap.from_bytes(_with_merged(data, ["1", "1000000"]))


def _with_merged(data: bytes, budgets: list[str]) -> bytes:
    size = int.from_bytes(data[8:12], "little")
    header = {**json.loads(data[12 : 12 + size]), "merged": budgets}
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    rest = data[12 + size + 8 : -32]
    body = data[:8] + len(text).to_bytes(4, "little") + text + len(budgets).to_bytes(8, "little") + rest
    return body + hashlib.sha256(body).digest()
