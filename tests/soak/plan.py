"""The plan of a soak: what is done when, at which door, which process is killed, when the disk is full.

It follows from the seed and the number of minutes alone. How far a door gets with its part depends on the machine.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import astuple, dataclass

#: Services whose memory is followed. Each is spared for a third of the time, so that it has one long life.
SERVICES = ("collector", "shuffler", "studio")
#: Mean seconds between two actions at a door, and the actions with their weights.
DOORS: dict[str, tuple[float, dict[str, int]]] = {
    "devices": (0.6, {"direct": 5, "sealed": 5, "colour": 2, "replay": 1, "unanswered": 1}),
    "operator": (12.0, {"metrics": 2, "dashboard": 2, "estimate": 3, "task": 2, "backup": 1, "shell": 1}),
    "studio": (2.5, {"look": 14, "start": 4, "stop": 1, "again": 2, "download": 3, "open": 2, "forget": 1}),
    "files": (11.0, {"synopsis": 3, "synthesize": 2, "cluster": 1, "anonymize": 3, "perturb": 1, "mask": 1, "sketch": 1,
                     "again": 3}),
    "spark": (28.0, {"grid": 2, "tree": 2, "anonymous": 1}),
}  # fmt: skip
#: What is killed: a service (any of its processes), or whatever a door is working with just then.
VICTIMS = {"collector": 3, "shuffler": 3, "studio": 3, "run": 3, "writer": 4, "command": 4, "spark": 1}
#: Minutes between two full disks, and how many seconds one lasts.
FULL_EVERY, FULL_FOR = 4.0, (6.0, 14.0)


@dataclass(frozen=True)
class Step:
    """One action; ``draw`` seeds the choices that it makes."""

    at: float
    door: str
    act: str
    draw: int


def plan(seed: int, minutes: float) -> list[Step]:
    """Return all steps in the order of their times."""
    end, steps = 60 * minutes, []
    for door, (mean, acts) in DOORS.items():
        draw = random.Random(f"{seed} {door}")
        at = draw.expovariate(1 / mean)
        while at < end:
            act = draw.choices(list(acts), list(acts.values()))[0]
            steps.append(Step(round(at, 3), door, act, draw.getrandbits(32)))
            at += draw.expovariate(1 / mean)
    return sorted([*steps, *_kills(seed, minutes), *_full_disks(seed, minutes)], key=astuple)


def _kills(seed: int, minutes: float) -> list[Step]:
    """One kill in every minute but the first, at a random second of it."""
    draw, found = random.Random(f"{seed} kills"), []
    for minute in range(1, int(minutes)):
        at = 60 * minute + draw.uniform(0, 59)
        spared = SERVICES[min(int(3 * at / (60 * minutes)), 2)]
        victims = {name: weight for name, weight in VICTIMS.items() if name != spared}
        chosen = draw.choices(list(victims), list(victims.values()))[0]
        found.append(Step(round(at, 3), "kill", chosen, draw.getrandbits(32)))
    return found


def _full_disks(seed: int, minutes: float) -> list[Step]:
    """One in every few minutes; it ends before the soak does."""
    draw, found = random.Random(f"{seed} disks"), []
    for turn in range(int(minutes / FULL_EVERY)):
        at = 60 * (FULL_EVERY * turn + draw.uniform(0.25, 0.9) * FULL_EVERY)
        found.append(Step(round(at, 3), "disk", "full", draw.getrandbits(32)))
    return found


def digest(steps: list[Step]) -> str:
    """Return a digest of a plan: equal plans have equal ones."""
    return hashlib.sha256(json.dumps([astuple(step) for step in steps]).encode()).hexdigest()[:16]
