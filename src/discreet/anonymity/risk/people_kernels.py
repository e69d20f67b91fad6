"""Diversity and closeness of persons: if the unit is a person, l and t count people, not rows.

In a class each person has weight one: a row weighs one over the number of rows of its person in the class. Entropy,
recursive diversity and distances use these weights; the reference of t weighs each person once in the whole table.
Distinct diversity is the largest number of values that can be matched to different persons who have them.
"""

from typing import Any

import numpy as np

from discreet.anonymity.risk.distances import DISTINCT, ENTROPY, SLACK, closeness, entropy, recursive_ratio
from discreet.core import jit


@jit
def weigh(chosen: Any, persons: Any, rows: Any, codes: Any, times: Any, counts: Any) -> int:  # pragma: no cover
    """Write how much each value weighs among the chosen rows; return how many persons there are. ``times`` is spare."""
    people = 0
    counts[:] = 0.0
    for e in chosen:
        people += times[persons[e]] == 0
        times[persons[e]] += rows[e]
    for e in chosen:
        for q in range(codes.shape[0]):
            counts[codes[q, e]] += rows[e] / times[persons[e]]
    for e in chosen:
        times[persons[e]] = 0
    return people


@jit
def matched_values(
    chosen: Any, persons: Any, codes: Any, low: int, high: int, owner: Any, seen: Any, came: Any
) -> int:  # pragma: no cover
    """Return how many values from ``low`` to ``high`` - 1 can be given to different persons who have them.

    A largest matching, value by value along shortest augmenting paths. ``owner``, ``seen`` (both -1 everywhere, and
    left so) and ``came`` are spare, one entry per person.
    """
    n = high - low
    start = np.zeros(n + 1, np.int64)
    for e in chosen:
        start[codes[e] - low + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    place, who = start[:-1].copy(), np.empty(chosen.size, np.int64)
    for e in chosen:
        who[place[codes[e] - low]] = persons[e]
        place[codes[e] - low] += 1
    given, queue = np.full(n, -1), np.empty(n, np.int64)
    found = 0
    for v in range(n):
        queue[0], head, tail, end = v, 0, 1, np.int64(-1)
        while head < tail and end < 0:
            u = queue[head]
            head += 1
            for i in range(start[u], start[u + 1]):
                p = who[i]
                if seen[p] == v:
                    continue
                seen[p], came[p] = v, u
                if owner[p] < 0:
                    end = p
                    break
                queue[tail] = owner[p]
                tail += 1
        if end < 0:
            continue
        found += 1
        while True:
            u = came[end]
            following = given[u]
            owner[end], given[u] = u, end
            if u == v:
                break
            end = following
    for e in chosen:
        owner[persons[e]], seen[persons[e]] = -1, -1
    return found


@jit
def measure_people(
    starts: Any, held: Any, order: Any, codes: Any, persons: Any, rows: Any, limits: Any, out: Any
) -> None:  # pragma: no cover
    """Write diversity and distance of every class, by sensitive column, into ``out[0]`` and ``out[1]``.

    Class e holds the entries ``order[starts[e] : starts[e] + held[e]]``; empty ones are left as they are.
    """
    most = 0
    for p in persons:
        most = max(most, p + 1)
    times, counts = np.zeros(most, np.int64), np.zeros(limits.share.size)
    owner, seen, came = np.full(most, -1), np.full(most, -1), np.empty(most, np.int64)
    for e in range(held.size):
        if held[e] == 0:
            continue
        chosen = order[starts[e] : starts[e] + held[e]]
        people = weigh(chosen, persons, rows, codes, times, counts)
        for q in range(codes.shape[0]):
            low, high = limits.offset[q], limits.offset[q + 1]
            if limits.l_kind == DISTINCT:
                out[0, e, q] = matched_values(chosen, persons, codes[q], low, high, owner, seen, came)
            elif limits.l_kind == ENTROPY:
                out[0, e, q] = np.exp(entropy(counts[low:high], people))
            else:
                out[0, e, q] = recursive_ratio(counts[low:high], int(limits.l))
            out[1, e, q] = closeness(counts[low:high], people, limits, q)


@jit
def people_ok(out: Any, held: Any, limits: Any, fine: Any) -> None:  # pragma: no cover
    """Take back what is fine where a class breaks l or t, by what `measure_people` wrote."""
    for e in range(held.size):
        for q in range(out.shape[2]):
            if held[e] == 0 or not fine[e]:
                continue
            if limits.l_on:
                if limits.l_kind == DISTINCT:
                    fine[e] = out[0, e, q] >= limits.l
                elif limits.l_kind == ENTROPY:
                    fine[e] = np.log(out[0, e, q]) >= np.log(limits.l) - SLACK
                else:
                    fine[e] = out[0, e, q] < limits.c
            if limits.t_on and out[1, e, q] > limits.t + SLACK:
                fine[e] = False
