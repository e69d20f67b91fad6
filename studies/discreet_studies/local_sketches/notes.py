"""What the sketch experiments say beyond single figures: verdicts by table, the faults, costs, times, words found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet_studies.as_published import sketches as fault
from discreet_studies.harness.report import number, table_of
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.local_sketches.findings import EXP_50K, EXP_500K, FILTER, NORM_200K, WORDS, costs, runs
from discreet_studies.local_sketches.published import column
from discreet_studies.local_sketches.runs import crowd
from discreet_studies.local_sketches.verdicts import FACTOR, SHARE


def notes(results: Results) -> list[str]:
    """Return the paragraphs and tables below the findings."""
    return [
        *_rule(),
        *_stretch(results),
        *_puzzle(results),
        *_hashes(results),
        *_bits(results),
        *_costs(),
        *_times(results),
        *_law(results),
    ]


def _rule() -> list[str]:
    return [
        "## How a verdict is found",
        f"A printed figure is one run. It is reproduced if it lies where {100 * SHARE:g} of 100 single runs of ours "
        f"do, and within a factor {FACTOR:g} of their mean (not so the columns of Table 5.11; a ratio of times may be "
        "off by 4). Single runs are taken to spread as in the middle row of the table, or as in their own if that is "
        "more (T and r: as in their own, by Student's t). If a figure does not agree, but would with a fault of the "
        "published programs switched on, it is reproduced after correction: *measured* is then the right figure, and "
        "the note says what comes out with the fault. A figure that agrees both ways counts as reproduced.",
    ]


def _stretch(results: Results) -> list[str]:
    rows = []
    for point, value in column("5.6", "rmse"):
        where = {"part": "PHCMS", **NORM_200K, "k": 1024, "m": 256, **point}
        right, wrong = results.estimate("rmse", **where), results.estimate("rmse_half", **where)
        other = results.estimate("rmse", **{**where, "part": "PCMS"})
        if right.runs:
            cells = [f"{point['epsilon']:g}", f"{fault.half_budget_ratio(point['epsilon']):.3f}", number(value)]
            cells += [number(wrong.mean), number(right.mean), number(other.mean), number(right.mean / other.mean)]
            rows.append(cells)
    head = ["ε", "stretch ρ", "printed RMSE of PHCMS", "constant of ε/2", "right constant", "PCMS", "PHCMS / PCMS"]
    nothing = Estimate.of(50_000 / len(crowd("exponential", 50_000, seed).domain) for seed in range(20)).mean
    errors = [value for _, value in column("5.4", "mean_error")]
    return [
        "## The wrong constant of the Hadamard sketch",
        "The published programs flip the sign with ε and scale it back with the constant of ε/2. Every estimate is "
        "stretched by ρ = coth(ε/4)/coth(ε/2), and moved by (ρ - 1)n/(m - 1). With the right constant one sign a "
        "report costs little against a whole vector of bits while ε is small. To answer 0 for every value makes a mean "
        f"error of {number(nothing)} in files like that of Table 5.4, which prints {number(min(errors))} to "
        f"{number(max(errors))}: {sum(e > nothing for e in errors)} of its {len(errors)} rows are worse than that.",
        table_of(head, rows),
    ]


def _puzzle(results: Results) -> list[str]:
    rows = []
    for k, k2, width in ((32, 32, 16), (32, 64, 16), (64, 64, 16), (64, 64, 32), (256, 256, 64), (2048, 2048, 1024)):
        where = {"part": "puzzle", **WORDS, "k": k, "k2": k2, "m": width}
        seen = [
            results.estimate(m, **where)
            for m in ("recall", "mean_error", "union_error", "recall_ours", "precision_ours")
        ]
        if seen[0].runs:
            rows.append([f"{k:,}, {k2:,}, {width:,}", *(number(e.mean) for e in seen)])
    names = ("recall_ours", "precision_ours", "union_error_ours")
    found = [results.estimate(m, part="prefix", **WORDS) for m in names]
    head = [
        "k, k′, m",
        "recall, T = 10",
        "error over the found",
        "error with the missed",
        "recall, ours",
        "precision, ours",
    ]
    text = (
        "Error over the found is what was printed: a word that was missed costs nothing, so small sketches look better "
        "than they are. With the missed words it is the error over the ten words and all that was found. *Ours* is the "
        "same puzzle, same reports, with a cut at significance instead of T and the hash of every string checked."
    )
    if found[0].runs:
        text += (
            f" Prefix extension with ε = 8, what the puzzle spends in sum, finds {number(found[0].mean)} of the words "
            f"with precision {number(found[1].mean)} and a mean error of {number(found[2].mean)}."
        )
    return ["## What the error of the puzzle leaves out", text, table_of(head, rows)]


def _hashes(results: Results) -> list[str]:
    rows = []
    for point, value in column("5.13", "mean_error"):
        where = {"part": "RAPPOR", **EXP_500K, **{name: FILTER[name] for name in "fpq"}, **point}
        right, ours = results.estimate("mean_error", **where), results.estimate("mean_error_ours", **where)
        if point["bits"] == 128 and right.runs:
            h = int(point["hashes"])
            one, life = _budgets(h)
            rows.append([str(h), number(value), number(right.mean), number(one), number(life), number(ours.mean)])
    head = ["hashes", "printed mean error", "measured", "ε₁", "ε∞", "ours at these budgets, one hash"]
    return [
        "## More hashes cost more",
        "Table 5.13 adds hashes at fixed f, p and q, and with them budget: the smaller error costs budget. The last "
        "column has one hash that spreads, 128 bits and 64 cohorts, and spends the same on a report and on a lifetime.",
        table_of(head, rows),
    ]


def _budgets(hashes: int) -> tuple[float, float]:
    from discreet.local import Rappor

    m = Rappor(0.5, 0.5, 0.75, bits=128, hashes=hashes, cohorts=1, key=1)
    return float(m.epsilon), m.epsilon_lifetime


def _bits(results: Results) -> list[str]:
    rows = []
    printed = {(p["d"], p["epsilon"]): v for p, v in column("5.17", "rmse")}
    for (d, epsilon), value in printed.items():
        where = {"part": "dBitFlip", **EXP_500K, "d": d, "epsilon": epsilon}
        seen = [results.estimate(m, **where) for m in ("rmse", "rmse_theory", "rmse_whole")]
        if d in (1, 4, 24) and seen[0].runs:
            cells = [number(e.mean) if e.runs else "–" for e in seen]
            rows.append([f"{d:g}, {epsilon:g}", number(value), *cells])
    head = ["d, ε", "printed RMSE", "measured", "by the exact variance", "d = 1 with the whole budget"]
    return [
        "## dBitFlip by its exact variance",
        "With one bit a report the published chances spend half of the budget: two values can differ in that one bit "
        "only. The last column spends it all.",
        table_of(head, rows),
    ]


def _costs() -> list[str]:
    rows = []
    for point, value, decimal, true, life in costs():
        rows.append(
            [
                ", ".join(f"{v:g}" for v in point.values()),
                f"{value:.2f}",
                f"{decimal:.2f}",
                f"{true:.2f}",
                f"{life:.2f}",
            ]
        )
    return [
        "## What a report of RAPPOR costs",
        table_of(["f, p, q", "ε₁ printed", "base 10", "ε₁", "ε∞"], rows),
    ]


#: Which times are shown: a table, what was run, rows of it, and columns with unit and how many make a millisecond.
_CLIENT, _UPDATE = ("client", "client, µs", 1000.0), ("update", "update, µs", 1000.0)
_ONE, _ALL, _SEARCH = (
    ("estimate", "one estimate, µs", 1000.0),
    ("server", "server, ms", 1.0),
    ("dictionary", "search, s", 1.0),
)
_TIMES: Sequence[tuple[str, Mapping[str, Any], Sequence[Mapping[str, Any]], Sequence[tuple[str, str, float]]]] = (
    (
        "5.1",
        {"part": "PCMS", **EXP_50K, "epsilon": 2},
        [{"k": 1024, "m": m} for m in (16, 1024)],
        (_CLIENT, _UPDATE, _ONE),
    ),
    (
        "5.3",
        {"part": "PHCMS", **EXP_50K, "epsilon": 2},
        [{"k": 1024, "m": m} for m in (16, 1024)],
        (_CLIENT, _UPDATE, _ONE),
    ),
    ("5.9", {"part": "puzzle", **WORDS}, [{"k": 2048, "k2": 2048, "m": 1024}], (_CLIENT, _UPDATE, _SEARCH)),
    ("5.12", {"part": "RAPPOR-reports"}, [{"bits": b, "hashes": 8} for b in (16, 512)], (_CLIENT,)),
    ("5.16", {"part": "dBitFlip", **EXP_500K}, [{"d": d, "epsilon": 1} for d in (1, 24)], (_CLIENT, _ALL)),
)


def _middle(values: Sequence[float]) -> float:
    """Return a time, as the median of the runs: compiling in a first run must not count."""
    return float(np.median(values)) if len(values) else math.nan


def _times(results: Results) -> list[str]:
    rows = []
    for table, where, places, columns in _TIMES:
        for place in places:
            for name, words, times in columns:
                printed = [v for p, v in column(table, name) if all(p[k] == v for k, v in place.items())]
                found = runs(results, name, **where, **place)
                label = ", ".join(f"{k} = {v:,}" for k, v in place.items()).replace("k2", "k′").replace("epsilon", "ε")
                if found:
                    rows.append([f"Table {table}: {words}", label, number(times * printed[0])])
                    rows[-1].append(number(times * _middle(found)))
    dense = [
        f"{m:,}: {1000 * _middle(runs(results, 'client', part='dense-client', m=m)):,.0f}" for m in (16, 256, 1024)
    ]
    return [
        "## Times",
        "Printed (a laptop of 2020, interpreted loops, a report at a time) and ours (one core of a busy machine, all "
        "users at once; the median of the runs). Other machine, other programs: there is no verdict. Server: the "
        "estimates from all reports. Search: from the counters of the puzzle to its words. The published client of the "
        f"Hadamard sketch, which multiplies the whole matrix, takes here, in µs by m: {'; '.join(dense)}.",
        table_of(["what", "where", "printed", "ours"], rows),
    ]


def _law(results: Results) -> list[str]:
    rows = []
    for bits in results.seen("bits"):
        where = {"part": "RAPPOR-reports", "bits": bits}
        real = Estimate.of(v for h in (2, 8, 32) for v in runs(results, "mean_error", **where, hashes=h))
        law = Estimate.of(v for h in (2, 8, 32) for v in runs(results, "mean_error_law", **where, hashes=h))
        if real.runs:
            rows.append([str(bits), number(real.mean), f"{number(real.low)} to {number(real.high)}", number(law.mean)])
            rows[-1].append(f"{number(law.low)} to {number(law.high)}")
    head = ["bits", "real reports: mean error", "95 % interval", "drawn from their law", "95 % interval"]
    return [
        "## RAPPOR without its reports",
        "Beyond 60,000 users the counters of RAPPOR are drawn from their exact law, a binomial number per bit and "
        "cohort, instead of adding up reports. Both ways at 20,000 users, over 2, 8 and 32 hashes:",
        table_of(head, rows),
    ]
