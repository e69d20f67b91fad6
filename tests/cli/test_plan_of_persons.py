"""`plan` weighs bias against noise over the rows of a person that are used, before data are touched."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from discreet.cli.app import main
from discreet.errors import InvalidArgument
from discreet.planning import outlook


def test_what_is_foretold_is_what_happens() -> None:
    """Persons with a geometric number of rows: lost rows and noise as `outlook` says, within a few per cent."""
    import discreet as dc

    rng = np.random.default_rng(0)
    people, values = 4000, 4
    each = rng.geometric(1 / 6, people)
    who, x = np.repeat(np.arange(people), each), rng.integers(0, values, each.sum()) + 0.5
    rows = np.column_stack([who.astype(float), x])
    domain = dc.Domain({"who": {"role": "person"}, "x": (0, values)}, unit=dc.Person("who", rows=4))
    made = dc.GridSynopsis(1.0, domain, rule=values, n_rows=len(rows), leaf_means=False).fit(rows).synopsis_
    bound = next(b for b in outlook(len(rows), 1, values=values, persons=people).bounds if b.rows == 4)
    assert math.sqrt(made.variances[0]) / len(rows) == pytest.approx(bound.noise, rel=1e-9)
    assert 1 - np.minimum(each, 4).sum() / each.sum() == pytest.approx(bound.lost, rel=0.05)


def test_bias_falls_and_noise_grows_with_the_bound() -> None:
    bounds = outlook(100_000, 2, persons=5000).bounds
    for one, two in pairwise(bounds):
        assert one.bias > two.bias
        assert one.noise < two.noise
        assert two.error == math.hypot(two.bias, two.noise)
    assert not outlook(100_000, 2).bounds
    with pytest.raises(InvalidArgument):
        outlook(100, 2, persons=101)


def test_the_command_line_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*args: str) -> str:
        with pytest.raises(SystemExit) as done:
            main(["plan", "-n", "100000", "-d", "2", "--persons", "5000", *args])
        assert not done.value.code
        return capsys.readouterr().out

    shown = run("--html", str(tmp_path / "plan.html"))
    assert "(best)" in shown
    assert "1,024" not in shown  # larger bounds lose no fewer rows
    for said in (shown, (tmp_path / "plan.html").read_text(encoding="utf-8")):
        assert re.search("heavier tails lose more|very many rows, more are lost", said)
    assert "Contribution bound for 5,000 persons" in (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert len(json.loads(run("--json"))["bounds"]) == 20
