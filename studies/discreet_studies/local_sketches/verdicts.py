"""How a printed figure of the sketch experiments is judged: one run was printed, so single runs are the yardstick."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit

from discreet.core import FloatArray
from discreet_studies.harness.report import number
from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED, Estimate, Finding

#: A printed run must lie where this share of single runs do.
SHARE = 0.99
#: And no further from our mean than by this factor.
FACTOR = 2.0
#: An error below this is none: it has no logarithm to compare.
_NOTHING = 1e-6
#: Why a figure does not come out, if nothing is known.
UNKNOWN = "outside what single runs give"


@dataclass(frozen=True)
class Fault:
    """A switch that is on: what is wrong then, and what the runs give."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Row:
    """A printed figure and our runs: as it should be, ours at best, with each fault switched on."""

    figure: str
    published: float
    right: Sequence[float]
    best: Sequence[float]
    faults: Sequence[Fault]
    reason: str


@dataclass
class Judge:
    """The rows of a table, judged together: single runs of an error spread much alike in all of them.

    Parameters
    ----------
    section : str
        Their heading.
    ratio : bool
        Errors are compared by ratios, coefficients by differences.
    alike : bool
        Whether rows spread alike, so that one with few runs can lean on the others.
    factor : float
        How far the printed figure may be from the mean of our runs, as a ratio.
    near : float
        How far beyond single runs it may be because of its digits: half of the last one, or one for a whole number.

    Examples
    --------
    >>> judge = Judge("Table 1")
    >>> judge.row("error", 188.0, [180.0, 200.0, 190.0, 210.0])
    >>> wrong = Fault("ten times", [1800.0, 2050.0, 2100.0])
    >>> judge.row("error, too", 1900.0, [180.0, 205.0, 190.0, 210.0], (), [wrong])
    >>> [finding.verdict for finding in judge.found]
    ['reproduced', 'reproduced after correction']
    """

    section: str
    ratio: bool = True
    alike: bool = True
    factor: float = FACTOR
    near: float = 0.0
    rows: list[Row] = field(default_factory=list)

    def row(
        self,
        figure: str,
        published: float,
        right: Iterable[float],
        best: Iterable[float] = (),
        faults: Sequence[Fault] = (),
        reason: str = UNKNOWN,
    ) -> None:
        """Add one printed figure, if it was run."""
        values = list(right)
        if values:
            self.rows.append(Row(figure, published, values, list(best), faults, reason))

    @property
    def found(self) -> list[Finding]:
        """The verdicts: as it should be first, then with each fault switched on."""
        pools: dict[str, list[Sequence[float]]] = {}
        for row in self.rows:
            pools.setdefault("", []).append(row.right)
            for fault in row.faults:
                pools.setdefault(fault.name, []).append(fault.values)
        spreads = {name: typical(x, ratio=self.ratio) if self.alike else 0.0 for name, x in pools.items()}
        return [self._finding(row, spreads) for row in self.rows]

    def _finding(self, row: Row, spreads: dict[str, float]) -> Finding:
        measured, top = Estimate.of(row.right), Estimate.of(row.best) if row.best else None
        verdict, note = NOT, ""
        if self._agrees(row.published, row.right, spreads[""]):
            verdict = REPRODUCED
        else:
            fault = next((f for f in row.faults if self._agrees(row.published, f.values, spreads[f.name])), None)
            if fault is not None:
                verdict, note = CORRECTED, f"{fault.name}; with it {_shown(fault.values)}"
            else:
                tried = [f"{f.name}: {_shown(f.values)}" for f in row.faults if len(f.values)]
                note = "; ".join([row.reason, *tried])
        return Finding(row.figure, row.published, measured, top, verdict, note, self.section)

    def _agrees(self, published: float, values: Sequence[float], spread: float) -> bool:
        low, high = single_runs(values, spread, ratio=self.ratio)
        if not low - self.near <= published <= high + self.near:
            return False
        middle = float(np.mean(values))
        return not self.ratio or middle / self.factor <= published <= middle * self.factor


def exact(section: str, figure: str, published: float, right: float, wrong: float, fault: str, near: float) -> Finding:
    """Judge a figure that no draw enters: it agrees with a number within ``near``, or it does not."""
    measured = Estimate(right, right, right, 1)
    if abs(published - right) <= near:
        return Finding(figure, published, measured, None, REPRODUCED, "", section)
    verdict = CORRECTED if abs(published - wrong) <= near else NOT
    return Finding(figure, published, measured, None, verdict, f"{fault}; with it {number(wrong)}", section)


def typical(lists: Iterable[Sequence[float]], *, ratio: bool = True) -> float:
    """Return the standard deviation of single runs in the middle setting; of logarithms for ratios. 0 if there is none.

    Examples
    --------
    >>> typical([[1.0, 3.0], [10.0, 12.0, 14.0], [5.0, 8.0, 11.0]], ratio=False)
    2.0
    """
    seen = (_scale(values, ratio) for values in lists)
    found = [float(values.std(ddof=1)) for values in seen if len(values) > 1]
    return float(np.median(found)) if found else 0.0


def single_runs(values: Sequence[float], spread: float = 0.0, *, ratio: bool = True) -> tuple[float, float]:
    """Return between what ends one more run would lie with the chance `SHARE`.

    Normal, on the scale of logarithms for ratios. The deviation is ``spread``, that of a typical setting of the table,
    or the setting's own if that is larger: few runs often show too little of it. Without it, Student's t.

    Examples
    --------
    >>> [round(end, 2) for end in single_runs([1.0, 2.0, 3.0], 1.0, ratio=False)]
    [-0.97, 4.97]
    >>> [round(end, 2) for end in single_runs([1.0, 2.0, 3.0], ratio=False)]
    [-9.46, 13.46]
    """
    seen = _scale(values, ratio)
    own = float(seen.std(ddof=1)) if len(seen) > 1 else 0.0
    if not len(seen) or (len(seen) == 1 and not spread):
        return math.nan, math.nan
    wide = stdtrit(1e9 if spread else len(seen) - 1, (1 + SHARE) / 2)
    half = float(wide) * max(own, spread) * math.sqrt(1 + 1 / len(seen))
    ends = float(seen.mean()) - half, float(seen.mean()) + half
    return (math.exp(ends[0]), math.exp(ends[1])) if ratio else ends


def _scale(values: Sequence[float], ratio: bool) -> FloatArray:
    found = np.log([v for v in values if v > _NOTHING]) if ratio else values
    return np.asarray(found, np.float64)


def _shown(values: Sequence[float]) -> str:
    e = Estimate.of(values)
    if e.runs < 2:
        return number(e.mean)
    return f"{number(e.mean)} [{number(e.low)} to {number(e.high)}]"
