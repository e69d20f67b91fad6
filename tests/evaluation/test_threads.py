"""Boosters on a few thousand rows join their threads thousands of times: on a busy machine that takes minutes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from discreet.evaluation import compare_tables


def test_however_many_threads_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    fit = HistGradientBoostingClassifier.fit

    def watched(self, X, y):
        threads.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp")
        return fit(self, X, y)

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", watched)
    rng = np.random.default_rng(0)
    rows = pa.table({"age": rng.integers(20, 30, 60), "ill": rng.choice(["no", "yes"], 60)})
    with threadpool_limits(3):
        compare_tables(rows, rows, target="ill", release=lambda some, seed: some, shadows=4, random_state=1)
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"} == {3}
    assert threads == {1}
