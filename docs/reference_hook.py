"""Fills the page "Reference" when the guide is built: every public name, from its own docstring."""

from __future__ import annotations

import inspect
from typing import Any

import discreet

_MARK = "<!-- every public name -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the names where the page marks their place."""
    return markdown.replace(_MARK, "\n".join(_everything())) if _MARK in markdown else markdown


def _everything() -> list[str]:
    top = [n for n in discreet.__all__ if not inspect.ismodule(getattr(discreet, n)) and n != "__version__"]
    lines = ["## discreet", ""]
    for name in top:
        lines += _entry(f"discreet.{name}", getattr(discreet, name))
    rooms = [n for n in discreet.__all__ if inspect.ismodule(getattr(discreet, n))]
    for room in rooms:
        module = getattr(discreet, room)
        lines += [f"## discreet.{room}", "", (module.__doc__ or "").strip().splitlines()[0], ""]
        for name in getattr(module, "__all__", []):
            lines += _entry(f"discreet.{room}.{name}", getattr(module, name))
    return lines


def _entry(path: str, thing: Any) -> list[str]:
    try:
        signature = str(inspect.signature(thing)) if callable(thing) else ""
    except (ValueError, TypeError):
        signature = ""
    text = inspect.getdoc(thing) or ""
    return [f"### {path}", "", "```python", f"{path}{signature}", "```", "", "```text", text, "```", ""]
