"""The results of the study of synthetic tables: ours, two baselines and other libraries, on the same tables."""

from __future__ import annotations

from collections.abc import Sequence

from discreet_studies.harness.chart import GREY, Chart, Line, Mark, Panel, measured, plain
from discreet_studies.harness.report import table_of
from discreet_studies.harness.study import Estimate, Finding, Results

#: ``limit``: the CPU seconds after which a run was ended without a result.
NUMBERS = ("pairs", "triples", "parity", "auc", "auc_of_real", "cpu_seconds", "megabytes", "limit", "seconds")
OURS = "discreet"
DELTA = 1e-9
Case = tuple[str, float, float, int]
#: Table, ε, δ, and whether the column that a classifier predicts was named.
ADULT: tuple[Case, ...] = (
    ("adult-16", 0.1, DELTA, 1), ("adult-16", 1.0, DELTA, 0), ("adult-16", 1.0, DELTA, 1),
    ("adult-16", 10.0, DELTA, 1), ("adult-16", 1.0, 0.0, 0), ("adult-32", 1.0, DELTA, 0), ("adult-32", 1.0, DELTA, 1),
    ("adult-raw", 0.1, DELTA, 1), ("adult-raw", 1.0, DELTA, 1), ("adult-raw", 10.0, DELTA, 1),
)  # fmt: skip
FURTHER = ("arx-adult", "mushroom", "satimage", "abalone", "titanic", "heart", "breast-cancer", "flights")
MADE = ("tree", "loop", "parity", "hidden-parity", "forty")
CASES: tuple[Case, ...] = (
    *ADULT,
    *((name, 1.0, DELTA, 1) for name in FURTHER),
    *((name, 1.0, DELTA, 0) for name in MADE),
)
_SMALL: tuple[Case, ...] = tuple((name, 1.0, DELTA, 0) for name in ("arx-adult", "mushroom", "abalone", "titanic"))
_WIDE: tuple[Case, ...] = tuple((name, 1.0, DELTA, 0) for name in ("adult-16", "flights", "forty"))
#: What each peer is run on.
PEER_CASES: dict[str, tuple[Case, ...]] = {
    "dpmm MST": (("adult-16", 1.0, DELTA, 0), *_SMALL),
    "dpmm AIM": (("adult-16", 1.0, DELTA, 0), *_SMALL),
    "dpmm PrivBayes": (("adult-16", 1.0, DELTA, 0), *_SMALL),
    "smartnoise MST": (("adult-16", 1.0, DELTA, 0),),
    "opendp MST": (("adult-16", 1.0, DELTA, 0),),
    "mbi MST": _WIDE,
    "mbi AIM": _WIDE,
}
_WORDS = {
    "pairs": "error of pairs",
    "triples": "error of triples",
    "parity": "error of the triple that is a parity",
    "auc": "area under the ROC curve",
    "cpu_seconds": "CPU seconds",
}
_BASELINES = {"one-way": "single columns exact, nothing else", "bootstrap": "real rows drawn anew"}
_SHORT = {OURS: "ours", "one-way": "single columns", "bootstrap": "drawn anew"}
_TITLES = {
    "adult-16": "Adult, numbers in 16 equal bins",
    "adult-32": "Adult, numbers in 32 equal bins",
    "adult-raw": "Adult, numbers as they are: bins are selected privately",
}


def _where(method: str, case: Case) -> dict[str, object]:
    data, epsilon, delta, target = case
    return {"method": method, "data": data, "epsilon": epsilon, "delta": delta, "target": target}


def _name(method: str, case: Case) -> str:
    """Return what a row of a table is called."""
    if method in _BASELINES:
        return _BASELINES[method]
    _, epsilon, delta, target = case
    words = [_SHORT.get(method, method), f"ε = {epsilon:g}", "" if delta else "pure", "income named" if target else ""]
    return ", ".join(word for word in words if word)


def _runs(results: Results, data: str) -> list[tuple[str, Case]]:
    """Return what was run on a table: ours, then peers, then the baselines."""
    found: list[tuple[str, Case]] = [(OURS, case) for case in CASES if case[0] == data]
    found += [(method, case) for method, cases in PEER_CASES.items() for case in cases if case[0] == data]
    found += [(method, (data, 0.0, 0.0, 0)) for method in _BASELINES]
    return [(m, c) for m, c in found if any(results.estimate(n, **_where(m, c)).runs for n in ("pairs", "limit"))]


def findings(results: Results) -> list[Finding]:
    """Return a row for every table, method and figure."""
    found = []
    for data in dict.fromkeys(case[0] for case in CASES):
        for method, case in _runs(results, data):
            shown = [(results.estimate(m, **_where(method, case)), words) for m, words in _WORDS.items()]
            note = _ended(results, method, case)
            if note:
                shown.append((results.estimate("limit", **_where(method, case)), "CPU seconds without a result"))
            name, title = _name(method, case), _TITLES.get(data, data)
            found += [Finding(f"{name}: {w}", None, own, note=note, section=title) for own, w in shown if own.runs]
    return found


def _ended(results: Results, method: str, case: Case) -> str:
    """Return how many runs were ended without a result, and after what CPU time; nothing if all had one."""
    limits = sorted(results.values("limit", _where(method, case)).values())
    done = results.estimate("pairs", **_where(method, case)).runs
    if not limits:
        return ""
    many = f"{len(limits)} of {len(limits) + done} runs: " if done else ""
    return f"{many}no result within {_span(limits[0])}" + (" or more" if limits[0] < limits[-1] else "")


def _span(seconds: float) -> str:
    """Return a CPU time in words."""
    if seconds == 7200:
        return "two hours"
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"


def tables(results: Results) -> list[str]:
    """Return the tables of the page: a row per method, a column per figure."""
    shown = _compared(results)
    for data in ("adult-16", "adult-32", "adult-raw"):
        if rows := [[_name(m, c), *_figures(results, m, c)] for m, c in _runs(results, data)]:
            real = ["trained on the real rows", "", "", "", *_area(results, data), "", ""]
            shown += [f"## {_TITLES[data]}", _table([""], [*rows, real])]
    for title, names in (("Further real tables, ε = 1", FURTHER), ("Tables whose structure is known, ε = 1", MADE)):
        rows = []
        for name in names:
            of = [["", _SHORT.get(m, m), *_figures(results, m, c)] for m, c in _runs(results, name)]
            if of and (reached := _area(results, name)) != [""]:
                of.append(["", "real rows", "", "", "", *reached, "", ""])
            rows += [[name, *of[0][1:]], *of[1:]] if of else []
        if rows:
            shown += [f"## {title}", _table(["table", "rows from"], rows)]
    return shown


def _compared(results: Results) -> list[str]:
    """Return who is ahead, ours or a peer: only where 95 % intervals are apart."""
    rows = []
    for data in dict.fromkeys(case[0] for case in CASES):
        found = _runs(results, data)
        own = [case for method, case in found if method == OURS and case[1:3] == (1.0, DELTA)]
        for method, case in found:
            if method in PEER_CASES and own:
                rows.append(
                    [data, method, *(_ahead(results, m, own[0], method, case) for m in ("pairs", "triples", "auc"))]
                )
    head = ["table", "next to", "pairs", "triples", "AUC"]
    return ["## Who is ahead at ε = 1", table_of(head, rows, len(head))] if rows else []


def _ahead(results: Results, measure: str, case: Case, method: str, theirs: Case) -> str:
    own, other = results.estimate(measure, **_where(OURS, case)), results.estimate(measure, **_where(method, theirs))
    if not own.runs or not other.runs:
        return _ended(results, method, theirs) if measure == "pairs" else ""
    if min(own.runs, other.runs) < 2:
        return "one run: not known"
    if own.low <= other.high and other.low <= own.high:
        return "intervals overlap"
    return "ours" if (own.mean > other.mean) == (measure == "auc") else method


def _figures(results: Results, method: str, case: Case) -> list[str]:
    """Return means with half their 95 % intervals, and the number of runs."""
    own = {m: results.estimate(m, **_where(method, case)) for m in _WORDS}
    digits = dict.fromkeys(_WORDS, 4) | {"auc": 3, "cpu_seconds": 1 if own["cpu_seconds"].mean < 20 else 0}
    shown = [_shown(own[m], digits[m]) for m in _WORDS]
    if ended := _ended(results, method, case):
        shown[0] = f"{shown[0]} ({ended})" if shown[0] else ended
    return [*shown, str(own["pairs"].runs)]


def _area(results: Results, data: str) -> list[str]:
    """Return what training on the real rows reaches, which no synthetic table can be expected to beat."""
    own = results.estimate("auc_of_real", data=data)
    return [f"{own.mean:.3f}" if own.runs else ""]


def _table(first: list[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table without the columns that nothing fills."""
    head = [*first, "pairs", "triples", "the parity", "AUC", "CPU s", "runs"]
    filled = [i for i in range(len(head)) if any(row[i] for row in rows)]
    return table_of([head[i] for i in filled], [[row[i] for i in filled] for row in rows], len(first))


def _shown(own: Estimate, digits: int) -> str:
    if not own.runs:
        return ""
    return f"{own.mean:.{digits}f}" + (f" ± {own.high - own.mean:.{digits}f}" if own.runs > 1 else "")


def doubts(results: Results) -> list[str]:
    """Return on which tables single columns alone would have been closer, and what Adult is."""
    worse = []
    for name in FURTHER:
        own = results.estimate("pairs", **_where(OURS, next(c for c in CASES if c[0] == name)))
        alone = results.estimate("pairs", **_where("one-way", (name, 0.0, 0.0, 0)))
        if own.runs and alone.runs and own.mean > alone.mean:
            worse.append(name)
    found = [
        "Adult is not unseen: the method was first built looking at it. First runs on the other tables showed a fault."
    ]
    single = results.estimate("pairs", **_where(OURS, ADULT[1])).runs == 1
    found += ["Figures of Adult are of one run each: they have no interval."] if single else []
    if worse:
        found.append(f"At ε = 1 exact single columns have a smaller error of pairs on: {', '.join(worse)}.")
    return found


def pictures(results: Results) -> dict[str, Chart]:
    """Return Adult by ε beside baselines and peers, and all other tables beside their baselines."""
    drawn = {"adult": _adult(results), "further": _further(results)}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def _adult(results: Results) -> Chart | None:
    panels = []
    for measure in ("pairs", "triples", "auc"):
        words = _WORDS[measure]
        cases = [("adult-16", e, DELTA, 1) for e in (0.1, 1.0, 10.0)]
        own = measured((c[1], results.estimate(measure, **_where(OURS, c))) for c in cases)
        lines = [Line("ours, income named", own)]
        for look, (method, of) in enumerate(PEER_CASES.items(), 1):
            marks = measured((c[1], results.estimate(measure, **_where(method, c))) for c in of if c[0] == "adult-16")
            lines.append(Line(method, marks, look, "none"))
        ends = (0.08, 12.5)
        for method, dash in (("one-way", "dash"), ("bootstrap", "dots")):
            level = results.estimate(measure, **_where(method, ("adult-16", 0.0, 0.0, 0)))
            if level.runs:
                flat = [Mark(end, level.mean) for end in ends]
                lines.append(Line(_BASELINES[method], flat, GREY, dash, None))
        lines = [line for line in lines if line.marks]
        if own:
            panels.append(Panel("ε", words, lines, log_x=True, across=plain([0.1, 1.0, 10.0]), x_range=ends))
    return Chart("Adult, 15 columns, numbers in 16 bins", panels) if panels else None


def _further(results: Results) -> Chart | None:
    names = [name for name in (*FURTHER, *MADE) if _runs(results, name)]
    rows = {name: float(len(names) - i) for i, name in enumerate(names)}
    # What comes last is drawn on top.
    methods = {**_BASELINES, **{m: m for m in PEER_CASES}, OURS: "ours"}
    looks = {m: look for look, m in enumerate((OURS, *PEER_CASES, *_BASELINES))}
    ends = (0.001, 1.0)
    panels = []
    for measure in ("pairs", "triples"):
        lines = []
        for method, words in methods.items():
            runs = [(rows[n], m, case) for n in names for m, case in _runs(results, n) if m == method]
            own = [(at, results.estimate(measure, **_where(m, case))) for at, m, case in runs]
            marks = [Mark(e.mean, at, left=max(e.low, ends[0]), right=e.high) for at, e in own if e.runs]
            grey = method in _BASELINES
            lines.append(Line(words, marks, GREY if grey else looks[method], "none", looks[method], hollow=grey))
        shown = [line for line in lines if line.marks]
        up, across = [(at, name) for name, at in rows.items()], plain([0.001, 0.01, 0.1, 1.0])
        heights = (0.4, len(names) + 0.6)
        panels.append(
            Panel(_WORDS[measure], "", shown, log_x=True, across=across, x_range=ends, up=up, y_range=heights)
        )
    return Chart("Other tables: errors at ε = 1", panels) if names else None
