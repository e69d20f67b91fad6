"""One thread for scikit-learn's classifiers on few rows: with more, boosting mostly waits for its threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit OpenMP and BLAS to one thread, as a context or as a decorator."""
    with _pools().limit(limits=1):
        yield


@cache
def _pools() -> Any:
    import sklearn.ensemble  # noqa: F401  (its thread pool must be there to be found)
    from threadpoolctl import ThreadpoolController  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return ThreadpoolController()
