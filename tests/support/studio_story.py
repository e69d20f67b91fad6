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

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.said.append(message.text)

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
