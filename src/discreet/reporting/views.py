"""Distributions of columns and one plane of a synopsis, prepared for charts.

A chart must not show more than the splits of the synopsis. Bins end where leaves end. The part of a bin that comes
from leaves beyond it is marked as assumed. A column that was never split has no distribution.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.core import (
    Categorical,
    Code,
    Column,
    Date,
    FloatArray,
    Integer,
    Time,
    category_text,
    date_text,
    even_edges,
    round_marks,
)
from discreet.core.schema import known_kind
from discreet.reporting.words import number
from discreet.synopses import ModelSynopsis, Synopsis

#: The label of released rows without a value.
NO_VALUE = "no value"
NOT_DIVIDED = "not known: this column was not split"
HARDLY_DIVIDED = "not known: this column was split for very few rows"
#: More bins than this are thinned out, to about as many as the second number; the third where leaves overlap.
_MOST_BINS, _BINS, _FEW_BINS = 40, 24, 8


def marginals(synopsis: Synopsis) -> list[dict[str, Any]]:
    """Return the distribution of each column, those known for the most rows first."""
    out = []
    for axis, column in enumerate(synopsis.domain):
        steps = None if isinstance(column, Categorical) else _edges(synopsis, axis)
        ever = column.name not in synopsis.uncut
        divided = ever and (steps is None or len(steps) > 2)  # a single bar shows nothing
        found = synopsis.marginal(column.name, steps)
        edges = None if found.edges is None else found.edges.tolist()
        counts = np.asarray(found.counts)
        facts: dict[str, Any] = {
            "column": column.name,
            "divided": divided,
            **({"why": HARDLY_DIVIDED} if ever and not divided else {}),
            "edges": edges,
            "labels": [category_text(c) for c in found.categories or ()]
            or [mark(column, a) for a in (edges or [])[:-1]],
            "ends": list(_ends(column)),
            "marks": marks(column),
            "ordered": isinstance(column, Categorical) and column.ordered,
            "counts": counts.tolist(),
            # What boxes assume is hatched. The error of a model widens the interval.
            "std_errors": (
                found.std_errors if found.modelled or found.noise_errors is None else found.noise_errors
            ).tolist(),
            "assumed": (counts if not divided or found.assumed is None else found.assumed).tolist(),
        }
        if found.missing is not None:
            facts["missing"] = found.missing.to_dict()
        out.append(facts)
    return sorted(out, key=lambda facts: (not facts["divided"], round(doubt(facts), 2)))


def doubt(facts: dict[str, Any]) -> float:
    """Return the share of a column's rows whose bar is assumed."""
    assumed, counts = (float(np.abs(facts[key]).sum()) for key in ("assumed", "counts"))
    return assumed / counts if counts else 0.0


def measured(synopsis: ModelSynopsis) -> list[dict[str, Any]]:
    """Return the columns that a marginal synopsis measured together and their noise, the most dependent first.

    Dependence is half the L1 distance between the noisy counts and the product of their sums, less what noise alone
    adds.
    """
    found: dict[str, dict[str, Any]] = {}
    rows = max(synopsis.total, 1.0)
    for m in synopsis.measured.measured:
        if len(m.columns) < 2:
            continue
        counts = np.array(m.counts, dtype=np.float64).reshape([len(set(g)) for g in m.groups])
        even = np.array(rows)
        for axis in range(counts.ndim):
            sums = np.maximum(counts.sum(axis=tuple(a for a in range(counts.ndim) if a != axis)), 0.0)
            even = np.multiply.outer(even, sums / max(float(sums.sum()), 1.0))
        noise = counts.size * float(np.sqrt(m.variance * 2 / np.pi))
        apart = max(float(np.abs(counts - even).sum()) - noise, 0.0) / (2 * rows)
        name = " by ".join(synopsis.counted_names[c] for c in m.columns)
        if name not in found or found[name]["std_error"] ** 2 > m.variance:
            found[name] = {"columns": name, "cells": counts.size, "std_error": m.variance**0.5, "dependence": apart}
    return sorted(found.values(), key=lambda one: -one["dependence"])


def plane(synopsis: Synopsis, chosen: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return two split columns as boxes with densities; None if there are none, or for a model.

    By default the two columns that split most rows, numbers before categories, and a longitude with a latitude first.
    Leaves that cover the same part of the plane add up.
    """
    if synopsis.modelled:
        return None
    columns = synopsis.domain.columns
    cut = [j for j, c in enumerate(columns) if c.name not in synopsis.uncut]

    def told(j: int) -> float:
        part = synopsis.upper[:, j] - synopsis.lower[:, j] < columns[j].high - columns[j].low
        return -round(float(np.abs(synopsis.weights[part]).sum() / max(float(np.abs(synopsis.weights).sum()), 1.0)), 2)

    known = {j: known_kind(columns[j].name) for j in cut if not isinstance(columns[j], Categorical)}
    degrees = ("degrees of longitude", "degrees of latitude")
    places = [[j for j, kind in known.items() if kind is not None and kind.source == said] for said in degrees]
    pair = sorted(sorted(cut, key=lambda j: (isinstance(columns[j], Categorical), told(j)))[:2])
    pair = [places[0][0], places[1][0]] if all(places) else pair
    pair = [synopsis.domain.position(name) for name in chosen] or pair
    if len(pair) < 2 or not set(pair) <= set(cut):
        return None
    corners = np.hstack([synopsis.lower[:, pair], synopsis.upper[:, pair]])
    placed = ~np.isnan(corners).any(axis=1)
    boxes, which = np.unique(corners[placed], axis=0, return_inverse=True)
    weights = np.bincount(which.ravel(), synopsis.weights[placed], minlength=len(boxes))
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    density = np.divide(weights, areas, out=np.zeros(len(boxes)), where=areas > 0)
    return {
        "columns": [columns[j].name for j in pair],
        "lower": boxes[:, :2].tolist(),
        "upper": boxes[:, 2:].tolist(),
        "density": density.tolist(),
        "low": [columns[j].low for j in pair],
        "high": [columns[j].high for j in pair],
        # Numbers, dates and times get round marks; other axes have words at their ends.
        "ends": [list(_ends(c)) if isinstance(c, Categorical) else marks(c) for c in (columns[j] for j in pair)],
        "gaps": synopsis.hidden is not None,
    }


def _edges(synopsis: Synopsis, axis: int) -> FloatArray:
    """Return bin edges at ends of leaves: all of them, or those nearest to equal steps.

    In a tree an end of one leaf is inside others. There bins are few and about equally full, with edges that cross the
    fewest rows.
    """
    column = synopsis.domain.columns[axis]
    placed = ~np.isnan(synopsis.lower[:, axis])
    lower, upper = synopsis.lower[placed, axis], synopsis.upper[placed, axis]
    weights = np.abs(synopsis.weights[placed].astype(np.float64))
    edges: FloatArray = np.unique(np.concatenate([lower, upper, [column.low, column.high]]))
    n_bins = len(edges) - 1
    starts, stops = (
        np.bincount(np.clip(k, 0, n_bins - 1), weights, minlength=n_bins)
        for k in (np.searchsorted(edges, lower), np.searchsorted(edges, upper) - 1)
    )
    crossing = (np.cumsum(starts) - np.cumsum(stops))[:-1]  # rows in leaves that an inner edge cuts
    if n_bins > 1 and float(crossing.max()) > 1e-9 * float(weights.sum()):
        order = np.argsort(lower + upper, kind="stable")
        filled = np.cumsum(weights[order])
        marks = np.interp(
            np.arange(1, 2 * _FEW_BINS, 2) / (2 * _FEW_BINS) * filled[-1], filled, (lower + upper)[order] / 2
        )
        windows = np.searchsorted(edges[1:-1], marks)
        chosen = [a + int(np.argmin(crossing[a:b])) for a, b in pairwise(windows.tolist()) if b > a]
        return edges[[0, *(1 + c for c in chosen), n_bins]]
    if n_bins > _MOST_BINS:
        steps = even_edges(column, _BINS)
        after = np.clip(np.searchsorted(edges, steps), 1, n_bins)
        nearer = steps - edges[after - 1] < edges[after] - steps
        edges = np.unique(edges[np.where(nearer, after - 1, after)])
    return edges


def mark(column: Column, place: float) -> str:
    """Write a place on the axis of a column."""
    if isinstance(column, Date):
        return date_text(place)
    if isinstance(column, (Time, Code)):
        return str(column.at(min(math.ceil(place), column.most)))
    if isinstance(column, Integer):  # a place between two numbers: the first behind it
        return number(min(math.ceil(place), column.most))
    return number(place)


def marks(column: Column) -> list[tuple[float, str]] | None:
    """Return round dates or times for the axis of a column; None for other columns."""
    return round_marks(column.kind, column.low, column.high) if isinstance(column, (Date, Time)) else None


def _ends(column: Column) -> tuple[str, str]:
    """Return the texts at the ends of an axis."""
    if isinstance(column, Categorical):
        return category_text(column.categories[0]), category_text(column.categories[-1])
    return mark(column, column.low), mark(column, column.high)
