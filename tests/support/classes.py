"""Whether single classes of rows keep the rules, asked of the check of a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.distances import is_ok
from discreet.anonymity.risk.rules import Rules, stacked


def keeps(rules: Rules, rows: Any, sensitive: Sequence[CodedColumn]) -> bool:
    """Return whether the class of these rows keeps the rules; all rows of ``sensitive`` are the table."""
    chosen = np.asarray(rows, np.int64)
    limits = rules.limits(sensitive)
    codes = stacked(sensitive, int(chosen.max(initial=-1)) + 1)
    counts = np.bincount(codes[:, chosen].ravel(), minlength=len(limits.share))
    return bool(is_ok(counts[None], np.array([len(chosen)]), limits)[0])
