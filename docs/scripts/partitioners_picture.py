"""Draw the synopsis of S1 for every partitioner beside the data: docs/images/partitioners.png.

    python docs/scripts/partitioners_picture.py [--epsilon 1.0]

Needs Plotly and a Chromium on the path. Without the real S1 a generated set like it is drawn.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from discreet import GridSynopsis, TreeSynopsis, datasets

TARGET = Path(__file__).parents[2] / "docs" / "images" / "partitioners.png"
PARTITIONERS = ("binary", "median", "quantile", "uniform", "privtree", "density")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, default=1.0)
    epsilon = parser.parse_args().epsilon
    table = datasets.load("s1") if "s1" in datasets.available() else datasets.s_like(1)
    common = {"n_clusters": 15, "random_state": 0}
    models = {"grid, rule rugnik": GridSynopsis(epsilon, table.domain, "rugnik", **common)}
    models |= {f"tree, {p}": TreeSynopsis(epsilon, table.domain, p, **common) for p in PARTITIONERS}
    releases = {name: model.fit(table.X).synopsis_ for name, model in models.items()}
    titles = [f"the data, {len(table):,} rows", *(f"{n}: {s.n_leaves:,} leaves" for n, s in releases.items())]
    figure = make_subplots(rows=2, cols=4, subplot_titles=titles, horizontal_spacing=0.02, vertical_spacing=0.07)
    dots = go.Scatter(
        x=table.X[:, 0], y=table.X[:, 1], mode="markers", marker={"size": 2, "color": "#57606a"}, showlegend=False
    )
    figure.add_trace(dots, row=1, col=1)
    for i, release in enumerate(releases.values(), start=1):
        for trace in release.plot().data:
            if trace.name in ("density", "leaves"):
                trace.update(showscale=False) if trace.type == "heatmap" else None
                figure.add_trace(trace, row=i // 4 + 1, col=i % 4 + 1)
    low, high = table.domain.low, table.domain.high
    figure.update_xaxes(range=[low[0], high[0]], showticklabels=False, showgrid=False)
    figure.update_yaxes(range=[low[1], high[1]], showticklabels=False, showgrid=False)
    figure.update_layout(
        template="plotly_white",
        width=1400,
        height=760,
        margin={"l": 10, "r": 10, "t": 60, "b": 10},
        title=f"Synopses of S1 at ε = {epsilon:g}: teal is people, sand is noise below zero",
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        figure.write_html(page, include_plotlyjs=True, config={"displayModeBar": False})
        browser = shutil.which("chromium")
        if browser is None:
            raise SystemExit("chromium is not on the path: install it to turn the page into a picture")
        flags = "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update"
        flags += " --disable-sync --no-first-run --hide-scrollbars --window-size=1400,780 --virtual-time-budget=9000"
        command = [
            browser,
            *flags.split(),
            f"--user-data-dir={folder}/profile",
            f"--screenshot={TARGET}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    print(TARGET)


if __name__ == "__main__":
    main()
