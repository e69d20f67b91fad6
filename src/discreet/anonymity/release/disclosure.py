"""Disclosure of a changed table, compared with the original: linked rows, and published values near the true ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines, noise
from discreet.anonymity.release.release import Release
from discreet.anonymity.risk.printed import Legend, as_numbers, as_texts, legend_of, read_sets, read_stretches
from discreet.core import FloatArray, IntArray, checks, later
from discreet.engines.readers import read_columns
from discreet.errors import InvalidArgument, InvalidType, SchemaError

spatial = later("scipy.spatial")

#: Distances that differ by less, relative to their size, count as equal.
_EQUAL = 1e-9


@dataclass(frozen=True)
class RecordLinkage:
    """The share of rows whose nearest original is their own (m equally near ones count 1/m), and that of guessing."""

    share: float
    guessing: float
    rows: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def record_linkage(
    original: Any, released: Any, *, columns: Sequence[str] | None = None, sample: int = 10_000,
    random_state: Any = None,
) -> RecordLinkage:  # fmt: skip
    """Return the share of released rows whose nearest original is their own.

    Parameters
    ----------
    original : array, data frame, table or path
        The records.
    released : Release, or a table with the same rows in the same order
        An interval counts as its middle, a set of categories as the mean of its members.
    columns : list of str, optional
        The columns that the intruder knows; by default the quasi-identifiers of a `Release`, or all common columns.
    sample : int, default 10,000
        Most released rows to look at, drawn at random.
    random_state : None, int or Generator
        For the drawing.

    Notes
    -----
    Euclidean distance; numbers in standard deviations of the original, two different categories 1 apart. Equally near
    originals share the hit, so k-anonymous cells reach at most 1/k by luck.

    Examples
    --------
    >>> people = pa.table({"age": [31, 33, 36, 60], "income": [10, 40, 20, 30]})
    >>> record_linkage(people, people).share
    1.0
    >>> record_linkage(people, pa.table({"age": [40] * 4, "income": [25] * 4})).share
    0.25
    """
    names, truth, shown, rows = _read(original, released, columns)
    checks.whole("sample", sample, low=1)
    stream = noise.generator(random_state, "random_state")
    points, published = _space(names, truth, shown, legend_of(released))
    kept = np.flatnonzero(~np.isnan(published).any(axis=1) & ~np.isnan(points[rows]).any(axis=1))
    if len(kept) > sample:
        kept = kept[np.argsort(noise.below(2**62, size=len(kept), rng=stream))[:sample]]
    return linkage(points, published[kept], rows[kept])


def linkage(points: FloatArray, published: FloatArray, own: IntArray) -> RecordLinkage:
    usable = ~np.isnan(points).any(axis=1)
    n = int(usable.sum())
    if not len(own) or not n:
        return RecordLinkage(0.0, 0.0, 0)
    # Equal originals are one point with a weight: a tree of many equal points would be slow.
    distinct, weight = np.unique(points[usable], axis=0, return_counts=True)
    tree = spatial.cKDTree(distinct)
    nearest, _ = tree.query(published)
    mine = np.sqrt(((published - points[own]) ** 2).sum(axis=1))
    reach = nearest * (1 + _EQUAL) + 1e-12
    hit = np.flatnonzero(mine <= reach)
    ties = tree.query_ball_point(published[hit], reach[hit]) if len(hit) else []
    found = sum(1.0 / max(int(weight[near].sum()), 1) for near in ties)
    return RecordLinkage(float(found / len(own)), 1.0 / n, len(own))


def near_values(values: FloatArray, published: FloatArray, width: float) -> tuple[int, int]:
    """Return how many published values are near the true ones in the same rows, and how many could be compared.

    Near is at most a share ``width`` of the ranks of the true values away; equal values share the middle rank.
    """
    there = np.sort(values[~np.isnan(values)])
    both = ~np.isnan(values) & ~np.isnan(published)
    gap = np.abs(middle_ranks(there, values) - middle_ranks(there, published))[both]
    return int((gap <= width * len(there) * (1 + _EQUAL)).sum()), int(both.sum())


def middle_ranks(there: FloatArray, values: FloatArray) -> FloatArray:
    """Return the ranks of values among sorted ones; equal values share the middle rank."""
    return (np.searchsorted(there, values, side="left") + np.searchsorted(there, values, side="right")) / 2.0


def _read(
    original: Any, released: Any, columns: Sequence[str] | None
) -> tuple[list[str], pa.Table, pa.Table, IntArray]:
    shown_source = engines.open(released.table if isinstance(released, Release) else released)
    source = engines.open(original)
    if isinstance(columns, str):
        raise InvalidType("columns", columns, "a list of column names", f"columns=[{columns!r}]")
    if columns is not None:
        names = list(columns)
    elif isinstance(released, Release):
        names = [grid.name for grid in released.cells.grids]
    else:
        names = [name for name in shown_source.names if name in source.names]
    if not names:
        raise SchemaError("original and released have no column in common; check the names")
    truth, shown = read_columns(source, names), read_columns(shown_source, names)
    rows = np.arange(shown.num_rows)
    if isinstance(released, Release):
        if not len(released.rows) and shown.num_rows:
            raise InvalidArgument("released", "a sample", "rows that have an original", 'output="center"')
        if released._stored:
            expected = "a release of this program: a stored copy does not say which row was whose"
            raise InvalidArgument("released", "a stored copy", expected, "a table with the same rows in the same order")
        if truth.num_rows < (least := len(released.cells.of) + released.dropped):
            expected = f"the whole table that was released, of {least:,} rows or more"
            raise InvalidArgument("original", f"{truth.num_rows:,} rows", expected, "what the release was made of")
        rows = released.rows
    elif shown.num_rows != truth.num_rows:
        expected = f"as many as the original ({truth.num_rows})"
        raise InvalidArgument("released", f"{shown.num_rows} rows", expected, "the Release itself")
    return names, truth, shown, rows


def _space(names: list[str], truth: pa.Table, shown: pa.Table, legend: Legend) -> tuple[FloatArray, FloatArray]:
    points, published = [], []
    for name in names:
        values, stretches = as_numbers(truth[name]), read_stretches(shown[name], legend.get(name))
        if values is not None and stretches is not None:
            scale = float(np.nanstd(values)) if (~np.isnan(values)).any() else 0.0
            points.append(values[:, None] / (scale or 1.0))
            published.append(stretches.center[stretches.code][:, None] / (scale or 1.0))
            continue
        texts = as_texts(truth[name])
        encoded = texts.dictionary_encode(null_encoding="encode")
        labels = [v for v in encoded.dictionary.to_pylist() if v is not None]
        own = read_sets(texts, labels)
        other = read_sets(shown[name], labels, legend.get(name))
        for sets, held in ((own, points), (other, published)):
            mean = sets.members / np.maximum(sets.members.sum(axis=1, keepdims=True), 1)
            held.append(mean[sets.code] / np.sqrt(2.0))
    return np.concatenate(points, axis=1), np.concatenate(published, axis=1)
