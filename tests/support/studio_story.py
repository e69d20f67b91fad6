"""A real studio and a real browser: what a steward does, watched for what must not happen."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.core.budget.guarantee import Guarantee
from discreet.core.output.files import promise_place
from discreet.synopses import Synopsis

#: Told by the page itself when its policy is broken; put there before anything else runs.
_WATCH = (
    "addEventListener('securitypolicyviolation', e => console.error('CSP ' + e.violatedDirective + ' ' + e.blockedURI))"
)
_RUN_AXE = """async () => {
  const found = await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] });
  const shown = nodes => nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ');
  return found.violations.map(v => v.id + ': ' + v.help + ' ' + shown(v.nodes));
}"""


@contextmanager
def studio(home: Path, *arguments: str) -> Iterator[str]:
    """Serve a studio from a process of its own, and yield the address that it prints."""
    asked = [sys.executable, "-m", "discreet.cli", "studio", "--no-browser", "--folder", str(home), *arguments]
    env = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "400", "NO_COLOR": "1", "HOME": str(home.parent)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(asked, text=True, env=env, **pipes)
    said = ""
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if found := re.search(r"http://\S+", line):
                yield found[0]
                break
        else:
            raise AssertionError(f"the studio did not start: {said}")
    finally:
        process.terminate()
        process.communicate(timeout=20)


def axe_script(folder: Path) -> str | None:
    """Return axe-core, from the file that DISCREET_AXE names or fetched into a folder; None if it cannot be had."""
    if named := os.environ.get("DISCREET_AXE"):
        return Path(named).read_text(encoding="utf-8")
    if (npm := shutil.which("npm")) is None:
        return None
    try:
        subprocess.run([npm, "pack", "--silent", "axe-core@4"], cwd=folder, check=True, timeout=90, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        return None
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as packed:
        file = packed.extractfile("package/axe.min.js")
        return None if file is None else file.read().decode()


class Visit:
    """A tab that is signed in: what was asked of whom, what was logged, and what a screen reader would miss."""

    def __init__(
        self, browser: Any, address: str, *, axe: str | None = None, pictures: Path | None = None, **settings: Any
    ) -> None:  # fmt: skip
        self.origin = "/".join(address.split("/")[:3])
        settings = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", "accept_downloads": True, **settings}
        self.context = browser.new_context(**settings)
        self.context.set_default_timeout(30_000)
        self.context.add_init_script(_WATCH)
        self.axe, self.pictures, self.slow = axe, pictures, []
        self.asked: list[str] = []
        self.said: list[str] = []
        self.tab = self.context.new_page()
        self.context.on("page", self._follow)
        self._follow(self.tab)
        self.tab.goto(address)

    def _follow(self, tab: Any) -> None:
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.on(
            "console", lambda message: self.said.append(message.text) if message.type in ("error", "warning") else None
        )
        tab.on("pageerror", lambda error: self.said.append(str(error)))

    def go(self, path: str) -> None:
        """Open a page of the studio."""
        self.tab.goto(f"{self.origin}{path}")

    @property
    def project(self) -> str:
        """The project that the tab is at."""
        return re.search(r"/p/([a-z0-9]+)", self.tab.url)[1]  # type: ignore[index]

    def press(self, name: str, *, role: str = "button", exact: bool = False) -> None:
        """Press a button, or follow a link, by the name that a screen reader says."""
        self.tab.get_by_role(role, name=name, exact=exact).first.click()

    def fill(self, **fields: str) -> None:
        """Fill in fields by their ids; a dash stands for an underscore."""
        for name, value in fields.items():
            self.tab.locator(f"#{name.replace('_', '-')}").fill(value)

    def wait(self, selector: str, seconds: float = 90) -> None:
        """Wait until something stands on the page, which may load itself again."""
        self.tab.wait_for_selector(selector, timeout=1000 * seconds)

    def check(self, name: str = "") -> None:
        """Look at the page as it is: nothing sticks out sideways, no one is left out; a picture if a name is given."""
        self.tab.wait_for_selector("[data-refresh]", state="detached", timeout=90_000)  # it loads itself once more
        self.tab.wait_for_load_state("load")
        if name and self.pictures is not None:
            self.tab.evaluate("scrollTo(0, 0)")
            self.tab.screenshot(path=self.pictures / f"{name}.png", full_page=True)
        width = self.tab.viewport_size["width"]
        assert self.tab.evaluate("document.documentElement.scrollWidth") <= width, (self.tab.url, name)
        assert self.tab.locator("h1").count() == 1, self.tab.url
        if self.axe is not None:
            self.tab.evaluate(self.axe)  # through the debugger: the page's own policy would refuse it
            found = self.tab.evaluate(_RUN_AXE)
            assert found == [], (self.tab.url, json.dumps(found, indent=1))

    def close(self) -> None:
        """End the visit: nothing was asked of anybody else, and nothing was logged."""
        others = [url for url in self.asked if not url.startswith((self.origin + "/", "data:", "blob:"))]
        assert others == []
        assert self.said == []
        self.context.close()


def digest_of(file: Path) -> str:
    """Return the seal of a release."""
    beside = promise_place(file)
    sealed = Guarantee.from_json(beside.read_text()).digest if beside.is_file() else Synopsis.load(file).digest
    assert sealed is not None
    return sealed


def again(visit: Visit, folder: Path, output: str) -> str:
    """Run the downloaded job file as the command line does, and return the digest of what comes out."""
    with visit.tab.expect_download() as waited:
        visit.tab.get_by_role("link", name="job.toml").first.click()
    folder.mkdir()
    job = folder / "job.toml"
    waited.value.save_as(job)
    done = subprocess.run(
        [sys.executable, "-m", "discreet.cli", "run", str(job)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = re.search(rf'^{output} = "(.+)"$', job.read_text(), re.M)
    assert made is not None
    return digest_of(folder / made[1])


def evidence(visit: Visit, name: str) -> None:
    """Audit a release, read its report, and come to the page to sign."""
    project = visit.project
    visit.go(f"/p/{project}/evidence")
    visit.wait("#report")
    visit.fill(said_title="A release", said_owner="Ward 3", said_purpose="Planning of beds", said_date="2026-11-16")
    visit.tab.locator("form:has(#said-title) button:not([type=button])").first.click()
    visit.wait("#audit")
    buttons = visit.tab.locator('form[action$="/audit"] button:not([type=button])')
    for number in range(buttons.count()):  # every file that carries a promise
        buttons.nth(number).click()
        visit.wait(f"section:has(#audit) h3:nth-of-type({number + 1}) .chip.good")
        visit.tab.wait_for_selector("[data-refresh]", state="detached")
    visit.check(f"{name}-evidence")
    with visit.context.expect_page() as waited:
        visit.tab.get_by_role("link", name=re.compile("report|Bericht", re.I)).first.click()
    report = waited.value
    report.wait_for_load_state("load")
    assert "A release" in report.locator("h1").inner_text()
    assert report.locator("svg").count() > 0
    assert report.evaluate("getComputedStyle(document.body).maxWidth") != "none"  # its own style was let in
    report.close()
    visit.fill(sign_name="A. Example", sign_date="2026-11-16")
    visit.tab.locator("form:has(#sign-name) button:not([type=button])").first.click()
    visit.wait(".to-sign")
    visit.check(f"{name}-sign")


def open_table(visit: Visit, file: Path) -> None:
    """Open a table by its path and go on to its columns."""
    visit.go("/")
    visit.fill(path=str(file))
    visit.tab.locator("#path").press("Enter")
    visit.wait("h1")
    visit.check()


def declare(visit: Visit, columns: dict[str, dict[str, str]], **beside: str) -> None:
    """Declare columns as they are typed: role, kind, low, high, list, missing."""
    visit.go(f"/p/{visit.project}/columns")
    for name, told in columns.items():
        for field, value in told.items():
            place = visit.tab.locator(f'[name="{field}:{name}"]')
            if place.evaluate("e => e.tagName") == "SELECT":
                place.select_option(value)
            else:
                place.fill(value)
    for name, value in beside.items():
        place = visit.tab.locator(f'[name="{name}"]').first
        if name == "unit":
            visit.tab.locator(f'[name="unit"][value="{value}"]').check()
        else:
            place.fill(value)
    visit.tab.locator("button.main[value=save]").click()
    visit.wait("h1")
    assert visit.tab.locator("[aria-invalid=true]").count() == 0
    assert visit.tab.locator("tr.waits").count() == 0


def choose(visit: Visit, goal: str, **fields: str) -> None:
    """Choose a goal, say the parameters, and come to the release."""
    visit.go(f"/p/{visit.project}/goal")
    visit.check()
    visit.tab.locator(f'form.card:has(input[value="{goal}"]) button:not([type=button])').click()
    visit.wait("form.plan")
    for name, value in fields.items():
        place = visit.tab.locator(f"#{name}")
        visit.tab.evaluate("e => { const d = e.closest('details'); if (d) d.open = true; }", place.element_handle())
        if place.evaluate("e => e.tagName") == "SELECT":
            place.select_option(value)
        else:
            place.fill(value)
    visit.check()
    visit.tab.locator("button[value=go]").click()
    visit.tab.wait_for_url("**/release*")


def release(visit: Visit, name: str) -> None:
    """Start the release and wait until it is done and drawn."""
    visit.check(f"{name}-release" if name else "")
    if visit.tab.locator("[name=uncounted]").count():
        visit.tab.locator("[name=uncounted]").check()
    visit.tab.locator('form[action$="/start"] button:not([type=button])').click()
    visit.wait("h1 .chip.good", 240)
    visit.wait("main svg, #reached", 60)
    visit.check(f"{name}-results" if name else "")
