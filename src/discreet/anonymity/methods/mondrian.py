"""Mondrian (LeFevre, DeWitt and Ramakrishnan 2006): split the widest column at its median while the rules allow it."""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

from discreet.anonymity.methods.partitioner import Partitioner
from discreet.anonymity.risk.rules import BLIND
from discreet.core import IntArray


class Mondrian(Partitioner):
    """Anonymous tables by median splits.

    A split lies between two bins, at the grid point that divides the rows most evenly (strict Mondrian). The column is
    the one in which the rows of the node are spread most, relative to its declared width.

    Privacy
    -------
    As with `DensityTree`: groups of k rows with equal quasi-identifiers, and no more.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"age": [31, 33, 36, 40, 60, 64, 66, 69]})
    >>> domain = dc.Domain({"age": (0, 120)})
    >>> sorted(set(Mondrian(k=4, domain=domain).fit_transform(people).table["age"].to_pylist()))
    ['[0, 50)', '[50, 120]']
    """

    _: KW_ONLY
    blind: bool = BLIND

    def _growth(self, tiers: Mapping[int, IntArray]) -> dict[str, Any]:
        return {"criterion": "mondrian", "min_share": 0.0, "max_depth": 2**31, "tiers": tiers}

    def _facts(self) -> dict[str, Any]:
        return {"mode": "strict"}
