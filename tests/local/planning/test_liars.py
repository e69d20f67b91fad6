"""The bound on what made-up reports can do holds for every report there is, and is reached by one."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.local.support import liars_move
from discreet.local.wire.parameters import mechanisms

VALUES = ["cat", "dog", "emu", "yak"]
MECHANISMS: list[Any] = [
    dc.local.DirectResponse(1, VALUES),
    dc.local.UnaryEncoding(2, VALUES),
    dc.local.SubsetSelection(1, VALUES),
    dc.local.LocalHashing(1, candidates=VALUES, key=7),
    dc.local.HadamardResponse(2, VALUES),
    dc.local.ProjectiveGeometry(1, VALUES),
    dc.local.CountMeanSketch(2, 3, 4, key=7),
    dc.local.HadamardSketch(2, 4, 8, key=7),
    dc.local.HadamardSketch(1, 4, 8, key=7, skip_zero=True),
    dc.local.LocalHashing(1, pool=5, key=7),
    dc.local.BitFlip(1, [*VALUES, *range(22)]),
    dc.local.BitFlip(2, VALUES, bits=3),
    dc.local.BitFlip(0.5, VALUES, bits=4),
    dc.local.BitFlip(3, [*VALUES, "bee"], bits=2, memoised=True),
]
UNBOUNDED: list[Any] = [
    dc.local.MeanResponse(1, 0, 1),
    dc.local.MeanVector(1, [0, 0], [1, 1]),
    dc.local.SquareWave(1, 0, 1),
    dc.local.Rappor(0.5, 0.5, 0.75, key=7),
    dc.local.PrefixExtension(2, length=4, pool=64, key=7),
    dc.local.FragmentPuzzle(1, 3, length=4, key=7),
    dc.local.OwnOracle(1, 2, ((5, 2, 1), (2, 5, 1)), ((0,), (1,), ())),
]


@pytest.mark.parametrize("m", MECHANISMS, ids=lambda m: m.NAME)
def test_no_report_moves_a_count_further_than_the_bound_and_one_moves_it_that_far(m: Any) -> None:
    device = {"users": range(20), "memo": dc.local.Memo.draw(rng=1)} if m.stores else {}
    honest = m.aggregate(m.encode(VALUES * 5, **device, rng=1))
    asked = None if isinstance(getattr(m, "domain", getattr(m, "candidates", None)), tuple) else VALUES
    before = m.estimate(honest, asked).count
    rows = np.array(list(product(range(256), repeat=m.layout.size)) if m.layout.size < 3 else [], np.uint8)
    if not len(rows):
        rows = m.encode(VALUES * 500, rng=2).rows  # too many to list: the likely ones
    rows = rows[m.possible(rows)]
    rows = rows if len(rows) <= 3000 else rows[np.random.default_rng(3).choice(len(rows), 3000, replace=False)]
    moved = np.array([m.estimate(honest + m.aggregate(row[None]), asked).count - before for row in rows])
    low, high = liars_move(m)
    assert moved.min() >= low - 1e-9
    assert moved.max() <= high + 1e-9
    assert moved.max() == pytest.approx(high)
    assert moved.min() == pytest.approx(low)
    three = honest + m.aggregate(np.repeat(rows[[int(moved.max(axis=1).argmax())]], 3, axis=0))
    assert (m.estimate(three, asked).count - before).max() == pytest.approx(liars_move(m, 3)[1])


@pytest.mark.parametrize("m", UNBOUNDED, ids=lambda m: m.NAME)
def test_others_state_no_bound(m: Any) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match="a frequency oracle or a sketch"):
        liars_move(m)


def test_every_mechanism_is_here() -> None:
    own = {name for name, kind in mechanisms().items() if kind.__module__.startswith("discreet.")}
    assert {m.NAME for m in MECHANISMS + UNBOUNDED} == own
