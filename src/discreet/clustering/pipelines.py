"""scikit-learn habits without leaks: scale by declared bounds, and pipelines in which nothing is fitted on raw rows.

A `StandardScaler` in front of a private estimator was fitted on everybody's rows: its means and variances reach the
release without noise and without a price. `DomainScaler` scales by what was declared; `private_pipeline` refuses steps
that learn from the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet import engines
from discreet.clustering.central.estimator import matched
from discreet.clustering.central.lloyd import DPLloyd
from discreet.clustering.central.private_kmeans import PrivateKMeans
from discreet.core import (
    Categorical,
    Code,
    Declared,
    Domain,
    EstimatorHtml,
    FloatArray,
    Person,
    as_domain,
    dialect_of,
    option,
    released_columns,
)
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.metric import Perturber
from discreet.synopses import GridSynopsis, MarginalSynopsis, TreeSynopsis, bind, note_columns, table


class DomainScaler(Declared, EstimatorHtml, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scale columns by their declared bounds: each to [0, 1], whatever the rows are.

    Nothing is fitted, so a private estimator behind it keeps its promise; declare it with ``domain=(0, 1)``. (To have
    declared widths count as equal, `PrivateKMeans` alone will do: ``scale="domain"``. It also knows of whole numbers.)

    Attributes
    ----------
    domain_ : Domain
        The columns that are scaled, as declared.

    Privacy
    -------
    Each row is scaled by itself, by a rule that does not depend on the table. Tables that differ in one row still do
    after scaling, so the guarantee of the next step holds for both together. The output is as sensitive as the rows.

    Examples
    --------
    >>> import discreet as dc
    >>> scaler = dc.DomainScaler({"age": (0, 120), "income": (0, 1e6)}).fit()
    >>> scaler.transform([[30, 250_000], [150, float("nan")]]).tolist()
    [[0.25, 0.25], [1.0, nan]]
    >>> scaler.inverse_transform([[0.5, 0.5]]).tolist()
    [[60.0, 500000.0]]
    """

    domain: Any = option(
        default=None,
        help="The declared columns: numbers, whole numbers or dates. Identifiers are left out.",
        details='A domain that names a person must say ``unit="row"``: later steps do not see whose rows they are.',
    )

    def fit(self, X: Any = None, y: Any = None) -> DomainScaler:
        """Check the declaration, and the names of the columns if a table is given. No row is looked at.

        ``X`` is needed only if the domain is a pair of numbers; ``y`` is ignored.
        """
        if X is None:
            if not isinstance(self.domain, (Domain, dict)):
                raise InvalidType("X", None, "a table where the domain is a pair of bounds", "fit(X)")
            declared = as_domain(self.domain, ())
            self.n_features_in_ = len(declared)
            self.feature_names_in_ = np.array(declared.names, dtype=object)
        else:
            source = engines.open(table(X), dialect=dialect_of(self.domain))
            declared = as_domain(self.domain, source.names)
            note_columns(self, X)
        _refuse_persons(declared)
        for column in released_columns(declared):
            if isinstance(column, (Categorical, Code)):
                why = "has categories, which have no distance"
                raise SchemaError(f"column {column.name!r} {why}; leave it out with domain.select([...])")
        self._declared, self.domain_ = declared, released_columns(declared)
        if X is not None:
            bind(source, declared, self.domain_)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return every row, each column between 0 and 1: clamped to the bounds, missing values as NaN."""
        check_is_fitted(self)
        source = engines.open(table(X, self.n_features_in_), dialect=dialect_of(self.domain))
        return self.domain_.to_unit(_rows(matched(self, source), self.domain_))

    def inverse_transform(self, X: Any) -> FloatArray:
        """Return numbers between 0 and 1, such as the centres of clusters, in the units of the columns."""
        check_is_fitted(self)
        return self.domain_.from_unit(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that come out."""
        if len(self.domain_) == self.n_features_in_:
            return super().get_feature_names_out(input_features)
        return np.array(self.domain_.names, dtype=object)


def _refuse_persons(declared: Domain) -> None:
    """Refuse to hide from what follows whose rows they are: it would promise something about rows by accident."""
    if declared.weights:
        raise SchemaError(
            f"column {declared.weights[0]!r} has the role 'weight', and what follows a scaler would not see it; try "
            'dc.PrivateKMeans(domain=domain, scale="domain") without a scaler, or leave the column out'
        )
    people = [c.name for c in declared if c.role == "person"]
    if (people or isinstance(declared.unit, Person)) and declared.unit != "row":
        whose = declared.unit.column if isinstance(declared.unit, Person) else people[0]
        raise SchemaError(
            f"the domain names a person (column {whose!r}), and what follows a scaler would not see whose rows they "
            'are; try dc.PrivateKMeans(domain=domain, scale="domain") without a scaler, or domain.with_unit("row") if '
            "rows are what is to be hidden"
        )


def _refuse_moved_persons(before: list[tuple[str, Any]], step: Any) -> None:
    """Refuse a promise to persons behind a step that maps the column that names them too."""
    unit = getattr(getattr(step, "domain", None), "unit", None)
    moved = [name for name, given in before if given is not None and given != "passthrough"]
    if isinstance(unit, Person) and moved:
        raise SchemaError(
            f"the unit is one {unit.called} (column {unit.column!r}), and step {moved[0]!r} would map that column like "
            "the others: it would no longer say whose rows they are; try the private estimator without steps in front"
        )


#: Steps of scikit-learn that are rules for single rows; a `FunctionTransformer` only of some functions.
_RULES = (FunctionTransformer, Normalizer, Binarizer)
#: What may replace a step that is refused, by words in the name of its class.
_INSTEAD = {
    ("Scaler", "QuantileTransformer", "PowerTransformer"): "dc.DomainScaler(domain), which scales by declared bounds",
    ("Imputer",): "leaving it out: a row with a missing value follows the rule that the domain declares",
    ("Encoder", "Binarizer", "Discretizer"): "declaring categories or bounds in the domain of the last step",
}


def private_pipeline(*steps: Any) -> Pipeline:
    """Return a pipeline that ends in a private release, and in which nothing else learns from the raw rows.

    Parameters
    ----------
    *steps : estimator or (name, estimator)
        In front: `DomainScaler`; `Normalizer` and `Binarizer` of scikit-learn, which map row by row; a
        `FunctionTransformer` of a NumPy ufunc of one argument, such as ``np.log1p``. At the end: `PrivateKMeans`,
        `DPLloyd`, `GridSynopsis`, `MarginalSynopsis`, `TreeSynopsis`. Anything may follow a mechanism of
        `discreet.metric`, which perturbs every row.

    Returns
    -------
    sklearn.pipeline.Pipeline
        It checks its steps again whenever it is fitted or used.

    Privacy
    -------
    Every step before the last maps each row by itself, by a rule that does not depend on the table. Tables that differ
    in one row still do afterwards, so the guarantee of the last step holds for the pipeline. Steps after a perturber
    are post-processing. No row makes a step fail or warn: where a step is not defined, its result is a missing value.

    Examples
    --------
    >>> import discreet as dc
    >>> from sklearn.preprocessing import StandardScaler
    >>> domain = dc.Domain({"age": (0, 120), "income": (0, 1e6)})
    >>> pipe = dc.private_pipeline(dc.DomainScaler(domain), dc.PrivateKMeans(2, epsilon=1.0, domain=(0, 1)))
    >>> rows = [[30, 2e4], [31, 2.1e4], [60, 9e4], [61, 9.2e4]] * 200
    >>> pipe.fit(rows)[-1].guarantee_.epsilon
    1.0
    >>> dc.private_pipeline(StandardScaler(), dc.PrivateKMeans(2, epsilon=1.0, domain=(-3, 3)))
    Traceback (most recent call last):
    ...
    discreet.errors.InvalidArgument: step 'standardscaler' must be fitted on nothing: what StandardScaler learns from \
the raw rows would reach the release without noise, and the guarantee would not count it, got StandardScaler(); try \
dc.DomainScaler(domain), which scales by declared bounds
    """
    if not steps:
        raise InvalidArgument("steps", (), "a private estimator, and what comes before it", "dc.PrivateKMeans(8)")
    named = [step if isinstance(step, tuple) else (type(step).__name__.lower(), step) for step in steps]
    _check_steps(named)
    seen: dict[str, int] = {}
    for i, (name, step) in enumerate(named):
        seen[name] = seen.get(name, 0) + 1
        named[i] = (name if seen[name] == 1 else f"{name}-{seen[name]}", step)
    return PrivatePipeline(named)


def _guarded(name: str) -> Any:
    """Make a method of a pipeline that checks its steps first, which may have been changed, and hides single rows."""

    def call(self: PrivatePipeline, X: Any, *args: Any, **params: Any) -> Any:
        _check_steps(self.steps)
        # Where a step is not defined, its result is missing: scikit-learn would fail, warn, or quote the value.
        with np.errstate(all="ignore"), config_context(assume_finite=True):
            return getattr(super(PrivatePipeline, self), name)(_numbers(self.steps, X), *args, **params)

    call.__name__, call.__doc__ = name, getattr(Pipeline, name).__doc__
    return available_if(lambda self: hasattr(super(PrivatePipeline, self), name))(call)


class PrivatePipeline(EstimatorHtml, Pipeline):  # type: ignore[misc]
    """A pipeline of scikit-learn in which nothing is fitted on raw rows, also after its steps were changed."""

    fit = _guarded("fit")
    fit_predict = _guarded("fit_predict")
    fit_transform = _guarded("fit_transform")
    predict = _guarded("predict")
    transform = _guarded("transform")


def _numbers(steps: list[tuple[str, Any]], X: Any) -> Any:
    """Return a table as numbers if a step of scikit-learn is the first to see it; what is not a number is missing."""
    first = next((step for _, step in steps if step is not None and not isinstance(step, str)), None)
    if type(first) not in _RULES:
        return X
    source = engines.open(table(X))
    declared = as_domain((0, 1), source.names)
    rows = _rows(bind(source, declared, declared), declared)
    return type(X)(rows, columns=source.names) if hasattr(X, "iloc") else rows


def _rows(source: engines.Source, domain: Domain) -> FloatArray:
    return np.concatenate([np.empty((0, len(domain))), *(np.column_stack(c) for c in source.batches(domain))])


def _check_steps(named: list[tuple[str, Any]]) -> None:
    """Refuse what learns from raw rows, and a promise that would not repeat what a schema in front of it says."""
    stated: tuple[str, ...] = ()
    for i, (name, step) in enumerate(named):
        last = i == len(named) - 1
        perturbs = isinstance(step, Perturber) and type(step).__module__.startswith("discreet.")
        if not (perturbs or (_releases(step) if last else _maps_rows(step))):
            _refuse(str(name), step, last)
        _refuse_moved_persons(named[:i], step)
        said = getattr(dialect_of(getattr(step, "domain", None)), "stated", ())
        if perturbs or last:
            if not set(stated) <= set(said):
                raise SchemaError(
                    f"the guarantee of step {name!r} would not say that {stated[0]}; try "
                    'dc.PrivateKMeans(domain=domain, scale="domain") without a scaler, or declare the same source= '
                    f"in the domain of step {name!r}"
                )
            return
        stated += said


def _maps_rows(step: Any) -> bool:
    """Return whether a step is a rule for single rows; by its very class, as a subclass may do anything."""
    if type(step) is FunctionTransformer:
        functions = [f for f in (step.func, step.inverse_func) if f is not None]
        plain = all(isinstance(f, np.ufunc) and f.nin == f.nout == 1 and f.signature is None for f in functions)
        return plain and not step.kw_args and not step.inv_kw_args and not _tries_inverse(step)
    return step is None or step == "passthrough" or type(step) in (DomainScaler, *_RULES[1:])


def _tries_inverse(step: FunctionTransformer) -> bool:
    """Return whether a step would warn if some row is not what it was after going there and back."""
    return bool(step.check_inverse and step.func is not None and step.inverse_func is not None)


def _releases(step: Any) -> bool:
    return type(step) in (PrivateKMeans, DPLloyd, GridSynopsis, MarginalSynopsis, TreeSynopsis)


def _refuse(name: str, step: Any, last: bool) -> None:
    kind = type(step).__name__
    instead = next((fix for words, fix in _INSTEAD.items() if any(word in kind for word in words)), "")
    if _maps_rows(step) or (last and not instead):
        expected = "a private release at the end: PrivateKMeans, DPLloyd or a Grid-, Tree- or MarginalSynopsis"
        raise InvalidArgument(f"step {name!r}", step, expected, "dc.PrivateKMeans(8, epsilon=1.0, domain=(0, 1))")
    if _releases(step):
        expected = "the last one: what comes after it would see exact facts about the rows"
        raise InvalidArgument(f"step {name!r}", step, expected, "a pipeline that ends with it")
    if type(step) is FunctionTransformer and _tries_inverse(step):
        expected = "one that does not try its inverse on the rows: whether it warns would depend on them"
        raise InvalidArgument(f"step {name!r}", step, expected, "check_inverse=False")
    if type(step) is FunctionTransformer:
        expected = "a NumPy ufunc of one argument: any other function may look at all rows, as X - X.mean() does"
        raise InvalidArgument(f"step {name!r}", step, expected, "FunctionTransformer(np.log1p)")
    expected = (
        f"fitted on nothing: what {kind} learns from the raw rows would reach the release without noise, and the "
        "guarantee would not count it"
    )
    raise InvalidArgument(
        f"step {name!r}", step, expected, instead or "fitting it on synopsis_.sample(n), which is free"
    )
