"""Releases about the same people: anyone who holds all of them singles out no group that breaks a rule."""

from __future__ import annotations

import collections
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain
from discreet.anonymity import DensityTree, Mondrian, Release
from discreet.anonymity.methods import partitioner
from discreet.anonymity.release import together
from discreet.errors import InvalidArgument
from past_releases import Past
from release_attacker import Held, hold, singled_out

JOBS = ["cook", "smith", "nurse", "clerk"]
ILLS = [f"d{i}" for i in range(8)]
DOMAIN = Domain(
    {
        "age": {"bounds": [0, 100], "role": "quasi-identifier"},
        "job": {"categories": JOBS, "role": "quasi-identifier"},
        "id": {"bounds": [0, 10**6], "role": "identifier"},
        "ill": {"categories": ILLS, "role": "sensitive"},
    }
)
Rows = dict[int, tuple[float, str, str]]


def table(rows: Rows) -> pa.Table:
    age, job, ill = zip(*rows.values(), strict=True)
    return pa.table({"age": age, "job": job, "id": list(rows), "ill": ill})


class Town:
    """Synthetic people who come, go, grow older, fall ill: often in crowds, sometimes alone."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.next = 0
        self.rows: Rows = {}
        self.come(int(self.rng.integers(25, 60)))
        for _ in range(int(self.rng.integers(0, 3))):  # old people are rare, and may be suppressed
            self.come(1, near=94.0)

    def someone(self, near: float | None = None) -> tuple[float, str, str]:
        age = self.rng.integers(0, 70) if near is None else int(np.clip(self.rng.normal(near, 4), 0, 99))
        ill = min(int(self.rng.geometric(0.35)) - 1, len(ILLS) - 1)
        return float(age), JOBS[int(self.rng.integers(len(JOBS)))], ILLS[ill]

    def come(self, n: int, near: float | None = None) -> None:
        for _ in range(n):
            self.rows[self.next] = self.someone(near)
            self.next += 1

    def month(self, last: Release) -> None:
        """Let something happen; crowds are whole cells of the last release, so that some of it can be released."""
        rng, ids = self.rng, np.array(list(self.rows))
        what = rng.integers(0, 8)
        cells = collections.defaultdict(list)
        for name, cell in zip(last.record.identifier.to_pylist(), last.record.cell.tolist(), strict=True):
            if int(name) in self.rows:
                cells[cell].append(int(name))
        crowd = cells[list(cells)[int(rng.integers(len(cells)))]] if cells else []
        if what in (0, 1, 2, 6):
            self.come(int(rng.integers(5, 25)), None if what else float(rng.choice([30.0, 94.0])))
        if what in (1, 3, 6) and len(self.rows) - len(crowd) > 15:
            for name in crowd[: len(crowd) if rng.random() < 0.8 else len(crowd) // 2]:
                del self.rows[name]
        if what == 4:
            for name in crowd:  # all of a cell move: they are in other cells from now on
                self.rows[name] = (float(rng.integers(0, 100)), *self.rows[name][1:])
        if what == 5:
            for name in crowd:
                self.rows[name] = (*self.rows[name][:2], ILLS[int(rng.integers(len(ILLS)))])
        if what == 7 and rng.random() < 0.5:
            del self.rows[int(rng.choice(ids))]


def settings(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return rules for the method, and the same for the attacker."""
    k = int(rng.integers(2, 5))
    method: dict[str, Any] = {"k": k, "suppress": float(rng.choice([0.0, 0.1]))}
    told: dict[str, Any] = {"k": k}
    if rng.random() < 0.6:
        entropy = bool(rng.random() < 0.3)
        method |= {"l_diversity": 1.5 if entropy else 2, "l_kind": "entropy" if entropy else "distinct"}
        told |= {"l": method["l_diversity"], "entropy": entropy}
    if rng.random() < 0.4:
        method["t_closeness"] = told["t"] = 0.55
    method["on_conflict"] = str(rng.choice(["merge", "suppress"]))
    return method, told


def chain(seed: int, length: int) -> tuple[list[Held], int, int]:
    """Release a town several times; return what the attacker holds, how many were refused, and the most cells."""
    rng = np.random.default_rng([seed, 1])
    town = Town(seed)
    method, told = settings(rng)
    kind: Any = DensityTree if rng.random() < 0.7 else Mondrian
    frozen = bool(rng.random() < 0.6)
    model = kind(domain=DOMAIN, **method)
    try:
        # Grown on more people than are released: so that rows are suppressed from the first release on.
        model.fit(table({**town.rows, **{10**5 + i: town.someone(near=94.0) for i in range(12)}}))
        releases = [model.transform(table(town.rows))]
    except InvalidArgument:
        return [], 0, 0
    held = [hold(releases[0], [(i,) for i in town.rows], ["age", "job"], "ill", **told)]
    refused, cells = 0, 0
    for _ in range(4 * length):
        if len(held) == length:
            break
        before = dict(town.rows)
        town.month(releases[-1])
        try:
            if frozen:
                made = model.transform(table(town.rows), history=Past(*releases))
            else:  # a partition of its own
                made = kind(domain=DOMAIN, **method).fit_transform(table(town.rows), history=Past(*releases))
        except InvalidArgument:
            refused += 1
            town.rows = before
            continue
        releases.append(made)
        held.append(hold(made, [(i,) for i in town.rows], ["age", "job"], "ill", **told))
        cells = max(cells, made.cells.n_cells)
    return held, refused, cells


def attacked(seeds: range, length: int) -> tuple[int, int, int]:
    """Attack chains; return how many were whole, how many releases refused, and how many had several cells."""
    whole = refused = fine = 0
    for seed in seeds:
        held, no, cells = chain(seed, length)
        refused += no
        if len(held) < 2:
            continue
        found = next(singled_out(held), None)
        assert found is None, (seed, found)
        whole += len(held) == length
        fine += cells > 1
    return whole, refused, fine


def test_no_pair_of_releases_singles_anybody_out() -> None:
    """Twenty-five pairs here; a thousand in the long run."""
    whole, refused, fine = attacked(range(25), 2)
    assert whole > 21
    assert refused > 2
    assert fine > 8


def test_no_chain_of_five_releases_singles_anybody_out() -> None:
    whole, refused, fine = attacked(range(2000, 2008), 5)
    assert whole >= 6
    assert refused > 2
    assert fine > 3


@pytest.mark.slow
def test_a_thousand_pairs_and_two_hundred_chains_single_no_one_out() -> None:
    assert attacked(range(10_000, 11_000), 2)[0] > 850
    assert attacked(range(20_000, 20_200), 5)[0] > 160


def only_the_last(records: Any, *others: Any) -> Any:
    return READ_PAST(records[-1:], *others)


def k_alone(self: Any, history: Any) -> Any:
    found, own = np.unique(history[self.record], return_inverse=True)
    return found[np.bincount(own.ravel()) < self.rules.k]


def unlike_the_stayed(past: Any, node: Any, history: Any, rules: Any, rows: Any) -> Any:
    found = BROKEN(past, node, history, rules, rows)
    stayed = history[past.record[past.shown[past.record]]]
    return np.setdiff1d(found, stayed)


def only_the_published(past: Any, node: Any, history: Any, *others: Any) -> Any:
    return np.intersect1d(BROKEN(past, node, history, *others), history[past.record[node >= 0]])


def this_table_only(past: Any, *others: Any) -> Any:
    return BROKEN(replace(past, earlier=()), *others)


READ_PAST, BROKEN = together.read_past, together._broken
#: What a careless hand might do, by the name of what it changes; each must be seen by the attacker.
FAULTS = {
    "records that stay are not checked": (together, "_broken", unlike_the_stayed),
    "tables that are out are not checked": (together, "_broken", this_table_only),
    "only k is checked": (together.PublishedRows, "broken", k_alone),
    "changed values are not seen": (together, "_first_alike", lambda seen: np.where(seen[-1] >= 0, 1, 0)),
    "records that left are not checked": (together, "_broken", only_the_published),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_attacker_sees_planted_faults(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, instead = FAULTS[fault]
    monkeypatch.setattr(where, name, instead)
    with pytest.raises(AssertionError):
        attacked(range(400), 2)


def test_the_attacker_sees_when_only_the_last_release_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioner, "read_past", only_the_last)
    with pytest.raises(AssertionError):
        attacked(range(300), 4)
