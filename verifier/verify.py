#!/usr/bin/env python3
"""Check a release of Discreet without Discreet.

    python3 verify.py FILE... [--page PAGE] [--account ACCOUNT] [--key PUBLIC] [--head HEAD] [--json]

Written from docs/evidence-format.md and docs/evidence-tables.md alone. It needs Python 3.9 or later and nothing else;
with the package `cryptography` it also checks signatures. Exit codes: 0 everything holds, 1 something is contradicted,
2 nothing is contradicted and something was not checked, 3 wrong usage.
"""

import argparse, hashlib, html, json, math, os, re, sys
from collections import Counter, defaultdict
from fractions import Fraction

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None

HOLDS, CONTRADICTED, NOT_CHECKED, NOTE = "holds", "contradicted", "not checked", "note"

class Wrong(Exception): """Something is not as the format says; the text says what."""
class Unchecked(Exception): """Something cannot be checked; the text says why."""
class Usage(Exception): """The command itself was wrong."""

def need(truth, text):
    if not truth: raise Wrong(text)
def sha256(data): return hashlib.sha256(data).hexdigest()
def is_hex(text, digits): return isinstance(text, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", text) is not None
def is_seal(text): return isinstance(text, str) and text[:7] == "sha256:" and is_hex(text[7:], 64)
def is_texts(value): return isinstance(value, list) and all(isinstance(text, str) for text in value)

# ---------------------------------------------------------------------------------------------------------------- JSON
class Number:
    """A number of a JSON file, with the text that it has there."""
    def __init__(self, text):
        self.text, self.whole = text, re.fullmatch(r"-?\d{1,4000}", text) is not None
        self.value = int(text) if self.whole else float(text)

    def __eq__(self, other): return isinstance(other, Number) and self.value == other.value
    __hash__ = None

def is_version(value, version, name="format_version"): return written(value[name]) == str(version)
def parsed(data):
    """Read JSON strictly: no field twice, no NaN, no halves of characters, and numbers keep their text."""
    def once(pairs):
        need(len(dict(pairs)) == len(pairs), "a field occurs twice")
        return dict(pairs)
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        found = json.loads(text, object_pairs_hook=once, parse_float=Number, parse_int=Number, parse_constant=int)
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
    if isinstance(value, Number): return value.text
    if isinstance(value, str): return quoted(value, canonical)
    if value is None or isinstance(value, bool): return {None: "null", True: "true", False: "false"}[value]
    deeper, ends, names = inner + indent, "{}" if isinstance(value, dict) else "[]", value
    if ends == "{}":
        if canonical: names = sorted(value)
        heads = [quoted(name, canonical) + (":" if canonical else ": ") for name in names]
        items = [head + written(value[name], canonical, indent, deeper) for head, name in zip(heads, names)]
    else: items = [written(item, canonical, indent, deeper) for item in value]
    if indent and items: return f"{ends[0]}\n{deeper}" + f",\n{deeper}".join(items) + f"\n{inner}{ends[1]}"
    return ends[0] + ("," if canonical else ", ").join(items) + ends[1]

def fields(value, names):
    need(isinstance(value, dict) and set(value) == set(names.split()), "it has missing or unknown fields")
def part(value, name):
    """Return an object inside an object, which may be absent."""
    found = value.get(name)
    need(found is None or isinstance(found, dict), f"{name} is not an object")
    return found or {}

# ------------------------------------------------------------------------------------------------------------- numbers
def rational(value, what):
    """Read an exact rational: a text such as "97/100", or a number of JSON; "inf" is infinite."""
    if value == "inf": return math.inf
    if isinstance(value, Number) and math.isfinite(value.value): return Fraction(value.value)
    found = isinstance(value, str) and re.fullmatch(r"(-?\d{1,4000})(?:/(\d{1,4000}))?", value)
    need(found and int(found[2] or 1), f"{what} is not a rational")
    return Fraction(int(found[1]), int(found[2] or 1))
def nearest(value):
    try: return float(value)
    except OverflowError: return math.inf
def number(value, what):
    need(isinstance(value, Number) and math.isfinite(value.value), f"{what} is not a number")
    return nearest(value.value)
def integer(value, what):
    need(isinstance(value, Number) and value.whole, f"{what} is not an integer")
    return value.value
def shown(value): return f"{nearest(value):.6g}"

# ------------------------------------------------------------------------------------------------------------ guarantee
FIELDS = ("format format_version model epsilon delta accounting spent unit neighbours ledger parameters domain "
          "assumptions seeded version digest")
MODELS = ("central", "local", "metric", "shuffled", "syntactic")
ROLES = ("attribute", "quasi-identifier", "sensitive", "identifier", "person", "target", "weight")
def checked_guarantee(value):
    need(isinstance(value, dict) and list(value) == FIELDS.split(), "it has not the fields of a guarantee, in order")
    need(value["format"] == "discreet.guarantee" and is_version(value, 2), "it is not a guarantee of version 2")
    need(value["model"] in MODELS and value["accounting"] in ("epsilon", "rho"), "its model is unknown")
    need(all(isinstance(value[name], str) and value[name] for name in ("unit", "neighbours", "version")), "no unit")
    texts = value["assumptions"]
    need(is_texts(texts) and len(set(texts)) == len(texts), "assumptions are not different texts")
    need(isinstance(value["ledger"], list) and isinstance(value["seeded"], bool), "ledger or seeded is damaged")
    need(value["digest"] is None or is_seal(value["digest"]), "its seal is not a seal")
    need(0 <= number(value["delta"], "delta") < 1, "delta is not between 0 and 1")
    if value["model"] == "syntactic": need(value["epsilon"] is None, "a syntactic promise has no epsilon")
    else: need(value["epsilon"] == "inf" or number(value["epsilon"], "epsilon") >= 0, "epsilon is negative")
    need(isinstance(value["spent"], str) and rational(value["spent"], "spent") >= 0, "spent is not a rational")
    need(isinstance(value["parameters"], dict), "parameters are not an object")
    for declared in part(part(value, "domain"), "columns").values():
        need(isinstance(declared, dict) and declared.get("role") in ROLES, "a declaration has no role")
        need(declared.get("missing") in ("drop", "own"), "a declaration does not say what happens to missing values")
        names = [written(each) for each in declared.get("categories") or []]
        need(len(set(names)) == len(names), "a category is declared twice")
    return value

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
    exact = value.numerator * value.denominator << 80
    root = math.isqrt(exact)
    return Fraction(root + (root * root < exact), value.denominator << 40)
def privtree_loss(scale, bias):
    a, total = math.exp(-1 / scale), 0.0
    for j in range(1, 1_000_000):
        q = math.exp(-j * bias / scale)
        term = math.log1p(q * (1 - a) / (1 + a - q))
        total += term
        if term <= 2**-60 / scale: return 2 / scale + (total + 4 * term) * (1 + 2**-36)
    raise Wrong("the sum of a privtree line is too long")

def draw_cost(draw, unit):
    law = draw.get("law") if isinstance(draw, dict) else None
    need(isinstance(law, str) and (law in NOISE or law in STATED), "the law of a draw is unknown")
    must = {"epsilon"} if law in STATED else {NOISE[law], "rows", "scale"} | ({"bias"} if law == "privtree" else set())
    may = must | {"law", "number"} | ({"delta"} if law in STATED else set())
    need(must <= set(draw) <= may, f"a draw of {law} has other fields")
    value = {name: rational(draw[name], name) for name in draw if name != "law"}
    need(all(v >= 0 for v in value.values()) and value.get("rows", 1) >= 1, "a number of a draw is too small")
    need(unit == "epsilon" or "delta" not in value, "a draw with delta has no price in rho")
    need(unit == "rho" or law != "gaussian", "Gaussian noise has no price in epsilon")
    if law in STATED: cost = value["epsilon"]
    elif value["scale"] == 0: return math.inf
    elif law == "gaussian": return value["l2_squared"] * value["rows"] / (2 * value["scale"] ** 2)
    elif law == "privtree": cost = value["rows"] * privtree_loss(nearest(value["scale"]), nearest(value["bias"]))
    else:
        size = root_up(value["l2_squared"]) if law == "isotropic" else value[NOISE[law]]
        cost = size * value["rows"] / value["scale"]
    return cost if unit == "epsilon" else cost * cost / (8 if law == "choice" else 2)

def line_cost(line, unit, wrong, outside):
    """Return what a line states that it costs; list what does not add up, is not paid, or was charged by hand."""
    label = line.get("label") if isinstance(line, dict) else None
    content = set(line) - {"label", "amount", "kind"} if isinstance(label, str) else ()
    need(len(content) == 1 and len(line) == 4, f"the line {label} has missing or unknown fields")
    amount, kind, (what,) = rational(line["amount"], f"the amount of {label}"), line["kind"], content
    need(isinstance(line["amount"], str) and amount > 0, f"the amount of {label} is not a positive rational")
    pure, inner = kind == "pure" and what == "parts" and unit == "rho", line[what]
    need(kind in ("sequential", "parallel") or pure, f"the kind of {label} is unknown")
    if what in ("parts", "draws"): need(isinstance(inner, list) and inner, f"the {what} of {label} are not a list")
    else: need(what in ("unused", "external") and inner is True, f"the line {label} has unknown fields")
    if what == "parts":
        costs = [line_cost(each, "epsilon" if pure else unit, wrong, outside) for each in inner]
        cost = max(costs) if kind == "parallel" else sum(costs) ** 2 / 2 if pure else sum(costs)
        if cost != amount: wrong["ledger"].append(f"{label} states {shown(amount)}, its parts cost {shown(cost)}")
    for draw in inner if what == "draws" else ():
        try:
            cost = draw_cost(draw, unit)
            close = draw["law"] == "privtree" and nearest(cost) <= nearest(amount) * (1 + 1e-9)
            need(cost <= amount or close, f"{shown(amount)} is paid for a draw that costs {shown(cost)}")
        except Wrong as error: wrong["draws"].append(f"{label}: {error}")
    if what == "external": outside.append(label)
    return amount

def epsilon_of_rho(rho, delta):
    if rho in (0, math.inf) or delta == 0: return 0.0 if rho == 0 else math.inf
    log = math.log(delta)
    steps = [math.sqrt(max(-log, 0.001) / rho) * 10 ** (x / 1000) for x in range(-3000, 3001)]
    least = min(rho * (1 + g) - math.log1p(1 / g) - (log + math.log1p(g)) / g for g in steps)
    return max(least, 0.0) * (1 + 1e-9) + 1e-14

def check_ledger(guarantee, say):
    wrong, outside, unit, total = {"ledger": [], "draws": []}, [], guarantee["accounting"], 0
    spent, lines, stated = rational(guarantee["spent"], "spent"), guarantee["ledger"], guarantee["epsilon"]
    if stated is None and not lines and spent == 0: return say("ledger", NOTE, "does not apply: no privacy budget")
    try:
        need(lines, "the ledger is empty")
        total = sum(line_cost(line, unit, wrong, outside) for line in lines)
        if total != spent: wrong["ledger"].append(f"the lines cost {shown(total)}, and {shown(spent)} is stated")
        stated = math.inf if stated == "inf" else 0 if stated is None else number(stated, "epsilon")
        right = nearest(spent) if unit == "epsilon" else epsilon_of_rho(nearest(spent), guarantee["delta"].value)
        close = unit == "rho" and right < math.inf and abs(stated - right) <= 1e-8 * right
        if guarantee["epsilon"] is not None and stated != right and not close:
            wrong["ledger"].append(f"epsilon is {right:.9g}, and {stated:.9g} is stated")
    except Wrong as error: wrong["ledger"].append(str(error))
    texts = (f"{len(lines)} lines add up to the stated {shown(total)} ({unit})", "each line pays for its noise")
    for name, text in zip(("ledger", "draws"), texts):
        say(name, CONTRADICTED if wrong[name] else HOLDS, "; ".join(wrong[name]) or text)
    if outside: say("external", NOT_CHECKED, f"charged by hand: {', '.join(outside)}")

# --------------------------------------------------------------------------------------------------------------- tables
ENCODINGS = {"utf-8": "utf-8-sig", "utf-16": "utf-16", "latin-1": "latin-1", "windows-1252": "windows-1252"}
def csv_rows(text, delimiter):
    """Read CSV: a list of rows of texts, with None for an empty field without quotes."""
    rows, row, at, plain = [], [], 0, re.compile(f"[^{re.escape(delimiter)}\r\n]*")
    while at < len(text) or row:
        pieces, quotes = [], text.startswith('"', at)
        while text.startswith('"', at):
            close = text.find('"', at + 1)
            need(close >= 0, "a quote is not closed")
            pieces.append(text[at + 1 : close])
            at = close + 1
        rest = plain.match(text, at)
        row.append('"'.join(pieces) + rest[0] if quotes else rest[0] or None)
        at = rest.end()
        if not text.startswith(delimiter, at):
            rows.append(row)
            row, at = [], at + text.startswith("\r\n", at)
        at += 1
    return rows

def read_table(parts, parameters):
    dialect, columns, escaped = part(parameters, "csv"), {}, parameters.get("formulas") == "escaped"
    encoding, delimiter = dialect.get("encoding", "utf-8"), dialect.get("delimiter", ",")
    need(isinstance(encoding, str) and encoding in ENCODINGS, "its encoding is unknown")
    need(isinstance(delimiter, str) and len(delimiter) == 1, "its delimiter is not one character")
    need(dialect.get("decimal", ".") in (".", ","), "its decimal mark is unknown")
    need(set(dialect) <= {"delimiter", "decimal", "encoding", "bom", "crlf"}, "its dialect is unknown")
    for data in parts:
        try: rows = csv_rows(data.decode(ENCODINGS[encoding]), delimiter)
        except UnicodeError: raise Wrong(f"it is not text in {encoding}") from None
        names = [name or "" for name in rows[0]] if rows else []
        need(names and len(set(names)) == len(names), "a column name occurs twice, or there is none")
        need(not columns or list(columns) == names, "its parts have different columns")
        for name in names: columns.setdefault(name, [])
        for row in rows[1:]:
            if row == [None] and len(names) > 1: continue
            need(len(row) == len(names), f"a row has {len(row)} fields instead of {len(names)}")
            for name, c in zip(names, row):
                columns[name].append(c[1:] if escaped and c and re.match("'+[-=+@\t\r]", c) else c)
    need(columns, "it has no parts")
    return columns

def decimal_key(text, mark):
    """Return one text for all spellings of a number, or None if it is not a number."""
    found = re.fullmatch(rf"([+-]?)(\d*)(?:{re.escape(mark)}(\d*))?(?:[eE]([+-]?\d{{1,6}}))?", text.strip(" "))
    if not found or not (found[2] or found[3]): return None
    digits = (found[2] + (found[3] or "")).lstrip("0")
    short = digits.rstrip("0")
    power = int(found[4] or 0) - len(found[3] or "") + len(digits) - len(short)
    return f"{'-' if found[1] == '-' else ''}{short}e{power}" if short else "0"
def moment_key(text):
    """Return one text for all spellings of a date or time, or None."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?", text.strip(" "))
    if not found: return None
    day, clock, seconds, rest, zone = (piece or "" for piece in found.groups())
    return f"{day} {clock or '00:00'}{seconds or ':00'}{rest.rstrip('0').rstrip('.')}{zone}"

class Table:
    """An anonymous table with its promise: roles, groups, and what is counted again."""
    def __init__(self, columns, guarantee):
        self.columns, self.promise, domain = columns, guarantee["parameters"], part(guarantee, "domain")
        self.declared, self.unit = part(domain, "columns"), domain.get("unit")
        self.mark, self.rows = part(self.promise, "csv").get("decimal", "."), len(next(iter(columns.values())))
        required, reached, kept = (part(self.promise, name) for name in ("required", "reached", "kept"))
        for value in (required.get("k"), reached.get("k"), self.promise.get("cells"), self.promise.get("rows")):
            need(value is None or integer(value, "k, cells or rows") >= 0, "k, cells or rows is negative")
        need(all(isinstance(self.promise.get(n), dict) for n in ("required", "reached")), "what is required or reached is not stated")
        for name, key in (("l", "least"), ("t", "most")):
            part(reached, f"{name}_kind" if name == "t" else name)
            need(name not in required or key in part(required, name), f"required.{name} is damaged")
        self.required, self.reached, self.kept_facts, self.kept = required, reached, kept, kept.get("columns") or []
        listed, role = self.promise.get("quasi_identifiers") or [], {n: d["role"] for n, d in self.declared.items()}
        need(is_texts(listed) and is_texts(self.kept), "quasi-identifiers or kept columns are not names")
        by_role = [name for name in role if role[name] == "quasi-identifier"]
        sensitive = [*part(reached, "l"), *part(reached, "t")]
        sensitive += [name for name in role if role[name] == "sensitive" and name not in self.kept]
        rest = [name for name in role if role[name] == "attribute" and name not in [*sensitive, *self.kept]]
        self.quasi = list(dict.fromkeys([*listed, *by_role])) or rest
        self.unlisted = [name for name in by_role if listed and name not in listed and self.shown_by([name])]
        self.sensitive = [n for n in dict.fromkeys(sensitive) if n not in self.quasi and n in columns]
        self.people = [n for n in columns if role.get(n) in ("identifier", "person")]
    def shown_by(self, names):
        found = []
        for name in names:
            split = [f"{name}_{end}" for end in ("lower", "upper", "set", "may_be_missing")]
            split = [n for n in split if n in self.columns and n not in self.declared]
            found += [name] if name in self.columns else split
        return found
    def check_columns(self):
        need(not self.unlisted, f"quasi-identifiers that the promise leaves out: {', '.join(self.unlisted)}")
        shows, hashed, rows = self.shown_by(self.quasi), self.promise.get("identifiers") == "hash", self.promise.get("rows")
        for name, cells in self.columns.items():
            if name in self.people:
                need(hashed and all(c is None or is_hex(c, 16) for c in cells), f"column {name} identifies people")
                continue
            need(name in shows or name in self.declared, f"column {name} is not declared")
            need(name in [*shows, *self.sensitive, *self.kept], f"column {name} has no role in the promise")
        need(rows is None or self.rows == rows.value, f"it has {self.rows} rows: another number is stated")
    def groups(self, columns):
        """Group the rows that are the same in some columns: lists of row numbers."""
        keys, found = [], defaultdict(list)
        for name in columns:
            cells, declared = self.columns[name], self.declared.get(name, {})
            numbers = [c if c is None else decimal_key(c, self.mark) for c in cells]
            texts = "categories" in declared or declared.get("kind") == "code"
            keys.append(cells if texts or numbers.count(None) > cells.count(None) else numbers)
        for row in range(self.rows): found[tuple(key[row] for key in keys)].append(row)
        return list(found.values())

    def recount(self):
        required, quasi, later, most = self.required, self.shown_by(self.quasi), [], self.promise.get("cells")
        by_columns = required.get("k_by_columns") is not None
        if self.promise.get("output") == "sample": raise Unchecked("rows were drawn from groups: k, l, t are not in them")
        if required.get("k") is None and not by_columns:
            if required.get("probabilistic_k") is None: return "no k is promised"
            raise Unchecked("k holds with a probability: it cannot be counted")
        if not self.rows: return "no rows"
        need(quasi, "a k is promised, and the table has none of its quasi-identifiers")
        if by_columns: return self.recount_by_columns(part(required, "k_by_columns"))
        groups = self.groups(quasi)
        told = [f"{self.rows} rows", f"{len(groups)} groups", f"k {self.count_k(groups, later)}"]
        need(most is None or len(groups) <= most.value, f"it has {len(groups)} groups, more than cells")
        if self.kept: self.count_kept(quasi)
        asked = part(required, "l"), part(required, "t")
        need(self.sensitive or not any(asked), "no sensitive column is there")
        for name in self.sensitive: told += self.count_values(name, groups, *asked, later)
        if later: raise Unchecked("; ".join(dict.fromkeys(later)))
        return ", ".join(told)
    def recount_by_columns(self, asked):
        stated, lists = part(self.reached, "k_by_columns").get("least"), asked.get("columns")
        k = max(integer(asked.get("least"), "least"), 0 if stated is None else integer(stated, "least"))
        need(isinstance(lists, list) and all(isinstance(names, list) for names in lists), "k_by_columns has no columns")
        for columns in map(self.shown_by, lists):
            smallest = min(map(len, self.groups(columns))) if columns else 0
            need(smallest >= k, f"k of {', '.join(columns)} is {smallest}, {k} is promised")
        need(all(any(name in names for names in lists) for name in self.quasi), "a quasi-identifier is in no list")
        return f"{self.rows} rows, k by columns at least {k}"
    def count_kept(self, quasi):
        more = [name for name in self.kept if name in self.columns and name not in quasi]
        sizes, k, unique = [len(g) for g in self.groups(quasi + more)], self.kept_facts.get("k"), self.kept_facts.get("unique")
        need(k is None or min(sizes) >= integer(k, "kept.k"), f"k with kept columns is {min(sizes)}")
        alone = sizes.count(1) / self.rows
        need(unique is None or alone <= number(unique, "unique") + 1e-6, f"{alone:.4g} of the rows are alone")
    def count_k(self, groups, later):
        required, reached = integer(self.required["k"], "required.k"), self.reached.get("k")
        k, counts, reached = min(map(len, groups)), self.promise.get("k_counts"), reached.value if reached else required
        need(reached >= required, "the stated k is less than the required one")
        person = counts is not None and re.search(r"'(.*)'$", str(counts))
        cells = self.columns.get(person[1]) if person else None
        if cells is not None and self.promise.get("identifiers") == "hash":
            people = [Counter(cells[row] for row in group) for group in groups]
            k, most = min(map(len, people)), self.reached.get("largest_share")
            share = max(max(c.values()) / sum(c.values()) for c in people)
            need(most is None or share <= number(most, "largest_share") + 1e-6, f"one person has {share:.4g} of a group")
        elif counts is not None: later.append("k counts persons, who are not in the table")
        need(k >= reached, f"k is {k}, and {reached} is required or stated")
        return k
    def numbered(self, name):
        """Number sensitive values in order, missing ones last; say whether they are numbers, dates or times."""
        cells, declared = self.columns[name], self.declared.get(name, {})
        bounds, names, given = declared.get("bounds"), declared.get("categories"), [c for c in cells if c is not None]
        categories, code = isinstance(names, list), declared.get("kind") == "code"
        known = {c.text if isinstance(c, Number) else str(c): i for i, c in enumerate(names)} if categories else {}
        moments = not categories and isinstance(bounds, list) and bounds and isinstance(bounds[0], str)
        numbers = isinstance(bounds, list) or (not code and all(decimal_key(c, self.mark) for c in given))
        def key(c):
            if categories: c = c.strip() if c not in known and c.strip() in known else c
            elif moments: c = moment_key(c) or c
            elif numbers and decimal_key(c, self.mark): return float(decimal_key(c, self.mark)), decimal_key(c, self.mark)
            return known.get(c, len(known)) if categories else 0 if moments or not numbers else math.inf, c
        found = {c: i for i, c in enumerate(sorted(set(map(key, given))))}
        return [len(found) if c is None else found[key(c)] for c in cells], not categories and bool(moments or numbers)
    def count_values(self, name, groups, asked_l, asked_t, later):
        values, ordered = self.numbered(name)
        tables = [Counter(values[row] for row in group) for group in groups]
        least = number(asked_l["least"], "required.l.least") if asked_l else None
        by_persons = "k_counts" in self.promise and isinstance(self.unit, dict)
        if by_persons or "persons" in (asked_l.get("counts"), asked_t.get("counts")):
            need(least is None or min(map(len, tables)) >= least, f"{name} has fewer values in a group than required")
            later.append("l and t count persons")
            return []
        kind = asked_l.get("kind") or self.reached.get("l_kind") or "distinct"
        found, stated, c = l_of(tables, kind, least), part(self.reached, "l").get(name), asked_l.get("c")
        if asked_l and kind == "recursive":
            need(found < (3 if c is None else number(c, "required.l.c")), f"l of {name} is {found:.4g}, not below c")
        elif asked_l: need(found >= least - 1e-6, f"l of {name} is {found:.4g}, less than required")
        if stated is not None and self.reached.get("l_kind") in (None, kind):
            gap = found - number(stated, "reached.l")
            need(gap <= 1e-6 if kind == "recursive" else gap >= -1e-6, f"l of {name} is {found:.4g}, not as stated")
        return [f"l of {name} {found:.4g}", self.count_t(name, values, ordered, tables, asked_t, later)]
    def count_t(self, name, values, ordered, tables, asked, later):
        stated, stated_kind = part(self.reached, "t").get(name), part(self.reached, "t_kind").get(name)
        kind = asked.get("kind", "auto") if asked else stated_kind or "auto"
        if kind == "auto": kind = "ordered" if ordered else "equal"
        whole, t = sorted(Counter(values).items()), 0.0
        for table in tables:
            n, so_far, total = sum(table.values()), 0.0, 0.0
            for value, count in whole:
                p = table[value] / n - count / self.rows
                so_far += p
                total += abs(so_far) / max(len(whole) - 1, 1) if kind == "ordered" else abs(p) / 2
            t = max(t, total)
        most = number(asked["most"], "required.t.most") if asked else math.inf
        if stated is not None and stated_kind in (None, kind): most = min(most, number(stated, "reached.t"))
        if t > most + 1e-6:
            need(kind not in ("equal", "ordered"), f"t of {name} is {t:.4g}, {most:.4g} is required or stated")
            later.append(f"t of {name} follows a hierarchy that is not in the guarantee")
        return f"t of {name} {t:.4g}"

def l_of(tables, kind, least):
    if kind == "distinct": return min(map(len, tables))
    counts = [sorted(table.values(), reverse=True) for table in tables]
    if kind == "entropy":
        return min(math.exp(-sum(n / sum(group) * math.log(n / sum(group)) for n in group)) for group in counts)
    need(kind == "recursive", "the kind of l is unknown")
    rests = [sum(group[max(int(least or 1) - 1, 0) :]) for group in counts]
    return max(group[0] / rest if rest else math.inf for group, rest in zip(counts, rests))

# -------------------------------------------------------------------------------------------------------------- account
RESERVE = "entry price delta job asked task when who"
EVENTS = {"open": "format version dataset unit epsilon rho delta when who", "reserve": RESERVE,
          "book": "entry price delta digest steps seeded when", "spend": RESERVE + " digest steps seeded state",
          "file": "entry name digest when who", "note": "entry text when who", "close": "when who", "repair": "dropped"}
STEPS = ("laplace", "gaussian", "exponential", "response", "zcdp")
CUT = "it was cut back, is an older copy, or is another account"
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
            need(isinstance(kind, str) and kind in EVENTS, "it has an unknown event")
            terms = " terms" if kind in ("reserve", "book", "spend") and "terms" in event else ""
            fields(event, f"after kind {EVENTS[kind]}{terms}")
            texts = [event[n] for n in ("when", "who", "dataset", "job", "name", "text") if n in event]
            need(all(texts) and is_texts(texts), "a text is damaged")
            need(event["after"] == (self.hashes[-1] if self.hashes else "0" * 64), "a line does not follow the last one")
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
            need(self.limit > 0 and 0 <= self.delta < 1, "its limits are damaged")
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
        if kind in ("reserve", "spend", "book"): self.charge(kind, self.entries[event["entry"].value - 1], event)
        if event.get("digest") is not None:
            entry, digest = event["entry"].value, event["digest"]
            known = self.digests.get(digest) if isinstance(digest, str) and kind != "book" else None
            need(isinstance(digest, str) and known in (None, entry if kind == "file" else None), "a digest occurs twice")
            need(self.entries[entry - 1]["booked"], "a file is of an entry that is not booked")
            self.digests[digest] = entry
    def charge(self, kind, entry, event):
        price, delta = rational(event["price"], "a price"), rational(event["delta"], "a delta")
        terms = part(event, "terms")
        need(price == delta == 0 if terms else price > 0 and delta >= 0, "a price is damaged")
        need(not terms or (terms.get("model") in MODELS[1:] and isinstance(terms.get("unit"), str)), "terms are damaged")
        if kind == "book":
            need(not entry["booked"], "an entry is booked twice")
            need(price <= entry["price"] and delta <= entry["delta"], "more is booked than was reserved")
            need(terms.get("model") == entry["terms"].get("model"), "another kind is booked than was reserved")
        for step in event.get("steps", []):
            need(isinstance(step, list) and len(step) == 4 and step[0] in STEPS, "a step is damaged")
            need(min(rational(step[1], "a step"), rational(step[2], "a step"), integer(step[3], "a step") - 1) >= 0, "a step")
        entry.update(terms=terms, price=price, delta=delta, booked=kind != "reserve")
        self.spent, deltas = sum(e["price"] for e in self.entries), sum(e["delta"] for e in self.entries)
        need(self.spent <= self.limit, "more is spent than its limit")
        need(deltas <= (self.delta if self.currency == "epsilon" else 0), "more delta is spent than it has")
    def has(self, head):
        return isinstance(head, str) and head.replace("sha256:", "", 1) in self.hashes

    def check_release(self, guarantee):
        named, entry = part(guarantee["parameters"], "account"), self.digests.get(guarantee["digest"])
        if named:
            need(named.get("dataset") == self.opened["dataset"], "it was charged to the account of another dataset")
            need(self.has(named.get("head")), f"the account has not the line that the file names: {CUT}")
        need(entry is not None, "the account does not know this file")
        spent, epsilon = rational(guarantee["spent"], "spent"), guarantee["epsilon"]
        if guarantee["accounting"] == "epsilon" and self.currency == "rho": spent = spent * spent / 2
        if guarantee["accounting"] == "rho" and self.currency == "epsilon":
            spent = Fraction(epsilon.text) if isinstance(epsilon, Number) else math.inf
        paid = guarantee["model"] != "central" or spent <= self.entries[entry - 1]["price"]
        need(paid, f"entry {entry} was charged less than the file costs")
        return f"the account knows it as entry {entry}"

# ----------------------------------------------------------------------------------------------------------------- page
FACTS = ("format format_version file bytes file_sha256 kind digest promise seeded account behind about signer language "
         "made_by reported_by given shown")
def page_part(text, name):
    """Return what a page carries under a name, and the page without it."""
    found = list(re.finditer(f"<meta name=\"discreet-{name}\" content='([^<>']*)'>", text))
    if len(found) != 1 or text.count(f'name="discreet-{name}"') != 1:
        raise Unchecked(f"it does not carry {name} in one place")
    start, end = found[0].span(1)
    return html.unescape(found[0][1]), text[:start] + text[end:]

class Page:
    def __init__(self, name, data):
        text, self.name = data.decode("utf-8", "replace"), name
        if not text.lstrip().lower().startswith("<!doctype html"): raise Unchecked("it is not a page")
        facts, bare = page_part(text, "facts")
        self.signature, without = page_part(text, "signature")
        self.hash, self.bare = sha256(without.encode()), sha256(page_part(bare, "signature")[1].encode())
        try:
            self.facts = told = parsed(facts)
            fields(told, FACTS)
            need(told["format"] == "discreet.page" and is_version(told, 1), "version")
            need(all(isinstance(told[n], str) for n in ("file", "file_sha256", "given", "shown", "language")), "texts")
            need(all(isinstance(v, dict) for v in (told["promise"], told["about"], parsed(told["given"]))), "objects")
            need(told["account"] is None or isinstance(part(told, "account").get("head"), str), "head")
        except Wrong:
            raise Unchecked("its facts cannot be read") from None
    def check_promise(self, guarantee):
        promise, rho = self.facts["promise"], None
        if guarantee["accounting"] == "rho":
            spent = nearest(rational(guarantee["spent"], "spent"))
            rho = "inf" if spent == math.inf else Number(repr(spent))
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
            texts = {"dataset": account.opened["dataset"], "currency": account.currency}
            wrong += [n for n, v in texts.items() if told.get(n) != v]
            need(not wrong, f"it states another {' and '.join(wrong)} than the account had then")

# ----------------------------------------------------------------------------------------------------------- signatures
class Signature:
    """A signature: its fields are checked when it is read, its bytes by `check`."""
    def __init__(self, value):
        fields(value, "format format_version statement public_key signature")
        need(value["format"] == "discreet.signature" and is_version(value, 1), "it is not a signature of version 1")
        need(is_hex(value["public_key"], 64) and is_hex(value["signature"], 128), "its key or signature is damaged")
        told = value["statement"]
        fields(told, "about files pages guarantee account version time name key")
        need(told["about"] in ("release", "account"), "it is about something unknown")
        need(all(isinstance(told[name], str) for name in ("version", "time", "name")), "its texts are damaged")
        need(isinstance(told["files"], list) and isinstance(told["pages"], list), "its files are not lists")
        for item in told["files"] + told["pages"]:
            fields(item, "name sha256")
            need(isinstance(item["name"], str) and is_hex(item["sha256"], 64), "a file has no name or hash")
        need(told["guarantee"] is None or is_hex(told["guarantee"], 64), "its guarantee is not a hash")
        account = told["account"]
        if account is not None:
            fields(account, "dataset entry head")
            need(isinstance(account["dataset"], str) and is_seal(account["head"]), "its account is damaged")
            need(account["entry"] is None or integer(account["entry"], "entry") >= 0, "its entry is negative")
        self.value, self.told, self.account, self.key = value, told, account, sha256(bytes.fromhex(value["public_key"]))
        need(told["key"] == self.key, "its fingerprint is not that of its public key")

    def bytes(self):
        told, account = self.told, self.account or {"dataset": None, "entry": None, "head": None}
        entry = account["entry"] and account["entry"].text
        parts = [("A", told["about"]), *(("F", item) for item in told["files"]), *(("P", item) for item in told["pages"]),
                 ("G", told["guarantee"]), ("D", account["dataset"]), ("E", entry), ("H", account["head"]),
                 ("V", told["version"]), ("T", told["time"]), ("N", told["name"]), ("K", told["key"])]
        made = b"discreet.statement\x01"
        for kind, value in parts:
            if value is None: continue
            if kind in "FP": value = bytes.fromhex(value["sha256"]) + value["name"].encode()
            elif kind in "GK": value = bytes.fromhex(value)
            else: value = value.encode()
            made += kind.encode() + len(value).to_bytes(8, "big") + value
        return made
    def check(self):
        if Ed25519PublicKey is None: raise Unchecked("signatures need the package `cryptography`")
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.value["public_key"]))
            key.verify(bytes.fromhex(self.value["signature"]), self.bytes())
        except (InvalidSignature, ValueError):
            raise Wrong("the signature is not one of this statement: one was changed") from None
        return self
    def listed(self, thing):
        """Return the names of all signed files or pages, and whether a file or page is one of them by its hash."""
        items = self.told["pages" if isinstance(thing, Page) else "files"]
        return [item["name"] for item in items], thing.hash in [item["sha256"] for item in items]

def public_key(path):
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
    if mark == 20 and b"discreet.guarantee\x18" not in data and data.endswith(b"PAR1"):
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
    """Check the messages of a file of local reports or counts; return what each says, and whether it was seeded."""
    told, at = [], 0
    while at < len(data) or not told:
        version, kind, flags, zero = data[at + 4 : at + 8].ljust(4, b"\xff")
        known = data[at : at + 4] == b"DSCL" and version == 1 and kind in (1, 2, 3) and flags < 2 and zero == 0
        body = at + 12 + int.from_bytes(data[at + 8 : at + 12], "little")
        number_of, length = (int.from_bytes(data[body + i : body + i + 8], "little") for i in (0, 8))
        end = body + 16 + length
        need(known and hashlib.sha256(data[at:end]).digest() == data[end : end + 32], "a message is damaged")
        header, what = parsed(data[at + 12 : body]), ("reports", "counts", "a bitmap")[kind - 1]
        need(isinstance(header, dict) and isinstance(header.get("mechanism"), str), "a message names no mechanism")
        need(kind != 1 or (length % number_of == 0 if number_of else length == 0), "its reports are of unequal length")
        epsilon = getattr(header.get("epsilon"), "text", header.get("epsilon"))
        told.append((f"{what} of {header['mechanism']} with epsilon {epsilon}, {number_of} in number", bool(flags)))
        at = end + 32
    return told

# -------------------------------------------------------------------------------------------------------------- verdict
def read(path):
    try:
        with open(path, "rb") as file: return file.read()
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from None

class Given:
    def __init__(self, path):
        self.path, self.guarantee = path.rstrip("/"), None
        names = sorted(n for n in os.listdir(path) if n[0] not in "._") if os.path.isdir(path) else [""]
        parts = [read(os.path.join(self.path, name) if name else path) for name in names]
        self.tables = [data for name, data in zip(names, parts) if not name or name.startswith("part-")]
        self.name, self.payload = os.path.basename(self.path), b"".join(parts)
        self.hash, place = sha256(self.payload), self.path + ".guarantee.json"
        self.beside = read(place) if os.path.exists(place) else None

class Verdict:
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
            return self.say(about, check, CONTRADICTED if isinstance(error, Wrong) else NOT_CHECKED, str(error))
        if isinstance(found, str): self.say(about, check, HOLDS, found)
        return found

    @property
    def code(self):
        results = [answer["result"] for answer in self.answers]
        return 1 if CONTRADICTED in results else 2 if NOT_CHECKED in results else 0
    def to_dict(self):
        words, told = (HOLDS, CONTRADICTED, NOT_CHECKED)[self.code], {"promises": self.promises, "checks": self.answers}
        return {"verdict": words, "code": self.code, **told, "rests_on": self.rests}
    def vouched(self, thing):
        return bool(self.known) and any(found.listed(thing)[1] for found in self.good)

    def check_file(self, file):
        """Check one file by itself: seal, promise, ledger, and for a table its columns, k, l and t."""
        name, data = file.name, file.payload
        if file.beside is not None: file.guarantee = self.attempt(name, "promise", guarantee_file, file.beside)
        elif data.startswith(b"PAR1"): file.guarantee = self.attempt(name, "checksum", synopsis, data)
        elif data.startswith(b"DSCL"): return self.check_messages(name, data)
        else: self.say(name, "promise", NOT_CHECKED, "there is no guarantee in the file or next to it")
        promise = file.guarantee
        if promise is None: return None
        self.promises.append({"file": name, "promise": sentence(promise), "digest": promise["digest"]})
        self.attempt(name, "ledger", check_ledger, promise, lambda *words: self.say(name, *words))
        self.check_seed(name, promise["seeded"])
        if file.beside is None: return self.say(name, "checksum", HOLDS, "it is identical to the file that was written")
        if seal(promise, data) == promise["digest"]: self.say(name, "seal", HOLDS, "the table matches the seal")
        else: self.say(name, "seal", CONTRADICTED, "table or promise was changed after it was written")
        if any(piece.startswith((b"PAR1", b"PK\x03\x04")) for piece in file.tables):
            return self.say(name, "recount", NOT_CHECKED, "the rows of Parquet and Excel files are not read here")
        columns = self.attempt(name, "domain", read_table, file.tables, promise["parameters"])
        if columns is None: return None
        self.attempt(name, "domain", check_domain, columns, promise)
        self.say(name, "cells", NOTE, "not checked here: that each cell is one of its declaration")
        if promise["model"] == "syntactic":
            self.attempt(name, "recount", lambda: "counted again: " + Table(columns, promise).recount())
        return None
    def check_seed(self, name, seeded):
        if seeded: self.say(name, "seed", CONTRADICTED, "the noise was seeded: nothing is protected")
        else: self.say(name, "seed", HOLDS, "not seeded")

    def check_messages(self, name, data):
        told = self.attempt(name, "checksum", messages, data)
        if told is None: return
        self.promises += [{"file": name, "promise": text, "digest": None} for text, _ in told]
        self.say(name, "checksum", HOLDS, f"{len(told)} messages are whole")
        self.check_seed(name, any(seeded for _, seeded in told))
        self.say(name, "mechanism", NOT_CHECKED, "the parameters of local mechanisms are not read here")
    def read_signature(self, about, data):
        found = self.attempt(about, "signature", lambda: Signature(parsed(data)))
        if found and all(found.value != other.value for _, other in self.signatures): self.signatures.append((about, found))

    def check_signatures(self):
        for about, found in self.signatures:
            if self.attempt(about, "signature", found.check) is None: continue
            known, name = self.known.get(found.key), found.told["name"]
            text = f"which is unknown; it calls itself {name}" if known is None else f"which you know as {known}"
            result = HOLDS if known is not None else CONTRADICTED if self.known else NOTE
            self.say(about, "key", result, f"signed {found.told['time']} with key {found.key}, {text}")
            if known is not None or not self.known:
                self.good.append(found)
                self.compare_signed(about, found)
        unread = Ed25519PublicKey is None and self.signatures
        missing = NOT_CHECKED if unread else CONTRADICTED
        for thing in [*self.files, *self.pages]:
            by = [found.key for found in self.good if found.listed(thing)[1]]
            if not by and self.known: self.say(thing.name, "signature", missing, "it is not signed by a key that you named")
            elif not by: self.say(thing.name, "signature", NOT_CHECKED if unread else NOTE, "it is not signed")
            signer = thing.facts["signer"] if isinstance(thing, Page) else None
            if signer is not None and signer not in by:
                self.say(thing.name, "signature", missing, f"key {signer} signs it, says the page, and it is not here")

    def compare_signed(self, about, found):
        told, hashes = found.told, [file.hash for file in self.files]
        for thing in [*self.files, *self.pages]:
            names, covered = found.listed(thing)
            renamed = "" if thing.name in names else f"; it had another name then: {', '.join(names)}"
            if covered: self.say(thing.name, "signature", HOLDS, f"it is what was signed{renamed}")
            elif not renamed: self.say(thing.name, "signature", CONTRADICTED, "another file was signed under this name")
        signed = {item["name"]: item["sha256"] for item in told["files"]}
        for file in self.files:
            beside = file.name + ".guarantee.json"
            if file.beside is not None and signed.get(beside, sha256(file.beside)) != sha256(file.beside):
                self.say(beside, "signature", CONTRADICTED, "it is not the guarantee that was signed")
        first = next((f for f in self.files if told["files"] and f.hash == told["files"][0]["sha256"]), None)
        promise = first and first.guarantee
        if promise and told["guarantee"] not in (None, sha256(written(promise, canonical=True).encode())):
            self.say(about, "guarantee", CONTRADICTED, "the guarantee is not the one that was signed with this file")
        if found.account is not None:
            self.heads.append((found.account["head"], "that was signed"))
            named = self.attempt(about, "account", part, promise["parameters"], "account") if promise else None
            if named is not None and named.get("dataset") != found.account["dataset"]:
                self.say(about, "account", CONTRADICTED, "the file names another account than the one that was signed")
        absent = [n for n, digest in signed.items() if digest not in hashes and not n.endswith(".guarantee.json")]
        if absent: self.say(about, "files", NOTE, f"signed with them, and not given: {', '.join(absent)}")

    def check_page(self, page):
        if page.bare != page.facts["shown"]:
            self.say(page.name, "page", CONTRADICTED, "the page was edited: it does not show what it was written with")
        file = next((f for f in self.files if f.hash == page.facts["file_sha256"]), None)
        if file is None: self.say(page.name, "page", CONTRADICTED, f"it is the page of another file: {page.facts['file']}")
        elif file.guarantee is None: self.say(page.name, "page", NOT_CHECKED, "the promise of its file is not read here")
        else:
            self.attempt(page.name, "page", page.check_promise, file.guarantee)
            if page.facts["account"] is not None: self.heads.append((page.facts["account"]["head"], "on the page"))
        result, more = (NOTE, "; its signer vouches for it") if self.vouched(page) else (NOT_CHECKED, "")
        self.say(page.name, "text", result, f"that the page shows only its facts is not checked here{more}")

    def check_account(self, path):
        about, none = os.path.basename(path or ""), "no account was given: what else was released is not known"
        book = self.attempt(about, "account", lambda: Account(read(path))) if path else None
        for file in [f for f in self.files if f.guarantee is not None]:
            if book: self.attempt(file.name, "account", book.check_release, file.guarantee)
            elif not path: self.say(file.name, "account", NOTE, none)
            if file.beside is None:
                result, more = (NOTE, "; its signer vouches for it") if self.vouched(file) else (NOT_CHECKED, "")
                self.say(file.name, "seal", result, f"not checked: the numbers of a synopsis are not read here{more}")
        if not book: return
        for file in [f for f in self.files if f.payload.startswith(b"DSCL") and "sha256:" + f.hash not in book.digests]:
            self.say(file.name, "account", CONTRADICTED, "the account does not know this file")
        left = f"{shown(book.limit - book.spent)} of {book.currency} {shown(book.limit)} is left"
        self.say(about, "account", HOLDS, f"its chain is whole, and nothing is overspent: {left}")
        for page in self.pages: self.attempt(page.name, "account", page.check_balance, book)
        for head, what in self.heads:
            if not book.has(head): self.say(about, "head", CONTRADICTED, f"it has not the head {what}: {CUT}")
        for found in self.good:
            if found.account is not None and found.account["dataset"] != book.opened["dataset"]:
                self.say(about, "head", CONTRADICTED, "what was signed is about the account of another dataset")
def check_domain(columns, promise):
    odd = [name for name in columns if name not in part(part(promise, "domain"), "columns")]
    if promise["model"] == "syntactic": Table(columns, promise).check_columns()
    else: need(not odd, f"columns that are not declared: {', '.join(odd)}")
    return f"{len(next(iter(columns.values())))} rows; all {len(columns)} columns are declared"
def sentence(promise):
    required, unit = promise["parameters"].get("required"), promise["unit"]
    if promise["model"] == "syntactic":
        k = required.get("k") if isinstance(required, dict) else None
        return f"{f'k = {k.text}' if isinstance(k, Number) else 'no k'}; no differential privacy. Unit: {unit}."
    epsilon = "infinite" if promise["epsilon"] == "inf" else promise["epsilon"].text
    return (f"differential privacy in the {promise['model']} model, epsilon = {epsilon}, delta = {promise['delta'].text}. "
            f"Unit: {unit}; neighbours: {promise['neighbours']}.")
def verify(paths, page=None, account=None, keys=(), heads=()):
    made, given = Verdict(keys, heads), [page] if page else []
    for path in paths:
        table = path[: -len(".guarantee.json")]
        given.append(table if path.endswith(".guarantee.json") and os.path.exists(table) else path)
    for path in dict.fromkeys(given):
        name, found = os.path.basename(path), None
        if name.endswith(".signature.json"): made.read_signature(name, read(path))
        elif path == page or name.lower().endswith((".html", ".htm")):
            found = made.attempt(name, "page", Page, name, read(path))
            if not found and made.known: made.say(name, "page", CONTRADICTED, "it is not signed by a key that you named")
        else: made.files.append(Given(path))
        made.pages += [found] if found else []
        if found and found.signature: made.read_signature(name, found.signature)
    for file in made.files: made.check_file(file)
    for path in dict.fromkeys([*(file.path for file in made.files), page, account]):
        place = f"{path}.signature.json"
        if path and os.path.exists(place): made.read_signature(os.path.basename(place), read(place))
    made.check_signatures()
    for found in made.pages: made.check_page(found)
    made.check_account(account)
    owners = sorted({s.key for s in made.good if any(s.listed(file)[1] for file in made.files)})
    names = [f"the owner of key {key[:16]}…{'' if made.known else ', who is unknown to you'}" for key in owners]
    made.rests = ("That the noise was drawn as stated, and that the ledger is complete, cannot be seen in a file: it rests "
                  f"on {' and '.join(names) or 'the maker of the files, which are not signed'}.")
    return made

def main(words=None):
    parser = argparse.ArgumentParser(description="Check a release of Discreet without Discreet.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="what was released, and signatures")
    for name, text in (("page", "the page about it"), ("account", "the account that it was charged to")):
        parser.add_argument(f"--{name}", help=text)
    for name, text in (("key", "a public key that you trust"), ("head", "a head of the account that you saw before")):
        parser.add_argument(f"--{name}", action="append", default=[], help=text)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    try:
        given = parser.parse_args(words)
        found = verify(given.files, given.page, given.account, given.key, given.head)
    except SystemExit as error:
        return 3 if error.code else 0
    except Usage as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    told = found.to_dict()
    lines = [f"Verdict: {told['verdict']}", *(f"{p['file']} promises: {p['promise']}" for p in found.promises)]
    for result in (CONTRADICTED, NOT_CHECKED, HOLDS, NOTE):
        lines += [f"{result}  {a['about']}, {a['check']}: {a['detail']}" for a in found.answers if a["result"] == result]
    print(json.dumps(told) if given.json else "\n".join([*lines, f"Not in any file. {found.rests}"]))
    return found.code

if __name__ == "__main__": sys.exit(main())
