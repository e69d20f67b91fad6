"""How much of the head is found: recall and precision at the top 20 English words against the number of reports.

    python -m studies.measures.heavy_hitters [--seeds 5] [--picture]

Writes results/heavy_hitters.json and docs/images/heavy-hitters.png. Users are drawn from the real frequencies of film
subtitle words; then the same is asked of emoji and of the pages of a news portal. For each seed a million users report
once, and the first n of them are searched. ``--picture`` only draws the results anew. Needs the data folder (see
`discreet.datasets.frequencies`), Plotly and a Chromium on the path.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from scipy.stats import t as student

from discreet import datasets
from discreet.local.strings.alphabet import LETTERS
from discreet.local.strings.prefix import PrefixExtension
from discreet.local.strings.puzzle import FragmentPuzzle
from studies.measures._measure import RESULTS, save, show

TARGET = Path(__file__).parents[2] / "docs" / "images" / "heavy-hitters.png"
SIZES = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
POOL = 4096
WORDS = {"alphabet": LETTERS + "'"}

PREFIX, USERS, PUBLISHED = "prefix extension", "puzzle, users split", "puzzle as published"


def prefix(epsilon: float, **more: Any) -> Callable[[int], Any]:
    return lambda key: PrefixExtension(epsilon, pool=POOL, key=key, **WORDS, **more)


def puzzle(*epsilons: float, split: str) -> Callable[[int], Any]:
    return lambda key: FragmentPuzzle(*epsilons, split=split, key=key, **WORDS)


#: (method, budget as written): budget of a user, mechanism for a key, colour, dash.
SETTINGS: dict[tuple[str, str], tuple[float, Callable[[int], Any], str, str]] = {
    (PREFIX, "8"): (8, prefix(8, width=256), "#0b5d57", "solid"),  # the best width, 2982, would fill memory with cells
    (PREFIX, "4"): (4, prefix(4), "#159a8c", "solid"),
    (PREFIX, "2"): (2, prefix(2), "#62c2b4", "solid"),
    (PREFIX, "1"): (1, prefix(1), "#a9dbd3", "solid"),
    (USERS, "8"): (8, puzzle(8, 8, split="users"), "#8a4f0a", "dash"),
    (USERS, "4"): (4, puzzle(4, 4, split="users"), "#d9822b", "dash"),
    (PUBLISHED, "2 + 6"): (8, puzzle(2, 6, split="budget"), "#5d4a80", "dot"),
    (PUBLISHED, "1 + 3"): (4, puzzle(1, 3, split="budget"), "#ad9bc9", "dot"),
}
#: Other kinds of values: the table, and the mechanism for a budget and a key.
OTHERS: dict[str, tuple[str, Callable[[float, int], Any]]] = {
    "emoji of tweets": ("emoji", lambda e, key: PrefixExtension(e, alphabet=_emoji(), length=1, pool=POOL, key=key)),
    "pages of a news portal": ("kosarak", lambda e, key: PrefixExtension(e, bits=16, pool=POOL, key=key)),
}


def _emoji() -> str:
    """The public list of emoji, in the order of their code points."""
    return "".join(sorted(datasets.frequencies("emoji").values.to_pylist()))


def searched(
    table: datasets.Frequencies, make: Callable[[int], Any], seeds: int, sizes: tuple[int, ...], k: int
) -> list[dict[str, Any]]:
    """Run one setting: one row for each number of reports."""
    truth = table.to_dict()
    runs: dict[int, list[dict[str, float]]] = {n: [] for n in sizes}
    for seed in range(seeds):
        m = make(seed + 1)
        reports = m.encode(table.draw(sizes[-1], random_state=seed), rng=seed)
        counts, done = m.empty(), 0
        for n in sizes:
            counts.add(reports[done:n])
            done = n
            start = time.perf_counter()
            found = m.discover(counts)
            runs[n].append(
                {
                    "recall": found.recall(truth, k),
                    "precision": found.precision(truth),
                    "top_agreement": found.precision(truth, k) * min(len(found), k) / k,
                    "found": len(found),
                    "seconds": time.perf_counter() - start,
                }
            )
    return [{"n": n, **_summary(rows)} for n, rows in runs.items()]


def _summary(rows: list[dict[str, float]]) -> dict[str, float]:
    """Return means, and half a 95 % interval of the mean over seeds for recall and precision."""
    out = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    reach = float(student.ppf(0.975, len(rows) - 1)) / np.sqrt(len(rows)) if len(rows) > 1 else 0.0
    for name in ("recall", "precision"):
        out[f"{name}_half"] = float(np.std([row[name] for row in rows], ddof=1)) * reach if len(rows) > 1 else 0.0
    return out


def dictionary_seconds() -> dict[str, float]:
    """Time the published puzzle's dictionary: k' = 2048, m' = 1024, 50,000 reports."""
    m = FragmentPuzzle(2, 6, key=1)
    words = datasets.anglicisms(50_000)
    m.discover(m.aggregate(m.encode(words, rng=1)))  # compiles
    times = [time.perf_counter()]
    reports = m.encode(words, rng=1)
    times.append(time.perf_counter())
    counts = m.aggregate(reports)
    times.append(time.perf_counter())
    cpu = time.process_time()
    m.discover(counts)
    cpu = time.process_time() - cpu
    times.append(time.perf_counter())
    names = ("encode_seconds", "aggregate_seconds", "dictionary_seconds")
    spent = dict(zip(names, np.diff(times).tolist(), strict=True))
    return {**spent, "dictionary_cpu_seconds": cpu, "published_dictionary_seconds": 2267.0}


def draw(facts: dict[str, Any]) -> None:
    """Draw recall and precision against the number of reports."""
    titles = ["recall: share of the true top 20 that was found", "precision: share of<br>the found that is real"]
    layout = {"horizontal_spacing": 0.06, "column_widths": [0.72, 0.28], "subplot_titles": titles}
    figure = make_subplots(rows=1, cols=2, **layout)
    for row in facts["words"]:
        method, budget, lines = row["method"], row["epsilon_text"], row["rows"]
        _, _, colour, dash = SETTINGS[method, budget]
        for column, what in ((1, "recall"), (2, "precision")):
            # Where nothing was found there is no precision to speak of.
            shown = [line for line in lines if what == "recall" or line["found"] > 0]
            up = [min(line[f"{what}_half"], 1 - line[what]) for line in shown]
            down = [min(line[f"{what}_half"], line[what]) for line in shown]
            errors = {"type": "data", "array": up, "arrayminus": down, "thickness": 1, "width": 3}
            trace = go.Scatter(
                x=[line["n"] for line in shown],
                y=[line[what] for line in shown],
                error_y=errors,
                mode="lines+markers",
                name=f"ε = {budget}",
                legendgroup=method,
                legendgrouptitle={"text": method},
                showlegend=column == 1,
                line={"color": colour, "dash": dash, "width": 2.5},
                marker={"size": 7},
            )
            figure.add_trace(trace, row=1, col=column)
    named = {20_000: "20k", 50_000: "50k", 100_000: "100k", 200_000: "200k", 500_000: "500k", 1_000_000: "1M"}
    figure.update_xaxes(type="log", title="reports", gridcolor="#eceff1")
    figure.update_xaxes(tickvals=list(named), ticktext=list(named.values()), range=[4.25, 6.05], row=1, col=1)
    few = (20_000, 100_000, 1_000_000)
    figure.update_xaxes(tickvals=few, ticktext=[named[n] for n in few], range=[4.25, 6.05], row=1, col=2)
    figure.update_yaxes(range=[-0.02, 1.06], gridcolor="#eceff1", tickformat=".1f", zeroline=False)
    figure.update_layout(
        template="plotly_white",
        width=1300,
        height=560,
        font={"size": 15},
        margin={"l": 50, "r": 20, "t": 110, "b": 60},
        legend={"x": 1.02, "y": 0.98, "tracegroupgap": 14, "font": {"size": 15}},
        title={"text": "Finding the 20 commonest English words, none of them listed beforehand", "x": 0.03},
    )
    picture(figure, TARGET, 1300, 560)


def picture(figure: go.Figure, target: Path, width: int, height: int) -> None:
    """Turn a figure into a picture with a headless Chromium."""
    browser = shutil.which("chromium")
    if browser is None:
        raise SystemExit("chromium is not on the path: install it to turn the page into a picture")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        style = "<style>body{margin:0}</style>"
        page.write_text(style + figure.to_html(include_plotlyjs=True, config={"displayModeBar": False}))
        flags = "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update"
        flags += f" --disable-sync --no-first-run --hide-scrollbars --window-size={width},{height}"
        command = [browser, *flags.split(), "--virtual-time-budget=9000", f"--user-data-dir={folder}/profile"]
        command += [f"--screenshot={target}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    print(target)


def report(title: str, rows: list[dict[str, Any]]) -> None:
    cells = [[f"{r['n']:,}", r["recall"], r["recall_half"], r["precision"], r["found"], r["seconds"]] for r in rows]
    show(title, ["reports", "recall", "±", "precision", "found", "seconds"], cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--picture", action="store_true")
    arguments = parser.parse_args()
    if arguments.picture:
        draw(json.loads((RESULTS / "heavy_hitters.json").read_text()))
        return
    start = time.perf_counter()
    facts: dict[str, Any] = {"seeds": arguments.seeds, "k": 20, "words": [], "others": []}
    facts["dictionary"] = dictionary_seconds()
    table = datasets.frequencies("words-en")
    for (method, budget), (epsilon, make, _, _) in SETTINGS.items():
        rows = searched(table, make, arguments.seeds, SIZES, 20)
        facts["words"].append({"method": method, "epsilon_text": budget, "epsilon": epsilon, "rows": rows})
        report(f"{method}, ε = {budget}", rows)
    for name, (source, make_for) in OTHERS.items():
        other = datasets.frequencies(source)
        for epsilon in (1.0, 2.0, 4.0):
            rows = searched(other, partial(make_for, epsilon), arguments.seeds, (100_000, 1_000_000), 20)
            facts["others"].append({"values": name, "epsilon": epsilon, "rows": rows})
            report(f"{name}, ε = {epsilon:g}", rows)
    facts["run_seconds"] = time.perf_counter() - start
    save("heavy_hitters", facts, "numpy", "numba", "discreet")
    draw(facts)


if __name__ == "__main__":
    main()
