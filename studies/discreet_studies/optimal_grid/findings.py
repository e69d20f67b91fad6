"""The results of the grid study beside the printed figures of Tables I to III."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from discreet_studies.as_published.grids import RULES, parts
from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED, UNSURE, Estimate, Finding, Results
from discreet_studies.optimal_grid.published import AXES, CELLS, EPSILONS, RANGES, WCSS, Cell
from discreet_studies.optimal_grid.results import Sums

#: A mean within this share of the printed figure reproduces it: neither tables nor the search for centres are told.
NEAR = 0.15
#: Names of the methods of Table II.
NAMES = {"rugnik": "RUGNIK", "eugkm": "EUGkM", "diffprivlib": "diffprivlib", "google-clustering": "Google's coresets"}
#: What can become of negative counts: set to 0, made positive, or left as they are. The publication does not say.
ARMS = {"zero": "", "absolute": ", absolute", "signed": ", signed"}
#: What the full study chose on its data: a quick run has too few to choose, and would measure another method.
CHOSEN = "signed"
_UNTOLD = "how tables are made and how k-means begins is not told"
_WHY = {
    "rugnik": _UNTOLD,
    "eugkm": _UNTOLD,
    "diffprivlib": "its version and settings are not stated",
    "google-clustering": "its version, δ and settings are not stated",
}
_EXACT_N = "the published grid follows from the exact N; both rules with an N that is paid for, and at least K cells"


def rugnik_range(n: float, d: int, k: int) -> tuple[float, float]:
    """Return ε_0 and ε_1, between which Theorem 2 bounds the optimal number of cells from below and above.

    Above ε_0 the optimal grid has more than k cells.

    Examples
    --------
    >>> [round(e, 4) for e in rugnik_range(100, d=2, k=2)]
    [0.0256, 15.396]
    """
    low = 3 * d * math.sqrt(k) / (2 * math.sqrt(2) * n) / (1 + math.sqrt(3 / n))
    return low, math.sqrt(2) * d / 3 * math.sqrt(k) * math.pow(4 * n / 3, d / 4)


def findings(results: Results) -> list[Finding]:
    """Return Table I, the claims of the text, and Table II by method and number of axes."""
    sums = Sums(results)
    arm = ARMS[chosen_arm(sums)]
    return [*_ranges(), *_cells(), *_claims(sums, arm), *_corrected(sums), *_table_two(sums, arm)]


def choosing(cell: Cell, epsilon: float) -> bool:
    """Tell whether a setting is in the half on which the treatment of negative counts is chosen: every second one.

    Examples
    --------
    >>> choosing((2, 2, 100), 0.10), choosing((2, 2, 100), 0.15), choosing((2, 2, 200), 0.10)
    (True, False, False)
    """
    return (CELLS.index(cell) + EPSILONS.index(epsilon)) % 2 == 0


def agreeing(sums: Sums, rule: str, arm: str, half: bool | None = None) -> tuple[int, int]:
    """Return how many figures of Table II a treatment reproduces, of how many: of one half, or of all settings."""
    found = []
    for cell in sums.cells:
        for e in sums.epsilons:
            printed, measured = WCSS.get((rule, *cell, e)), sums.estimate(rule + ARMS[arm], cell, e)
            if printed is not None and measured.runs and half in (None, choosing(cell, e)):
                found.append(near(measured.mean, printed))
    return sum(found), len(found)


def chosen_arm(sums: Sums) -> str:
    """Return the treatment of negative counts that reproduces most of RUGNIK's figures in the choosing half.

    A quick run takes the choice of the full study.
    """
    if sums.quick:
        return CHOSEN
    return max(ARMS, key=lambda arm: agreeing(sums, "rugnik", arm, True)[0])


def near(measured: float, printed: float) -> bool:
    """Tell whether a mean is near enough to a printed figure to reproduce it.

    Examples
    --------
    >>> near(1.14, 1.0), near(0.84, 1.0)
    (True, False)
    """
    return abs(measured / printed - 1) <= NEAR


def shown_range(d: int, k: int, n: int) -> tuple[float, float]:
    """Return ε_0 and ε_1 as printed: rounded up and down to three digits, so that the range stays valid.

    Examples
    --------
    >>> shown_range(2, 2, 100)
    (0.026, 15.396)
    """
    low, high = rugnik_range(n, d, k)
    return math.ceil(low * 1000) / 1000, math.floor(high * 1000) / 1000


def degenerate(rule: str) -> list[tuple[int, int, int, float]]:
    """Return the settings of Table II in which a rule gives fewer cells than clusters.

    Examples
    --------
    >>> len(degenerate("eugkm")), len(degenerate("rugnik"))
    (11, 0)
    """
    return [(d, k, n, e) for d, k, n in CELLS for e in EPSILONS if parts(rule, n, e, d, k) ** d < k]


def printed_ratio(d: int, epsilon: float, among: Iterable[Cell] = CELLS) -> float:
    """Return the geometric mean of EUGkM over RUGNIK in the printed Table II, over the settings that are named.

    Examples
    --------
    >>> round(printed_ratio(2, 0.1), 2)
    2.35
    """
    here = [c for c in among if c[0] == d and ("eugkm", *c, epsilon) in WCSS]
    logs = [math.log(WCSS["eugkm", *c, epsilon] / WCSS["rugnik", *c, epsilon]) for c in here]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _ranges() -> list[Finding]:
    found = []
    for (d, k, n), printed in RANGES.items():
        for name, value, ours in zip(("ε₀", "ε₁"), printed, shown_range(d, k, n), strict=True):
            verdict, note = (REPRODUCED, "") if ours == value else (NOT, "the formula gives another last digit")
            figure = f"{name}, d = {d}, K = {k}, N = {n}"
            found.append(Finding(figure, value, _exact(ours), None, verdict, note, "Table I: where the bounds hold"))
    return found


def _cells() -> list[Finding]:
    section = "Table III: numbers of cells"
    few = {rule: len(degenerate(rule)) for rule in ("rugnik", "eugkm")}
    total = len(CELLS) * len(EPSILONS)
    found = [
        Finding(
            f"settings of {total} in which RUGNIK has fewer cells than clusters",
            0.0,
            _exact(few["rugnik"]),
            None,
            REPRODUCED if few["rugnik"] == 0 else NOT,
            "" if few["rugnik"] == 0 else "the text says there are none",
            section,
        )
    ]
    note = "the text says that there are some and stars them; the copy that was read has lost them"
    figure = f"settings of {total} in which EUGkM has fewer cells than clusters"
    return [*found, Finding(figure, None, _exact(few["eugkm"]), None, "", note, section)]


def _claims(sums: Sums, arm: str) -> list[Finding]:
    """The claims of the text, on the methods as published."""
    found = []
    rugnik = "rugnik" + arm
    section = "What Table II is said to show"
    for other in list(NAMES)[1:]:
        run = other + arm * (other in RULES)
        settings = [(c, e) for c in sums.cells for e in sums.epsilons if sums.runs(run, c, e)]
        settings = [(c, e) for c, e in settings if (other, *c, e) in WCSS]
        if not settings:
            continue
        better = [sums.estimate(rugnik, c, e).mean < sums.estimate(run, c, e).mean for c, e in settings]
        printed = sum(WCSS["rugnik", *c, e] < WCSS[other, *c, e] for c, e in settings)
        count, total = sum(better), len(settings)
        same = sum(_same_grid(c, e) for c, e in settings) if other == "eugkm" else 0
        ties = f"; in {same} settings both rules take the same grid" if same else ""
        note = "" if count == total else f"in the printed table itself it is {printed}{ties}"
        figure = f"settings of {total} in which RUGNIK is better than {NAMES[other]} (all, says the text)"
        # A mean that is a little worse may be chance, unless the printed table has lost settings, too.
        lost = printed < total or any(sums.ratio(run, rugnik, c, e).high < 1 for c, e in settings)
        verdict = REPRODUCED if count == total else NOT if lost else UNSURE
        found.append(Finding(figure, float(total), _exact(count), None, verdict, note, section))
    return found + _ratios(sums, "", arm, REPRODUCED, "", section)


def _ratios(sums: Sums, words: str, arm: str, good: str, why: str, section: str) -> list[Finding]:
    """Return EUGkM over RUGNIK by d and ε, printed and measured over the same settings of K and N: those that were run.

    The claim is about all settings, so an interval that holds 1 over some of them does not refute it.
    """
    found = []
    for d, e in itertools.product(AXES, sums.epsilons):
        every = [c for c in CELLS if c[0] == d and ("eugkm", *c, e) in WCSS]
        here = [c for c in every if sums.runs("eugkm" + arm, c, e) and sums.runs("rugnik" + arm, c, e)]
        measured = sums.mean_ratio("eugkm" + arm, "rugnik" + arm, d, e, here)
        whole, holds = len(here) == len(every), measured.low > 1
        note = (
            ""
            if holds
            else "the interval reaches 1" + (": no difference is seen" if whole else " in the settings that were run")
        )
        figure = f"EUGkM / RUGNIK{words}, d = {d}, ε = {e:g}"
        figure += "" if whole else f", in {len(here)} of {len(every)} settings"
        verdict, note = (
            good if holds else NOT if whole or measured.high < 1 else UNSURE,
            "; ".join(filter(None, (why, note))),
        )
        found.append(Finding(figure, printed_ratio(d, e, here), measured, None, verdict, note, section))
    return found


def _same_grid(cell: Cell, epsilon: float) -> bool:
    d, k, n = cell
    return parts("rugnik", n, epsilon, d, k) == parts("eugkm", n, epsilon, d, k)


def _corrected(sums: Sums) -> list[Finding]:
    """The same with an N that is paid for."""
    return _ratios(sums, ", N paid for", ", paid", CORRECTED, _EXACT_N, "The same with N paid for")


def _table_two(sums: Sums, arm: str) -> list[Finding]:
    """Table II. Figures on which the treatment of negative counts was chosen are shown and not judged."""
    found = []
    for method, name in NAMES.items():
        for d, k, n in sums.cells:
            for e in sums.epsilons:
                printed = WCSS.get((method, d, k, n, e))
                measured = sums.estimate(method + arm * (method in RULES), (d, k, n), e)
                if not measured.runs:
                    continue
                verdict, note = _judged(method, printed, measured)
                if method == "rugnik" and choosing((d, k, n), e):
                    verdict, note = "", "the treatment of negative counts was chosen on this figure, among others"
                figure = f"K = {k}, N = {n}, ε = {e:g}"
                ours = sums.estimate("ours", (d, k, n), e)
                found.append(Finding(figure, printed, measured, ours, verdict, note, f"Table II, {name}, d = {d}"))
    return found


def _judged(method: str, printed: float | None, measured: Estimate) -> tuple[str, str]:
    """Return verdict and reason; a mean that is off proves nothing while its interval holds the printed figure."""
    if printed is None:
        return "", "the printed figure was lost"
    if near(measured.mean, printed):
        return REPRODUCED, ""
    if measured.low <= printed <= measured.high:
        return UNSURE, f"the interval of {measured.runs} runs holds the printed figure, the mean is not near it"
    return NOT, f"{'lower' if measured.mean < printed else 'higher'}: {_WHY[method]}"


def _exact(value: float) -> Estimate:
    return Estimate(float(value), float(value), float(value), 1)
