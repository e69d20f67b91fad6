"""The reference has a page for every room, and every public name is on one."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

DOCS = Path(__file__).parents[2] / "docs"
_spec = importlib.util.spec_from_file_location("hook", DOCS / "hook.py")
assert _spec is not None
assert _spec.loader is not None
hook = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hook)


def test_every_room_has_a_page_and_every_page_a_room() -> None:
    pages = {f"{path.removeprefix('discreet.')}.md" for path in hook.rooms()}
    assert pages | {"index.md"} == {p.name for p in (DOCS / "reference").glob("*.md")}


def test_every_public_name_is_shown_with_its_docstring() -> None:
    by_hand = SimpleNamespace(file=SimpleNamespace(generated_by=None))
    for path, names in hook.rooms().items():
        page = (DOCS / "reference" / f"{path.removeprefix('discreet.')}.md").read_text(encoding="utf-8")
        made = hook.on_page_markdown(page, by_hand)
        assert names, path
        assert re.findall(r"^## (\S+) ", made, re.MULTILINE) == names
        for entry in made.split("\n## ")[1:]:
            assert re.search(r"\n```\n\n\w", entry), f"{path}: {entry.split()[0]} has no docstring"
    index = hook.on_page_markdown((DOCS / "reference" / "index.md").read_text(encoding="utf-8"), by_hand)
    assert all(f"[`{name}`]" in index for names in hook.rooms().values() for name in names)


def test_parameters_examples_and_methods_are_readable() -> None:
    made = "\n".join(hook._entry("discreet.TreeSynopsis", hook.discreet.TreeSynopsis))
    assert "- `epsilon`: float" in made
    assert "- `max_depth`: " in made
    assert "```pycon\n>>> " in made
    assert re.search(r"^\| `fit\(X, y.*\)` \| \w", made, re.MULTILINE)
    assert "----" not in made


def test_a_signature_is_one_that_python_reads() -> None:
    import ast

    for path, names in hook.rooms().items():
        for name in names:
            shown = hook._signature(getattr(hook._module(path), name))
            if shown and "<" not in shown:
                ast.parse(f"def f{shown}: ...")


def test_a_chart_with_a_narrow_form_shows_it_on_a_phone() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="studies/frontier.md"))
    wide = '<p><img alt="a" src="images/frontier-costs.svg" /> <img alt="b" src="images/frontier-promise.svg" /></p>'
    made = hook.on_page_content(wide, page=page)
    assert made.count("<picture>") == 1
    assert 'srcset="images/frontier-costs-narrow.svg"' in made
