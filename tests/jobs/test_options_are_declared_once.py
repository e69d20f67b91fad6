"""An option is declared in one place, its estimator. Everything else follows from that declaration."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import verbs
from discreet.core import option
from discreet.errors import InvalidArgument
from discreet.jobs import FILE, Kind, WrongOption, check, json_schema
from discreet.jobs.kinds import KINDS
from discreet.studio import forms, words


class ShallowTree(dc.TreeSynopsis):
    """A tree with another default depth."""

    max_depth: int | str = option(
        default=5, choices=("auto",), low=0, high=9, help="Most splits of a shallow tree.", example=4
    )


@pytest.fixture
def kind() -> Kind:
    declared = KINDS["synopsis"]
    return replace(declared, estimators={**declared.estimators, "tree": ShallowTree})


def test_a_changed_default_appears_everywhere(kind: Kind) -> None:
    assert inspect.signature(ShallowTree).parameters["max_depth"].default == 5
    assert 'max_depth : {"auto"} or int, default 5' in str(ShallowTree.__doc__)
    found = kind.option("max_depth")
    assert (found.default, found.methods, found.arguments) == (5, ("tree",), ("max_depth",))
    app = typer.Typer()
    app.callback()(lambda: None)
    verbs.add(app, kind, print)
    told = CliRunner().invoke(app, ["synopsis", "--help"], env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"}).output
    assert "Most splits of a shallow tree (default: 5)." in told
    assert "Maximum depth of the tree" not in told
    field = forms.field(kind, found, words.speaker("en"), {})
    assert (field.default, field.help) == ("5", "Most splits of a shallow tree.")
    described = json_schema(kind)["properties"]["parameters"]["properties"]["max_depth"]
    assert described["default"] == 5
    assert {"type": "integer", "minimum": 0, "maximum": 9} in described["anyOf"]


def test_a_changed_bound_appears_in_every_error(kind: Kind) -> None:
    with pytest.raises(InvalidArgument, match="max_depth must be 'auto' or a whole number from 0 to 9, got 10"):
        ShallowTree(max_depth=10).read_option("max_depth")
    with pytest.raises(WrongOption) as refused:
        check(kind, kind.option("max_depth"), 10)
    expected = "[parameters] max_depth must be 'auto' or a whole number from 0 to 9, got 10; try max_depth = 9"
    assert refused.value.said(FILE) == expected
    with pytest.raises(forms.Wrong, match="höchstens 9"):
        forms.read(kind, kind.option("max_depth"), "10", words.speaker("de"))


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.estimators])
def test_kinds_repeat_nothing_that_an_estimator_declares(name: str) -> None:
    kind = KINDS[name]
    declared: dict[str, Any] = {}
    for method in kind.estimators:
        for each in getattr(kind.estimator(method), "declared", {}).values():
            declared.setdefault(each.job or each.name, each)
    for own in kind.own:
        if own.name in declared and declared[own.name].takes and own.takes:  # a job may accept fewer types
            assert set(own.takes) < set(declared[own.name].takes), f"{name} declares the type of {own.name} again"


def test_help_of_the_program_imports_no_estimator() -> None:
    script = (
        "import sys\nfrom discreet.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'sklearn') or 'synopses' in m])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
