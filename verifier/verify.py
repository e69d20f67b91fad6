#!/usr/bin/env python3
"""Check a release of Discreet without Discreet.

    python3 verify.py FILE... [--page PAGE] [--account ACCOUNT] [--key PUBLIC] [--head HEAD] [--json]

Written from docs/evidence-format.md and docs/evidence-tables.md alone. It needs Python 3.9 or later and nothing else;
with the package `cryptography` it also checks signatures. Exit codes: 0 everything holds, 1 something is contradicted,
2 nothing is contradicted and something was not checked, 3 wrong usage.

From top to bottom: JSON, numbers, guarantees, ledgers, tables, accounts, pages, signatures, and the verdict.
"""

import argparse
import codecs
import hashlib
import html
import json
import math
import os
import re
import sys
from collections import Counter, defaultdict
from fractions import Fraction

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None

HOLDS, CONTRADICTED, NOT_CHECKED, NOTE = "holds", "contradicted", "not checked", "note"


class Wrong(Exception):
    """Something is not as the format says; the text says what."""


class Unchecked(Exception):
    """Something cannot be checked; the text says why."""


class Usage(Exception):
    """The command itself was wrong."""


def need(truth, text):
    if not truth:
        raise Wrong(text)


# ---------------------------------------------------------------------------------------------------------------- JSON


class Number:
    """A number of a JSON file, with the text that it has there."""

    def __init__(self, text):
        self.text = text
        self.whole = re.fullmatch(r"-?\d{1,4000}", text) is not None
        self.value = int(text) if self.whole else float(text)

    def __eq__(self, other):
        return isinstance(other, Number) and self.value == other.value

    __hash__ = None


def parsed(data):
    """Read JSON strictly: no field twice, no NaN, no halves of characters, and numbers keep their text."""

    def once(pairs):
        need(len(dict(pairs)) == len(pairs), "a field occurs twice")
        return dict(pairs)

    def refuse(name):
        raise Wrong(f"{name} is not JSON")

    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        found = json.loads(text, object_pairs_hook=once, parse_float=Number, parse_int=Number, parse_constant=refuse)
        written(found).encode("utf-8")
        return found
    except (ValueError, RecursionError) as error:
        raise Wrong(f"it is not JSON in UTF-8: {error}") from None


ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def quoted(text, ascii_only):
    def escape(found):
        units = found[0].encode("utf-16-be", "surrogatepass").hex()
        return ESCAPES.get(found[0]) or "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))

    return '"' + re.sub(r'[^ !#-\[\]-~]' if ascii_only else r'["\\\x00-\x1f]', escape, text) + '"'


def written(value, canonical=False, indent="", inner=""):
    """Write JSON: canonical, in one line, or with one item per line."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, str):
        return quoted(value, canonical)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    deeper = inner + indent
    if isinstance(value, dict):
        names = sorted(value) if canonical else value
        items = [quoted(n, canonical) + (":" if canonical else ": ") + written(value[n], canonical, indent, deeper)
                 for n in names]
    else:
        items = [written(item, canonical, indent, deeper) for item in value]
    ends = "{}" if isinstance(value, dict) else "[]"
    if indent and items:
        return f"{ends[0]}\n{deeper}" + f",\n{deeper}".join(items) + f"\n{inner}{ends[1]}"
    return ends[0] + ("," if canonical else ", ").join(items) + ends[1]


def canonical_bytes(value):
    return written(value, canonical=True).encode("ascii")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def is_hex(text, digits):
    return isinstance(text, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", text) is not None


def is_seal(text):
    return isinstance(text, str) and text.startswith("sha256:") and is_hex(text[7:], 64)


def fields(value, names, what):
    """Check that an object has exactly these fields."""
    need(isinstance(value, dict), f"{what} is not an object")
    need(set(value) == set(names), f"{what} has missing or unknown fields: {sorted(set(value) ^ set(names))}")


# ------------------------------------------------------------------------------------------------------------- numbers

INFINITE = math.inf


def rational(value, what):
    """Read an exact rational: a text such as "97/100", or an integer; "inf" is infinite."""
    if value == "inf":
        return INFINITE
    if isinstance(value, Number) and value.whole:
        return Fraction(value.value)
    if isinstance(value, Number) and math.isfinite(value.value):
        return Fraction(value.value)
    need(isinstance(value, str) and re.fullmatch(r"-?\d{1,4000}(/\d{1,4000})?", value), f"{what} is not a rational")
    top, _, bottom = value.partition("/")
    need(int(bottom or 1) != 0, f"{what} divides by zero")
    return Fraction(int(top), int(bottom or 1))


def nearest(value):
    """Return the nearest double."""
    try:
        return float(value)
    except OverflowError:
        return INFINITE


def number(value, what):
    need(isinstance(value, Number) and math.isfinite(value.value), f"{what} is not a number")
    return nearest(value.value)


def integer(value, what):
    need(isinstance(value, Number) and value.whole, f"{what} is not an integer")
    return value.value


def shown(value):
    return f"{nearest(value):.6g}"


# ------------------------------------------------------------------------------------------------------------ guarantee

FIELDS = (
    "format", "format_version", "model", "epsilon", "delta", "accounting", "spent", "unit", "neighbours", "ledger",
    "parameters", "domain", "assumptions", "seeded", "version", "digest",
)  # fmt: skip


def checked_guarantee(value):
    """Check the fields of a guarantee and their types."""
    need(isinstance(value, dict) and tuple(value) == FIELDS, "it has not the fields of a guarantee, in their order")
    need(value["format"] == "discreet.guarantee", "it is not a guarantee")
    need(value["format_version"] == Number("2") and value["format_version"].whole, "its version is unknown")
    need(value["model"] in ("central", "local", "metric", "shuffled", "syntactic"), "its model is unknown")
    need(value["accounting"] in ("epsilon", "rho"), "its accounting is unknown")
    for name in ("unit", "neighbours", "version"):
        need(isinstance(value[name], str), f"{name} is not a text")
    need(isinstance(value["ledger"], list), "ledger is not a list")
    need(isinstance(value["parameters"], dict), "parameters are not an object")
    texts = value["assumptions"]
    need(isinstance(texts, list) and all(isinstance(text, str) for text in texts), "assumptions are not texts")
    need(isinstance(value["seeded"], bool), "seeded is neither true nor false")
    need(value["digest"] is None or is_seal(value["digest"]), "its seal is not a seal")
    delta = number(value["delta"], "delta")
    need(0 <= delta < 1, "delta is not between 0 and 1")
    if value["model"] == "syntactic":
        need(value["epsilon"] is None, "a syntactic promise has no epsilon")
    elif value["epsilon"] != "inf":
        need(number(value["epsilon"], "epsilon") >= 0, "epsilon is negative")
    need(rational(value["spent"], "spent") >= 0, "spent is negative")
    if value["domain"] is not None:
        need(isinstance(value["domain"], dict), "domain is not an object")
        need(isinstance(value["domain"].get("columns"), dict), "domain has no columns")
        for name, declared in value["domain"]["columns"].items():
            need(isinstance(declared, dict), f"the declaration of {name} is not an object")
    return value


def guarantee_file(data):
    """Read the file of a guarantee, which has one of two layouts."""
    found = parsed(data)
    layouts = [written(found, indent=indent) + "\n" for indent in ("", "  ")]
    need(data in [layout.encode("utf-8") for layout in layouts], "its layout is another: it was changed")
    return checked_guarantee(found)


def seal(guarantee, payload):
    head = canonical_bytes({name: value for name, value in guarantee.items() if name != "digest"})
    return "sha256:" + sha256(len(head).to_bytes(8, "big") + head + payload)


# --------------------------------------------------------------------------------------------------------------- ledger

LAWS = {
    "laplace": ("l1", "rows", "scale"), "flip": ("l1", "rows", "scale"), "max-norm": ("linf", "rows", "scale"),
    "isotropic": ("l2_squared", "rows", "scale"), "choice": ("span", "rows", "scale"),
    "choices": ("span", "rows", "scale"), "privtree": ("l1", "rows", "scale", "bias"),
    "gaussian": ("l2_squared", "rows", "scale"), "selection": ("epsilon",), "sampling": ("epsilon",),
    "report": ("epsilon",),
}  # fmt: skip


def root_up(value):
    """Return a root that is rounded up to a multiple of 2^-40, divided by the denominator."""
    exact = value.numerator * value.denominator << 80
    root = math.isqrt(exact)
    return Fraction(root + (root * root < exact), value.denominator << 40)


def privtree_loss(scale, bias):
    a, total, j = math.exp(-1 / scale), 0.0, 0
    while j < 10_000_000:
        j += 1
        q = math.exp(-j * bias / scale)
        term = math.log1p(q * (1 - a) / (1 + a - q))
        total += term
        if term <= 2**-60 / scale:
            return 2 / scale + (total + 4 * term) * (1 + 2**-36)
    raise Unchecked("the sum of a privtree line is too long")


def draw_cost(draw, unit):
    """Return the cost of a draw in a unit, and the relative difference that is accepted."""
    need(isinstance(draw, dict) and draw.get("law") in LAWS, "the law of a draw is unknown")
    law = draw["law"]
    optional = {"law", "number"} | ({"delta"} if LAWS[law] == ("epsilon",) else set())
    need(set(LAWS[law]) <= set(draw) <= set(LAWS[law]) | optional, f"a draw of {law} has other fields")
    values = {name: rational(draw[name], name) for name in draw if name != "law"}
    need(all(value >= 0 for value in values.values()), "a number of a draw is negative")
    need(values.get("rows", 1) >= 1, "rows is below 1")
    need("delta" not in values or unit == "epsilon", "a draw with delta has no price in rho")
    if law == "gaussian":
        need(unit == "rho", "Gaussian noise has no price in epsilon")
        return over(values["l2_squared"] * values["rows"], 2 * values["scale"] ** 2), 0
    if LAWS[law] == ("epsilon",):
        cost, slack = values["epsilon"], 0
    elif law == "privtree":
        need(values["bias"] > 0, "bias is not positive")
        if values["scale"] == 0:
            cost, slack = INFINITE, 0
        else:
            cost = values["rows"] * Fraction(privtree_loss(nearest(values["scale"]), nearest(values["bias"])))
            slack = 1e-9
    else:
        size = root_up(values["l2_squared"]) if law == "isotropic" else values[LAWS[law][0]]
        cost, slack = over(size * values["rows"], values["scale"]), 0
    if unit == "rho":
        cost, slack = cost * cost / (8 if law == "choice" else 2), 2 * slack
    return cost, slack


def over(top, bottom):
    return INFINITE if bottom == 0 else top / bottom


def line_cost(line, unit, faults, outside):
    """Return what a line states that it costs; note what does not add up, what is not paid, and external lines."""
    need(isinstance(line, dict) and isinstance(line.get("label"), str), "a line has no label")
    content = set(line) - {"label", "amount", "kind"}
    need(len(content) == 1 and len(line) == 4, f"the line {line['label']} has missing or unknown fields")
    amount = rational(line["amount"], f"the amount of {line['label']}")
    need(amount > 0, f"the amount of {line['label']} is not positive")
    kind, (what,) = line["kind"], content
    if what == "parts":
        need(isinstance(line["parts"], list) and line["parts"], f"the parts of {line['label']} are not a list")
        need(kind in ("sequential", "parallel") or (kind == "pure" and unit == "rho"), f"{kind} is not a kind")
        costs = [line_cost(part, "epsilon" if kind == "pure" else unit, faults, outside) for part in line["parts"]]
        cost = max(costs) if kind == "parallel" else sum(costs)
        cost = cost * cost / 2 if kind == "pure" else cost
        if cost != amount:
            faults["ledger"].append(f"{line['label']} states {shown(amount)} and its parts cost {shown(cost)}")
        return amount
    need(kind in ("sequential", "parallel"), f"{kind} is not a kind")
    if what == "draws":
        need(isinstance(line["draws"], list), f"the draws of {line['label']} are not a list")
        for draw in line["draws"]:
            try:
                cost, slack = draw_cost(draw, unit)
            except Wrong as error:
                faults["draws"].append(f"{line['label']}: {error}")
                continue
            paid = cost <= amount if slack == 0 else nearest(cost) <= nearest(amount) * (1 + slack)
            if not paid:
                faults["draws"].append(f"{line['label']} pays {shown(amount)} for a draw that costs {shown(cost)}")
    else:
        need(what in ("unused", "external") and line[what] is True, f"the line {line['label']} has unknown fields")
        if what == "external":
            outside.append(line["label"])
    return amount


def epsilon_of_rho(rho, delta):
    if rho == 0:
        return 0.0
    if rho == INFINITE or delta == 0:
        return INFINITE
    log = math.log(delta)
    centre = math.sqrt(max(-log, 0.001) / rho)
    least = INFINITE
    for step in range(-3000, 3001):
        g = centre * 10 ** (step / 1000)
        least = min(least, rho * (1 + g) - math.log1p(1 / g) - (log + math.log1p(g)) / g)
    return max(least, 0.0) * (1 + 1e-9) + 1e-14


def check_ledger(guarantee, say):
    """Add the ledger up again, and check that each line pays for its draws."""
    if guarantee["model"] == "syntactic" and not guarantee["ledger"]:
        need(rational(guarantee["spent"], "spent") == 0, "nothing is in the ledger, and something was spent")
        say("ledger", NOTE, "does not apply: this promise has no privacy budget")
        return
    faults, outside, unit = {"ledger": [], "draws": []}, [], guarantee["accounting"]
    try:
        need(guarantee["ledger"], "the ledger is empty")
        total = sum(line_cost(line, unit, faults, outside) for line in guarantee["ledger"])
        spent = rational(guarantee["spent"], "spent")
        if total != spent:
            faults["ledger"].append(f"the lines cost {shown(total)}, and {shown(spent)} is stated")
        if guarantee["model"] != "syntactic":
            stated = guarantee["epsilon"]
            stated = INFINITE if stated == "inf" else number(stated, "epsilon")
            if unit == "epsilon":
                same, right = stated == nearest(spent), nearest(spent)
            else:
                right = epsilon_of_rho(nearest(spent), number(guarantee["delta"], "delta"))
                same = stated == right or abs(stated - right) <= 1e-8 * max(abs(right), abs(stated))
            if not same:
                faults["ledger"].append(f"epsilon is {right:.9g}, and {stated:.9g} is stated")
    except Wrong as error:
        faults["ledger"].append(str(error))
        total = 0
    lines = len(guarantee["ledger"])
    say("ledger", CONTRADICTED if faults["ledger"] else HOLDS,
        "; ".join(faults["ledger"]) or f"{lines} lines add up to the stated {shown(total)} ({unit})")  # fmt: skip
    say("draws", CONTRADICTED if faults["draws"] else HOLDS,
        "; ".join(faults["draws"]) or "each line pays for the noise that it states")  # fmt: skip
    if outside:
        say("external", NOT_CHECKED, f"charged by hand: {', '.join(outside)}")


# --------------------------------------------------------------------------------------------------------------- tables


def table_text(data, dialect):
    """Decode a CSV file."""
    name = dialect.get("encoding", "utf-8")
    need(name in ("utf-8", "utf-16", "latin-1", "windows-1252"), f"the encoding {name} is unknown")
    if name == "utf-8" and data.startswith(codecs.BOM_UTF8):
        data = data[3:]
    try:
        return data.decode(name)
    except UnicodeError:
        raise Wrong(f"it is not text in {name}") from None


def csv_rows(text, delimiter):
    """Read CSV: a list of rows of texts, with None for an empty field without quotes."""
    rows, row, at, end = [], [], 0, len(text)
    plain = re.compile(f'[^{re.escape(delimiter)}\r\n]*')
    while at < end or row:
        if text.startswith('"', at):
            parts, at = [], at + 1
            while True:
                close = text.find('"', at)
                need(close >= 0, "a quote is not closed")
                parts.append(text[at:close])
                at = close + 1
                if not text.startswith('"', at):
                    break
                parts.append('"')
                at += 1
            rest = plain.match(text, at)
            row.append("".join(parts) + rest.group())
            at = rest.end()
        else:
            found = plain.match(text, at)
            row.append(found.group() or None)
            at = found.end()
        if text.startswith(delimiter, at):
            at += 1
            continue
        rows.append(row)
        row = []
        at += 2 if text.startswith("\r\n", at) else 1
    return rows


def read_table(parts, parameters):
    """Return the columns of a table as lists of cells, by name."""
    dialect = parameters.get("csv", {})
    need(isinstance(dialect, dict), "parameters.csv is not an object")
    columns, names = {}, None
    for data in parts:
        rows = csv_rows(table_text(data, dialect), dialect.get("delimiter", ","))
        need(rows, "it has no first line with names")
        head = ["" if name is None else name for name in rows[0]]
        need(len(set(head)) == len(head), "a column name occurs twice")
        need(names in (None, head), "its parts have other columns")
        names = head
        for name in names:
            columns.setdefault(name, [])
        for row in rows[1:]:
            if row == [None] and len(names) > 1:
                continue
            need(len(row) == len(names), f"a row has {len(row)} fields instead of {len(names)}")
            for name, cell in zip(names, row):
                columns[name].append(cell)
    if parameters.get("formulas") == "escaped":
        for cells in columns.values():
            cells[:] = [c[1:] if c and re.match("'+[-=+@\t\r]", c) else c for c in cells]
    return columns


def decimal_key(text, mark):
    """Return one text for all spellings of a number, or None if it is not a number."""
    found = re.fullmatch(rf"([+-]?)(\d*)(?:{re.escape(mark)}(\d*))?(?:[eE]([+-]?\d{{1,6}}))?", text.strip(" "))
    if not found or not (found.group(2) or found.group(3)):
        return None
    sign, whole, part, power = found.groups()
    digits = (whole + (part or "")).lstrip("0")
    power = int(power or 0) - len(part or "")
    short = digits.rstrip("0")
    return f"{'-' if sign == '-' else ''}{short}e{power + len(digits) - len(short)}" if short else "0"


def moment_key(text):
    """Return one text for all spellings of a date or time, or None."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?", text.strip(" "))
    if not found:
        return None
    day, clock, seconds, part, zone = found.groups()
    return f"{day} {clock or '00:00'}{seconds or ':00'}{(part or '').rstrip('0').rstrip('.')}{zone or ''}"


def same_cells(cells, declared, mark):
    """Number the cells of a column for grouping: equal numbers for cells that are the same."""
    keys = cells
    if "categories" not in declared and declared.get("kind") != "code":
        numbers = [cell if cell is None else decimal_key(cell, mark) for cell in cells]
        if all(key is not None for key, cell in zip(numbers, cells) if cell is not None):
            keys = numbers
    return keys


def kind_of(declared, cells, mark):
    if "categories" in declared:
        return "category"
    bounds = declared.get("bounds")
    if isinstance(bounds, list) and bounds:
        return "number" if isinstance(bounds[0], Number) else "moment"
    numbers = all(decimal_key(cell, mark) is not None for cell in cells if cell is not None)
    return "number" if numbers and declared.get("kind") != "code" else "category"


def values_in_order(cells, declared, mark):
    """Number sensitive values as for l and t; return the numbers, how many there are, and the kind."""
    kind = kind_of(declared, cells, mark)
    if kind == "category":
        names = {str(c.text if isinstance(c, Number) else c): i for i, c in enumerate(declared.get("categories", []))}
        keys = [c if c is None or c in names else c.strip() if c.strip() in names else c for c in cells]
        order = lambda key: (names.get(key, len(names)), key)  # noqa: E731
    elif kind == "number":
        keys = [c if c is None else decimal_key(c, mark) or c for c in cells]
        order = lambda key: (nearest_text(key), key)  # noqa: E731
    else:
        keys = [c if c is None else moment_key(c) or c for c in cells]
        order = lambda key: key  # noqa: E731
    found = sorted({key for key in keys if key is not None}, key=order)
    numbers = {key: i for i, key in enumerate(found)}
    numbers[None] = len(found)
    return [numbers[key] for key in keys], len(found) + (None in keys), kind


def nearest_text(text):
    try:
        return float(text)
    except ValueError:
        return INFINITE


def entries(value, what):
    """Return an object of the parameters, which may be absent."""
    need(value is None or isinstance(value, dict), f"{what} is not an object")
    return value or {}


def names_of(value, what):
    need(value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value)),
         f"{what} is not a list of names")  # fmt: skip
    return value or []


class Table:
    """An anonymous table with its promise: roles, groups, and what is counted again."""

    def __init__(self, columns, guarantee):
        self.columns, self.promise = columns, guarantee["parameters"]
        self.declared = entries(entries(guarantee["domain"], "domain").get("columns"), "domain.columns")
        self.unit = entries(guarantee["domain"], "domain").get("unit")
        self.mark = entries(self.promise.get("csv"), "parameters.csv").get("decimal", ".")
        self.rows = len(next(iter(columns.values()), []))
        self.required = entries(self.promise.get("required"), "required")
        self.reached = entries(self.promise.get("reached"), "reached")
        self.kept_facts = entries(self.promise.get("kept"), "kept")
        self.kept = names_of(self.kept_facts.get("columns"), "kept.columns")
        listed = names_of(self.promise.get("quasi_identifiers"), "quasi_identifiers")
        by_role = [name for name in self.declared if self.role(name) == "quasi-identifier"]
        stated = [*entries(self.reached.get("l"), "reached.l"), *entries(self.reached.get("t"), "reached.t")]
        stated += [n for n in self.declared if self.role(n) == "sensitive" and n not in self.kept]
        self.quasi = list(dict.fromkeys([*listed, *by_role]))
        if not self.quasi:
            self.quasi = [n for n in self.declared
                          if self.role(n) == "attribute" and n not in stated and n not in self.kept]  # fmt: skip
        self.unlisted = [n for n in by_role if n not in listed and self.shown_by(n)]
        self.sensitive = [n for n in dict.fromkeys(stated) if n not in self.quasi and n in columns]

    def role(self, name):
        return self.declared[name].get("role")

    def shown_by(self, name):
        """Return the columns that show a quasi-identifier."""
        if name in self.columns:
            return [name]
        ends = ("_lower", "_upper", "_set", "_may_be_missing")
        return [name + end for end in ends if name + end in self.columns and name + end not in self.declared]

    def check_columns(self):
        """Check that every column has a role, and the number of rows."""
        for name in self.unlisted:
            raise Wrong(f"{name} is declared a quasi-identifier, and the promise leaves it out")
        shows = {column for name in self.quasi for column in self.shown_by(name)}
        for name, cells in self.columns.items():
            if name in self.declared and self.role(name) in ("identifier", "person"):
                hashed = self.promise.get("identifiers") == "hash"
                need(hashed and all(is_hex(cell, 16) for cell in cells if cell is not None),
                     f"column {name} identifies people")  # fmt: skip
            elif name not in shows:
                need(name in self.declared, f"column {name} is not declared")
                need(name in self.sensitive or name in self.kept, f"column {name} has no role in the promise")
        if "rows" in self.promise:
            stated = integer(self.promise["rows"], "rows")
            need(self.rows == stated, f"it has {self.rows} rows, and {stated} are stated")

    def groups(self, columns):
        """Group the rows: lists of row numbers."""
        keys = [same_cells(self.columns[n], self.declared.get(n, {}), self.mark) for n in columns]
        found = defaultdict(list)
        for row in range(self.rows):
            found[tuple(key[row] for key in keys)].append(row)
        return list(found.values())

    def recount(self):
        """Count k, l and t again. Return what was found; raise at the first contradiction."""
        quasi = [column for name in self.quasi for column in self.shown_by(name)]
        if self.promise.get("output") == "sample":
            raise Unchecked("rows were drawn from groups: k, l and t cannot be counted in them")
        if self.required.get("k_by_columns") is not None:
            return self.recount_by_columns()
        if self.required.get("k") is None:
            if self.required.get("probabilistic_k") is not None:
                raise Unchecked("k holds with a probability: it cannot be counted")
            return "no k is promised"
        if not self.rows:
            return "no rows"
        groups, later = self.groups(quasi), []
        k = self.count_k(groups, later)
        told = [f"{self.rows} rows", f"{len(groups)} groups", f"k {k}"]
        if "cells" in self.promise:
            most = integer(self.promise["cells"], "cells")
            need(len(groups) <= most, f"it has {len(groups)} groups, and {most} cells are stated")
        if self.kept:
            self.count_kept(quasi)
        if not self.sensitive:
            need(self.required.get("l") is None and self.required.get("t") is None, "no sensitive column is there")
        for name in self.sensitive:
            told += self.count_values(name, groups, later)
        if later:
            raise Unchecked("; ".join(dict.fromkeys(later)))
        return ", ".join(told)

    def recount_by_columns(self):
        if not self.rows:
            return "no rows"
        asked = entries(self.required["k_by_columns"], "k_by_columns")
        least = integer(asked.get("least"), "k_by_columns.least")
        stated = entries(self.reached.get("k_by_columns"), "reached.k_by_columns").get("least")
        lists = asked.get("columns")
        need(isinstance(lists, list), "k_by_columns has no columns")
        smallest = []
        for names in lists:
            columns = [column for name in names_of(names, "k_by_columns") for column in self.shown_by(name)]
            smallest.append(min(len(group) for group in self.groups(columns)))
            need(smallest[-1] >= least, f"k of {names} is {smallest[-1]}, required {least}")
            if stated is not None:
                need(smallest[-1] >= integer(stated, "least"), f"k of {names} is {smallest[-1]}, less than stated")
        for name in self.quasi:
            need(any(name in names for names in lists), f"{name} is in no list of columns")
        return f"{self.rows} rows, k by columns {min(smallest, default=0)}"

    def count_k(self, groups, later):
        required = integer(self.required["k"], "required.k")
        reached = self.reached.get("k")
        least = required if reached is None else max(required, integer(reached, "reached.k"))
        if reached is not None:
            need(integer(reached, "reached.k") >= required, "the stated k is less than the required one")
        k = min(len(group) for group in groups)
        counts = self.promise.get("k_counts")
        if counts is not None:
            person = re.search(r"'(.*)'$", str(counts))
            cells = self.columns.get(person.group(1)) if person else None
            if cells is not None and self.promise.get("identifiers") == "hash":
                k = min(len({cells[row] for row in group}) for group in groups)
                most = self.reached.get("largest_share")
                share = max(max(Counter(cells[row] for row in group).values()) / len(group) for group in groups)
                if most is not None:
                    need(share <= number(most, "largest_share") + 1e-6, f"one person has {share:.4g} of a group")
            else:
                later.append("k counts persons, who are not in the table")
        need(k >= least, f"k is {k}, and {least} is required or stated")
        return k

    def count_kept(self, quasi):
        groups = self.groups([*quasi, *(n for n in self.kept if n in self.columns and n not in quasi)])
        if self.kept_facts.get("k") is not None:
            least = integer(self.kept_facts["k"], "kept.k")
            need(min(map(len, groups)) >= least, f"with kept columns k is {min(map(len, groups))}, stated {least}")
        if self.kept_facts.get("unique") is not None:
            alone = sum(len(group) == 1 for group in groups) / self.rows
            need(alone <= number(self.kept_facts["unique"], "kept.unique") + 1e-6, f"{alone:.4g} of the rows are alone")

    def count_values(self, name, groups, later):
        """Count l and t of one sensitive column."""
        values, m, kind = values_in_order(self.columns[name], self.declared.get(name, {}), self.mark)
        asked_l, asked_t = entries(self.required.get("l"), "required.l"), entries(self.required.get("t"), "required.t")
        tables = [Counter(values[row] for row in group) for group in groups]
        persons = asked_l.get("counts") == "persons" or asked_t.get("counts") == "persons" or (
            "k_counts" in self.promise and isinstance(self.unit, dict))  # fmt: skip
        l_kind = asked_l.get("kind") or self.reached.get("l_kind") or "distinct"
        least = number(asked_l["least"], "required.l.least") if "least" in asked_l else None
        if persons:
            if asked_l and least is not None:
                fewest = min(len(t) for t in tables)
                need(fewest >= least, f"{name} has {fewest} values in a group, required {least:g}")
            later.append("l and t count persons")
            return []
        found = l_of(tables, l_kind, least)
        same = self.reached.get("l_kind") in (None, l_kind)
        stated = entries(self.reached.get("l"), "reached.l").get(name) if same else None
        if l_kind == "recursive":
            if asked_l:
                most = number(asked_l["c"], "required.l.c") if asked_l.get("c") is not None else 3
                need(found < most, f"l of {name} is {found:.4g}, required below {most:g}")
            if stated is not None:
                need(found <= number(stated, "reached.l") + 1e-6, f"l of {name} is {found:.4g}, more than stated")
        else:
            if asked_l:
                need(least is not None, "required.l has no least")
                need(found >= least - 1e-6, f"l of {name} is {found:.4g}, required {least:g}")
            if stated is not None:
                need(found >= number(stated, "reached.l") - 1e-6, f"l of {name} is {found:.4g}, less than stated")
        return [f"l of {name} {found:.4g}", *self.count_t(name, values, m, kind, tables, asked_t, later)]

    def count_t(self, name, values, m, kind, tables, asked, later):
        usual = "equal" if kind == "category" else "ordered"
        reached_kind = entries(self.reached.get("t_kind"), "reached.t_kind").get(name)
        t_kind = asked.get("kind", "auto") if asked else reached_kind or "auto"
        t_kind = usual if t_kind == "auto" else t_kind
        whole, distance = Counter(values), 0.0
        for table in tables:
            n, gone, total = sum(table.values()), 0.0, 0.0
            for i in sorted(whole):
                p = table[i] / n - whole[i] / self.rows
                gone += p
                total += abs(gone) / max(m - 1, 1) if t_kind == "ordered" else abs(p) / 2
            distance = max(distance, total)
        limits = []
        if asked.get("most") is not None:
            limits.append(number(asked["most"], "required.t.most"))
        stated = entries(self.reached.get("t"), "reached.t").get(name)
        if stated is not None and reached_kind in (None, t_kind):
            limits.append(number(stated, "reached.t"))
        if any(distance > limit + 1e-6 for limit in limits):
            if t_kind not in ("equal", "ordered"):
                later.append(f"t of {name} follows a hierarchy that is not in the guarantee")
            else:
                raise Wrong(f"t of {name} is {distance:.4g}, allowed is {min(limits):.4g}")
        return [f"t of {name} {distance:.4g}"]


def l_of(tables, kind, least):
    if kind == "distinct":
        return min(len(table) for table in tables)
    if kind == "entropy":
        return min(math.exp(-sum(n / sum(t.values()) * math.log(n / sum(t.values())) for n in t.values()))
                   for t in tables)  # fmt: skip
    need(kind == "recursive", f"the kind {kind} of l is unknown")
    skip = max(int(least or 1) - 1, 0)
    worst = 0.0
    for table in tables:
        counts = sorted(table.values(), reverse=True)
        rest = sum(counts[skip:])
        worst = max(worst, counts[0] / rest if rest else INFINITE)
    return worst


# -------------------------------------------------------------------------------------------------------------- account

RESERVE = ("entry", "price", "delta", "job", "asked", "task", "when", "who")
EVENTS = {
    "open": ("format", "version", "dataset", "unit", "epsilon", "rho", "delta", "when", "who"),
    "reserve": RESERVE,
    "book": ("entry", "price", "delta", "digest", "steps", "seeded", "when"),
    "spend": (*RESERVE, "digest", "steps", "seeded", "state"),
    "file": ("entry", "name", "digest", "when", "who"),
    "note": ("entry", "text", "when", "who"),
    "close": ("when", "who"),
    "repair": ("dropped",),
}


class Account:
    """An account: its chain is followed and its rules are checked line by line."""

    def __init__(self, data):
        self.hashes, self.entries, self.digests, self.balances = [], {}, {}, {}
        self.closed, self.opened = False, None
        for line in data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]:
            self.add(line)
        need(self.opened, "it has no first line")

    def add(self, line):
        need(len(line) < 2**20, "a line is too long")
        text, blank, digest = line.rpartition(b" ")
        need(blank and sha256(text).encode() == digest, "a line does not match its hash")
        event = parsed(text)
        need(isinstance(event, dict) and event.get("kind") in EVENTS, "an event is unknown")
        kind = event["kind"]
        terms = ("terms",) if kind in ("reserve", "book", "spend") and "terms" in event else ()
        fields(event, ("after", "kind", *EVENTS[kind], *terms), f"a line {kind}")
        need(event["after"] == (self.hashes[-1] if self.hashes else "0" * 64), "a line does not follow the one before")
        need((kind == "open") == (self.opened is None), "it is not opened once, in its first line")
        self.hashes.append(digest.decode())
        getattr(self, kind, lambda event: None)(event)
        self.balances[self.hashes[-1]] = self.spent()

    def spent(self):
        return sum((entry["price"] for entry in self.entries.values()), Fraction(0))

    def open(self, event):
        need(event["format"] == "discreet.account" and event["version"] == Number("1"), "it is not an account")
        need(isinstance(event["dataset"], str), "its dataset has no name")
        need((event["epsilon"] is None) != (event["rho"] is None), "it is in one of epsilon and rho")
        self.currency = "epsilon" if event["rho"] is None else "rho"
        self.limit = rational(event[self.currency], "its limit")
        self.delta = rational(event["delta"], "its delta")
        need(self.limit >= 0 and 0 <= self.delta < 1, "its limit is negative")
        self.opened = event

    def charge(self, number_of, event):
        price, delta = rational(event["price"], "a price"), rational(event["delta"], "a delta")
        need(price >= 0 and delta >= 0, "a price is negative")
        need("terms" not in event or price == 0, "a release with terms has a price")
        self.entries[number_of] = {"price": price, "delta": delta, "reserve": self.hashes[-1], "booked": False,
                                   "terms": "terms" in event}  # fmt: skip
        need(self.spent() <= self.limit, "more is spent than its limit")
        deltas = sum((entry["delta"] for entry in self.entries.values()), Fraction(0))
        need(deltas <= self.delta if self.currency == "epsilon" else deltas == 0, "more delta is spent than it has")

    def name_digest(self, entry, event):
        if event["digest"] is not None:
            need(is_seal(event["digest"]), "a digest is not a seal")
            need(event["digest"] not in self.digests, "a digest occurs twice")
            self.digests[event["digest"]] = entry

    def reserve(self, event):
        need(not self.closed, "it was closed")
        need(integer(event["entry"], "an entry") == len(self.entries) + 1, "its entries are not numbered in order")
        need(isinstance(event["asked"], dict), "what was asked is not an object")
        self.charge(len(self.entries) + 1, event)

    def book(self, event):
        number_of = integer(event["entry"], "an entry")
        entry = self.entries.get(number_of)
        need(entry and not entry["booked"], "an entry is booked that is not reserved")
        price, delta = rational(event["price"], "a price"), rational(event["delta"], "a delta")
        need(price <= entry["price"] and delta <= entry["delta"], "more is booked than was reserved")
        before = entry["reserve"]
        self.charge(number_of, event)
        self.entries[number_of].update(booked=True, reserve=before)
        self.name_digest(number_of, event)

    def spend(self, event):
        need(event["state"] in ("answered", "added"), "a state is unknown")
        self.reserve(event)
        self.entries[len(self.entries)]["booked"] = True
        self.name_digest(len(self.entries), event)

    def file(self, event):
        entry = self.entries.get(integer(event["entry"], "an entry"))
        need(entry and entry["booked"], "a file is of an entry that is not booked")
        self.name_digest(event["entry"].value, event)

    def note(self, event):
        need(integer(event["entry"], "an entry") in self.entries, "a note is about an unknown entry")

    def close(self, event):
        need(not self.closed, "it is closed twice")
        self.closed = True

    def has(self, head):
        return isinstance(head, str) and head[:7] == "sha256:" and head[7:] in self.hashes

    def check_release(self, guarantee):
        """Check that the account knows a release, and that its price covers it."""
        named = entries(guarantee["parameters"].get("account"), "parameters.account")
        if named:
            need(named.get("dataset") == self.opened["dataset"], "it was charged to the account of another dataset")
            need(self.has(named.get("head")), "the account has not the line that reserved its price: it was cut back, "
                 "is an older copy, or another account")  # fmt: skip
        number_of = self.digests.get(guarantee["digest"])
        need(number_of is not None, "the account does not know this file")
        entry = self.entries[number_of]
        if named:
            need(entry["reserve"] == named["head"][7:], "its price was reserved in another line")
        if not entry["terms"]:
            spent = rational(guarantee["spent"], "spent")
            if guarantee["accounting"] == "epsilon" and self.currency == "rho":
                spent = spent * spent / 2
            elif guarantee["accounting"] == "rho" and self.currency == "epsilon":
                spent = Fraction(number(guarantee["epsilon"], "epsilon"))
            need(entry["price"] >= spent, f"its price {shown(entry['price'])} does not cover {shown(spent)}")
        return f"the account knows it as entry {number_of}"


# ----------------------------------------------------------------------------------------------------------------- page


def page_part(text, name):
    """Return what a page carries under a name, and where."""
    found = list(re.finditer(f"<meta name=\"discreet-{name}\" content='([^<>']*)'>", text))
    need(len(found) == 1 and text.count(f'"discreet-{name}"') == 1, f"the page has not one {name}")
    return html.unescape(found[0].group(1)), found[0].span(1)


def page_without(text, *names):
    for name in names:
        start, end = page_part(text, name)[1]
        text = text[:start] + text[end:]
    return text


class Page:
    """A page with the facts that it carries."""

    def __init__(self, data):
        try:
            self.text = data.decode("utf-8")
        except UnicodeError:
            raise Wrong("it is not text in UTF-8") from None
        if "discreet-facts" not in self.text:
            raise Unchecked("it carries no facts: it is not a page of a release")
        facts = page_part(self.text, "facts")[0]
        self.signature = page_part(self.text, "signature")[0]
        self.signed_hash = sha256(page_without(self.text, "signature").encode("utf-8"))
        self.facts = parsed(facts)
        need(isinstance(self.facts, dict), "its facts are not an object")
        need(self.facts.get("format") == "discreet.page", "its facts are not those of a page")
        if self.facts.get("format_version") != Number("1"):
            raise Unchecked("it is of another version of the format")
        bare = page_without(self.text, "facts", "signature")
        need(self.facts.get("shown") == sha256(bare.encode("utf-8")), "the page was edited: it shows something else "
             "than what was written")  # fmt: skip

    def check_file(self, payload, guarantee):
        facts, promise = self.facts, entries(self.facts.get("promise"), "promise")
        need(facts.get("bytes") == Number(str(len(payload))), "the page states another size than that of the file")
        if guarantee is None:
            return
        rho = rational(guarantee["spent"], "spent") if guarantee["accounting"] == "rho" else None
        for name in ("model", "epsilon", "delta", "unit"):
            need(promise.get(name) == guarantee[name], f"the page states another promise than the file: {name}")
        stated = promise.get("rho")
        same = stated is None if rho is None else stated == "inf" if rho == INFINITE else (
            isinstance(stated, Number) and nearest(stated.value) == nearest(rho))  # fmt: skip
        need(same, "the page states another promise than the file: rho")
        for name in ("seeded", "digest"):
            need(facts.get(name) == guarantee[name], f"the page states another {name} than the file")

    def check_account(self, account):
        facts = self.facts.get("account")
        if facts is None:
            return
        need(isinstance(facts, dict), "its account is not an object")
        need(facts.get("dataset") == account.opened["dataset"], "the page names the account of another dataset")
        head = facts.get("head")
        need(account.has(head), "the account has not the head on the page: it was cut back, is an older copy, or "
             "another account")  # fmt: skip
        spent = account.balances[head[7:]]
        for name, value in (("total", account.limit), ("spent", spent), ("remaining", account.limit - spent)):
            if facts.get(name) is not None:
                stated = INFINITE if facts[name] == "inf" else number(facts[name], name)
                close = stated == nearest(value) or abs(stated - nearest(value)) <= 1e-9 * max(1, nearest(value))
                need(close, f"the page states another {name} than the account")


# ----------------------------------------------------------------------------------------------------------- signatures


def signed_files(value, what):
    need(isinstance(value, list), f"{what} is not a list")
    for item in value:
        fields(item, ("name", "sha256"), f"an item of {what}")
        need(isinstance(item["name"], str) and is_hex(item["sha256"], 64), f"an item of {what} has no hash")
    return value


class Signature:
    """A signature: its fields are checked at once, its bytes by `holds`."""

    def __init__(self, value):
        fields(value, ("format", "format_version", "statement", "public_key", "signature"), "the signature")
        need(value["format"] == "discreet.signature" and value["format_version"] == Number("1"), "it is no signature")
        need(value["format_version"].whole, "its version is unknown")
        need(is_hex(value["public_key"], 64) and is_hex(value["signature"], 128), "its key or signature is damaged")
        self.statement = told = value["statement"]
        names = ("about", "files", "pages", "guarantee", "account", "version", "time", "name", "key")
        fields(told, names, "the statement")
        need(told["about"] in ("release", "account"), "it is about something unknown")
        for name in ("version", "time", "name"):
            need(isinstance(told[name], str), f"{name} is not a text")
        self.files, self.pages = signed_files(told["files"], "files"), signed_files(told["pages"], "pages")
        need(told["about"] == "release" or not (self.files or self.pages), "a signed head has no files")
        need(told["guarantee"] is None or is_hex(told["guarantee"], 64), "its guarantee is not a hash")
        self.account = told["account"]
        if self.account is not None:
            fields(self.account, ("dataset", "entry", "head"), "its account")
            need(isinstance(self.account["dataset"], str) and is_seal(self.account["head"]), "its account is damaged")
            need(self.account["entry"] is None or integer(self.account["entry"], "entry") >= 0, "its entry is negative")
        self.key, self.signature = bytes.fromhex(value["public_key"]), bytes.fromhex(value["signature"])
        self.fingerprint = sha256(self.key)
        need(told["key"] == self.fingerprint, "its fingerprint is not that of its public key")

    def bytes(self):
        told, account = self.statement, self.account or {"dataset": None, "entry": None, "head": None}
        listed = [("F", bytes.fromhex(f["sha256"]) + f["name"].encode("utf-8")) for f in self.files]
        listed += [("P", bytes.fromhex(f["sha256"]) + f["name"].encode("utf-8")) for f in self.pages]
        text = lambda value: None if value is None else str(getattr(value, "text", value)).encode("utf-8")  # noqa: E731
        raw = lambda value: None if value is None else bytes.fromhex(value)  # noqa: E731
        parts = [("A", text(told["about"])), *listed, ("G", raw(told["guarantee"])), ("D", text(account["dataset"])),
                 ("E", text(account["entry"])), ("H", text(account["head"])), ("V", text(told["version"])),
                 ("T", text(told["time"])), ("N", text(told["name"])), ("K", raw(told["key"]))]  # fmt: skip
        told = b"discreet.statement\x01"
        for kind, value in parts:
            if value is not None:
                told += kind.encode() + len(value).to_bytes(8, "big") + value
        return told

    def check(self):
        if Ed25519PublicKey is None:
            raise Unchecked("signatures need the package `cryptography`")
        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(self.signature, self.bytes())
        except (InvalidSignature, ValueError):
            raise Wrong("the signature is not one of this statement") from None


def public_key(data):
    """Read a public key: its fingerprint and its name."""
    value = parsed(data)
    fields(value, ("format", "format_version", "algorithm", "name", "public_key", "fingerprint"), "the key")
    need(value["format"] == "discreet.key" and value["algorithm"] == "ed25519", "it is not a public key")
    need(is_hex(value["public_key"], 64), "its public key is damaged")
    need(value["fingerprint"] == sha256(bytes.fromhex(value["public_key"])), "its fingerprint is another")
    return value["fingerprint"], value["name"]


# ---------------------------------------------------------------------------------------------------------- other files


def synopsis(data):
    """Check the checksum of a synopsis and return the guarantee inside."""
    mark = data.rfind(b"discreet-file-sha256:") + 21
    need(mark > 20 and data.endswith(b"PAR1"), "it is not whole")
    blank = data[:mark] + b"0" * 64 + data[mark + 64 :]
    need(data[mark : mark + 64] == sha256(blank).encode(), "the file is not the one that was written")
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[max(len(data) - 8 - size, 0) : -8]
    at = footer.find(b"discreet.guarantee\x18") + 19
    need(at > 18, "it has no guarantee")
    length, shift = 0, 0
    while True:
        need(at < len(footer) and shift < 64, "its guarantee is damaged")
        byte, at = footer[at], at + 1
        length, shift = length | (byte & 127) << shift, shift + 7
        if byte < 128:
            break
    return checked_guarantee(parsed(footer[at : at + length]))


def messages(data):
    """Check the messages of a file of local reports or counts; return what each says."""
    told, at = [], 0
    need(data, "it is empty")
    while at < len(data):
        need(data[at : at + 4] == b"DSCL" and len(data) >= at + 60, "a message is cut or damaged")
        version, kind, flags, zero = data[at + 4 : at + 8]
        need(version == 1 and kind in (1, 2, 3) and flags < 2 and zero == 0, "a message has an unknown form")
        head = int.from_bytes(data[at + 8 : at + 12], "little")
        body = at + 12 + head
        need(len(data) >= body + 16 + 32, "a message is cut")
        reports = int.from_bytes(data[body : body + 8], "little")
        length = int.from_bytes(data[body + 8 : body + 16], "little")
        end = body + 16 + length
        need(len(data) >= end + 32, "a message is cut")
        need(hashlib.sha256(data[at:end]).digest() == data[end : end + 32], "a message does not match its checksum")
        header = parsed(data[at + 12 : body])
        need(isinstance(header, dict) and isinstance(header.get("mechanism"), str), "a message names no mechanism")
        need(kind != 1 or (length % reports == 0 if reports else length == 0), "its reports are of unequal length")
        told.append((("reports", "counts", "a bitmap")[kind - 1], reports, header, bool(flags)))
        at = end + 32
    return told


# -------------------------------------------------------------------------------------------------------------- verdict


class Given:
    """A file that was given: its payload and, if it has one, its guarantee."""

    def __init__(self, path):
        self.path, self.name, self.guarantee = path, os.path.basename(os.path.normpath(path)), None
        if os.path.isdir(path):
            names = sorted(n for n in os.listdir(path) if n[0] not in "._")
            self.parts = [(n, read(os.path.join(path, n))) for n in names]
        else:
            self.parts = [(self.name, read(path))]
        self.payload = b"".join(data for _, data in self.parts)
        self.hash = sha256(self.payload)
        beside = self.path.rstrip("/") + ".guarantee.json"
        self.beside = read(beside) if os.path.exists(beside) else None

    def signed_as(self):
        """Return the names and hashes under which it can be signed: itself and the guarantee next to it."""
        yield self.name, self.hash
        if self.beside is not None:
            yield self.name + ".guarantee.json", sha256(self.beside)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from None


class Verdict:
    """All answers about what was given."""

    def __init__(self):
        self.answers, self.promises, self.rests = [], [], ""

    def say(self, about, check, result, detail):
        self.answers.append({"about": about, "check": check, "result": result, "detail": detail})

    def attempt(self, about, check, action, text=None):
        """Do a check and note how it ended; return what it returns."""
        try:
            found = action()
        except Wrong as error:
            self.say(about, check, CONTRADICTED, str(error))
            return None
        except Unchecked as error:
            self.say(about, check, NOT_CHECKED, str(error))
            return None
        if text is not None or isinstance(found, str):
            self.say(about, check, HOLDS, text or found)
        return found

    @property
    def code(self):
        results = {answer["result"] for answer in self.answers}
        return 1 if CONTRADICTED in results else 2 if NOT_CHECKED in results else 0

    def to_dict(self):
        words = ("holds", "contradicted", "not checked")[self.code]
        return {"verdict": words, "code": self.code, "promises": self.promises, "checks": self.answers,
                "rests_on": self.rests}  # fmt: skip


def check_file(verdict, file):
    """Check one file by itself: seal, promise, ledger, and for a table its columns, k, l and t."""
    name, data = file.name, file.payload
    if len(file.parts) == 1 and data.startswith(b"PAR1") and file.beside is None:
        file.guarantee = verdict.attempt(name, "checksum", lambda: synopsis(data))
        if file.guarantee is not None:
            verdict.say(name, "checksum", HOLDS, "the file is identical to the one that was written")
    elif data.startswith(b"DSCL"):
        check_messages(verdict, file)
        return
    elif file.beside is None:
        verdict.say(name, "promise", NOT_CHECKED, f"it has no guarantee: {name}.guarantee.json is not there")
    else:
        file.guarantee = verdict.attempt(name, "promise", lambda: guarantee_file(file.beside))
    if file.guarantee is None:
        return
    promise = file.guarantee
    verdict.promises.append({"file": name, "promise": sentence(promise), "digest": promise["digest"]})
    verdict.attempt(name, "ledger", lambda: check_ledger(promise, lambda *words: verdict.say(name, *words)))
    seeded = promise["seeded"]
    verdict.say(name, "seed", CONTRADICTED if seeded else HOLDS,
                "the noise was seeded: nothing is protected" if seeded else "not seeded")  # fmt: skip
    if file.beside is None:
        return
    sealed = promise["digest"] is not None and seal(promise, data) == promise["digest"]
    verdict.say(name, "seal", HOLDS if sealed else CONTRADICTED, "the table matches the seal" if sealed else
                "table or promise was changed after it was written")  # fmt: skip
    if data.startswith((b"PAR1", b"PK\x03\x04")) or file.parts[0][1].startswith(b"PAR1"):
        verdict.say(name, "recount", NOT_CHECKED, "the rows of Parquet and Excel files are not read here")
        return
    parts = [part for part_name, part in file.parts if len(file.parts) == 1 or part_name.startswith("part-")]
    columns = verdict.attempt(name, "domain", lambda: read_table(parts, promise["parameters"]))
    if columns is None:
        return
    verdict.attempt(name, "domain", lambda: check_domain(columns, promise))
    verdict.say(name, "cells", NOTE, "not checked here: that each cell is one of its declaration")
    if promise["model"] == "syntactic":
        verdict.attempt(name, "recount", lambda: "counted again: " + Table(columns, promise).recount())


def check_domain(columns, promise):
    rows = len(next(iter(columns.values()), []))
    if promise["model"] == "syntactic":
        Table(columns, promise).check_columns()
    else:
        declared = entries(promise["domain"], "domain").get("columns", {})
        for name in columns:
            need(name in declared, f"column {name} is not declared")
    return f"{rows} rows; all {len(columns)} columns are declared"


def check_messages(verdict, file):
    told = verdict.attempt(file.name, "checksum", lambda: messages(file.payload))
    if told is None:
        return
    verdict.say(file.name, "checksum", HOLDS, f"{len(told)} messages are whole")
    seeded = any(flag for _, _, _, flag in told)
    verdict.say(file.name, "seed", CONTRADICTED if seeded else HOLDS,
                "the noise was seeded: nothing is protected" if seeded else "not seeded")  # fmt: skip
    for what, reports, header, _ in told:
        epsilon = getattr(header.get("epsilon"), "text", header.get("epsilon"))
        text = f"{what} of {header['mechanism']} with epsilon {epsilon}, {reports} in number"
        verdict.promises.append({"file": file.name, "promise": text, "digest": None})
    verdict.say(file.name, "mechanism", NOT_CHECKED, "the parameters of local mechanisms are not read here")


def sentence(promise):
    """Say what is promised to whom."""
    if promise["model"] == "syntactic":
        required = promise["parameters"].get("required")
        k = required.get("k") if isinstance(required, dict) else None
        what = f"k = {k.text}" if isinstance(k, Number) else "no k over all quasi-identifiers"
        return f"{what}; no differential privacy. The unit is {promise['unit']}."
    epsilon = promise["epsilon"] if promise["epsilon"] == "inf" else shown(promise["epsilon"].value)
    delta = "" if promise["delta"].value == 0 else f", delta = {promise['delta'].text}"
    return (f"differential privacy ({promise['model']} model) with epsilon = {epsilon}{delta}. The unit is "
            f"{promise['unit']}; neighbours: {promise['neighbours']}.")  # fmt: skip


def verify(paths, page=None, account=None, keys=(), heads=()):
    """Check everything that was given and return the verdict."""
    verdict = Verdict()
    known = dict(public_key_of(key) for key in keys)
    paths = list(paths)
    signatures = [(os.path.basename(path), read(path)) for path in paths if path.endswith(".signature.json")]
    pages = [path for path in paths if path.endswith((".html", ".htm"))] + ([page] if page else [])
    skip = (".signature.json", ".guarantee.json", ".html", ".htm")
    files = [Given(path) for path in paths if not path.endswith(skip)]
    if not files and not pages and not account:
        raise Usage("give the file that was released")
    for near in [*(file.path.rstrip("/") for file in files), *([account] if account else [])]:
        place = near + ".signature.json"
        if os.path.exists(place) and os.path.basename(place) not in dict(signatures):
            signatures.append((os.path.basename(place), read(place)))
    for file in files:
        check_file(verdict, file)
    read_pages = []
    for path in pages:
        name, data = os.path.basename(path), read(path)
        found = verdict.attempt(name, "page", lambda data=data: Page(data))
        if found is not None:
            read_pages.append((name, found))
            if found.signature:
                signatures.append((name, found.signature.encode("utf-8")))
    book = None
    if account:
        book = verdict.attempt(os.path.basename(account), "account", lambda: Account(read(account)))
    valid = check_signatures(verdict, signatures, files, read_pages, book, known, account)
    for name, found in read_pages:
        check_page(verdict, name, found, files, book, valid, known)
    check_account(verdict, files, book, heads, account, valid)
    signers = {s.fingerprint for s in valid}
    trusted = [f"the owner of key {key[:16]}…" for key in signers & set(known)]
    others = [f"the owner of key {key[:16]}…, who is unknown to you" for key in signers - set(known)]
    verdict.rests = ("That the noise was drawn as stated, and that the ledger is complete, cannot be seen in a file: it "
                     f"rests on {'; '.join(trusted or others) or 'the maker of the files, which are not signed'}.")
    return verdict


def public_key_of(path):
    try:
        return public_key(read(path))
    except Wrong as error:
        raise Usage(f"{path}: {error}") from None


def check_signatures(verdict, signatures, files, pages, book, known, account):
    """Check all signatures and what they are about; return those that are valid."""
    valid, about = [], {}
    for name, data in signatures:
        found = verdict.attempt(name, "signature", lambda data=data: Signature(parsed(data)))
        if found is None:
            continue
        try:
            found.check()
        except Wrong as error:
            verdict.say(name, "signature", CONTRADICTED, str(error))
            continue
        except Unchecked as error:
            verdict.say(name, "signature", NOT_CHECKED, str(error))
            continue
        told = found.statement
        if found.fingerprint in known:
            text = f"signed {told['time']} with key {found.fingerprint}, which you know as {known[found.fingerprint]}"
            verdict.say(name, "key", HOLDS, text)
        else:
            text = f"signed {told['time']} with key {found.fingerprint}, which is unknown; it calls itself {told['name']}"
            verdict.say(name, "key", NOTE, text)
            if told["name"] in known.values():
                verdict.say(name, "key", NOTE, "one of your keys has the same name, and is another key")
        valid.append(found)
        about[id(found)] = name
    given = {}
    for file in files:
        given.update(file.signed_as())
    page_hashes = {name: page.signed_hash for name, page in pages}
    signed = set()
    for found in valid:
        for listed, here in ((found.files, given), (found.pages, page_hashes)):
            match_signed(verdict, listed, here, found, known, signed)
        first = next((f for f in files if found.files and f.hash == found.files[0]["sha256"]), None)
        if first is not None and found.statement["guarantee"] is not None and first.guarantee is not None:
            same = sha256(canonical_bytes(first.guarantee)) == found.statement["guarantee"]
            if not same:
                verdict.say(about[id(found)], "guarantee", CONTRADICTED,
                            "the guarantee is not the one that was signed with this file")  # fmt: skip
        if book is not None and found.account is not None:
            where, there = os.path.basename(account), book.has(found.account["head"])
            same = found.account["dataset"] == book.opened["dataset"]
            if there and same:
                verdict.say(where, "signature", HOLDS, f"it has the head that was signed {found.statement['time']}")
            else:
                verdict.say(where, "signature", CONTRADICTED, "it has not the head that was signed: it was cut back, is "
                            "an older copy, or another account")  # fmt: skip
    for name in [*(file.name for file in files), *page_hashes]:
        if name not in signed:
            if known:
                verdict.say(name, "signature", CONTRADICTED, "it is not signed by a key that you named")
            elif not any(name == a["about"] and a["check"] == "signature" for a in verdict.answers):
                verdict.say(name, "signature", NOTE, "it is not signed")
    return valid


def match_signed(verdict, listed, here, found, known, signed):
    """Compare the files of a statement with those that were given."""
    by_hash = {digest: name for name, digest in here.items()}
    for item in listed:
        name = by_hash.get(item["sha256"])
        if name is not None:
            verdict.say(name, "signature", HOLDS, "it is what was signed")
            if name != item["name"]:
                verdict.say(name, "signature", NOTE, f"it had another name then: {item['name']}")
            if not known or found.fingerprint in known:
                signed.add(name)
        elif item["name"] in here:
            verdict.say(item["name"], "signature", CONTRADICTED, "it is not the file that was signed under this name")
        else:
            verdict.say(item["name"], "files", NOTE, "it was signed with the others, and is not given")


def check_page(verdict, name, page, files, book, valid, known):
    """Check that a page belongs to the files and the account, and who signed it."""
    signer = page.facts.get("signer")
    if signer is not None and signer not in {s.fingerprint for s in valid}:
        unchecked = Ed25519PublicKey is None and page.signature
        verdict.say(name, "signature", NOT_CHECKED if unchecked else CONTRADICTED,
                    f"the page says that key {signer} signed it, and no such valid signature is here")  # fmt: skip
    about = next((file for file in files if file.hash == page.facts.get("file_sha256")), None)
    if about is not None:
        verdict.attempt(name, "page", lambda: page.check_file(about.payload, about.guarantee),
                        "the page is about this file, and states its promise")  # fmt: skip
        if about.guarantee is None:
            verdict.say(name, "page", NOT_CHECKED, "it is about a file whose promise is not read here")
    elif files:
        verdict.say(name, "page", CONTRADICTED, f"it is the page of another file: {page.facts.get('file')}")
    else:
        verdict.say(name, "page", NOT_CHECKED, "the file that it is about is not given")
    if book is not None:
        verdict.attempt(name, "account", lambda: page.check_account(book))
    covers = any(page.signed_hash == item["sha256"] for s in valid if s.fingerprint in known for item in s.pages)
    verdict.say(name, "text", NOTE if covers else NOT_CHECKED, "that the page shows only its facts is not checked here"
                + ("; the signer whom you named vouches for it" if covers else ""))  # fmt: skip


def check_account(verdict, files, book, heads, account, valid):
    """Check what the account says about the files, and the heads that were seen."""
    if account is None:
        for file in files:
            if file.guarantee is not None:
                named = entries(file.guarantee["parameters"].get("account"), "parameters.account").get("dataset")
                text = f"the account of {named} was not given" if named else "no account is named"
                verdict.say(file.name, "account", NOTE, f"{text}: what else was released is not known")
    elif book is not None:
        name, left = os.path.basename(account), book.limit - book.spent()
        verdict.say(name, "account", HOLDS, f"its chain is whole, and nothing is overspent: {shown(left)} of "
                    f"{book.currency} {shown(book.limit)} is left")  # fmt: skip
        for head in heads:
            there = book.has(head)
            verdict.say(name, "head", HOLDS if there else CONTRADICTED,
                        "it has the head that you gave" if there else "it has not the head that you gave: it was cut "
                        "back, is an older copy, or another account")  # fmt: skip
        for file in files:
            if file.guarantee is not None:
                verdict.attempt(file.name, "account", lambda file=file: book.check_release(file.guarantee))
    for file in files:
        if file.guarantee is not None and file.beside is None:
            covers = any(item["sha256"] == file.hash for s in valid for item in s.files)
            verdict.say(file.name, "seal", NOTE if covers else NOT_CHECKED,
                        "the numbers of the synopsis are not read here, so its seal is not checked"
                        + ("; the signature covers the file" if covers else ""))  # fmt: skip


def main(words=None):
    parser = argparse.ArgumentParser(description="Check a release of Discreet without Discreet.")
    parser.add_argument("files", nargs="*", metavar="FILE", help="what was released, and signatures")
    parser.add_argument("--page", help="the page about it")
    parser.add_argument("--account", help="the account that it was charged to")
    parser.add_argument("--key", action="append", default=[], help="a public key that you trust")
    parser.add_argument("--head", action="append", default=[], help="a head of the account that was seen before")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.error = lambda text: (_ for _ in ()).throw(Usage(text))
    try:
        given = parser.parse_args(words)
        found = verify(given.files, given.page, given.account, given.key, given.head)
    except Usage as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    if given.json:
        print(json.dumps(found.to_dict(), ensure_ascii=True))
        return found.code
    print(f"Verdict: {found.to_dict()['verdict']}")
    for promise in found.promises:
        print(f"{promise['file']} promises: {promise['promise']}")
    for result in (CONTRADICTED, NOT_CHECKED, HOLDS, NOTE):
        for answer in found.answers:
            if answer["result"] == result:
                print(f"{result}  {answer['about']}, {answer['check']}: {answer['detail']}")
    print(f"Not in any file. {found.rests}")
    return found.code


if __name__ == "__main__":
    sys.exit(main())
