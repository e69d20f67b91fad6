"""What the private models share: their columns, the target, the features of the user's own rows, and coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.core import (
    NAMING,
    Categorical,
    Code,
    Domain,
    Estimator,
    FloatArray,
    Frames,
    IntArray,
    check_fitted,
    option,
)
from discreet.engines.passes import UNIT, Design
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.models.moments import gaussian_better
from discreet.synopses import OpenRelease, bind, check_release, method_options, note_columns, open_for, table

TARGET: Any = option(
    default=None, takes="text", example="income", help="The column to predict.",
    details="By default the column with the role ``target``, or else the last declared one.",
)  # fmt: skip
COLUMNS: Any = option(
    default=None, takes="names", example=["age", "income"], help="The columns that take part; by default all.",
    details="Categories are coded as indicators, one for each but the first declared one.",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(Frames):
    """Coefficients with intervals that account for the noise and for the choice of rows.

    An interval without ends means that the noise hides the coefficient.

    Examples
    --------
    >>> Coefficients(("(intercept)", "age"), np.array([1.0, 2.0]), np.zeros(2), np.array([2.0, 4.0]), 0.95)
    <Coefficients: (intercept) 1 [0, 2], age 2 [0, 4]; 95 % intervals>
    """

    names: tuple[str, ...]
    estimates: FloatArray
    low: FloatArray
    high: FloatArray
    level: float

    def to_arrow(self) -> pa.Table:
        """Return one row per coefficient: name, estimate and the ends of its interval."""
        ends = {"low": pa.array(self.low), "high": pa.array(self.high)}
        return pa.table({"name": pa.array(self.names), "estimate": pa.array(self.estimates), **ends})

    def __repr__(self) -> str:
        shown = zip(self.names[:4], self.estimates, self.low, self.high, strict=False)
        text = ", ".join(f"{name} {value:.4g} [{low:.4g}, {high:.4g}]" for name, value, low, high in shown)
        more = f", and {len(self.names) - 4} more" if len(self.names) > 4 else ""
        return f"<Coefficients: {text}{more}; {self.level:.0%} intervals>".replace("%", " %")


class PrivateModel(Estimator):
    """Base of the models: opens the release, and reads features of the user's own rows."""

    domain: Any
    columns: Any
    n_features_in_: int
    feature_names_in_: Any
    #: The moments hold the number of rows: nothing is spent on it alone.
    n_rows = None
    size_share = None
    #: False for models without a target.
    _supervised = True
    domain_: Domain
    _design: Design
    _declared: Domain

    def check(self) -> None:
        """Refuse what no table could be fitted with: what `fit` refuses before it reads a row."""
        method_options(self)
        check_release(self, self._fits, self._select)

    def _open(self, X: Any, y: Any) -> tuple[OpenRelease, Design]:
        method_options(self)
        both = X if y is None or not self._supervised else _joined(X, y, self._target_place())
        more = {"check": self._fits, "select": self._select, "gaussian": gaussian_better(Design)}
        opening = open_for(self, both, **more)
        self._declared, self.domain_, self._joined = opening.declared, opening.domain, both is not X
        return opening, Design(opening.domain)

    def _fits(self, domain: Domain, epsilon: Any) -> None:
        """Refuse columns of which nothing can be learnt, and more features than a joint draw can have."""
        design = Design(domain)
        if design.size > 10_000:
            said = f"at most 10,000 sums of products; {len(design.terms)} features make {design.size:,}"
            raise InvalidArgument("columns", list(domain.names[:8]), said, f"columns={list(domain.names[:8])}")

    def _select(self, domain: Domain) -> Domain:
        """Return the features, and the target last."""
        target = self._target(domain) if self._supervised else None
        if self.columns is None:
            names = [c.name for c in domain if not self._apart(c) and c.role not in NAMING]
        elif isinstance(self.columns, str) or not isinstance(self.columns, Sequence) or not self.columns:
            raise InvalidType(
                "columns", self.columns, "a list of column names, or None", f"columns={list(domain.names)}"
            )
        else:
            names = list(domain.select(list(self.columns)).names)  # refuses unknown and repeated ones
        names = [name for name in names if name != target]
        if refused := next((name for name in names if self._apart(domain.column(name))), None):
            fix = f"columns={[name for name in domain.names if not self._apart(domain.column(name))]}"
            raise InvalidArgument("columns", refused, f"the name of a column that {type(self).__name__} can use", fix)
        if not names:
            raise SchemaError(f"{type(self).__name__} needs a column to learn from; declare one more than the target")
        return domain.select([*names, *([] if target is None else [target])])

    def _apart(self, column: Any) -> bool:
        """True for a column that cannot be a feature."""
        return isinstance(column, Code)

    def _target(self, domain: Domain) -> str:
        named = getattr(self, "target", None)
        if named is not None:
            return domain.column(named).name  # refuses unknown ones
        roles = [c.name for c in domain if c.role == "target"]
        return roles[0] if len(roles) == 1 else domain.names[-1]

    def _target_place(self) -> tuple[int | None, str | None]:
        """Return the place and the name of the target among the declared columns, as far as they are known."""
        if not isinstance(self.domain, (Domain, dict)):
            return None, None
        declared = self.domain if isinstance(self.domain, Domain) else Domain(self.domain)
        name = self._target(declared)
        return declared.position(name), name

    def _finish(self, X: Any, opening: OpenRelease, design: Design, facts: dict[str, Any], payload: FloatArray) -> None:
        """Seal the promise over what was published, and remember the columns."""
        self._design = design
        told = {"method": type(self).__name__, "features": len(design.terms), **facts}
        self.guarantee_ = opening.book(opening.promise(told).seal(np.ascontiguousarray(payload).tobytes()))
        note_columns(self, X)
        if self._supervised and not self._joined and self.n_features_in_ == len(self._declared):
            self.n_features_in_ -= 1  # the table has the target among its columns
        if hasattr(self, "feature_names_in_") and self._supervised:
            kept = self.feature_names_in_ != self.domain_.names[-1]
            self.feature_names_in_ = self.feature_names_in_[kept]
            self.n_features_in_ = len(self.feature_names_in_)

    def _features(self, X: Any) -> tuple[FloatArray, IntArray, int]:
        """Return the features of rows in units of one, the places of rows without missing values, and all rows."""
        check_fitted(self)
        source, own = engines.open(table(X)), self._design.domain
        axes = own.select(own.names[:-1]) if self._supervised else own
        declared = self._declared
        n, wanted = len(source.names), self.n_features_in_
        if not (source.named and declared.named and set(axes.names) <= set(source.names)):
            if n == len(declared) and self._supervised and n != wanted:
                pass  # with the target, which is not looked at
            elif n != wanted:
                what = f"{type(self).__name__} is expecting {wanted} features as input"
                raise SchemaError(f"X has {n} features, but {what}")
            elif self._supervised:
                declared = declared.select([name for name in declared.names if name != own.names[-1]])
        source, design = bind(source, declared, axes), Design(axes)
        parts = [design.rows(columns) for columns in source.batches(axes)]
        rows = np.concatenate([np.empty((0, 1 + len(design.terms))), *(part for part, _ in parts)]) / UNIT
        kept = np.concatenate([np.empty(0, bool), *(where for _, where in parts)])
        return rows, np.flatnonzero(kept), len(kept)

    def _spread(self, X: Any, values: Any) -> FloatArray:
        """Return ``values(features)`` for each row; NaN for one with a missing value."""
        rows, kept, n = self._features(X)
        made = values(rows)
        out = np.full((n, *made.shape[1:]), np.nan)
        out[kept] = made
        return out


def names_of(design: Design) -> tuple[str, ...]:
    """Return the names of features after the intercept: a column's, or column=category."""
    out = []
    for j, level in design.terms:
        column = design.domain.columns[j]
        out.append(f"{column.name}={column.categories[level]}" if isinstance(column, Categorical) else column.name)
    return tuple(out)


def units_of(design: Design) -> tuple[FloatArray, FloatArray]:
    """Return centres and half widths of the features after the intercept; 0 and 1 for categories."""
    low, high = design.domain.low, design.domain.high
    pairs = [(0.0, 1.0) if level >= 0 else ((low[j] + high[j]) / 2, (high[j] - low[j]) / 2 or 1.0)
             for j, level in design.terms]  # fmt: skip
    centres, halves = np.array(pairs, np.float64).T
    return centres, halves


def contrasts(design: Design) -> FloatArray:
    """Return intercept and slopes in the units of the columns, as sums of those in units of one; the target is last."""
    centres, halves = units_of(design)
    out = np.diag(np.append(1.0, 1 / halves[:-1]))
    out[0, 1:] = -centres[:-1] / halves[:-1]
    return out


def _joined(X: Any, y: Any, place: tuple[int | None, str | None]) -> Any:
    """Put a target that was given apart into its column of the table."""
    at, name = place
    X = table(X)
    if hasattr(X, "assign") and hasattr(X, "columns"):  # pandas
        named = name if name is not None else getattr(y, "name", None)
        return X.assign(**{str(named or "y"): np.asarray(y)})
    if hasattr(X, "with_columns"):  # Polars
        import polars

        return X.with_columns(polars.Series(str(name or "y"), list(y)))
    if not isinstance(X, (np.ndarray, list, tuple)) and not hasattr(X, "__array__"):
        expected = "left out where the table is a file or a Spark frame, which has the target among its columns"
        raise InvalidType("y", type(y), expected, "fit(table)")
    rows = np.asarray(X)
    column = np.asarray(y)
    if column.ndim != 1:
        column = column.reshape(len(column), -1)[:, 0]
    if len(column) != len(rows):
        raise InvalidArgument("y", "an array of another length", "one value for each row of X", "fit(X, y)")
    if column.dtype.kind not in "fiub" or rows.dtype.kind not in "fiub":
        rows, column = rows.astype(object), column.astype(object)
    where = rows.shape[1] if at is None else min(at, rows.shape[1])
    return np.insert(rows, where, column, axis=1)
