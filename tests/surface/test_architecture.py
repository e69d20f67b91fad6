"""The map is true: every room and inner room is on it, and every file that it names is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def _folders(place):
    return sorted(p for p in place.iterdir() if (p / "__init__.py").is_file())


def test_the_drawing_shows_the_rooms_that_are_there():
    drawn = set(re.findall(r"^  (\w+)/ ", MAP, re.MULTILINE))
    assert drawn == {room.name for room in _folders(SOURCE)}


def test_the_drawing_names_every_inner_room():
    lines = dict(re.findall(r"^  (\w+)/ +(.*(?:\n {15}.*)*)$", MAP, re.MULTILINE))
    absent = [
        f"{room.name}/{folder.name}"
        for room in _folders(SOURCE)
        for folder in _folders(room)
        if f"{folder.name}/" not in lines[room.name]
    ]
    assert absent == []


def test_a_newcomer_reads_the_map_in_five_minutes():
    assert len(MAP.split()) <= 1200


def test_every_file_that_the_map_names_is_there():
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", MAP)) | set(re.findall(r"`((?:\w+/)+\w+)`", MAP))
    absent = [name for name in named if not (SOURCE / name).exists() and not (SOURCE.parents[1] / name).exists()]
    assert absent == []


def test_the_root_is_small_and_rooms_can_be_taken_in_at_a_glance():
    assert len(list(SOURCE.glob("*.py"))) <= 6
    folders = {SOURCE, *(file.parent for file in SOURCE.rglob("*.py"))}
    crowded = {
        f.name: n
        for f in folders
        if (n := sum(1 for p in f.glob("[!_]*") if p.is_dir() or p.suffix == ".py")) > (21 if f == SOURCE else 20)
    }
    assert crowded == {}


def test_no_room_imports_what_another_keeps_to_itself():
    crossing = []
    for file in SOURCE.rglob("*.py"):
        room, text = file.relative_to(SOURCE).parts[0], file.read_text(encoding="utf-8")
        imports = re.findall(r"from\s+discreet\.[\w.]+\s+import\s+(?:\([^)]*\)|[^\n]*)", text)
        if not any(re.search(r"(?<!\w)_[a-z]", line) for line in imports):
            continue  # nothing to look at closely
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("discreet."):
                continue
            parts = node.module.split(".")[1:]
            private = [part for part in (*parts, *(alias.name for alias in node.names)) if re.match(r"_[a-z]", part)]
            if parts[0] != room and private and private != ["_version"]:
                crossing.append(f"{file.relative_to(SOURCE)}: {node.module} {private}")
    assert crossing == []
