"""k, l and t of an anonymous table counted again, from the table and its promise alone.

Nothing here uses the rules, distances or cells of `discreet.anonymity`: what is to be checked must not check itself.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.core.guarantee import Guarantee, person_column

#: What printed figures may be off by.
_SLACK = 1e-6
_ENDINGS = ("", "_lower", "_upper", "_set", "_may_be_missing")


@dataclass(frozen=True)
class Recount:
    """What a table was found to satisfy.

    Attributes
    ----------
    found : dict
        ``rows``, ``k``, and by column ``l`` and ``t``.
    failures : tuple of str
        What does not hold of the promise.
    notes : tuple of str
        What could not be counted again, and why.

    Examples
    --------
    >>> promise = Guarantee("syntactic", parameters={"required": {"k": 3}, "reached": {"k": 2}})
    >>> recount(pa.table({"age": ["[0, 9]", "[0, 9]"]}), promise, quasi=["age"]).failures
    ('k is 2, required 3',)
    """

    found: dict[str, Any]
    failures: tuple[str, ...]
    notes: tuple[str, ...]


def recount(
    table: pa.Table, guarantee: Guarantee, *, quasi: Sequence[str] | None = None, sensitive: Sequence[str] | None = None
) -> Recount:
    """Count k, l and t again and compare them with what is required and what is stated as reached.

    Parameters
    ----------
    table : pyarrow.Table
        The table that was handed out.
    guarantee : Guarantee
        Its promise.
    quasi, sensitive : list of str, optional
        Columns; by default the quasi-identifiers that the promise names, and what it states an l for.

    Examples
    --------
    >>> import discreet as dc
    >>> people = dc.datasets.people(200)
    >>> release = dc.anonymity.Mondrian(k=5, domain=people.domain).fit_transform(people.table)
    >>> found = recount(release.table, release.guarantee)
    >>> found.found["k"] >= 5, found.failures
    (True, ())
    """
    facts = guarantee.parameters
    required, reached = dict(facts.get("required", {})), dict(facts.get("reached", {}))
    roles = {} if guarantee.domain is None else {c.name: c.role for c in guarantee.domain}
    secret = list(reached.get("l", {})) if sensitive is None else list(sensitive)
    if quasi is None:  # as stated; else by role; else, the safe reading, all columns without one
        declared = [n for n, role in roles.items() if role == "quasi-identifier"]
        quasi = facts.get("quasi_identifiers") or declared or [n for n, role in roles.items() if role == "attribute"]
    shown = [n + end for n in quasi for end in _ENDINGS if n + end in table.column_names and n not in secret]
    found: dict[str, Any] = {"rows": table.num_rows}
    if facts.get("output") == "sample":
        return Recount(found, (), ("its rows were drawn from cells: k, l and t are those of the cells",))
    if "k_by_columns" in required:
        return _by_columns(table, required["k_by_columns"], reached.get("k_by_columns") or {}, found)
    if required.get("k") is None:
        chance = "probabilistic_k" in required
        said = "its k is a chance, over swaps that the table does not show" if chance else "it promises no k"
        return Recount(found, (), (said,))
    if not shown:
        return Recount(found, ("a k is promised, and the table holds none of its quasi-identifiers",), ())
    failures, notes = [], []
    if facts.get("rows", table.num_rows) != table.num_rows:
        failures.append(f"it has {table.num_rows} rows, stated {facts['rows']}")
    classes = _classes(table, shown)
    found["k"], found["classes"] = min(map(len, classes), default=0), len(classes)
    person = person_column(guarantee)
    hashed = person is not None and person in table.column_names and facts.get("identifiers") == "hash"
    if "k_counts" in facts and not hashed:
        notes.append(f"k counts {facts['k_counts']}, which is not in the table: its {found['k']} are rows")
    elif table.num_rows:
        if hashed:
            _persons(table[person].to_pylist(), classes, reached, found, failures)
        if found["k"] < required["k"]:
            failures.append(f"k is {found['k']}, required {required['k']}")
        elif found["k"] < reached.get("k", 0):
            failures.append(f"k is {found['k']}, stated as reached {reached['k']}")
    passed = [name for name in facts.get("kept", {}).get("columns", ()) if name in table.column_names]
    if passed:
        # Where k counts persons, rows that look alike are at least as many: what is found below it is too few.
        _kept(table, [*shown, *passed], facts["kept"], found, failures)
    weighed = [rule for rule in ("l", "t") if (required.get(rule) or {}).get("counts") == "persons"]
    if weighed:
        verb = "counts" if len(weighed) == 1 else "count"
        notes.append(f"{' and '.join(weighed)} {verb} persons, who are not in the table: they were not counted again")
    for name in secret if not weighed else ():
        if name in table.column_names:
            _sensitive(_values(table, name, guarantee), classes, name, required, reached, found, failures, notes)
    return Recount(found, tuple(failures), tuple(notes))


def _by_columns(table: pa.Table, required: dict[str, Any], reached: dict[str, Any], found: dict[str, Any]) -> Recount:
    """Count the groups of each group of columns by itself."""
    failures = []
    found["k_by_columns"] = []
    for part in required["columns"]:
        shown = [n + end for n in part for end in _ENDINGS if n + end in table.column_names]
        k = min(map(len, _classes(table, shown)), default=0) if shown else 0
        found["k_by_columns"].append(k)
        for wanted, said in ((required["least"], "required"), (reached.get("least", 0), "stated as reached")):
            if table.num_rows and k < wanted:
                failures.append(f"k of {', '.join(part)} is {k}, {said} {wanted}")
                break
    return Recount(found, tuple(failures), ("it promises k for groups of columns, and none for whole rows",))


def _values(table: pa.Table, name: str, guarantee: Guarantee) -> list[Any]:
    """Return a column's values: numbers by value, also where the table keeps them as texts."""
    values: list[Any] = table[name].to_pylist()
    domain = guarantee.domain
    if domain is None or name not in domain.names or domain.column(name).kind not in ("numeric", "integer"):
        return values
    return [_number(value) if isinstance(value, str) else value for value in values]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _classes(table: pa.Table, columns: Sequence[str]) -> list[list[int]]:
    """Group the rows that look alike."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(zip(*(table[c].to_pylist() for c in columns), strict=True)):
        groups[repr(row)].append(place)
    return list(groups.values())


def _persons(
    whose: Sequence[Any],
    classes: Sequence[Sequence[int]],
    reached: dict[str, Any],
    found: dict[str, Any],
    failures: list[str],
) -> None:
    """Count persons by their hashed marks: k, and the largest share of one person's rows in a group."""
    held = [Counter(whose[i] for i in rows) for rows in classes]
    found["rows_of_smallest"], found["k"] = found["k"], min(map(len, held))
    found["largest_share"] = max(max(c.values()) / c.total() for c in held)
    stated = reached.get("largest_share")
    if stated is not None and found["largest_share"] > stated + _SLACK:
        failures.append(f"one person has {found['largest_share']:.4g} of the rows of a group, stated at most {stated}")


def _kept(
    table: pa.Table, columns: Sequence[str], stated: dict[str, Any], found: dict[str, Any], failures: list[str]
) -> None:
    """Count the groups that somebody sees who also knows the columns that were passed on."""
    sizes = [len(rows) for rows in _classes(table, columns)]
    found["k_with_kept"], unique = min(sizes, default=0), sizes.count(1) / max(table.num_rows, 1)
    found["unique_with_kept"] = unique
    if found["k_with_kept"] < stated.get("k", 0) or unique > stated.get("unique", 1.0) + _SLACK:
        failures.append(
            f"with the kept columns k is {found['k_with_kept']} and {unique:.4g} of the rows are unique, "
            f"stated {stated.get('k')} and {stated.get('unique')}"
        )


def _sensitive(
    values: Sequence[Any],
    classes: Sequence[Sequence[int]],
    name: str,
    required: dict[str, Any],
    reached: dict[str, Any],
    found: dict[str, Any],
    failures: list[str],
    notes: list[str],
) -> None:
    kind, wanted = reached.get("l_kind", "distinct"), required.get("l") or {}
    least, ratio = wanted.get("least"), wanted.get("c", 3.0)
    groups = [Counter(repr(values[i]) for i in rows) for rows in classes]
    if kind == "recursive":
        worst = max(_recursive(g, int(least or 2)) for g in groups)
        failed = bool(wanted) and worst >= ratio
        said = f"(c, l)-diversity of {name} needs c above {worst:.6g}, allowed {ratio}"
    else:
        worst = min(len(g) if kind == "distinct" else _effective(g) for g in groups)
        failed = least is not None and worst < least - _SLACK
        said = f"l of {name} is {worst:.6g} ({kind}), required {least}"
    found.setdefault("l", {})[name] = worst
    if failed:
        failures.append(said)
    ground = reached.get("t_kind", {}).get(name)
    if ground not in ("equal", "ordered"):
        notes.append(f"t of {name} was not counted again: its distance follows a hierarchy")
        return
    whole = Counter(repr(v) for v in values)
    order = _order(values)
    far = max(_distance(g, whole, order, ground) for g in groups)
    found.setdefault("t", {})[name] = far
    most = (required.get("t") or {}).get("most")
    if most is not None and far > most + _SLACK:
        failures.append(f"t of {name} is {far:.6g}, required at most {most}")
    stated = reached.get("t", {}).get(name)
    if stated is not None and far > stated + _SLACK:
        failures.append(f"t of {name} is {far:.6g}, stated as reached {stated}")


def _effective(group: Counter[str]) -> float:
    n = sum(group.values())
    return math.exp(-sum(x / n * math.log(x / n) for x in group.values()))


def _recursive(group: Counter[str], least: int) -> float:
    counts = sorted(group.values(), reverse=True)
    rest = sum(counts[least - 1 :])
    return counts[0] / rest if rest else math.inf


def _order(values: Sequence[Any]) -> list[str]:
    """Return the values in order, a missing one last."""
    different = {repr(v): v for v in values}
    numbers = all(v is None or isinstance(v, (int, float)) for v in different.values())
    key = (lambda v: (v is None, v or 0)) if numbers else (lambda v: (v is None, str(v)))
    return [repr(v) for v in sorted(different.values(), key=key)]


def _distance(group: Counter[str], whole: Counter[str], order: Sequence[str], ground: str) -> float:
    n, total = sum(group.values()), sum(whole.values())
    gaps = [group[v] / n - whole[v] / total for v in order]
    if ground == "equal":
        return sum(map(abs, gaps)) / 2
    running, moved = 0.0, 0.0
    for gap in gaps:
        running += gap
        moved += abs(running)
    return moved / max(len(order) - 1, 1)
