"""Measured figures in running text: each mark ``<!--=NAME-->`` names one of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean
from typing import Any

import figure_results as results
from figure_results import digits, geometric_mean, one
from figure_speed import commands


def _density(set_: str, method: str) -> str:
    return digits(one(results.read("density_quality")["sets"], set=set_)[method]["mean"])


def _leaks(name: str) -> list[float]:
    """Return a figure of all releases whose cuts were not blind."""
    rows = [r for r in results.read("minimality")["leak"] if not r["blind"]]
    return [r[name]["mean"] if isinstance(r[name], dict) else r[name] for r in rows]


def _wider(k: int) -> str:
    rows = results.read("minimality")["price"]
    ratios = [one(r["blind"], k=k)["width"]["mean"] / r["width"]["mean"] for r in rows]
    return digits(sum(ratios) / len(ratios))


def _words(method: str, budget: str, n: int) -> dict[str, Any]:
    row = one(results.read("heavy_hitters")["words"], method=method, epsilon_text=budget)
    return one(row["rows"], n=n)


def _dictionary(name: str, places: int) -> str:
    return f"{results.read('heavy_hitters')['dictionary'][name]:,.{places}f}"


def _gain(rival: str) -> str:
    rows = results.read("metric_clustering")["cells"]["rows"]
    return f"{geometric_mean(r[f'gain_over_{rival}']['log_wcss']['mean'] for r in rows):.2f}"


def _held_out(name: str) -> str:
    """Return on how many in a hundred held-out tables private k-means is as good as that says."""
    return f"{100 * results.read('tune_few')['parts']['held-out']['verdict'][name]:.0f}"


def _largest_anonymous() -> dict[str, Any]:
    return max(results.read("anonymous_files")["runs"], key=lambda run: int(run["rows"]))


def _in_turns(counts: str) -> float:
    """Return the mean time per row and level of growth that counts so, of runs in turns."""
    runs = results.read("anonymous_files")["turns"]["runs"]
    return fmean(run["nanoseconds_busy"] for run in runs if run["counts"] == counts)


def _rows_of_scale(least: int = 0) -> list[dict[str, Any]]:
    return [r for r in results.read("scale")["sizes"] if r["rows"] >= least]


def _times(source: str, other: str) -> float:
    """Return how many times the processor time of another source the risk of a raw table takes."""
    found = results.read("risk")["sources"]
    return float(found[source]["processor"] / found[other]["processor"])


def _times_bare(job: str) -> float:
    """Return how many times a bare write of the frame a job takes."""
    return float(results.read("spark_rows")["sizes"][0]["times_bare"][job])


def _nanoseconds(job: str, least: int = 0, most: int = 10**9) -> list[float]:
    return [1e9 * r[job]["seconds"] / r["rows"] for r in _rows_of_scale(least) if r["rows"] <= most]


def _k_means(name: str) -> float:
    value: float = results.read("scale")["k_means"]["k-means"][name]
    return value


def _other(attack: str, part: str = "mean") -> Callable[[], str]:
    """Return the writer of an advantage, an error or a risk, or of an end of its interval."""

    def written() -> str:
        row = one(results.read("attacks")["others"], attack=attack)
        value = row["mean"] if part == "mean" else row["interval"][("low", "high").index(part)]
        fine = "reports" in attack or "k = 20" in attack
        return f"{value:.{3 if fine else 2}f}".replace("-0.00", "0.00")

    return written


def _interval(name: str, attack: str) -> Iterable[tuple[str, Callable[[], str]]]:
    return [(name, _other(attack)), *((f"{name}-{end}", _other(attack, end)) for end in ("low", "high"))]


def _mb(*packages: str) -> str:
    """Return the megabytes of packages in a plain install."""
    return str(sum(results.read("install")["largest_mb"][name] for name in packages))


def _extra(name: str) -> Callable[[], str]:
    """Return what writes the megabytes that an extra adds to a plain install."""
    return lambda: f"{results.read('install')['extras'][name]['mb']:.0f}"


def _k_curve(method: str) -> dict[str, Any]:
    return one(results.read("choice_of_k")["curves"], method=method)


def _sixth_month(files: str) -> str:
    row = one(results.read("months")["results"], files=files, month=6)
    return f"{row['published_before']:,}"


VALUES: dict[str, Callable[[], str]] = {
    "density-odd-fine": lambda: _density("boxes at odd numbers, d = 2", "ours_fine_grid"),
    "density-odd": lambda: _density("boxes at odd numbers, d = 2", "ours"),
    "density-odd-mlpack": lambda: _density("boxes at odd numbers, d = 2", "mlpack_best"),
    **{f"extra-{name}": _extra(name) for name in results.read("install")["extras"]},
    "install-packages": lambda: str(results.read("install")["packages"]),
    "install-mb": lambda: str(results.read("install")["mb"]),
    "install-compiler": lambda: _mb("numba", "llvmlite"),
    "install-pyarrow": lambda: _mb("pyarrow"),
    "install-scipy": lambda: _mb("scipy"),
    "start-bare": lambda: f"{results.read('start')['bare_s']:.1f}",
    "start-least": lambda: f"{min(line['warm_s'] for line in commands()):.1f}",
    "start-most": lambda: f"{max(line['warm_s'] for line in commands()):.1f}",
    "start-compiled": lambda: f"{max(line['cold_s'] - line['warm_s'] for line in commands()):.0f}",
    "leak-rows": lambda: str(results.read("minimality")["small"]["rows"]),
    "leak-tables": lambda: str(results.read("minimality")["small"]["seeds"]),
    "leak-share-1": lambda: f"{results.read('minimality')['small']['shares'][0]:g}",
    "leak-share-2": lambda: f"{results.read('minimality')['small']['shares'][1]:g}",
    "leak-share-3": lambda: f"{results.read('minimality')['small']['shares'][2]:g}",
    "leak-worst-least": lambda: f"{min(_leaks('worst')):.2f}",
    "leak-worst-most": lambda: f"{max(_leaks('worst')):.2f}",
    "leak-tables-least": lambda: f"{100 * min(_leaks('with_certain_rows')):.0f}",
    "leak-tables-most": lambda: f"{100 * max(_leaks('with_certain_rows')):.0f}",
    "price-wider": lambda: _wider(40),
    "weights-column": lambda: f"{results.read('weights')['errors']['column, epsilon 1']['pairs']:.3f}",
    "weights-copies": lambda: f"{results.read('weights')['errors']['copies, epsilon 1']['pairs']:.3f}",
    "k-limit": lambda: f"{results.read('choice_of_k')['width']:g}",
    "k-default": lambda: str(_k_curve("auto (default)")["k"]),
    "k-spread": lambda: str(_k_curve("spread")["k"]),
    "k-accuracy-5": lambda: f"{one(_k_curve('auto (default)')['points'], k=5)['accuracy']:.3f}",
    "k-accuracy-50": lambda: f"{one(_k_curve('auto (default)')['points'], k=50)['accuracy']:.3f}",
    "blanks-rows": lambda: (
        f"{one(results.read('blanks')['results'], table='Adult', suppress=0.05, blanks=True)['rows']:,}"
    ),
    "months-deep": lambda: _sixth_month("all stays, max_depth=5"),
    "months-six": lambda: _sixth_month("all stays"),
    "lists-seeds": lambda: str(results.read("rappor_lists")["seeds"]),
    "distinct-worst": lambda: f"{results.read('distinct')['worst_ratio']:.2f}",
    "words-precision-small": lambda: f"{_words('prefix extension', '2', 50_000)['precision']:.2f}",
    "words-precision-large": lambda: f"{_words('prefix extension', '8', 1_000_000)['precision']:.3f}",
    "words-seeds": lambda: str(results.read("heavy_hitters")["seeds"]),
    "words-k": lambda: str(results.read("heavy_hitters")["k"]),
    "dictionary-seconds": lambda: _dictionary("dictionary_seconds", 1),
    "dictionary-published": lambda: _dictionary("published_dictionary_seconds", 0),
    "clusters-cells": lambda: str(len(results.read("metric_clustering")["cells"]["rows"])),
    "clusters-draws": lambda: str(results.read("metric_clustering")["cells"]["draws"]),
    "clusters-gain-plain": lambda: _gain("plain"),
    "clusters-gain-clipped": lambda: _gain("clipped"),
    "pyspark-version": lambda: ".".join(results.read("spark")["versions"]["pyspark"].split(".")[:2]),
    "risk-raw": lambda: digits(results.read("risk")["sources"]["Parquet"]["processor"]),
    "marginals-reads": lambda: digits(results.read("speed_marginals")["jobs"]["rows, Parquet"]["reads"]),
    "risk-raw-times": lambda: digits(_times("Parquet", "memory")),
    "spark-rows-shuffle": lambda: digits(
        results.read("spark_rows")["sizes"][0]["times_bare"]["bare shuffle and write"]
    ),
    "spark-rows-release": lambda: digits(results.read("spark_rows")["sizes"][0]["times_bare"]["transform_file"]),
    "anonymous-memory": lambda: digits(_largest_anonymous()["peak_gib"]),
    "anonymous-written": lambda: digits(_largest_anonymous()["peak_with_writing_gib"]),
    "anonymous-leaves": lambda: digits(_largest_anonymous()["leaves"] / 1e6),
    "anonymous-levels": lambda: digits(_largest_anonymous()["levels"]),
    "anonymous-row": lambda: digits(_largest_anonymous()["nanoseconds_busy"]),
    "anonymous-every": lambda: digits(_in_turns("of every node")),
    "anonymous-smaller": lambda: digits(_in_turns("of the smaller side")),
    "anonymous-ratio": lambda: digits(results.read("anonymous_files")["ratios"]["10000000"]["file_over_memory"]),
    "scale-memory": lambda: digits(max(r["count"]["peak_gib"] for r in _rows_of_scale())),
    "scale-row-least": lambda: digits(min(_nanoseconds("count", 10**6))),
    "scale-row-most": lambda: digits(max(_nanoseconds("count", 10**6))),
    "scale-read": lambda: digits(max(_nanoseconds("read", 10**6))),
    "scale-small": lambda: digits(max(_nanoseconds("count", most=10**5))),
    "scale-k-means-seconds": lambda: digits(_k_means("seconds")),
    "scale-k-means-memory": lambda: digits(_k_means("peak_gib")),
    "scale-auto-seconds": lambda: digits(results.read("scale")["k_means"]["k-means-auto"]["seconds"]),
    "scale-auto-reads": lambda: digits(results.read("scale")["limits"]["k-means of its own choice, plain reads"][0]),
    "scale-k-means-reads": lambda: digits(results.read("scale")["limits"]["k-means, plain reads"][0]),
    "attack-hardly": lambda: (
        f"{one(results.read('attacks')['results'], columns=2, epsilon=5.0)['membership advantage']['mean']:.2f}"
    ),
    "attack-place": lambda: digits(
        1 / one(results.read("attacks")["results"], columns=2, epsilon=5.0)["error / prior"]["mean"], 1
    ),
    **dict(_interval("centres-4", "4 centres, by distance")),
    **dict(_interval("centres-4-shadows", "4 centres, by shadows")),
    **dict(_interval("centres-100", "100 centres, by distance")),
    **dict(_interval("forest-plain", "forest, no noise")),
    **dict(_interval("forest-noisy", "forest, ε = 1")),
    **dict(_interval("forest-noisy-shadows", "forest, ε = 1, shadows on noisy records")),
    "one-report": _other("1 report at rate 20"),
    "many-reports": _other("32 reports at rate 20"),
    "singled-out-verbatim": _other("singling out, verbatim"),
    "singled-out-2": _other("singling out, k = 2"),
    "singled-out-5": _other("singling out, k = 5"),
    **dict(_interval("singled-out-20", "singling out, k = 20")),
    "few-near": lambda: _held_out("within 3 % of the best"),
    "few-both": lambda: _held_out("both"),
    "few-tables": lambda: str(results.read("tune_few")["parts"]["held-out"]["verdict"]["tables"]),
    "few-below": lambda: _held_out("not above one mean"),
    "audit-trials": lambda: f"{results.read('audit')['trials']:,}",
}
