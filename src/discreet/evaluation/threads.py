"""Classifiers of scikit-learn on few rows: more threads than one only wait for each other.

Boosting joins its threads thousands of times. Where other programs run, or where fewer processors are granted than are
seen, every one of these joints waits for a thread that is not running: seconds become minutes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep OpenMP and BLAS to one thread; around a piece of work, or as a decorator.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_thread():
    ...     {pool["num_threads"] for pool in threadpool_info()}
    {1}
    """
    with _pools().limit(limits=1):
        yield


@cache
def _pools() -> Any:
    import sklearn.ensemble  # noqa: F401  (its thread pool must be there to be found)
    from threadpoolctl import ThreadpoolController  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return ThreadpoolController()
