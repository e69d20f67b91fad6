"""What the source says about budgets, depth, thresholds and the choice of a partitioner, asked of all runs.

A claim compares two groups of runs. The logarithms of NICV are averaged over the tables, shapes and ε of each group,
seed by seed; the difference of the means over seeds, with its interval, is given in per cent of NICV. It speaks of
these tables alone. Low ε is 0.01 to 0.1, high ε is 1 to 10: the source names no limits. What the uniform partitioner
does on Travel is left out, because it never splits there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from discreet_studies.as_published.tree import Levels
from discreet_studies.harness.study import NOT, REPRODUCED, UNSURE, Estimate, Finding, Results
from discreet_studies.partition_synopsis.published import EPSILONS, LINEAR, PARTITIONERS, SETS, chosen, threshold

LOW, HIGH = ("0.01", "0.02", "0.05", "0.1"), ("1", "2.15", "4.64", "10")
SECTION = "Claims about budgets, depth and thresholds"
#: Per cent of NICV that count as no difference.
SAME = 5.0
#: NICV by (table, partitioner, shape, threshold), then ε, then seed.
Runs = dict[tuple[str, str, str, int], dict[str, dict[int, float]]]


@dataclass(frozen=True)
class Group:
    """Runs whose mean is taken; an empty shape stands for the one that was chosen."""

    sets: Sequence[str]
    partitioners: Sequence[str]
    shapes: Sequence[str]
    epsilons: Sequence[str]
    threshold: int = 0

    def cells(self, name: str) -> Iterator[tuple[str, str, str, int, str]]:
        """Yield the cells of one table."""
        for p in self.partitioners:
            for shape in self.shapes:
                for epsilon in self.epsilons:
                    if (name, p) != ("travel", "uniform"):
                        yield name, p, shape or chosen(name, p), self.threshold or threshold(name), epsilon


@dataclass(frozen=True)
class Claim:
    """What is said of two groups: that the first is below the second (-1), above (1), or equal (0)."""

    row: str
    column: str
    one: Group
    other: Group
    sign: int


def shapes(budgets: str, depths: Iterable[int]) -> list[str]:
    """Return the names of shapes.

    Examples
    --------
    >>> shapes("UG", (10, 12))
    ['U10', 'U12', 'G10', 'G12']
    """
    return [f"{b}{d}" for b in budgets for d in depths]


def stated() -> Iterator[Claim]:
    """Yield the claims of the source."""
    every, deep, more, few = (2, 4, 6, 8, 10, 12), (10, 12), (6, 8), (2, 4)
    for p in PARTITIONERS:
        whole = Group(SETS, (p,), shapes("UG", every), tuple(EPSILONS))
        low, high = replace(whole, epsilons=LOW), replace(whole, epsilons=HIGH)

        def of(group: Group, budgets: str, depths: Iterable[int] = every[1:]) -> Group:
            return replace(group, shapes=shapes(budgets, depths))

        for other in ("0.1", "1"):
            row = f"more budget is better: ε = 10 against {other}"
            yield Claim(row, p, replace(whole, epsilons=("10",)), replace(whole, epsilons=(other,)), -1)
        yield Claim("equal budgets are better at low ε: against geometric", p, of(low, "U"), of(low, "G"), -1)
        yield Claim("geometric budgets are better at high ε: against equal", p, of(high, "G"), of(high, "U"), -1)
        some = replace(whole, epsilons=("0.1", "1", "10"))
        for budget, name in (("U", "equal"), ("G", "geometric")):
            row = f"linear budgets are worse: against {name}"
            yield Claim(row, p, replace(some, shapes=LINEAR), of(some, budget, (4, 8, 12)), 1)
        grows = p in ("binary", "median")
        text = "depths 10 and 12 against 6 and 8"
        for group, name in ((low, "low"), (high, "high")):
            yield Claim(f"{text}, {name} ε", p, of(group, "UG", deep), of(group, "UG", more), -1 if grows else 0)
        yield Claim("depths 6 and 8 against 2 and 4, high ε", p, of(high, "UG", more), of(high, "UG", few), -1)
    halves, others = ("binary", "median"), ("quantile", "uniform")
    for name, epsilons in (("low", LOW), ("high", HIGH)):
        many = Group(("travel",), halves, shapes("UG", deep), epsilons)
        row = "24 columns: deep binary and median trees are better than quantiles"
        yield Claim(row, f"{name} ε", many, replace(many, partitioners=("quantile",)), -1)
        flat = Group(("s1", "s2", "s3", "s4", "skin"), others, shapes("UG", (6, 8, 10, 12)), epsilons)
        row = "2 or 3 columns: quantiles and uniform grids are better than binary and median trees"
        yield Claim(row, f"{name} ε", flat, replace(flat, partitioners=halves), -1)
    for row, sets, sign in (
        ("S1 to S4: threshold 10 is better than 80", ("s1", "s2", "s3", "s4"), -1),
        ("Shuttle: threshold 10 is as good as 80", ("shuttle_test",), 0),
    ):
        small = Group(sets, PARTITIONERS, ("",), ("0.1", "1", "10"), 10)
        yield Claim(row, "ε = 0.1, 1, 10", small, replace(small, threshold=80), sign)


def runs_of(results: Results) -> Runs:
    """Return NICV of all published trees."""
    found: Runs = {}
    for setting, numbers in results.rows:
        if setting.get("method") == "published":
            key = (*(str(setting[k]) for k in ("set", "partitioner", "shape")), int(setting["threshold"]))
            for name, value in numbers.items():
                if name.startswith("nicv@"):
                    found.setdefault(key, {}).setdefault(name[5:], {})[int(setting["seed"])] = value  # type: ignore[arg-type]
    return found


def compared(runs: Runs, one: Group, other: Group, sets: Sequence[str]) -> Estimate:
    """Return by how many per cent of NICV the first group is above the second; no runs where a cell is missing."""
    means: list[dict[int, float]] = []
    for group in (one, other):
        cells = [runs.get(cell[:4], {}).get(cell[4], {}) for name in sets for cell in group.cells(name)]
        seeds = set.intersection(*(set(c) for c in cells)) if cells else set()
        means.append({s: fmean(math.log(c[s]) for c in cells) for s in seeds})
    found = Estimate.of(means[0][s] - means[1][s] for s in sorted(means[0].keys() & means[1].keys()))
    if found.runs < 2:
        return Estimate(math.nan, math.nan, math.nan, 0)
    mean, low, high = (float(f"{100 * math.expm1(x):.4g}") for x in (found.mean, found.low, found.high))
    return Estimate(mean, low, high, found.runs)


def held(found: Estimate, sign: int) -> str:
    """Return the verdict on a claim by the interval of its difference.

    Examples
    --------
    >>> held(Estimate(-9.0, -12.0, -6.0, 5), -1), held(Estimate(-9.0, -12.0, -6.0, 5), 1)
    ('reproduced', 'not reproduced')
    >>> held(Estimate(1.0, -3.0, 4.0, 5), -1), held(Estimate(1.0, -3.0, 4.0, 5), 0)
    ('cannot tell', 'reproduced')
    """
    if sign:
        low, high = sorted((sign * found.low, sign * found.high))
        return REPRODUCED if low > 0 else NOT if high < 0 else UNSURE
    if max(abs(found.low), abs(found.high)) <= SAME:
        return REPRODUCED
    return NOT if found.low > SAME or found.high < -SAME else UNSURE


def claims(results: Results) -> list[Finding]:
    """Return every claim with its difference, on how many tables it holds by itself, and the verdict."""
    runs, found = runs_of(results), []
    for claim in stated():
        alone = {name: compared(runs, claim.one, claim.other, (name,)) for name in claim.one.sets}
        here = [name for name, e in alone.items() if e.runs]
        if not here:
            continue
        measured = compared(runs, claim.one, claim.other, here)
        told = [held(alone[name], claim.sign) for name in here]
        note = f"by itself on {told.count(REPRODUCED)} of {len(told)} tables; the contrary on {told.count(NOT)}"
        verdict = held(measured, claim.sign)
        found.append(Finding(f"{claim.row}; {claim.column}", None, measured, None, verdict, note, SECTION))
    return [*found, *_least_error()] if found else []


def _least_error() -> list[Finding]:
    """Return what the other budgets make of the summed variance of all counts of a binary tree, which is exact."""
    found = []
    for depth in (6, 12):
        errors = {}
        for budget in ("uniform", "linear", "geometric"):
            levels = Levels.thirds(1.0, depth, budget, pays_splits=True).test
            errors[budget] = sum(2**i / e**2 for i, e in enumerate(levels))
        for budget in ("uniform", "linear"):
            more = float(f"{100 * (errors[budget] / errors['geometric'] - 1):.4g}")
            figure = f"geometric budgets have the least summed variance: {budget} against it; {depth} levels"
            verdict = REPRODUCED if more > 0 else NOT
            found.append(Finding(figure, None, Estimate(more, more, more, 1), None, verdict, "exact", SECTION))
    return found
