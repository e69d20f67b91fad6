"""A synopsis is not written under a name that says it is something else; nothing is read or spent before."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import InvalidArgument
from discreet.jobs.synopsis import synopsis


@pytest.mark.parametrize("name", ["t.csv", "t", "t.json"])
def test_a_synopsis_is_refused_under_another_ending(tmp_path: Path, name: str) -> None:
    (tmp_path / "s.toml").write_text("[columns.age]\nbounds = [0, 110]\n")
    with pytest.raises(InvalidArgument, match=r"t\.parquet"):
        synopsis(str(tmp_path / "absent.csv"), tmp_path / "s.toml", 1.0, tmp_path / name, "grid", {}, 1)
    assert not (tmp_path / name).exists()
