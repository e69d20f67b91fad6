"""Sampling by itself: a random share of the rows, as they are."""

from typing import Any

import numpy as np

from discreet import noise
from discreet.anonymity.masking.masker import Masker
from discreet.anonymity.release.table import Table
from discreet.core import FloatArray, option

_SAMPLED = (
    "nobody relies on it for privacy: the rows are a random sample, released as they are, and neither k nor l nor t "
    "holds",
)


class Sampling(Masker):
    """Release a random share of the rows, unchanged.

    Privacy
    -------
    No formal guarantee: sampled rows are released as they are. An attacker who finds a person's values in the table
    cannot be sure that no other person outside the sample has them, which protects little where rows are unique.
    `MaskedRelease.disclosure` and the guarantee state how many sampled rows are unique in the whole table: each of
    those people is found by anyone who knows their quasi-identifiers. For a promise, use `SampledGeneralization`.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"age": [31, 33, 33, 60, 64, 66, 69, 70]})
    >>> release = Sampling(0.5, domain=dc.Domain({"age": (0, 120)})).fit_transform(people, random_state=1)
    >>> len(release), release.disclosure["unique"]["share"] > 0
    (4, True)
    """

    share: float = option(default=0.1, above=0, high=1, help="Share of the rows to release.")

    def _change(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        n = max(1, round(float(self.share) * table.n))
        rows = np.sort(noise.permutation(table.n, rng=stream)[:n])
        _, group, sizes = np.unique(before, axis=1, return_inverse=True, return_counts=True)
        unique = int((sizes[group.ravel()[rows]] == 1).sum())
        told = {"unique": {"rows": unique, "share": unique / n}}
        return before[:, rows], {"share": float(self.share), "rows": rows, "notes": _SAMPLED, "disclosure": told}
