"""Features together, systematically: every pair of features, in `make test-all` every triple, in real releases.

Nine factors are combined: method, option, source, cells, unit, output, a second release, account, checks afterwards.
160 combinations cover every pair, and 1008 every triple.
Each release is judged by a reader that shares no code with the package and holds the input tables
(`second_reader/combined.py`). What cannot be combined is declared with its reason in `together/factors.py`, and must be
refused in one sentence.
"""

from __future__ import annotations

import ast
import csv
import dataclasses
import json
import re
import warnings
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from covering import cover, tuples
from discreet.errors import DiscreetError
from second_reader import combined
from second_reader.combined import judge
from together.factors import FACTORS, IMPOSSIBLE, METHODS, OPTIONS, PLAIN, possible, refused
from together.making import Done, run
from together.people import MARKS, NAME

pytestmark = [
    pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning"),
    pytest.mark.usefixtures("few_steps"),
]

PAIRS = cover(FACTORS, 2, possible)
#: Which combinations were refused a second release, as far as they have been run.
_refused: dict[tuple[str, ...], bool] = {}


def _label(given: dict[str, str]) -> str:
    return " ".join(value for name, value in given.items() if value not in ("none", "plain", "nothing", "clean"))


def _released(given: dict[str, str], folder: Path) -> Done:
    folder.mkdir(exist_ok=True)
    done = run(given, folder)
    _refused[tuple(given.values())] = bool(done.refusal)
    assert judge(done) == []
    assert done.held
    if done.refusal:
        assert _is_one_sentence(done.refusal)
        assert not [mark for mark in MARKS if mark in done.refusal]
    return done


def _is_one_sentence(text: str) -> bool:
    """No traceback, no paragraph; what is said next, if anything, is what to do."""
    return 0 < len(text) < 700 and "\n" not in text.strip()


@pytest.mark.parametrize("given", PAIRS, ids=_label)
def test_every_pair_of_features_releases_what_is_promised(given: dict[str, str], tmp_path: Path) -> None:
    _released(given, tmp_path)


def test_words_that_are_selected_by_persons_pass_the_audit(tmp_path: Path) -> None:
    given = {"method": "session", "option": "delta", "source": "pandas", "cells": "mixed", "after": "audit"}
    more = {"second": "none", "unit": "person, ids missing", "output": "memory", "account": "ledger"}
    assert _released(given | more, tmp_path).held


@pytest.mark.slow
def test_every_triple_of_features_releases_what_is_promised(tmp_path: Path) -> None:
    wrong: dict[str, str] = {}
    triples = cover(FACTORS, 3, possible)
    assert f"and {len(triples)} every triple" in str(__doc__)
    for number, given in enumerate(triples):
        try:
            _released(given, tmp_path / str(number))
        except (AssertionError, DiscreetError) as error:
            wrong[str(given)] = f"{type(error).__name__}: {error}"
    assert wrong == {}


@pytest.mark.parametrize(("given", "says"), refused(), ids=lambda each: _label(each) if isinstance(each, dict) else "")
def test_what_is_declared_impossible_is_refused_in_one_sentence(
    given: dict[str, str], says: str, tmp_path: Path
) -> None:
    with pytest.raises((DiscreetError, TypeError, AttributeError)) as error:
        run(given, tmp_path)
    text = str(error.value)
    if not isinstance(error.value, DiscreetError):  # Python's own words for what a method does not have at all
        assert re.search(r"unexpected keyword argument|has no attribute 'save'", text), text
    assert re.search(says, text), text
    assert _is_one_sentence(text)
    assert not re.search(r"(\w+) (must be left out|has no key).*; try \1\b", text), text


def test_most_second_releases_are_made(tmp_path: Path) -> None:
    """A refusal is right where two releases would tell people apart; where whole crowds move, most are possible."""
    chosen = [given for given in PAIRS if given["second"] != "none" and given["method"] in ("density tree", "mondrian")]
    assert len(chosen) >= 20
    refusals = 0
    for number, given in enumerate(chosen):
        if (key := tuple(given.values())) not in _refused:  # all are known where the whole file is run
            (tmp_path / str(number)).mkdir()
            _released(given, tmp_path / str(number))
        refusals += _refused[key]
    assert refusals <= len(chosen) // 3


# ---- the combinations


def test_every_possible_pair_is_covered_and_nothing_impossible_is() -> None:
    found = {each for given in PAIRS for each in tuples(given, 2)}
    assert all(possible(given) for given in PAIRS)
    for names in combinations(FACTORS, 2):
        for values in product(*(FACTORS[name] for name in names)):
            pair = dict(zip(names, values, strict=True))
            if frozenset(pair.items()) not in found:
                assert not _extends(pair), pair


def _extends(given: dict[str, str]) -> bool:
    """Return whether any possible combination has these values."""
    if not possible(given):
        return False
    name = next((name for name in FACTORS if name not in given), None)
    return name is None or any(_extends({**given, name: value}) for value in FACTORS[name])


def test_a_covering_array_of_three_small_factors() -> None:
    factors = {"a": "xy", "b": "xyz", "c": "xy"}
    found = cover(factors, 2, lambda given: not (given.get("a") == "x" and given.get("b") == "z"))
    assert {(g["a"], g["b"]) for g in found} == {("x", "x"), ("x", "y"), ("y", "x"), ("y", "y"), ("y", "z")}
    assert {(g["b"], g["c"]) for g in found} == set(product("xyz", "xy"))
    assert len(found) <= 7


def test_rules_have_reasons_and_forbid_something() -> None:
    for rule in IMPOSSIBLE:
        assert len(rule.why.split()) >= 4
        assert all(set(values) <= set(FACTORS[name]) for name, values in rule.when.items())
    assert set(OPTIONS) == set(METHODS)


def test_the_number_of_combinations_is_stated() -> None:
    assert f"{len(PAIRS)} combinations cover every pair" in str(__doc__)


# ---- the reader


def test_the_reader_of_combinations_uses_nothing_of_the_package() -> None:
    tree = ast.parse(Path(str(combined.__file__)).read_text(encoding="utf-8"))
    names = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    names += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    assert not [name for name in names if name.split(".")[0] in ("discreet", "together")]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """Releases without a fault, into which faults are planted."""
    wanted = {
        "table": {"method": "density tree", "second": "same", "account": "none"},
        "account": {"method": "grid", "account": "account", "output": "parquet", "unit": "person"},
        "rho": {"method": "tree", "option": "rho", "account": "ledger", "output": "parquet"},
        "rows": {"method": "marginals", "account": "none"},
    }
    found = {}
    for name, more in wanted.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = run({**PLAIN, **more}, tmp_path_factory.mktemp(name))
        assert judge(found[name]) == []
    return found


def _changed(done: Done, number: int, **changes: Any) -> Done:
    releases = list(done.releases)
    releases[number] = dataclasses.replace(releases[number], **changes)
    return dataclasses.replace(done, releases=releases)


def _made(done: Done, number: int = 0, **changes: Any) -> Done:
    return _changed(done, number, made=dataclasses.replace(done.releases[number].made, **changes))


def _promising(done: Done, edit: Callable[[dict[str, Any]], object]) -> Done:
    promise = json.loads(done.releases[0].made.promise)
    edit(promise)
    return _made(done, promise=json.dumps(promise))


def _elsewhere(done: Done) -> Done:
    """One person lives where no one else does, and the table does not hide it."""
    rows = [dict(row) for row in done.releases[0].table]
    rows[0]["age"] = 119
    return _changed(done, 0, table=rows)


def _moved(done: Done) -> Done:
    """Follow one row from release to release that in truth was another one."""
    rows = [dict(row) for row in done.releases[1].table]
    rows[0]["name"], rows[-1]["name"] = rows[-1]["name"], rows[0]["name"]
    return _changed(done, 1, table=rows)


def _with_row(done: Done) -> Done:
    extra = done.releases[0].made.extra
    name, payload = next(iter(extra["files"].items()))
    width = payload.split(b"\n")[0].count(b",")
    return _made(done, extra={**extra, "promises": {}, "files": {name: payload + b"elsewhere" + b"," * width + b"\n"}})


def _sorted(done: Done) -> Done:
    head, *rows = done.releases[0].made.payload.rstrip(b"\n").split(b"\n")
    place = [name.strip(b'"') for name in head.split(b",")].index(b"age")

    def age(row: bytes) -> float:
        return float(re.findall(r"[\d.]+", next(csv.reader([row.decode()]))[place])[0])

    return _made(done, payload=b"\n".join([head, *sorted(rows, key=age)]) + b"\n")


#: What is planted, into which release, and what the reader must say of it.
FAULTS: dict[str, tuple[str, Callable[[Done], Done], str]] = {
    "a name on a page": ("table", lambda d: dataclasses.replace(d, shown=[f"<p>{NAME}-001</p>"]), "left the record"),
    "a table in the order of the input": ("table", _sorted, "called shuffled, and rise"),
    "an account that is cheaper than the releases": (
        "account", lambda d: dataclasses.replace(d, spent="1/2"), "the account says 1/2",
    ),
    "rows hidden where the schema hides persons": (
        "account", lambda d: dataclasses.replace(d, given={**d.given, "unit": "row"}), "the schema hides row",
    ),
    "a smaller epsilon than rho is worth": (
        "rho", lambda d: _promising(d, lambda p: p.update(epsilon=1.0)), "is ε = .+, not 1.0",
    ),
    "a delta that is not that of the record": (
        "rho", lambda d: _promising(d, lambda p: p.update(delta=1e-9)), "the text promises δ = 1e-06, the record 1e-09",
    ),
    "a person who hides among nobody": ("table", _elsewhere, "cells were printed for"),
    "a row that two releases tell apart": ("table", _moved, "both releases tell 1 people"),
    "an invented row beyond the declaration": ("rows", _with_row, "'elsewhere' in age, which is no number"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, examples: dict[str, Done]) -> None:
    name, plant, says = FAULTS[fault]
    assert re.search(says, "\n".join(judge(plant(examples[name]))))
