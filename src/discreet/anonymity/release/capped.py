"""A bound on the rows per person of an anonymous table, as releases with ε have it (`discreet.engines.persons`)."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import noise
from discreet.anonymity.release.record import as_text, where
from discreet.anonymity.release.table import Table
from discreet.core import AnyArray, IntArray
from discreet.engines.tables import same_key


def capped(table: Table, most: int, key: str) -> Table:
    """Keep at most ``most`` rows of each person, at random.

    Each row gets a number: a keyed hash of its person, of what can be published of it, and of its number among the
    person's equal rows. The smallest are kept. So the choice is uniform, and depends on the person's own rows and the
    key alone: not on their order, the file or the engine. A history keeps the key (`ReleaseRecord.choice`), so that the
    same rows are chosen next month. Rows without a person count as one person.
    """
    name = str(table.plan.person)
    whose = noise.fingerprint(same_key(table.identifiers[name], table.plan.domain.column(name)).cast(pa.string()), 0)
    texts = [where(table), *(as_text(table.others[n]).fill_null("") for n in table.plan.passed)]
    own = noise.fingerprint(pc.binary_join_element_wise(*texts, pa.scalar("\n", pa.large_string())), 0)
    words = np.column_stack([whose, own, _rank((own, whose)).astype(np.uint64)])
    number = noise.keyed_order(words, np.frombuffer(bytes.fromhex(key), np.uint64))
    rows = np.flatnonzero(_rank((whose,), number) < most)
    found = table.take(rows)
    coded = tuple(column.compact() for column in found.sensitive)
    return replace(found, sensitive=coded, over=table.n - len(rows), choice=key)


def _rank(groups: tuple[AnyArray, ...], number: AnyArray | None = None) -> IntArray:
    """Return the place of each row in its group, by its number; without numbers, in the order of the rows."""
    order = np.lexsort(groups if number is None else (number, *groups))
    new = np.any([np.diff(group[order], prepend=~group[order[:1]]) != 0 for group in groups], axis=0)
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - start
    return rank
