"""Contribution bounding for mechanisms that take plain columns (the engines bound tables).

The values that are kept of a person follow from their own values and from a key that the release's stream draws. So
another person adds at most ``rows`` values and changes nothing else, and a mechanism that is ε/rows-differentially
private for one value is ε-differentially private for one person.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import Exact, FloatArray, checks
from discreet.errors import InvalidArgument
from discreet.noise.choice.texts import texts_of
from discreet.noise.hashing.families import fingerprint
from discreet.noise.public import PublicRandomness


def per_value(epsilon: Exact, persons: Any, rows: Any) -> tuple[Exact, int | None]:
    """Return the budget per value and the contribution bound, for a budget per person (or per row without persons)."""
    if (persons is None) != (rows is None):
        given, other = ("rows", "persons") if persons is None else ("persons", "rows")
        raise InvalidArgument(other, None, f"given together with {given}", "persons=users, rows=8")
    if rows is None:
        return epsilon, None
    most = checks.whole("rows", rows, low=1, high=2**20)
    return epsilon if isinstance(epsilon, float) else epsilon / most, most


def at_most(values: FloatArray, persons: Any, rows: int | None, random: PublicRandomness) -> FloatArray:
    """Keep at most ``rows`` values of each person, by a keyed hash of person, value and number among equal values.

    Persons are distinguished by their text; values without a person are left out.
    """
    if rows is None:
        return values
    whose = texts_of("persons", persons)
    if len(whose) != len(values):
        raise InvalidArgument("persons", "another number of them", "one person per value", "persons of the same rows")
    kept = np.asarray(whose.is_valid()) & ~np.isnan(values)
    names = whose.filter(pa.array(kept)).dictionary_encode()
    person, own = np.asarray(names.indices, np.int64), values[kept] + 0.0
    key = int.from_bytes(np.asarray(random.below(2**62, size=2), np.uint64).tobytes(), "little")
    order = np.lexsort((own, person))
    person, own = person[order], own[order]
    new = np.append(True, (person[1:] != person[:-1]) | (own[1:] != own[:-1]))[: len(own)]
    number = np.arange(len(own)) - np.maximum.accumulate(np.where(new, np.arange(len(own)), 0))
    hashes = fingerprint(names.dictionary, key)[person]
    for word in (own.view(np.uint64), number.astype(np.uint64)):
        hashes = fingerprint(hashes ^ fingerprint(word, key ^ 1), key)
    ranked = np.lexsort((hashes, person))
    first = np.searchsorted(person, person)  # persons are in order, before and after
    chosen: FloatArray = own[ranked[np.arange(len(own)) - first < rows]]
    return chosen
