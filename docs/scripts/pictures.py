"""Draw the pictures of README and guide anew, each light and dark: docs/images/NAME-light.png and NAME-dark.png.

    python docs/scripts/pictures.py [NAME ...]

The picture "density-tree" is one of Plotly's: two SVG files, wide and narrow, that are light and dark by themselves.

They are parts of the pages that Discreet writes, and panels drawn by the same code, photographed with a headless
Chromium (Debian's package, and Playwright from the extra `browser`). Without real tables generated ones are drawn.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from playwright.sync_api import sync_playwright

import discreet as dc
from discreet import demo
from discreet.reporting import views, write_report
from discreet.reporting.pages import plane

TARGET = Path(__file__).parents[2] / "docs" / "images"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip
PANELS = """<!doctype html><meta charset="utf-8"><style>{style}
body {{ max-width: none; padding: .8rem; background: transparent; }} figure {{ max-width: none; }}
.panels {{ display: grid; gap: 1.2rem 1.4rem; grid-template-columns: repeat({columns}, 1fr); }}
figcaption {{ color: var(--ink); font-size: .95rem; }}</style>
<body><div class="panels">{figures}</div>"""


class Shot(NamedTuple):
    """A page, the part of it to photograph ("" for the first screen), and the size of the window."""

    page: str
    part: str
    width: int
    height: int


def front(folder: Path) -> Shot:
    """Return the two panels of the demonstration."""
    demo.run(folder, seed=1)
    page = (folder / "picture.html").read_text(encoding="utf-8")
    found = re.findall(r"<figure>(<svg.*?</svg>)<figcaption>(.*?)</figcaption>", page, re.DOTALL)
    return panels([(Markup(drawn), Markup(words)) for drawn, words in found], 2, 1100)


def report(folder: Path) -> Shot:
    """Return the first screen of an evidence report."""
    people = dc.datasets.patients()
    dc.PrivateKMeans(15, 1.0, people.domain).fit(people.to_arrow()).synopsis_.save(folder / "patients.parquet")
    about = {"title": "Ages and costs of patients", "owner": "Registry of simulated patients"}
    about |= {"purpose": "planning of clinics", "date": "2026-11-02"}
    write_report(folder / "patients.parquet", folder / "report.html", **about)
    return Shot((folder / "report.html").read_text(encoding="utf-8"), "", 1180, 1180)


def partitioners(folder: Path) -> Shot:
    """Return the synopsis of S1 for every partitioner, next to the data."""
    table = dc.datasets.load("s1") if "s1" in dc.datasets.available() else dc.datasets.s_like(1)
    unit = 1e5 if float(np.max(table.domain.high)) > 1e5 else 0.1
    domain, X = dc.Domain.box(table.domain.low / unit, table.domain.high / unit), table.X / unit
    how: dict[str, Any] = {"x": "x", "y": "y", "low": domain.low, "high": domain.high}
    figures = [(plane.cloud(X, title="rows", marks=[], **how), f"the data, {len(table):,} rows")]
    common: dict[str, Any] = {"n_clusters": 15, "random_state": 0}
    models: dict[str, Any] = {"grid, rule rugnik": dc.GridSynopsis(1.0, domain, "rugnik", **common)}
    for name in ("binary", "median", "quantile", "uniform", "privtree", "density"):
        models[f"tree, {name}"] = dc.TreeSynopsis(1.0, domain, name, **common)
    for name, model in models.items():
        release = model.fit(X).synopsis_
        found = views.plane(release)
        assert found is not None
        drawn = plane.boxes(found["lower"], found["upper"], found["density"], title=name, gaps=found["gaps"], **how)
        figures.append((drawn, f"{name}: {release.n_leaves:,} leaves"))
    return panels(figures, 4)


def metric(folder: Path) -> Shot:
    """Return reports of one place in New York, and check-ins before and after noise and remap."""
    domain = dc.Domain({"longitude": (-74.3, -73.7), "latitude": (40.4, 41.0)})
    units = [1 / (111_195 * math.cos(math.radians(40.75))), 1 / 111_195]  # degrees of one metre
    public, own, city = _city()
    settings = {"epsilon": math.log(4), "radius": 200, "domain": domain, "scaling": units, "random_state": 1}
    place = np.array([[-73.9857, 40.7484]])
    mechanism = dc.metric.NDLaplace(**settings)
    reports = mechanism.transform(np.repeat(place, 400, axis=0))
    noisy = dc.metric.NDLaplace(**settings).transform(own)
    guessed = dc.metric.NDLaplace(**settings, remap="bayes", prior=public, loss="euclidean").transform(own)

    def error(points: np.ndarray) -> float:
        return float(np.linalg.norm(mechanism.scale(points) - mechanism.scale(own), axis=1).mean())

    near = np.array([0.011, 0.0083])
    view = np.array([-74.03, 40.70]), np.array([-73.93, 40.80])
    shown = [
        (reports, place[0] - near, place[0] + near, "400 reports of one place (ring)", [(place, "ring")]),
        (own, *view, f"{city}: where people were", []),
        (noisy, *view, f"what they report: {error(noisy):.0f} m off on average", []),
        (guessed, *view, f"after the Bayes remap: {error(guessed):.0f} m", []),
    ]
    figures = []
    for points, low, high, words, marks in shown:
        inside = points[((points >= low) & (points <= high)).all(axis=1)]
        drawn = plane.cloud(inside, title=words, x="longitude", y="latitude", low=low, high=high, marks=marks)
        figures.append((drawn, words))
    return panels(figures, 4)


def elastic(folder: Path) -> Shot:
    """Return how far elastic noise is off over New York, and what two places report."""
    domain = dc.Domain({"longitude": (-74.3, -73.7), "latitude": (40.4, 41.0)})
    units = [1 / (111_195 * math.cos(math.radians(40.75))), 1 / 111_195]  # degrees of one metre
    public, _, city = _city()
    density = (public, np.ones(len(public)))
    noise = dc.metric.ElasticLaplace(math.log(4), 500, domain, density=density, scaling=units, random_state=1)
    law, whole = noise.law, (domain.low, domain.high)
    how: dict[str, Any] = {"x": "longitude", "y": "latitude"}
    ends: dict[str, Any] = {"low": domain.low, "high": domain.high}
    people = np.log10(1 + law.people / np.prod((law.upper - law.lower) / units, axis=1) * 1e6)
    off = law.expected_error() / 1000
    figures = [
        (plane.boxes(law.lower, law.upper, values, title=words, unit=unit, **how, **ends), words)
        for values, words, unit in (
            (people, f"{city}: the public density", "check-ins per km², as a power of ten"),
            (off, "how far off reports are on average", "kilometres"),
        )
    ]
    city_place, edge = np.array([-73.9857, 40.7484]), np.array([-74.22, 40.62])
    near = np.array([0.03, 0.0227])
    for words, place, (low, high) in (
        ("400 reports of a place in Manhattan", city_place, (city_place - near, city_place + near)),
        ("400 reports of a place at the edge", edge, whole),
    ):
        reports = noise.transform(np.tile(place, (400, 1)))
        inside = reports[((reports >= low) & (reports <= high)).all(axis=1)]
        drawn = plane.cloud(inside, title=words, low=low, high=high, marks=[(place[None], "ring")], **how)
        figures.append((drawn, f"{words} (ring): {float(law.expected_error(place)[0]):,.0f} m off"))
    return panels(figures, 4)


def tree_figures() -> dict[str, Any]:
    """Return the drawing of a fitted tree by file name, for wide pages and for phones."""
    people = dc.datasets.people(2000)
    model = dc.anonymity.DensityTree(k=10, criterion="width", domain=people.domain).fit(people.table)
    wide, narrow = model.plot(depth=3), model.plot(depth=2)
    for figure in (wide, narrow):
        figure.update_layout(
            paper_bgcolor="rgba(0,0,0,0)", width=860, height=480, margin={"t": 50, "l": 8, "r": 8, "b": 8}
        )
    narrow.update_layout(width=380, height=520, title_text=narrow.layout.title.text.replace("; ", "<br>"))
    narrow.data[0].update(
        labels=[re.sub("( {|, )", lambda found: found[1].rstrip() + "<br>" if "," in found[1] else "<br>{", label)
                if "{" in label else label for label in narrow.data[0].labels],
        marker={"showscale": False},
    )  # fmt: skip
    return {"density-tree.svg": wide, "density-tree-narrow.svg": narrow}


def draw_charts(opened: Any, folder: Path, figures: dict[str, Any]) -> None:
    """Let Plotly draw figures in the browser. Words outside of boxes follow the theme of the reader."""
    theme = (
        "<style>text:not(.slicetext){fill:#1b1f24!important}"
        "@media(prefers-color-scheme:dark){text:not(.slicetext){fill:#e6edf3!important}}</style>"
    )
    for name, figure in figures.items():
        figure.write_html(folder / "chart.html")
        tab = opened.new_page()
        tab.goto((folder / "chart.html").as_uri())
        size = {"format": "svg", "width": figure.layout.width, "height": figure.layout.height}
        made = tab.evaluate("size => Plotly.toImage(document.querySelector('.js-plotly-plot'), size)", size)
        drawn = unquote(made.partition(",")[2])
        (TARGET / name).write_text(re.sub("(<svg[^>]*>)", rf"\1{theme}", drawn, count=1), encoding="utf-8")
        tab.close()
        print(TARGET / name)


def _city() -> tuple[np.ndarray, np.ndarray, str]:
    rng = np.random.default_rng(0)
    if "gowalla" in dc.datasets.available():
        data = dc.datasets.load("gowalla")
        people = np.unique(data.labels)
        first = np.isin(data.labels, rng.permutation(people)[: len(people) // 2])
        X = data.X[:, ::-1]
        return X[first], X[~first][rng.permutation(int((~first).sum()))[:6000]], "Gowalla, New York"
    places = rng.normal([-73.98, 40.75], [0.02, 0.02], (80, 2))
    X = places[rng.integers(0, 80, 12_000)] + rng.normal(0, 2e-4, (12_000, 2))
    return X[:6000], X[6000:], "a generated city"


def panels(figures: Sequence[tuple[Markup, str]], columns: int, width: int = 1400) -> Shot:
    """Return figures side by side, in the style of all pages."""
    loader = PackageLoader("discreet.reporting.pages")
    style = Environment(loader=loader).get_template("style.css").render()
    made = "".join(
        f"<figure><figcaption>{Markup.escape(words)}</figcaption>{drawn}</figure>" for drawn, words in figures
    )
    return Shot(PANELS.format(style=style, columns=columns, figures=made), "body", width, 900)


PICTURES: dict[str, Callable[[Path], Shot]] = {
    "demo": front, "report": report, "partitioners": partitioners, "metric": metric,
    "elastic": elastic,
}  # fmt: skip
TREE = "density-tree"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {sorted([*PICTURES, TREE])}")
    browser = shutil.which("chromium")
    names = parser.parse_args().names or [*PICTURES, TREE]
    if browser is None:
        raise SystemExit("chromium is not on the path: install it to turn pages into pictures")
    with tempfile.TemporaryDirectory() as made, sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=FLAGS)
        for name in names:
            folder = Path(made) / name
            folder.mkdir()
            if name == TREE:
                draw_charts(opened, folder, tree_figures())
                continue
            shot = PICTURES[name](folder)
            (folder / "page.html").write_text(shot.page, encoding="utf-8")
            for theme in ("light", "dark"):
                size = {"width": shot.width, "height": shot.height}
                context = opened.new_context(color_scheme=theme, viewport=size, offline=True)
                tab = context.new_page()
                tab.goto((folder / "page.html").as_uri())
                target = TARGET / f"{name}-{theme}.png"
                place = tab.locator(shot.part).first if shot.part else tab
                place.screenshot(path=target, omit_background=True)
                context.close()
                print(target)
        opened.close()


if __name__ == "__main__":
    main()
