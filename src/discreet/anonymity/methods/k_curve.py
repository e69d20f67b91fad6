"""Utility and risk for several k, and three rules that choose one.

The table is read once. Each k has its own tree: allowed splits depend on k, so the cells of a larger k are not unions
of those of a smaller one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.anonymity.growth.grow import label_codes
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.methods.density_tree import DensityTree
from discreet.anonymity.methods.mondrian import Mondrian
from discreet.anonymity.methods.supervised import PARTS, foretold, parts_of
from discreet.anonymity.release.table import Table
from discreet.anonymity.risk.persons import persons_by_class
from discreet.core import Frames, IntArray, checks, counted, later, plotly, portable
from discreet.errors import InvalidArgument, InvalidType

base = later("sklearn.base")

#: What is tried by default, as far as the table has two cells of that size.
CANDIDATES = (5, 10, 20, 50, 100, 200, 500, 1000)
_TOLD = "it was chosen on the records, so it reveals something about them"


@dataclass(frozen=True)
class KPoint:
    """The result of one k: a point of a `KCurve`.

    Attributes
    ----------
    k, cells, smallest : int
        The requested k, the number of cells, and the fewest records (or persons) in a cell.
    width : float
        Mean share of a column's range that a cell covers: 0 for single grid steps, 1 for the whole table (the
        normalised certainty penalty).
    class_size : float
        Mean size of the cell of a record.
    risk, mean_risk : float
        Probability of identifying someone in the worst cell by a guess (1/k, or the largest share of one person), and
        its mean over records.
    homogeneous : float or None
        Share of records whose cell has one value of a sensitive column.
    accuracy, accuracy_error : float or None
        Share of held-out records with the most common label of their cell, and its standard error.
    kept : bool
        All rules are kept; with ``blind=True`` l and t may not be.

    Examples
    --------
    >>> import discreet as dc
    >>> people = dc.datasets.people(500)
    >>> k_curve(dc.anonymity.DensityTree(domain=people.domain), people.table, [10]).points[0].cells
    40
    """

    k: int
    cells: int
    smallest: int
    width: float
    class_size: float
    risk: float
    mean_risk: float
    homogeneous: float | None
    accuracy: float | None
    accuracy_error: float | None
    kept: bool


@dataclass(frozen=True, eq=False, repr=False)
class KCurve(Frames):
    """Utility and risk over k, and the k that a rule chooses. For internal use; do not publish it.

    Attributes
    ----------
    k : int or None
        The chosen k; None without a rule, or if no candidate keeps it.
    reason : str
        The rule, or why there is no k.
    points : tuple of KPoint
        The curve, k rising.
    n : int
        Records, or persons if k counts them.

    Examples
    --------
    >>> import discreet as dc
    >>> people = dc.datasets.people(500)
    >>> k_curve(dc.anonymity.DensityTree(domain=people.domain), people.table, [10], bins=25).k
    20
    """

    k: int | None
    reason: str
    points: tuple[KPoint, ...]
    n: int

    def to_arrow(self) -> pa.Table:
        """Return the curve, one row per k; columns that no point has are left out."""
        rows = self.to_dict()["points"]
        return pa.table({name: [r[name] for r in rows] for name in rows[0] if any(r[name] is not None for r in rows)})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {"k": self.k, "reason": self.reason, "n": self.n, "points": [dict(vars(p)) for p in self.points]}

    @property
    def text(self) -> str:
        """The answer in words, and what it costs to have chosen by the records."""
        return f"k = {self.k}, {self.reason}; {_TOLD}" if self.k else self.reason

    def plot(self) -> Any:
        """Draw utility and risk over k, with the chosen k; needs Plotly (the extra ``plot``)."""
        return _draw(self)

    def __repr__(self) -> str:
        return f"<KCurve of {len(self.points)} k: {self.text}>"


def k_curve(
    method: DensityTree | Mondrian, data: Any, candidates: Sequence[int] | None = None, *, bins: int | None = None,
    width: float | None = None, loss: float | None = None,
) -> KCurve:  # fmt: skip
    """Measure utility and risk of a table for several k; choose one by a rule.

    Parameters
    ----------
    method : DensityTree or Mondrian
        With all options but k. It is not changed.
    data : array, data frame, table or path
        The records.
    candidates : sequence of int, optional
        The k to try; by default 5, 10, 20, 50, … up to half the records, at most 1,000.
    bins : int, optional
        Choose k = n/bins rounded down, the largest that can give so many cells.
    width : float, optional
        Choose the largest k whose cells cover at most this share of the columns' ranges.
    loss : float, optional
        Choose the largest k that predicts held-out labels at most this much worse than the best. Needs a target.

    Privacy
    -------
    k is published. A k that was chosen on the records reveals something about them: that the next larger k was too
    coarse, or how many records there are. The promise of k-anonymity still holds. Fix k by policy, or choose it
    on public records or those of last year.

    Examples
    --------
    >>> import discreet as dc
    >>> people = dc.datasets.people(2000)
    >>> tree = dc.anonymity.DensityTree(l_diversity=2, domain=people.domain)
    >>> curve = k_curve(tree, people.table, [5, 10, 20, 50], width=0.3)
    >>> curve.k, [point.cells for point in curve.points]
    (20, [309, 154, 79, 29])
    """
    asked = {name: given for name, given in (("bins", bins), ("width", width), ("loss", loss)) if given is not None}
    if len(asked) > 1:
        first, second = list(asked)[:2]
        raise InvalidArgument(second, asked[second], f"left out where {first} is given: one rule", f"{first} alone")
    given = CANDIDATES if candidates is None else _listed(candidates)
    for name in set(asked) - {"bins"}:
        checks.probability(name, asked[name], closed=True)
    if not isinstance(method, (DensityTree, Mondrian)):
        raise InvalidType("method", type(method), "a DensityTree or a Mondrian", "DensityTree(domain=domain)")
    model: Any = base.clone(method).set_params(k=min(given))
    table, tiers = model._read(data)
    if loss is not None and table.target is None:
        raise InvalidArgument("loss", loss, "given with a target column", 'a method with target="label"')
    n = table.n if table.persons is None else len(np.unique(table.persons))
    ks = sorted({k for k in given if candidates is not None or 2 * k <= n} or {min(given)})
    if ks[-1] > n:
        raise InvalidArgument("candidates", ks[-1], f"at most the number of records ({n})", f"candidates=[{n}]")
    if bins is not None:
        most = n // checks.whole("bins", bins, low=1)
        if most < 2:
            raise InvalidArgument("bins", bins, f"at most half the number of records ({n // 2})", f"bins={n // 2}")
        ks = sorted({*ks, most})
    points = tuple(_point(_at(model, k), table, tiers) for k in ks)
    return KCurve(*_chosen(points, n, bins, width, loss), points, n)


def _listed(candidates: Any) -> tuple[int, ...]:
    fix = "candidates=[5, 10, 20]"
    if not isinstance(candidates, Iterable):
        raise InvalidType("candidates", type(candidates), "a list of k", fix)
    listed = tuple(checks.whole("candidates", k, low=2) for k in candidates)
    if not listed:
        raise InvalidArgument("candidates", listed, "at least one k", fix)
    return listed


def _at(model: Any, k: int) -> Any:
    other = base.clone(model).set_params(k=k)
    other.plan_, other.hierarchies_, other.rules_ = model.plan_, model.hierarchies_, replace(model.rules_, k=k)
    return other


def _point(model: Any, table: Table, tiers: Any) -> KPoint:
    leaf = model._partition(table, tiers)
    tree: Tree = model.tree_
    found = model.rules_.measure(leaf, table.sensitive, table.persons)
    sizes = np.bincount(leaf)[leaf]
    first, last = tree.cells
    steps = np.array([max(g.n_bins - 1, 1) for g in tree.grids])
    asked, accuracy = 1, None
    if table.target is not None:
        right, asked = _foretold(model, table, tiers)
        accuracy = right / asked
    return KPoint(
        k=model.k,
        cells=tree.n_leaves,
        smallest=found.k,
        width=float(((last - first) / steps).mean(axis=1)[leaf].mean()),
        class_size=float(sizes.mean()),
        risk=max(1 / found.k, found.largest_share or 0.0),
        mean_risk=float((1 / persons_by_class(leaf, table.persons, tree.n_nodes)[leaf]).mean()),
        homogeneous=_homogeneous(leaf, table) if table.sensitive else None,
        accuracy=accuracy,
        accuracy_error=None if accuracy is None else float(np.sqrt(accuracy * (1 - accuracy) / asked)),
        kept=found.ok,
    )


def _homogeneous(leaf: IntArray, table: Table) -> float:
    alike = np.zeros(int(leaf.max()) + 1, bool)
    for column in table.sensitive:
        pairs = np.unique(np.stack([leaf, column.codes.astype(np.int64)]), axis=1)
        alike |= np.bincount(pairs[0], minlength=len(alike)) == 1
    return float(alike[leaf].mean())


def _foretold(model: Any, table: Table, tiers: Any) -> tuple[int, int]:
    """Return how many held-out records have the commonest label of their cell, and how many were held out.

    The training part is smaller: with k as much smaller, its cells are as large as those of the whole table. One that
    cannot keep the rules is a single cell.
    """
    assert table.target is not None
    codes, classes = label_codes(table.target)
    smaller = _at(model, max(2, model.k * (PARTS - 1) // PARTS))
    part, tried = parts_of(codes)
    right = asked = 0
    for held_out in tried:
        build, test = np.flatnonzero(part != held_out), np.flatnonzero(part == held_out)
        try:
            leaf = smaller._partition(table.take(build), tiers)
            at = smaller.tree_.route(np.ascontiguousarray(table.bins[:, test]))
        except InvalidArgument:
            leaf, at = np.zeros(len(build), np.int64), np.zeros(len(test), np.int64)
        right, asked = right + foretold(leaf, codes[build], at, codes[test], classes), asked + len(test)
    return right, asked


def _chosen(
    points: Sequence[KPoint], n: int, bins: int | None, width: float | None, loss: float | None
) -> tuple[int | None, str]:
    kept = [p for p in points if p.kept]
    if bins is not None:
        point = next(p for p in points if p.k == n // bins)
        why = f"the largest that can give {counted(bins, 'cell')} of {n:,}; it gave {point.cells:,}"
        return (point.k, why) if point.kept else (None, f"no k: at k = {point.k} l or t is not kept")
    if width is not None:
        narrow = [p for p in kept if p.width <= width]
        why = f"the largest of {len(points)} tried whose cells leave open at most {width:g} of the columns' ranges"
        least = min((p.width for p in kept), default=1.0)
        return (narrow[-1].k, why) if narrow else (None, f"no k: the smallest width tried is {least:.3g}")
    if loss is not None:
        best = max((p.accuracy or 0.0 for p in kept), default=0.0)
        near = [p for p in kept if (p.accuracy or 0.0) >= best - loss - 1e-12]
        why = f"the largest of {len(points)} tried that foretells at most {loss:g} worse than the best ({best:.3g})"
        return (near[-1].k, why) if near else (None, "no k: no candidate keeps l and t")
    return None, "no rule was given: bins, width or loss"


def _draw(curve: KCurve) -> Any:
    go = plotly("the curve")
    from plotly.subplots import make_subplots

    ks, colours = [p.k for p in curve.points], ("#1f8a7d", "#57606a", "#e9a23b")
    utility = {"width of the cells": "width", "held-out accuracy": "accuracy"}
    risks = {"risk in the worst cell": "risk", "mean risk": "mean_risk", "in cells of one value": "homogeneous"}
    figure = portable(make_subplots(1, 2, subplot_titles=["what is left", "who could be found"]))
    for place, lines in enumerate((utility, risks), start=1):
        known = [(n, m) for n, m in lines.items() if getattr(curve.points[0], m) is not None]
        for (name, measure), colour in zip(known, colours, strict=False):
            values, error = [getattr(p, measure) for p in curve.points], None
            if measure == "accuracy":
                error = {"array": [1.96 * (p.accuracy_error or 0.0) for p in curve.points], "thickness": 1}
            line = {"color": colour, "width": 2}
            drawn = go.Scatter(x=ks, y=values, name=name, mode="lines+markers", line=line, error_y=error)
            figure.add_trace(drawn, 1, place)
        if curve.k:
            figure.add_vline(x=curve.k, line={"color": "#57606a", "dash": "dot"}, row=1, col=place)
    figure.update_xaxes(type="log", title="k", tickvals=ks)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(title=curve.text.split(";")[0], template="plotly_white", width=860, height=420)
    return figure
