"""On which columns clusters are found (numbers and dates by default), and what is said of their weights and categories.

Everything here is post-processing or looks at the declared columns only.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from discreet.clustering.leaves.kmeans import mass_by, nearest
from discreet.core import (
    EMPTY_UP_TO,
    NAMING,
    BoolArray,
    Categorical,
    Code,
    Column,
    Date,
    Domain,
    FloatArray,
    IntArray,
    Integer,
    Time,
    category_text,
    checks,
    date_text,
)
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses import BoxSynopsis, Synopsis
from discreet.synopses.queries import axis_share


def cluster_columns(domain: Domain, columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns to cluster on: those named, or all that are neither categories nor say whose row it is."""
    if columns is None:
        numeric = tuple(c.name for c in domain if not isinstance(c, (Categorical, Code)) and c.role not in NAMING)
        if not numeric:
            fix = f"columns={list(domain.names[:1])}, if the order of its categories means something"
            raise InvalidArgument("columns", None, "given where no declared column is numeric", fix)
        return numeric
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
        raise InvalidType("columns", columns, "a list of column names, or None", f"columns={list(domain.names[:1])}")
    return domain.select(list(columns)).names  # refuses unknown and repeated ones


def left_out(domain: Domain, chosen: Sequence[str], *, fix: bool = False) -> str:
    """Say which columns take no part in clustering, and why; nothing if all do. ``fix`` adds how categories could."""
    rest = [c for c in domain if c.name not in chosen and c.role not in NAMING]
    if not rest:
        return ""
    text = f"clustered on {', '.join(chosen)}; {', '.join(c.name for c in rest)} took no part"
    if all(isinstance(c, (Categorical, Code)) for c in rest):
        text += ": the mean of categories is not a place"
    more = '; with PrivateKMeans(synopsis="marginals") categories take part'
    return text + more * (fix and any(isinstance(c, Categorical) for c in rest))


def distance_units(domain: Domain, scale: str) -> FloatArray:
    """Return what coordinates are divided by before distances are taken."""
    if checks.choice("scale", scale, ("none", "domain")) == "none":
        return np.ones(len(domain))
    return domain.high - domain.low


def select_columns(domain: Domain, columns: Sequence[str] | None) -> Domain:
    """Return the domain of `cluster_columns`; the domain itself where those are all of it, in its order."""
    chosen = cluster_columns(domain, columns)
    return domain if chosen == domain.names else domain.select(chosen)


def no_part(declared: Domain, chosen: Domain) -> dict[str, str]:
    """Return what a guarantee says of columns that took no part in clustering; nothing if all did."""
    said = left_out(declared, chosen.names)
    return {"clustering": said} if said else {}


def view(synopsis: Synopsis, columns: Sequence[str]) -> Synopsis:
    """Return what a synopsis says of some of its columns: leaves that are the same there add up.

    The tree is gone: its boxes are those of all columns.
    """
    domain = synopsis.domain.select(list(columns))
    axes = [synopsis.domain.position(name) for name in columns]
    corners = np.hstack([synopsis.lower[:, axes], synopsis.upper[:, axes]])
    # NaN marks missing values: equal to itself here.
    boxes, which = np.unique(np.where(np.isnan(corners), -np.inf, corners), axis=0, return_inverse=True)
    which = which.ravel()
    lower, upper = (np.where(np.isneginf(part), np.nan, part) for part in np.hsplit(boxes, 2))
    weights = mass_by(which, synopsis.weights.astype(np.float64), len(boxes))
    share = np.maximum(synopsis.weights.astype(np.float64), 0.0) + 1e-12
    points = np.column_stack(
        [mass_by(which, share * synopsis.points[:, j], len(boxes)) / mass_by(which, share, len(boxes)) for j in axes]
    )
    middles = lower + (upper - lower) / 2
    own = synopsis.lower[:, axes] + (synopsis.upper[:, axes] - synopsis.lower[:, axes]) / 2
    plain = np.array_equal(synopsis.points[:, axes], own, equal_nan=True)
    return BoxSynopsis(
        domain,
        lower=lower,
        upper=upper,
        weights=weights,
        variances=mass_by(which, synopsis.variances, len(boxes)),
        points=None if plain else np.where(np.isnan(middles), np.nan, np.clip(points, lower, upper)),
        guarantee=dataclasses.replace(synopsis.guarantee, domain=domain, digest=None),
        total=synopsis.total,
        total_variance=synopsis.total_variance,
        hidden=synopsis.hidden,
        uncut=[name for name in synopsis.uncut if name in columns],
    ).replace(note=f"columns: {', '.join(columns)}")


def category_shares(
    synopsis: Synopsis, columns: Sequence[str], centers: FloatArray, units: FloatArray
) -> dict[str, FloatArray | None]:
    """Return, for every category column that took no part, the share of each category in each cluster's weight.

    A leaf belongs to the centre nearest to its representative. Shares add up to less than 1 if leaves were not cut
    along the column. None where it was never cut; NaN for a cluster without positive weight.
    """
    placed, labels = _nearest_center(synopsis, columns, centers, units)
    weights, k = synopsis.weights[placed].astype(np.float64), len(centers)
    whole = mass_by(labels, weights, k)
    out: dict[str, FloatArray | None] = {}
    for axis, column in enumerate(synopsis.domain.columns):
        if column.name in columns or not isinstance(column, Categorical):
            continue
        if column.name in synopsis.uncut or not len(weights):
            out[column.name] = None
            continue
        lower, upper = synopsis.lower[placed, axis], synopsis.upper[placed, axis]
        known = weights * (upper - lower < column.high - column.low)
        table = np.column_stack(
            [
                mass_by(labels, known * axis_share(lower, upper, [(float(i), i + 1.0)], column), k)
                for i in range(len(column.categories))
            ]
        )
        table = np.maximum(table, 0.0)  # below zero is noise alone
        full = np.maximum(whole, table.sum(axis=1))[:, np.newaxis]
        out[column.name] = np.divide(table, full, out=np.full_like(table, np.nan), where=full > 0)
    return out


def released_weights(
    synopsis: Synopsis, columns: Sequence[str], centers: FloatArray, units: FloatArray, refined: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return each cluster's weight, its standard error, and whether that weight may be noise alone.

    A leaf belongs to the centre nearest to its representative; the weight is the sum of their released counts, which
    are unbiased. ``refined`` counts are not: they move rows from sparse leaves to full ones. They are the weights only
    where cells below a cutoff were not published. A weight may be noise alone if either sum is within its noise of zero
    (one empty cluster in a hundred exceeds that). Survivors of a cutoff count only by what they exceed a typical empty
    survivor. Post-processing.
    """
    placed, labels = _nearest_center(synopsis, columns, centers, units)
    if not placed.any():
        return refined, np.zeros(len(centers)), np.ones(len(centers), dtype=bool)
    errors = np.sqrt(mass_by(labels, synopsis.variances[placed].astype(np.float64), len(centers)))
    counts = synopsis.weights[placed].astype(np.float64)
    hidden, weights = synopsis.hidden, refined
    if hidden is None:
        weights = np.maximum(mass_by(labels, counts, len(centers)), 0.0)
    elif hidden.noise_alone >= 1:
        # Beyond its cutoff an empty cell's count falls off geometrically: scale, the mean of what it exceeds it by.
        counts = counts - (hidden.cutoff + math.sqrt(hidden.variance / 2))
    drawn = mass_by(labels, counts, len(centers))
    return weights, errors, (np.minimum(refined, drawn) <= EMPTY_UP_TO * errors) & (errors > 0)


def _nearest_center(
    synopsis: Synopsis, columns: Sequence[str], centers: FloatArray, units: FloatArray
) -> tuple[BoolArray, IntArray]:
    """Return which leaves have a place, and the centre nearest to each of these."""
    points = synopsis.points[:, [synopsis.domain.position(name) for name in columns]]
    placed: BoolArray = np.asarray(np.isfinite(points).all(axis=1))
    return placed, nearest(points[placed] / units, centers / units)


def place_texts(column: Column, places: FloatArray) -> list[float | str]:
    """Return places on a column's axis as a reader knows them: numbers, dates, times, or the category that is there."""
    if isinstance(column, Date):
        return [date_text(round(float(p))) for p in places]
    if isinstance(column, (Time, Code)):
        return [str(column.at(min(max(round(float(p)), column.least), column.most))) for p in places]
    if not isinstance(column, Categorical):
        return [float(p) for p in places]
    codes = np.clip(np.floor(places), 0, len(column.categories) - 1).astype(int)
    return [category_text(column.categories[code]) for code in codes]


def described(column: Categorical, shares: FloatArray, most: int = 3) -> str:
    """Return the shares of one cluster in words: the commonest categories first."""
    if not np.isfinite(shares).all():
        return "not known"
    order = [i for i in np.argsort(-shares, kind="stable").tolist() if shares[i] >= 0.005]
    parts = [f"{column.categories[i]} {shares[i]:.0%}" for i in order[:most]]
    rest, unknown = float(shares[order[most:]].sum()), 1 - float(shares.sum())
    parts += [f"others {rest:.0%}"] if rest >= 0.005 else []
    parts += [f"not known {unknown:.0%}"] if unknown >= 0.005 else []
    return ", ".join(parts).replace("%", " %")


def within_values(domain: Domain, centers: FloatArray) -> FloatArray:
    """Move centres between the least and the largest value that a column can have.

    The axis of whole numbers reaches half a step further, and noise may lead there.
    """
    ends = [(c.least, c.most) if isinstance(c, Integer) else (c.low, c.high) for c in domain.columns]
    low, high = np.array(ends, dtype=np.float64).T
    return np.asarray(np.clip(centers, low, high), np.float64)
