"""Columns, goal and plan in a real browser: with script, without it, on a phone, for a screen reader, in the dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.studio.workspace import Workspace
from studio_story import Visit, studio

pytestmark = pytest.mark.slow

SCHEMA = """\
[columns]
age = {kind = "integer", bounds = [0, 120], role = "quasi-identifier"}
sex = {categories = ["f", "m"], role = "quasi-identifier"}
income = {bounds = [0, 1e6], role = "sensitive"}
"""


def _project(home: Path, schema: str = "") -> str:
    table = home.parent / "people.csv"
    table.write_text("age,sex,income,user_id,mood\n31,f,5,1,good\n")
    project = Workspace(home).create(source=str(table))
    if schema:
        project.schema_file.write_text(schema)
    return project.id


def test_columns_are_declared_and_a_plan_is_made_with_a_slider(chromium: Any, tmp_path: Path) -> None:
    project = _project(tmp_path / "studio")
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address)
        tab = visit.tab
        visit.go(f"/p/{project}/columns")
        tab.locator("#find").fill("sex")
        assert tab.locator("table.sheet tbody tr:visible").count() == 1
        tab.locator("#find").fill("")
        tab.locator('[name="kind:sex"]').select_option("category")
        assert tab.locator('[name="list:sex"]').is_visible()
        assert not tab.locator('[name="low:sex"]').is_visible()
        tab.locator('[name="list:sex"]').fill("f, m")
        tab.locator('[name="take"][value="age"]').click()
        visit.wait("[role=status] b.good")
        assert tab.locator('[name="list:sex"]').input_value() == "f, m"  # a click saves what else was typed
        tab.locator("[data-all]").evaluate("e => e.closest('details').open = true")
        for name in ("income", "mood"):
            tab.locator(f'[name="pick"][value="{name}"]').check()
        tab.locator('[name="bulk_role"]').select_option("unused")
        visit.press("Set for all ticked")
        tab.locator('[name="role:user_id"]').select_option("identifier")
        visit.press("Save", exact=True)
        visit.wait("text=All columns are declared (3).")
        visit.press("Go on: what is wanted?", role="link")
        visit.press("Choose: Counts and histograms")
        visit.wait("#outlook svg")
        before = tab.locator("#outlook .figure b").inner_text()
        tab.locator("[data-log=epsilon]").focus()
        for _ in range(40):
            tab.keyboard.press("ArrowLeft")  # towards more privacy, by keyboard
        assert float(tab.locator("#epsilon").input_value()) < 0.5
        tab.wait_for_function("old => document.querySelector('#outlook .figure b').textContent !== old", arg=before)
        tab.locator("#about_wanted").fill("25")
        tab.locator("#outlook button[name=take]").click()
        visit.wait("text=Not saved yet.")
        solved = tab.locator("#epsilon").input_value()
        visit.press("Save", exact=True)
        visit.wait("text=Saved.")
        assert Workspace(tmp_path / "studio").project(project).parameters["epsilon"] == float(solved)
        visit.close()


def test_the_same_without_script(chromium: Any, tmp_path: Path) -> None:
    project = _project(tmp_path / "studio", SCHEMA)
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address, java_script_enabled=False)
        tab = visit.tab
        visit.go(f"/p/{project}/columns")
        tab.locator("#find").fill("a")
        visit.press("Find", exact=True)
        assert tab.locator("table.sheet tbody tr").count() == 1
        tab.locator('[name="high:age"]').fill("110")
        tab.locator('[name="high:age"]').press("Enter")  # is Save, not the first button that one sees
        visit.wait("text=Saved.")
        visit.go(f"/p/{project}/goal/guide")
        visit.press("A table of rows, one or more per person.", role="link")
        visit.press("Named partners, who are bound by contract.", role="link")
        visit.press("Once.", role="link")
        visit.press("Choose: An anonymous table")
        tab.locator("#k").fill("25")
        visit.press("Show what to expect")
        assert "24 others" in tab.locator("#outlook").inner_text()
        visit.press("Go on to the release")
        assert tab.url.endswith("/release")
        assert Workspace(tmp_path / "studio").project(project).parameters["k"] == 25
        visit.close()


@pytest.mark.parametrize(("width", "scheme", "language"), [(390, "dark", "de-DE"), (1280, "light", "en-GB")])
def test_every_page_is_for_everybody(
    chromium: Any, axe: Any, tmp_path: Path, width: int, scheme: Any, language: str
) -> None:
    project = _project(tmp_path / "studio", SCHEMA)
    waits = _project(tmp_path / "studio", SCHEMA + 'mood = {}\nuser_id = {role = "person"}\n')
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address, axe=axe, viewport={"width": width, "height": 844}, color_scheme=scheme,
                      locale=language)  # fmt: skip
        for path in (f"{waits}/columns", f"{waits}/columns/one?name=mood", f"{project}/goal", f"{project}/goal/guide"):
            visit.go(f"/p/{path}")
            visit.check()
        visit.go(f"/p/{project}/goal/guide?want=rows&who=public&often=monthly")
        visit.check()
        for goal in ("synthesize", "anonymize", "perturb", "sketch"):
            visit.go(f"/p/{project}/goal")
            visit.tab.locator(f"form:has([name=goal][value={goal}]) button:not([type])").click()
            visit.wait("#outlook")
            for fold in visit.tab.locator("details.fold").all():
                fold.evaluate("e => e.open = true")
            visit.check()
        visit.go(f"/p/{project}/plan/risk")
        visit.check()
        visit.close()
