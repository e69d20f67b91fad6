"""An independent checker of released tables, in plain Python: nothing here uses the package's rules or distances."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

#: What floating-point sums may be off by.
SLACK = 1e-9


def classes_of(keys: Sequence[Hashable]) -> list[list[int]]:
    """Group the rows that look alike."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        found[key].append(row)
    return list(found.values())


def keeps_l(values: Sequence[Any], kind: str, l: float, c: float = 3.0) -> bool:  # noqa: E741
    counts = sorted(Counter(values).values(), reverse=True)
    n = sum(counts)
    if kind == "distinct":
        return len(counts) >= l
    if kind == "entropy":
        return -sum(x / n * math.log(x / n) for x in counts) >= math.log(l) - SLACK
    return counts[0] < c * sum(counts[int(l) - 1 :])


def shares(values: Sequence[Any], support: Sequence[Any]) -> list[float]:
    counts = Counter(values)
    return [counts[v] / len(values) for v in support]


def equal_distance(p: Sequence[float], q: Sequence[float]) -> float:
    return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def ordered_distance(p: Sequence[float], q: Sequence[float]) -> float:
    if len(p) < 2:
        return 0.0
    return sum(abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i in range(len(p))) / (len(p) - 1)


def tree_distance(p: Sequence[float], q: Sequence[float], support: Sequence[Any], tree: Any) -> float:
    """Move mass up a nested list of values; what meets in a node of height h costs h/H."""
    whole = _height(tree)
    cost = 0.0

    def extra(node: Any) -> float:
        nonlocal cost
        if not isinstance(node, list):
            i = support.index(node) if node in support else -1
            return p[i] - q[i] if i >= 0 else 0.0
        parts = [extra(child) for child in node]
        more, less = sum(x for x in parts if x > 0), -sum(x for x in parts if x < 0)
        cost += _height(node) / whole * min(more, less)
        return sum(parts)

    extra(tree)
    return cost


def _height(node: Any) -> int:
    return 1 + max(_height(child) for child in node) if isinstance(node, list) else 0


def distance(values: Sequence[Any], table: Sequence[Any], kind: str, tree: Any = None) -> float:
    """Distance of a class from the table; a missing value is a value, and the largest of numbers."""
    support = sorted(set(table), key=lambda v: (v is None, v if isinstance(v, (int, float)) else str(v)))
    p, q = shares(values, support), shares(table, support)
    if kind == "ordered":
        return ordered_distance(p, q)
    if kind == "equal":
        return equal_distance(p, q)
    with_missing = [*tree, None] if None in support else tree
    return tree_distance(p, q, support, with_missing)


def check_classes(
    keys: Sequence[Hashable],
    sensitive: dict[str, Sequence[Any]],
    *,
    k: int,
    l: float | None = None,  # noqa: E741
    l_kind: str = "distinct",
    c: float = 3.0,
    t: float | None = None,
    t_kinds: dict[str, str] | None = None,
    trees: dict[str, Any] | None = None,
    persons: Sequence[Hashable] | None = None,
) -> list[str]:
    """Return what is wrong with a table; nothing if all classes keep the rules. With persons, k counts them."""
    wrong = []
    for rows in classes_of(keys):
        size = len(rows) if persons is None else len({persons[row] for row in rows})
        if size < k:
            wrong.append(f"a class of {size} < {k}")
        for name, column in sensitive.items():
            values = [column[row] for row in rows]
            if l is not None and l > 1 and not keeps_l(values, l_kind, l, c):
                wrong.append(f"{name}: not {l_kind} diverse")
            if t is not None and t < 1:
                found = distance(values, column, (t_kinds or {})[name], (trees or {}).get(name))
                if found > t + SLACK:
                    wrong.append(f"{name}: distance {found} > {t}")
    return wrong


def is_union_of_siblings(members: set[Any], tree: Any) -> bool:
    """Tell whether a set of categories is a node of a nested list, or a union of children of one node."""
    if not isinstance(tree, list):
        return members == {tree}
    parts = [_leaves(child) for child in tree]
    if members == set().union(*[part for part in parts if part & members]):
        return True
    return any(is_union_of_siblings(members, child) for child in tree)


def _leaves(node: Any) -> set[Any]:
    return set().union(*map(_leaves, node)) if isinstance(node, list) else {node}
