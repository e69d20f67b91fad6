"""A base for the private models: their columns, the target, the features of the user's own rows, and coefficients."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.core import (
    CAUSES,
    NAMING,
    Categorical,
    Code,
    Declared,
    Domain,
    Estimator,
    FloatArray,
    Frames,
    Person,
    check_fitted,
    checks,
    dialect_of,
    doubts,
    option,
    released_columns,
)
from discreet.core import options as shared
from discreet.core.budget import Epsilon
from discreet.engines.passes import UNIT, Design, MomentsPass
from discreet.errors import DiscreetWarning, InvalidArgument, InvalidType, SchemaError
from discreet.models.moments import Moments, best_noise, gaussian_better, publish
from discreet.synopses import OpenRelease, bind, check_release, method_options, note_columns, open_for, table
from discreet.synopses.queries import empty_text


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(Frames):
    """Coefficients with intervals that account for the noise and for the choice of rows.

    An interval without ends means that the noise hides the coefficient, or that the columns do not determine it.

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
        return pa.table({"name": self.names, "estimate": self.estimates, "low": self.low, "high": self.high})

    def __repr__(self) -> str:
        shown = zip(self.names[:4], self.estimates, self.low, self.high, strict=False)
        text = ", ".join(f"{name} {value:.4g} [{low:.4g}, {high:.4g}]" for name, value, low, high in shown)
        more = f", and {len(self.names) - 4} more" if len(self.names) > 4 else ""
        return f"<Coefficients: {text}{more}; {self.level:.0%} intervals>".replace("%", " %")


class PrivateModel(Declared, Estimator):
    """Base of the models: opens the release, and reads features of the user's own rows."""

    epsilon: float = shared.EPSILON
    domain: Any = shared.DOMAIN
    columns: Any = option(
        default=None, takes="names", example=["age", "income"], help="The columns that take part; by default all.",
        details="Categories are coded as indicators, one for each but the first declared one.",
    )  # fmt: skip
    random_state: Any = shared.RANDOM_STATE
    rho: Any = shared.RHO
    delta: Any = shared.DELTA
    expect_rows: int | None = shared.EXPECT_ROWS
    check_first: float | None = shared.CHECK_FIRST
    ledger: Any = shared.LEDGER
    #: The moments hold the number of rows: nothing is spent on it alone.
    n_rows = size_share = None
    _share = Fraction(1)
    #: Kinds of columns that cannot be features.
    _apart: ClassVar[tuple[type, ...]] = (Code,)

    def check(self) -> None:
        """Refuse what no table could be fitted with: what `fit` refuses before it reads a row."""
        method_options(self)
        check_release(self, self._fits, self._select, gaussian=gaussian_better)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Publish and solve. ``X`` has the target among its columns, or ``y`` holds it; without a target, no ``y``."""
        method_options(self)
        both = X if y is None or not self._supervised else _joined(X, y, *self._place())
        unit = getattr(self.domain, "unit", None)
        if y is not None and isinstance(unit, Person) and unit.column not in getattr(X, "columns", (unit.column,)):
            said = f"X has no column {unit.column!r}, which says whose a row is; keep it in X, in a column of its own"
            raise SchemaError(f"{said} and not in the index, or call fit(table) with all declared columns")

        def fits(domain: Domain, epsilon: Any) -> None:
            self._fits(domain, epsilon)
            _check_labels(y, domain)

        opening = open_for(self, both, check=fits, select=self._select, gaussian=gaussian_better)
        self._declared, self.domain_, self._weights = opening.declared, opening.domain, opening.weights
        self._design = design = Design(opening.domain)
        price = opening.gate.left * self._share
        self.moments_ = Moments(design, *publish(opening, "moments", MomentsPass(design), price))
        facts, more = self._solve(opening)
        told = {"method": type(self).__name__, "features": len(design.terms), **facts}
        payload = np.concatenate([self.moments_.values, *more])
        self.guarantee_ = opening.book(opening.promise(told).seal(payload.tobytes()))
        note_columns(self, X)
        noted: Any = self
        if self._supervised and both is X and noted.n_features_in_ == len(self._declared):
            noted.n_features_in_ -= 1  # the table has the target among its columns
        if self._supervised and hasattr(self, "feature_names_in_"):
            noted.feature_names_in_ = noted.feature_names_in_[noted.feature_names_in_ != self.domain_.names[-1]]
            noted.n_features_in_ = len(noted.feature_names_in_)
        rows, variance = self.moments_.values[0] * opening.step, self.moments_.variance * opening.step**2
        far = doubts(rows, variance, None if self._weights else self.expect_rows, {}, unit)
        if said := empty_text(rows, variance) or ". ".join([*far, CAUSES] if far else []):
            warnings.warn(said, DiscreetWarning, stacklevel=2)  # from released figures alone
        return self

    def _solve(self, opening: OpenRelease) -> tuple[dict[str, Any], list[FloatArray]]:
        """Set the results; return what the promise says of them, and what else was published."""
        raise NotImplementedError

    @property
    def _supervised(self) -> bool:
        return "target" in self.declared

    def _fits(self, domain: Domain, epsilon: Any) -> None:
        """Refuse columns that say nothing, more features than a joint draw can have, and too small an ε."""
        design = Design(domain)
        if len(design.terms) <= self._supervised:
            raise SchemaError(f"{type(self).__name__} needs a column to learn from; one category says nothing")
        if design.size > 10_000:
            said = f"at most 10,000 sums of products; {len(design.terms)} features make {design.size:,}"
            raise InvalidArgument("columns", list(domain.names[:8]), said, f"columns={list(domain.names[:8])}")
        least = Epsilon(checks.budget("epsilon", epsilon)) * (self._share / 2)
        if not best_noise(least, design.size, design.moved)[1].drawable:
            said = f"large enough that noise for {design.size} sums of products can be drawn"
            name = "epsilon" if self.rho is None else "rho"
            raise InvalidArgument(name, getattr(self, name), said, f"{name}=0.1")

    def _select(self, domain: Domain) -> Domain:
        """Return the features, and the target last."""
        target = [self._target(domain)] if self._supervised else []
        if self.columns is None:
            names: Sequence[str] = [c.name for c in domain if not isinstance(c, self._apart) and c.role not in NAMING]
        elif not self.columns:
            fix = f"columns={list(domain.names)}"
            raise InvalidType("columns", self.columns, "a list of column names, or None", fix)
        else:
            names = domain.select(list(self.columns)).names  # refuses unknown and repeated ones
        names = [name for name in names if name not in target]
        if refused := next((name for name in names if isinstance(domain.column(name), self._apart)), None):
            fix = f"columns={[c.name for c in domain if not isinstance(c, self._apart)]}"
            raise InvalidArgument("columns", refused, f"the name of a column that {type(self).__name__} can use", fix)
        if not names:
            raise SchemaError(f"{type(self).__name__} needs a column to learn from; declare one more than the target")
        return domain.select([*names, *target])

    def _target(self, domain: Domain) -> str:
        named = getattr(self, "target", None)
        if named is not None:
            return domain.column(named).name  # refuses unknown ones
        roles = [c.name for c in domain if c.role == "target"]
        return roles[0] if len(roles) == 1 else domain.names[-1]

    def _place(self) -> tuple[int | None, str | None]:
        """Return the place and the name of the target among the declared columns, as far as they are known."""
        if not isinstance(self.domain, (Domain, dict)):
            return None, None
        declared = self.domain if isinstance(self.domain, Domain) else Domain(self.domain)
        name = self._target(released_columns(declared, weights=False))
        return declared.position(name), name

    def _spread(self, X: Any) -> FloatArray:
        """Return the features of rows in units of one, intercept first; NaN for a row with a missing value."""
        check_fitted(self)
        own, declared = self._design.domain, self._declared
        source = engines.open(table(X), dialect=dialect_of(self.domain))
        axes = own.select(own.names[: len(own) - self._supervised])
        n, wanted = len(source.names), getattr(self, "n_features_in_")  # noqa: B009 - set by `note_columns`
        if not (source.named and declared.named):
            if n == wanted and self._supervised:
                declared = declared.select([name for name in declared.names if name != own.names[-1]])
            elif n != wanted and not (n == len(declared) and self._supervised):  # the target is not looked at
                said = f"X has {n} features, but {type(self).__name__} is expecting {wanted} features as input"
                raise SchemaError(said)
        design, found = Design(axes), [np.empty((0, 1 + len(Design(axes).terms)))]
        for columns in bind(source, declared, axes).batches(axes):
            rows, kept = design.rows(columns)
            found.append(np.full((len(kept), rows.shape[1]), np.nan))
            found[-1][kept] = rows / UNIT
        return np.concatenate(found)


class NoScore:
    """No `score`, also where a base class of scikit-learn has one: a search would choose settings by the raw rows."""

    def __get__(self, model: Any, kind: type) -> Any:
        raise AttributeError("score")  # the base class says it in words


class Regression(PrivateModel):
    """Base of the models with a target."""

    target: str | None = option(
        default=None, takes="text", example="income", help="The column to predict.",
        details="By default the column with the role ``target``, or else the last declared one.",
    )  # fmt: skip

    def coefficients(self, level: float = 0.95) -> Coefficients:
        """Return the coefficients with intervals, of the intercept first.

        An interval of a linear model accounts for noise and for the choice of rows, with residuals of equal variance;
        one of a logistic model also for a Hessian that is that of normal features. The guide states how often they held
        the coefficient in trials. Estimates are regularised and intervals are not, so an estimate need not be in the
        middle, nor inside where noise is large.
        """
        check_fitted(self)
        if self._weights is not None:
            raise InvalidArgument("level", level, "left out: rows counted by weight have no intervals", "coef_")
        names, values = ("(intercept)", *self.coef_names_), np.append(self.intercept_, self.coef_)
        return Coefficients(names, values, *self._ends(level, self._contrasts()), level)

    def _contrasts(self) -> FloatArray:
        """Return intercept and slopes in the units of the columns, as sums of those in units of one."""
        centres, halves = (each[:-1] for each in self._design.units)
        out = np.diag(np.append(1.0, 1 / halves))
        out[0, 1:] = -centres / halves
        return out

    @property
    def coef_names_(self) -> tuple[str, ...]:
        """Whose the coefficients are: a column's, or a category's relative to the first declared one."""
        return self._design.names[:-1]

    def _ends(self, level: float, contrasts: FloatArray) -> tuple[FloatArray, FloatArray]:
        raise NotImplementedError


def check_target(domain: Domain, expected: str, fix: str, categories: int) -> None:
    """Refuse a target of another kind: 0 categories for a number."""
    last = domain.columns[-1]
    if (len(last.categories) if isinstance(last, Categorical) else 0) != categories:
        raise InvalidArgument("target", last.name, f"the name of a column of {expected}", fix)


def _check_labels(y: Any, domain: Domain) -> None:
    """Refuse a target whose type, booleans or whole numbers, can be neither of its two categories.

    Floats are not refused: pandas calls a column of texts so if all its rows are empty, and rows never cause an error.
    """
    last, kind = domain.columns[-1], str(getattr(y, "dtype", ""))
    if not isinstance(last, Categorical) or not re.match(r"bool|u?int\d", kind.lower()):
        return
    texts = [c for c in last.categories if isinstance(c, str) and c.lower() not in ("true", "false")]
    if len(texts) == 2 and np.isnan(checks.as_floats(np.array(texts, object))).all():
        first, second = last.categories
        test, sign = ("y", True) if "bool" in kind.lower() else ("y == 1", 1)
        fix = f"y=np.where({test}, {second!r}, {first!r}) if {sign} stands for {second!r}"
        raise InvalidType("y", kind, f"{first!r} or {second!r}, the declared categories of {last.name!r}", fix)


def _joined(X: Any, y: Any, at: int | None, name: str | None) -> Any:
    """Put a target that was given apart into its column of the table."""
    X = table(X)
    if hasattr(type(X), "to_frame"):
        raise InvalidType("X", type(X).__name__, "a table with columns, not one column", "X=X.to_frame()")
    X = X.to_pandas() if hasattr(type(X), "to_pandas") else X
    named = hasattr(type(X), "assign")
    if not named and np.ndim(X if isinstance(X, np.ndarray) else 0) != 2:
        expected = "left out where the table is a file, a Spark frame or records: these hold the target themselves"
        raise InvalidType("y", type(y), expected, "fit(table)")
    column = np.asarray(y)
    column = column.reshape(len(column), -1)[:, 0] if column.size else column.ravel()
    if len(column) != len(X):
        raise InvalidArgument("y", "an array of another length", "one value for each row of X", "fit(X, y)")
    name = str(name or getattr(y, "name", None) or "y")
    X = X.drop(columns=name, errors="ignore") if named else X
    place = X.shape[1] if at is None else min(at, X.shape[1])
    if named:  # the columns of a domain without names go by their places
        X.insert(place, name, column)
        return X
    if column.dtype.kind not in "fiub" or X.dtype.kind not in "fiub":
        X, column = X.astype(object), column.astype(object)
    return np.insert(X, place, column, axis=1)
