"""Trees of one month after the other, with a release history: they begin with earlier cuts, and single no one out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain
from discreet.anonymity import DensityTree, Release
from discreet.errors import InvalidArgument
from past_releases import Past
from release_attacker import Held, hold, singled_out

VALUES = [f"d{i}" for i in range(6)]
COLUMNS: dict[str, Any] = {
    "id": {"bounds": [0, 10**6], "role": "identifier"},
    "age": {"bounds": [0, 100], "role": "quasi-identifier"},
    "pay": {"bounds": [0, 1], "role": "quasi-identifier", "missing": "own"},
    "job": {"categories": ["a", "b", "c", "d"], "role": "quasi-identifier"},
    "ill": {"categories": VALUES, "role": "sensitive"},
}
ROWS = Domain(COLUMNS)


def people(n: int, seed: int, start: int = 0, repeat: int = 1) -> pa.Table:
    """Rows whose illness hangs on their age, so that l and t have work to do; the shares drift with the seed."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    ill = (age // 25 + rng.integers(0, 2 + seed % 3, n)) % 6
    pay = np.where(rng.random(n) < 0.1, np.nan, rng.random(n))
    return pa.table(
        {
            "id": start + rng.permutation(n) // repeat,
            "age": age,
            "pay": pa.array(pay, from_pandas=True),
            "job": [("a", "b", "c", "d")[i] for i in rng.integers(0, 4, n)],
            "ill": [VALUES[i] for i in ill],
        }
    )


AGES = Domain({name: COLUMNS[name] for name in ("id", "age", "ill")})


def months(seed: int, rules: dict[str, Any], *, checked: bool) -> tuple[list[Held], list[Release]]:
    """Four months: people come; with odd seeds a whole cell leaves in the third. A tree is grown each month."""
    rng = np.random.default_rng(seed)
    here: dict[int, tuple[int, str]] = {}
    releases: list[Release] = []
    held: list[Held] = []
    for month in range(4):
        came = {
            month * 1000 + i: (int(a), VALUES[int(v)])
            for i, (a, v) in enumerate(zip(rng.integers(0, 100, 70), rng.integers(0, 6, 70), strict=True))
        }
        if month == 2 and seed % 2:
            first, last = releases[0].cells.first[1, 0], releases[0].cells.last[1, 0]
            here = {who: rest for who, rest in here.items() if not first <= rest[0] <= last}
        here |= came
        rows = [{"id": who, "age": age, "ill": ill} for who, (age, ill) in here.items()]
        tree = DensityTree(domain=AGES, suppress=0.2, **rules)
        release = tree.fit_transform(pa.Table.from_pylist(rows), history=Past(*releases) if checked else None)
        releases.append(release)
        held.append(hold(release, [(who,) for who in here], ["age"], "ill", **_promised(rules)))
    return held, releases


def _promised(rules: dict[str, Any]) -> dict[str, Any]:
    return {"k": rules["k"], "l": rules.get("l_diversity"), "t": rules.get("t_closeness")}


@pytest.mark.parametrize("rules", [{"k": 4}, {"k": 4, "l_diversity": 2}, {"k": 4, "t_closeness": 0.6}])
def test_trees_that_are_grown_every_month_single_no_one_out(rules: dict[str, Any]) -> None:
    finished = 0
    for seed in range(4):
        try:
            held, releases = months(seed, rules, checked=True)
        except InvalidArgument:  # who was published cannot be taken back
            continue
        finished += 1
        assert next(singled_out(held), None) is None
        assert releases[-1].guarantee.parameters["earlier_releases"] == 3
    assert finished >= 1


def test_unchecked_releases_would_single_people_out() -> None:
    held, _ = months(0, {"k": 4}, checked=False)
    assert next(singled_out(held), None) is not None


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_tree_that_is_grown_anew_releases_finer_than_a_frozen_one(elsewhere: bool) -> None:
    january, february = people(1000, 7), people(1000, 10, start=1000)
    if elsewhere:  # in January nearly everybody is below 50; the others come in February
        old = np.flatnonzero(january["age"].to_numpy() > 50)[10:]
        january = january.take(pa.array(np.setdiff1d(np.arange(1000), old)))
    both = pa.concat_tables([january, february])
    tree = DensityTree(k=5, domain=ROWS, criterion="spread").fit(january)
    first = tree.transform(january)
    frozen = tree.transform(both, history=Past(first)).cells.n_cells
    model = DensityTree(k=5, domain=ROWS, criterion="spread")
    anew = model.fit_transform(both, history=Past(first)).cells.n_cells
    assert anew > frozen if elsewhere else anew >= frozen  # it begins with the cuts of the first release
