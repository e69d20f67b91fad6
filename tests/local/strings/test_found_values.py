"""Values that a search finds are readable, also numbers, and those that may be noise are marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import noise
from discreet.cli import app
from discreet.local import FragmentPuzzle, PrefixExtension


@pytest.fixture(autouse=True)
def _same_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are drawn afresh for every collection, and with one in twenty a value too many is found."""
    fresh = noise.generator
    monkeypatch.setattr(noise, "generator", lambda *seed: fresh(*seed or (7,)))


def _run(capsys: pytest.CaptureFixture[str], *words: Any) -> str:
    with pytest.raises(SystemExit) as end:
        app.main([str(w) for w in words])
    assert end.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def _counted(folder: Path, capsys: pytest.CaptureFixture[str], rows: list[str], *more: Any) -> tuple[Path, str]:
    table, reports, counts = (folder / name for name in ("t.csv", "r.bin", "c.bin"))
    table.write_text("\n".join(["v", *rows]) + "\n")
    told = _run(capsys, "sketch", "encode", table, "--column", "v", *more, "--seed", 1, "-o", reports)
    _run(capsys, "sketch", "aggregate", reports, "-o", counts)
    return counts, told


@pytest.mark.parametrize(
    "mechanism",
    [
        ("-m", "prefix-extension", "--epsilon", 6, "--set", "length=4"),
        ("-m", "fragment-puzzle", "--set", "epsilon_sequence=4", "--set", "epsilon_fragment=6", "--set", "length=4",
         "--set", "n_hashes=64", "--set", "width=64", "--set", "fragment_hashes=64", "--set", "fragment_width=64"),
    ],
)  # fmt: skip
def test_numbers_of_a_file_are_found_as_numbers(
    mechanism: tuple[Any, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts, told = _counted(tmp_path, capsys, ["35"] * 3000 + ["-2.5"] * 2000 + ["ok"] * 1500, *mechanism)
    assert "any other character counts as ?" in told
    found = json.loads(_run(capsys, "sketch", "estimate", counts, "--json"))
    assert [row["candidate"] for row in found["estimates"]][:3] == ["35", "-2.5", "ok"]
    for i, row in enumerate(found["estimates"]):
        assert row["lower"] < row["count"] < row["upper"]
        assert row["may_be_noise"] is (i >= 3)  # the others are absent, and marked
    assert "With a probability of 5 %" in found["caveats"][0]


def test_what_was_not_declared_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ("-m", "prefix-extension", "--epsilon", 6, "--set", "length=4", "--set", "alphabet=letters")
    counts, _ = _counted(tmp_path, capsys, ["35"] * 3000, *sets)
    said = _run(capsys, "sketch", "estimate", counts)
    assert "??" in said
    assert "stands for every character that was not declared" in said
    assert "--set alphabet=alphanumeric" in said


def test_values_that_are_cut_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ("-m", "prefix-extension", "--epsilon", 6, "--set", "length=4")
    counts, _ = _counted(tmp_path, capsys, ["a bcdef"] * 3000, *sets)
    said = " ".join(_run(capsys, "sketch", "estimate", counts).split())
    assert "a?bc" in said
    assert "Values longer than 4 characters are cut" in said
    assert "alphabet=alphanumeric" not in said  # it is that already


def test_values_that_no_one_holds_are_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = tmp_path / "asked.txt"
    words.write_text("\n".join(["cat", *(f"absent{i}" for i in range(30))]))
    sets = ("-m", "count-mean-sketch", "--epsilon", 1, "--set", "n_hashes=64", "--set", "width=64")
    counts, _ = _counted(tmp_path, capsys, ["cat"] * 4000, *sets)
    said = _run(capsys, "sketch", "estimate", counts, "--candidates", words, "--top", 5)
    assert said.count("may be noise") >= 4
    assert "of 31 values are below the limit: perhaps no one has them" in said
    assert "one of 31 values exceeds" in said
    figures = json.loads(_run(capsys, "sketch", "estimate", counts, "--candidates", words, "--json"))
    marks = {row["candidate"]: row["may_be_noise"] for row in figures["estimates"]}
    assert marks.pop("cat") is False
    assert sum(marks.values()) >= 29


def test_the_marks_hold_their_level() -> None:
    """In 400 collections with 20 of 21 values absent, about 5 % leave one of those unmarked."""
    m = dc.local.DirectResponse(epsilon=1, domain=21)
    missed = 0
    for seed in range(400):
        found = m.estimate(m.aggregate(m.encode(np.zeros(2000, np.int64), rng=seed)))
        missed += not found.may_be_noise()[1:].all()
        assert not found.may_be_noise()[0]
    assert missed <= 40  # a binomial count with mean 20: beyond 40 with a chance below 1e-4


def test_a_subset_remembers_how_many_were_looked_at() -> None:
    m = dc.local.DirectResponse(epsilon=1, domain=200)
    found = m.estimate(m.aggregate(m.encode(np.zeros(2000, np.int64), rng=1)))
    assert found.top(3).noise_cut() == found.noise_cut()
    words = PrefixExtension(epsilon=4, length=4, key=7)
    hits = words.discover(words.aggregate(words.encode(["cool"] * 3000, rng=1)))
    assert hits.estimate.tried is not None
    assert hits.estimate.tried > len(hits)


@pytest.mark.parametrize(
    "values",
    [
        [7, 7.0, "7", None],
        np.array([7, 7, 7, 8]),
        np.array([7.0, np.nan, 7.5, -1]),
        pa.array([7, 7, None, 9]),
        [7, 10**309, -(10**5000)],
    ],
)
def test_numbers_are_spelled_where_digits_are_declared(values: Any) -> None:
    spelled = PrefixExtension(epsilon=1, alphabet="digits", length=4, key=1).normalise(values)
    assert spelled[0] == "7"
    assert "?" not in "".join(spelled)
    assert FragmentPuzzle(1, 1, alphabet="digits", length=4, key=1).normalise(values) == spelled


def test_an_alphabet_has_a_name() -> None:
    assert PrefixExtension(epsilon=1, alphabet="digits", key=1).alphabet == "0123456789.-"
    assert FragmentPuzzle(1, 1, alphabet="alphanumeric", key=1).alphabet.startswith("abc")
    assert PrefixExtension(epsilon=1, key=1) == PrefixExtension(epsilon=1, alphabet="letters", key=1)
