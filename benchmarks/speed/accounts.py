"""How many releases per second can reserve in one account, beside bare appends that wait for the same disk.

Every writer is a process of its own; each reservation is on the disk before it counts. Bare: the same processes append
lines of the same length and wait (`fsync`), without a lock, a chain or a check.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._bench import save, show
from discreet.accounts import Account

SECONDS, WRITERS = 2.0, (1, 2, 4, 8, 16)


def reserve(path: Path) -> Callable[[], object]:
    account = Account(path)
    return lambda: account.reserve("release", epsilon=1)


def bare(path: Path) -> Callable[[], object]:
    handle = os.open(path.with_name("bare"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def act() -> None:
        os.write(handle, b"x" * 400)
        os.fsync(handle)

    return act


def work(make: Callable[[Path], Callable[[], object]], path: Path, ready: Any, done: Any) -> None:
    act, times = make(path), 0
    ready.wait()
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        act()
        times += 1
    done.put(times)


def rate(make: Callable[[Path], Callable[[], object]], writers: int) -> float:
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "a.account"
        Account.create(path, dataset="benchmark", epsilon=10**9)
        ready, done = context.Barrier(writers), context.Queue()
        team = [context.Process(target=work, args=(make, path, ready, done)) for _ in range(writers)]
        for each in team:
            each.start()
        total = sum(done.get() for _ in team)
        for each in team:
            each.join()
        if make is reserve:
            assert len(Account(path).entries) == total
        return total / SECONDS


def main() -> None:
    facts = [{"writers": n, "reservations_per_second": rate(reserve, n), "bare_per_second": rate(bare, n)}
        for n in WRITERS]  # fmt: skip
    rows = [[str(f["writers"]), f["reservations_per_second"], f["bare_per_second"]] for f in facts]
    show("reservations per second", ["writers", "account", "bare appends"], rows)
    save("accounts", {"seconds": SECONDS, "results": facts}, "discreet")


if __name__ == "__main__":
    main()
