"""Work on several batches at once; results come in the order of the batches, whichever thread is faster."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

#: Kernels run without the interpreter's lock, but memory does not get faster beyond a few of them.
WORKERS = min(4, os.cpu_count() or 1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Do linear algebra on one thread: with small matrices, more of them only wait for each other."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-not-found, import-untyped, unused-ignore]

    with threadpool_limits(1, "blas"):
        yield


def map_threads(work: Callable[[S], T], items: Iterable[S], workers: int = WORKERS) -> list[T]:
    """Return ``work(item)`` of all items, in order, on that many threads."""
    listed = list(items)
    if min(workers, len(listed)) < 2:
        return [work(item) for item in listed]
    with ThreadPoolExecutor(max_workers=min(workers, len(listed))) as pool:
        return list(pool.map(work, listed))


def in_threads(work: Callable[[int, S], T], items: Iterable[S]) -> list[T]:
    """Return ``work(worker, item)`` of all items, in order. Each worker takes every so-many-th item."""
    listed = list(items)
    workers = max(1, min(WORKERS, len(listed) // 4))
    parts = map_threads(lambda w: [work(w, item) for item in listed[w::workers]], range(workers))
    return [parts[i % workers][i // workers] for i in range(len(listed))]


def in_order(work: Callable[[S], T], batches: Iterable[S]) -> Iterator[T]:
    """Yield ``work(batch)`` of all batches, a few of them being worked on ahead of time."""
    if WORKERS < 2:
        yield from map(work, batches)
        return
    rest = iter(batches)
    first = list(islice(rest, 2))
    if len(first) < 2:  # a single batch has nothing to be worked on beside it
        yield from map(work, first)
        return
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        ahead: deque[Future[T]] = deque()
        for batch in chain(first, rest):
            ahead.append(pool.submit(work, batch))
            if len(ahead) > WORKERS:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
