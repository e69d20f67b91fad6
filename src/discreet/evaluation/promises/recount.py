"""Count k, l and t again on a released table, independently of the code that made it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.risk import CodedColumn, code_column
from discreet.core import FloatArray, Guarantee, IntArray, Person, person_column
from discreet.engines.tables import key_codes
from discreet.evaluation.promises.declared import Parts, odd_cells, odd_values, parts_of

#: What printed figures may be off by.
_SLACK = 1e-6
#: The values of a class, as numbers, and how often each occurs.
Group: TypeAlias = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Recount:
    """Rules that a table was found to satisfy.

    Attributes
    ----------
    found : dict
        ``rows``, ``classes``, ``k`` (``rows_of_smallest`` where it counts persons), and ``l`` and ``t`` by column.
    failures : tuple of str
        What does not hold.
    notes : tuple of str
        What is not promised or "not checkable", and why.

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
    """Count again what a table shows, and compare it with what is required and stated as reached.

    Counts k, l and t, rows and cells, and checks columns that were passed on and undeclared quasi-identifiers. Where k
    counts persons who are not in the table, its rows give an upper bound: k can fail, but not be confirmed.

    Parameters
    ----------
    table : pyarrow.Table
        The released table.
    guarantee : Guarantee
        Its promise.
    quasi, sensitive : list of str, optional
        Columns; by default those that the promise or its declaration names.

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
    required, reached = dict(facts.get("required") or {}), dict(facts.get("reached") or {})
    parts, domain = parts_of(table, guarantee, quasi, sensitive), guarantee.domain
    found: dict[str, Any] = {"rows": table.num_rows}
    failures, notes = list(parts.failures), list[str]()
    if facts.get("rows", table.num_rows) != table.num_rows:
        failures.append(f"it has {table.num_rows} rows, stated {facts['rows']}")
    if domain is not None:
        failures += odd_values(table, [*parts.sensitive, *parts.kept], domain)
        if not str(facts.get("output")).startswith("changed"):  # noise may leave the bounds by design
            failures += odd_cells(table, parts, domain, facts.get("labels") or {})
    if facts.get("output") == "sample":
        notes.append("not checkable: its rows were drawn from cells, and k, l and t are those of the cells")
    elif "k_by_columns" in required:
        _by_columns(table, required["k_by_columns"], reached.get("k_by_columns") or {}, parts, found, failures)
        notes.append("it promises k for groups of columns, and none for whole rows")
    elif required.get("k") is None:
        chance = "probabilistic_k" in required
        drawn = "not checkable: its k is a chance, over swaps that the table does not show"
        notes.append(drawn if chance else "it promises no k")
    elif not parts.shown:
        failures.append("a k is promised, and the table holds none of its quasi-identifiers")
    elif table.num_rows:
        classes = _classes(table, parts.shown)
        _groups(table, guarantee, classes, found, failures, notes)
        if parts.kept:
            # Where k counts persons, rows that look alike are at least as many: what is found below it is too few.
            _kept(_classes(table, [*parts.shown, *parts.kept]), facts["kept"], found, failures)
        _sensitive_columns(table, guarantee, parts, classes, found, failures, notes)
    return Recount(found, tuple(failures), tuple(notes))


def _by_columns(
    table: pa.Table,
    required: Mapping[str, Any],
    reached: Mapping[str, Any],
    parts: Parts,
    found: dict[str, Any],
    failures: list[str],
) -> None:
    """Count the groups of each group of columns separately."""
    found["k_by_columns"] = []
    for part in required["columns"]:
        shown = [column for name in part for column in parts.quasi.get(name, ())]
        k = int(np.bincount(_classes(table, shown)).min()) if shown and table.num_rows else 0
        found["k_by_columns"].append(k)
        for wanted, said in ((required["least"], "required"), (reached.get("least", 0), "stated as reached")):
            if table.num_rows and k < wanted:
                failures.append(f"k of {', '.join(part)} is {k}, {said} {wanted}")
                break
    left = [name for name in parts.quasi if not any(name in part for part in required["columns"])]
    failures += [f"quasi-identifier {name!r} is in none of the groups of columns that have a k" for name in left]


def _classes(table: pa.Table, columns: Sequence[str]) -> IntArray:
    """Return the number of each row's group of equal rows."""
    groups = np.zeros(table.num_rows, np.int64)
    for name in columns:
        column = table[name].combine_chunks()
        if pa.types.is_floating(column.type):  # -0.0 and 0.0 are one value
            column = pc.add(column, pa.scalar(0.0, column.type))
        if pa.types.is_nested(column.type):
            column = pa.array(map(repr, column.to_pylist()))
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        encoded = pc.dictionary_encode(column, null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        groups = np.unique(groups * (len(encoded.dictionary) + 1) + codes, return_inverse=True)[1].ravel()
    return groups


def _groups(
    table: pa.Table,
    guarantee: Guarantee,
    classes: IntArray,
    found: dict[str, Any],
    failures: list[str],
    notes: list[str],
) -> None:
    """Count the rows, or the persons, of the smallest group."""
    facts, person = guarantee.parameters, person_column(guarantee)
    required, reached = facts["required"], dict(facts.get("reached") or {})
    rows = int(np.bincount(classes).min())
    found["classes"] = int(classes.max()) + 1
    if found["classes"] > facts.get("cells", found["classes"]):
        failures.append(f"its rows show {found['classes']} cells, stated {facts['cells']}")
    found["k"], least = rows, max(required["k"], reached.get("k") or 0)
    if "k_counts" in facts:
        found["rows_of_smallest"] = found.pop("k")
        if person in table.column_names and facts.get("identifiers") == "hash":
            _persons(table[person], classes, reached, found, failures)
        elif rows >= least:
            notes.append(
                f"not checkable: k counts {facts['k_counts']}, which is not in the table; the smallest group has "
                f"{rows} rows, so k is at most that"
            )
    k = found.get("k", rows)
    if k < required["k"]:
        failures.append(f"k is {k if 'k' in found else f'at most {k}'}, required {required['k']}")
    elif k < least:
        failures.append(f"k is {k if 'k' in found else f'at most {k}'}, stated as reached {least}")
    elif (reached.get("k") or least) < required["k"]:
        failures.append(f"k is stated as reached {reached['k']}, required {required['k']}")


def _persons(
    whose: pa.ChunkedArray, classes: IntArray, reached: Mapping[str, Any], found: dict[str, Any], failures: list[str]
) -> None:
    """Count persons by their hashed identifiers: k, and the largest share of one person's rows in a group."""
    marks = key_codes(whose.combine_chunks())
    pairs, rows = np.unique(classes * (int(marks.max()) + 1) + marks, return_counts=True)
    of = pairs // (int(marks.max()) + 1)
    found["k"] = int(np.bincount(of).min())
    found["largest_share"] = float((rows / np.bincount(classes)[of]).max())
    stated = reached.get("largest_share")
    if stated is not None and found["largest_share"] > stated + _SLACK:
        failures.append(f"one person has {found['largest_share']:.4g} of the rows of a group, stated at most {stated}")


def _kept(groups: IntArray, stated: Mapping[str, Any], found: dict[str, Any], failures: list[str]) -> None:
    """Count the groups that someone sees who also knows the columns that were passed on."""
    sizes = np.bincount(groups)
    found["k_with_kept"], unique = int(sizes.min()), float((sizes == 1).sum() / len(groups))
    found["unique_with_kept"] = unique
    if found["k_with_kept"] < stated.get("k", 0) or unique > stated.get("unique", 1.0) + _SLACK:
        failures.append(
            f"with the kept columns k is {found['k_with_kept']} and {unique:.4g} of the rows are unique, "
            f"stated {stated.get('k')} and {stated.get('unique')}"
        )


def _sensitive_columns(
    table: pa.Table,
    guarantee: Guarantee,
    parts: Parts,
    classes: IntArray,
    found: dict[str, Any],
    failures: list[str],
    notes: list[str],
) -> None:
    """Count l and t of each sensitive column."""
    facts, domain = guarantee.parameters, guarantee.domain
    required, reached = facts["required"], dict(facts.get("reached") or {})
    asked = [rule for rule in ("l", "t") if required.get(rule)]
    secret = [name for name in parts.sensitive if name in table.column_names]
    if asked and not secret:
        failures.append(f"{' and '.join(asked)} are promised, and the table holds no sensitive column")
    by_person = any((required.get(rule) or {}).get("counts") == "persons" for rule in asked) or (
        "k_counts" in facts and domain is not None and isinstance(domain.unit, Person)
    )
    if secret and by_person:
        notes.append(
            "not checkable: l and t count persons, who are not identified in the table; l is at most the different "
            "values that were counted"
        )
    for name in secret:
        coded = code_column(domain if domain is not None and name in domain.names else None, name, table[name])
        groups = _values_by_class(classes, coded)
        if by_person:
            _diversity(groups, name, {**required, "l": {**(required.get("l") or {}), "kind": "distinct"}}, {}, found,
                       failures)  # fmt: skip
        else:
            _diversity(groups, name, required, reached, found, failures)
            _closeness(groups, coded, required, reached, found, failures, notes)


def _values_by_class(classes: IntArray, coded: CodedColumn) -> list[Group]:
    """Return for each class the values that occur, as numbers, and their counts."""
    size = len(coded.labels)
    pairs, counts = np.unique(classes * size + coded.codes, return_counts=True)
    cuts = np.flatnonzero(np.diff(pairs // size)) + 1
    return list(zip(np.split(pairs % size, cuts), np.split(counts, cuts), strict=True))


def _diversity(
    groups: Sequence[Group],
    name: str,
    required: Mapping[str, Any],
    reached: Mapping[str, Any],
    found: dict[str, Any],
    failures: list[str],
) -> None:
    wanted = required.get("l") or {}
    kind, least = wanted.get("kind") or reached.get("l_kind") or "distinct", wanted.get("least")
    stated = (reached.get("l") or {}).get(name) if reached.get("l_kind", kind) == kind else None
    said = None if stated is None else float(stated)
    if kind == "recursive":
        ratio = wanted.get("c", 3.0)
        worst = max(_recursive(counts, int(least or 1)) for _, counts in groups)
        if wanted and worst >= ratio:
            failures.append(f"(c, l)-diversity of {name} needs c above {worst:.6g}, allowed {ratio}")
        elif said is not None and worst > said + _SLACK:
            failures.append(f"(c, l)-diversity of {name} needs c above {worst:.6g}, stated as reached {stated}")
    else:
        worst = min(len(counts) if kind == "distinct" else _effective(counts) for _, counts in groups)
        if least is not None and worst < least - _SLACK:
            failures.append(f"l of {name} is {worst:.6g} ({kind}), required {least}")
        elif said is not None and worst < said - _SLACK:
            failures.append(f"l of {name} is {worst:.6g} ({kind}), stated as reached {stated}")
    found.setdefault("l", {})[name] = worst


def _closeness(
    groups: Sequence[Group],
    coded: CodedColumn,
    required: Mapping[str, Any],
    reached: Mapping[str, Any],
    found: dict[str, Any],
    failures: list[str],
    notes: list[str],
) -> None:
    name, wanted = coded.name, required.get("t") or {}
    stated_ground, asked = (reached.get("t_kind") or {}).get(name), wanted.get("kind", "auto")
    by_type = "ordered" if coded.ordered else "equal"
    ground = asked if asked != "auto" else by_type if wanted else stated_ground or by_type
    whole = np.bincount(coded.codes, minlength=len(coded.labels)) / len(coded.codes)
    far = max(_distance(group, whole, "ordered" if ground == "ordered" else "equal") for group in groups)
    most, stated = wanted.get("most"), (reached.get("t") or {}).get(name)
    if ground not in ("equal", "ordered"):
        # No hierarchy lays values further apart than if all were as far apart as can be.
        if any(limit is not None and far > limit + _SLACK for limit in (most, stated)):
            notes.append(f"not checkable: t of {name} follows a hierarchy that is not in the promise")
        return
    found.setdefault("t", {})[name] = far
    if most is not None and far > most + _SLACK:
        failures.append(f"t of {name} is {far:.6g}, required at most {most}")
    if stated is not None and stated_ground in (None, ground) and far > stated + _SLACK:
        failures.append(f"t of {name} is {far:.6g}, stated as reached {stated}")


def _effective(counts: IntArray) -> float:
    share = counts / counts.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def _recursive(counts: IntArray, least: int) -> float:
    falling = np.sort(counts)[::-1]
    rest = int(falling[least - 1 :].sum())
    return float(falling[0] / rest) if rest else math.inf


def _distance(group: Group, whole: FloatArray, ground: str) -> float:
    values, counts = group
    gaps = -whole
    gaps[values] += counts / counts.sum()
    if ground == "equal":
        return float(np.abs(gaps).sum() / 2)
    return float(np.abs(np.cumsum(gaps)).sum() / max(len(whole) - 1, 1))
