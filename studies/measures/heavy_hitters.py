"""How much of the head is found: recall and precision at the top 20 English words against the number of reports.

    python -m studies.measures.heavy_hitters [--seeds 5] [--picture]

Writes results/heavy_hitters.json and docs/images/heavy-hitters.svg. Users are drawn from the real frequencies of film
subtitle words; then the same is asked of emoji and of the pages of a news portal. For each seed a million users report
once, and the first n of them are searched. ``--picture`` only draws the results anew. Needs the data folder (see
`discreet.datasets.frequencies`).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from discreet import datasets
from discreet.local.strings import LETTERS, FragmentPuzzle, PrefixExtension
from discreet_studies.harness.chart import Chart, Line, Mark, Panel
from discreet_studies.measured.heavy_hitters import precision, recall
from studies.measures._measure import RESULTS, save, show

TARGET = Path(__file__).parents[2] / "docs" / "images" / "heavy-hitters.svg"
SIZES = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
POOL = 4096
WORDS = {"alphabet": LETTERS + "'"}

PREFIX, USERS, PUBLISHED = "prefix extension", "puzzle, users split", "puzzle as published"


def prefix(epsilon: float, **more: Any) -> Callable[[int], Any]:
    return lambda key: PrefixExtension(epsilon, pool=POOL, key=key, **WORDS, **more)


def puzzle(*epsilons: float, split: str) -> Callable[[int], Any]:
    return lambda key: FragmentPuzzle(*epsilons, split=split, key=key, **WORDS)


#: (method, budget as written): budget of a user, mechanism for a key, how its line is drawn.
SETTINGS: dict[tuple[str, str], tuple[float, Callable[[int], Any], str]] = {
    (PREFIX, "8"): (8, prefix(8, width=256), "solid"),  # the best width, 2982, would fill memory with cells
    (PREFIX, "4"): (4, prefix(4), "solid"),
    (PREFIX, "2"): (2, prefix(2), "solid"),
    (PREFIX, "1"): (1, prefix(1), "solid"),
    (USERS, "8"): (8, puzzle(8, 8, split="users"), "dash"),
    (USERS, "4"): (4, puzzle(4, 4, split="users"), "dash"),
    (PUBLISHED, "2 + 6"): (8, puzzle(2, 6, split="budget"), "dots"),
    (PUBLISHED, "1 + 3"): (4, puzzle(1, 3, split="budget"), "dots"),
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
                    "recall": recall(found, truth, k),
                    "precision": precision(found, truth),
                    "top_agreement": precision(found, truth, k) * min(len(found), k) / k,
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
    titles = {"recall": "share of the true top 20 that was found", "precision": "share of the found that is real"}
    panels = []
    for what, words in titles.items():
        lines = []
        for look, row in enumerate(facts["words"]):
            # Where nothing was found there is no precision to speak of.
            shown = [line for line in row["rows"] if what == "recall" or line["found"] > 0]
            marks = [
                Mark(r["n"], r[what], max(r[what] - r[f"{what}_half"], 0), min(r[what] + r[f"{what}_half"], 1))
                for r in shown
            ]
            kind = SETTINGS[row["method"], row["epsilon_text"]][2]
            lines.append(Line(f"{row['method']}, ε = {row['epsilon_text']}", marks, look, kind))
        how = {"log_x": True, "across": [(float(n), _short(n)) for n in SIZES], "y_range": (0.0, 1.03)}
        panels.append(Panel("reports", words, lines, what, **how))
    chart = Chart("Finding the 20 commonest English words, none of them listed beforehand", panels)
    for columns, target in ((2, TARGET), (1, TARGET.with_stem(f"{TARGET.stem}-narrow"))):
        target.write_text(chart.image(columns), encoding="utf-8")
        print(target)


def _short(n: int) -> str:
    return f"{n // 1_000_000}M" if n >= 1_000_000 else f"{n // 1000}k"


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
    for (method, budget), (epsilon, make, _) in SETTINGS.items():
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
