"""What a study is, and what its results can be asked: means with intervals, differences run by run."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

#: One point of the grid: plain values by name. ``seed`` is one of them where runs are repeated.
Setting = Mapping[str, str | int | float]
#: What the measurement of one setting gave.
Numbers = Mapping[str, float]

#: Verdicts. A published figure that stands only once a stated fault is corrected has one of its own, and so has one
#: that too few runs can neither confirm nor refute.
REPRODUCED, CORRECTED, UNSURE, NOT = "reproduced", "reproduced after correction", "cannot tell", "not reproduced"
VERDICTS = (REPRODUCED, CORRECTED, UNSURE, NOT)


@dataclass(frozen=True)
class Estimate:
    """A mean over runs with its 95 % interval (Student's t).

    Examples
    --------
    >>> Estimate.of([0.90, 0.92, 0.94])
    0.920 [0.870, 0.970] (3 runs)
    """

    mean: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Estimate:
        """Summarise runs; the interval of a single one is unbounded."""
        found = np.array(list(values), dtype=np.float64)
        if len(found) < 2:
            return cls(float(found.mean()) if len(found) else math.nan, -math.inf, math.inf, len(found))
        half = float(stdtrit(len(found) - 1, 0.975) * found.std(ddof=1) / math.sqrt(len(found)))
        return cls(float(found.mean()), float(found.mean()) - half, float(found.mean()) + half, len(found))

    def __repr__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}] ({self.runs} runs)"


@dataclass(frozen=True)
class Finding:
    """One row of a report: what was published, what was measured, and the verdict.

    Parameters
    ----------
    figure : str
        What the number is.
    published : float or None
        As printed, or None where nothing was.
    measured : Estimate
        The published method, run again.
    best : Estimate or None
        Our best setting for the same task.
    verdict : str
        "reproduced", "reproduced after correction", "cannot tell" or "not reproduced".
    note : str
        The stated fault, or the reason.
    section : str
        The heading under which the page shows it; none for a short study.

    Examples
    --------
    >>> Finding("accuracy on iris, k = 5", 0.95, Estimate.of([0.94, 0.96]), None, "reproduced").figure
    'accuracy on iris, k = 5'
    """

    figure: str
    published: float | None
    measured: Estimate
    best: Estimate | None = None
    verdict: str = ""
    note: str = ""
    section: str = ""


class Results:
    """The numbers of all settings that were run.

    Parameters
    ----------
    rows : iterable of (setting, numbers)
        What was measured.
    quick : bool
        Whether the run was a quick one; its page says so.
    file : Path, optional
        Where the results are kept.

    Examples
    --------
    >>> rows = [({"k": 5, "seed": s}, {"accuracy": a}) for s, a in enumerate((0.90, 0.92))]
    >>> rows += [({"k": 9, "seed": s}, {"accuracy": a}) for s, a in enumerate((0.80, 0.84))]
    >>> results = Results(rows)
    >>> results.estimate("accuracy", k=5).mean
    0.91
    >>> round(results.difference("accuracy", {"k": 5}, {"k": 9}).mean, 4)
    0.09
    """

    def __init__(
        self, rows: Iterable[tuple[Setting, Numbers]], *, quick: bool = False, file: Path | None = None
    ) -> None:
        self.rows = list(rows)
        self.quick, self.file = quick, file
        self._places: dict[tuple[str, Any], set[int]] = {}
        for i, (setting, _) in enumerate(self.rows):
            for part in setting.items():
                self._places.setdefault(part, set()).add(i)

    def __len__(self) -> int:
        return len(self.rows)

    def values(self, measure: str, where: Mapping[str, Any]) -> dict[str, float]:
        """Return a number by what its setting says beyond ``where``, such as the seed."""
        near = [self._places.get(part, set()) for part in where.items()]
        chosen = sorted(set.intersection(*sorted(near, key=len))) if near else range(len(self.rows))
        found = {}
        for setting, numbers in (self.rows[i] for i in chosen):
            if measure in numbers:
                rest = {name: value for name, value in setting.items() if name not in where}
                found[json.dumps(rest, sort_keys=True)] = float(numbers[measure])
        return found

    def estimate(self, measure: str, **where: Any) -> Estimate:
        """Return the mean of a number over all settings that agree with ``where``."""
        return Estimate.of(self.values(measure, where).values())

    def difference(self, measure: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Estimate:
        """Return the mean difference of runs that agree in all but what is named: same seed, same draw."""
        first, second = self.values(measure, one), self.values(measure, other)
        return Estimate.of(first[key] - second[key] for key in first if key in second)

    def seeds(self, **where: Any) -> str:
        """Return the number of seeds of a setting: "4", "2 to 4" if settings differ, "" if none has a seed.

        Examples
        --------
        >>> Results([({"k": 5, "seed": 0}, {}), ({"k": 5, "seed": 1}, {}), ({"k": 9, "seed": 0}, {})]).seeds()
        '1 to 2'
        """
        held: Counter[str] = Counter()
        for setting, numbers in self.rows:
            if where.items() <= setting.items():
                rest = json.dumps({name: value for name, value in setting.items() if name != "seed"}, sort_keys=True)
                # A study whose settings measure several seeds at once returns their number.
                held[rest] += int("seed" in setting) or int(numbers.get("seeds", 0))
        found = sorted(n for n in held.values() if n)
        return "" if not found else str(found[0]) if found[0] == found[-1] else f"{found[0]} to {found[-1]}"

    def seen(self, name: str) -> list[Any]:
        """Return the values that a part of the settings takes, in the order of their first run."""
        return [value for part, value in self._places if part == name]


def _nothing() -> Sequence[str]:
    return ()


def _no_pictures(results: Results) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Study:
    """A published experiment and how to run it again.

    Parameters
    ----------
    name, title, source : str
        What it is called, what it asks, and the work it repeats.
    settings : callable
        From ``quick`` to the list of settings.
    measure : callable
        From one setting to numbers by name. It runs in a process of its own and takes its randomness from the setting.
    findings : callable
        From `Results` to the rows of the report.
    notes : callable
        From `Results` to paragraphs that stand below them.
    pictures : callable
        From `Results` to charts (`discreet_studies.harness.chart`) by file name.
    absent : callable
        What cannot be run here, such as data sets whose files are missing; the report names it.
    tables : callable, optional
        From `Results` to headings and Markdown tables that stand on the page instead of one row per finding, for a
        study with nothing printed to compare with.
    doubts : callable
        From `Results` to what whoever quotes its figures must know; the page says so first.
    numbers, packages : tuple of str
        What `measure` returns, and which packages it rests on. If given, results are kept as JSON, one flat row for
        each setting, with the versions of the packages: for scripts that read them without this one.

    Examples
    --------
    >>> def measure(setting):
    ...     return {"square": float(setting["x"]) ** 2}
    >>> def findings(results):
    ...     return [Finding("3 squared", 9.0, results.estimate("square", x=3), verdict="reproduced")]
    >>> study = Study("squares", "Squares", "Euclid", lambda quick: [{"x": 3}], measure, findings)
    >>> study.measure(study.settings(True)[0])
    {'square': 9.0}
    """

    name: str
    title: str
    source: str
    settings: Callable[[bool], Sequence[Setting]]
    measure: Callable[[Setting], Numbers]
    findings: Callable[[Results], Sequence[Finding]]
    notes: Callable[[Results], Sequence[str]] = field(default=lambda results: ())
    pictures: Callable[[Results], Mapping[str, Any]] = _no_pictures
    absent: Callable[[], Sequence[str]] = _nothing
    numbers: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    tables: Callable[[Results], Sequence[str]] | None = None
    doubts: Callable[[Results], Sequence[str]] = field(default=lambda results: ())
