#!/usr/bin/env python3
"""Check a release of Discreet without Discreet.

    python3 verify.py FILE... [--page PAGE] [--account ACCOUNT] [--key PUBLIC] [--head HEAD] [--json]

It follows docs/evidence-format.md and docs/evidence-tables.md, and shares no code with Discreet. It needs Python 3.9 or
later and nothing else; with the package `cryptography` it also checks signatures. Exit codes: 0 everything holds,
1 something is contradicted, 2 nothing is contradicted and something was not checked, 3 wrong usage.
"""

import argparse, hashlib, html, json, math, os, re, sys, unicodedata
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
    if not truth:
        raise Wrong(text)

def sha256(data):
    return hashlib.sha256(data).hexdigest()

# ------------------------------------------------------------------------------------------------ JSON, read and written
class Number:
    """A number of a JSON file, with the text that it has there."""
    def __init__(self, text):
        self.text, self.whole = text, re.fullmatch(r"-?\d{1,4000}", text) is not None
        self.value = int(text) if self.whole else float(text)

    def __eq__(self, other):
        return isinstance(other, Number) and self.value == other.value
    __hash__ = None

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
    return '"' + re.sub(r"[^ !#-\[\]-~]" if ascii_only else r'["\\\x00-\x1f]', escape, text) + '"'

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
        ends, colon = "{}", ":" if canonical else ": "
        names = sorted(value) if canonical else value
        items = [quoted(n, canonical) + colon + written(value[n], canonical, indent, deeper) for n in names]
    else:
        ends, items = "[]", [written(item, canonical, indent, deeper) for item in value]
    if indent and items:
        return f"{ends[0]}\n{deeper}" + f",\n{deeper}".join(items) + f"\n{inner}{ends[1]}"
    return ends[0] + ("," if canonical else ", ").join(items) + ends[1]

def canonical_hash(value):
    return sha256(written(value, canonical=True).encode())

# ------------------------------------------------------------------------------------------------------------- numbers
def is_rational(value):
    """Return whether a value is a text such as "97/100" in lowest terms, and not negative."""
    found = isinstance(value, str) and re.fullmatch(r"(\d{1,2000})(?:/([1-9]\d{0,1999}))?", value, re.ASCII)
    return bool(found) and str(Fraction(int(found[1]), int(found[2] or 1))) == value

def exact(value):
    """Return the number that a checked rational, "inf", or number of JSON stands for."""
    if isinstance(value, Number):
        return Fraction(value.text)
    return math.inf if value == "inf" else Fraction(value)

def nearest(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf

def shown(value):
    return f"{nearest(value):.6g}"

# ------------------------------------------------------------------------------------------------------- forms of fields
def is_number(value, least=-math.inf, most=math.inf):
    return isinstance(value, Number) and math.isfinite(nearest(value.value)) and least <= value.value <= most

def is_whole(value, least=0):
    return isinstance(value, Number) and value.whole and least <= value.value < 2**53

def is_hash(value, digits=64):
    return isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is not None

def is_distinct(value):
    return isinstance(value, list) and len({written(item) for item in value}) == len(value)

#: What a form asks of a value. "a|b" is one of two, [x] a list of x, {…} an object with these fields; "x?" may be
#: absent, and "*" stands for any further field.
FORMS = {
    "null": lambda v: v is None,
    "true": lambda v: v is True,
    "bool": lambda v: isinstance(v, bool),
    "text": lambda v: isinstance(v, str),
    "words": lambda v: isinstance(v, str) and v != "",
    "sentence": lambda v: isinstance(v, str) and v != "" and not re.search(r"[.!?]\s", v),
    "number": is_number,
    "share": lambda v: is_number(v, 0, 1),
    "delta": lambda v: is_number(v, 0) and v.value < 1,
    "whole": is_whole,
    "count": lambda v: is_whole(v, 1),
    "one": lambda v: isinstance(v, Number) and v.text == "1",
    "two": lambda v: isinstance(v, Number) and v.text == "2",
    "amount": is_rational,
    "infinite": lambda v: v == "inf",
    "hash": is_hash,
    "seal": lambda v: isinstance(v, str) and v[:7] == "sha256:" and is_hash(v[7:]),
    "object": lambda v: isinstance(v, dict),
    "list": lambda v: isinstance(v, list),
    "distinct": is_distinct,
    "model": lambda v: v in ("central", "local", "metric", "shuffled", "syntactic"),
    "accounting": lambda v: v in ("epsilon", "rho"),
    "diversity": lambda v: v in ("distinct", "entropy", "recursive"),
    "role": lambda v: v in ("attribute", "quasi-identifier", "sensitive", "identifier", "person", "target", "weight"),
    "missing": lambda v: v in ("drop", "own"),
    "unit": lambda v: v == "row" or (isinstance(v, dict) and len(v) == 1 and all(map(FORMS["words"], v.values()))),
    "law": lambda v: v in ("laplace", "gaussian", "exponential", "response", "zcdp"),
    "state": lambda v: v in ("answered", "added"),
    "about": lambda v: v in ("release", "account"),
}
GROUPS = {"least": "whole", "columns": [["text"]], "*": "any"}
SHAPES = {
    "guarantee": {
        "format": "words", "format_version": "two", "model": "model", "epsilon": "null|infinite|number",
        "delta": "delta", "accounting": "accounting", "spent": "amount|infinite", "unit": "sentence",
        "neighbours": "sentence", "ledger": "list", "parameters": "object", "domain": "null|object",
        "assumptions": "distinct", "seeded": "bool", "version": "text", "digest": "null|seal"},
    "domain": {
        "named": "bool", "columns": {"*": {"role": "role", "missing": "missing", "categories?": "distinct", "*": "any"}},
        "unit?": "any", "functions?": "any", "impossible?": "any", "rules?": "any"},
    # Of anonymous tables.
    "parameters": {
        "output?": "text", "identifiers?": "text", "k_counts?": "text", "rows?": "whole", "cells?": "whole",
        "quasi_identifiers?": ["text"], "labels?": {"*": {"*": ["text"]}},
        "kept?": {"columns": ["text"], "k?": "whole|null", "unique?": "share", "*": "any"},
        "required?": {
            "k?": "whole|null", "probabilistic_k?": "whole", "k_by_columns?": GROUPS,
            "l?": {"kind?": "diversity", "least?": "number", "c?": "number", "counts?": "text", "*": "any"},
            "t?": {"kind?": "text", "most?": "number", "counts?": "text", "*": "any"}, "*": "any"},
        "reached?": {
            "k?": "whole|null", "probabilistic_k?": "whole", "k_by_columns?": GROUPS, "l?": {"*": "number|infinite"},
            "t?": {"*": "number"}, "l_kind?": "diversity", "t_kind?": {"*": "text"}, "largest_share?": "share",
            "*": "any"},
        "*": "any"},
    "page": {
        "format": "words", "format_version": "one", "file": "text", "bytes": "any", "file_sha256": "text", "kind": "any",
        "digest": "any", "promise": "object", "seeded": "any", "account": ("null", {"head": "text", "*": "any"}),
        "behind": ("null", {"file": "text", "digest": "text", "*": "any"}), "about": {"*": "text|null"},
        "signer": "text|null", "language": "text", "made_by": "any", "reported_by": "text", "given": "text",
        "shown": "text"},
    "given": {name + "?": "any" for name in ("attacks", "audits", "comparison", "candidates", "clusters")},
    "signature": {
        "format": "words", "format_version": "one", "public_key": "hash", "signature": "words", "statement": {
            "about": "about", "files": [{"name": "text", "sha256": "hash"}], "pages": [{"name": "text", "sha256": "hash"}],
            "guarantee": "null|hash", "account": ("null", {"dataset": "text", "entry": "null|count", "head": "text"}),
            "version": "text", "time": "text", "name": "text", "key": "hash"}},
    "key": {"format": "words", "format_version": "one", "algorithm": "words", "name": "text", "public_key": "hash",
            "fingerprint": "hash"},
}
MADE = {"when": "words", "who": "words"}
PRICE = {"entry": "count", "price": "amount", "delta": "amount"}
ASKED = {**MADE, **PRICE, "job": "words", "asked": "object", "task": "null|words", "terms?": "object"}
DONE = {"digest": "null|words", "steps": "list", "seeded": "bool", "terms?": "object"}
EVENTS = {
    "open": {**MADE, "format": "words", "version": "one", "dataset": "words", "unit": "unit", "epsilon": "null|amount",
             "rho": "null|amount", "delta": "amount"},
    "reserve": ASKED, "book": {**PRICE, **DONE, "when": "words"}, "spend": {**ASKED, **DONE, "state": "state"},
    "file": {**MADE, "entry": "count", "name": "words", "digest": "words"},
    "note": {**MADE, "entry": "count", "text": "words"}, "close": MADE, "repair": {"dropped": "count"},
}
LOCAL = {"epsilon": "amount", "delta": "amount"}
TERMS = {
    "syntactic": {"k": "null|count", "rules": "object", "earlier": "whole"}, "local": LOCAL, "shuffled": LOCAL,
    "metric": {"epsilon": "amount", "categories": "amount", "radius": "null|amount", "rate": "null|amount",
               "metric": "object"},
}

def misfit(value, shape, place="it"):
    """Return the place of the first part that has not its form, or None."""
    if isinstance(shape, str):
        fits = shape == "any" or any(FORMS[form](value) for form in shape.split("|"))
        return None if fits else place
    if isinstance(shape, tuple):
        return None if value is None else misfit(value, shape[1], place)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return place
        return next((found for found in (misfit(item, shape[0], place) for item in value) if found), None)
    if not isinstance(value, dict):
        return place
    absent = [name for name in shape if name[-1] not in "?*" and name not in value]
    known = {name.rstrip("?"): inner for name, inner in shape.items()}
    for name, inner in value.items():
        found = name if not {name, "*"} & set(known) else misfit(inner, known.get(name, known.get("*")), name)
        if found:
            return found
    return absent[0] if absent else None

def fits(value, shape, what="it"):
    """Refuse a value that has not its form; return it."""
    found = misfit(value, shape)
    need(found is None, f"{what} is damaged, or of another version: {found}")
    return value

def part(value, name):
    """Return an object inside an object, which may be absent."""
    found = value.get(name)
    need(found is None or isinstance(found, dict), f"{name} is not an object")
    return found or {}

# ----------------------------------------------------------------------------------------------------------- guarantees
def checked_guarantee(value):
    fits(value, SHAPES["guarantee"], "the guarantee")
    need(list(value) == list(SHAPES["guarantee"]), "the fields of the guarantee are not in order")
    need(value["format"] == "discreet.guarantee", "it is not a guarantee")
    need((value["model"] == "syntactic") == (value["epsilon"] is None), "epsilon does not go with the model")
    need(value["epsilon"] in (None, "inf") or value["epsilon"].value >= 0, "epsilon is negative")
    need(all(isinstance(text, str) for text in value["assumptions"]), "assumptions are not texts")
    if value["domain"] is not None:
        fits(value["domain"], SHAPES["domain"], "the declaration of columns")
    if value["model"] == "syntactic":
        kept = fits(value["parameters"], SHAPES["parameters"], "what the table keeps").get("kept", {})
        need(("k" in kept) == ("unique" in kept), "kept states one of k and unique")
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
#: By law, the field that says how far one row moves the values.
MOVES = {"laplace": "l1", "flip": "l1", "privtree": "l1", "max-norm": "linf", "isotropic": "l2_squared",
         "gaussian": "l2_squared", "choice": "span", "choices": "span"}
STATED = ("selection", "sampling", "report")

def draw_shape(law):
    """Return the form of a draw: what moves, its noise, and perhaps how many were drawn."""
    if law in STATED:
        return {"law": "text", "epsilon": "amount|infinite", "delta?": "amount", "number?": "whole"}
    more = {"bias": "count"} if law == "privtree" else {}
    return {"law": "text", MOVES[law]: "amount", "rows": "count", "scale": "amount", **more, "number?": "whole"}

def root_up(value):
    scaled = value.numerator * value.denominator << 80
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), value.denominator << 40)

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
    law = draw.get("law") if isinstance(draw, dict) else None
    need(isinstance(law, str) and (law in MOVES or law in STATED), "the law of a draw is unknown")
    fits(draw, draw_shape(law), f"a draw of {law}")
    value = {name: exact(amount) for name, amount in draw.items() if name != "law"}
    need(unit == "epsilon" or "delta" not in value, "a draw with delta has no price in rho")
    need(unit == "rho" or law != "gaussian", "Gaussian noise has no price in epsilon")
    if law in STATED:
        cost = value["epsilon"]
    elif value["scale"] == 0:
        return math.inf
    elif law == "gaussian":
        return value["l2_squared"] * value["rows"] / (2 * value["scale"] ** 2)
    elif law == "privtree":
        cost = value["rows"] * privtree_loss(nearest(value["scale"]), nearest(value["bias"]))
    else:
        size = root_up(value["l2_squared"]) if law == "isotropic" else value[MOVES[law]]
        cost = size * value["rows"] / value["scale"]
    return cost if unit == "epsilon" else cost * cost / (8 if law == "choice" else 2)

LINE = {"label": "text", "amount": "amount|infinite", "kind": "text", "parts?": "list", "draws?": "list",
        "unused?": "true", "external?": "true"}

def line_cost(line, unit, wrong, outside):
    """Return what a line states that it costs; list what does not add up, is not paid, or was charged by hand."""
    fits(line, LINE, "a line of the ledger")
    label, amount, kind = line["label"], exact(line["amount"]), line["kind"]
    need(len(line) == 4 and amount > 0, f"the line {label} has no amount, or not one content")
    parts, draws, pure = line.get("parts"), line.get("draws"), kind == "pure"
    need(parts != [] and draws != [], f"the line {label} is empty")
    need(kind in ("sequential", "parallel") or (pure and parts and unit == "rho"), f"the kind of {label} is unknown")
    if parts:
        costs = [line_cost(each, "epsilon" if pure else unit, wrong, outside) for each in parts]
        cost = max(costs) if kind == "parallel" else sum(costs) ** 2 / 2 if pure else sum(costs)
        if cost != amount:
            wrong["ledger"].append(f"{label} states {shown(amount)}, its parts cost {shown(cost)}")
    for draw in draws or ():
        try:
            cost = draw_cost(draw, unit)
            close = draw["law"] == "privtree" and nearest(cost) <= nearest(amount) * (1 + 1e-9)
            need(cost <= amount or close, f"{shown(amount)} is paid for a draw that costs {shown(cost)}")
        except Wrong as error:
            wrong["draws"].append(f"{label}: {error}")
    if "external" in line:
        outside.append(label)
    return amount

def epsilon_of_rho(rho, delta):
    if rho in (0, math.inf) or delta == 0:
        return 0.0 if rho == 0 else math.inf
    log = math.log(delta)
    steps = [math.sqrt(max(-log, 0.001) / rho) * 10 ** (x / 1000) for x in range(-3000, 3001)]
    least = min(rho * (1 + g) - math.log1p(1 / g) - (log + math.log1p(g)) / g for g in steps)
    return max(least, 0.0) * (1 + 1e-9) + 1e-14

def check_ledger(guarantee, say):
    wrong, outside, unit, total = {"ledger": [], "draws": []}, [], guarantee["accounting"], 0
    spent, lines, stated = exact(guarantee["spent"]), guarantee["ledger"], guarantee["epsilon"]
    if stated is None and not lines and spent == 0:
        return say("ledger", NOTE, "does not apply: no privacy budget")
    try:
        need(unit == "epsilon" or guarantee["delta"].value > 0, "an account in rho needs a delta")
        total = sum(line_cost(line, unit, wrong, outside) for line in lines)
        if total != spent:
            wrong["ledger"].append(f"the lines cost {shown(total)}, and {shown(spent)} is stated")
        right = nearest(spent) if unit == "epsilon" else epsilon_of_rho(nearest(spent), guarantee["delta"].value)
        stated = right if stated is None else nearest(exact(stated))
        close = unit == "rho" and right < math.inf and abs(stated - right) <= 1e-8 * right
        if stated != right and not close:
            wrong["ledger"].append(f"epsilon is {right:.9g}, and {stated:.9g} is stated")
    except Wrong as error:
        wrong["ledger"].append(str(error))
    texts = (f"{len(lines)} lines add up to the stated {shown(total)} ({unit})", "each line pays for its noise")
    for name, text in zip(("ledger", "draws"), texts):
        say(name, CONTRADICTED if wrong[name] else HOLDS, "; ".join(wrong[name]) or text)
    if outside:
        say("external", NOT_CHECKED, f"charged by hand: {', '.join(outside)}")
    return None

# -------------------------------------------------------------------------------------------------------- reading tables
ENCODINGS = {"utf-8": "utf-8-sig", "utf-16": "utf-16", "latin-1": "latin-1", "windows-1252": "windows-1252"}
DIALECT = {"delimiter?": "words", "decimal?": "words", "encoding?": "words", "bom?": "any", "crlf?": "any"}

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
    """Read the CSV files of a table: by column, its texts."""
    dialect, columns = fits(part(parameters, "csv"), DIALECT, "its dialect"), {}
    encoding, delimiter = dialect.get("encoding", "utf-8"), dialect.get("delimiter", ",")
    need(encoding in ENCODINGS and len(delimiter) == 1, "its encoding or delimiter is unknown")
    need(dialect.get("decimal", ".") in (".", ","), "its decimal mark is unknown")
    escape = re.compile("'+[-=+@\t\r]" if parameters.get("formulas") == "escaped" else "(?!)")
    for data in parts:
        try:
            rows = csv_rows(data.decode(ENCODINGS[encoding]), delimiter)
        except UnicodeError:
            raise Wrong(f"it is not text in {encoding}") from None
        names = [name or "" for name in rows[0]] if rows else []
        need(names and len(set(names)) == len(names), "a column name occurs twice, or there is none")
        need(not columns or list(columns) == names, "its parts have different columns")
        for name in names:
            columns.setdefault(name, [])
        for row in rows[1:]:
            if row == [None] and len(names) > 1:
                continue
            need(len(row) == len(names), f"a row has {len(row)} fields instead of {len(names)}")
            for name, cell in zip(names, row):
                columns[name].append(cell[1:] if cell and escape.match(cell) else cell)
    need(columns, "it has no parts")
    return columns

def decimal_key(text, mark):
    """Return one text for all spellings of a number, or None if it is not a number."""
    found = re.fullmatch(rf"([+-]?)(\d*)(?:{re.escape(mark)}(\d*))?(?:[eE]([+-]?\d{{1,6}}))?", text.strip(" "), re.ASCII)
    if not found or not (found[2] or found[3]):
        return None
    digits = (found[2] + (found[3] or "")).lstrip("0")
    short = digits.rstrip("0")
    power = int(found[4] or 0) - len(found[3] or "") + len(digits) - len(short)
    return f"{'-' if found[1] == '-' else ''}{short}e{power}" if short else "0"

def moment_key(text):
    """Return one text for all spellings of a date or time, or None."""
    form = r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?"
    found = re.fullmatch(form, text.strip(" "), re.ASCII)
    if not found:
        return None
    day, clock, seconds, rest, zone = (piece or "" for piece in found.groups())
    return f"{day} {clock or '00:00'}{seconds or ':00'}{rest.rstrip('0').rstrip('.')}{zone}"

# ---------------------------------------------------------------------------------------------------- tables counted again
class Table:
    """A table with its promise: roles, groups, and what is counted again."""
    def __init__(self, columns, guarantee):
        self.columns, self.promise, domain = columns, guarantee["parameters"], guarantee["domain"] or {}
        self.declared, self.unit = domain.get("columns", {}), domain.get("unit")
        self.mark, self.rows = part(self.promise, "csv").get("decimal", "."), len(next(iter(columns.values())))
        self.required, self.reached, self.kept_facts = (part(self.promise, n) for n in ("required", "reached", "kept"))
        role = {name: declared["role"] for name, declared in self.declared.items()}
        self.people = [name for name in columns if role.get(name) in ("identifier", "person")]
        if guarantee["model"] != "syntactic":
            return
        kept = self.kept_facts.get("columns", [])
        self.kept = [name for name in kept if name in columns]
        listed, by_role = self.promise.get("quasi_identifiers", []), [n for n in role if role[n] == "quasi-identifier"]
        sensitive = [*part(self.reached, "l"), *part(self.reached, "t")]
        sensitive += [name for name in role if role[name] == "sensitive" and name not in self.kept]
        rest = [name for name in role if role[name] == "attribute" and name not in [*sensitive, *self.kept]]
        self.quasi = list(dict.fromkeys([*listed, *by_role])) or rest
        self.listed = bool(listed)
        self.unlisted = [name for name in by_role if listed and name not in listed and self.shown_by([name])]
        self.sensitive = [n for n in dict.fromkeys(sensitive) if n not in self.quasi and n in columns]

    def shown_by(self, names):
        """Return the columns that show quasi-identifiers: of that name, or its bounds."""
        found = []
        for name in names:
            declared = self.declared.get(name)
            ends = ["lower", "upper", "set", "may_be_missing"]
            if declared is not None:
                ends = (["set"] if "categories" in declared else ["lower", "upper"])
                ends += ["may_be_missing"] if declared["missing"] == "own" else []
            split = [f"{name}_{end}" for end in ends]
            split = [n for n in split if n in self.columns and n not in self.declared]
            found += [name] if name in self.columns else split
        return found

    def check_columns(self):
        need(not self.unlisted, f"quasi-identifiers that the promise leaves out: {', '.join(self.unlisted)}")
        shows, rows = self.shown_by(self.quasi), self.promise.get("rows")
        for name in self.columns:
            need(name in shows or name in self.declared, f"column {name} is not declared")
            known = [*shows, *self.sensitive, *self.kept, *self.people]
            need(not self.listed or name in known, f"column {name} has no role in the promise")
        need(rows is None or self.rows == rows.value, f"it has {self.rows} rows: another number is stated")

    def groups(self, columns):
        """Group the rows that are the same in some columns: lists of row numbers."""
        keys, found = [], defaultdict(list)
        for name in columns:
            cells, declared = self.columns[name], self.declared.get(name, {})
            numbers = [c if c is None else decimal_key(c, self.mark) for c in cells]
            texts = "categories" in declared or declared.get("kind") == "code"
            keys.append(cells if texts or numbers.count(None) > cells.count(None) else numbers)
        for row in range(self.rows):
            found[tuple(key[row] for key in keys)].append(row)
        return list(found.values())

    def recount(self):
        required, quasi, later, most = self.required, self.shown_by(self.quasi), [], self.promise.get("cells")
        known = {"k", "l", "t", "k_by_columns", "probabilistic_k"}
        if "required" not in self.promise or set(required) - known:
            later.append("something else is promised than rules that can be counted")
        if self.promise.get("output") == "sample":
            later.append("rows were drawn from groups: k, l and t are not in them")
            told = []
        elif "k_by_columns" in required:
            told = self.recount_by_columns(required["k_by_columns"])
        elif required.get("k") is None:
            need(self.reached.get("k") is None, "a k is stated as reached, and none is promised")
            if "probabilistic_k" in required:
                later.append("k holds with a probability: it cannot be counted")
            told = ["no k is promised"]
        else:
            need(quasi, "a k is promised, and the table has none of its quasi-identifiers")
            told = self.recount_groups(quasi, most, later) if self.rows else ["no rows"]
        if later:
            raise Unchecked("; ".join(dict.fromkeys(later)))
        return "counted again: " + ", ".join(told)

    def recount_groups(self, quasi, most, later):
        groups = self.groups(quasi)
        told = [f"{self.rows} rows", f"{len(groups)} groups", f"k {self.count_k(groups, later)}"]
        need(most is None or len(groups) <= most.value, f"it has {len(groups)} groups, more than cells")
        if self.kept:
            more = [name for name in self.kept if name not in quasi]
            sizes, k, unique = [len(g) for g in self.groups(quasi + more)], self.kept_facts.get("k"), \
                self.kept_facts.get("unique")
            alone = sizes.count(1) / self.rows
            need(k is None or min(sizes) >= k.value, f"k with kept columns is {min(sizes)}")
            need(unique is None or alone <= unique.value + 1e-6, f"{alone:.4g} of the rows are alone")
        asked = self.required.get("l") or {}, self.required.get("t") or {}
        need(self.sensitive or not any(asked), "l or t is promised, and no sensitive column is there")
        for name in self.sensitive:
            told += self.count_values(name, groups, *asked, later)
        return told

    def recount_by_columns(self, asked):
        stated, lists = part(self.reached, "k_by_columns").get("least"), asked["columns"]
        k = max(asked["least"].value, 0 if stated is None else stated.value)
        for names in lists if self.rows else ():
            columns = self.shown_by([name for name in names if name in self.quasi])
            smallest = min(map(len, self.groups(columns))) if columns else 0
            need(smallest >= k, f"k of {', '.join(names)} is {smallest}, {k} is promised")
        left = [n for n in self.quasi if self.shown_by([n]) and not any(n in names for names in lists)]
        need(not left, "a quasi-identifier is in no list")
        return [f"{self.rows} rows", f"k by columns at least {k}"]

    def count_k(self, groups, later):
        required, stated = self.required["k"].value, self.reached.get("k")
        k, counts, reached = min(map(len, groups)), self.promise.get("k_counts"), stated.value if stated else required
        person = re.search(r"by column (['\"])(.*)\1$", counts) if counts is not None else None
        cells = self.columns.get(person[2]) if person else None
        if cells is not None and self.promise.get("identifiers") == "hash":
            people = [Counter(cells[row] for row in group) for group in groups]
            k, most = min(map(len, people)), self.reached.get("largest_share")
            share = max(max(c.values()) / sum(c.values()) for c in people)
            need(most is None or share <= most.value + 1e-6, f"one person has {share:.4g} of a group")
        elif counts is not None:
            later.append("k counts persons, who are not in the table")
        need(k >= max(required, reached), f"k is {k}, and {max(required, reached)} is required or stated")
        need(reached >= required, "the stated k is less than the required one")
        return k

    def numbered(self, name):
        """Number sensitive values in order, missing ones last; say whether they are numbers, dates or times."""
        cells, declared = self.columns[name], self.declared.get(name, {})
        bounds, names, given = declared.get("bounds"), declared.get("categories"), [c for c in cells if c is not None]
        categories, code = isinstance(names, list), declared.get("kind") == "code"
        known = {c.text if isinstance(c, Number) else str(c): i for i, c in enumerate(names)} if categories else {}
        moments = not categories and isinstance(bounds, list) and bounds and isinstance(bounds[0], str)
        numbers = isinstance(bounds, list) or (not code and all(decimal_key(c, self.mark) for c in given))

        def key(text):
            if categories:
                text = text.strip() if text not in known and text.strip() in known else text
                return known.get(text, len(known)), text
            if moments:
                return 0, moment_key(text) or text
            number = decimal_key(text, self.mark) if numbers else None
            return (float(number), number) if number else (math.inf if numbers else 0, text)

        found = {c: i for i, c in enumerate(sorted(set(map(key, given))))}
        return [len(found) if c is None else found[key(c)] for c in cells], not categories and bool(moments or numbers)

    def count_values(self, name, groups, asked_l, asked_t, later):
        """Count l and t of one column."""
        values, ordered = self.numbered(name)
        tables = [Counter(values[row] for row in group) for group in groups]
        least = asked_l["least"].value if "least" in asked_l else None
        by_persons = "k_counts" in self.promise and isinstance(self.unit, dict)
        if by_persons or "persons" in (asked_l.get("counts"), asked_t.get("counts")):
            need(least is None or min(map(len, tables)) >= least - 1e-6, f"{name} has fewer values in a group than required")
            later.append("l and t count persons")
            return []
        kind = asked_l.get("kind") or self.reached.get("l_kind") or "distinct"
        found, stated, c = l_of(tables, kind, least), part(self.reached, "l").get(name), asked_l.get("c")
        if asked_l and kind == "recursive":
            need(found < (3 if c is None else c.value), f"l of {name} is {found:.4g}, not below c")
        elif least is not None:
            need(found >= least - 1e-6, f"l of {name} is {found:.4g}, less than required")
        if stated is not None and self.reached.get("l_kind", kind) == kind:
            said = nearest(exact(stated))
            good = found <= said + 1e-6 if kind == "recursive" else found >= said - 1e-6
            need(good, f"l of {name} is {found:.4g}, not as stated")
        return [f"l of {name} {found:.4g}", self.count_t(name, values, ordered, tables, asked_t, later)]

    def count_t(self, name, values, ordered, tables, asked, later):
        stated, stated_kind = part(self.reached, "t").get(name), part(self.reached, "t_kind").get(name)
        kind = asked.get("kind", "auto") if asked else stated_kind or "auto"
        if kind == "auto":
            kind = "ordered" if ordered else "equal"
        whole, t = sorted(Counter(values).items()), 0.0
        for table in tables:
            n, so_far, total = sum(table.values()), 0.0, 0.0
            for value, count in whole:
                p = table[value] / n - count / self.rows
                so_far += p
                total += abs(so_far) / max(len(whole) - 1, 1) if kind == "ordered" else abs(p) / 2
            t = max(t, total)
        most = asked["most"].value if "most" in asked else math.inf
        known = kind in ("equal", "ordered")
        if stated is not None and (stated_kind in (None, kind) or not known):
            most = min(most, stated.value)
        if t > most + 1e-6:
            need(not known, f"t of {name} is {t:.4g}, {most:.4g} is required or stated")
            later.append(f"t of {name} follows a hierarchy that is not in the guarantee")
        return f"t of {name} {t:.4g}"

def l_of(tables, kind, least):
    if kind == "distinct":
        return min(map(len, tables))
    counts = [sorted(table.values(), reverse=True) for table in tables]
    if kind == "entropy":
        return min(math.exp(-sum(n / sum(group) * math.log(n / sum(group)) for n in group)) for group in counts)
    rests = [sum(group[max(int(least or 1) - 1, 0) :]) for group in counts]
    return max(group[0] / rest if rest else math.inf for group, rest in zip(counts, rests))

def check_table(columns, guarantee):
    """Check the columns of a table, and that those which name people hold hashes."""
    table, promise = Table(columns, guarantee), guarantee["parameters"]
    need(guarantee["domain"] is not None, "no columns are declared")
    for name in table.people:
        hashed = all(cell is None or is_hash(cell, 16) for cell in columns[name])
        need(promise.get("identifiers") == "hash" and hashed, f"column {name} identifies people")
    if guarantee["model"] == "syntactic":
        table.check_columns()
    else:
        odd = [name for name in columns if name not in table.declared]
        need(not odd, f"columns that are not declared: {', '.join(odd)}")
        need(guarantee["ledger"] or not table.rows, "rows were released, and the ledger is empty")
    return f"{table.rows} rows; all {len(columns)} columns are declared"

# -------------------------------------------------------------------------------------------------------------- account
CUT = "it was cut back, is an older copy, or is another account"

class Account:
    """An account: its chain is followed and its rules are checked line by line."""
    def __init__(self, data):
        self.hashes, self.entries, self.digests, self.then = [], [], {}, {}
        self.opened, self.closed, self.spent = None, False, Fraction(0)
        for line in data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]:
            text, _, digest = line.rpartition(b" ")
            need(len(line) <= 2**20 and sha256(text).encode() == digest, "it is damaged: a line does not match its hash")
            event = parsed(text)
            need(written(event, canonical=True).encode() == text, "a line is not canonical JSON")
            kind = event.pop("kind", None) if isinstance(event, dict) else None
            need(isinstance(kind, str) and kind in EVENTS, "it has an unknown event")
            need(event.pop("after", None) == (self.hashes[-1] if self.hashes else "0" * 64), "a line does not follow the last")
            fits(event, EVENTS[kind], f"a line of kind {kind}")
            need((kind == "open") == (self.opened is None), "it is not opened once, in its first line")
            self.take(kind, event)
            self.hashes.append(digest.decode())
            self.then[self.hashes[-1]] = self.spent, [dict(entry) for entry in self.entries], dict(self.digests)
        need(self.opened, "it has no first line")

    def take(self, kind, event):
        if kind == "open":
            need(event["format"] == "discreet.account", "it is not an account")
            need((event["epsilon"] is None) != (event["rho"] is None), "it is not in one of epsilon and rho")
            self.opened, self.currency = event, "epsilon" if event["rho"] is None else "rho"
            self.limit, self.delta = exact(event[self.currency]), exact(event["delta"])
            need(self.limit > 0 and (self.currency == "rho") <= self.delta < 1 or 0 < self.delta < 1, "its limits are damaged")
        elif kind == "close":
            need(not self.closed, "it is closed twice")
            self.closed = True
        elif kind in ("reserve", "spend"):
            need(not self.closed, "something is charged after it was closed")
            need(event["entry"].value == len(self.entries) + 1, "its entries are not in order")
            self.entries.append({"when": event["when"], "seeded": False})
        elif kind != "repair":
            need(event["entry"].value <= len(self.entries), "an entry is unknown")
        if kind in ("reserve", "spend", "book"):
            self.charge(kind, self.entries[event["entry"].value - 1], event)
        if event.get("digest") is not None:
            entry, digest = event["entry"].value, event["digest"]
            known = self.digests.get(digest, entry if kind == "file" else None)
            need(kind == "book" or known == (entry if kind == "file" else None), "a digest occurs twice")
            need(self.entries[entry - 1]["booked"], "a file is of an entry that is not booked")
            self.digests[digest] = max(entry, self.digests.get(digest, 0))

    def charge(self, kind, entry, event):
        price, delta, terms = exact(event["price"]), exact(event["delta"]), event.get("terms")
        need((terms is None) == (price > 0) and (price > 0 or not delta), "a release has a price, or terms of its own")
        if terms is not None:
            need(terms.get("model") in list(TERMS), "the model of terms is unknown")
            fits(terms, {"model": "model", "unit": "words", **TERMS[terms["model"]]}, "terms")
        if kind == "book":
            held = entry["terms"] or {}
            need(not entry["booked"], "an entry is booked twice")
            need((terms or {}).get("model") == held.get("model"), "another kind is booked than was reserved")
            levels = [exact((each or {}).get("epsilon", "0")) for each in (terms, held)]
            more = price > entry["price"] or delta > entry["delta"] or levels[0] > levels[1]
            need(not more, "more is booked than was reserved")
        for step in event.get("steps", []):
            good = isinstance(step, list) and len(step) == 4 and FORMS["law"](step[0]) and is_whole(step[3], 1)
            good = good and is_rational(step[1]) and is_rational(step[2])
            need(good and exact(step[1]) > 0 and exact(step[2]) < 1, "a step is damaged")
        entry.update(terms=terms, price=price, delta=delta, booked=kind != "reserve", seeded=event.get("seeded", False))
        self.spent, deltas = sum(e["price"] for e in self.entries), sum(e["delta"] for e in self.entries)
        need(self.spent <= self.limit, "more is spent than its limit")
        need(deltas <= (self.delta if self.currency == "epsilon" else 0), "more delta is spent than it has")

    def has(self, head):
        return re.sub("^sha256:", "", head) in self.hashes

    def check_release(self, guarantee, digest):
        """Check that a release is in the account, and that its entry states what it costs."""
        named, number = guarantee["parameters"].get("account"), self.digests.get(digest)
        if isinstance(named, dict):
            need(named.get("dataset") == self.opened["dataset"], "it was charged to the account of another dataset")
            head = named.get("head")
            need(isinstance(head, str) and self.has(head), f"the account has not the line that the file names: {CUT}")
        need(number is not None, "the account does not know this file")
        entry = self.entries[number - 1]
        good = entry["seeded"] or not guarantee["seeded"]
        if guarantee["model"] != "central":
            good = good and entry["terms"] is not None and terms_of(guarantee) == entry["terms"]
        need(good and (guarantee["model"] != "central" or entry["terms"] is None), f"entry {number} states other terms")
        if guarantee["model"] == "central":
            self.check_price(guarantee, entry, number)
        return f"the account knows it as entry {number}"

    def check_price(self, guarantee, entry, number):
        cost, delta, unit = exact(guarantee["spent"]), guarantee["delta"].value, guarantee["accounting"]
        slack = 1 if unit == self.currency else 1 + Fraction(1, 10**8)
        if unit == "epsilon" and self.currency == "rho":
            need(delta == 0, "a release with a delta of its own has no price in rho")
            cost = cost * cost / 2
        elif unit == "rho" and self.currency == "epsilon":
            cost = exact(guarantee["epsilon"])
        paid = cost <= entry["price"] * slack and (self.currency == "rho" or delta <= nearest(entry["delta"]))
        need(paid, f"entry {number} was charged less than the file costs")

def terms_of(guarantee):
    """Return the terms of a release that is not of the central model, as an account writes them."""
    facts, spent = guarantee["parameters"], exact(guarantee["spent"])
    told = {"model": guarantee["model"], "unit": guarantee["unit"]}
    if guarantee["model"] == "syntactic":
        stated = facts["reached"] if "reached" in facts else part(facts, "required")
        told |= {"k": stated.get("k"), "rules": part(facts, "required")}
        return {**told, "earlier": facts.get("earlier_releases", Number("0"))}
    need(spent != math.inf, "without privacy it exceeds every account")
    told["epsilon"] = str(spent)
    if guarantee["model"] != "metric":
        return {**told, "delta": str(exact(guarantee["delta"]))}
    need(all(map(is_rational, part(facts, "category_epsilon").values())), "category_epsilon is damaged")
    apart, radius = sum(map(exact, part(facts, "category_epsilon").values())), facts.get("radius")
    need(radius is None or is_number(radius) and radius.value > 0, "radius is damaged")
    columns = (guarantee["domain"] or {}).get("columns", {})
    metric = {"columns": [n for n, declared in columns.items() if "categories" not in declared or "pattern" in declared]}
    metric |= part(facts, "scaling")
    metric |= {"density": facts.get("density")} if radius is None else {}
    rate = None if radius is None else str((spent - apart) / exact(radius))
    told |= {"categories": str(apart), "radius": None if radius is None else str(exact(radius)), "rate": rate}
    return {**told, "metric": metric}

# ----------------------------------------------------------------------------------------------------------------- page
def page_part(text, name):
    """Return what a page carries under a name, and the page without it."""
    found = list(re.finditer(f"<meta name=\"discreet-{name}\" content='([^<>']*)'>", text))
    content = html.unescape(found[0][1]) if found else ""
    once = len(found) == 1 and text.count(f'name="discreet-{name}"') == 1
    if not once or html.escape(content, quote=False).replace("'", "&#x27;") != found[0][1]:
        raise Unchecked(f"it does not carry {name} in one place, in its form")
    start, end = found[0].span(1)
    return content, text[:start] + text[end:]

class Page:
    def __init__(self, name, data):
        self.name = name
        try:
            text = data.decode("utf-8")
            facts, bare = page_part(text, "facts")
            self.signature, without = page_part(text, "signature")
            self.hash, self.bare = sha256(without.encode()), sha256(page_part(bare, "signature")[1].encode())
            self.facts = fits(parsed(facts), SHAPES["page"], "the page")
            need(self.facts["format"] == "discreet.page", "it is not a page")
            fits(parsed(self.facts["given"]), SHAPES["given"], "what is given")
        except (Wrong, UnicodeDecodeError):
            raise Unchecked("its facts cannot be read") from None

    def check_promise(self, guarantee):
        promise, rho = self.facts["promise"], None
        if guarantee["accounting"] == "rho":
            spent = nearest(exact(guarantee["spent"]))
            rho = "inf" if spent == math.inf else Number(repr(spent))
        stated = [(promise.get(n), guarantee[n], n) for n in ("model", "epsilon", "delta", "unit")]
        stated += [(promise.get("rho"), rho, "rho"), *((self.facts[n], guarantee[n], n) for n in ("seeded", "digest"))]
        wrong = [name for here, there, name in stated if here != there]
        need(not wrong, f"it states another promise than the file: {', '.join(wrong)}")
        return "it is about this file, and states its promise"

    def check_balance(self, account):
        """Compare what the page says about the account with the account as it was then."""
        told = self.facts["account"] or {}
        head = re.sub("^sha256:", "", told.get("head", ""))
        if head not in account.then:
            return
        spent, entries, digests = account.then[head]
        number = digests.get(self.facts["digest"] or f"sha256:{self.facts['file_sha256']}")
        amounts = {"total": account.limit, "spent": spent, "remaining": account.limit - spent, "releases": len(entries)}
        then = {name: Number(repr(nearest(value))) for name, value in amounts.items()}
        then |= {"dataset": account.opened["dataset"], "currency": account.currency, "head": f"sha256:{head}"}
        then["entry"] = None if number is None else Number(str(number))
        if number is not None:
            entry = entries[number - 1]
            then |= {"when": entry["when"], "model": (entry["terms"] or {"model": "central"})["model"]}
        wrong = [name for name, value in then.items() if told.get(name) != value]
        need(not wrong, f"it states another {' and '.join(wrong)} than the account had then")

# ----------------------------------------------------------------------------------------------------------- signatures
class Signature:
    """A signature: its fields are checked when it is read, its bytes by `check`."""
    def __init__(self, data):
        self.value = value = fits(parsed(data), SHAPES["signature"], "the signature")
        self.told, self.key = value["statement"], sha256(bytes.fromhex(value["public_key"]))
        self.account = self.told["account"]
        need(value["format"] == "discreet.signature" and is_hash(value["signature"], 128), "it is not a signature")

    def bytes(self):
        told, account = self.told, self.account or {"dataset": None, "entry": None, "head": None}
        entry = account["entry"] and account["entry"].text
        fields = [("A", told["about"]), *(("F", item) for item in told["files"]), *(("P", item) for item in told["pages"]),
                  ("G", told["guarantee"]), ("D", account["dataset"]), ("E", entry), ("H", account["head"]),
                  ("V", told["version"]), ("T", told["time"]), ("N", told["name"]), ("K", told["key"])]
        made = b"discreet.statement\x01"
        for kind, value in fields:
            if value is None:
                continue
            if kind in "FP":
                data = bytes.fromhex(value["sha256"]) + value["name"].encode()
            else:
                data = bytes.fromhex(value) if kind in "GK" else value.encode()
            made += kind.encode() + len(data).to_bytes(8, "big") + data
        return made

    def check(self):
        if Ed25519PublicKey is None:
            raise Unchecked("signatures need the package `cryptography`")
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.value["public_key"]))
            key.verify(bytes.fromhex(self.value["signature"]), self.bytes())
            need(self.told["key"] == self.key, "its fingerprint is not that of its public key")
        except (InvalidSignature, ValueError):
            raise Wrong("the signature is not one of this statement: one was changed") from None
        return self

    def listed(self, thing):
        """Return the names of all signed files or pages, and whether a file or page is one of them by its hash."""
        items = self.told["pages" if isinstance(thing, Page) else "files"]
        return [item["name"] for item in items], thing.hash in [item["sha256"] for item in items]

    def vouches(self, thing):
        """Return whether a file and the guarantee next to it, or a page, are what was signed."""
        beside, digests = getattr(thing, "beside", None), [item["sha256"] for item in self.told["files"]]
        return self.listed(thing)[1] and (beside is None or sha256(beside) in digests)

def public_key(path):
    try:
        value = fits(parsed(read(path)), SHAPES["key"], "the key")
        need((value["format"], value["algorithm"]) == ("discreet.key", "ed25519"), "it is not a public key")
        need(value["fingerprint"] == sha256(bytes.fromhex(value["public_key"])), "its fingerprint is another")
        return value["fingerprint"], value["name"]
    except Wrong as error:
        raise Usage(f"{path}: {error}") from None

# -------------------------------------------------------------------------------------------------------- binary files
NO_GUARANTEE = "there is no guarantee in the file or next to it"

def synopsis(data):
    """Check the checksum of a synopsis and return the guarantee inside."""
    mark, whole = data.rfind(b"discreet-file-sha256:") + 21, data[:4] == data[-4:] == b"PAR1"
    if whole and mark == 20 and b"discreet.synopsis\x18" not in data:
        need(b"discreet.record\x18" not in data, "it is the record of a history, which must not be handed out")
        raise Unchecked(NO_GUARANTEE)
    need(whole and mark > 20, "it is not whole, or not a synopsis")
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
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from None

def plain(text):
    """Return a text without characters that a terminal obeys, or that change the order of others."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)

def called(name):
    """Return a name for display: letters that could pass for others, or are not seen, are spelled out behind it."""
    odd = [c for c in name if not c.isprintable() or not unicodedata.normalize("NFD", c)[0].isascii()]
    return f"{plain(name)} [with {', '.join(f'U+{ord(c):04X}' for c in dict.fromkeys(odd))}]" if odd else name

class Given:
    """A released file or folder, with the guarantee next to it."""
    def __init__(self, path):
        self.path, self.guarantee = path.rstrip("/"), None
        self.file_name = os.path.basename(self.path)
        self.name, self.stray = called(self.file_name), []
        names = sorted(os.listdir(path)) if os.path.isdir(path) else [""]
        parts = {name: os.path.join(self.path, name) if name else path for name in names}
        inner = [name for name in names if os.path.isdir(parts[name])]
        self.stray = [called(n) for n in names if n and n[:5] != "part-" and (n in inner or os.path.getsize(parts[n]))]
        data = {name: read(parts[name]) for name in names if name not in inner and name[:1] not in (".", "_")}
        self.tables = [piece for name, piece in data.items() if not name or name.startswith("part-")]
        self.payload = b"".join(data.values())
        self.hash, place = sha256(self.payload), self.path + ".guarantee.json"
        self.beside = read(place) if os.path.exists(place) else None

class Verdict:
    def __init__(self, keys, heads):
        known = [public_key(key) for key in keys]
        self.answers, self.promises, self.rests, self.known = [], [], "", dict(known)
        self.heads = [(head, "that you gave") for head in heads]
        self.files, self.pages, self.signatures, self.good = [], [], [], []
        for name, times in Counter(dict(known).values()).items():
            if times > 1:
                self.say("keys", "key", NOTE, f"several of your keys are called {called(name)}; only fingerprints count")

    def say(self, about, check, result, detail):
        self.answers.append({"about": about, "check": check, "result": result, "detail": plain(detail)})

    def attempt(self, about, check, action, *given):
        """Do a check and note how it ended; return what it returns. A text that it returns says what holds."""
        try:
            found = action(*given)
        except (Wrong, Unchecked) as error:
            return self.say(about, check, CONTRADICTED if isinstance(error, Wrong) else NOT_CHECKED, str(error))
        if isinstance(found, str):
            self.say(about, check, HOLDS, found)
        return found

    @property
    def code(self):
        results = [answer["result"] for answer in self.answers]
        return 1 if CONTRADICTED in results else 2 if NOT_CHECKED in results else 0

    def to_dict(self):
        verdict = (HOLDS, CONTRADICTED, NOT_CHECKED)[self.code]
        told = {"verdict": verdict, "code": self.code, "promises": self.promises, "checks": self.answers}
        return {**told, "rests_on": self.rests}

    def leave(self, thing, check, detail):
        """Say that something is not checked here, unless a key that the reader named vouches for the whole file."""
        vouched = bool(self.known) and any(found.vouches(thing) for found in self.good)
        self.say(thing.name, check, NOTE if vouched else NOT_CHECKED, detail + "; its signer vouches for it" * vouched)

    def check_file(self, file):
        """Check one file by itself: promise, ledger and seal."""
        name, data = file.name, file.payload
        if file.stray:
            self.say(name, "file", CONTRADICTED, f"files in the folder are no part of the table: {', '.join(file.stray)}")
        alone = file.beside is None and data.lstrip()[:1] == b"{"
        if file.beside is not None or alone:
            file.guarantee = self.attempt(name, "promise", guarantee_file, data if alone else file.beside)
        elif data.startswith(b"DSCL"):
            self.check_messages(name, data)
        elif b"PAR1" in (data[:4], data[-4:]):
            file.guarantee = self.attempt(name, "checksum", synopsis, data)
        else:
            self.say(name, "promise", NOT_CHECKED, NO_GUARANTEE)
        promise = file.guarantee
        if promise is None:
            return
        self.promises.append({"file": name, "promise": plain(sentence(promise)), "digest": promise["digest"]})
        self.attempt(name, "ledger", check_ledger, promise, lambda *words: self.say(name, *words))
        self.check_seed(name, promise["seeded"])
        if alone:
            self.say(name, "seal", NOT_CHECKED, "the sealed file is not next to it")
        elif file.beside is None:
            self.say(name, "checksum", HOLDS, "it is identical to the file that was written")
        elif seal(promise, data) == promise["digest"]:
            self.say(name, "seal", HOLDS, "the table matches the seal")
        else:
            self.say(name, "seal", CONTRADICTED, "table or promise was changed after it was written")

    def check_rows(self, file):
        """Check the rows of a table: columns, cells, k, l and t."""
        name, promise = file.name, file.guarantee
        if file.beside is None:
            if file.payload[-4:] == b"PAR1":
                self.leave(file, "numbers", "the numbers of a synopsis are not read here")
            return
        if any(piece[:4] in (b"PAR1", b"PK\x03\x04") for piece in file.tables):
            self.leave(file, "rows", "the rows of Parquet and Excel files are not read here")
            return
        columns = self.attempt(name, "domain", read_table, file.tables, promise["parameters"])
        if columns is None or self.attempt(name, "domain", check_table, columns, promise) is None:
            return
        self.leave(file, "cells", "that every cell is one of its declaration is not checked here")
        if promise["model"] == "syntactic":
            self.attempt(name, "recount", Table(columns, promise).recount)

    def check_seed(self, name, seeded):
        if seeded:
            self.say(name, "seed", CONTRADICTED, "the noise was seeded: nothing is protected")
        else:
            self.say(name, "seed", HOLDS, "not seeded")

    def check_messages(self, name, data):
        told = self.attempt(name, "checksum", messages, data)
        if told is None:
            return
        self.promises += [{"file": name, "promise": plain(text), "digest": None} for text, _ in told]
        self.say(name, "checksum", HOLDS, f"{len(told)} messages are whole")
        self.check_seed(name, any(seeded for _, seeded in told))
        self.say(name, "mechanism", NOT_CHECKED, "the parameters of local mechanisms are not read here")

    def read_signature(self, about, data):
        found = self.attempt(about, "signature", Signature, data)
        if found and all(found.value != other.value for _, other in self.signatures):
            self.signatures.append((about, found))

    def check_signatures(self):
        for about, found in self.signatures:
            if self.attempt(about, "signature", found.check) is None:
                continue
            known, name = self.known.get(found.key), called(found.told["name"])
            text = f"which is unknown; it calls itself {name}" if known is None else f"which you know as {called(known)}"
            result = HOLDS if known is not None else CONTRADICTED if self.known else NOTE
            self.say(about, "key", result, f"signed {found.told['time']} with key {found.key}, {text}")
            if known is not None or not self.known:
                self.good.append(found)
                self.compare_signed(about, found)
        unread = Ed25519PublicKey is None and self.signatures
        missing = NOT_CHECKED if unread else CONTRADICTED
        for thing in [*self.files, *self.pages]:
            by = [found.key for found in self.good if found.listed(thing)[1]]
            if not by and self.known:
                self.say(thing.name, "signature", missing, "it is not signed by a key that you named")
            elif not by:
                self.say(thing.name, "signature", NOT_CHECKED if unread else NOTE, "it is not signed")
            signer = thing.facts["signer"] if isinstance(thing, Page) else None
            if signer is not None and signer not in by:
                self.say(thing.name, "signature", missing, f"key {signer} signs it, says the page, and it is not here")

    def compare_signed(self, about, found):
        """Compare a statement with the files, pages and guarantees that were given."""
        told, hashes = found.told, [file.hash for file in self.files]
        for thing in [*self.files, *self.pages]:
            names, covered = found.listed(thing)
            renamed = "" if thing.file_name in names else f"; it had another name then: {', '.join(map(called, names))}"
            if covered:
                self.say(thing.name, "signature", HOLDS, f"it is what was signed{renamed}")
            elif not renamed:
                self.say(thing.name, "signature", CONTRADICTED, "another file was signed under this name")
        digests = [item["sha256"] for item in told["files"]]
        names = [item["name"] for item in told["files"]]
        for file in self.files:
            beside = file.file_name + ".guarantee.json"
            own = file.beside is not None and (found.listed(file)[1] or beside in names)
            if own and sha256(file.beside) not in digests:
                self.say(called(beside), "signature", CONTRADICTED, "it is not the guarantee that was signed")
        first = next((f for f in self.files if digests and f.hash == digests[0]), None)
        promise = first and first.guarantee
        if promise and told["guarantee"] not in (None, canonical_hash(promise)):
            self.say(about, "guarantee", CONTRADICTED, "the guarantee is not the one that was signed with this file")
        if found.account is not None:
            self.heads.append((found.account["head"], "that was signed"))
            named = promise["parameters"].get("account") if promise else None
            if promise and (named if isinstance(named, dict) else {}).get("dataset") != found.account["dataset"]:
                self.say(about, "account", CONTRADICTED, "the file names another account than the one that was signed")
        absent = [n for n, digest in zip(names, digests) if digest not in hashes and not n.endswith(".guarantee.json")]
        if absent:
            self.say(about, "files", NOTE, f"signed with them, and not given: {', '.join(map(called, absent))}")

    def check_page(self, page):
        if page.bare != page.facts["shown"]:
            self.say(page.name, "page", CONTRADICTED, "the page was edited: it does not show what it was written with")
        if page.facts["account"] is not None:
            self.heads.append((page.facts["account"]["head"], "on the page"))
        file = next((f for f in self.files if f.hash == page.facts["file_sha256"]), None)
        if file is None:
            self.say(page.name, "page", CONTRADICTED, f"it is the page of another file: {called(page.facts['file'])}")
            return
        if file.guarantee is None:
            self.say(page.name, "page", NOT_CHECKED, "the promise of its file is not read here")
        else:
            self.attempt(page.name, "page", page.check_promise, file.guarantee)
        self.leave(page, "text", "that the page shows its facts and nothing else is not checked here")

    def check_account(self, path):
        about, none = called(os.path.basename(path or "")), "no account was given: what else was released is not known"
        book = self.attempt(about, "account", lambda: Account(read(path))) if path else None
        for file in self.files:
            digest = f"sha256:{file.hash}"
            if file.guarantee is not None and book:
                self.attempt(file.name, "account", book.check_release, file.guarantee, file.guarantee["digest"] or digest)
            elif file.guarantee is not None and not path:
                self.say(file.name, "account", NOTE, none)
            elif book and file.payload.startswith(b"DSCL") and digest not in book.digests:
                self.say(file.name, "account", CONTRADICTED, "the account does not know this file")
        if not book:
            return
        left = f"{shown(book.limit - book.spent)} of {book.currency} {shown(book.limit)} is left"
        self.say(about, "account", HOLDS, f"its chain is whole, and nothing is overspent: {left}")
        for page in self.pages:
            self.attempt(page.name, "account", page.check_balance, book)
        for head, what in self.heads:
            if not book.has(head):
                self.say(about, "head", CONTRADICTED, f"it has not the head {what}: {CUT}")
        for found in self.good:
            if found.account is not None and found.account["dataset"] != book.opened["dataset"]:
                self.say(about, "head", CONTRADICTED, "what was signed is about the account of another dataset")

def sentence(promise):
    required, unit = promise["parameters"].get("required"), promise["unit"]
    if promise["model"] == "syntactic":
        k = required.get("k") if isinstance(required, dict) else None
        return f"{f'k = {k.text}' if isinstance(k, Number) else 'no k'}; no differential privacy. Unit: {unit}."
    epsilon = "infinite" if promise["epsilon"] == "inf" else promise["epsilon"].text
    return (f"differential privacy in the {promise['model']} model, epsilon = {epsilon}, delta = {promise['delta'].text}. "
            f"Unit: {unit}; neighbours: {promise['neighbours']}.")

def verify(paths, page=None, account=None, keys=(), heads=()):
    made, given = Verdict(keys, heads), []
    for path in paths:
        table = path[: -len(".guarantee.json")]
        given.append(table if path.endswith(".guarantee.json") and os.path.exists(table) else path)
    for path in dict.fromkeys([*given, *([page] if page else [])]):
        name, found = os.path.basename(path), None
        data = b"" if os.path.isdir(path) else read(path)
        if name.endswith(".signature.json"):
            made.read_signature(called(name), data)
        elif path == page or data[:64].lstrip().lower().startswith(b"<!doctype html"):
            found = made.attempt(called(name), "page", Page, called(name), data)
            if not found and made.known:
                made.say(called(name), "page", CONTRADICTED, "it is not signed by a key that you named")
        else:
            made.files.append(Given(path))
        if found:
            found.path, found.file_name = path, name
            made.pages.append(found)
            if found.signature:
                made.read_signature(found.name, found.signature)
    for file in made.files:
        made.check_file(file)
    for path in dict.fromkeys([*(thing.path for thing in [*made.files, *made.pages]), account]):
        place = f"{path}.signature.json"
        if path and os.path.exists(place):
            made.read_signature(called(os.path.basename(place)), read(place))
    made.check_signatures()
    for file in made.files:
        if file.guarantee is not None:
            made.check_rows(file)
    for found in made.pages:
        made.check_page(found)
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

if __name__ == "__main__":
    sys.exit(main())
