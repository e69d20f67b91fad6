"""Programs that charge one account at the same time, and somebody who kills them.

Run as a script: ``account_writers.py ACCOUNT WRITERS KILLS SEED SECONDS``. Every writer reserves, notes what it has
published in a file of its own, and books; the parent kills one at a random moment and starts another in its
place. Prints what was published, as JSON, and how fast.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from discreet import Guarantee, Ledger
from discreet.accounts import Account
from discreet.errors import BudgetExceeded


def write(path: Path, log: Path, seed: int) -> None:
    """Release until the budget is gone."""
    draw, account = random.Random(seed), Account(path)
    with log.open("ab", buffering=0) as published:
        while True:
            price = draw.choice((0, 1, 2, 3))  # 0: an anonymous table, which is listed
            ledger = Ledger(epsilon=max(price, 1))
            if price:
                ledger.spend("all", price)
            promise = Guarantee.from_ledger(ledger, model="central" if price else "syntactic").seal(os.urandom(8))
            try:
                reserved = account.reserve("release", **({"epsilon": price} if price else {"promise": promise}))
            except BudgetExceeded:
                return
            published.write(f"{reserved.number} {price} {promise.digest}\n".encode())
            if draw.random() < 0.9:
                reserved.book(promise)


def start(path: Path, folder: Path, number: int, seed: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            write(path, folder / f"{number}.log", seed + number)
        finally:
            os._exit(0)
    return child


def main() -> None:
    path, (writers, kills, seed) = Path(sys.argv[1]), map(int, sys.argv[2:5])
    most, draw = float(sys.argv[5]), random.Random(int(sys.argv[4]))
    folder = path.parent
    began = time.perf_counter()
    living = [start(path, folder, i, seed) for i in range(writers)]
    for number in range(writers, writers + kills):
        time.sleep(draw.random() * 0.02)
        chosen = draw.randrange(len(living))
        os.kill(living[chosen], signal.SIGKILL)
        os.waitpid(living[chosen], 0)
        living[chosen] = start(path, folder, number, seed)
    time.sleep(max(0.0, most - (time.perf_counter() - began)))
    for child in living:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    took = time.perf_counter() - began
    lines = [line.split() for log in folder.glob("*.log") for line in log.read_text().splitlines()]
    sys.stdout.write(json.dumps({"seconds": took, "published": lines}))


if __name__ == "__main__":
    main()
