"""Count k, l and t again on a released table, independently of the code that made it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.risk import CodedColumn, code_column
from discreet.core import FloatArray, Guarantee, IntArray, Person, hidden_among, person_column
from discreet.engines.tables import key_codes
from discreet.evaluation.promises.declared import Parts, odd_cells, odd_values, parts_of

#: What printed figures may be off by.
_SLACK = 1e-6
#: Rules that are counted, or known not to be countable.
_RULES = ("k", "l", "t", "k_by_columns", "probabilistic_k")
#: The values of a class, as numbers, and how often each occurs.
Group: TypeAlias = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Recount:
    """Rules that a table was found to satisfy.

    Attributes
    ----------
    found : dict
        ``rows``, ``classes``, ``k`` (``rows_of_smallest_group`` if it counts persons), and ``l`` and ``t`` by column.
    failures, notes : tuple of str
        What does not hold; what is not promised or "not checkable", and why.

    Examples
    --------
    >>> facts = {"quasi_identifiers": ["age"], "required": {"k": 3}, "reached": {"k": 2}}
    >>> recount(pa.table({"age": ["[0, 9]", "[0, 9]"]}), Guarantee("syntactic", parameters=facts)).failures
    ('k is 2, required 3',)
    """

    found: dict[str, Any]
    failures: tuple[str, ...]
    notes: tuple[str, ...]


def recount(table: pa.Table, guarantee: Guarantee) -> Recount:
    """Count again what a table shows, and compare it with what is required and stated as reached.

    Counts k, l and t, rows and cells, and checks columns that were passed on and undeclared quasi-identifiers. Where k
    counts persons who are not in the table, its rows give an upper bound: k can fail, but not be confirmed.

    Parameters
    ----------
    table : pyarrow.Table
        The released table.
    guarantee : Guarantee
        Its promise, which names the quasi-identifiers and sensitive columns.

    Examples
    --------
    >>> import discreet as dc
    >>> people = dc.datasets.people(200)
    >>> release = dc.anonymity.Mondrian(k=5, domain=people.domain).fit_transform(people.table)
    >>> found = recount(release.table, release.guarantee)
    >>> found.found["k"] >= 5, found.failures
    (True, ())
    """
    count = _Count(table, guarantee, parts_of(table, guarantee))
    count.whole_table()
    return Recount(count.found, tuple(count.failures), tuple(count.notes))


class _Count:
    """A recount in progress: what was found, what fails, and what cannot be checked."""

    def __init__(self, table: pa.Table, guarantee: Guarantee, parts: Parts) -> None:
        self.table, self.guarantee, self.parts = table, guarantee, parts
        self.facts, self.domain = guarantee.parameters, guarantee.domain
        self.required, self.reached = (dict(self.facts.get(name) or {}) for name in ("required", "reached"))
        self.found: dict[str, Any] = {"rows": table.num_rows}
        self.failures, self.notes = list(parts.failures), list[str]()

    def whole_table(self) -> None:
        """Count everything."""
        table, facts, parts = self.table, self.facts, self.parts
        if facts.get("rows", table.num_rows) != table.num_rows:
            self.failures.append(f"it has {table.num_rows} rows, stated {facts['rows']}")
        if self.domain is not None:
            self.failures += odd_values(table, [*parts.sensitive, *parts.kept], self.domain)
            if not str(facts.get("output")).startswith("changed"):  # noise may leave the bounds by design
                self.failures += odd_cells(table, parts, self.domain, facts.get("labels") or {})
        other = [name for name in self.required if name not in _RULES]
        other += [] if "required" in facts else ["something else than rules"]
        self.notes += [f"not checkable: {name} is promised, which cannot be counted here" for name in other]
        if facts.get("output") == "sample":
            self.notes.append("not checkable: its rows were drawn from cells, and k, l and t are those of the cells")
            return
        apart = (self.reached.get("k_by_columns") or {}).get("columns")
        odd = apart not in (None, (self.required.get("k_by_columns") or {}).get("columns"))
        if odd or ("probabilistic_k" in self.reached and "probabilistic_k" not in self.required):
            self.failures.append("another kind of k is stated as reached than is promised")
        if "k_by_columns" in self.required:
            self.by_columns(self.required["k_by_columns"], self.reached.get("k_by_columns") or {})
        if self.required.get("k") is None:
            drawn = "not checkable: its k is a chance, over swaps that the table does not show"
            apart = "it promises k for groups of columns, and none for whole rows"
            none = apart if "k_by_columns" in self.required else "it promises no k"
            self.notes.append(drawn if "probabilistic_k" in self.required else none)
            if hidden_among(facts) is not None:
                self.failures.append("a k is stated as reached, and none is promised")
        asked = [rule for rule in ("k", "l", "t") if self.required.get(rule) not in (None, {})]
        if asked and not parts.shown:
            said = f"{' and '.join(asked)} {'is' if len(asked) == 1 else 'are'} promised"
            self.failures.append(f"{said}, and the table holds none of its quasi-identifiers")
        elif asked and table.num_rows:
            classes = _classes(table, parts.shown)
            self.groups(classes)
            if parts.kept:
                # Where k counts persons, rows that look alike are at least as many: what is found below it is too few.
                self.kept(_classes(table, [*parts.shown, *parts.kept]), facts["kept"])
            self.sensitive_columns(classes)

    def by_columns(self, required: Mapping[str, Any], reached: Mapping[str, Any]) -> None:
        """Count the groups of each group of columns separately."""
        rows, quasi = self.table.num_rows, self.parts.quasi
        self.found["k_by_columns"] = []
        for part in required["columns"]:
            shown = [column for name in part for column in quasi.get(name, ())]
            k = int(np.bincount(_classes(self.table, shown)).min()) if shown and rows else 0
            self.found["k_by_columns"].append(k)
            for wanted, said in ((required["least"], "required"), (reached.get("least", 0), "stated as reached")):
                if rows and k < wanted:
                    self.failures.append(f"k of {', '.join(part)} is {k}, {said} {wanted}")
                    break
        whole = int(np.bincount(_classes(self.table, self.parts.shown)).min()) if rows else 0
        if rows and whole < self.reached.get("k_of_rows", 0):
            self.failures.append(f"k of whole rows is {whole}, stated as reached {self.reached['k_of_rows']}")
        left = [name for name in quasi if not any(name in part for part in required["columns"])]
        self.failures += [f"quasi-identifier {n!r} is in none of the groups of columns that have a k" for n in left]

    def groups(self, classes: IntArray) -> None:
        """Count the rows, or the persons, of the smallest group."""
        facts, found, person = self.facts, self.found, person_column(self.guarantee)
        required, stated = self.required.get("k") or 0, self.reached.get("k")
        reached = required if stated is None else stated
        rows = int(np.bincount(classes).min())
        found["classes"] = int(classes.max()) + 1
        if found["classes"] > facts.get("cells", found["classes"]):
            self.failures.append(f"its rows show {found['classes']} cells, stated {facts['cells']}")
        found["k"], least = rows, max(required, reached)
        if "k_counts" in facts:
            found["rows_of_smallest_group"] = found.pop("k")
            if person in self.table.column_names and facts.get("identifiers") == "hash":
                self.persons(self.table[person], classes)
            elif rows >= least:
                self.notes.append(
                    f"not checkable: k counts {facts['k_counts']}, which is not in the table; k is at most {rows}, the "
                    "number of rows of the smallest group; ask its maker for the table with hashed identifiers "
                    "(--hash-key), by which k is counted"
                )
        k = found.get("k", rows)
        most = k if stated is None else stated
        shown = str(k) if "k" in found else f"at most {k}"
        if k < least:
            said = f"required {required}" if k < required else f"stated as reached {least}"
            self.failures.append(f"k is {shown}, {said}")
        elif reached < required:
            self.failures.append(f"k is stated as reached {reached}, required {required}")
        elif not required <= (together := facts.get("reached_together", {"k": required})["k"]) <= most:
            said = f"k with earlier releases is stated as {together}, which is not between the required {required}"
            self.failures.append(f"{said} and the {most} of this table alone")

    def persons(self, whose: pa.ChunkedArray, classes: IntArray) -> None:
        """Count persons by their hashed identifiers: k, the most rows of one, and their largest share of a group.

        Rows without one may be anyone's: they are no further person, and may all belong to the one with most rows.
        """
        marks, sizes = key_codes(whose.combine_chunks()), np.bincount(classes)
        named = np.asarray(pc.not_equal(whose.combine_chunks().cast(pa.string()), "").fill_null(False))
        pairs, rows = np.unique((classes * (int(marks.max()) + 1) + marks)[named], return_counts=True)
        of = pairs // (int(marks.max()) + 1)
        self.found["k"] = int(np.bincount(of, minlength=len(sizes)).min())
        most = np.bincount(classes[~named], minlength=len(sizes))
        np.maximum.at(most, of, rows + most[of])
        share = self.found["largest_share"] = float((most / sizes).max())
        stated = self.reached.get("largest_share")
        if stated is not None and share > stated + _SLACK:
            self.failures.append(f"one person has {share:.4g} of the rows of a group, stated at most {stated}")
        own = int(np.bincount(marks[named]).max(initial=0))
        if own > self.facts.get("most_rows", own):
            self.failures.append(f"one person has {own} rows, stated at most {self.facts['most_rows']}")

    def kept(self, groups: IntArray, stated: Mapping[str, Any]) -> None:
        """Count the groups that someone sees who also knows the columns that were passed on."""
        sizes = np.bincount(groups)
        k, unique = int(sizes.min()), float((sizes == 1).sum() / len(groups))
        self.found |= {"k_with_kept": k, "unique_with_kept": unique}
        if k < stated.get("k", 0) or unique > stated.get("unique", 1.0) + _SLACK:
            self.failures.append(
                f"with the kept columns k is {k} and {unique:.4g} of the rows are unique, "
                f"stated {stated.get('k')} and {stated.get('unique')}"
            )

    def sensitive_columns(self, classes: IntArray) -> None:
        """Count l and t of each sensitive column."""
        domain, table = self.domain, self.table
        asked = [rule for rule in ("l", "t") if self.required.get(rule)]
        secret = [name for name in self.parts.sensitive if name in table.column_names]
        if asked and not secret:
            self.failures.append(f"{' and '.join(asked)} are promised, and the table holds no sensitive column")
        by_person = any((self.required.get(rule) or {}).get("counts") == "persons" for rule in asked) or (
            "k_counts" in self.facts and domain is not None and isinstance(domain.unit, Person)
        )
        if secret and by_person and not asked:
            self.notes.append("no l or t is promised; those stated as reached count persons and were not counted again")
        elif secret and by_person:
            hashed = self.facts.get("identifiers") == "hash"
            why = "and by hashed identifiers only k is counted" if hashed else "whom the table does not identify"
            self.notes.append(
                f"not checkable: {'l counts' if asked == ['l'] else 'l and t count'} persons, {why}; l is at most the "
                "number of different values, which was counted; only its maker can say more"
            )
        for name in secret:
            coded = code_column(domain if domain is not None and name in domain.names else None, name, table[name])
            groups = _values_by_class(classes, coded)
            wanted = self.required.get("l") or {}
            if by_person:
                self.diversity(groups, name, {**wanted, "kind": "distinct"}, {})
            else:
                self.diversity(groups, name, wanted, self.reached)
                self.closeness(groups, coded)

    def diversity(
        self, groups: Sequence[Group], name: str, wanted: Mapping[str, Any], reached: Mapping[str, Any]
    ) -> None:
        """Count l of one column."""
        kind, least = wanted.get("kind") or reached.get("l_kind") or "distinct", wanted.get("least")
        stated = (reached.get("l") or {}).get(name) if reached.get("l_kind", kind) == kind else None
        said = None if stated is None else float(stated)
        if kind not in ("distinct", "entropy", "recursive"):
            self.failures.append(f"l of {name} is of a kind that is unknown: {kind}")
        if kind == "recursive":
            ratio = wanted.get("c", 3.0)
            worst = max(_recursive(counts, int(least or 1)) for _, counts in groups)
            text = f"(c, l)-diversity of {name} needs c above {worst:.6g}"
            if wanted and worst >= ratio:
                self.failures.append(f"{text}, allowed {ratio}")
            elif said is not None and worst > said + _SLACK:
                self.failures.append(f"{text}, stated as reached {stated}")
        else:
            worst = min(len(counts) if kind == "distinct" else _effective(counts) for _, counts in groups)
            text = f"l of {name} is {worst:.6g} ({kind})"
            if least is not None and worst < least - _SLACK:
                self.failures.append(f"{text}, required {least}")
            elif said is not None and worst < said - _SLACK:
                self.failures.append(f"{text}, stated as reached {stated}")
        self.found.setdefault("l", {})[name] = worst

    def closeness(self, groups: Sequence[Group], coded: CodedColumn) -> None:
        """Count t of one column."""
        name, wanted = coded.name, self.required.get("t") or {}
        stated_ground, asked = (self.reached.get("t_kind") or {}).get(name), wanted.get("kind", "auto")
        by_type = "ordered" if coded.ordered else "equal"
        ground = asked if asked != "auto" else by_type if wanted else stated_ground or by_type
        whole = np.bincount(coded.codes, minlength=len(coded.labels)) / len(coded.codes)
        far = max(_distance(group, whole, "ordered" if ground == "ordered" else "equal") for group in groups)
        most, stated = wanted.get("most"), (self.reached.get("t") or {}).get(name)
        if ground not in ("equal", "ordered"):
            # No hierarchy lays values further apart than if all were as far apart as can be.
            if any(limit is not None and far > limit + _SLACK for limit in (most, stated)):
                self.notes.append(f"not checkable: t of {name} follows a hierarchy that is not in the promise")
            return
        self.found.setdefault("t", {})[name] = far
        if most is not None and far > most + _SLACK:
            self.failures.append(f"t of {name} is {far:.6g}, required at most {most}")
        if stated is not None and stated_ground in (None, ground) and far > stated + _SLACK:
            self.failures.append(f"t of {name} is {far:.6g}, stated as reached {stated}")


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


def _values_by_class(classes: IntArray, coded: CodedColumn) -> list[Group]:
    """Return for each class the values that occur, as numbers, and their counts."""
    size = len(coded.labels)
    pairs, counts = np.unique(classes * size + coded.codes, return_counts=True)
    cuts = np.flatnonzero(np.diff(pairs // size)) + 1
    return list(zip(np.split(pairs % size, cuts), np.split(counts, cuts), strict=True))


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
