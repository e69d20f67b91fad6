"""Every recipe of the gallery runs as printed, in an empty folder, and promises what its release promises."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from command_line import output

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "scripts"))
import gallery  # noqa: E402

RECIPES = gallery.recipes()
#: Recipes of more than a second, run by `make test-all`.
LONG = ("compare", "check", "find-k")


def _epsilon(guarantee: Any) -> list[str]:
    assert not guarantee.seeded
    delta = [f"δ = {guarantee.delta:g}"] if guarantee.delta else []
    return [f"ε = {guarantee.epsilon:g}", *delta]


def _groups(guarantee: Any) -> list[str]:
    reached = guarantee.parameters["reached"]
    assert reached["k"] >= 10
    assert min(reached["l"].values()) >= 2
    return [f"k = {guarantee.parameters['required']['k']}", f"l = {guarantee.parameters['required']['l']['least']}"]


def _checked(space: dict[str, Any]) -> list[str]:
    assert "Verdict: holds" in space["printed"][-1]
    assert "1-differential privacy" in " ".join(space["printed"][-1].split())
    return ["ε = 1"]


def _both(space: dict[str, Any]) -> list[str]:
    return [*_epsilon(space["shop"].guarantee), *_epsilon(space["answers"]["shop or app"].guarantee)]


def _unspent(space: dict[str, Any]) -> list[str]:
    assert "No data were read" in space["printed"][0]
    assert Path("plan.html").is_file()
    return ["nothing"]


def _asked(space: dict[str, Any]) -> list[str]:
    assert space["ledger"].remaining == 0
    return [f"ε = {space['ledger'].spent:g}"]


#: What each release promises, as its own guarantee says; the page must say the same.
PROMISED: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "cross-table": lambda space: _epsilon(space["answer"].guarantee),
    "monthly": lambda space: _groups(space["release"].guarantee),
    "find-k": lambda space: ["nothing"] if space["curve"].k in space["tried"] else [],
    "map": lambda space: _epsilon(space["synopsis"].guarantee),
    "latency": lambda space: _epsilon(space["found"].guarantee),
    "train": lambda space: _epsilon(space["model"].guarantee_),
    "check": _checked,
    "workbook": lambda space: _groups(space["release"].guarantee),
    "questions": _asked,
    "visitors": _both,
    "plan": _unspent,
    "compare": lambda space: _epsilon(space["model"].guarantee_),
}


def _command(words: Sequence[str]) -> str:
    assert words[0] == "discreet"
    return output(*words[1:])


def test_there_are_twelve_short_recipes_with_a_reader_a_picture_and_a_promise() -> None:
    text = gallery.PAGE.read_text("utf-8")
    assert len(RECIPES) == len(re.findall(r"^## ", text, re.M)) == text.count("```") / 2 == 12
    assert [recipe.name for recipe in RECIPES] == list(gallery.DRAWN) == list(PROMISED)
    for recipe in RECIPES:
        assert len(recipe.lines) < 15 if recipe.kind == "python" else len(recipe.lines) <= 3, recipe.title
        picture = gallery.DOCS / "images" / "gallery" / f"{recipe.name}.svg"
        assert picture.stat().st_size < 40_000
        assert "prefers-color-scheme: dark" in picture.read_text("utf-8")
        assert "More: [" in recipe.promise
        assert "shared" not in recipe.code


@pytest.mark.usefixtures("eighty_columns")
@pytest.mark.parametrize(
    "recipe", [pytest.param(r, id=r.name, marks=[pytest.mark.slow] * (r.name in LONG)) for r in RECIPES]
)
def test_a_recipe_runs_as_printed_and_keeps_its_promise(
    recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    promised = PROMISED[recipe.name](gallery.ran(recipe, _command))
    assert promised
    for words in promised:
        assert words in " ".join(recipe.promise.split()), f"the page does not say {words!r}"
    guarantees = re.findall(r"ε = [\d.]+\d|ε = \d", recipe.promise)
    assert {words for words in promised if words.startswith("ε")} == set(guarantees)
