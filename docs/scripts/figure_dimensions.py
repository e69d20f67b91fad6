"""Tables of what private k-means costs in many dimensions, on generated and on published tables."""

from __future__ import annotations

import itertools
import math
import textwrap
from typing import Any

import figure_results as results
from figure_results import table

Budget = tuple[float, float]


def _by_table() -> dict[str, dict[Budget, dict[str, Any]]]:
    """Return what was measured in many dimensions: for every table, of each ε and δ, the figures of methods."""
    found: dict[str, dict[Budget, dict[str, Any]]] = {}
    held = {**results.read("many_dimensions")["settings"], **results.read("many_published")["settings"]}
    for key, methods in held.items():
        name, epsilon, delta = key.rsplit(" ", 2)
        found.setdefault(name, {})[float(epsilon.partition("=")[2]), float(delta.partition("=")[2])] = methods
    return found


def few_rows() -> str:
    """Return what private k-means costs in strong noise, next to simpler methods."""
    rows = []
    for key, methods in results.read("few_rows")["settings"].items():
        told = {name: f"{f['mean']:.3f} ± {f['interval']:.3f}" for name, f in methods.items()}
        name, _, epsilon = key.rpartition(" epsilon=")
        others = [told.get(other, "") for other in ("DPLloyd", "one mean", "grid, project")]
        rows.append([name.replace("d=", ""), epsilon, told["auto"], *others])
    return table(["table", "ε", "`auto`", "`DPLloyd`", "one private mean", "RUGNIK grid, `project`"], rows)


def many_dimensions() -> str:
    """Return what private k-means costs in many dimensions: a table, one row per number of columns, and a sentence."""
    held = results.read("many_dimensions")["settings"]
    found = {
        name: {budget: methods["PrivateKMeans"] for budget, methods in costs.items()}
        for name, costs in _by_table().items() if name.startswith(("blobs", "mnist"))
    }  # fmt: skip
    budgets = [(0.5, 0.0), (1.0, 0.0), (0.5, 1e-6), (1.0, 1e-6)]
    rows = []
    for name, costs in found.items():
        shown = f"blobs, {name.partition('=')[2]} columns" if "=" in name else "MNIST, 784 columns"
        told = [f"{costs[b]['mean']:.3f} ± {costs[b]['interval']:.3f}" if b in costs else "" for b in budgets]
        rows.append([shown, *told])
    blobs = {(name, *budget): f for name, costs in found.items() if "=" in name for budget, f in costs.items()}
    missed, tried = (sum(f[which] for f in blobs.values()) for which in ("missed", "seeds"))
    where = "; ".join(
        f"{f['missed']} of {f['seeds']} with {name.partition('=')[2]} columns at ε = {epsilon:g}"
        + (" with a δ" if delta else "")
        for (name, epsilon, delta), f in blobs.items() if f["missed"]
    )  # fmt: skip
    words = f"{missed} of {tried} fits of blobs missed a cluster{f': {where}' if where else ''}."
    if images := [methods for key, methods in held.items() if key.startswith("mnist")]:
        plain, ours = images[0]["plain"], [methods["PrivateKMeans"] for methods in images]
        told = ", ".join(f"{f['label_accuracy']:.2f}" for f in ours)
        words += (
            f" MNIST: {ours[0]['seeds']} seeds, against the best of {plain['starts']} starts; the share of images with "
            f"their cluster's commonest digit is {told} (pure, with a δ), and {plain['label_accuracy']:.2f} without."
        )
    words = textwrap.fill(words, width=100)
    heads = ["table", "ε = 0.5", "ε = 1", "ε = 0.5, δ = 10⁻⁶", "ε = 1, δ = 10⁻⁶"]
    return "\n".join([table(heads, rows), words + "\n"])


#: Published tables: how they are called, their columns, and how many clusters are requested.
PUBLISHED = {
    "letter": ("Letter", 16, 26), "satimage": ("Satimage", 36, 6), "texture": ("Texture", 40, 11),
    "spambase": ("Spambase", 57, 2), "optdigits": ("Optdigits", 64, 10),
    **{f"dim{d:03}": (f"Dim{d:03}", d, 16) for d in (32, 64, 128, 256)},
    **{f"g2mg_{d}_40": ("G2", d, 2) for d in (16, 32, 64, 128)},
}  # fmt: skip


def many_published() -> str:
    """Return costs on published tables with many columns, next to the peers, and a note where ours is not best."""
    everything = _by_table()
    found = {name: everything[name] for name in PUBLISHED}
    budgets, methods = [(0.2, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 1e-6)], ("PrivateKMeans", "DPLloyd", "diffprivlib")
    rows, behind, n_settings = [], [], 0
    for name, (title, d, k) in PUBLISHED.items():
        cells = []
        for budget in budgets:
            peers = {**found[name][budget[0], 0.0], **found[name][budget]}  # diffprivlib has no use for a δ
            costs = {m: peers[m]["mean"] for m in methods if m in peers}
            best, n_settings = min(costs, key=costs.__getitem__), n_settings + 1
            told = [f"**{_cost(peers[m])}**" if m == best else _cost(peers[m]) for m in costs]
            cells.append(" / ".join(told))
            if best != "PrivateKMeans":
                behind.append(f"{title} ({d}) at ε = {budget[0]:g}{' with a δ' if budget[1] else ''}")
        rows.append([f"{title}, {d} columns, k = {k}", *cells])
    seeds = {m: sorted({f[m]["seeds"] for costs in found.values() for f in costs.values() if m in f}) for m in methods}
    runs = ", ".join(f"{m} {min(n)}" + (f" to {max(n)}" if len(n) > 1 else "") for m, n in seeds.items())
    absent = [f"{t} ({d})" for name, (t, d, _) in PUBLISHED.items() if "diffprivlib" not in found[name][1.0, 0.0]]
    words = f"Seeds: {runs} (below five, no interval)"
    words += f"; diffprivlib was not run to its end on {', '.join(absent)}" if absent else ""
    words += ". `PrivateKMeans` has the lowest measured mean in "
    words += f"{n_settings - len(behind)} of {n_settings} settings"
    words += f"; the exceptions: {'; '.join(behind)}." if behind else "."
    dims = [f[m] for name, costs in found.items() if name.startswith("dim") for f in costs.values() for m in f]
    words += f" {sum(f['missed'] for f in dims)} of {sum(f['seeds'] for f in dims)} fits of Dim, by any method, missed "
    words += "a cluster."
    worse, rising, pairs = _worse_with_more(everything)
    words += " With more ε (at the same δ) our mean cost rises by more than the interval of the difference in "
    words += f"{len(worse)} of {pairs} pairs of neighbouring settings, blobs included"
    words += f" ({'; '.join(worse)})" if worse else ""
    words += f", and within it in {len(rising)}: {'; '.join(rising)}." if rising else "."
    heads = ["table", "ε = 0.2", "ε = 0.5", "ε = 1", "ε = 1, δ = 10⁻⁶"]
    return "\n".join([table(heads, rows), textwrap.fill(words, width=100) + "\n"])


def _cost(row: dict[str, Any]) -> str:
    places = 0 if row["mean"] >= 100 else 2 if row["mean"] >= 10 else 3
    if row["seeds"] < 5:  # an interval would say nothing
        return f"{row['mean']:.{places}f}"
    return f"{row['mean']:.{places}f} ± {row['interval']:.{places}f}"


def _worse_with_more(found: dict[str, dict[Budget, dict[str, Any]]]) -> tuple[list[str], list[str], int]:
    """Return where our mean cost is higher at the next larger ε, beyond the interval and within; how many pairs."""
    worse, rising, pairs = [], [], 0
    for name, costs in found.items():
        title, d, _ = PUBLISHED.get(name, (name, 0, 0))
        for delta in sorted({both[1] for both in costs}):
            ours = [(both[0], costs[both]["PrivateKMeans"]) for both in sorted(costs) if both[1] == delta]
            for (low, less), (high, more) in itertools.pairwise(ours):
                pairs, step = pairs + 1, more["mean"] - less["mean"]
                if step > 0:
                    beyond = step > math.hypot(less["interval"], more["interval"])
                    (worse if beyond else rising).append(f"{title}{f' ({d})' if d else ''}, {low:g} to {high:g}")
    return worse, rising, pairs
