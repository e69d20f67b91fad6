"""The built guide: links lead somewhere, every page is in the menu, search works, and no other host is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import chromium_browser

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "scripts"))
import check_site  # noqa: E402

POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'self'">"""
#: The beginnings of wide tables, code and pictures that no box scrolls.
CUT_OFF = """() => [...document.querySelectorAll('.md-typeset :is(table, pre, img, svg)')].filter(e => {
  if (e.getBoundingClientRect().right <= 391) return false
  for (let box = e; box.matches('.md-typeset *'); box = box.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(box).overflowX) && box.getBoundingClientRect().right <= 391)
      return false
  return true
}).map(e => e.outerHTML.slice(0, 80))"""
MENU = '<nav class="md-nav md-nav--primary"><a href="index.html">a</a><a href="other.html">b</a></nav>'


def _site(folder: Path, **changed: str) -> Path:
    """Write a site of two pages without a fault, some of its files changed."""
    pages = {
        "index.html": f'{POLICY}{MENU}<h1 id="top">A</h1><a href="other.html#place">there</a><img src="a.svg">',
        "other.html": f'{POLICY}<a href="index.html">back</a><p id="place"><a href="https://example.org">out</a>',
        "404.html": f'{POLICY}<a href="/other.html">b</a>',
        "a.svg": "<svg/>",
        "a.css": "p { background: url(a.svg) }",
    }
    for name, text in (pages | {key.replace("_", "."): text for key, text in changed.items()}).items():
        (folder / name).write_text(text, "utf-8")
    return folder


def test_a_site_without_a_fault_passes(tmp_path: Path) -> None:
    assert check_site.site_faults(_site(tmp_path)) == []


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("other_html", f'{POLICY}<a href="gone.html">x</a><p id="place">', "gone.html leads nowhere"),
        ("other_html", f'{POLICY}<a href="index.html#gone">x</a><p id="place">', "no such place"),
        ("other_html", POLICY, "other.html#place: no such place"),
        ("other_html", f'{POLICY}<img src="gone.png"><p id="place">', "gone.png leads nowhere"),
        ("other_html", f'{POLICY}<script src="//cdn.example/x.js"></script><p id="place">', "loads //cdn.example/x.js"),
        ("other_html", f'{POLICY}<img srcset="https://a.example/x.png 2x"><p id="place">', "loads https://a.example"),
        ("other_html", f'{POLICY}<p id="place" style="background: url(https://a.example/x)">', "loads https://a.ex"),
        ("other_html", '<p id="place">', "no policy"),
        ("a_css", '@import "https://fonts.example/x.css";', "a.css: loads https://fonts.example"),
        ("lost_html", POLICY, "lost.html: not in the menu"),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, file: str, text: str, fault: str) -> None:
    found = check_site.site_faults(_site(tmp_path, **{file: text}))
    assert len(found) == 1
    assert fault in found[0]


def test_markdown_outside_the_guide_has_no_dead_link() -> None:
    assert check_site.markdown_faults() == []


def test_dead_links_of_markdown_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# One `x`\n\n## Was ist „neu“?\n\n[ok](#one-x) [ok](#was-ist-neu) [no](#two) [no](b.md) `[code](c.md)`\n"
        '<img alt="x" src="gone.png">\n'
    )
    found = check_site.markdown_faults(tmp_path)
    assert [fault.split(": ")[1] for fault in found] == ["#two", "b.md leads nowhere", "gone.png leads nowhere"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: make test-all brings it")
    site = tmp_path_factory.mktemp("guide") / "site"
    words = ["build", "--strict", "--quiet", "--config-file", ROOT / "mkdocs.yml", "--site-dir", site]
    told = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, "-m", "mkdocs", *words], cwd=ROOT, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return site


@contextmanager
def _served(folder: Path, seen: list[str]) -> Iterator[str]:
    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            seen.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    with _served(built, []) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium_browser.opened() as opened:
        yield opened


@pytest.mark.slow
def test_the_guide_is_built_without_a_dead_link_or_a_foreign_address(built: Path) -> None:
    assert check_site.site_faults(built) == []
    assert not list(built.rglob("*.py")) + list(built.rglob("__pycache__"))
    notebooks = list((ROOT / "docs" / "tutorials").glob("*.ipynb"))
    assert notebooks
    for notebook in notebooks:
        assert 'class="shown' in (built / "tutorials" / f"{notebook.stem}.html").read_text("utf-8")


def _pages(site: Path) -> list[str]:
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))


@pytest.mark.slow
def test_no_page_asks_another_host_or_is_wider_than_a_phone(built: Path, address: str, browser: Any) -> None:
    """All requests of all pages at 390 pixels; code, tables and charts scroll in their boxes, the page does not."""
    tab = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    index = json.loads((built / "search" / "search_index.json").read_text("utf-8"))
    small = json.dumps({**index, "docs": index["docs"][:1]})  # every page would index all words anew
    tab.route("**/search_index.json", lambda route: route.fulfill(body=small, content_type="application/json"))
    asked: list[str] = []
    wrong: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("response", lambda answer: wrong.append(answer.url) if answer.status >= 400 else None)
    wide = []
    for name in _pages(built):
        tab.goto(address + name)
        if tab.evaluate("document.scrollingElement.scrollWidth") > 390:
            wide.append(name)
        assert tab.evaluate(CUT_OFF) == [], name
    assert wide == []
    assert wrong == []
    assert {url for url in asked if not url.startswith((address, "data:", "blob:"))} == set()


@pytest.mark.slow
@pytest.mark.parametrize("folder", [False, True], ids=["served", "opened from a folder"])
def test_search_finds_a_page_and_asks_no_other_host(built: Path, address: str, browser: Any, folder: bool) -> None:
    start = built.as_uri() + "/" if folder else address
    tab = browser.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(start + "index.html")
    tab.locator("input.md-search__input").click()
    tab.keyboard.type("microaggregation")
    found = tab.locator(".md-search-result__link")
    found.first.wait_for()
    assert any("masking.html" in str(link.get_attribute("href")) for link in found.all())
    found.first.click()
    tab.wait_for_url("**/*.html*")
    assert [url for url in asked if not url.startswith((start, "data:", "blob:"))] == []
    tab.close()


@pytest.mark.slow
def test_the_policy_of_a_page_stops_a_request_to_another_host(address: str, browser: Any, tmp_path: Path) -> None:
    (tmp_path / "plain.html").write_text("<p>a page without a policy</p>")
    seen: list[str] = []
    with _served(tmp_path, seen) as other:
        ask = f"fetch('{other}asked', {{mode: 'no-cors'}}).then(() => true, () => false)"
        tab = browser.new_page()
        tab.goto(address)
        assert not tab.evaluate(ask)
        assert seen == []
        tab.goto(other.replace("127.0.0.1", "localhost") + "plain.html")
        assert tab.evaluate(ask)
        assert "/asked" in seen
        tab.close()


@pytest.mark.slow
def test_the_switch_goes_from_the_system_to_light_and_dark_and_pictures_follow(address: str, browser: Any) -> None:
    tab = browser.new_context(color_scheme="light", viewport={"width": 1000, "height": 900}).new_page()
    tab.goto(address + "gallery.html")
    body = tab.locator("body")
    scheme = [body.get_attribute("data-md-color-scheme")]
    picture = tab.locator("img[src$='cross-table.svg']")
    seen = [picture.screenshot()]
    for _ in range(2):
        tab.locator("form.md-header__option label:not([hidden])").click()
        tab.wait_for_timeout(400)
        scheme.append(body.get_attribute("data-md-color-scheme"))
        seen.append(picture.screenshot())
    assert scheme == ["default", "default", "slate"]
    dark = browser.new_context(color_scheme="dark", viewport={"width": 1000, "height": 900}).new_page()
    dark.goto(address + "gallery.html")
    assert seen[1] != seen[2]
    assert seen[2] == dark.locator("img[src$='cross-table.svg']").screenshot(), (
        "the picture has the colours of the page"
    )
    tab.goto(address + "index.html")
    assert body.get_attribute("data-md-color-scheme") == "slate", "the choice is kept"
