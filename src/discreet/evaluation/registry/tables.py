"""The audited methods of `discreet.anonymity`. They promise no ε: k, l and t are counted again on unusual tables.

Every number of the tables is off the public grid, so a published edge or mean that equals one was read from a row.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from discreet import anonymity
from discreet.core import Domain
from discreet.evaluation.promises.recount import recount

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_OFF = 0.3137
_JOBS, _ILLS = ("cook", "smith", "nurse"), ("none", "flu", "asthma")
_DOMAIN = Domain(
    {
        "age": {"bounds": (0, 120), "role": "quasi-identifier"},
        "job": {"categories": list(_JOBS), "role": "quasi-identifier"},
        "ill": {"categories": list(_ILLS), "role": "sensitive"},
    }
)


@dataclass(frozen=True, eq=False)
class AuditedTable:
    """A method that releases anonymous tables, as it is audited.

    ``tables`` are its inputs by what is special about them.

    Examples
    --------
    >>> audited_tables()["anonymity.Mondrian"].check()
    []
    """

    name: str
    method: Any
    tables: dict[str, pa.Table]

    @property
    def public(self) -> str:
        return self.name.partition("/")[0]

    def check(self) -> list[str]:
        failures = []
        for title, table in self.tables.items():
            method = self.method.__class__(**self.method.get_params(deep=False))
            release = method.fit_transform(table)
            failures += [f"{title}: {text}" for text in recount(release.table, release.guarantee).failures]
            failures += [f"{title}: the published value {x} is that of a row" for x in _copied(release.table, table)]
        return failures


@cache
def _listed() -> dict[str, AuditedTable]:
    return {entry.name: entry for entry in _entries()}


def audited_tables() -> dict[str, AuditedTable]:
    """Return the methods that release anonymous tables, by name: their k, l and t are counted again.

    Examples
    --------
    >>> "anonymity.DensityTree/spread" in audited_tables()
    True
    """
    return dict(_listed())


def _entries() -> Iterator[AuditedTable]:
    tables = {
        "spread-out rows": _table([20 + (i * 37) % 61 + _OFF + i / 1000 for i in range(120)]),
        "equal rows and one far off": _table([40 + _OFF] * 40 + [119 + _OFF]),
        "as few rows as allowed": _table([30 + _OFF, 31 + _OFF, 60 + _OFF, 61 + _OFF]),
    }
    rules: dict[str, Any] = {"k": 4, "domain": _DOMAIN}
    for criterion in ("spread", "factor", "width", "cell"):
        method = anonymity.DensityTree(criterion=criterion, **rules)
        yield AuditedTable(f"anonymity.DensityTree/{criterion}", method, tables)
    diverse: dict[str, Any] = {"l_diversity": 2, "t_closeness": 0.4}
    yield AuditedTable("anonymity.DensityTree/l and t", anonymity.DensityTree(**rules, **diverse), tables)
    entropy = anonymity.DensityTree(**rules, l_diversity=1.5, l_kind="entropy")
    yield AuditedTable("anonymity.DensityTree/entropy", entropy, tables)
    yield AuditedTable("anonymity.Mondrian", anonymity.Mondrian(**rules), tables)
    yield AuditedTable("anonymity.Mondrian/l and t", anonymity.Mondrian(**rules, **diverse), tables)
    yield AuditedTable("anonymity.Generalization", anonymity.Generalization(**rules, l_diversity=2), tables)
    yield AuditedTable("anonymity.Microaggregation", anonymity.Microaggregation(**rules), tables)
    variants: dict[str, dict[str, Any]] = {
        "blocks": {"block_rows": 20},
        "univariate": {"grouping": "univariate"},
        "columns along a component": {"grouping": "pca", "columns": [["job"], ["age"]]},
    }
    for title, settings in variants.items():
        yield AuditedTable(
            f"anonymity.Microaggregation/{title}", anonymity.Microaggregation(**rules, **settings), tables
        )


def _table(ages: list[float]) -> pa.Table:
    n = range(len(ages))
    return pa.table({"age": ages, "job": [_JOBS[i % 3] for i in n], "ill": [_ILLS[i % 3] for i in n]})


def _copied(released: pa.Table, raw: pa.Table) -> list[float]:
    shown = {float(x) for cell in released["age"].to_pylist() for x in _NUMBER.findall(str(cell))}
    return sorted(shown & set(raw["age"].to_pylist()))
