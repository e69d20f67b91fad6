"""Debian's Chromium, driven by Playwright; a test that cannot have it skips and says what to install."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


@contextmanager
def opened(*flags: str) -> Iterator[Any]:
    """Give a browser that asks no one for anything, and close it."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-all brings it")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium on the path: install Debian's package chromium")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=[*FLAGS, *flags])
        yield browser
        browser.close()
