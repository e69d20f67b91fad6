"""Progress messages name stages and shares, and no number of rows."""

from pathlib import Path

import numpy as np

import discreet as dc
from discreet import engines
from discreet.core.output.progress import followed
from discreet.engines.passes.cells import RowMap


def test_a_count_tells_its_share_and_nothing_else(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(1).random((5000, 2)), delimiter=",", header="x,y", comments="")
    domain = dc.Domain({"x": (0, 1), "y": (0, 1)})
    told: list[tuple[str, float | None]] = []
    with followed(lambda stage, share: told.append((stage, share))):
        engines.open(str(tmp_path / "t.csv"), domain).count(RowMap(domain), batch_size=500)
    before = len(told)
    engines.open(str(tmp_path / "t.csv"), domain).count(RowMap(domain))
    assert len(told) == before, "nobody is told after the end"
    assert {stage for stage, _ in told} == {"counting"}
    shares = [share for _, share in told if share is not None]
    assert shares[0] == 0
    assert shares[-1] == 1
    assert len(shares) == len(told)
    assert all(0 <= share <= 1 for share in shares)
