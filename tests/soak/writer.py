"""A program that charges accounts until it is killed: ``writer.py ACCOUNTS LOG SEED PACE``.

It takes the first account that still pays, makes the next one if none does, as others do at the same time, and writes
what it was allowed to publish to a log of its own before it books it.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from discreet import Guarantee, Ledger
from discreet.accounts import Account
from discreet.errors import BudgetExceeded, DataSourceError

#: The limit of each account, in ε.
LIMIT = 600


def opened(folder: Path, number: int) -> Account:
    """Return an account; the first program that comes makes it."""
    place = folder / f"writers-{number}.account"
    if not place.exists():
        try:
            return Account.create(place, dataset=f"soak {number}", epsilon=LIMIT)
        except DataSourceError as error:
            if "already exists" not in str(error):
                raise
    return Account(place)


def charge(account: Account, draw: random.Random, log: Any) -> None:
    """Release once; raises `BudgetExceeded` at the limit."""
    price = draw.choice((0, 1, 2, 3))  # 0: an anonymous table, which is listed
    ledger = Ledger(epsilon=max(price, 1))
    if price:
        ledger.spend("all", price)
    promise = Guarantee.from_ledger(ledger, model="central" if price else "syntactic").seal(os.urandom(8))
    reserved = account.reserve("release", **({"epsilon": price} if price else {"promise": promise}))
    facts = {"account": account.path.name, "entry": reserved.number, "price": price, "digest": promise.digest}
    log(state="reserved", **facts)
    if draw.random() < 0.9:
        reserved.book(promise)
        log(state="booked", **facts)


def main() -> None:
    """Charge for ever."""
    folder, place = map(Path, sys.argv[1:3])
    draw, pace = random.Random(int(sys.argv[3])), float(sys.argv[4])
    number, account = 1, None
    with place.open("ab", buffering=0) as out:

        def log(**facts: Any) -> None:
            out.write(json.dumps({"at": time.monotonic(), **facts}).encode() + b"\n")

        while True:
            try:
                account = account or opened(folder, number)
                charge(account, draw, log)
            except BudgetExceeded:
                number, account = number + 1, None
                log(state="limit")
            except Exception as error:
                account = None
                log(state="error", text=f"{type(error).__name__}: {error}")
            time.sleep(draw.expovariate(1 / pace))


if __name__ == "__main__":
    main()
