"""Every screen in both themes and three widths; and one whole story with nothing but the keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studio_runs import COLUMNS, people, released
from studio_story import Visit, studio

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_screen_in_both_themes_and_three_widths(chromium, axe, request, tmp_path, language):
    folder = Path(request.config.getoption("--studio-pictures") or tmp_path / "pictures") / "screens"
    folder.mkdir(parents=True, exist_ok=True)
    given = {"epsilon": 2.0, "delta": 1e-9, "seed": 1}
    project = released(tmp_path, "synthesize", given, {"table": "rows.csv", "release": "s.parquet"}, COLUMNS)
    here = f"/p/{project.id}"
    places = {
        "start": "/", "guide": f"{here}/goal/guide", "run": f"{here}/release/1", "results": f"{here}/results/1",
        "sign": f"{here}/evidence/1/sign", "report": f"{here}/evidence/1/report",
        **{name: f"{here}/{name}" for name in ("data", "columns", "goal", "plan", "release", "evidence", "account")},
    }  # fmt: skip
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address, pictures=folder, locale=language)
        visit.go(places["results"])
        visit.wait("#columns ~ .pictures svg")
        wrong: list[str] = []
        for name, path in places.items():
            for theme in ("light", "dark"):
                visit.tab.emulate_media(color_scheme=theme)
                for width in (390, 1280, 2560):
                    visit.tab.set_viewport_size({"width": width, "height": 900})
                    visit.go(path)
                    visit.axe = axe if width < 2560 and name != "report" else None
                    try:
                        visit.check(f"{name}-{theme}-{width}-{language}")
                    except AssertionError as error:  # all of them at once: a run takes minutes
                        wrong.append(str(error).splitlines()[0])
        assert wrong == []
        visit.close()


class Keys:
    """Somebody without a mouse: where the focus is must be seen, and everything is reached by the Tab key."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.tab = visit, visit.tab

    def to(self, selector: str, most: int = 250) -> Any:
        """Press Tab until the focus is where it is wanted."""
        for _ in range(most):
            self.tab.keyboard.press("Tab")
            seen, there = self.tab.evaluate(
                """selector => { const e = document.activeElement, s = getComputedStyle(e);
                const shown = (parseFloat(s.outlineWidth) > 0 && s.outlineStyle !== 'none') || s.boxShadow !== 'none'
                  || e.closest(':has(:focus-visible)') !== null && e.matches('input[type=checkbox], input[type=radio]')
                  || e.matches('input[type=date]');  // its parts have rings of their own
                return [shown, e.matches(selector)]; }""",
                selector,
            )
            assert seen, self.tab.evaluate("document.activeElement.outerHTML")[:200]
            if there:
                return self.tab.locator(selector).first
        raise AssertionError(f"{selector} was not reached on {self.tab.url}")

    def type(self, selector: str, text: str) -> None:
        """Go to a field and type into it."""
        self.to(selector)
        self.tab.keyboard.press("Control+A")
        self.tab.keyboard.type(text)

    def pick(self, selector: str, value: str) -> None:
        """Go to a list and move in it to a value."""
        place = self.to(selector)
        for _ in range(20):
            if place.input_value() == value:
                return
            self.tab.keyboard.press("ArrowDown")
        raise AssertionError(f"{value} is not in {selector}")

    def enter(self, selector: str) -> None:
        """Go to a button or a link and press Enter."""
        self.to(selector)
        with self.tab.expect_navigation():
            self.tab.keyboard.press("Enter")


def test_a_whole_story_with_nothing_but_the_keyboard(chromium, axe, tmp_path):
    table = people(tmp_path / "people.csv")
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address, axe=axe)
        keys = Keys(visit)
        keys.type("#path", str(table))
        with visit.tab.expect_navigation():
            visit.tab.keyboard.press("Enter")
        keys.enter('main a.button[href$="/columns"]')
        for name in ("age", "sex", "income"):
            keys.pick(f'[name="role:{name}"]', "unused")
        for name in ("x", "y"):
            keys.pick(f'[name="kind:{name}"]', "number")
            keys.type(f'[name="low:{name}"]', "0")
            keys.type(f'[name="high:{name}"]', "10")
        with visit.tab.expect_navigation():
            visit.tab.keyboard.press("Enter")  # in a field: saves
        keys.enter('main a[href$="/goal"]')
        keys.enter('form.card:has(input[value="synopsis"]) button:not([type=button])')
        keys.type("#epsilon", "1")
        keys.enter("button[value=go]")
        if visit.tab.locator("[name=uncounted]").count():
            keys.to("[name=uncounted]")
            visit.tab.keyboard.press("Space")
        keys.enter('form[action$="/start"] button:not([type=button])')
        visit.wait("h1 .chip.good", 240)
        keys.enter('main a.button[href$="/evidence"]')
        visit.wait("#audit")
        keys.enter('form[action$="/audit"] button:not([type=button])')
        visit.wait(".chip.good")
        keys.type("#sign-name", "A. Example")
        with visit.tab.expect_navigation():
            visit.tab.keyboard.press("Enter")
        visit.wait(".to-sign")
        assert "A. Example" in visit.tab.locator(".signature").inner_text()
        visit.close()
