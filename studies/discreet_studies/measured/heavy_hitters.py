"""Recall and precision of a search for heavy hitters, against the true counts."""

from collections.abc import Iterable, Mapping
from typing import Any

from discreet.core import checks
from discreet.errors import InvalidType
from discreet.local import HeavyHitters


def recall(found: HeavyHitters, truth: Any, k: int = 20) -> float:
    """Return the share of the k truly most frequent values that were found.

    ``truth`` is a mapping of value to count, or a list with the most frequent value first. Values are normalised as
    the reports are.

    Examples
    --------
    >>> from discreet.local import PrefixExtension
    >>> m = PrefixExtension(epsilon=4, length=4, key=7)
    >>> found = m.discover(m.aggregate(m.encode(["cool"] * 5000 + ["link"] * 3000, rng=1)))
    >>> recall(found, {"cool": 5000, "link": 3000, "odd": 1}, k=2), precision(found, {"cool": 5000})
    (1.0, 0.5)
    """
    head = _head(found, truth, k)
    return len(head & set(found.strings)) / max(len(head), 1)


def precision(found: HeavyHitters, truth: Any, k: int | None = None) -> float:
    """Return the share of the values found that someone holds; 1 if nothing was found.

    With ``k``, the share of the k largest found that are among the k truly most frequent.
    """
    if k is None:
        values, real = found.strings, {v for v, count in _counted(found, truth).items() if count > 0}
    else:
        values, real = found.strings[: checks.whole("k", k, low=1)], _head(found, truth, k)
    return sum(v in real for v in values) / len(values) if values else 1.0


def _head(found: HeavyHitters, truth: Any, k: int) -> set[Any]:
    counts = _counted(found, truth)
    return set(sorted(counts, key=lambda v: -counts[v])[: checks.whole("k", k, low=1)])


def _counted(found: HeavyHitters, truth: Any) -> dict[Any, float]:
    """Add up the truth by normalised value."""
    if isinstance(truth, (str, bytes)) or not isinstance(truth, Iterable):
        raise InvalidType("truth", type(truth).__name__, "a mapping of value to count, or a list", "{'cat': 10}")
    values = list(truth)
    listed = not isinstance(truth, Mapping)
    counts = truth.values() if isinstance(truth, Mapping) else range(len(values), 0, -1)
    out: dict[Any, float] = {}
    for value, count in zip(found.finder.normalise(values), counts, strict=True):
        if value not in out or not listed:
            out[value] = out.get(value, 0.0) + float(count)
    return out
