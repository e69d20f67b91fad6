"""Tables of measured figures, each from the result file it names."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from typing import Any

import figure_models as models
import figure_results as results
from figure_dimensions import few_rows, many_dimensions, many_published
from figure_grids import starts
from figure_results import geometric_mean, one, table
from figure_speed import (
    blanks,
    collector,
    marginals,
    months,
    privacy_cost,
    sealed,
    second_releases,
    soak,
    spark,
    speed,
    speed_front,
    start,
    studio,
    wide_tables,
)

METHODS = ("auto", "EUGkM as published", "RUGNIK as published", "diffprivlib")
SHOWN = {
    "s1": "S1",
    "birch2": "Birch2",
    "adult": "Adult, 6 columns",
    "shuttle": "Shuttle",
    "travel": "Travel, 24 columns",
}


def accuracy_table(budgets: tuple[float, ...] = (0.1, 1.0)) -> str:
    """Return some rows of the accuracy file as a table, the best of a row in bold."""
    held = results.read("accuracy")
    figures = {(r["data"], r["epsilon"], r["method"]): r for r in held["results"]}
    names = ["Discreet" if method == "auto" else method for method in METHODS]
    heads = [f"{name} {held['versions'][name]}" if name in held["versions"] else name for name in names]
    rows = []
    for data, title in SHOWN.items():
        for epsilon in budgets:
            row = [figures[data, epsilon, method] for method in METHODS]
            best = min(r["ratio"] for r in row)
            cells = [f"**{_ratio(r)}**" if r["ratio"] == best else _ratio(r) for r in row]
            rows.append([f"{title}, {epsilon:g}" if len(budgets) > 1 else title, *cells])
    return table(["data, ε" if len(budgets) > 1 else "data", *heads], rows)


def accuracy_summary() -> str:
    """Return the sentence about all settings of the accuracy file."""
    held = results.read("accuracy")
    settings: dict[tuple[str, float], dict[str, float]] = {}
    for r in held["results"]:
        settings.setdefault((r["data"], r["epsilon"]), {})[r["method"]] = r["ratio"]
    budgets = sorted({epsilon for _, epsilon in settings})
    behind = [f"{data} at ε = {e:g}" for (data, e), r in settings.items() if r["auto"] > 1.1 * min(r.values())]
    share = 1 - len(behind) / len(settings)
    mean = geometric_mean(math.log(r["auto"] / min(r[peer] for peer in METHODS[1:])) for r in settings.values())
    counted = f"{len(settings)} settings ({len({data for data, _ in settings})} tables, {len(budgets)} values of ε"
    where = ", ".join(behind) or "nowhere"
    words = (
        f"Over {counted} from {budgets[0]:g} to {budgets[-1]:g}) `PrivateKMeans` is within 10 % of the best of all "
        f"methods measured (itself, our `DPLloyd` and the peers above) in {100 * share:.0f} % of them, and its error "
        f"is {mean:.3f} times that of the best peer (geometric mean). Where it is not: {where}."
    )
    return textwrap.fill(words, width=100) + "\n"


def coverage() -> str:
    """Return how often intervals of counts cover the truth: a sentence and a table, one row per table."""
    held = results.read("coverage")
    pooled = held["pooled"]
    kind = "public" if held["public"] else "generated"
    words = (
        f"Over {held['boxes_per_table']:,} random boxes of one to three columns on each of {len(held['tables'])} "
        f"{kind} tables, half on a grid and half on a tree at ε = {held['epsilon']:g}, intervals at "
        f"{100 * held['level']:g} % cover the truth in {100 * pooled['coverage']:.1f} % of the cases; they are "
        f"{100 * pooled['width']:.1f} % of all rows wide on average. Noise alone, which is "
        f"{100 * pooled['noise_alone_width']:.2f} % wide, covers {100 * pooled['noise_alone_coverage']:.0f} %."
    )
    rows = []
    for name in held["tables"]:
        found = [one(held["results"], table=name, release=release) for release in ("grid", "tree")]
        told = [f"{100 * r['coverage']:.1f} %, {100 * r['width']:.1f} %" for r in found]
        rows.append(
            [SHOWN.get(name, name.capitalize()).partition(",")[0], f"{100 * held['tables'][name]:.1f} %", *told]
        )
    unsaid = held["whole_numbers_unsaid"]
    plain = ", ".join(
        f"{SHOWN.get(r['table'], r['table'].capitalize()).partition(',')[0]} {r['release']} "
        f"{100 * r['coverage']:.0f} %, {100 * r['width']:.1f} %"
        for r in unsaid
    )
    told = {kind: f"{100 * pooled[kind]:.1f} %" for kind in ("mean", "quantile", "cdf", "cdf_at_a_value")}
    least = min(held["results"] + unsaid, key=lambda r: r["cdf_at_a_value"])
    more = (
        f"Whole numbers declared as plain ones (covered, width): {plain}. Intervals of means of a column in such boxes "
        f"cover {told['mean']}, of quantiles {told['quantile']}, of shares up to a random value {told['cdf']}, and "
        f"up to the value of a random row {told['cdf_at_a_value']} (least {100 * least['cdf_at_a_value']:.0f} %: "
        f"{least['table']}, {least['release']})."
    )
    heads = ["table", "covered", "grid: covered, width", "tree: covered, width"]
    parts = [textwrap.fill(words, width=100) + "\n", table(heads, rows)]
    return "\n".join([*parts, textwrap.fill(more, width=100) + "\n"])


def group_means() -> str:
    """Return the errors of 16 private means by several libraries: a sentence and a table."""
    held = results.read("group_means")
    rows = [
        [name.capitalize().replace("Opendp", "OpenDP"), f"{r['error']:.2f} ({r['low']:.2f} to {r['high']:.2f})",
         f"{r['largest']:.1f}"]
        for name, r in held["mean absolute error"].items()
    ]  # fmt: skip
    words = (
        f"The {held['groups']} mean ages by education on Adult (bounds 17 and 90, pure ε = {held['epsilon']:g} for all "
        f"of them, one row added or removed): mean absolute error in years over {held['runs']} runs, with its 95 % "
        f"interval. The error is {held['ratio to the best peer']:.2f} times that of the best other. Its 95 % "
        f"intervals hold in {100 * held['covered']:.0f} % of the cases."
    )
    return "\n".join([textwrap.fill(words, width=100) + "\n", table(["", "error", "largest"], rows)])


def _ratio(row: dict[str, Any]) -> str:
    places = 0 if row["ratio"] >= 100 else 3
    return f"{row['ratio']:.{places}f} ± {row['half_width']:.{places}f}"


def density() -> str:
    """Return the errors of density estimates, next to those of mlpack."""
    sets = [r for r in results.read("density_quality")["sets"] if r["measure"] == "integrated squared error"]
    shown = [
        [f"{r[n]['mean']:.3g} ± {r[n]['half_width']:.2g}" for n in ("ours", "mlpack", "mlpack_best")] for r in sets
    ]
    heads = ["set", "ours", "mlpack, its penalty", "mlpack, best penalty"]
    return table(heads, [[r["set"], *cells] for r, cells in zip(sets, shown, strict=True)])


def leaks() -> str:
    """Return what an attacker learns from cells that were not cut."""
    rows = []
    for r in results.read("minimality")["leak"]:
        if r["blind"]:
            continue
        means = [
            f"{r[n]['mean']:.3f} ({r[n]['low']:.3f} to {r[n]['high']:.3f})" for n in ("baseline", "attacker", "worst")
        ]
        low, mean, high = (100 * max(0.0, r["certain"][n]) for n in ("low", "mean", "high"))
        certain = f"{mean:.1f} % ({low:.1f} to {high:.1f})"
        rows.append([f"{r['method']}, {r['rule']}", *means, certain, f"{100 * r['with_certain_rows']:.0f} %"])
    heads = ["right by the cell alone", "right with what the cells reveal", "gain at the worst row"]
    return table(["method", *heads, "rows that are certain", "tables with such rows"], rows)


def price() -> str:
    """Return the cost of uninformative cells."""
    held = results.read("minimality")["price"]
    sizes = [b["k"] for b in held[0]["blind"] if b["k"] <= 80]
    rows = []
    for r in held:
        cells = []
        for b in r["blind"][: len(sizes)]:
            width = f"{b['width']['mean']:.3f}" if b["width"] else "-"
            cells.append(f"{100 * b['passed']:.0f} %, {width}")
        rows.append([f"{r['method']}, {r['rule']}", f"{r['width']['mean']:.3f}", *cells])
    k = held[0]["k"]
    blind = [f"blind, k = {sizes[0]}", *(f"k = {size}" for size in sizes[1:])]
    return table(["method", f"width, rules inside, k = {k}", *blind], rows)


def information_loss() -> str:
    """Return what cells leave open, and classifiers that are trained on them."""
    rows = []
    for r in results.read("information_loss")["adult"]:
        learnt = [f"{r[n]:.3f} ± {r[f'{n}_half']:.3f}" for n in ("auc_values", "auc_cells")]
        rows.append([r["setting"], f"{r['printed']:.3f}", f"{r['occurring']:.3f}", *learnt])
    heads = ["information loss, as printed", "of occurring values", "AUC on true values", "AUC on cells"]
    return table(["criterion", *heads], rows)


def discretizers() -> str:
    """Return the scores of a forest by what discretisers and a density tree leave, with the tests against the tree."""
    rows = []
    for r in results.read("discretizers")["rows"]:
        scores = [f"{r[name]['mean']:.3f}" for name in ("accuracy", "f1", "recall", "precision", "auc")]
        gap, tested = r["difference"], r["p"] is not None
        told = f"{gap['mean']:+.3f} ({gap['low']:+.3f} to {gap['high']:+.3f})"
        rows.append([r["table"], r["method"], *scores, *([told, f"{r['p']:.3f}"] if tested else ["–", "–"])])
    heads = ["accuracy", "F1", "recall", "precision", "ROC-AUC", "accuracy less the tree's", "p"]
    return table(["table", "method", *heads], rows)


def heavy_hitters() -> str:
    """Return how many of the commonest words are found."""
    held = results.read("heavy_hitters")["words"]
    rows = []
    for r in held:
        text = r["epsilon_text"]
        total = f"{text} = {sum(map(float, text.split('+'))):g}" if "+" in text else text
        rows.append([r["method"], total, *map(_recall, r["rows"])])
    return table(["method", "ε of a user", *(f"{line['n']:,}" for line in held[0]["rows"])], rows)


def distinct() -> str:
    """Return the relative errors of distinct counts, private and plain."""
    held = results.read("distinct")
    budgets = sorted({r["epsilon"] for r in held["private"]})
    rows = []
    for plain in held["plain"]:
        found = [one(held["private"], epsilon=epsilon, n=plain["n"]) for epsilon in budgets]
        shares = [100 * r["count"] / r["n"] for r in (*found, plain)]
        cells = [f"{share:.3g}" if share > 0.01 else "below 0.01" for share in shares]
        rows.append([f"{plain['n']:,}", *cells])
    return table(["items", *(f"ε = {epsilon:g}" for epsilon in budgets), "HyperLogLog"], rows)


def sampling() -> str:
    """Return the ε of sampling before k-anonymity, ours and by the published bound."""
    held = results.read("sampling")["rows"]
    rows = []
    for beta in sorted({r["sample"] for r in held}):
        found = [r for r in held if r["sample"] == beta]
        cells = ["-" if r["ours"] is None else f"{r['ours']:.3g} ({r['published']:.3g})" for r in found]
        rows.append([f"{beta:g}", *cells])
    return table(["chance of being drawn", *(f"k = {k}" for k in sorted({r["k"] for r in held}))], rows)


def rappor_lists() -> str:
    """Return what RAPPOR finds in lists of candidates."""
    held = results.read("rappor_lists")["rows"]
    ways = list(held[0]["found"])
    names = {"report": "60 candidates, 16 x 64", "over_x10": "1,090 candidates, 8 x 128"}
    rows = []
    for r in held:
        cells = ["{:.1f} + {:.1f}".format(*r["found"][way]) for way in ways]
        rows.append([names[r["case"]], r["distribution"], *cells])
    return table(["list, bits x cohorts", "values", *ways], rows)


def other_values() -> str:
    """Return how many of the commonest values of other kinds are found."""
    held = results.read("heavy_hitters")["others"]
    budgets = sorted({r["epsilon"] for r in held})
    rows = []
    for values in dict.fromkeys(r["values"] for r in held):
        found = [one(held, values=values, epsilon=epsilon)["rows"] for epsilon in budgets]
        rows += [[values, f"{line[0]['n']:,}", *map(_recall, line)] for line in zip(*found, strict=True)]
    return table(["values", "reports", *(f"ε = {epsilon:g}" for epsilon in budgets)], rows)


def _recall(line: dict[str, float]) -> str:
    whole = f"{line['recall']:.2f}"
    return whole if line["recall"] == 1 else f"{whole} ± {line['recall_half']:.2f}"


def remap() -> str:
    """Return how far reports are off, by remapping."""
    held = results.read("metric_remap")["results"]
    names = {"gowalla": ("Gowalla, New York, at 200 m", 1.0, "m"), "geonames": ("GeoNames, at 50 km", 1000.0, "km")}
    methods = {
        "none": "none",
        "clip": "clip",
        "bayes, public": "Bayes, public places",
        "bayes, synopsis": "Bayes, synopsis",
    }
    rows = []
    for data, (title, unit, name) in names.items():
        for level in sorted({r["level"] for r in held if r["data"] == data}):
            found = [one(held, data=data, level=level, method=method) for method in methods]
            rows.append(
                [
                    title,
                    f"{level:.3f}".rstrip("0").rstrip("."),
                    *(f"{r['mean_error'] / unit:.1f} {name}" for r in found),
                ]
            )
    return table(["places", "level", *methods.values()], rows)


def elastic() -> str:
    """Return what elastic noise and noise of one radius cost, and whom they hide."""
    held = results.read("metric_elastic")["results"]
    rows = []
    for name in dict.fromkeys(r["mechanism"] for r in held):
        own = [r for r in held if r["mechanism"] == name]
        error, hidden, most = (
            sum(r[k] for r in own) / len(own) for k in ("mean_error", "hidden", "crowd_of_95_percent")
        )
        parts = [sum(r["tenths"]["error"][t] for r in own) / len(own) for t in (0, 4, 9)]
        rows.append(
            [name, f"{error:,.0f} m", *(f"{part:,.0f} m" for part in parts), f"{100 * hidden:.1f} %", f"{most:,.0f}"]
        )
    where = ["in the densest tenth", "in the fifth", "in the sparsest"]
    return table(["mechanism", "mean error", *where, "people with enough others", "95 % have at least"], rows)


def rivals() -> str:
    """Return the errors of mechanisms at equal total privacy."""
    held = results.read("metric_rivals")["results"]
    names = {
        "nd_laplace": "NDLaplace", "column_laplace": "column Laplace", "piecewise": "Piecewise", "duchi": "Duchi",
        "hybrid": "Hybrid", "square_wave": "SquareWave", "priv_unit": "PrivUnit",
    }  # fmt: skip
    rows = []
    for columns, epsilon in dict.fromkeys((r["columns"], r["epsilon"]) for r in held):
        errors = {
            r["mechanism"]: f"{r['error']:.3f}" for r in held if (r["columns"], r["epsilon"]) == (columns, epsilon)
        }
        clipped = {name: f" / {errors[f'{name}, clipped']}" for name in names if f"{name}, clipped" in errors}
        rows.append([str(columns), f"{epsilon:g}", *(errors[name] + clipped.get(name, "") for name in names)])
    return table(["columns", "total ε", *names.values()], rows)


def categories() -> str:
    """Return how many unlisted words each method finds."""
    held = results.read("categories")["results"]
    ways = list(dict.fromkeys(r["way"] for r in held))
    names = {"kosarak": "Kosarak, pages of sessions", "gowalla": "Gowalla, venues of users"}
    rows = []
    for data, epsilon, bound in dict.fromkeys((r["data"], r["epsilon"], r["rows"]) for r in held):
        of = {r["way"]: r for r in held if (r["data"], r["epsilon"], r["rows"]) == (data, epsilon, bound)}
        found = [f"{of[w]['words']:,.0f} ({of[w]['interval'][0]:,.0f} to {of[w]['interval'][1]:,.0f})" for w in ways]
        rows.append([names[data], f"{epsilon:g}", str(bound), *found])
    heads = ["Laplace threshold", "weighted Gaussian", "policy Gaussian", "`private_categories`", "without the bound"]
    return table(["persons and words", "ε", "words of a person", *heads], rows)


def clusters_after_noise() -> str:
    """Return in how many cells taking the noise out again helped."""
    held = results.read("metric_clustering")["cells"]["rows"]
    measures = {
        "log_wcss": "cost of the centres on raw records",
        "ari": "ARI of raw records",
        "ami_noisy": "AMI of the noisy records' labels",
    }
    rows = []
    for rival, title in (("plain", "k-means on noisy records"), ("clipped", "k-means on clipped records")):
        for name, words in measures.items():
            gains = [r[f"gain_over_{rival}"][name] for r in held]
            better = f"{sum(g['mean'] > 0 for g in gains)} of {len(gains)}"
            above, below = (sum(g["interval"][0] > 0 for g in gains), sum(g["interval"][1] < 0 for g in gains))
            rows.append([title, words, better, str(above), str(below)])
    heads = ["`DenoisingKMeans` against", "measured by", "better on average", "interval above 0", "interval below 0"]
    return table(heads, rows)


def how_many() -> str:
    """Return how often the suggested number of clusters is right."""
    held = results.read("how_many")
    words = {
        "separable": "clusters apart, at least 200 rows × ε each on average",
        "faint": "the same, 2 to 200 rows × ε",
        "even": "no clusters, or one",
        "nothing": "no rows: noise alone",
        "crooked": "moons, rings, bars, worms, overlapping blobs",
    }
    parts = held["summary"]["in use"]
    names = ("within_one", "exact", "wrong", "cannot_tell", "one")
    rows = [[text, *(f"{100 * parts[kind][name]:.1f} %" for name in names)] for kind, text in words.items()]
    heads = [
        f"{held['tables_of_each_kind']} generated tables each",
        "within one",
        "exact",
        "wrong",
        "cannot tell",
        "says 1",
    ]
    return table(heads, rows)


def cluster_shapes() -> str:
    """Return how well clusterers of a synopsis agree with the reference."""
    held = results.read("cluster_shapes")
    names = {
        "moons": "two moons",
        "rings": "two rings",
        "aggregation": "Aggregation",
        "worms": "Worms",
        "birch2": "Birch2",
        "gowalla": "Gowalla (against itself without noise)",
    }
    methods = list(dict.fromkeys(r["method"] for r in held["rows"]))
    rows = []
    for data, title in names.items():
        own = {r["method"]: r for r in held["rows"] if r["data"] == data}
        best = max(r["ari"]["mean"] for m, r in own.items() if m != methods[0])
        cells = []
        for method in methods:
            if method not in own:
                cells.append("–")
                continue
            mean, (low, high) = own[method]["ari"]["mean"], own[method]["ari"]["interval"]
            figure = f"{mean:.2f} ± {(high - low) / 2:.2f}" if method != methods[0] else f"{mean:.2f}"
            cells.append(f"**{figure}**" if method != methods[0] and mean == best else figure.replace("-0.00", "0.00"))
        first = next(iter(own.values()))
        rows.append([f"{title}: {first['n']:,} rows, k = {first['k']}", *cells])
    budget = held["rows"][0]["epsilon"]
    return table([f"ARI at ε = {budget:g}, {held['seeds']} seeds", *methods], rows)


def seeds() -> str:
    """Return the agreement of clusters of one small table with and without noise, next to the published figures."""
    rows = [r for r in results.read("metric_clustering")["seeds"]["rows"] if (r["units"], r["k"]) == ("raw units", 2)]
    measured = [f"{r['mean']:.2f} ({r['interval'][0]:.2f} to {r['interval'][1]:.2f})" for r in rows]
    published = ["reference", *(f"{r['published']:.2f}" for r in rows)]
    return table(["ε", *(f"{r['epsilon']:g}" for r in rows)], [published, ["measured", *measured]])


def attacks() -> str:
    """Return what attacks find in perturbed points."""
    rows = []
    for r in results.read("attacks")["results"]:
        low, high = r["membership advantage"]["interval"]
        rows.append(
            [
                str(r["columns"]),
                f"{r['epsilon']:g}",
                f"{r['membership advantage']['mean']:.2f} ({low:.2f} to {high:.2f})",
                f"{r['found at 1 % false']['mean']:.3f}",
                f"{r['error / noise']['mean']:.2f}",
                f"{r['error / prior']['mean']:.3f}",
                f"{r['attribute gain']['mean']:.2f}",
            ]
        )
    heads = ["membership advantage", "found at 1 % false", "error / noise", "error / prior", "attribute gain"]
    return table(["columns", "ε", *heads], rows)


def audits() -> str:
    """Return what the audit showed of this and other libraries."""
    held = results.read("audit")
    rows = []
    for r in held["rows"]:
        claim = f"{r['claimed']:.3g}" + (f", δ = {r['delta']:g}" if r["delta"] else "")
        bound = f"{r['measured']:.2f}"
        rows.append([r["library"], r["mechanism"], claim, f"**{bound}**" if r["exceeds_claim"] else bound])
    versions = ", ".join(f"{name} {version}" for name, version in held["versions"].items() if name != "python")
    return table(["library", "mechanism", "claimed ε", "ε at least"], rows) + f"\nVersions: {versions}.\n"


def audit_front() -> str:
    """Return for each library how many claims were audited, and how many refuted."""
    held = results.read("audit")
    lines = []
    for library in dict.fromkeys(r["library"] for r in held["rows"]):
        rows = [r for r in held["rows"] if r["library"] == library]
        worst = max(rows, key=lambda r: r["measured"] / r["claimed"])
        broken = sum(r["exceeds_claim"] for r in rows)
        name = f"{library} {held['versions'][library]}" if library in held["versions"] else "Discreet"
        figure = f"{worst['claimed']:.3g}, **{worst['measured']:.2f}**" if broken else "none"
        lines.append([name, str(len(rows)), str(broken), figure])
    return table(["library", "claims audited", "refuted", "worst: ε claimed, ε at least"], lines)


def blocks() -> str:
    """Return the loss of microaggregation in blocks and of plain MDAV, by k."""
    held = results.read("tune_microaggregation")
    found = {(r["k"], r["block"]): r for r in held["summary"]}
    rows = []
    for k in dict.fromkeys(k for k, _ in found):
        plain, own = found[k, "none"], found[k, f"{held['in_use'][str(k)]:,}"]
        ratio = f"{own['ratio']:.3f} ({own['low']:.3f} to {own['high']:.3f})"
        rows.append(
            [
                str(k),
                f"{own['median']:.3f}",
                ratio,
                f"{own['largest']:.3f}",
                f"{own['seconds']:.1f} s",
                f"{plain['seconds']:.1f} s",
            ]
        )
    return table(["k", "loss over plain MDAV, median", "mean (95 %)", "largest", "time", "time of plain MDAV"], rows)


def fuzzers() -> str:
    """Return what each fuzzer did: tests/fuzz/results.json."""
    rows = [
        [f"`{name}`", f"{told['executions']:,}", f"{told['cpu_seconds'] / 60:.1f}", f"{told['kept_inputs']:,}",
         f"{told['slowest_seconds']:g}", f"{told['peak_megabytes']:,}", str(len(told["findings"]))]
        for name, told in results.read("results").items()
    ]  # fmt: skip
    heads = ["fuzzer", "inputs", "CPU minutes", "kept inputs", "slowest, s", "peak MB", "findings"]
    return table(heads, rows)


TABLES: dict[str, Callable[[], str]] = {
    "fuzzers": fuzzers,
    "coverage-kinds": models.kinds,
    "models-coverage": models.coverage,
    "models-linear": models.linear,
    "models-logistic": models.logistic,
    "models-mixed": models.mixed,
    "models-pca": models.pca,
    "models-synthetic": models.synthetic,
    "accuracy": accuracy_table,
    "accuracy-front": lambda: accuracy_table((1.0,)),
    "accuracy-summary": accuracy_summary,
    "attacks": attacks,
    "audit-front": audit_front,
    "audits": audits,
    "blocks": blocks,
    "categories": categories,
    "cluster-shapes": cluster_shapes,
    "clusters-after-noise": clusters_after_noise,
    "collector": collector,
    "sealed": sealed,
    "soak": soak,
    "coverage": coverage,
    "density": density,
    "distinct": distinct,
    "elastic": elastic,
    "few-rows": few_rows,
    "group-means": group_means,
    "how-many": how_many,
    "heavy-hitters": heavy_hitters,
    "discretizers": discretizers,
    "information-loss": information_loss,
    "leaks": leaks,
    "many-dimensions": many_dimensions,
    "many-published": many_published,
    "marginals": marginals,
    "other-values": other_values,
    "price": price,
    "privacy-cost": privacy_cost,
    "rappor-lists": rappor_lists,
    "remap": remap,
    "rivals": rivals,
    "sampling": sampling,
    "blanks": blanks,
    "months": months,
    "second-releases": second_releases,
    "seeds": seeds,
    "spark": spark,
    "speed": speed,
    "speed-front": speed_front,
    "starts": starts,
    "start": start,
    "studio": studio,
    "wide-tables": wide_tables,
}
