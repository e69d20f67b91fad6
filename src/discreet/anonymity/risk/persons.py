"""Count persons instead of rows, and measure diversity and closeness of persons.

A class of k rows of one person hides no one. If a column identifies the person, k counts persons. A row without a
person may belong to someone who is in the class already, so it counts as no person; releases leave such rows out.
`discreet.engines.tables.same` decides which spellings are one person.

If the unit is a person, l and t count people too. In a class each person has weight one: a row weighs one over the
number of rows of its person in the class. Entropy, recursive diversity and distances use these weights; the reference
of t weighs each person once in the whole table. Distinct diversity is the largest number of values that can be matched
to different persons who have them.
"""

from typing import Any

import numpy as np

from discreet.anonymity.risk.distances import AT_ONCE, DISTINCT, SLACK, Limits, closeness, diverse, diversity
from discreet.core import BoolArray, FloatArray, IntArray, jit


def persons_by_class(classes: IntArray, persons: IntArray | None, n_classes: int) -> IntArray:
    """Return how many persons each class has; without ``persons`` every row is one."""
    if persons is None:
        return np.bincount(classes, minlength=n_classes)
    order = np.lexsort((persons, classes))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(classes[order]) != 0) | (np.diff(persons[order]) != 0)
    return np.bincount(classes[order[first]], minlength=n_classes)


def largest_share(classes: IntArray, persons: IntArray, rows: IntArray) -> float:
    """Return the largest share of one person in the rows of a class: a random guess finds them with that chance."""
    if not len(classes):
        return 0.0
    order = np.lexsort((persons, classes))
    own, whose = classes[order], persons[order]
    first = np.flatnonzero(np.concatenate([[True], (np.diff(own) != 0) | (np.diff(whose) != 0)]))
    held = np.add.reduceat(rows[order], first)
    sizes = np.bincount(classes, rows)
    return float((held / sizes[own[first]]).max())


def persons_by_node(parent: IntArray, levels: IntArray, leaf: IntArray, persons: IntArray) -> IntArray:
    """Return the number of persons of each node, given the parent and depth of each node, and the leaf of each row.

    The rows of a person are taken in the order of their leaves. Each row counts in all nodes above its leaf, and is
    subtracted at the lowest common ancestor with the row before it.
    """
    order = np.lexsort((leaf, persons))
    return _distinct_below(parent, levels, leaf[order], persons[order])


@jit
def _distinct_below(parent: Any, level: Any, leaf: Any, person: Any) -> IntArray:
    found = np.zeros(parent.size, np.int64)
    for i in range(leaf.size):
        found[leaf[i]] += 1
        if i > 0 and person[i] == person[i - 1]:
            a, b = leaf[i], leaf[i - 1]
            while a != b:
                if level[a] >= level[b]:
                    a = parent[a]
                else:
                    b = parent[b]
            found[a] -= 1
    for node in range(parent.size - 1, 0, -1):  # children have larger numbers
        found[parent[node]] += found[node]
    return found


@jit
def weigh(
    starts: Any, held: Any, order: Any, codes: Any, persons: Any, rows: Any, times: Any, counts: Any, people: Any
) -> None:
    """Write how much each value weighs in each class, and how many persons it has. ``times`` is spare, and left 0."""
    for c in range(held.size):
        begin, end = starts[c], starts[c] + held[c]
        for i in range(begin, end):
            e = order[i]
            people[c] += times[persons[e]] == 0
            times[persons[e]] += rows[e]
        for i in range(begin, end):
            e = order[i]
            for q in range(codes.shape[0]):
                counts[c, codes[q, e]] += rows[e] / times[persons[e]]
        for i in range(begin, end):
            times[persons[order[i]]] = 0


@jit
def matched_values(chosen: Any, persons: Any, codes: Any, low: int, high: int, owner: Any, seen: Any, came: Any) -> int:
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
def match(
    starts: Any, held: Any, order: Any, persons: Any, codes: Any, low: int, high: int, owner: Any, seen: Any,
    came: Any, out: Any,
) -> None:  # fmt: skip
    for c in range(held.size):
        chosen = order[starts[c] : starts[c] + held[c]]
        out[c] = matched_values(chosen, persons, codes, low, high, owner, seen, came)


def measure_people(
    starts: IntArray, held: IntArray, order: IntArray, codes: IntArray, persons: IntArray, rows: IntArray,
    limits: Limits, out: FloatArray,
) -> None:  # fmt: skip
    """Write diversity and distance of every class, by sensitive column, into ``out[0]`` and ``out[1]``.

    Class e holds the entries ``order[starts[e] : starts[e] + held[e]]``; empty ones are left as they are.
    """
    there, codes = np.flatnonzero(held), np.ascontiguousarray(codes)  # one layout: kernels compile once
    most = int(persons.max(initial=-1)) + 1
    times, came = np.zeros(most, np.int64), np.empty(most, np.int64)
    owner, seen = np.full(most, -1), np.full(most, -1)
    room = max(1, AT_ONCE // len(limits.share))
    for at in np.split(there, range(room, len(there), room)):
        counts, people = np.zeros((len(at), len(limits.share))), np.zeros(len(at), np.int64)
        weigh(starts[at], held[at], order, codes, persons, rows, times, counts, people)
        for q in range(len(codes)):
            own, (low, high) = counts[:, limits.own(q)], limits.offset[q : q + 2].tolist()
            if limits.l_kind == DISTINCT:
                found = np.empty(len(at))
                match(starts[at], held[at], order, persons, codes[q], low, high, owner, seen, came, found)
                out[0, at, q] = found
            else:
                out[0, at, q] = diversity(own, people, limits.l_kind, limits.l)
            out[1, at, q] = closeness(own, people, limits, q)


def people_ok(out: FloatArray, held: IntArray, limits: Limits, fine: BoolArray) -> None:
    """Take back what is fine where a class breaks l or t, by what `measure_people` wrote."""
    asked = (held > 0) & fine
    if limits.l_on:
        fine[asked] &= diverse(out[0, asked], limits).all(axis=1)
    if limits.t_on:
        fine[asked] &= (out[1, asked] <= limits.t + SLACK).all(axis=1)
