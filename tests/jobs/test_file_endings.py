"""A synopsis is not written under a name that says it is something else; nothing is read or spent before."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import InvalidArgument
from discreet.jobs import Job


@pytest.mark.parametrize("name", ["t.csv", "t", "t.json"])
def test_a_synopsis_is_refused_under_another_ending(tmp_path: Path, name: str) -> None:
    job = Job("synopsis", "absent.csv", {"age": (0, 110)}, {"epsilon": 1, "seed": 1}, {"release": name}, tmp_path)
    with pytest.raises(InvalidArgument, match=r"t\.parquet"):
        job.run()
    assert not (tmp_path / name).exists()
