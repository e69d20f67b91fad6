"""Texts get the same numbers whether they are few, which needs no compiled code, or become many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.anonymity.risk import counted


@pytest.mark.parametrize("most", [0, 3, 40, 10**6])
def test_texts_are_numbered_as_they_come(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "FEW_STEPS", most)
    rng = np.random.default_rng(1)
    known, expected = counted.Values(), dict[str | None, int]()
    for batch in range(4):
        rows = [None if x % 11 == 0 else f"é{x}" * (x % 3) for x in rng.integers(0, 12 * (batch + 1), 50).tolist()]
        seen = known.codes(pa.array([*rows, "never"], pa.string()), add=False).tolist()
        assert seen == [-1 if row is None else expected.get(row, -2) for row in [*rows, "never"]]
        codes = known.codes(pa.array(rows, pa.string())).tolist()
        assert codes == [-1 if row is None else expected.setdefault(row, len(expected)) for row in rows]
    assert known.array().to_pylist() == list(expected)
    assert len(known) == len(expected)
