"""Read the recipes of docs/gallery.md, run them as printed, and draw what they returned: docs/images/gallery/NAME.svg.

    python docs/scripts/gallery.py [NAME ...]

Each recipe runs in an empty folder. Noise differs from run to run, so the pictures do too.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.reporting import verify, views
from discreet.reporting.pages import plane, svg

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "gallery.md"
TARGET = DOCS / "images" / "gallery"
_SECTION = re.compile(
    r"^## (?P<title>.+?)\n\n\*\*For\*\* (?P<who>.+?)\n\n```(?P<kind>python|sh)\n(?P<code>.+?)```\n\n"
    r"!\[(?P<seen>[^\]]+)\]\(images/gallery/(?P<name>[\w-]+)\.svg\)\n\n\*\*Promised:\*\* (?P<promise>.+?)\n\n",
    re.MULTILINE | re.DOTALL,
)
_FIGURES = {"width": 360, "height": 214}


class Recipe(NamedTuple):
    """One section of the page."""

    title: str
    who: str
    kind: str
    code: str
    seen: str
    name: str
    promise: str

    @property
    def lines(self) -> list[str]:
        """The lines of code, or the commands."""
        return [line for line in self.code.replace("\\\n", " ").splitlines() if line.strip()]


def recipes() -> list[Recipe]:
    """Return the recipes in the order of the page."""
    return [Recipe(**found.groupdict()) for found in _SECTION.finditer(PAGE.read_text("utf-8") + "\n")]


def ran(recipe: Recipe, command: Callable[[Sequence[str]], str]) -> dict[str, Any]:
    """Run a recipe in the present folder; return its names, or what its commands printed as ``printed``."""
    if recipe.kind == "sh":
        return {"printed": [command(shlex.split(line)) for line in recipe.lines]}
    space: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(recipe.code, f"{PAGE.name}: {recipe.title}", "exec"), space)
    return space


def _shell(words: Sequence[str]) -> str:
    program = Path(sys.executable).with_name(words[0])
    return subprocess.run([program, *words[1:]], check=True, capture_output=True, text=True).stdout


def _cross_table(space: dict[str, Any]) -> str:
    rows = space["answer"].to_arrow().to_pylist()
    towns, ills = (list(dict.fromkeys(row[name] for row in rows)) for name in ("town", "illness"))
    most = max(row["estimate"] for row in rows)
    parts = []
    for row in rows:
        x, y = 62 + 59 * ills.index(row["illness"]), 24 + 27 * towns.index(row["town"])
        share = max(row["estimate"], 0) / most
        parts.append(f'<rect class="people cell" x="{x}" y="{y}" width="58" height="26" fill-opacity="{share:.2f}"/>')
        tone = "on" if share > 0.6 else "words"
        parts.append(f'<text class="{tone} mid" x="{x + 29}" y="{y + 17}">{row["estimate"]:,.0f}</text>')
    parts += [f'<text class="name end" x="56" y="{41 + 27 * i}">{escape(t)}</text>' for i, t in enumerate(towns)]
    parts += [f'<text class="tick mid" x="{91 + 59 * i}" y="16">{escape(t)}</text>' for i, t in enumerate(ills)]
    width = rows[0]["high"] - rows[0]["low"]
    parts.append(f'<text class="tick" x="62" y="204">counts, each ± {width / 2:.0f} (95 %)</text>')
    return _picture("People by town and illness, noisy counts", parts, **_FIGURES)


def _monthly(space: dict[str, Any]) -> str:
    held = {"january": 3000, "february": 4000, "march": 5000}
    kept = [len(Path(f"{month}.csv").read_text("utf-8").splitlines()) - 1 for month in held]
    return str(svg.ranked(list(held), kept, title="Rows published (bar) and held (line)", second=list(held.values()),
                          axis="rows published (bar) and held (line)"))  # fmt: skip


def _find_k(space: dict[str, Any]) -> str:
    points, k = space["curve"].points, space["curve"].k
    found = svg.curve([p.k for p in points], [p.width for p in points], title="Width of the cells over k", x="k",
                      y="share of the columns' ranges that a cell leaves open", log=True,
                      level=(0.3, ""), dot=(k, next(p.width for p in points if p.k == k), f"k = {k}"))  # fmt: skip
    return str(found)


def _map(space: dict[str, Any]) -> str:
    seen = views.plane(space["synopsis"])
    assert seen is not None
    low, high = space["domain"].low, space["domain"].high
    degree = 111.195**2 * np.cos(np.radians(52.52))  # square kilometres
    return str(plane.boxes(seen["lower"], seen["upper"], seen["density"] / degree, title="Noisy density of visits",
                           x="longitude", y="latitude", low=low, high=high, unit="visits per km²"))  # fmt: skip


def _latency(space: dict[str, Any]) -> str:
    found, true = space["found"], space["latency"]
    edges = np.exp(np.linspace(np.log(10), np.log(3000), 19))
    estimated = np.diff([float(found.cdf(edge)) for edge in edges]) * 100
    real = np.diff([float(np.mean(true <= edge)) for edge in edges]) * 100
    logs = np.log10(edges)
    marks = [(float(np.log10(v)), f"{v:,} ms") for v in (10, 30, 100, 300, 1000)]
    how: dict[str, Any] = {"axis": "% of devices: estimate (bar), truth (line)", "second": real}
    how |= {"title": "Latencies, estimated and true", "edges": logs, "marks": marks}
    return str(svg.bars([f"{e:.0f} ms" for e in edges[:-1]], estimated, **how))


def _train(space: dict[str, Any]) -> str:
    from sklearn.base import clone
    from sklearn.datasets import make_moons
    from sklearn.metrics import roc_auc_score

    new, kind = make_moons(4000, noise=0.3, random_state=1)
    plain = clone(space["learner"]).fit(space["points"], space["kind"])
    auc = [roc_auc_score(kind, each.predict_proba(new)[:, 1]) for each in (plain, space["learner"])]
    how: dict[str, Any] = {"x": "x", "y": "y", "low": [-2, -2], "high": [3, 2.5], "marks": []}
    both = [(space["points"], "real rows"), (space["X"], "synthetic rows")]
    drawn = [str(plane.cloud(points[:900], title=words, **how)) for points, words in both]
    words = [f"{name}; a forest trained on them: AUC {each:.2f}" for (_, name), each in zip(both, auc, strict=True)]
    saved(_panels(drawn, words, upright=True), TARGET / "train-narrow.svg")
    return _panels(drawn, words)


def _check(space: dict[str, Any]) -> str:
    file, page = Path("discreet-demo/synopsis.parquet"), Path("page.html")
    forged = page.with_name("forged.html")
    text = page.read_text("utf-8")
    assert "ε = 1" in text
    forged.write_text(text.replace("ε = 1", "ε = 0.1"), "utf-8")
    parts, height = [], 16
    for words, one in (("the page as it was written", page), ("the same page, with ε = 0.1", forged)):
        verdict = verify([file], page=one)
        parts.append(f'<text class="name" x="0" y="{height}"><tspan font-weight="600">{words}</tspan>: '
                     f"{escape(str(verdict.to_dict()['verdict']))}</text>")  # fmt: skip
        height += 18
        for answer in [a for a in verdict.answers if a.about == one.name and a.holds is not None]:
            mark, tone = ("✓", "good") if answer.holds else ("✕", "bad")
            detail = answer.detail if len(answer.detail) < 60 else answer.detail[:58].rsplit(" ", 1)[0] + " …"
            parts.append(f'<text class="{tone}" x="8" y="{height}">{mark}</text>'
                         f'<text class="tick" x="22" y="{height}">{escape(detail)}</text>')  # fmt: skip
            height += 17
        height += 14
    return _picture("Verdicts about two pages", parts, 360, height - 14)


def _workbook(space: dict[str, Any]) -> str:
    names = ["age", "town", "job", "hours", "illness"]
    first = space["people"].table.slice(0, 4).to_pylist()
    raw = [["name", *names], *([str(row[n]) for n in ("name", *names)] for row in first)]
    safe = [names, *([str(row[n]) for n in names] for row in space["release"].table.slice(0, 4).to_pylist())]
    parts, height = [], 14
    for title, rows, wide in (
        ("people.xlsx", raw, (62, 34, 54, 60, 48, 62)),
        ("safe.xlsx", safe, (52, 86, 120, 52, 50)),
    ):
        parts.append(f'<text class="name" x="0" y="{height}"><tspan font-weight="600">{title}</tspan></text>')
        for i, row in enumerate(rows):
            height += 18
            for j, cell in enumerate(row):
                x, most = sum(wide[:j]), int(wide[j] / 6)
                shown = cell if len(cell) <= most else cell[: most - 1] + "…"
                parts.append(
                    f'<text class="{"tick" if i == 0 else "words"}" x="{x}" y="{height}">{escape(shown)}</text>'
                )
            parts.append(f'<path class="grid" d="M0 {height + 5}H360"/>')
        height += 28
    return _picture("Four rows before and after", parts, 360, height - 18)


def _questions(space: dict[str, Any]) -> str:
    rows = space["hours"].to_arrow().to_pylist()
    means = space["people"].table.group_by("job").aggregate([("hours", "mean")]).to_pylist()
    true = {row["job"]: row["hours_mean"] for row in means}
    low, high = [row["low"] for row in rows], [row["high"] for row in rows]
    return str(svg.ranked([row["job"] for row in rows], [row["estimate"] for row in rows], low, high,
                          title="Mean weekly hours by job", axis="mean weekly hours: answer (bar), truth (line)",
                          second=[true[row["job"]] for row in rows], form="{:.1f}".format))  # fmt: skip


def _visitors(space: dict[str, Any]) -> str:
    sets = {"shop": set(range(60_000)), "app": set(range(40_000, 90_000))}
    shop, app = sets.values()
    true = [len(shop & app), len(shop | app), len(shop - app), len(app - shop)]
    found = space["answers"]
    ends = np.array([each.interval(0.95) for each in found.values()])
    return str(svg.ranked(list(found), [each.count for each in found.values()], ends[:, 0], ends[:, 1],
                          title="Visitors, estimated and true", axis="visitors: estimate (bar), truth (line)",
                          second=true, letters=18))  # fmt: skip


def _plan(space: dict[str, Any]) -> str:
    words = [*shlex.split(next(r.lines[0] for r in recipes() if r.name == "plan")), "--json"]
    rows = json.loads(_shell(words))["rows"]
    rows = [row for row in rows if row["question"] == "counts"]
    return str(svg.ranked([row["method"] for row in rows], [row["needed_epsilon"] for row in rows], letters=18,
                          title="The ε that each method needs", axis="ε for counts within 1 % of all rows",
                          form="{:.3f}".format))  # fmt: skip


def _compare(space: dict[str, Any]) -> str:
    found = space["found"]
    return str(plane.pairs(found.columns, found.pair_errors, title="Errors of columns and pairs"))


DRAWN: dict[str, Callable[[dict[str, Any]], str]] = {
    "cross-table": _cross_table, "monthly": _monthly, "find-k": _find_k, "map": _map, "latency": _latency,
    "train": _train, "check": _check, "workbook": _workbook, "questions": _questions, "visitors": _visitors,
    "plan": _plan, "compare": _compare,
}  # fmt: skip


def _picture(title: str, parts: Sequence[str], width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img"><title>{escape(title)}</title>{"".join(parts)}</svg>'


def _panels(drawn: Sequence[str], words: Sequence[str], *, upright: bool = False) -> str:
    """Put pictures next to each other or below each other, each under its caption."""
    parts, x, y, wide, tall = [], 0.0, 0.0, 0.0, 0.0
    for each, caption in zip(drawn, words, strict=True):
        width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', each)[0])
        parts.append(f'<text class="name" x="{x:g}" y="{y + 12:g}">{escape(caption)}</text>')
        parts.append(each.replace("<svg ", f'<svg x="{x:g}" y="{y + 4:g}" width="{width:g}" height="{height:g}" ', 1))
        wide, tall = max(wide, x + width), max(tall, y + height + 4)
        x, y = (0.0, tall + 16) if upright else (wide + 12, 0.0)
    return _picture("; ".join(words), parts, round(wide), round(tall))


def _style() -> str:
    """Return the rules of the pages that concern pictures, light and dark."""
    text = (files("discreet.reporting.pages") / "templates" / "style.css").read_text("utf-8")
    light, dark = re.findall(r":root \{([^}]*)\}", text)[:2]
    text = text.replace("svg { width: 100%; height: auto; display: block; overflow: visible; }", "")  # pages fit theirs
    rules = " ".join(re.findall(r"^svg [^{]*\{[^}]*\}|(?<=\} )svg [^{]*\{[^}]*\}", text, re.MULTILINE))
    light = light.replace("color-scheme: light dark;", "")
    dark = re.sub(r"--paper: #\w+", "--paper: #1e2129", dark)  # the dark background of the guide
    own = ".good { fill: var(--teal) !important; } .bad { fill: var(--red) !important; }"
    return (f":root {{{light}}} @media (prefers-color-scheme: dark) {{ :root {{{dark}}} }} "
            f'svg {{ font-family: system-ui, "DejaVu Sans", sans-serif; }} {rules} {own}')  # fmt: skip


def saved(drawn: str, path: Path) -> None:
    """Write a picture with its style, so that it stands alone."""
    width, height = map(float, re.findall(r'viewBox="\S+ \S+ ([\d.]+) ([\d.]+)"', drawn)[0])
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
    style = re.sub(r"\s+", " ", _style())
    path.write_text(
        drawn.replace("<svg ", head, 1).replace("</title>", f"</title><style>{style}</style>", 1) + "\n", "utf-8"
    )


def main() -> None:
    chosen = sys.argv[1:]
    for recipe in recipes():
        if chosen and recipe.name not in chosen:
            continue
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            drawn = DRAWN[recipe.name](ran(recipe, _shell))
            os.chdir(before)
        path = TARGET / f"{recipe.name}.svg"
        saved(drawn, path)
        print(path.relative_to(DOCS), f"{path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
