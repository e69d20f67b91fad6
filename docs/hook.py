"""What is done when the guide is built: reference pages are filled from docstrings, wide charts get a narrow form."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import discreet

_MARK = re.compile(r"<!-- public names of (discreet(?:\.\w+)?|every room) -->")
_CHART = re.compile(r'<img [^>]*src="([^"]+)\.svg"[^>]*/?>')


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the names where a page marks their place."""
    return _MARK.sub(lambda found: "\n".join(_index() if found[1] == "every room" else _entries(found[1])), markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Show the narrow form of a chart on a phone, where it has one."""
    images = Path(page.file.abs_src_path).parent / "images"

    def chosen(found: re.Match[str]) -> str:
        if not (images / f"{Path(found[1]).name}-narrow.svg").is_file():
            return found[0]
        return f'<picture><source media="(max-width: 45rem)" srcset="{found[1]}-narrow.svg">{found[0]}</picture>'

    return _CHART.sub(chosen, html)


def rooms() -> dict[str, list[str]]:
    """Return the public names of the package itself and of every room."""
    found = {"discreet": [n for n in discreet.__all__ if not _is_room(n) and n != "__version__"]}
    for room in filter(_is_room, discreet.__all__):
        module = getattr(discreet, room)
        own = [n for n, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
        found[f"discreet.{room}"] = list(getattr(module, "__all__", own))
    return found


def _is_room(name: str) -> bool:
    return inspect.ismodule(getattr(discreet, name))


def _module(path: str) -> Any:
    return discreet if path == "discreet" else getattr(discreet, path.removeprefix("discreet."))


def _index() -> list[str]:
    lines = ["| room | names |", "|---|---|"]
    for path, names in rooms().items():
        page = f"{path.removeprefix('discreet.')}.md"
        lines.append(f"| [{path}]({page}) | {', '.join(f'[`{n}`]({page}#{path}.{n})' for n in names)} |")
    return lines


def _entries(path: str) -> list[str]:
    lines = [(_module(path).__doc__ or "").strip().splitlines()[0], ""]
    for name in rooms()[path]:
        lines += _entry(f"{path}.{name}", getattr(_module(path), name))
    return lines


def _entry(path: str, thing: Any) -> list[str]:
    text = inspect.getdoc(thing) or ""
    name = path.rpartition(".")[2]
    shown = f"{path}{_signature(thing)}"
    return [f"## {name} {{ #{path} }}", "", "```python", shown, "```", "", "```text", text, "```", ""]


class _Plain(str):
    """An annotation as it is written, without the quotes of a text."""

    def __repr__(self) -> str:
        return str(self)


def _signature(thing: Any) -> str:
    """Return the arguments of something that can be called, each on a line of its own where they are many."""
    try:
        found = inspect.signature(thing) if callable(thing) else None
    except (ValueError, TypeError):
        found = None
    if found is None:
        return ""
    plain = [
        p.replace(annotation=_Plain(p.annotation)) if isinstance(p.annotation, str) else p
        for p in found.parameters.values()
    ]
    returns = _Plain(found.return_annotation) if isinstance(found.return_annotation, str) else found.return_annotation
    shown = str(found.replace(parameters=plain, return_annotation=returns))
    if len(shown) < 70:
        return shown
    inside = [str(p) for p in plain]
    for kind, mark in ((inspect.Parameter.POSITIONAL_ONLY, "/"), (inspect.Parameter.KEYWORD_ONLY, "*")):
        places = [i for i, p in enumerate(plain) if p.kind is kind]
        if places and not (mark == "*" and any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in plain)):
            inside.insert(places[-1] + 1 if mark == "/" else places[0] + ("/" in inside), mark)
    return "(\n    " + ",\n    ".join(inside) + ",\n)" + shown[shown.rindex(")") + 1 :]
