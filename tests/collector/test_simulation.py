"""The demonstration in a real browser: ten thousand devices are played, and the collector learns what they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from chromium_browser import opened
from collecting import collector
from discreet.collector.client_pages import DEVICES, SHARES, served, simulated_task


def test_the_page_asks_no_one_but_the_collector() -> None:
    task = simulated_task()
    pages = served(task)
    page = pages["/demo"][1].decode("utf-8")
    assert task.digest in page
    assert "default-src 'none'" in page
    assert all(name in page for name in SHARES)
    for _, content in pages.values():
        assert b"https://" not in content.replace(b"http://www.w3.org/2000/svg", b"")
    assert len(pages["/demo/discreet.js"][1]) < 26_000


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
def test_ten_thousand_devices_in_a_browser(tmp_path: Path, width: int) -> None:
    task, data = simulated_task(), tmp_path / "collected"
    with collector(data, task, simulated=task.digest) as running, opened() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        logged: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: logged.append(message.text))
        page.on("pageerror", lambda error: logged.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        token = (data / "operator.token").read_text().strip()
        page.goto(f"http://127.0.0.1:{running.port}/demo#{token}")
        page.wait_for_selector("#more:not([disabled])", timeout=120_000)
        assert f"{DEVICES:,} noisy reports" in page.inner_text("#told")
        assert page.locator("#found tbody tr").count() == len(SHARES)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert logged == []
        assert all(
            url.startswith(f"http://127.0.0.1:{running.port}/") and token not in url.partition("#")[0] for url in asked
        )
        found = {one["candidate"]: one for one in running.read(f"/v1/tasks/{task.digest}/estimate")[1]["estimates"]}
        for name, share in SHARES.items():  # five standard errors of nine estimates and of the page's own draw
            assert (
                abs(found[name]["count"] - share * DEVICES)
                < 5 * found[name]["std_error"] + 5 * (share * DEVICES) ** 0.5
            )
