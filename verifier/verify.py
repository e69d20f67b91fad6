#!/usr/bin/env python3
"""Check a release of Discreet without Discreet.

    python3 verify.py FILE... [--page PAGE] [--account ACCOUNT] [--key PUBLIC] [--head HEAD] [--json]

Written from docs/evidence-format.md and docs/evidence-tables.md alone. It needs Python 3.9 or later and nothing else;
with the package `cryptography` it also checks signatures. Exit codes: 0 everything holds, 1 something is contradicted,
2 nothing is contradicted and something was not checked, 3 wrong usage.

From top to bottom: JSON, numbers, guarantees, ledgers, tables, accounts, pages, signatures, and the verdict.
"""

import argparse
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


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def is_hex(text, digits):
    return isinstance(text, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", text) is not None


def is_seal(text):
    return isinstance(text, str) and text.startswith("sha256:") and is_hex(text[7:], 64)


def is_version(value, version, name="format_version"):
    return isinstance(value[name], Number) and value[name].text == str(version)


# ------------------------------------------------------------------------------------------------------------- numbers


def rational(value, what):
    """Read an exact rational: a text such as "97/100", or a number of JSON; "inf" is infinite."""
    if value == "inf":
        return math.inf
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
        return math.inf


def number(value, what):
    need(isinstance(value, Number) and math.isfinite(value.value), f"{what} is not a number")
    return nearest(value.value)


def integer(value, what):
    need(isinstance(value, Number) and value.whole, f"{what} is not an integer")
    return value.value


def shown(value):
    return f"{nearest(value):.6g}"


# ------------------------------------------------------------------------------------------------------------ guarantee

FIELDS = ("format", "format_version", "model", "epsilon", "delta", "accounting", "spent", "unit", "neighbours",
          "ledger", "parameters", "domain", "assumptions", "seeded", "version", "digest")


ROLES = ("attribute", "quasi-identifier", "sensitive", "identifier", "person", "target", "weight")


def checked_guarantee(value):
    """Check the fields of a guarantee and their types."""
    need(isinstance(value, dict) and tuple(value) == FIELDS, "it has not the fields of a guarantee, in their order")
    need(value["format"] == "discreet.guarantee" and is_version(value, 2), "it is not a guarantee of version 2")
    need(value["model"] in ("central", "local", "metric", "shuffled", "syntactic"), "its model is unknown")
    need(value["accounting"] in ("epsilon", "rho"), "its accounting is unknown")
    need(all(isinstance(value[n], str) and value[n] for n in ("unit", "neighbours", "version")), "unit or version is no text")
    texts = value["assumptions"]
    need(isinstance(texts, list) and all(isinstance(text, str) for text in texts) and len(set(texts)) == len(texts),
         "assumptions are not different texts")
    need(isinstance(value["ledger"], list) and isinstance(value["seeded"], bool), "ledger or seeded is damaged")
    need(value["digest"] is None or is_seal(value["digest"]), "its seal is not a seal")
    need(0 <= number(value["delta"], "delta") < 1, "delta is not between 0 and 1")
    if value["model"] == "syntactic":
        need(value["epsilon"] is None, "a syntactic promise has no epsilon")
    else:
        need(value["epsilon"] == "inf" or number(value["epsilon"], "epsilon") >= 0, "epsilon is negative")
    need(isinstance(value["spent"], str) and rational(value["spent"], "spent") >= 0, "spent is not a rational")
    need(isinstance(value["parameters"], dict), "parameters are not an object")
    columns = part(part(value, "domain"), "columns")
    for declared in columns.values():
        need(isinstance(declared, dict) and declared.get("role") in ROLES and declared.get("missing") in ("drop", "own"),
             "the declaration of a column is damaged")
    return value


def part(value, name):
    """Return an object inside an object, which may be absent."""
    found = value.get(name)
    need(found is None or isinstance(found, dict), f"{name} is not an object")
    return found or {}


def guarantee_file(data):
    """Read the file of a guarantee, which has one of two layouts."""
    found = parsed(data)
    need(data in [f"{written(found, indent=i)}\n".encode() for i in ("", "  ")], "it was changed: its layout is another")
    return checked_guarantee(found)


def seal(guarantee, payload):
    head = written({name: value for name, value in guarantee.items() if name != "digest"}, canonical=True).encode()
    return "sha256:" + sha256(len(head).to_bytes(8, "big") + head + payload)


# --------------------------------------------------------------------------------------------------------------- ledger

NOISE = {"laplace": "l1", "flip": "l1", "max-norm": "linf", "isotropic": "l2_squared", "choice": "span",
         "choices": "span", "privtree": "l1", "gaussian": "l2_squared"}
STATED = ("selection", "sampling", "report")


def root_up(value):
    """Return the root of a rational, rounded up as the format says."""
    exact = value.numerator * value.denominator << 80
    root = math.isqrt(exact)
    return Fraction(root + (root * root < exact), value.denominator << 40)


def privtree_loss(scale, bias):
    a, total = math.exp(-1 / scale), 0.0
    for j in range(1, 1_000_000):
        q = math.exp(-j * bias / scale)
        term = math.log1p(q * (1 - a) / (1 + a - q))
        total += term
        if term <= 2**-60 / scale:
            return 2 / scale + (total + 4 * term) * (1 + 2**-36)
    raise Wrong("the sum of a privtree line is too long")


def draw_cost(draw, unit):
    """Return the cost of a draw in a unit, and the relative difference that is accepted."""
    law = draw.get("law") if isinstance(draw, dict) else None
    need(law in NOISE or law in STATED, "the law of a draw is unknown")
    must = {"epsilon"} if law in STATED else {NOISE[law], "rows", "scale"} | ({"bias"} if law == "privtree" else set())
    may = must | {"law", "number"} | ({"delta"} if law in STATED else set())
    need(must <= set(draw) <= may, f"a draw of {law} has other fields")
    value = {name: rational(draw[name], name) for name in draw if name != "law"}
    need(all(v >= 0 for v in value.values()) and value.get("rows", 1) >= 1, "a number of a draw is too small")
    need(unit == "epsilon" or "delta" not in value, "a draw with delta has no price in rho")
    if law in STATED:
        cost = value["epsilon"]
    elif value["scale"] == 0:
        cost = math.inf
    elif law == "gaussian":
        need(unit == "rho", "Gaussian noise has no price in epsilon")
        return value["l2_squared"] * value["rows"] / (2 * value["scale"] ** 2), 0
    elif law == "privtree":
        cost = value["rows"] * Fraction(privtree_loss(nearest(value["scale"]), nearest(value["bias"])))
    else:
        size = root_up(value["l2_squared"]) if law == "isotropic" else value[NOISE[law]]
        cost = size * value["rows"] / value["scale"]
    cost = cost if unit == "epsilon" else cost * cost / (8 if law == "choice" else 2)
    return cost, 1e-9 if law == "privtree" else 0


def line_cost(line, unit, wrong, outside):
    """Return what a line states that it costs; list what does not add up, is not paid, or was charged by hand."""
    label = line.get("label") if isinstance(line, dict) else None
    content = set(line) - {"label", "amount", "kind"} if isinstance(label, str) else ()
    need(len(content) == 1 and len(line) == 4, f"the line {label} has missing or unknown fields")
    amount, kind, (what,) = rational(line["amount"], f"the amount of {label}"), line["kind"], content
    need(isinstance(line["amount"], str) and amount > 0, f"the amount of {label} is not a positive rational")
    need(kind in ("sequential", "parallel") or (kind == "pure" and what == "parts" and unit == "rho"),
         f"the kind of {label} is unknown")
    if what == "parts":
        need(isinstance(line["parts"], list) and line["parts"], f"the parts of {label} are not a list")
        costs = [line_cost(inner, "epsilon" if kind == "pure" else unit, wrong, outside) for inner in line["parts"]]
        cost = max(costs) if kind == "parallel" else sum(costs)
        cost = cost * cost / 2 if kind == "pure" else cost
        if cost != amount:
            wrong["ledger"].append(f"{label} states {shown(amount)}, and its parts cost {shown(cost)}")
    elif what == "draws":
        need(isinstance(line["draws"], list) and line["draws"], f"the draws of {label} are not a list")
        for draw in line["draws"]:
            try:
                cost, slack = draw_cost(draw, unit)
                need(cost <= amount or (slack and nearest(cost) <= nearest(amount) * (1 + slack)),
                     f"{shown(amount)} is paid for a draw that costs {shown(cost)}")
            except Wrong as error:
                wrong["draws"].append(f"{label}: {error}")
    else:
        need(what in ("unused", "external") and line[what] is True, f"the line {label} has unknown fields")
        outside += [label] if what == "external" else []
    return amount


def epsilon_of_rho(rho, delta):
    if rho == 0:
        return 0.0
    if rho == math.inf or delta == 0:
        return math.inf
    log = math.log(delta)
    steps = [math.sqrt(max(-log, 0.001) / rho) * 10 ** (x / 1000) for x in range(-3000, 3001)]
    least = min(rho * (1 + g) - math.log1p(1 / g) - (log + math.log1p(g)) / g for g in steps)
    return max(least, 0.0) * (1 + 1e-9) + 1e-14


def check_ledger(guarantee, say):
    """Add the ledger up again, and check that each line pays for its draws."""
    wrong, outside, unit, total = {"ledger": [], "draws": []}, [], guarantee["accounting"], 0
    spent, lines, tabular = rational(guarantee["spent"], "spent"), guarantee["ledger"], guarantee["model"] == "syntactic"
    if tabular and not lines and spent == 0:
        return say("ledger", NOTE, "does not apply: this promise has no privacy budget")
    try:
        need(lines, "the ledger is empty")
        total = sum(line_cost(line, unit, wrong, outside) for line in lines)
        if total != spent:
            wrong["ledger"].append(f"the lines cost {shown(total)}, and {shown(spent)} is stated")
        stated = guarantee["epsilon"]
        stated = math.inf if stated == "inf" else 0 if tabular else number(stated, "epsilon")
        delta = number(guarantee["delta"], "delta")
        right = 0 if tabular else nearest(spent) if unit == "epsilon" else epsilon_of_rho(nearest(spent), delta)
        if stated != right and not (unit == "rho" and abs(stated - right) <= 1e-8 * right < math.inf):
            wrong["ledger"].append(f"epsilon is {right:.9g}, and {stated:.9g} is stated")
    except Wrong as error:
        wrong["ledger"].append(str(error))
    for name, text in (("ledger", f"{len(lines)} lines add up to the stated {shown(total)} ({unit})"),
                       ("draws", "each line pays for the noise that it states")):
        say(name, CONTRADICTED if wrong[name] else HOLDS, "; ".join(wrong[name]) or text)
    if outside:
        say("external", NOT_CHECKED, f"charged by hand: {', '.join(outside)}")


# --------------------------------------------------------------------------------------------------------------- tables


def csv_rows(text, delimiter):
    """Read CSV: a list of rows of texts, with None for an empty field without quotes."""
    rows, row, at = [], [], 0
    plain = re.compile(f"[^{re.escape(delimiter)}\r\n]*")
    while at < len(text) or row:
        pieces, quotes = [], text.startswith('"', at)
        while text.startswith('"', at):
            close = text.find('"', at + 1)
            need(close >= 0, "a quote is not closed")
            pieces.append(text[at + 1 : close])
            at = close + 1
        rest = plain.match(text, at)
        row.append('"'.join(pieces) + rest.group() if quotes else rest.group() or None)
        at = rest.end()
        if not text.startswith(delimiter, at):
            rows.append(row)
            row = []
            at += text.startswith("\r\n", at)
        at += 1
    return rows


def read_table(parts, parameters):
    """Return the columns of a table as lists of cells, by name."""
    dialect, columns, names = part(parameters, "csv"), {}, None
    encoding, delimiter = dialect.get("encoding", "utf-8"), dialect.get("delimiter", ",")
    need(encoding in ("utf-8", "utf-16", "latin-1", "windows-1252"), "its encoding is unknown")
    need(isinstance(delimiter, str) and len(delimiter) == 1 and dialect.get("decimal", ".") in (".", ",")
         and set(dialect) <= {"delimiter", "decimal", "encoding", "bom", "crlf"}, "its dialect is unknown")
    for data in parts:
        try:
            rows = csv_rows(data.decode("utf-8-sig" if encoding == "utf-8" else encoding), delimiter)
        except UnicodeError:
            raise Wrong(f"it is not text in {encoding}") from None
        head = [name or "" for name in rows[0]] if rows else []
        need(head and len(set(head)) == len(head), "a column name occurs twice, or there is none")
        need(names in (None, head), "its parts have different columns")
        names = head
        for row in rows[1:]:
            if row == [None] and len(names) > 1:
                continue
            need(len(row) == len(names), f"a row has {len(row)} fields instead of {len(names)}")
            for name, cell in zip(names, row):
                columns.setdefault(name, []).append(cell)
    escaped = parameters.get("formulas") == "escaped"
    return {n: [c[1:] if escaped and c and re.match("'+[-=+@\t\r]", c) else c for c in columns.get(n, [])] for n in names}


def decimal_key(text, mark):
    """Return one text for all spellings of a number, or None if it is not a number."""
    found = re.fullmatch(rf"([+-]?)(\d*)(?:{re.escape(mark)}(\d*))?(?:[eE]([+-]?\d{{1,6}}))?", text.strip(" "))
    if not found or not (found[2] or found[3]):
        return None
    digits = (found[2] + (found[3] or "")).lstrip("0")
    short = digits.rstrip("0")
    power = int(found[4] or 0) - len(found[3] or "") + len(digits) - len(short)
    return f"{'-' if found[1] == '-' else ''}{short}e{power}" if short else "0"


def moment_key(text):
    """Return one text for all spellings of a date or time, or None."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?", text.strip(" "))
    if not found:
        return None
    return f"{found[1]} {found[2] or '00:00'}{found[3] or ':00'}{(found[4] or '').rstrip('0').rstrip('.')}{found[5] or ''}"


class Table:
    """An anonymous table with its promise: roles, groups, and what is counted again."""

    def __init__(self, columns, guarantee):
        self.columns, self.promise = columns, guarantee["parameters"]
        self.declared, self.unit = part(part(guarantee, "domain"), "columns"), part(guarantee, "domain").get("unit")
        self.mark = str(part(self.promise, "csv").get("decimal", "."))
        self.rows = len(next(iter(columns.values()), []))
        self.required, self.reached, kept = (part(self.promise, name) for name in ("required", "reached", "kept"))
        for value in (self.required.get("k"), self.reached.get("k"), self.promise.get("cells"), self.promise.get("rows")):
            need(value is None or integer(value, "k, cells or rows") >= 0, "k, cells or rows is negative")
        for name, key in (("l", "least"), ("t", "most")):
            need(name not in self.required or key in part(self.required, name), f"required.{name} is damaged")
        self.kept_facts, self.kept = kept, names_in(kept, "columns")
        listed = names_in(self.promise, "quasi_identifiers")
        role = {name: declared.get("role") for name, declared in self.declared.items()}
        by_role = [name for name in role if role[name] == "quasi-identifier"]
        stated = [*part(self.reached, "l"), *part(self.reached, "t")]
        stated += [name for name in role if role[name] == "sensitive" and name not in self.kept]
        self.quasi = list(dict.fromkeys([*listed, *by_role])) or [
            name for name in role if role[name] == "attribute" and name not in stated and name not in self.kept]
        self.unlisted = [name for name in by_role if listed and name not in listed and self.shown_by([name])]
        self.sensitive = [n for n in dict.fromkeys(stated) if n not in self.quasi and n in columns]
        self.people = [n for n in columns if role.get(n) in ("identifier", "person")]

    def shown_by(self, names):
        """Return the columns that show quasi-identifiers."""
        ends = ("_lower", "_upper", "_set", "_may_be_missing")
        return [column for name in names for column in ([name] if name in self.columns else [
            name + end for end in ends if name + end in self.columns and name + end not in self.declared])]

    def check_columns(self):
        """Check that every column has a role, and the number of rows."""
        need(not self.unlisted, f"declared quasi-identifiers that the promise leaves out: {', '.join(self.unlisted)}")
        shows = self.shown_by(self.quasi)
        for name, cells in self.columns.items():
            if name in self.people:
                hashed = self.promise.get("identifiers") == "hash"
                need(hashed and all(is_hex(c, 16) for c in cells if c is not None), f"column {name} identifies people")
            else:
                need(name in shows or name in self.declared, f"column {name} is not declared")
                need(name in [*shows, *self.sensitive, *self.kept], f"column {name} has no role in the promise")
        stated = self.promise.get("rows")
        need(stated is None or self.rows == integer(stated, "rows"), f"it has {self.rows} rows: another number is stated")

    def groups(self, columns):
        """Group the rows that are the same in some columns: lists of row numbers."""
        keys, found = [], defaultdict(list)
        for name in columns:
            cells, declared = self.columns[name], self.declared.get(name, {})
            texts = "categories" in declared or declared.get("kind") == "code"
            numbers = [c if c is None else decimal_key(c, self.mark) for c in cells]
            keys.append(cells if texts or any(n is None and c is not None for n, c in zip(numbers, cells)) else numbers)
        for row in range(self.rows):
            found[tuple(key[row] for key in keys)].append(row)
        return list(found.values())

    def recount(self):
        """Count k, l and t again; return what was found."""
        required, quasi, later = self.required, self.shown_by(self.quasi), []
        if self.promise.get("output") == "sample":
            raise Unchecked("rows were drawn from groups: k, l and t cannot be counted in them")
        if required.get("k") is None and required.get("k_by_columns") is None:
            if required.get("probabilistic_k") is not None:
                raise Unchecked("k holds with a probability: it cannot be counted")
            return "no k is promised"
        if not self.rows:
            return "no rows"
        need(quasi, "a k is promised, and the table has none of its quasi-identifiers")
        if required.get("k_by_columns") is not None:
            return self.recount_by_columns(part(required, "k_by_columns"))
        groups = self.groups(quasi)
        told = [f"{self.rows} rows", f"{len(groups)} groups", f"k {self.count_k(groups, later)}"]
        most = self.promise.get("cells")
        need(most is None or len(groups) <= integer(most, "cells"), f"it has {len(groups)} groups, more than cells")
        if self.kept:
            sizes = [len(g) for g in self.groups([*quasi, *(n for n in self.kept if n in self.columns and n not in quasi)])]
            least, unique = self.kept_facts.get("k"), self.kept_facts.get("unique")
            need(least is None or min(sizes) >= integer(least, "kept.k"), f"k with kept columns is {min(sizes)}")
            need(unique is None or sizes.count(1) / self.rows <= number(unique, "kept.unique") + 1e-6,
                 f"{sizes.count(1)} rows are alone with kept columns: more than stated")
        asked = part(required, "l"), part(required, "t")
        need(self.sensitive or not any(asked), "no sensitive column is there")
        for name in self.sensitive:
            told += self.count_values(name, groups, *asked, later)
        if later:
            raise Unchecked("; ".join(dict.fromkeys(later)))
        return ", ".join(told)

    def recount_by_columns(self, asked):
        least, lists = [integer(asked.get("least"), "least")], asked.get("columns")
        stated = part(self.reached, "k_by_columns").get("least")
        least += [] if stated is None else [integer(stated, "least")]
        need(isinstance(lists, list) and all(isinstance(names, list) for names in lists), "k_by_columns has no columns")
        for names in lists:
            columns = self.shown_by(names)
            smallest = min(len(group) for group in self.groups(columns)) if columns else 0
            need(smallest >= max(least), f"k of {', '.join(map(str, names))} is {smallest}, {max(least)} is promised")
        need(all(any(name in names for names in lists) for name in self.quasi), "a quasi-identifier is in no list")
        return f"{self.rows} rows, k by columns at least {max(least)}"

    def count_k(self, groups, later):
        required, reached = integer(self.required["k"], "required.k"), self.reached.get("k")
        reached = required if reached is None else integer(reached, "reached.k")
        need(reached >= required, "the stated k is less than the required one")
        k, counts = min(map(len, groups)), self.promise.get("k_counts")
        if counts is not None:
            person = re.search(r"'(.*)'$", str(counts))
            cells = self.columns.get(person[1]) if person else None
            if cells is None or self.promise.get("identifiers") != "hash":
                later.append("k counts persons, who are not in the table")
            else:
                people = [Counter(cells[row] for row in group) for group in groups]
                k, most = min(map(len, people)), self.reached.get("largest_share")
                share = max(max(c.values()) / sum(c.values()) for c in people)
                need(most is None or share <= number(most, "largest_share") + 1e-6, f"one person has {share:.4g} of a group")
        need(k >= reached, f"k is {k}, and {reached} is required or stated")
        return k

    def numbered(self, name):
        """Number sensitive values in their order, missing ones last; return numbers and whether they are ordered."""
        cells, declared = self.columns[name], self.declared.get(name, {})
        bounds, names = declared.get("bounds"), declared.get("categories")
        numbers = all(decimal_key(c, self.mark) for c in cells if c is not None) and declared.get("kind") != "code"
        if isinstance(names, list):
            names = [c.text if isinstance(c, Number) else str(c) for c in names]
            keys = [c if c is None or c in names else c.strip() if c.strip() in names else c for c in cells]
            order = lambda key: (names.index(key) if key in names else len(names), key)  # noqa: E731
        elif isinstance(bounds, list) and bounds and isinstance(bounds[0], str):
            keys, order = [c if c is None else moment_key(c) or c for c in cells], str
        elif isinstance(bounds, list) or numbers:
            keys = [c if c is None else decimal_key(c, self.mark) or c for c in cells]
            order = lambda key: (float(key) if re.fullmatch(r"-?\d+(e-?\d+)?", key) else math.inf, key)  # noqa: E731
        else:
            keys, order = cells, str
        found = {key: i for i, key in enumerate(sorted({key for key in keys if key is not None}, key=order))}
        return [found.get(key, len(found)) for key in keys], not isinstance(names, list) and order is not str or (
            isinstance(bounds, list) and not isinstance(names, list))

    def count_values(self, name, groups, asked_l, asked_t, later):
        """Count l and t of one sensitive column."""
        values, ordered = self.numbered(name)
        tables = [Counter(values[row] for row in group) for group in groups]
        least = number(asked_l["least"], "required.l.least") if "least" in asked_l else None
        if "persons" in (asked_l.get("counts"), asked_t.get("counts")) or (
                "k_counts" in self.promise and isinstance(self.unit, dict)):
            need(least is None or min(map(len, tables)) >= least, f"{name} has fewer values in a group than required")
            later.append("l and t count persons")
            return []
        kind = asked_l.get("kind") or self.reached.get("l_kind") or "distinct"
        found, lowest, highest = l_of(tables, kind, least), [], []
        if asked_l and kind == "recursive":
            most = number(asked_l["c"], "required.l.c") if asked_l.get("c") is not None else 3
            need(found < most, f"l of {name} is {found:.4g}, required is less than {most:g}")
        elif asked_l:
            need(least is not None and found >= least - 1e-6, f"l of {name} is {found:.4g}, less than required")
        stated = part(self.reached, "l").get(name)
        if stated is not None and self.reached.get("l_kind") in (None, kind):
            stated = number(stated, "reached.l")
            need(found <= stated + 1e-6 if kind == "recursive" else found >= stated - 1e-6,
                 f"l of {name} is {found:.4g}, stated as reached {stated:.4g}")
        return [f"l of {name} {found:.4g}", self.count_t(name, values, ordered, tables, asked_t, later)]

    def count_t(self, name, values, ordered, tables, asked, later):
        stated, stated_kind = part(self.reached, "t").get(name), part(self.reached, "t_kind").get(name)
        kind = asked.get("kind", "auto") if asked else stated_kind or "auto"
        kind = ("ordered" if ordered else "equal") if kind == "auto" else kind
        whole, t = sorted(Counter(values).items()), 0.0
        for table in tables:
            n, so_far, total = sum(table.values()), 0.0, 0.0
            for value, count in whole:
                p = table[value] / n - count / self.rows
                so_far += p
                total += abs(so_far) / max(len(whole) - 1, 1) if kind == "ordered" else abs(p) / 2
            t = max(t, total)
        most = [number(asked["most"], "required.t.most")] if "most" in asked else []
        most += [number(stated, "reached.t")] if stated is not None and stated_kind in (None, kind) else []
        if most and t > min(most) + 1e-6:
            need(kind not in ("equal", "ordered"), f"t of {name} is {t:.4g}, {min(most):.4g} is required or stated")
            later.append(f"t of {name} follows a hierarchy that is not in the guarantee")
        return f"t of {name} {t:.4g}"


def names_in(value, name):
    found = value.get(name)
    need(found is None or (isinstance(found, list) and all(isinstance(n, str) for n in found)), f"{name} are not names")
    return found or []


def l_of(tables, kind, least):
    """Return l of the worst group."""
    if kind == "distinct":
        return min(map(len, tables))
    if kind == "entropy":
        shares = [[n / sum(t.values()) for n in t.values()] for t in tables]
        return min(math.exp(-sum(p * math.log(p) for p in group)) for group in shares)
    need(kind == "recursive", "the kind of l is unknown")
    counts = [sorted(t.values(), reverse=True) for t in tables]
    rests = [sum(group[max(int(least or 1) - 1, 0) :]) for group in counts]
    return max(group[0] / rest if rest else math.inf for group, rest in zip(counts, rests))


# -------------------------------------------------------------------------------------------------------------- account

RESERVE = "entry price delta job asked task when who"
EVENTS = {"open": "format version dataset unit epsilon rho delta when who", "reserve": RESERVE,
          "book": "entry price delta digest steps seeded when", "spend": RESERVE + " digest steps seeded state",
          "file": "entry name digest when who", "note": "entry text when who", "close": "when who", "repair": "dropped"}


class Account:
    """An account: its chain is followed and its rules are checked line by line."""

    def __init__(self, data):
        self.hashes, self.entries, self.digests, self.spent_at = [], [], {}, {}
        self.opened, self.closed, self.spent = None, False, Fraction(0)
        for line in data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]:
            text, _, digest = line.rpartition(b" ")
            need(len(line) < 2**20 and sha256(text).encode() == digest, "it is damaged: a line does not match its hash")
            event = parsed(text)
            kind = event.get("kind") if isinstance(event, dict) else None
            need(kind in EVENTS, "it has an unknown event")
            more = {"terms"} if kind in ("reserve", "book", "spend") else set()
            need(set(event) - more == {"after", "kind", *EVENTS[kind].split()}, f"a line {kind} has other fields")
            need(event["after"] == (self.hashes[-1] if self.hashes else "0" * 64), "a line does not follow the one before")
            need((kind == "open") == (self.opened is None), "it is not opened once, in its first line")
            self.hashes.append(digest.decode())
            self.take(kind, event)
            self.spent_at[self.hashes[-1]] = self.spent
        need(self.opened, "it has no first line")

    def take(self, kind, event):
        if kind == "open":
            need(event["format"] == "discreet.account" and is_version(event, 1, "version"), "it is not an account")
            need((event["epsilon"] is None) != (event["rho"] is None), "it is not in one of epsilon and rho")
            self.currency = "epsilon" if event["rho"] is None else "rho"
            self.limit, self.delta = rational(event[self.currency], "its limit"), rational(event["delta"], "its delta")
            need(self.limit > 0 and 0 <= self.delta < 1 and isinstance(event["dataset"], str), "its limits are damaged")
            self.opened = event
        elif kind in ("reserve", "spend"):
            need(not self.closed, "something is charged after it was closed")
            need(integer(event["entry"], "an entry") == len(self.entries) + 1, "its entries are not in order")
            need(isinstance(event["asked"], dict), "what was asked is not an object")
            self.entries.append({})
        elif kind in ("book", "file", "note"):
            need(0 < integer(event["entry"], "an entry") <= len(self.entries), "an entry is unknown")
        elif kind == "close":
            need(not self.closed, "it is closed twice")
            self.closed = True
        if kind in ("reserve", "spend", "book"):
            self.charge(kind, self.entries[event["entry"].value - 1], event)
        if event.get("digest") is not None:
            need(isinstance(event["digest"], str) and event["digest"] not in self.digests, "a digest occurs twice")
            need(self.entries[event["entry"].value - 1]["booked"], "a file is of an entry that is not booked")
            self.digests[event["digest"]] = event["entry"].value

    def charge(self, kind, entry, event):
        price, delta = rational(event["price"], "a price"), rational(event["delta"], "a delta")
        need(price >= 0 and delta >= 0 and ("terms" not in event or price == 0), "a price is damaged")
        if kind == "book":
            need(not entry["booked"], "an entry is booked twice")
            need(price <= entry["price"] and delta <= entry["delta"], "more is booked than was reserved")
        entry.update(price=price, delta=delta, booked=kind != "reserve")
        self.spent = sum(e["price"] for e in self.entries)
        deltas = sum(e["delta"] for e in self.entries)
        need(self.spent <= self.limit, "more is spent than its limit")
        need(deltas <= self.delta if self.currency == "epsilon" else deltas == 0, "more delta is spent than it has")

    def has(self, head):
        return isinstance(head, str) and head.replace("sha256:", "", 1) in self.hashes

    def check_release(self, guarantee):
        """Check that the account knows a release, and that its price covers it."""
        named = part(guarantee["parameters"], "account")
        if named:
            need(named.get("dataset") == self.opened["dataset"], "it was charged to the account of another dataset")
            need(self.has(named.get("head")), f"the account has not the line that the file names: {CUT}")
        entry = self.digests.get(guarantee["digest"])
        need(entry is not None, "the account does not know this file")
        spent, price = rational(guarantee["spent"], "spent"), self.entries[entry - 1]["price"]
        if guarantee["accounting"] != self.currency:
            exact = spent * spent / 2 if self.currency == "rho" else rational(guarantee["epsilon"], "epsilon")
            spent = exact if self.currency == "rho" or exact == math.inf else Fraction(guarantee["epsilon"].text)
        need(guarantee["model"] != "central" or spent <= price, f"entry {entry} was charged less than the file costs")
        return f"the account knows it as entry {entry}"


CUT = "it was cut back, is an older copy, or is another account"


# ----------------------------------------------------------------------------------------------------------------- page

FACTS = ("format", "format_version", "file", "bytes", "file_sha256", "kind", "digest", "promise", "seeded", "account",
         "about", "signer", "language", "made_by", "reported_by", "given", "shown")


def page_part(text, name):
    """Return what a page carries under a name, and the page without it."""
    found = list(re.finditer(f"<meta name=\"discreet-{name}\" content='([^<>']*)'>", text))
    if len(found) != 1 or text.count(f'name="discreet-{name}"') != 1:
        raise Unchecked(f"it does not carry {name} in one place")
    start, end = found[0].span(1)
    return html.unescape(found[0][1]), text[:start] + text[end:]


class Page:
    """A page with the facts that it carries."""

    def __init__(self, name, data):
        text = data.decode("utf-8", "replace")
        if not text.lstrip().lower().startswith("<!doctype html"):
            raise Unchecked("it is not a page")
        self.name = name
        facts, bare = page_part(text, "facts")
        self.signature, without = page_part(text, "signature")
        self.hash, self.bare = sha256(without.encode()), sha256(page_part(bare, "signature")[1].encode())
        try:
            self.facts = parsed(facts)
            need(isinstance(self.facts, dict) and set(self.facts) == set(FACTS), "fields")
            need(self.facts["format"] == "discreet.page" and is_version(self.facts, 1), "version")
            texts = [self.facts[n] for n in ("file", "file_sha256", "given", "shown", "language")]
            need(all(isinstance(t, str) for t in texts) and isinstance(parsed(self.facts["given"]), dict), "texts")
            need(isinstance(self.facts["promise"], dict) and isinstance(self.facts["about"], dict), "promise")
            need(self.facts["account"] is None or isinstance(part(self.facts, "account").get("head"), str), "head")
        except Wrong:
            raise Unchecked("its facts cannot be read") from None

    def check_promise(self, guarantee):
        promise = self.facts["promise"]
        spent = rational(guarantee["spent"], "spent") if guarantee["accounting"] == "rho" else None
        rho = None if spent is None else "inf" if spent == math.inf else Number(repr(nearest(spent)))
        stated = [(promise.get(n), guarantee[n], n) for n in ("model", "epsilon", "delta", "unit")]
        stated += [(promise.get("rho"), rho, "rho"), *((self.facts[n], guarantee[n], n) for n in ("seeded", "digest"))]
        wrong = [name for here, there, name in stated if here != there]
        need(not wrong, f"it states another promise than the file: {', '.join(wrong)}")
        return "it is about this file, and states its promise"

    def check_balance(self, account):
        told = part(self.facts, "account")
        if told and account.has(told["head"]):
            spent = account.spent_at[told["head"].replace("sha256:", "", 1)]
            then = {"total": account.limit, "spent": spent, "remaining": account.limit - spent}
            wrong = [n for n, v in then.items() if not isinstance(told.get(n), Number) or told[n].value != nearest(v)]
            wrong += [n for n, v in (("dataset", account.opened["dataset"]), ("currency", account.currency))
                      if told.get(n) != v]
            need(not wrong, f"it states another {' and '.join(wrong)} than the account had then")


# ----------------------------------------------------------------------------------------------------------- signatures


class Signature:
    """A signature: its fields are checked when it is read, its bytes by `check`."""

    def __init__(self, value):
        fields(value, "format format_version statement public_key signature")
        need(value["format"] == "discreet.signature" and is_version(value, 1), "it is not a signature of version 1")
        need(is_hex(value["public_key"], 64) and is_hex(value["signature"], 128), "its key or signature is damaged")
        self.value, self.told = value, value["statement"]
        told, account = self.told, self.told.get("account") if isinstance(self.told, dict) else None
        fields(told, "about files pages guarantee account version time name key")
        need(told["about"] in ("release", "account"), "it is about something unknown")
        need(all(isinstance(told[name], str) for name in ("version", "time", "name")), "its texts are damaged")
        for item in [*told["files"], *told["pages"]] if isinstance(told["files"], list) and isinstance(
                told["pages"], list) else [None]:
            fields(item, "name sha256")
            need(isinstance(item["name"], str) and is_hex(item["sha256"], 64), "a file has no name or hash")
        need(told["guarantee"] is None or is_hex(told["guarantee"], 64), "its guarantee is not a hash")
        if account is not None:
            fields(account, "dataset entry head")
            need(isinstance(account["dataset"], str) and is_seal(account["head"]), "its account is damaged")
            need(account["entry"] is None or integer(account["entry"], "entry") >= 0, "its entry is negative")
        self.account, self.key = account, sha256(bytes.fromhex(value["public_key"]))
        need(told["key"] == self.key, "its fingerprint is not that of its public key")

    def bytes(self):
        told, account = self.told, self.account or {}
        listed = [(kind, bytes.fromhex(item["sha256"]) + item["name"].encode())
                  for kind, name in (("F", "files"), ("P", "pages")) for item in told[name]]
        entry = account.get("entry")
        texts = {"D": account.get("dataset"), "E": entry and entry.text, "H": account.get("head"), "V": told["version"],
                 "T": told["time"], "N": told["name"]}
        parts = [("A", told["about"].encode()), *listed, ("G", told["guarantee"] and bytes.fromhex(told["guarantee"])),
                 *((kind, None if text is None else text.encode()) for kind, text in texts.items()),
                 ("K", bytes.fromhex(told["key"]))]
        return b"discreet.statement\x01" + b"".join(
            kind.encode() + len(value).to_bytes(8, "big") + value for kind, value in parts if value is not None)

    def check(self):
        if Ed25519PublicKey is None:
            raise Unchecked("signatures need the package `cryptography`")
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.value["public_key"]))
            key.verify(bytes.fromhex(self.value["signature"]), self.bytes())
        except (InvalidSignature, ValueError):
            raise Wrong("the signature is not one of this statement: one was changed") from None

    def covers(self, thing):
        """Return whether a file or page is what was signed, whatever its name."""
        return thing.hash in [item["sha256"] for item in self.told["pages" if isinstance(thing, Page) else "files"]]


def fields(value, names):
    need(isinstance(value, dict) and set(value) == set(names.split()), "it has missing or unknown fields")


def public_key(path):
    """Read a public key: its fingerprint and its name."""
    try:
        value = parsed(read(path))
        fields(value, "format format_version algorithm name public_key fingerprint")
        need((value["format"], value["algorithm"]) == ("discreet.key", "ed25519"), "it is not a public key")
        need(is_hex(value["public_key"], 64) and isinstance(value["name"], str), "it is damaged")
        need(value["fingerprint"] == sha256(bytes.fromhex(value["public_key"])), "its fingerprint is another")
        return value["fingerprint"], value["name"]
    except Wrong as error:
        raise Usage(f"{path}: {error}") from None


# -------------------------------------------------------------------------------------------------------- binary files


def synopsis(data):
    """Check the checksum of a synopsis and return the guarantee inside."""
    mark = data.rfind(b"discreet-file-sha256:") + 21
    if mark == 20 and b"discreet.guarantee" not in data and data.endswith(b"PAR1"):
        raise Unchecked("there is no guarantee in the file or next to it")
    need(mark > 20 and data.endswith(b"PAR1"), "it is not whole, or not a synopsis")
    blank = data[:mark] + b"0" * 64 + data[mark + 64 :]
    need(data[mark : mark + 64] == sha256(blank).encode(), "the file is not the one that was written")
    footer = data[max(len(data) - 8 - int.from_bytes(data[-8:-4], "little"), 0) : -8]
    at, length, shift, byte = footer.find(b"discreet.guarantee\x18") + 19, 0, 0, 128
    while byte >= 128:
        need(18 < at < len(footer) and shift < 64, "its guarantee is damaged")
        byte = footer[at]
        length, shift, at = length | (byte & 127) << shift, shift + 7, at + 1
    return checked_guarantee(parsed(footer[at : at + length]))


def messages(data):
    """Check the messages of a file of local reports or counts; return kind, number, header and flag of each."""
    told, at = [], 0
    while at < len(data) or not told:
        version, kind, flags, zero = data[at + 4 : at + 8].ljust(4, b"\xff")
        need(data[at : at + 4] == b"DSCL" and version == 1 and kind in (1, 2, 3) and flags < 2 and zero == 0,
             "a message has an unknown form")
        body = at + 12 + int.from_bytes(data[at + 8 : at + 12], "little")
        reports, length = (int.from_bytes(data[body + i : body + i + 8], "little") for i in (0, 8))
        end = body + 16 + length
        need(hashlib.sha256(data[at:end]).digest() == data[end : end + 32], "a message does not match its checksum")
        header = parsed(data[at + 12 : body])
        need(isinstance(header, dict) and isinstance(header.get("mechanism"), str), "a message names no mechanism")
        need(kind != 1 or (length % reports == 0 if reports else length == 0), "its reports are of unequal length")
        told.append((("reports", "counts", "a bitmap")[kind - 1], reports, header, bool(flags)))
        at = end + 32
    return told


# -------------------------------------------------------------------------------------------------------------- verdict


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from None


class Given:
    """A file or folder that was given, with the guarantee next to it."""

    def __init__(self, path):
        self.path, self.guarantee = path.rstrip("/"), None
        self.name = os.path.basename(self.path)
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name[0] not in "._")
            self.parts = [read(os.path.join(path, name)) for name in names]
            self.tables = [data for name, data in zip(names, self.parts) if name.startswith("part-")]
        else:
            self.parts = self.tables = [read(path)]
        self.payload = b"".join(self.parts)
        self.hash = sha256(self.payload)
        place = self.path + ".guarantee.json"
        self.beside = read(place) if os.path.exists(place) else None


class Verdict:
    """All answers about what was given."""

    def __init__(self, keys, heads):
        self.answers, self.promises, self.rests, self.known = [], [], "", dict(map(public_key, keys))
        self.heads = [(head, "that you gave") for head in heads]
        self.files, self.pages, self.signatures, self.good = [], [], [], []

    def say(self, about, check, result, detail):
        self.answers.append({"about": about, "check": check, "result": result, "detail": detail})

    def attempt(self, about, check, action, *given):
        """Do a check and note how it ended; return what it returns. A text that it returns says what holds."""
        try:
            found = action(*given)
        except (Wrong, Unchecked) as error:
            self.say(about, check, CONTRADICTED if isinstance(error, Wrong) else NOT_CHECKED, str(error))
            return None
        if isinstance(found, str):
            self.say(about, check, HOLDS, found)
        return found

    @property
    def code(self):
        results = [answer["result"] for answer in self.answers]
        return 1 if CONTRADICTED in results else 2 if NOT_CHECKED in results else 0

    def to_dict(self):
        return {"verdict": (HOLDS, CONTRADICTED, NOT_CHECKED)[self.code], "code": self.code, "promises": self.promises,
                "checks": self.answers, "rests_on": self.rests}

    # one file

    def check_file(self, file):
        """Check one file by itself: seal, promise, ledger, and for a table its columns, k, l and t."""
        name, data = file.name, file.payload
        if file.beside is not None:
            file.guarantee = self.attempt(name, "promise", guarantee_file, file.beside)
        elif data.startswith(b"PAR1"):
            file.guarantee = self.attempt(name, "checksum", synopsis, data)
        elif data.startswith(b"DSCL"):
            return self.check_messages(name, data)
        else:
            self.say(name, "promise", NOT_CHECKED, "there is no guarantee in the file or next to it")
        promise = file.guarantee
        if promise is None:
            return None
        self.promises.append({"file": name, "promise": sentence(promise), "digest": promise["digest"]})
        self.attempt(name, "ledger", check_ledger, promise, lambda *words: self.say(name, *words))
        self.check_seed(name, promise["seeded"])
        if file.beside is None:
            return self.say(name, "checksum", HOLDS, "the file is identical to the one that was written")
        sealed = seal(promise, data) == promise["digest"]
        self.say(name, "seal", HOLDS if sealed else CONTRADICTED, "the table matches the seal" if sealed else
                 "table or promise was changed after it was written")
        if any(piece.startswith((b"PAR1", b"PK\x03\x04")) for piece in file.tables):
            return self.say(name, "recount", NOT_CHECKED, "the rows of Parquet and Excel files are not read here")
        columns = self.attempt(name, "domain", read_table, file.tables, promise["parameters"])
        if columns is not None:
            self.attempt(name, "domain", check_domain, columns, promise)
            self.say(name, "cells", NOTE, "not checked here: that each cell is one of its declaration")
            if promise["model"] == "syntactic":
                self.attempt(name, "recount", lambda: "counted again: " + Table(columns, promise).recount())
        return None

    def check_seed(self, name, seeded):
        text = "the noise was seeded: nothing is protected" if seeded else "not seeded"
        self.say(name, "seed", CONTRADICTED if seeded else HOLDS, text)

    def check_messages(self, name, data):
        told = self.attempt(name, "checksum", messages, data)
        for what, reports, header, _ in told or ():
            epsilon = getattr(header.get("epsilon"), "text", header.get("epsilon"))
            text = f"{what} of {header['mechanism']} with epsilon {epsilon}, {reports} in number"
            self.promises.append({"file": name, "promise": text, "digest": None})
        if told:
            self.say(name, "checksum", HOLDS, f"{len(told)} messages are whole")
            self.check_seed(name, any(flag for *_, flag in told))
            self.say(name, "mechanism", NOT_CHECKED, "the parameters of local mechanisms are not read here")

    # signatures

    def read_signature(self, about, data):
        found = self.attempt(about, "signature", lambda: Signature(parsed(data)))
        if found is not None and all(found.value != other.value for _, other in self.signatures):
            self.signatures.append((about, found))

    def check_signatures(self):
        for about, found in self.signatures:
            try:
                found.check()
            except (Wrong, Unchecked) as error:
                self.say(about, "signature", CONTRADICTED if isinstance(error, Wrong) else NOT_CHECKED, str(error))
                continue
            known, name = self.known.get(found.key), found.told["name"]
            text = f"which you know as {known}" if known is not None else f"which is unknown; it calls itself {name}"
            result = HOLDS if known is not None else CONTRADICTED if self.known else NOTE
            self.say(about, "key", result, f"signed {found.told['time']} with key {found.key}, {text}")
            if known is not None or not self.known:
                self.good.append(found)
                self.compare_signed(about, found)
        unread = Ed25519PublicKey is None and self.signatures
        for thing in [*self.files, *self.pages]:
            by = [found.key for found in self.good if found.covers(thing)]
            if not by:
                result = NOT_CHECKED if unread else CONTRADICTED if self.known else NOTE
                self.say(thing.name, "signature", result, "it is not signed" + " by a key that you named" * bool(self.known))
            signer = thing.facts["signer"] if isinstance(thing, Page) else None
            if signer is not None and signer not in by:
                self.say(thing.name, "signature", NOT_CHECKED if unread else CONTRADICTED,
                         f"the page says that key {signer} signs it, and no such signature is here")

    def compare_signed(self, about, found):
        """Compare a statement with the files, pages and guarantees that were given."""
        told, given = found.told, [*self.files, *self.pages]
        for thing in given:
            names = [item["name"] for item in told["pages" if isinstance(thing, Page) else "files"]]
            if found.covers(thing):
                renamed = "" if thing.name in names else f"; it had another name then: {', '.join(names)}"
                self.say(thing.name, "signature", HOLDS, f"it is what was signed{renamed}")
            elif thing.name in names:
                self.say(thing.name, "signature", CONTRADICTED, "it is not the file that was signed under this name")
        signed = {item["name"]: item["sha256"] for item in told["files"]}
        for file in self.files:
            beside = file.name + ".guarantee.json"
            if file.beside is not None and signed.get(beside, sha256(file.beside)) != sha256(file.beside):
                self.say(beside, "signature", CONTRADICTED, "it is not the guarantee that was signed")
        first = next((f for f in self.files if told["files"] and f.hash == told["files"][0]["sha256"]), None)
        promise = first and first.guarantee
        if promise and told["guarantee"]:
            if sha256(written(promise, canonical=True).encode()) != told["guarantee"]:
                self.say(about, "guarantee", CONTRADICTED, "the guarantee is not the one that was signed with this file")
        if found.account is not None:
            self.heads.append((found.account["head"], "that was signed"))
            if promise and self.attempt(about, "account", part, promise["parameters"], "account") is not None:
                if part(promise["parameters"], "account").get("dataset") != found.account["dataset"]:
                    self.say(about, "account", CONTRADICTED, "the file names another account than the one that was signed")
        absent = [item["name"] for item in told["files"] if item["sha256"] not in [f.hash for f in self.files]
                  and not item["name"].endswith(".guarantee.json")]
        if absent:
            self.say(about, "files", NOTE, f"signed with them, and not given: {', '.join(absent)}")

    # pages and accounts

    def check_page(self, page):
        """Check that a page belongs to the files."""
        if page.bare != page.facts["shown"]:
            self.say(page.name, "page", CONTRADICTED, "the page was edited: it does not show what it was written with")
        file = next((f for f in self.files if f.hash == page.facts["file_sha256"]), None)
        if file is None:
            self.say(page.name, "page", CONTRADICTED, f"it is the page of another file: {page.facts['file']}")
        elif file.guarantee is None:
            self.say(page.name, "page", NOT_CHECKED, "it is about a file whose promise is not read here")
        else:
            self.attempt(page.name, "page", page.check_promise, file.guarantee)
            if page.facts["account"] is not None:
                self.heads.append((page.facts["account"]["head"], "on the page"))
        vouched = self.known and any(found.covers(page) for found in self.good)
        text = "that the page shows only its facts is not checked here"
        self.say(page.name, "text", NOTE if vouched else NOT_CHECKED, text + "; its signer vouches for it" * bool(vouched))

    def check_account(self, path):
        """Check what the account says about the files, and the heads that were seen."""
        about, book = path and os.path.basename(path), path and self.attempt(
            os.path.basename(path), "account", lambda: Account(read(path)))
        for file in self.files:
            if file.guarantee is not None and path is None:
                self.say(file.name, "account", NOTE, "no account was given: what else was released is not known")
            elif file.guarantee is not None and book:
                self.attempt(file.name, "account", book.check_release, file.guarantee)
            if file.guarantee is not None and file.beside is None:
                vouched = self.known and any(found.covers(file) for found in self.good)
                text = "the numbers of a synopsis are not read here, so its seal is not checked"
                self.say(file.name, "seal", NOTE if vouched else NOT_CHECKED, text + "; its signer vouches" * bool(vouched))
        if not book:
            return
        self.say(about, "account", HOLDS, f"its chain is whole, and nothing is overspent: {shown(book.limit - book.spent)}"
                 f" of {book.currency} {shown(book.limit)} is left")
        for page in self.pages:
            self.attempt(page.name, "account", page.check_balance, book)
        for head, what in self.heads:
            if not book.has(head):
                self.say(about, "head", CONTRADICTED, f"it has not the head {what}: {CUT}")
        for found in self.good:
            if found.account is not None and found.account["dataset"] != book.opened["dataset"]:
                self.say(about, "head", CONTRADICTED, "what was signed is about the account of another dataset")


def check_domain(columns, promise):
    if promise["model"] == "syntactic":
        Table(columns, promise).check_columns()
    odd = [name for name in columns if name not in part(part(promise, "domain"), "columns")]
    need(promise["model"] == "syntactic" or not odd, f"columns that are not declared: {', '.join(odd)}")
    return f"{len(next(iter(columns.values())))} rows; all {len(columns)} columns are declared"


def sentence(promise):
    """Say what is promised to whom."""
    if promise["model"] == "syntactic":
        required = promise["parameters"].get("required")
        k = required.get("k") if isinstance(required, dict) else None
        return f"{f'k = {k.text}' if isinstance(k, Number) else 'no k'}; no differential privacy. Unit: {promise['unit']}."
    epsilon, delta = promise["epsilon"] == "inf" and "infinite" or promise["epsilon"].text, promise["delta"].text
    return (f"differential privacy in the {promise['model']} model, epsilon = {epsilon}, delta = {delta}. "
            f"Unit: {promise['unit']}; neighbours: {promise['neighbours']}.")


def verify(paths, page=None, account=None, keys=(), heads=()):
    """Check everything that was given and return the verdict."""
    made, page_ends = Verdict(keys, heads), (".html", ".htm")
    paths = [path[:-15] if path.endswith(".guarantee.json") and os.path.exists(path[:-15]) else path for path in paths]
    for path in dict.fromkeys([*paths, *([page] if page else [])]):
        name = os.path.basename(path)
        if name.endswith(".signature.json"):
            made.read_signature(name, read(path))
        elif path == page or name.lower().endswith(page_ends):
            found = made.attempt(name, "page", Page, name, read(path))
            made.pages += [found] if found else []
            if found and found.signature:
                made.read_signature(name, found.signature)
            if not found and made.known:
                made.say(name, "page", CONTRADICTED, "it is not signed by a key that you named")
        else:
            made.files.append(Given(path))
    for file in made.files:
        made.check_file(file)
    for path in dict.fromkeys([*(file.path for file in made.files), *([page] if page else []), *([account] if account else [])]):
        if os.path.exists(path + ".signature.json"):
            made.read_signature(os.path.basename(path) + ".signature.json", read(path + ".signature.json"))
    made.check_signatures()
    for found in made.pages:
        made.check_page(found)
    made.check_account(account)
    owners = sorted({s.key for s in made.good if any(s.covers(file) for file in made.files)})
    names = [f"the owner of key {key[:16]}…{'' if made.known else ', who is unknown to you'}" for key in owners]
    made.rests = ("That the noise was drawn as stated, and that the ledger is complete, cannot be seen in a file: it "
                  f"rests on {' and '.join(names) or 'the maker of the files, which are not signed'}.")
    return made


def main(words=None):
    parser = argparse.ArgumentParser(description="Check a release of Discreet without Discreet.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="what was released, and signatures")
    parser.add_argument("--page", help="the page about it")
    parser.add_argument("--account", help="the account that it was charged to")
    parser.add_argument("--key", action="append", default=[], help="a public key that you trust")
    parser.add_argument("--head", action="append", default=[], help="a head of the account that was seen before")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.exit_on_error = False
    try:
        given = parser.parse_args(words)
        found = verify(given.files, given.page, given.account, given.key, given.head)
    except SystemExit as error:
        return 3 if error.code else 0
    except (Usage, argparse.ArgumentError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    if given.json:
        print(json.dumps(found.to_dict()))
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
