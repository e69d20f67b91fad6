"""The audit of a file says whether it is empty, and which values that were passed on are not as declared."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import discreet as dc
from discreet.jobs.work.audit import examine


def test_kept_numbers_that_are_not_as_declared_are_told(tmp_path: Path) -> None:
    domain = dc.Domain({"age": {"bounds": (0, 100), "role": "quasi-identifier"}, "cost": (0, 50)})
    table = pa.table({"age": list(range(20)), "cost": ["7", "7,5", "900"] + ["8"] * 17})
    dc.anonymity.DensityTree(k=5, domain=domain, keep=["cost"]).fit_transform(table).save(tmp_path / "o.csv")
    found = examine(tmp_path / "o.csv")
    said = " ".join(c.detail for c in found.checks)
    assert found.passed
    assert "1 of its values are outside" in said
    assert "1 cannot be read" in said
    assert "unique_with_kept" in said


def test_perturbed_numbers_may_leave_the_box_and_gaps_are_explained(tmp_path: Path) -> None:
    model = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=dc.Domain({"x": (0, 1), "y": (0, 1)}), random_state=2)
    model.transform_file(pa.table({"x": [0.1, 0.9], "y": [0.2, None]}), tmp_path / "o.csv")
    said = " ".join(c.detail for c in examine(tmp_path / "o.csv").checks)
    assert "may leave their bounds by design" in said
    assert "middle of its bounds" in str(model.guarantee_)


def test_a_release_of_nothing_is_called_so(tmp_path: Path) -> None:
    model = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=dc.Domain({"x": (0, 1), "y": (0, 1)}), random_state=2)
    model.transform_file(
        pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}), tmp_path / "o.csv"
    )
    assert any("no rows" in c.detail for c in examine(tmp_path / "o.csv").checks)
