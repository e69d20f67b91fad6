"""Few rows are counted with NumPy, many by compiled loops: the counts are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.engines.passes import kernels, marginals

ODD = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e308, -1e308, 5e-324, 3.0, 7.0, np.nextafter(7.0, 0), np.nextafter(3.0, 9)]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests may have called the kernels already."""
    monkeypatch.setattr(kernels, "few", lambda *_: True)
    monkeypatch.setattr(marginals, "few", lambda *_: True)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("parts", [1, 2, 7, 2**53 + 1])
@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
def test_an_axis_is_appended_alike(kind: str, parts: int, own: bool) -> None:
    rng = np.random.default_rng(parts)
    x = np.concatenate([rng.uniform(2, 8, 200), ODD])
    with np.errstate(over="ignore"):
        x = x.astype(kind) if kind != "int64" else rng.integers(-2, 12, len(x))
    ids = rng.integers(-1, 3 if parts < 2**50 else 1, len(x))
    few, many = ids.copy(), ids.copy()
    kernels.add_axis(few, x, 3.0, 4.0, parts, own)
    kernels.append_axis(many, x, 3.0, 4.0, parts, own)
    assert np.array_equal(few, many)


def test_rows_are_counted_alike() -> None:
    rng = np.random.default_rng(2)
    ids, few, many = rng.integers(-1, 9, 500), np.ones(9, np.int64), np.ones(9, np.int64)
    kernels.add_counts(few, ids)
    kernels.add_dense(many, ids)
    assert np.array_equal(few, many)


@pytest.mark.parametrize("kind", [np.int64, np.int16])
def test_marginals_are_counted_alike(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    codes: Any = rng.integers(0, 4, (3, 300)).astype(kind)
    sizes = np.arange(4)
    wanted = [
        marginals.GroupedMarginal((j, *more), tuple(sizes for _ in (j, *more)))
        for j, more in ((0, ()), (2, (1,)), (0, (1, 2)), (1, ()))
    ]
    few, many = marginals.MarginalTally(wanted), marginals.MarginalTally(wanted)
    few.add(codes)
    monkeypatch.setattr(marginals, "few", lambda *_: False)
    many.add(codes)
    assert np.array_equal(few.counts, many.counts)
    assert few.counts.sum() == 4 * 300
