"""The common attacks of the frontier study: the same people, the same coins, the same two attackers for every model.

Every target is in the table or not by the toss of a coin, again for every release. The attackers see the release and
the target's record (membership), or its quasi-identifiers (attribute). One knows *all the other* rows of the table, as
differential privacy supposes; one has *public* records of the same kind of people. Both decide by the sign of a log
likelihood ratio: nothing is fitted, so no people are spent on fixing a threshold.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, IntArray
from discreet_studies.frontier.forms import Known, ReleasedForm
from discreet_studies.frontier.people import People, World
from discreet_studies.frontier.releases import release

#: What the two attackers know beside the release.
ATTACKERS = ("others", "public")
#: Who is attacked.
SORTS = ("isolated", "typical")


class AttackTally:
    """Adds up what the attacks on one release after the other reach."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.odds = world.log_odds()
        self.present: list[BoolArray] = []
        self.called: dict[str, list[BoolArray]] = {a: [] for a in ATTACKERS}
        self.guessed: dict[str, list[BoolArray]] = {a: [] for a in ATTACKERS}
        self.linked: list[FloatArray] = []
        self.own: list[FloatArray] = []

    def add(self, made: ReleasedForm, others: People, present: BoolArray) -> None:
        """Attack one release."""
        targets, public = self.world.targets, self.world.public
        known = {
            "others": Known(others, True, targets=targets, present=present),
            "public": Known(public, False, len(others) / len(public)),
        }
        self.present.append(present)
        every = np.arange(len(targets))
        for attacker, knows in known.items():
            scores = made.scores(targets, knows)
            self.called[attacker].append(scores[every, targets.v] > 0)
            # Present or not, at even odds: (1 + ratio)/2. Where nothing speaks for presence, the public records decide.
            weight = np.logaddexp(0.0, scores)
            guess = self.odds + weight[:, 1] - weight[:, 0] > 0
            self.guessed[attacker].append(guess == (targets.v == 1))
        # Those who are present stand behind the others, in their own order.
        places = len(others) + np.arange(int(present.sum()))
        for found, values in (
            (self.linked, made.linked(targets[present], places)),
            (self.own, self._own(made, present, places)),
        ):
            row = np.full(len(targets), np.nan)
            row[present] = values
            found.append(row)

    def _own(self, made: ReleasedForm, present: BoolArray, places: IntArray) -> FloatArray:
        """Return whether a person's own row and the public records give the sensitive value."""
        people = self.world.targets[present]
        odds = made.own(places, people)
        right = (self.odds[present] + odds > 0) == (people.v == 1)
        return np.where(np.isnan(odds), np.nan, right.astype(np.float64))

    def numbers(self) -> dict[str, float]:
        """Return all figures of a run.

        ``advantage_*``: called present if present, less called present if absent. ``gain_*``: sensitive value guessed
        right if present, less if absent. ``linked_*``, ``own_*``: of those present. ``blind``: guessed right from
        public records alone.
        """
        present = np.array(self.present)
        found: dict[str, float] = {}
        alone = (self.odds > 0) == (self.world.targets.v == 1)
        for sort, chosen in zip(SORTS, (self.world.isolated, ~self.world.isolated), strict=True):
            here = present[:, chosen]
            for attacker in ATTACKERS:
                for name, rows in (("advantage", self.called), ("gain", self.guessed)):
                    hit = np.array(rows[attacker])[:, chosen].astype(np.float64)
                    if name == "gain":
                        # Person by person, or those who are easier to guess and present more often would count.
                        hit -= alone[chosen]
                    found[f"{name}_{attacker}_{sort}"] = float(hit[here].mean() - hit[~here].mean())
            for name, values in (("linked", self.linked), ("own", self.own)):
                got = np.array(values)[:, chosen][here]
                if not np.isnan(got).any():
                    found[f"{name}_{sort}"] = float(got.mean())
            found[f"blind_{sort}"] = float(alone[chosen].mean())
        return found


def releases(
    world: World, method: str, value: float, times: int, seed: int
) -> Iterator[tuple[ReleasedForm, People, People]]:
    """Yield releases of fresh tables with the coins' targets in them, and the table's other rows.

    Yields
    ------
    (release, others, table)
        The table is the others and then the targets who are present.
    """
    for r in range(times):
        others = world.others(r)
        table = others + world.targets[coins(world, seed, r)]
        yield release(method, value, table, 100_000 * seed + r), others, table


def coins(world: World, seed: int, r: int) -> BoolArray:
    """Return who is in the table of a release; the same for all methods."""
    return np.asarray(noise.below(2, size=len(world.targets), rng=100_000 * seed + 50_000 + r) == 1)
