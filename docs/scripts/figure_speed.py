"""Tables of running times, next to those of the peers, from `benchmarks/results/`."""

from __future__ import annotations

from typing import Any

import figure_results as results
from figure_results import digits, faster, one, table


def speed() -> str:
    """Return the times of all benchmarks, next to those of the peers."""
    rows = [*_speed_of_noise(), *_speed_of_quantiles(), *_speed_of_tables(), *_speed_of_groups(), *_speed_of_counts()]
    rows += [*_speed_of_persons(), *_speed_of_readers(), *_speed_of_reports()]
    return table(["job", "Discreet", "peers", "ratio"], rows)


def speed_front() -> str:
    """Return one job of each room, for the front page."""
    noise, quantiles, synopsis = (results.read(name) for name in ("noise", "quantiles", "synopsis"))
    tables, reports = results.read("anonymity"), results.read("local")
    draws = one(noise["results"], law="laplace", scale=1.0)
    ours = one(quantiles["results"], library="discreet", method="joint", m=3)
    peer = one(quantiles["results"], library="opendp", m=3)
    means = [synopsis["kmeans_seconds"][name] for name in ("discreet, synopsis and clustering", "diffprivlib")]
    risk = one(tables["seconds"], job="adult, k, l, t, alpha, beta (ours: all measures)")
    hashing = one(reports["results"], job="local hashing, decode")
    each = {name: digits(1e6 * value) for name, value in hashing["seconds_each"].items()}
    opendp = ".".join(noise["versions"]["opendp"].split(".")[:2])
    pure = ".".join(reports["versions"]["pure-ldp"].split(".")[:2])
    rows = [
        [
            f"{draws['draws']:,} exact discrete Laplace draws",
            f"{digits(draws['seconds']['secure'])} s",
            f"OpenDP {opendp}: {digits(draws['seconds']['opendp'])} s",
            digits(draws["times_faster_than_opendp"]),
        ],
        [
            f"3 quantiles of {quantiles['rows']:,} rows",
            f"{digits(ours['seconds'])} s, {ours['rank_error']:.1f} ranks off",
            f"OpenDP: {digits(peer['seconds'])} s, {peer['rank_error']:.1f} ranks off",
            digits(peer["seconds"] / ours["seconds"]),
        ],
        [
            f"private k-means of {synopsis['rows']:,} rows x {synopsis['columns']} columns",
            f"{digits(means[0])} s",
            f"diffprivlib {synopsis['versions']['diffprivlib']}: {digits(means[1])} s",
            digits(means[1] / means[0]),
        ],
        [
            "k, l, t, α and β of Adult",
            f"{digits(risk['ours'])} s",
            f"pyCANON {tables['versions']['pycanon']}: {digits(risk['peer'])} s",
            digits(risk["times_faster"]),
        ],
        [
            f"one report of local hashing against {reports['setting']['values']:,} candidates",
            f"{each['ours']} µs",
            f"pure-ldp {pure}: {each['pure-ldp']} µs",
            digits(hashing["times_faster"]),
        ],
    ]
    return table(["job", "Discreet", "peer", "times faster"], rows)


def collector() -> str:
    """Return the throughput of a collector, next to that of a server that only echoes."""
    held = results.read("collector")
    single, ratios = held["single"], held["durable_over_echo"]
    rows = [["one report per request, echoed", f"{single['echo']['per_second']:,.0f} per second", "1"]]
    for name, shown in (("sqlite", "SQLite"), ("postgres", "PostgreSQL, one process")):
        if name in ratios:
            rows.append(
                [
                    f"the same, on the disk: {shown}",
                    f"{single[name]['per_second']:,.0f} per second, 99 % within {digits(single[name]['p99_ms'])} ms",
                    digits(ratios[name]),
                ]
            )
    folding, memory = held["folding"], held["memory"]
    kept = [f"{memory[name]:.0f} MiB" for name in ("first_mib", "last_mib", "disk_mib")]
    rows += [
        [
            "batches of 1,000, SQLite",
            f"{held['batches']['reports_per_second'] / 1e6:.1f} million reports per second",
            "",
        ],
        [
            f"one by one while {folding['reports_folded'] / 1e6:.0f} million are folded into a sketch of 1024 x 1024",
            f"{folding['per_second']:,.0f} per second, 99 % within {digits(folding['p99_ms'])} ms",
            "",
        ],
        [
            f"memory over {memory['reports']:,} reports",
            f"{kept[0]} at first, {kept[1]} at last, {kept[2]} on the disk",
            "",
        ],
    ]
    return table(["load, 64 connections", "measured", "durable over echo"], rows)


def sealed() -> str:
    """Return the rate of sealed reports through a shuffler, next to that of direct ones in the same turns."""
    held = results.read("collector")["sealed"]
    single, ratios = held["single"], held["ratios"]
    rows = [
        ["direct, on the collector's disk", "1", f"{single['direct']['cpu_us']:.0f} µs"],
        ["sealed, on the shuffler's disk", digits(ratios["shuffler over direct"]), ""],
        [
            "sealed, on the collector's disk",
            digits(ratios["whole way over direct"]),
            f"{single['whole way']['cpu_us']:.0f} µs, both processes",
        ],
    ]
    return table(["one report per request", "rate over direct", "processor time per report"], rows)


def soak() -> str:
    """Return what a soak came to: everything at once, with kills and full disks."""
    held = results.read("soak")
    checked, acts = held["checked"], held["acts"]
    runs = sum(n for name, n in checked.items() if name.startswith("runs of the studio"))
    reports = sum(n for name, n in checked.items() if name.startswith("reports"))
    kills = ", ".join(f"{name} {n}" for name, n in sorted(held["kills"].items()))
    grown = ", ".join(f"{name} {facts['mib_per_hour']:+.0f}" for name, facts in held["memory"].items())
    broken = [name for name, well in held["promises"].items() if not well]
    other = sum(n for name, n in held["errors"].items() if name.endswith("not explained"))
    rows = [
        ["reports acknowledged, each counted once", f"{reports:,}"],
        ["entries of accounts", f"{checked['entries of accounts']:,} in {checked['accounts']} accounts"],
        ["actions of a steward in the studio, and runs", f"{sum(acts['studio'].values()):,} and {runs:,}"],
        ["files of commands, and releases from Spark",
            f"{checked['files of commands']:,} and {checked['releases from Spark']:,}"],
        ["processes killed with `kill -9`", f"{sum(held['kills'].values())} ({kills})"],
        ["full disks", f"{held['full_disks']}"],
        ["errors explained by a kill, a full disk or a limit, and others",
            f"{sum(held['errors'].values()) - other:,} and {other:,}"],
        ["memory, MiB per hour within a life", grown],
        ["promises broken", ", ".join(broken) or "none"],
    ]  # fmt: skip
    return table([f"{held['minutes']:g} minutes, seed {held['seed']}", "measured"], rows)


def studio() -> str:
    """Return how long the pages of the studio take with a large table."""
    held = results.read("studio")
    rows = [
        [page["page"], *(f"{1000 * page[name]:.0f} ms" for name in ("first_s", "first_cpu_s", "median_s")),
            f"{page['kb']:.0f} kB"]
        for page in held["pages"]
    ]  # fmt: skip
    rows.append(["memory of the server at most", f"{held['peak_mb']} MiB", "", "", ""])
    return table(["page", "at first", "work of it", "again", "size"], rows)


def start() -> str:
    """Return the time of the first and of later commands on a small table."""
    rows = [
        [f"`{line['command']}`", f"{line['cold_s']:.1f} s", f"{line['warm_s']:.1f} s", f"{line['peak_mb']} MB"]
        for line in commands()
    ]
    return table(["job", "first", "later", "memory"], rows)


def commands() -> list[dict[str, Any]]:
    """Return the lines of verbs and estimators: what reads a table and may compile."""
    lines: list[dict[str, Any]] = results.read("start")["lines"]
    return [line for line in lines if line["command"] not in ("help", "wrong option", "import discreet", "studio")]


def _speed_of_noise() -> list[list[str]]:
    held = results.read("noise")
    version = ".".join(held["versions"]["opendp"].split(".")[:2])
    rows = []
    for job, law, scale, peer in (
        (
            "1,000,000 exact discrete Laplace draws, scale 1, operating-system entropy",
            "laplace",
            1.0,
            f"OpenDP {version}",
        ),
        ("the same, scale 10", "laplace", 10.0, "OpenDP"),
        ("1,000,000 exact discrete Gaussian draws, σ = 10", "gaussian", 10.0, "OpenDP"),
    ):
        r = one(held["results"], law=law, scale=scale, draws=1_000_000)
        seconds = r["seconds"]
        rows.append(
            [
                job,
                f"{digits(seconds['secure'])} s",
                f"{peer}: {digits(seconds['opendp'])} s",
                faster(r["times_faster_than_opendp"]),
            ]
        )
    return rows


def _speed_of_persons() -> list[list[str]]:
    held, rows = results.read("rows_of_persons"), []
    for r in held["results"]:
        if "ratio" in r:
            spark = r["engine"] == "Spark frame"
            peers_text = "a bare `row_number` window" if spark else "Polars, counting rows by person"
            job = f"keep {held['kept']} rows of each of {r['people']:,} persons, {r['rows']:,} rows, {r['engine']}"
            ratio = f"{r['ratio']:.1f} times that"
            rows.append([job, f"{digits(r['seconds'])} s", f"{peers_text}: {digits(r['yardstick'])} s", ratio])
    return rows


def _speed_of_quantiles() -> list[list[str]]:
    held = results.read("quantiles")
    rows = []
    for m, job in ((3, f"3 quantiles of {held['rows']:,} rows, ε = {held['epsilon']:g}"), (9, "9 quantiles")):
        ours = one(held["results"], library="discreet", method="joint", m=m)
        peers = {name: one(held["results"], library=name, m=m) for name in ("opendp", "diffprivlib")}
        titles = {"opendp": "OpenDP", "diffprivlib": "diffprivlib"}
        if m == 3:
            titles["diffprivlib"] += f" {held['versions']['diffprivlib']}"
        peers_text = [f"{titles[n]} {digits(r['seconds'])} s, {r['rank_error']:.1f} ranks" for n, r in peers.items()]
        least = min(r["seconds"] for r in peers.values()) / ours["seconds"]
        shown = f"{digits(ours['seconds'])} s, {ours['rank_error']:.1f} ranks off"
        rows.append([job, shown, "; ".join(peers_text), faster(least)])
    return rows


def _speed_of_tables() -> list[list[str]]:
    held = results.read("anonymity")
    version = ".".join(held["versions"]["mlpack"].split(".")[:2])
    seconds = held["seconds"]
    large = "50,000 x 5"
    rows = []
    for title, peer, r in (
        (
            f"density tree of {large}, one thread",
            f"mlpack {version}",
            one(seconds, job="growth, grid of 100, one thread", table=large),
        ),
        (
            "the same with ten folds",
            "mlpack",
            one(seconds, job="growth and ten folds, grid of 100, one thread", table=large),
        ),
        (
            "k, l, t, α and β of Adult",
            f"pyCANON {held['versions']['pycanon']}",
            one(seconds, job="adult, k, l, t, alpha, beta (ours: all measures)"),
        ),
    ):
        rows.append([title, f"{digits(r['ours'])} s", f"{peer}: {digits(r['peer'])} s", faster(r["times_faster"])])
    r = one(results.read("metric")["arrays"], columns=7)
    ours, plain = (f"{r[name] / 1e6:.1f} million" for name in ("rows_per_second", "numpy_rows_per_second"))
    rows.append(
        [
            "perturb 7 columns, exact noise",
            f"{ours} rows per second",
            f"plain NumPy with floats: {plain}",
            faster(r["times_numpy"]),
        ]
    )
    return rows


def _speed_of_groups() -> list[list[str]]:
    held = results.read("microaggregation")
    found = {(r["rows"], r["method"]): r for r in held["results"]}
    few, many = min(n for n, _ in found), max(n for n, _ in found)
    ours, peer, blocks = found[few, "MDAV"], found[few, "anonypyx, MDAV-generic"], found[many, "MDAV in blocks"]
    peers_text = f"anonypyx {held['versions']['anonypyx']}: {digits(peer['seconds'])} s"
    return [
        [f"microaggregation of {few:,} x 5, k = {held['k']}", f"{digits(ours['seconds'])} s", peers_text]
        + [faster(peer["times_slower"])],
        [f"the same of {many:,} x 5, in blocks", f"{digits(blocks['seconds'])} s", "", ""],
    ]


def _speed_of_counts() -> list[list[str]]:
    r = one(results.read("engines")["results"], data="Parquet")
    held = results.read("synopsis")
    methods = [one(held["methods"], method=name) for name in ("grid 2^15", "tree binary", "tree median")]
    ours, peer = (held["kmeans_seconds"][name] for name in ("discreet, synopsis and clustering", "diffprivlib"))
    return [
        [
            f"count {r['rows']:,} Parquet rows by 64 x 64 cells",
            f"{digits(r['count_s'])} s",
            f"Polars {digits(r['peers_s']['polars'])} s",
            f"{digits(r['ratio'])} times one plain read",
        ],
        [
            f"synopsis of {held['rows']:,} rows x {held['columns']} columns: grid / binary tree / median tree",
            " / ".join(digits(m["seconds"]) for m in methods) + " s",
            "",
            " / ".join(f"{m['over_read']:.0f}" for m in methods) + " times one plain read",
        ],
        [
            "private k-means of the same table, k = 5",
            f"{digits(ours)} s",
            f"diffprivlib {digits(peer)} s",
            faster(peer / ours),
        ],
    ]


def _speed_of_readers() -> list[list[str]]:
    held = results.read("readers")
    version = ".".join(held["versions"]["polars"].split(".")[:2])
    rows = []
    for data, job in (("CSV, 17 digits", "numbers of 17 digits"), ("CSV, short numbers", "short numbers")):
        r = one(held["results"], data=data)
        ours, peer = (digits(r[name]) for name in ("processor_seconds", "peer_processor_seconds"))
        rows.append(
            [
                f"count {r['rows']:,} rows of CSV by 64 x 64 cells, {job}",
                f"{ours} s of all cores together",
                f"Polars {version}: {peer} s",
                faster(r["speed_by_processors"]),
            ]
        )
    for data, job, peer in (
        ("Excel", "rows of a workbook", "python-calamine, reading alone"),
        ("SQLite", "rows of SQLite", "Python's `sqlite3`, reading alone"),
        ("PostgreSQL", "rows of PostgreSQL", "`COPY` of the same query to nowhere"),
    ):
        r = one(held["results"], data=data)
        rows.append(
            [
                f"count {r['rows']:,} {job}, opening included",
                f"{digits(r['seconds'])} s",
                f"{peer}: {digits(r['peer_seconds'])} s",
                f"{digits(r['seconds'] / r['peer_seconds'])} times one plain read",
            ]
        )
    return rows


def _speed_of_reports() -> list[list[str]]:
    held = results.read("local")
    sketch = f"{held['setting']['rows']} x {held['setting']['width']}"
    version = ".".join(held["versions"]["pure-ldp"].split(".")[:2])
    rows = []
    for name, title, peer in (
        ("Hadamard sketch", f"Hadamard sketch ({sketch})", f"pure-ldp {version}"),
        ("count-mean sketch", "count-mean sketch", "pure-ldp"),
    ):
        found = [one(held["results"], job=f"{name}, {step}") for step in ("encode", "aggregate")]
        ours = " / ".join(digits(1e9 * r["seconds_each"]["ours"]) for r in found)
        theirs = " / ".join(digits(1e6 * r["seconds_each"]["pure-ldp"]) for r in found)
        times = " / ".join(digits(r["times_faster"]) for r in found)
        rows.append(
            [
                f"one report of a {title}: randomise / count",
                f"{ours} ns",
                f"{peer}: {theirs} µs",
                f"{times} times faster",
            ]
        )
    r = one(held["results"], job="local hashing, decode")
    each = {name: digits(1e6 * value) for name, value in r["seconds_each"].items()}
    rows.append(
        [
            f"one report of local hashing against {held['setting']['values']:,} candidates",
            f"{each['ours']} µs",
            f"pure-ldp {each['pure-ldp']} µs, multi-freq-ldpy {each['multi-freq-ldpy']} µs",
            faster(r["times_faster"]),
        ]
    )
    return rows


def spark() -> str:
    """Return what releases on Spark take, as multiples of a bare group-by."""
    held = results.read("spark")
    size = held["grid"]
    lines = {
        "grid": f"`GridSynopsis`, {size}, public number of rows",
        "grid, number of rows bought": "the same, number of rows estimated privately",
        "tree": f"`TreeSynopsis`, depth {held['depth']}",
        "count, kernels": f"the {size} count by the kernels on Arrow batches",
        "tumult": f"Tumult Analytics, {size}, in its own environment",
    }
    seconds = [r["seconds"] for r in held["sizes"]]
    bare = [f"bare group-by, {size} cells", *(f"{s['bare group-by']:.2f} s" for s in seconds)]
    rows = [[title, *(f"{s[name] / s['bare group-by']:.1f} times" for s in seconds)] for name, title in lines.items()]
    heads = [f"10^{len(str(r['rows'])) - 1} rows" for r in held["sizes"]]
    return table(["", *heads], [bare, *rows])


def wide_tables() -> str:
    """Return the errors of marginal synopses of wide tables and of parities."""
    found = results.read("wide_tables")["runs"].items()
    return table(
        ["table", "mean total variation", "CPU s", "runs"],
        [
            [case, f"{r['error']:.4f} ± {r['half']:.4f}", f"{r['cpu_seconds']:.1f}", str(r["seeds"])]
            for case, r in found
        ],
    )


def marginals() -> str:
    """Return seconds and memory of marginal synopses."""
    rows = []
    for job, r in results.read("speed_marginals")["jobs"].items():
        size = f"{r['rows']:,} x {r['columns']}"
        told = [digits(r[name]) for name in ("read_seconds", "counting_seconds", "model_seconds", "cpu_seconds")]
        rows.append([job, size, *told, f"{r['grown_mb']:,.0f}"])
    return table(["table", "size", "plain read, s", "counting, s", "model and rows, s", "CPU s", "memory, MB"], rows)


def privacy_cost() -> str:
    """Return what privacy costs a classifier trained on synthetic rows of Adult."""
    held = results.read("synthetic-tables")["results"]
    runs = [r for r in held if r["data"] == "adult-raw" and r["method"] == "discreet" and r["delta"] > 0]
    real = runs[0]["auc_of_real"]
    rows = [["none: the real rows", f"{real:.3f}", "", ""]]
    for epsilon in sorted({r["epsilon"] for r in runs}, reverse=True):
        own = [r for r in runs if r["epsilon"] == epsilon]
        area, pairs = (sum(r[name] for r in own) / len(own) for name in ("auc", "pairs"))
        rows.append([f"ε = {epsilon:g}", f"{area:.3f}", f"{real - area:.3f}", f"{pairs:.3f}"])
    return table(["privacy", "AUC on real test rows", "lost", "error of pairs"], rows)


def months() -> str:
    """Return six monthly releases: rows left out, cells and their width."""
    names = ("month", "rows", "published_before", "never_published", "cells", "width")
    rows = [
        [f"{row[name]:.3f}" if name == "width" else f"{row[name]:,}" for name in names]
        for row in results.read("months")["results"]
        if row["files"] == "all stays"
    ]
    return table(["month", "rows", "left out: published before", "never published", "cells", "width"], rows)


def blanks() -> str:
    """Return recoded tables with rows left out, and with blanks: rows left out or blanked, and the loss."""
    held = [row for row in results.read("blanks")["results"] if row["table"] != "hospital"]
    rows = []
    for plain, filled in zip(held[::2], held[1::2], strict=True):
        part = f"{plain['table']}, {plain['suppress']:g}"
        rows.append([part, f"{plain['left_out']:,}", f"{plain['loss']:.3f}", f"{filled['left_out']:,}",
            f"{filled['blanked']:,}", f"{filled['loss']:.3f}"])  # fmt: skip
    return table(["table, `suppress`", "left out", "loss", "with blanks: left out", "blanked", "loss"], rows)


def second_releases() -> str:
    """Return how fine a second release is, by the partition that makes it."""
    forms = {
        "first": "the first release",
        "frozen": "the same tree",
        "anew": "a new fit",
    }
    rows = [
        [r["newcomers"], *(f"{r[form]['cells']:,} of width {r[form]['width']:.3f}" for form in forms)]
        for r in results.read("second_release")["second_release"]
    ]
    return table(["newcomers live", *forms.values()], rows)
