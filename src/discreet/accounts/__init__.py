"""Budgets that outlive programs, and what releases amount to together.

>>> import tempfile
>>> from pathlib import Path
>>> import discreet as dc
>>> with tempfile.TemporaryDirectory() as folder:
...     account = dc.Account.create(Path(folder) / "patients.account", dataset="patients 2026", epsilon=3)
...     _ = account.spend("how many", 0.5)
...     float(dc.Account(account.path).remaining)
2.5
"""

from discreet.accounts.account import Account, Reservation
from discreet.accounts.book import Entry
from discreet.accounts.charging import check_ledger, reserve
from discreet.accounts.composition import compose
from discreet.accounts.laws import Price

__all__ = ["Account", "Entry", "Price", "Reservation", "check_ledger", "compose", "reserve"]


def __dir__() -> list[str]:
    return __all__
