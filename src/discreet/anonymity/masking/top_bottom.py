"""Top and bottom coding by itself: values beyond public thresholds become ``> 90`` or ``< 18``, all others stay."""

from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.anonymity.growth.grid import Grid
from discreet.anonymity.masking.masker import Masker
from discreet.anonymity.release.table import Table, TablePlan
from discreet.core import FloatArray, Integer, coding
from discreet.errors import SchemaError


class TopBottomCoding(Masker):
    """Print values beyond declared thresholds as one.

    Thresholds are declared in the domain, as ``bottom`` and ``top`` of a column of numbers, dates or times. At least
    one quasi-identifier must have one. Columns without thresholds stay unchanged.

    Notes
    -----
    Whole numbers above ``top`` become ``> 90``, other numbers from it on ``>= 90``; those below ``bottom`` become
    ``< 18``. Such a column is released as text. The other methods code the same thresholds by themselves.

    Privacy
    -------
    No formal guarantee: values between the thresholds are released unchanged. A threshold reveals nothing as long as it
    was fixed without the rows. `MaskedRelease.disclosure` and the guarantee state how many rows can be linked with
    their originals.

    Examples
    --------
    >>> import discreet as dc
    >>> people = pa.table({"age": [12, 31, 90, 91, 104]})
    >>> domain = dc.Domain({"age": dc.Integer(0, 120, bottom=18, top=90)})
    >>> TopBottomCoding(domain=domain).fit_transform(people, order="input").table["age"].to_pylist()
    ['< 18', '31', '90', '> 90', '> 90']
    """

    def _check_plan(self, plan: TablePlan) -> None:
        if not any(g.numeric and any(g.coded) for g in plan.grids):
            raise SchemaError(
                f"no quasi-identifier ({', '.join(plan.quasi)}) declares a threshold; declare top or bottom for a "
                "column of numbers, dates or times, such as dc.Integer(0, 120, top=90) or top = 90 in the schema file"
            )

    def _change(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        after = before.copy()
        codes = {}
        for j, grid in enumerate(table.plan.grids):
            below, above = coding.edges(grid.column)
            half = 0.5 if isinstance(grid.column, Integer) else 0.0
            # The nearest coded value: the best guess of an intruder.
            if below is not None:
                after[j, before[j] < below] = below - half if half else np.nextafter(below, -np.inf)
            if above is not None:
                after[j, before[j] >= above] = above + half
            if grid.numeric and any(grid.coded):
                codes[grid.name] = coding.declared(grid.column)
        return after, {"coded": codes}

    def _written(self, grid: Grid, values: FloatArray) -> pa.Array:
        plain = super()._written(grid, values)
        if not grid.numeric or not any(grid.coded):
            return plain
        below, above = coding.edges(grid.column)
        texts = plain.cast(pa.string())
        for edge, beyond, bin_ in ((below, values < (below or 0), 0), (above, values >= (above or 0), grid.levels - 1)):
            if edge is not None:
                texts = pa.compute.if_else(pa.array(beyond), grid.text(bin_, bin_), texts)
        return texts
