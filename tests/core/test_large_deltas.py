"""A delta above 1e-5, or above one in a public number of rows, is done and warned of, wherever it is accepted."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.core import checks
from discreet.errors import DiscreetWarning

ROWS = np.full((2000, 2), 0.5)
BOX = dc.Domain.box([0, 0], [1, 1])
QUASI = dc.Domain({n: {"bounds": [0, 1], "role": "quasi-identifier"} for n in ("x0", "x1")})
TABLE = {"x0": [0.5] * 60, "x1": [0.5] * 60}


def sampled(delta: float, path: Path) -> object:
    import pyarrow as pa

    return dc.anonymity.SampledGeneralization(8, 0.1, delta, domain=QUASI, levels={"x0": 1, "x1": 1}, grid=2).fit(
        pa.table(TABLE)
    )


DOORS: dict[str, Callable[[float, Path], Any]] = {
    "grid": lambda delta, _: dc.GridSynopsis(1.0, BOX, 4, delta=delta).fit(ROWS),
    "tree": lambda delta, _: dc.TreeSynopsis(1.0, BOX, delta=delta).fit(ROWS),
    "marginals": lambda delta, _: dc.MarginalSynopsis(1.0, BOX, delta=delta).fit(ROWS),
    "kmeans": lambda delta, _: dc.PrivateKMeans(2, epsilon=1.0, domain=BOX, delta=delta).fit(ROWS),
    "rho": lambda delta, _: dc.GridSynopsis(None, BOX, 4, rho=0.1, delta=delta).fit(ROWS),
    "sampled": sampled,
    "account": lambda delta, path: dc.Account.create(path / "a", dataset="d", epsilon=1, delta=delta),
    "categories": lambda delta, _: dc.private_categories(["a"] * 9, list(range(9)), epsilon=1, delta=delta),
    "plan": lambda delta, _: dc.planning.outlook(1000, 2, delta=delta),
}


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("door", DOORS)
def test_every_door_warns_of_a_large_delta_alone(door: str, tmp_path: Path) -> None:
    with pytest.warns(DiscreetWarning, match=r"^delta = 0.0001 is above 1e-05: .*; try delta=1e-6$"):
        DOORS[door](1e-4, tmp_path)
    (tmp_path / "again").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DOORS[door](1e-6, tmp_path / "again")


def test_a_public_number_of_rows_lowers_the_limit() -> None:
    with pytest.warns(DiscreetWarning, match=r"above one in 2,000,000 rows: .*; try delta=5e-08$"):
        dc.GridSynopsis(1.0, BOX, 4, delta=1e-6, n_rows=2_000_000).fit(ROWS)
    dc.GridSynopsis(1.0, BOX, 4, delta=5e-8, n_rows=2_000_000).fit(ROWS)
    with pytest.warns(DiscreetWarning, match=r"above one in 2,000,000 rows"):
        dc.planning.outlook(2_000_000, 2, delta=1e-6)


def test_what_is_said_twice_is_not_warned_of(tmp_path: Path) -> None:
    dc.Account.create(tmp_path / "a", dataset="d", epsilon=1, delta=0.01, yes_really=True)
    assert checks.slack(1e-5) == checks.probability("delta", 1e-5)


def test_the_command_line_says_it_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n" + "35\n" * 100)
    (tmp_path / "s.toml").write_text("[columns.age]\nbounds = [0, 120]\n")
    words = ["--schema", "s.toml", "--epsilon", "1", "--delta", "1e-4", "--rule", "4", "-o", "s.parquet", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "synopsis", "t.csv", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert re.fullmatch(r"Warning: delta = 0.0001 is above 1e-05: .*; try --delta 1e-6\.\n", done.stderr)
