"""What the results of the grid study are asked: the sums of squares of a cell of Table II, and ratios over many."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from discreet_studies.harness.study import Estimate, Results
from discreet_studies.optimal_grid.published import CELLS, EPSILONS, Cell

#: By seed.
Runs = dict[int, float]
#: The part of the settings in which a method is measured; all others are in "grids".
_HOME = {"no data": "no privacy", **{name: name for name in ("no privacy", "diffprivlib", "google-clustering")}}


class Sums:
    """Sums of squares by method, d, K, N and ε.

    Parameters
    ----------
    results : Results
        Of a quick or a full run.

    Examples
    --------
    >>> where = {"part": "grids", "d": 2, "k": 2, "n": 100, "epsilon": 0.1}
    >>> sums = Sums(Results([({**where, "seed": s}, {"rugnik": w}) for s, w in enumerate((4.0, 6.0))]))
    >>> sums.estimate("rugnik", (2, 2, 100), 0.1).mean, sums.epsilons
    (5.0, [0.1])
    """

    def __init__(self, results: Results) -> None:
        self._runs: dict[tuple[str, str, Cell, float], Runs] = {}
        for setting, numbers in results.rows:
            cell = int(setting["d"]), int(setting["k"]), int(setting["n"])
            part, epsilon, seed = str(setting["part"]), float(setting["epsilon"]), int(setting["seed"])
            for method, value in numbers.items():
                self._runs.setdefault((part, method, cell, epsilon), {})[seed] = value
        #: Whether the run was quick, and its seeds.
        self.quick, self.seeds = results.quick, results.seeds(part="negatives")
        #: The ε and the cells of Table II that were run.
        self.epsilons = [e for e in EPSILONS if any(self.runs("rugnik", c, e) for c in CELLS)]
        self.cells = [c for c in CELLS if any(self.runs("rugnik", c, e) for e in EPSILONS)]

    def runs(self, method: str, cell: Cell, epsilon: float, part: str | None = None) -> Runs:
        """Return the runs of a method, by seed."""
        treated = method.endswith(("absolute", "signed"))
        home = part or _HOME.get(method, "negatives" if treated else "grids")
        return self._runs.get((home, method, cell, 0.0 if home == "no privacy" else epsilon), {})

    def estimate(self, method: str, cell: Cell, epsilon: float, part: str | None = None) -> Estimate:
        """Return the mean over the runs of a method."""
        return Estimate.of(self.runs(method, cell, epsilon, part).values())

    def ratio(self, method: str, other: str, cell: Cell, epsilon: float, part: str | None = None) -> Estimate:
        """Return the ratio of two methods on the same tables: of their means, with a jackknife interval."""
        return _of_logs([(self.runs(method, cell, epsilon, part), self.runs(other, cell, epsilon, part))])

    def mean_ratio(self, method: str, other: str, d: int, epsilon: float, among: Iterable[Cell] = CELLS) -> Estimate:
        """Return the geometric mean, over the K and N of a number of axes, of the ratio of two methods.

        Examples
        --------
        >>> where = {"d": 2, "k": 2, "n": 100}
        >>> rows = [({**where, "part": "grids", "epsilon": 0.1, "seed": s}, {"rugnik": 4.0}) for s in (0, 1)]
        >>> rows += [({**where, "part": "no privacy", "epsilon": 0.0, "seed": s}, {"no privacy": 2.0}) for s in (0, 1)]
        >>> Sums(Results(rows)).mean_ratio("rugnik", "no privacy", 2, 0.1).mean
        2.0
        """
        return self.over(method, other, [(c, epsilon) for c in among if c[0] == d])

    def over(self, method: str, other: str, places: Iterable[tuple[Cell, float]]) -> Estimate:
        """Return the geometric mean of the ratio of two methods over any settings."""
        return _of_logs([(self.runs(method, c, e), self.runs(other, c, e)) for c, e in places])


def _of_logs(pairs: list[tuple[Runs, Runs]]) -> Estimate:
    """Return the geometric mean of ratios of means; seeds are left out in turn for its interval."""
    present = [(one, other) for one, other in pairs if one and other]
    seeds = sorted({s for one, other in present for s in one if s in other})
    if not present or not seeds:
        return Estimate.of([])
    tops, bottoms = (np.array([[p[i].get(s, np.nan) for s in seeds] for p in present]) for i in (0, 1))
    whole = float(np.log(np.nanmean(tops, axis=1) / np.nanmean(bottoms, axis=1)).mean())
    if len(seeds) < 2:
        return Estimate(math.exp(whole), -math.inf, math.inf, 1)
    less = []
    for i in range(len(seeds)):
        kept = np.arange(len(seeds)) != i
        less.append(float(np.log(np.nanmean(tops[:, kept], axis=1) / np.nanmean(bottoms[:, kept], axis=1)).mean()))
    runs = Estimate.of(len(seeds) * whole - (len(seeds) - 1) * np.array(less))
    half = (runs.high - runs.low) / 2
    return Estimate(math.exp(whole), math.exp(whole - half), math.exp(whole + half), len(seeds))
