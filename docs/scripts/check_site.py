"""Check the built guide: no dead link or anchor, no page outside the menu, nothing loaded from another host.

    python docs/scripts/check_site.py [SITE]

Links of the Markdown files that stand outside the guide (README, CHANGELOG and others) are checked too.
"""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[2]
#: Attributes whose target a browser loads without being asked.
_LOADED = {("img", "src"), ("script", "src"), ("source", "srcset"), ("img", "srcset"), ("link", "href"),
           ("iframe", "src"), ("video", "src"), ("audio", "src"), ("object", "data"), ("embed", "src"),
           ("use", "href"), ("image", "href"), ("form", "action")}  # fmt: skip
_FOREIGN = re.compile(r"(?:https?:)?//", re.IGNORECASE)
_IN_CSS = re.compile(r"""@import\s+["']?([^"';]+)|url\(\s*["']?([^"')]+)""")
_IN_MARKDOWN = re.compile(
    r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|<(?:img|a|source)[^>]*?(?:src|href|srcset)=\"([^\"]+)\""
)
#: Folders without pages of the project.
_ELSEWHERE = {"docs", "site", "node_modules"}


class Page(HTMLParser):
    """The ids, links and loaded addresses of a page, and the links of its menu."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.menu: set[str] = set()
        self.loaded: list[str] = []
        self.policy = ""
        self._inside = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.update(given[name] for name in ("id", "name") if name in given)
        if tag == "nav":
            self._inside += 1 if self._inside or "md-nav--primary" in given.get("class", "") else 0
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
            if self._inside:
                self.menu.add(given["href"])
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given.get("content", "")
        for name, value in given.items():
            if (tag, name) in _LOADED:
                parts = value.split(",") if name == "srcset" and not value.startswith("data:") else [value]
                self.loaded += [part.split()[0] for part in parts if part.strip()]
        self.loaded += _styled(given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "nav" and self._inside:
            self._inside -= 1


def _styled(text: str) -> list[str]:
    return [a or b for a, b in _IN_CSS.findall(text)]


def site_faults(site: Path) -> list[str]:
    """Return everything that is wrong with a built site, one sentence each."""
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    pages = {name: Page((site / name).read_text("utf-8")) for name in sorted(files) if name.endswith(".html")}
    faults = []
    for name, page in pages.items():
        if "default-src 'self'" not in page.policy:
            faults.append(f"{name}: no policy that forbids other hosts")
        faults += [f"{name}: loads {address}" for address in page.loaded if _FOREIGN.match(address)]
        for address in dict.fromkeys([*page.links, *page.loaded]):
            if fault := _dead(address, name, files, pages):
                faults.append(f"{name}: {fault}")
    for name in sorted(each for each in files if each.endswith(".css")):
        faults += [f"{name}: loads {a}" for a in _styled((site / name).read_text("utf-8")) if _FOREIGN.match(a)]
    if "index.html" not in pages:
        return [*faults, "no index.html"]
    menu = {"index.html", "404.html", *(posixpath.normpath(urlsplit(a).path) for a in pages["index.html"].menu)}
    return [*faults, *(f"{name}: not in the menu" for name in pages if name not in menu)]


def _dead(address: str, own: str, files: set[str], pages: dict[str, Page]) -> str | None:
    """Return what is wrong with an address inside the site."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    path = unquote(parts.path)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(own), path)) if path else own
    if own == "404.html" or path.startswith("/"):  # from the root of the site
        target = posixpath.normpath(path.lstrip("/")) if path.strip("/") else "index.html"
    if path.endswith("/") or target == ".":
        target = posixpath.normpath(posixpath.join(target, "index.html"))
    if target not in files:
        return f"{address} leads nowhere"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].ids and not anchor.startswith("__"):
        return f"{address}: no such place on the page"
    return None


def markdown_faults(root: Path = ROOT) -> list[str]:
    """Return dead links of Markdown files outside the guide, as a code host shows them."""
    tracked = [p for p in sorted(root.rglob("*.md")) if not _ELSEWHERE & set(p.relative_to(root).parts)]
    faults = []
    for path in (p for p in tracked if not any(part.startswith(".venv") for part in p.relative_to(root).parts)):
        text = re.sub(r"^```.*?^```|`[^`\n]+`", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for address in (a or b for a, b in _IN_MARKDOWN.findall(text)):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else path.parent / unquote(parts.path)
            if not target.exists():
                faults.append(f"{path.relative_to(root)}: {address} leads nowhere")
            elif (
                parts.fragment and target.suffix == ".md" and parts.fragment not in headings(target.read_text("utf-8"))
            ):
                faults.append(f"{path.relative_to(root)}: {address}: no such heading")
    return faults


def headings(text: str) -> set[str]:
    """Return the anchors that a code host gives to the headings of a Markdown text."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for title in re.findall(r"^#+ +(.+?) *#*$", plain, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", title).lower()
        kept = "".join(c for c in words if c in " -_" or unicodedata.category(c)[0] in "LN")
        slug = kept.replace(" ", "-")
        number = 1
        while slug in found:
            slug, number = f"{kept.replace(' ', '-')}-{number}", number + 1
        found.add(slug)
    return found


def main() -> None:
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    faults = [*site_faults(site), *markdown_faults()]
    print(
        "\n".join(faults)
        or f"{len(list(site.rglob('*.html')))} pages: every link leads somewhere, no other host is asked"
    )
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
