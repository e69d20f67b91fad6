"""Complete the guide at every build: reference pages from docstrings, pages of notebooks, and a head for each page.

The head forbids the browser to ask other hosts for anything, and lets search work without a server.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import discreet

_MARK = re.compile(r"<!-- public names of (discreet(?:\.\w+)?|every room) -->")
_SECTION = re.compile(r"^([A-Z][\w ]*)\n-{3,}\n", re.MULTILINE)
_LISTS = ("Parameters", "Attributes", "Returns", "Raises", "Yields")
#: The theme would load a polyfill or a diagram library from elsewhere for some browsers and pages.
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'self' 'unsafe-inline' data: blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'\">"
)
_CHART = re.compile(r'<img [^>]*src="([^"]+)\.svg"[^>]*/?>')


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add a page for every notebook."""
    from mkdocs.structure.files import File  # the tests have no MkDocs

    sys.path.insert(0, str(Path(__file__).parent))
    from notebooks import page

    for file in [each for each in files if each.src_uri.endswith(".ipynb")]:
        made = page(Path(file.abs_src_path))
        files.append(File.generated(config, file.src_uri.removesuffix(".ipynb") + ".md", content=made))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the mark on a reference page by the documented names, and let links to notebooks lead to their pages."""
    if not page.file.generated_by:
        markdown = markdown.replace(".ipynb)", ".md)")
    return _MARK.sub(lambda found: "\n".join(_index() if found[1] == "every room" else _entries(found[1])), markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Show the narrow form of a chart on a phone, if it has one."""
    folder = Path(__file__).parent / Path(page.file.src_uri).parent

    def chosen(found: re.Match[str]) -> str:
        if not (folder / f"{found[1]}-narrow.svg").is_file():
            return found[0]
        return f'<picture><source media="(max-width: 45rem)" srcset="{found[1]}-narrow.svg">{found[0]}</picture>'

    return _CHART.sub(chosen, html)


def on_post_page(output: str, **_: Any) -> str:
    """Put the policy and the stand-in for workers before everything that a page loads."""
    script = (Path(__file__).parent / "scripts" / "worker.js").read_text("utf-8")
    first = '<meta charset="utf-8">'
    if first not in output:
        raise RuntimeError("the theme's head has changed: no place for the policy")
    return output.replace(first, f"{first}{_POLICY}<script>{script}</script>", 1)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Do the same for the page of dead addresses."""
    return on_post_page(output_content) if template_name == "404.html" else output_content


def on_post_build(config: Any, **_: Any) -> None:
    """Write the search index as a script too: a page from a folder may not read a JSON file."""
    folder = Path(config.site_dir) / "search"
    index = (folder / "search_index.json").read_text("utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", "utf-8")


def rooms() -> dict[str, list[str]]:
    """Return the public names of the package itself and of every room."""
    found = {"discreet": [n for n in discreet.__all__ if not _is_room(n) and n != "__version__"]}
    for room in filter(_is_room, discreet.__all__):
        module = getattr(discreet, room)
        here = [n for n, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
        own = [n for n in here if not n.startswith("_")]
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
    name = path.rpartition(".")[2]
    lines = [f"## {name} {{ #{path} }}", "", "```python", f"{path}{_signature(thing)}", "```", ""]
    return [*lines, *_described(inspect.getdoc(thing) or ""), *_members(thing)]


def _described(text: str) -> list[str]:
    """Return a numpydoc docstring as Markdown: parameters as a list, examples as code."""
    lead, *rest = _SECTION.split(text)
    lines = [lead.strip(), ""]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        lines += [f"**{title}**", ""]
        if title in _LISTS:
            lines += _listed(body)
        elif title == "Examples":
            lines += ["```pycon", body.strip(), "```"]
        else:
            lines.append(body.strip())
        lines.append("")
    return lines


def _listed(body: str) -> list[str]:
    """Return the entries of a section, each with its type and its text below."""
    lines: list[str] = []
    for part in re.split(r"\n(?=\S)", body.strip("\n")):
        head, _, words = part.partition("\n")
        name, _, kind = head.partition(" : ")
        lines += ["", f"- `{name}`" + (f": {kind}" if kind else ""), ""]
        lines += textwrap.indent(textwrap.dedent(words).strip(), "    ").splitlines()
    return lines


def _members(thing: Any) -> list[str]:
    """Return the public methods and properties of a class, each with the first line of its docstring."""
    lines = ["| member | |", "|---|---|"]
    for name in (n for n in dir(thing) if inspect.isclass(thing) and not n.startswith("_")):
        member = inspect.getattr_static(thing, name)
        member = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        held = member.fget if isinstance(member, property) else member
        text = inspect.getdoc(held) if inspect.isfunction(held) and held.__module__.startswith("discreet") else None
        if text:
            given = "" if isinstance(member, property) else f"({', '.join(_arguments(held))})"
            lines.append(f"| `{name}{given}` | {text.splitlines()[0].replace('|', '&#124;')} |")
    return [*lines, ""] if len(lines) > 2 else []


def _arguments(function: Any) -> list[str]:
    """Return the names of a method's arguments, without defaults and types."""
    return [n for n in inspect.signature(function).parameters if n not in ("self", "cls") and not n.startswith("_")]


class _Plain(str):
    """An annotation without the quotes of a string."""

    def __repr__(self) -> str:
        return str(self)


def _signature(thing: Any) -> str:
    """Return the signature of a callable; long ones have one argument per line."""
    try:
        found = inspect.signature(thing) if callable(thing) else None
    except (ValueError, TypeError):
        found = None
    if found is None:
        return ""
    plain = [
        p.replace(annotation=_Plain(p.annotation)) if isinstance(p.annotation, str) else p
        for p in found.parameters.values()
        if not p.name.startswith("_")
    ]
    returns = _Plain(found.return_annotation) if isinstance(found.return_annotation, str) else found.return_annotation
    shown = str(found.replace(parameters=plain, return_annotation=returns))
    if len(shown) < 70 or not plain:
        return shown
    inside = [str(p) for p in plain]
    for kind, mark in ((inspect.Parameter.POSITIONAL_ONLY, "/"), (inspect.Parameter.KEYWORD_ONLY, "*")):
        places = [i for i, p in enumerate(plain) if p.kind is kind]
        if places and not (mark == "*" and any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in plain)):
            inside.insert(places[-1] + 1 if mark == "/" else places[0] + ("/" in inside), mark)
    return "(\n    " + ",\n    ".join(inside) + ",\n)" + shown[shown.rindex(")") + 1 :]
