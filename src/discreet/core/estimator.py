"""Estimators of scikit-learn that do not load scikit-learn.

Importing scikit-learn takes longer than most jobs on a small table, because it loads pandas and SciPy's statistics. A
job needs none of it. So estimators get their base classes of scikit-learn later: when one is made after the program
has imported scikit-learn, or when something of it is used (`clone`, a pipeline, ``repr``). From then on, they are
estimators like any other, for ``isinstance`` too.
"""

from __future__ import annotations

import inspect
import sys
import threading
from typing import Any

from discreet.core.output.html import EstimatorHtml

#: Classes without their base classes of scikit-learn, and the names of these.
_waiting: dict[type, tuple[str, ...]] = {}
_lock = threading.RLock()


class Estimator(EstimatorHtml):
    """Base of estimators; ``mixins`` of a class are names in `sklearn.base`."""

    def __init_subclass__(cls, mixins: tuple[str, ...] = (), **more: Any) -> None:
        super().__init_subclass__(**more)
        _waiting[cls] = mixins

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """Return an instance: of scikit-learn's classes too if these are loaded."""
        if "sklearn.base" in sys.modules:
            _join()
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name; with ``deep``, also the options of options that are estimators."""
        found: dict[str, Any] = {}
        for name in sorted(inspect.signature(self.__init__).parameters):  # type: ignore[misc]
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": each for inner, each in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Any:
        """Set options, also those of options that are estimators: ``option__inner=value``. Return the estimator."""
        if not set(params) <= set(inspect.signature(self.__init__).parameters):  # type: ignore[misc]
            _join()
            return super().set_params(**params)  # type: ignore[misc]
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __getattr__(self, name: str) -> Any:
        """Look again, in scikit-learn's classes, if the name may be one of theirs."""
        theirs = name.startswith(("get_", "set_", "fit_", "_repr_", "__sklearn_"))
        if (theirs or "sklearn.base" in sys.modules) and _join():
            return getattr(self, name)
        said = f"{type(self).__name__!r} object has no attribute {name!r}"
        fitted = any(known.endswith("_") for known in vars(self))
        if name.endswith("_") and not name.startswith("_") and not fitted:
            said += " before it is fitted; call fit(data) first"
        said += ": a search would choose by raw rows; use sklearn.metrics with predict(X)" * (name == "score")
        raise AttributeError(said, name=name, obj=self)

    def __dir__(self) -> Any:
        _join()
        return object.__dir__(self)  # scikit-learn's reads every property, and those of noise need a domain

    def __repr__(self) -> str:
        _join()
        return super().__repr__()

    def __sklearn_tags__(self) -> Any:
        # If classes have just been joined, the chain of `super` has changed and starts again.
        return self.__sklearn_tags__() if _join() else super().__sklearn_tags__()  # type: ignore[misc]


def _join() -> bool:
    """Give all estimators their base classes of scikit-learn. Return whether any class changed."""
    if not _waiting:
        return False
    from sklearn import base

    with _lock:
        if base.BaseEstimator not in Estimator.__bases__:
            Estimator.__bases__ = (EstimatorHtml, base.BaseEstimator)
        while _waiting:
            cls, names = next(iter(_waiting.items()))
            mixins = tuple(getattr(base, name) for name in names)
            at = next(i for i, each in enumerate(cls.__bases__) if issubclass(each, Estimator)) if mixins else 0
            cls.__bases__ = (*cls.__bases__[:at], *mixins, *cls.__bases__[at:])
            # Python would have called the hooks of these classes when it made this one.
            order = cls.__mro__
            first = next(i for i, each in enumerate(order) if each.__module__.startswith("sklearn."))
            super(order[first - 1], cls).__init_subclass__()  # type: ignore[arg-type]
            del _waiting[cls]
    return True


def check_fitted(estimator: Any, *results: str) -> None:
    """Raise scikit-learn's `NotFittedError` unless an estimator has been fitted."""
    fitted = any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))
    if not (all(hasattr(estimator, name) for name in results) if results else fitted):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, results or None)
