"""The verdict on a released file, for `discreet audit` and `discreet report`: what it is, and if its promise holds."""

import io
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.anonymity.risk import legend_of, read_sets, reader_of
from discreet.core import (
    DECLARATION,
    PROMISE_ENDING,
    UPGRADE,
    Categorical,
    Domain,
    Guarantee,
    add_up,
    category_text,
    counted,
    payload_of,
    promise_place,
    zcdp_to_epsilon,
)
from discreet.engines import PARQUET
from discreet.errors import DataSourceError, DiscreetError, FormatError
from discreet.evaluation.promises import (
    broken_facts,
    least_variance,
    misshapen,
    misstated,
    recount,
    too_sure,
    undeclared,
)
from discreet.local import Counts, FlippedBitmap, Reports
from discreet.local.wire import REPORTS, messages
from discreet.reporting.artifacts import as_written, kind_of, known_dialect, read_released
from discreet.reporting.words import decimal, table_kind
from discreet.synopses import Synopsis

#: Remaps after which every number lies within the declared bounds.
_BOUNDED = ("clip", "resample", "grid")


@dataclass(frozen=True)
class Check:
    """One check. ``holds`` is None if it could not be made, or is for the reader to judge."""

    name: str
    holds: bool | None
    detail: str


@dataclass
class Findings:
    """The checks of a file; ``thing`` is the synopsis or table that was read from it."""

    path: Path
    kind: str = "unknown"
    checks: list[Check] = field(default_factory=list)
    guarantee: Guarantee | None = None
    thing: Any = field(default=None, repr=False)

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.path.name

    @property
    def passed(self) -> bool:
        """True if no check failed."""
        return bool(self.checks) and all(c.holds is not False for c in self.checks)

    @property
    def seeded(self) -> bool:
        """True if the noise can be reproduced."""
        return self.guarantee is not None and self.guarantee.seeded

    @property
    def failures(self) -> list[str]:
        return [check.detail for check in self.checks if check.holds is False]

    def held(self, name: str) -> bool | None:
        """Return the result of the checks of this name: False if any failed, None without a result."""
        said = [check.holds for check in self.checks if check.name == name]
        return False if False in said else True if True in said else None

    def add(self, name: str, holds: bool | None, detail: str) -> None:
        self.checks.append(Check(name, holds, detail))

    def summary(self) -> dict[str, Any]:
        """Return the verdict for a page: seal, failures, and what is not checkable."""
        sealed = self.guarantee is not None and self.guarantee.digest is not None
        return {
            "seal": "intact" if self.held("seal") is not False else "BROKEN" if sealed else "none",
            "ledger": "does not add up" if self.held("ledger") is False else "adds up",
            "seeded": self.seeded,
            "holds": self.passed,
            "failures": [c.detail for c in self.checks if c.holds is False and c.name != "seal"],
            "open": [c.detail for c in self.checks if c.detail.startswith("not checkable")],
        }

    def to_dict(self) -> dict[str, Any]:
        promise = self.guarantee
        return {
            "file": self.file,
            "kind": self.kind,
            "passed": self.passed,
            "seeded": self.seeded,
            "epsilon": None if promise is None else promise.to_dict()["epsilon"],
            "delta": None if promise is None else promise.delta,
            "digest": None if promise is None else promise.digest,
            "checks": [{"check": c.name, "holds": c.holds, "detail": c.detail} for c in self.checks],
        }


def examine(path: Path) -> Findings:
    """Check a released file: what it is, if it was changed, and if its promise adds up."""
    target = path.expanduser()
    if not target.is_file() and not (target.is_dir() and promise_place(target).is_file()):
        raise DataSourceError(f"artifact: no file {str(path)!r}; name what was released")
    found = Findings(target)
    try:
        _examine(target, b"".join(payload_of(target)), found)
    except DiscreetError as error:
        check = "cells" if str(error).startswith(DECLARATION) else "file"
        later = str(error).endswith(UPGRADE)
        found.add(check, None if later else False, "not checkable: " * later + str(error).splitlines()[0])
    except (OSError, UnicodeDecodeError, pa.ArrowException):  # their messages may quote data
        found.add("file", False, f"{target.name} cannot be read: it is damaged, or not what its name says")
    return found


def _examine(path: Path, data: bytes, found: Findings) -> None:
    kind = kind_of(path)
    if kind == "promise of a table":
        described = path.with_name(path.name.removesuffix(PROMISE_ENDING))
        _table(described, b"".join(payload_of(described)), data, found)
    elif kind == "released table":
        _table(path, data, promise_place(path).read_bytes(), found)
    elif kind in ("reports", "counts"):
        _local(data, found)
    elif kind == "bitmap":
        _bitmap(data, found)
    elif kind in ("synopsis", "table", "record"):
        _synopsis(path, found)
    elif kind == "promise":
        found.kind = "guarantee"
        _promise(data, found, alone=True)
        found.add("seal", None, "the sealed file is not next to it, so the seal was not checked")
    else:
        raise FormatError(
            f"{path.name} is not a synopsis, reports, counts or a guarantee, and there is no "
            f"{promise_place(path).name} next to it"
        )


def _synopsis(path: Path, found: Findings) -> None:
    found.kind = "synopsis"
    made = Synopsis.load(path)  # refuses changed files, wrong ledgers, and boxes outside the domain
    found.guarantee, found.thing = made.guarantee, made
    found.add("checksum", True, "the file is identical to the one that was written")
    found.add("seal", True, f"promise and content match the seal: {made.digest}")
    _ledger(made.guarantee, found)
    inside = (made.lower >= made.domain.low) & (made.upper <= made.domain.high)
    # A leaf of missing values has no place on the axis, and NaN for both of its ends.
    own = np.array([c.missing == "own" for c in made.domain])
    missing = np.isnan(made.lower) & np.isnan(made.upper) & own
    found.add(
        "domain",
        bool((inside | missing).all()),
        f"{made.n_leaves:,} boxes within the bounds of {', '.join(made.domain.names)}",
    )
    for text in made.warnings:
        found.add("content", None, text)
    finite = np.isfinite(made.weights).all() and (made.variances >= 0).all()
    found.add("weights", bool(finite), "all weights and variances are numbers")
    _drawn(made.guarantee, found)
    spreads = made.variances[:0] if made.modelled else made.variances  # rows of a model have no noise of their own
    # With a declared number of rows, each count is known from itself and from all others.
    least = least_variance(made.guarantee) * (1 - 1e-9) / (1 if made.total_variance else 2)
    noisy = np.append(spreads, made.total_variance)
    if ((noisy > 0) & (noisy < least)).any() or (least > 0 and len(spreads) > 1 and not spreads.any()):
        found.add("weights", False, "a count has a smaller variance than any noise of the stated price")


def _drawn(promise: Guarantee, found: Findings) -> None:
    """Check that something was drawn for what was released."""
    if not any(line.draws or line.external for top in promise.ledger for _, line in top.walk()):
        said = "no line of the ledger was used" if promise.ledger else "the ledger is empty"
        found.add("ledger", False, f"rows were released, but {said}")


def _ledger(promise: Guarantee, found: Findings) -> None:
    """Add up the ledger again, and compare it with the promise."""
    texts = (promise.unit, promise.neighbours)
    if any(re.search(r"[.!?]\s", text) for text in texts):
        found.add("promise", False, "the unit or the neighbours are stated with a sentence of someone's own")
    if not all(map(str.isprintable, texts)):
        found.add("promise", False, "the unit or the neighbours hold marks that are not seen, or turn text around")
    for said in misstated(promise):
        found.add("promise", None if said.startswith("not checkable") else False, said)
    steps = sum(1 for top in promise.ledger for _ in top.walk())
    if promise.model == "syntactic":
        found.add("ledger", None, "does not apply: this promise has no privacy budget")
    else:
        told = "1 step adds" if steps == 1 else f"{steps} steps add"
        sum_ = add_up(promise.ledger)
        # The stated ε is a double; the exact sums are compared with each other.
        level = float(sum_) if promise.accounting == "epsilon" else zcdp_to_epsilon(sum_, promise.delta)
        if promise.epsilon is None or promise.epsilon < level or promise.spent.exact < sum_:
            said = f"{told} up to {sum_} ({promise.accounting}), more than the stated {promise.spent.exact}"
            found.add("ledger", False, said)
        else:
            found.add("ledger", True, f"{told} up to the stated {decimal(promise.spent.exact)} ({promise.accounting})")
    said = "SEEDED: the noise can be reproduced; do not publish it" if promise.seeded else "not seeded"
    if promise.drawn_here is not True and not promise.seeded:
        said = "not known: noise was drawn outside of Discreet"
    found.add("seed", True if said == "not seeded" else None, said)
    named = promise.parameters.get("account")
    said = "the release names no account: no one adds it up with others about the same people"
    if isinstance(named, Mapping):
        said = f"the release names the account {named.get('dataset')!r}, which was not looked into: {named.get('head')}"
    found.add("account", None, said)
    external = sum(line.external for top in promise.ledger for _, line in top.walk())
    if external:
        those = "1 step was" if external == 1 else f"{external} steps were"
        detail = f"not checkable: {those} charged by hand (external); only the author knows which noise was drawn"
        found.add("draws", None, detail)


def _promise(data: bytes, found: Findings, *, alone: bool = False) -> Guarantee:
    """Read a promise strictly, including its layout; one that is not next to a table may lack the last line feed."""
    promise = Guarantee.from_json(data)
    odd = misshapen(promise.parameters, syntactic=promise.model == "syntactic")
    if odd:
        raise FormatError(f"the promise states {odd!r} in a form that cannot be read")
    found.guarantee = promise
    forms = {promise.to_json(indent=indent).encode() for indent in (None, 2)}
    if (data.removesuffix(b"\n") if alone else data) not in {form + (b"" if alone else b"\n") for form in forms}:
        here, there = (json.dumps(told["domain"]) for told in (json.loads(data), promise.to_dict()))
        if here != there:
            raise FormatError(f"{DECLARATION}: they are not in the form in which they are written")
        said = "the promise was changed after it was written: its layout is not the original one"
        found.add("promise", False, said)
    _ledger(promise, found)
    return promise


def _table(path: Path, data: bytes, promise_data: bytes, found: Findings) -> None:
    found.kind = "table"
    promise = _promise(promise_data, found)
    found.kind = table_kind(promise)
    if promise.digest is None:
        found.add("seal", False, "the promise is not sealed, so nothing connects it to this table")
    else:
        whole = promise.verify(data)
        said = f"the table matches the seal: {promise.digest}"
        found.add("seal", whole, said if whole else "table or promise was changed after it was written")
    if path.suffix.lower() not in (*PARQUET, ".xlsx") and not known_dialect(promise.parameters.get("csv", {})):
        raise FormatError("the promise states a form of CSV that is unknown")
    table = found.thing = read_released(path, promise.domain)
    if not table.num_rows:
        found.add("content", None, "the table has no rows: nothing was released")
    if promise.domain is not None:
        _columns(table, promise, promise.domain, found)
    else:
        found.add("domain", False, "the promise declares no columns, so the content of the table cannot be checked")
    if promise.model != "syntactic" and table.num_rows:
        _drawn(promise, found)
    if promise.model == "syntactic":
        try:
            counted = recount(as_written(path, table), promise)
        except (TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError) as error:
            raise FormatError(f"the promise states rules that cannot be read ({type(error).__name__})") from None
        shown = _counted(counted.found)
        for text in counted.failures:
            found.add("cells" if text.endswith("its declaration") else "recount", False, text)
        if not counted.failures:
            k_counted = True if {"k", "k_by_columns"} & set(counted.found) else None
            found.add("recount", k_counted, f"counted again: {shown}")
        for text in counted.notes:
            found.add("recount", None, text)


def _counted(found: Mapping[str, Any]) -> str:
    """Return what was counted in words: rows and classes, k, and l and t of each sensitive column."""
    parts = []
    for name, value in found.items():
        if isinstance(value, Mapping):
            parts += [f"{name} of {column} {inner:.4g}" for column, inner in value.items()]
        else:
            short = f"{value:.4g}" if isinstance(value, float) else value
            parts.append(f"{value:,} {name}" if name in ("rows", "classes") else f"{name.replace('_', ' ')} {short}")
    return ", ".join(parts)


def _columns(table: pa.Table, promise: Guarantee, domain: Domain, found: Findings) -> None:
    """Check that all columns are declared, and that bounded numbers are within their bounds."""
    wrong, labels, odd = undeclared(table, promise, domain) + too_sure(table, promise), legend_of(found), list[str]()
    listed = promise.parameters.get("quasi_identifiers")
    listed = listed if isinstance(listed, list) else []
    free = promise.model in ("metric", "local") and promise.parameters.get("remap") not in _BOUNDED
    for column in domain:
        if column.name not in table.column_names:
            continue
        values = table[column.name].to_pylist()
        if promise.model != "syntactic" and isinstance(column, Categorical):
            known = {category_text(c): None for c in column.categories}
            if column.name in listed:  # drawn rows print cells
                cells = read_sets(table[column.name], list(known), labels.get(column.name))
                unknown = not cells.members.any(axis=1).all()
            else:
                unknown = any(v is not None and category_text(v) not in known for v in values)
            odd += [f"column {column.name!r} holds a value that is not declared"] * unknown
        elif promise.model != "syntactic" and column.name not in listed:
            read = [reader_of(column)(v) for v in values if v is not None]
            numbers = [v for v in read if v is not None and math.isfinite(v)]
            if not free and any(not column.low <= v <= column.high for v in numbers):
                odd.append(f"column {column.name!r} has values outside its bounds")
            elif len(numbers) < len(read):
                odd.append(f"column {column.name!r} holds a value that is not one of its kind")
    for text in (*wrong, *odd):
        found.add("cells" if text in odd else "domain", None if text.startswith("not checkable") else False, text)
    said = "; perturbed numbers may be outside their bounds by design" if free else ""
    if promise.parameters.get("facts"):
        broken = broken_facts(table, domain)
        for text in broken:
            found.add("facts", False, f"a row contradicts a declared fact: {text}")
        if not broken:
            told = counted(len(domain.facts.sentences), "public fact")
            found.add("facts", True, f"every row agrees with the declared facts: {told}")
    if not wrong + odd:
        found.add("domain", True, f"{table.num_rows:,} rows; all {table.num_columns} columns are declared{said}")


def _local(data: bytes, found: Findings) -> None:
    """Check reports and counts; a file may hold several messages."""
    total, seeded, promises = 0, False, []
    for message in messages(io.BytesIO(data)):
        state = message[5:6] != bytes([REPORTS])
        thing: Any = Counts.from_bytes(message) if state else Reports.from_bytes(message)
        found.kind = "counts of local reports" if state else "local reports"
        total += thing.n if state else len(thing)
        seeded |= thing.seeded
        promises.append(thing.mechanism)
    found.add("checksum", True, f"{counted(len(promises), 'message')} whole, {counted(total, 'report')}")
    if any(p != promises[0] for p in promises):
        found.add("mechanism", False, "the messages were made with different parameters")
    found.guarantee = replace(promises[0].guarantee, seeded=seeded)
    layout = "counters that fit the number of reports" if "counts" in found.kind else "reports of its layout"
    found.add("mechanism", True, f"{type(promises[0]).__name__}: {layout}")
    _ledger(found.guarantee, found)


def _bitmap(data: bytes, found: Findings) -> None:
    """Check a flipped bitmap of distinct items."""
    found.kind, bitmap = "flipped bitmap", FlippedBitmap.from_bytes(data)
    found.guarantee = bitmap.guarantee
    found.add("checksum", True, "one message, whole")
    parts = counted(len(bitmap.epsilons), "bitmap")
    found.add("mechanism", True, f"DistinctSketch: {parts} of {bitmap.parameters.levels} levels, as in its settings")
    _ledger(found.guarantee, found)
