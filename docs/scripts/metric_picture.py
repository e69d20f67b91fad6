"""Draw docs/images/metric.png: reports of one place in New York, and check-ins before and after noise and remap.

    python docs/scripts/metric_picture.py

Needs Plotly and a Chromium on the path. Without Gowalla's check-ins a generated city is drawn.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

import discreet as dc

TARGET = Path(__file__).parents[2] / "docs" / "images" / "metric.png"
DOMAIN = dc.Domain({"longitude": (-74.3, -73.7), "latitude": (40.4, 41.0)})
UNITS = [1 / (111_195 * math.cos(math.radians(40.75))), 1 / 111_195]  # degrees of one metre
VIEW = ((-74.03, -73.93), (40.70, 40.80))


def main() -> None:
    public, own, city = _city()
    settings = {"epsilon": math.log(4), "radius": 200, "domain": DOMAIN, "scaling": UNITS, "random_state": 1}
    place = [-73.9857, 40.7484]
    one = dc.metric.NDLaplace(**settings).plot(place, reports=400)
    noisy = dc.metric.NDLaplace(**settings).transform(own)
    guessed = dc.metric.NDLaplace(**settings, remap="bayes", prior=public, loss="euclidean").transform(own)
    size = dc.metric.NDLaplace(**settings)

    def error(points: np.ndarray) -> float:
        return float(np.linalg.norm(size.scale(points) - size.scale(own), axis=1).mean())

    titles = [
        "reports of one place", f"{city}: where people were", f"what they report: {error(noisy):.0f} m off on average",
        f"after the Bayes remap: {error(guessed):.0f} m",
    ]  # fmt: skip
    figure = make_subplots(rows=1, cols=4, subplot_titles=titles, horizontal_spacing=0.03)
    for trace in one.data:
        figure.add_trace(trace, row=1, col=1)
    for col, points in enumerate((own, noisy, guessed), start=2):
        dots = go.Scatter(x=points[:, 0], y=points[:, 1], mode="markers", marker={"size": 2.5, "color": "#1f8a7d",
                          "opacity": 0.5}, showlegend=False)  # fmt: skip
        figure.add_trace(dots, row=1, col=col)
        figure.update_xaxes(range=VIEW[0], row=1, col=col)
        figure.update_yaxes(range=VIEW[1], row=1, col=col, showticklabels=col == 2)
    figure.update_xaxes(range=[place[0] - 0.011, place[0] + 0.011], row=1, col=1)
    figure.update_yaxes(range=[place[1] - 0.0083, place[1] + 0.0083], row=1, col=1)
    figure.update_xaxes(title="longitude", nticks=4)
    figure.update_yaxes(title="latitude", row=1, col=1)
    figure.update_layout(
        template="plotly_white", width=1640, height=560, margin={"l": 60, "r": 10, "t": 80, "b": 10},
        title="Places within 200 m of each other look alike up to a factor of 4 (level ln 4 at 200 m)",
        legend={"orientation": "h", "y": -0.2, "x": 0},
    )  # fmt: skip
    _picture(figure)


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


def _picture(figure: go.Figure) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        raise SystemExit("chromium is not on the path: install it to turn the page into a picture")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        figure.write_html(page, include_plotlyjs=True, config={"displayModeBar": False})
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
                 f"--user-data-dir={folder}/profile", "--window-size=1660,590", "--hide-scrollbars",
                 "--virtual-time-budget=8000", f"--screenshot={TARGET}", page.as_uri()]  # fmt: skip
        subprocess.run([browser, *flags], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
