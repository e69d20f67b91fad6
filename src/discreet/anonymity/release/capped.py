"""A bound on the rows per person of an anonymous table, as releases with ε have it (`discreet.engines.persons`)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import noise
from discreet.anonymity.release.record import ReleaseRecord, as_text, identities, where
from discreet.anonymity.release.table import Table
from discreet.core import AnyArray, BoolArray, IntArray
from discreet.engines.tables import same_key


def capped(table: Table, most: int, key: str, records: Sequence[ReleaseRecord] | None = None) -> Table:
    """Keep at most ``most`` rows of each person, at random; those that ``records`` released come first.

    Each row gets a number: a keyed hash of its person, of what can be published of it, and of its number among the
    person's equal rows. The smallest are kept. So the choice is uniform, and depends on the person's own rows and the
    key alone: not on their order, the file or the engine. A history keeps the key (`ReleaseRecord.choice`) and the rows
    that were released, so that these are chosen again next month.
    """
    name = str(table.plan.person)
    whose = noise.fingerprint(same_key(table.identifiers[name], table.plan.domain.column(name)).cast(pa.string()), 0)
    texts = [where(table), *(as_text(table.others[n]).fill_null("") for n in table.plan.passed)]
    own = noise.fingerprint(pc.binary_join_element_wise(*texts, pa.scalar("\n", pa.large_string())), 0)
    words = np.column_stack([whose, own, _rank((own, whose)).astype(np.uint64)])
    number = noise.keyed_order(words, np.frombuffer(bytes.fromhex(key), np.uint64))
    new = np.ones(table.n, bool) if records is None else ~_released(table, records)
    rows = np.flatnonzero(_rank((whose,), number, new) < most)
    found = table.take(rows)
    return replace(found, sensitive=tuple(c.compact() for c in found.sensitive), over=table.n - len(rows), choice=key)


def _released(table: Table, records: Sequence[ReleaseRecord]) -> BoolArray:
    """Return which rows were released before: same person, place and sensitive values."""
    names, end = table.plan.sensitive, pa.scalar("\n", pa.large_string())
    alike = [record for record in records if set(record.sensitive) == set(names)]
    parts = [(identities(table), where(table), *(as_text(table.others[name]) for name in names))]
    parts += [(record.identifier, record.where, *map(record.values, names)) for record in alike]
    own, *known = (pc.binary_join_element_wise(*each, end, null_handling="replace") for each in parts)
    released = [texts.filter(pa.array(record.cell >= 0)) for texts, record in zip(known, alike, strict=True)]
    return np.asarray(pc.is_in(own, pa.concat_arrays([own[:0], *released])))


def _rank(groups: tuple[AnyArray, ...], *by: AnyArray) -> IntArray:
    """Return the place of each row in its group, by some numbers, the last first; else in the order of the rows."""
    order = np.lexsort((*by, *groups))
    new = np.any([np.diff(group[order], prepend=~group[order[:1]]) != 0 for group in groups], axis=0)
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - start
    return rank
