"""What the package says about itself is true: versions, systems, changelog, citation, templates, hosted checks."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import discreet as dc

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
#: The fields of a citation file that we use, by the rules of the Citation File Format 1.2.0.
CITATION: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["authors", "cff-version", "message", "title"],
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "message": {"type": "string", "minLength": 1},
        "title": {"type": "string", "minLength": 1},
        "abstract": {"type": "string", "minLength": 1},
        "type": {"enum": ["dataset", "software"]},
        "version": {"type": "string"},
        "license": {"type": "string"},
        "keywords": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}},
        "authors": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/entity"}},
        "contact": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/entity"}},
    },
    "$defs": {"entity": {"type": "object", "required": ["name"], "additionalProperties": False,
                         "properties": {"name": {"type": "string"}, "email": {"type": "string"}}}},
}  # fmt: skip


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_classifiers_state_what_is_tested() -> None:
    found = PROJECT["project"]["classifiers"]
    assert [c for c in found if "Operating System" in c] == ["Operating System :: POSIX :: Linux"]
    versions = [c.rpartition(" ")[2] for c in found if re.search(r":: 3\.\d+$", c)]
    assert versions == ["3.11"]
    assert "Development Status :: 4 - Beta" in found
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    page = text("docs/install.md")
    assert re.search(r"\| Linux on x86-64, Python 3\.11 \| tested", page)
    assert re.search(r"\| Windows \| \*\*not supported", page)


def test_one_version_everywhere() -> None:
    assert dc.__version__ == "1.0.0rc1"
    assert yaml.safe_load(text("CITATION.cff"))["version"] == dc.__version__
    assert f"## {dc.__version__} - " in text("CHANGELOG.md")
    assert dc.__version__ in text("SECURITY.md")


def test_the_changelog_keeps_its_form() -> None:
    lines = text("CHANGELOG.md").splitlines()
    assert len(lines) <= 250
    assert not [line for line in lines if len(line) > 100]
    releases = [line for line in lines if line.startswith("## ")]
    assert releases[0] == "## Unreleased"
    assert all(re.fullmatch(r"## \S+ - (unreleased|\d{4}-\d\d-\d\d)", line) for line in releases[1:])
    usual = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for part in "\n".join(lines).split("\n## ")[1:]:
        parts = re.findall(r"^### (.*)$", part, re.MULTILINE)
        assert parts == [name for name in usual if name in parts], part[:40]


def test_links_of_the_front_files_lead_somewhere() -> None:
    for name in ("CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text(name)):
            assert (ROOT / target).exists(), (name, target)


def test_the_citation_has_its_form() -> None:
    jsonschema.validate(yaml.safe_load(text("CITATION.cff")), CITATION)
    assert yaml.safe_load(text("CITATION.cff"))["license"] == PROJECT["project"]["license"]


@pytest.mark.parametrize("place", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda p: p.name)
def test_issue_templates_have_their_form(place: Path) -> None:
    held = yaml.safe_load(place.read_text(encoding="utf-8"))
    if place.name == "config.yml":
        assert held["blank_issues_enabled"] is False
        return
    assert held["name"]
    assert held["description"]
    kinds = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
    assert {part["type"] for part in held["body"]} <= kinds
    named = [part["id"] for part in held["body"] if part["type"] != "markdown"]
    assert len(set(named)) == len(named) >= 1
    assert all(
        "value" in p["attributes"] if p["type"] == "markdown" else "label" in p["attributes"] for p in held["body"]
    )


def test_hosted_checks_call_targets_that_exist_on_supported_versions() -> None:
    targets = set(re.findall(r"^([a-z-]+):(?!=)", text("Makefile"), re.MULTILINE))
    held = yaml.safe_load(text(".github/workflows/checks.yml"))
    assert set(held[True]) == {"push", "pull_request"}  # YAML 1.1 reads `on` as true
    called = set()
    for name, job in held["jobs"].items():
        assert job["timeout-minutes"] <= 120, name
        matrix = job.get("strategy", {}).get("matrix", {})
        lines = [step["run"] for step in job["steps"] if "run" in step]
        assert lines, name
        for line in lines:
            (target,) = re.findall(r"^make (\$\{\{ matrix\.target \}\}|\S+)", line)
            called |= set(matrix["target"]) if "matrix" in target else {target}
        assert all(tuple(map(int, v.split("."))) >= (3, 11) for v in matrix.get("python", ()))
    assert called <= targets
    assert {"test", "lint", "wheel", "docs"} <= called
    assert len(held["jobs"]["test"]["strategy"]["matrix"]["python"]) >= 2


def test_the_source_archive_holds_every_tracked_file() -> None:
    done = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        pytest.skip("not a clone")
    included = {name.strip("/") for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    own = {
        ".gitignore",
        ".pre-commit-config.yaml",
        "pyproject.toml",
    }  # the first two are for a clone; the last is always in
    top = {line.partition("/")[0] for line in done.stdout.splitlines()}
    assert top - own == included


def test_the_page_of_formats_states_the_versions_of_the_code() -> None:
    from discreet.accounts import book
    from discreet.anonymity.release import history, record
    from discreet.collector.stores import base
    from discreet.core.budget import guarantee
    from discreet.local.tasks import device_file, frames, task
    from discreet.local.wire import binary
    from discreet.metric import user_ledger
    from discreet.synopses import file

    rows = {
        line.split("|")[1].strip(): line.split("|")[3]
        for line in text("docs/versions.md").splitlines()
        if line[:1] == "|"
    }
    stated = {
        "synopsis (`.parquet`)": [file._FORMAT_VERSION],
        "guarantee (`.guarantee.json`)": [guarantee._FORMAT_VERSION],
        "reports, counts, bitmaps": [binary.VERSION],
        "frame, sealed frame": [frames.VERSION],
        "task (`.json`)": [task._VERSION, task.CLIENT],
        "device file": [device_file._VERSION],
        "account (`.account`)": [book.VERSION],
        "release history (folder)": [history._FORMAT_VERSION, record._FORMAT_VERSION],
        "user ledger, report ledger": [user_ledger._VERSION],
        "store of a collector (SQLite, PostgreSQL, segments)": [base.FORMAT],
    }
    for name, versions in stated.items():
        assert [int(number) for number in re.findall(r"\d+", rows[name])] == versions, name
    golden = json.loads(text("tests/golden/evidence/record.json"))
    assert f"`format_version` {golden['format_version']}" in rows["record (`.json`)"]
