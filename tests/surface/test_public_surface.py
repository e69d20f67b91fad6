"""Every public name is documented and shown at work, and the rooms keep to their rules."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import discreet as dc

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"
#: Every room with a surface: all folders but `core`, which users reach through `dc`, and `cli`, which they type.
FOLDERS = sorted({path.parent.name for path in SOURCE.glob("*/__init__.py")} - {"cli", "core"})
ROOMS = [
    dc,
    dc.planning,
    dc.studies,
    *(import_module(f"discreet.{folder}") for folder in FOLDERS),
]
PUBLIC = sorted(
    {(room.__name__, name) for room in ROOMS for name in room.__all__ if not name.startswith("__")}
    | {("discreet.errors", n) for n, x in vars(dc.errors).items() if inspect.isclass(x) and issubclass(x, Exception)}
)


@pytest.mark.parametrize(("room", "name"), PUBLIC)
def test_every_public_name_has_a_docstring_with_a_running_example(room: str, name: str) -> None:
    thing = getattr({r.__name__: r for r in [*ROOMS, dc.errors]}[room], name)
    text = inspect.getdoc(thing) or ""
    assert len(text) > 40
    if inspect.ismodule(thing):
        return
    if not (inspect.isclass(thing) and getattr(thing, "_is_protocol", False)):
        assert ">>> " in text, f"{room}.{name} has no example"


@pytest.mark.parametrize(
    "name",
    ["discrete_laplace", "discrete_gaussian", "randomized_response", "exponential", "quantiles"],
)
def test_every_mechanism_states_its_privacy(name: str) -> None:
    text = inspect.getdoc(getattr(dc.noise, name)) or ""
    section = text.split("Privacy\n-------")[1]
    assert "eighbours" in section
    assert "ε" in section


@pytest.mark.parametrize("room", [r for r in ROOMS if r is not dc.studies], ids=lambda room: room.__name__)
def test_a_room_shows_its_public_names_only(room: ModuleType) -> None:
    assert dir(room) == sorted(room.__all__)
    for name in room.__all__:
        assert getattr(room, name) is not None


def python_files() -> list[Path]:
    return sorted(p for p in SOURCE.rglob("*.py"))


def test_randomness_lives_in_noise_and_datasets_only() -> None:
    for path in python_files():
        if path.relative_to(SOURCE).parts[0] in ("noise", "datasets"):
            continue
        code = path.read_text(encoding="utf-8")
        code = re.sub(r'"""[\s\S]*?"""', "", code)
        assert not re.search(r"(np|numpy)\.random|^import (random|secrets)|os\.urandom", code, re.M), path


#: Where a program ends: what fails there is reported by its place alone, because a trace may quote rows.
EDGES = {"jobs/work/audit.py", "studio/app.py", "studio/released.py", "studio/runs/child.py"}


def test_library_code_does_not_print_or_swallow() -> None:
    for path in python_files():
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\bprint\b|\bexcept\s*:|\b(Base)?Exception\b", text):
            continue  # nothing to look at closely
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", path
            if isinstance(node, ast.ExceptHandler):
                caught = ast.unparse(node.type) if node.type else "everything"
                if path.relative_to(SOURCE).as_posix() not in EDGES:
                    assert caught not in ("everything", "Exception", "BaseException"), path


def test_no_float_noise_in_a_release_path() -> None:
    """The integer kernels compare bytes and add integers: no float literal, no float call."""
    for node in ast.walk(ast.parse((SOURCE / "noise" / "stream" / "kernels.py").read_text(encoding="utf-8"))):
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        assert not (isinstance(node, ast.Name) and node.id.startswith("float"))
        assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))


def test_the_version_is_the_package_version() -> None:
    from importlib.metadata import version

    assert dc.__version__ == version("discreet")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = dc.nope
    assert "Domain" in dir(dc)
