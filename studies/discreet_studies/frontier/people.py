"""The people of the frontier study: who is in a table, who is attacked, what is public.

Two populations, each with two quasi-identifiers, divided by their declared ranges, and one sensitive column with two
values: invented patients (age, yearly cost, a chronic illness), and Adult (age, education, a salary above 50,000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.spatial import cKDTree

from discreet import datasets, noise
from discreet.core import BoolArray, Domain, FloatArray, IntArray
from discreet.datasets import is_here

#: Rows of a table without its targets, of the public records and of the test records.
ROWS = 5000
#: Targets of each sort: the most isolated of as many candidates as a table has rows, and random ones.
TARGETS = 16
#: A person's isolation is the distance to this neighbour.
_NEIGHBOUR = 5
#: Public records near a person from which his sensitive value is guessed without any release.
_NEAR = 50
#: Share of the chronically ill by kind of patient, in the order of `discreet.datasets.patients`.
_ILL = (0.2, 0.7, 0.3, 0.2, 0.3, 0.3, 0.6, 0.3, 0.6, 0.4, 0.6, 0.8, 0.7, 0.8, 0.6)
#: Clusters that a reader looks for.
CLUSTERS = {"patients": 15, "adult": 8}
_SCHOOLING = (
    *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college"),
    *("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
)


@dataclass(frozen=True)
class People:
    """Rows: quasi-identifiers in the unit square, and the sensitive value, 0 or 1."""

    q: FloatArray
    v: IntArray

    def __len__(self) -> int:
        return len(self.v)

    def __getitem__(self, places: IntArray | BoolArray | slice) -> People:
        return People(self.q[places], self.v[places])

    def __add__(self, other: People) -> People:
        return People(np.concatenate([self.q, other.q]), np.concatenate([self.v, other.v]))

    @property
    def places(self) -> FloatArray:
        """The rows as points of a box whose third axis has a step a sensitive value, as a synopsis has it."""
        return np.column_stack([self.q, self.v + 0.5])


@dataclass(frozen=True)
class World:
    """One run: targets (first the isolated ones), public and test records, and fresh tables of the others."""

    targets: People
    public: People
    test: People
    others: Callable[[int], People]
    clusters: int

    @property
    def isolated(self) -> BoolArray:
        """Which of the targets are the isolated ones."""
        return np.arange(len(self.targets)) < TARGETS

    def log_odds(self) -> FloatArray:
        """Return what the public records near each target say of the sensitive value: the guess without a release."""
        near = cKDTree(self.public.q).query(self.targets.q, _NEAR)[1]
        share = (self.public.v[near].sum(axis=1) + 1) / (_NEAR + 2)
        return np.asarray(np.log(share / (1 - share)))


def domain() -> Domain:
    """Return the declared columns."""
    quasi = {"bounds": [0, 1], "role": "quasi-identifier"}
    return Domain({"x": quasi, "y": dict(quasi), "s": {"categories": ["0", "1"], "role": "sensitive"}})


def world(table: str, seed: int) -> World:
    """Draw the people of one run.

    Examples
    --------
    >>> here = world("patients", 0)
    >>> len(here.targets), len(here.public), len(here.others(1))
    (32, 5000, 5000)
    """
    if table == "patients":
        return _of([_patients(1000 * seed + i) for i in range(3)], lambda r: _patients(1000 * seed + 10 + r), table)
    everybody = _adult()
    turn = _order(len(everybody), 1000 * seed)
    parts = [everybody[turn[i * ROWS : (i + 1) * ROWS]] for i in range(3)]
    rest = turn[3 * ROWS :]
    return _of(parts, lambda r: everybody[rest[_order(len(rest), 1000 * seed + 10 + r)[:ROWS]]], table)


def _of(parts: list[People], others: Callable[[int], People], table: str) -> World:
    """Choose the targets among the first part; the second is public, the third for tests."""
    candidates, public, test = parts
    apart = cKDTree(candidates.q).query(candidates.q, _NEIGHBOUR + 1)[0][:, -1]
    order = np.argsort(-apart, kind="stable")
    # The candidates come in random order, so the first of the others are random ones.
    typical = np.sort(order[TARGETS:])[:TARGETS]
    chosen = candidates[np.concatenate([order[:TARGETS], typical])]
    return World(chosen, public, test, others, CLUSTERS[table])


def _order(n: int, seed: int) -> IntArray:
    return np.argsort(noise.below(2**62, size=n, rng=seed), kind="stable")


def _patients(seed: int) -> People:
    drawn = datasets.patients(ROWS, random_state=seed)
    assert drawn.labels is not None
    chance = np.array(_ILL)[drawn.labels]
    ill = noise.below(2**53, size=ROWS, rng=seed) < chance * 2**53
    return People(drawn.X / drawn.domain.high, ill.astype(np.int64))


@cache
def _adult() -> People:
    table = datasets.adult().table
    years = np.array([_SCHOOLING.index(e) for e in table["education"].to_pylist()])
    q = np.column_stack([table["age"].to_numpy() / 120, years / (len(_SCHOOLING) - 1)])
    return People(q, np.array([s == ">50K" for s in table["salary-class"].to_pylist()]).astype(np.int64))


def adult_is_here() -> bool:
    """Return whether the file of Adult can be read."""
    return is_here("arx-adult/adult.csv.gz")
