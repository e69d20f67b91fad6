#!/usr/bin/env python3
"""Check a release of Discreet without Discreet.

    python3 verify.py FILE... [--page PAGE] [--account ACCOUNT] [--key PUBLIC] [--head HEAD] [--json]

It follows docs/evidence-format.md and docs/evidence-tables.md, and shares no code with Discreet. It needs Python 3.9 and,
for signatures, the package `cryptography`. Exit codes: 0 holds, 1 contradicted, 2 something was not checked, 3 wrong usage.
"""

import argparse, hashlib, html, json, math, os, pathlib, re, sys, unicodedata
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import accumulate
try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None
RESULTS = HOLDS, CONTRADICTED, NOT_CHECKED, NOTE = "holds", "contradicted", "not checked", "note"  # by exit code, and a note
class Wrong(Exception): """Something is not as the format says; the text says what."""
class Unchecked(Exception): """Something cannot be checked; the text says why."""
class Usage(Exception): """The command itself was wrong."""
def need(truth, text):
    if not truth: raise Wrong(text)
def sha256(data): return hashlib.sha256(data).hexdigest()
# ---------------------------------------------------------------------------------------------------- JSON and numbers
def parsed(data):
    """Read JSON strictly: no field twice, no NaN, no halves of characters."""
    def once(pairs):
        need(len(dict(pairs)) == len(pairs), "a field occurs twice")
        return dict(pairs)
    try:
        found = json.loads(data.decode() if isinstance(data, bytes) else data, object_pairs_hook=once, parse_constant=int)
        json.dumps(found, ensure_ascii=False).encode("utf-8")
        return found
    except (ValueError, RecursionError) as error: raise Wrong(f"it is not JSON in UTF-8: {error}") from None
def canonical(value): return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
def is_rational(value):  # a text such as "97/100" in lowest terms, and not negative
    found = is_text(value) and re.fullmatch(r"(\d{1,2000})(?:/([1-9]\d{0,1999}))?", value, re.ASCII)
    return bool(found) and str(Fraction(int(found[1]), int(found[2] or 1))) == value
def exact(value):
    """Return the number that a checked rational, "inf", or number of JSON (as it is written) stands for."""
    return math.inf if value == "inf" else Fraction(value if isinstance(value, str) else repr(value))
def nearest(value):
    try: return float(value)
    except OverflowError: return math.inf
def shown(value): return f"{nearest(value):.6g}"
def unlike(told, facts):  # the names of facts that are told otherwise
    return [n for n, fact in facts.items() if told.get(n) != fact or isinstance(told.get(n), bool) != isinstance(fact, bool)]
# ----------------------------------------------------------------------------------------------------- forms of fields
def is_number(v, least=-math.inf, most=math.inf): return type(v) in (int, float) and math.isfinite(nearest(v)) and least <= v <= most
def is_whole(value, least=0): return type(value) is int and least <= value < 2**53
def is_text(value): return isinstance(value, str)
def is_hash(value, digits=64): return is_text(value) and bool(re.fullmatch(f"[0-9a-f]{{{digits}}}", value))
def among(words): return lambda value: value in words.split()

#: What a form asks of a value. "a|b" is one of two, [x] a list of x, {…} an object with these fields; "x?" may be
#: absent, and "*" stands for any further field.
FORMS = {
    "null": lambda v: v is None, "true": lambda v: v is True, "bool": lambda v: isinstance(v, bool), "text": is_text,
    "sentence": lambda v: is_text(v) and bool(v) and v.isprintable() and not re.search(r"[.!?]\s", v),
    "number": is_number, "share": lambda v: is_number(v, 0, 1), "double": lambda v: isinstance(v, float) and math.isfinite(v),
    "delta": lambda v: isinstance(v, float) and 0 <= v < 1,
    "whole": is_whole, "count": lambda v: is_whole(v, 1), "one": lambda v: repr(v) == "1", "two": lambda v: repr(v) == "2",
    "amount": is_rational, "infinite": lambda v: v == "inf", "hash": is_hash, "words": lambda v: is_text(v) and v != "",
    "seal": lambda v: is_text(v) and v[:7] == "sha256:" and is_hash(v[7:]), "object": lambda v: isinstance(v, dict),
    "list": lambda v: isinstance(v, list), "state": among("answered added"), "about": among("release account"),
    "distinct": lambda v: isinstance(v, list) and len({json.dumps(item) for item in v}) == len(v),
    "unit": lambda v: v == "row" or (isinstance(v, dict) and len(v) == 1 and all(map(FORMS["words"], v.values()))),
    "model": among("central local metric shuffled syntactic"), "accounting": among("epsilon rho"),
    "role": among("attribute quasi-identifier sensitive identifier person target weight"), "missing": among("drop own"),
    "law": among("laplace gaussian exponential response zcdp"), "diversity": among("distinct entropy recursive"),
}
def named(text, form): return dict.fromkeys(text.split(), form)

GROUPS = {"least": "whole", "columns": [["text"]], "*": "any"}
K_RULES = {"k?": "whole|null", "probabilistic_k?": "whole", "k_by_columns?": GROUPS, "*": "any"}
REACHED = {**K_RULES, "largest_share?": "share", "k_of_rows?": "whole", "l?": {"*": "number|infinite"}, "l_kind?": "diversity",
           "t?": {"*": "number"}, "t_kind?": {"*": "text"}}
SIGNED = [{"name": "text", "sha256": "hash"}]
SHAPES = {
    "guarantee": {
        "format": "words", "format_version": "two", "model": "model", "epsilon": "null|infinite|double", "delta": "delta",
        "accounting": "accounting", "spent": "amount|infinite", "unit": "sentence", "neighbours": "sentence", "ledger": "list",
        "parameters": "object", "domain": "null|object", "assumptions": "distinct", "seeded": "bool", "version": "text",
        "digest": "null|seal"},
    "domain": {"named": "bool", **named("unit? functions? impossible? rules?", "any"),
        "columns": {"*": {"role": "role", "missing": "missing", "categories?": "distinct", "*": "any"}}},
    "parameters": {  # of anonymous tables
        **named("output? identifiers? k_counts?", "text"), **named("rows? cells? earlier_releases? most_rows?", "whole"), "*": "any",
        "quasi_identifiers?": ["text"], "labels?": {"*": {"*": ["text"]}},
        "kept?": {"columns": ["text"], "k?": "whole|null", "unique?": "share", "*": "any"},
        "required?": {
            **K_RULES, "l?": {"kind?": "diversity", **named("least? c?", "number"), "counts?": "text", "*": "any"},
            "t?": {"most?": "number", **named("kind? counts?", "text"), "*": "any"}},
        "reached?": REACHED, "reached_together?": {**REACHED, "k": "whole"}},
    "page": {
        "format": "words", "format_version": "one", **named("file file_sha256 language reported_by given shown", "text"),
        **named("bytes kind digest made_by", "any"), "promise": named("model epsilon rho delta unit plain", "any"),
        "seeded": "bool", "about": {"*": "text|null"}, "account": ("null", {"head": "text", "*": "any"}), "signer": "text|null",
        "behind": ("null", {"file": "text", "digest": "text", "*": "any"})},
    "given": named("attacks? audits? comparison? candidates? clusters?", "any"),
    "signature": {
        "format": "words", "format_version": "one", "public_key": "hash", "signature": "words", "statement": {
            "about": "about", "files": SIGNED, "pages": SIGNED, "guarantee": "null|hash", "key": "hash",
            "account": ("null", {"dataset": "text", "entry": "null|count", "head": "text"}), **named("version time name", "text")}},
    "key": {"format_version": "one", **named("format algorithm name", "text"), **named("public_key fingerprint", "hash")},
}
MADE, PRICE = named("when who", "words"), {"entry": "count", "price": "amount", "delta": "amount"}
ASKED = {**MADE, **PRICE, "job": "words", "asked": "object", "task": "null|words", "terms?": "object"}
DONE = {"digest": "null|words", "steps": "list", "seeded": "bool", "terms?": "object"}
EVENTS = {
    "open": {**MADE, **named("format dataset", "words"), "version": "one", "unit": "unit", "delta": "amount",
             **named("epsilon rho", "null|amount")},
    "reserve": ASKED, "book": {**PRICE, **DONE, "when": "words"}, "spend": {**ASKED, **DONE, "state": "state"},
    "file": {**MADE, "entry": "count", "name": "words", "digest": "words"},
    "note": {**MADE, "entry": "count", "text": "words"}, "close": MADE, "repair": {"dropped": "count"},
}
TERMS = {
    "syntactic": {"k": "null|count", "rules": "object", "earlier": "whole"},
    **named("local shuffled", named("epsilon delta", "amount")),
    "metric": {**named("epsilon categories", "amount"), **named("radius rate", "null|amount"), "metric": "object"},
}
def misfit(value, shape, place="it"):
    """Return the place of the first part that has not its form, or None."""
    if is_text(shape): return None if shape == "any" or any(FORMS[form](value) for form in shape.split("|")) else place
    if isinstance(shape, tuple): return None if value is None else misfit(value, shape[1], place)
    if not isinstance(value, type(shape)): return place
    if isinstance(shape, list): return next(filter(None, (misfit(item, shape[0], place) for item in value)), None)
    known = {name.rstrip("?"): inner for name, inner in shape.items()}
    found = (misfit(v, known.get(n, known.get("*")), n) if {n, "*"} & set(known) else n for n, v in value.items())
    absent = (name for name in shape if name[-1] not in "?*" and name not in value)
    return next(filter(None, found), None) or next(absent, None)
def fits(value, shape, what="it"):
    """Refuse a value that has not its form; return it."""
    need((found := misfit(value, shape)) is None, f"{what} is damaged, or of another version: {found}")
    return value
def part(value, name):  # an object inside an object, which may be absent
    need(isinstance(value.get(name), (dict, type(None))), f"{name} is not an object")
    return value.get(name) or {}
# ---------------------------------------------------------------------------------------------------------- guarantees
def refuse_later(value, known):  # what a later version wrote is not wrong, and cannot be checked here
    found = value.get("format_version") if isinstance(value, dict) else None
    if is_whole(found, known + 1): raise Unchecked(f"it is of format version {found}, and {known} is known here: upgrade")
def checked_guarantee(value):
    refuse_later(value, 2)
    fits(value, SHAPES["guarantee"], "the guarantee")
    need(list(value) == list(SHAPES["guarantee"]), "the fields of the guarantee are not in order")
    need(value["format"] == "discreet.guarantee" and all(map(is_text, value["assumptions"])), "it is not a guarantee")
    need((value["model"] == "syntactic") == (value["epsilon"] is None), "epsilon does not go with the model")
    need(value["epsilon"] in (None, "inf") or value["epsilon"] >= 0, "epsilon is negative")
    need(value["accounting"] == "epsilon" or value["delta"] > 0, "a promise in rho needs a delta")
    if value["domain"] is not None: fits(value["domain"], SHAPES["domain"], "the declaration of columns")
    if value["model"] == "syntactic":
        facts = fits(value["parameters"], SHAPES["parameters"], "what the table keeps")
        need(("k" in facts.get("kept", {})) == ("unique" in facts.get("kept", {})), "kept states one of k and unique")
        need("reached_together" in facts or "earlier_releases" not in facts, "it has no k with its earlier releases")
    elif value["parameters"].get("method") == "QuerySession": fits(value["parameters"].get("figures", []), ["text"], "its figures")
    return value
def guarantee_file(data, alone=False):
    found = parsed(data)
    layouts = [json.dumps(found, indent=indent, ensure_ascii=False) + "\n" for indent in (None, 2)]
    need(data.decode() + "\n" * (alone and data[-1:] != b"\n") in layouts, "it was changed: its layout is another")
    return checked_guarantee(found)
def seal(guarantee, payload):
    head = canonical({name: value for name, value in guarantee.items() if name != "digest"})
    return "sha256:" + sha256(len(head).to_bytes(8, "big") + head + payload)
# -------------------------------------------------------------------------------------------------------------- ledger
#: By law, the field that says how far one row moves the values.
MOVES = {"laplace": "l1", "flip": "l1", "privtree": "l1", "max-norm": "linf", "isotropic": "l2_squared",
         "gaussian": "l2_squared", "choice": "span", "choices": "span"}
DRAWS = {law: {"law": "text", moves: "amount", "rows": "count", "scale": "amount", "number?": "whole"} for law, moves in MOVES.items()}
DRAWS["privtree"]["bias"] = "count"
#: Laws that state what they cost.
STATED = {"law": "text", "epsilon": "amount|infinite", "delta?": "amount", "number?": "whole"}
DRAWS.update(dict.fromkeys(("selection", "sampling", "report"), STATED))
def root_up(value):
    root = math.isqrt(scaled := value.numerator * value.denominator << 80)
    return Fraction(root + (root * root < scaled), value.denominator << 40)
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
    need(is_text(law) and law in DRAWS, "the law of a draw is unknown")
    fits(draw, DRAWS[law], f"a draw of {law}")
    value = {name: exact(amount) for name, amount in draw.items() if name != "law"}
    need(unit == "epsilon" or "delta" not in value, "a draw with delta has no price in rho")
    need(unit == "rho" or law != "gaussian", "Gaussian noise has no price in epsilon")
    need(law in ("flip", "privtree", "choice", "choices") or value.get(MOVES.get(law), 1) >= 1, "counts are whole numbers")
    if law not in MOVES: cost = value["epsilon"]
    elif value["scale"] == 0 or (law == "privtree" and nearest(value["scale"]) == 0): return math.inf
    elif law == "gaussian": return value["l2_squared"] * value["rows"] / (2 * value["scale"] ** 2)
    elif law == "privtree": cost = value["rows"] * privtree_loss(nearest(value["scale"]), nearest(value["bias"]))
    else: cost = (root_up(value["l2_squared"]) if law == "isotropic" else value[MOVES[law]]) * value["rows"] / value["scale"]
    return cost if unit == "epsilon" else cost * cost / (8 if law == "choice" else 2)

LINE = {"label": "text", "amount": "amount|infinite", "kind": "text",
        **named("parts? draws?", "list"), **named("unused? external?", "true")}
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
        if cost != amount: wrong["ledger"].append(f"{label} states {shown(amount)}, its parts cost {shown(cost)}")
    for draw in draws or ():
        try:
            cost = draw_cost(draw, unit)
            close = draw["law"] == "privtree" and nearest(cost) <= nearest(amount) * (1 + 1e-9)
            need(cost <= amount or close, f"{shown(amount)} is paid for a draw that costs {shown(cost)}")
        except Wrong as error: wrong["draws"].append(f"{label}: {error}")
    if "external" in line: outside.append(label)
    return amount
def epsilon_of_rho(rho, delta):
    if rho in (0, math.inf) or delta == 0: return 0.0 if rho == 0 else math.inf
    log = math.log(delta)
    steps = [math.sqrt(max(-log, 0.001) / rho) * 10 ** (x / 1000) for x in range(-3000, 3001)]
    least = min(rho * (1 + g) - math.log1p(1 / g) - (log + math.log1p(g)) / g for g in steps)
    return max(least, 0.0) * (1 + 1e-9) + 1e-14
def check_ledger(guarantee, say):
    wrong, outside, unit, total = {"ledger": [], "draws": []}, [], guarantee["accounting"], 0
    spent, lines, stated = exact(guarantee["spent"]), guarantee["ledger"], guarantee["epsilon"]
    if stated is None and not lines and spent == 0: return say("ledger", NOTE, "does not apply: no privacy budget")
    try:
        total = sum(line_cost(line, unit, wrong, outside) for line in lines)
        if total != spent: wrong["ledger"].append(f"the lines cost {shown(total)}, and {shown(spent)} is stated")
        right = nearest(spent) if unit == "epsilon" else epsilon_of_rho(nearest(spent), guarantee["delta"])
        stated = right if stated is None else nearest(exact(stated))
        close = unit == "rho" and right < math.inf and abs(stated - right) <= 1e-8 * right
        if stated != right and not close: wrong["ledger"].append(f"epsilon is {right:.9g}, and {stated:.9g} is stated")
    except Wrong as error: wrong["ledger"].append(str(error))
    adds = f"{len(lines)} lines add up to the stated {shown(total)} ({unit})"
    for name, text in (("ledger", adds), ("draws", "each line pays for its noise")):
        if wrong[name] or name == "ledger" or not outside:
            say(name, CONTRADICTED if wrong[name] else HOLDS, "; ".join(wrong[name]) or text)
    if outside: say("external", NOT_CHECKED, f"charged by hand: {', '.join(outside)}")
# ------------------------------------------------------------------------------------------- unit and neighbours in words
NEIGHBOURS = {"syntactic": "none: a property of the released table", "local": "any two values of one user",
              "shuffled": "one user's value replaced"}
def declared_unit(domain):  # its name and what is declared of it; no name for rows
    unit = (domain or {}).get("unit")
    if unit in (None, "row"): return "", {}
    names = [name for name in unit if name not in ("rows", "group", "per_group")] if isinstance(unit, dict) else []
    good = len(names) == 1 and (unit.get("rows") == "auto" or is_whole(unit.get("rows"), 1)) and is_whole(unit.get("per_group", 1), 1)
    need(good and misfit(unit.get("group", []), ["text"]) is None, "the declared unit is damaged")
    return names[0], unit
def objects(found): return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
def used(lines): return any("draws" in line or "external" in line or used(line.get("parts")) for line in objects(lines))
def drawn(lines):  # label, law and rows of every draw that states rows
    for line in objects(lines):
        yield from drawn(line.get("parts"))
        yield from ((line.get("label"), d.get("law"), d["rows"]) for d in objects(line.get("draws")) if is_whole(d.get("rows")))
def check_words(promise):
    """Compare unit, neighbours and the rows of draws with the model and the declared unit."""
    (noun, unit), facts, model, right = declared_unit(promise["domain"]), promise["parameters"], promise["model"], "one row"
    if model == "syntactic":
        counts, roles = facts.get("k_counts"), [c["role"] for c in (promise["domain"] or {}).get("columns", {}).values()]
        plural = re.sub(r"(?<=[^aeiou])y$", "ie", noun) + "s"
        if counts and ", by column " in counts: right = f"one {noun if counts.startswith(plural + ', by') else 'person'}"
        rows = counts is None and part(facts, "required").get("k") is not None and not facts.get("output", "").startswith("changed")
        need(not rows or not (noun or "person" in roles), "the declaration names persons, and k counts rows")
    elif model == "central" and promise["domain"] is None: right = promise["unit"]
    elif noun and model == "central":
        each = f", at most {unit['per_group']:,} per {' and '.join(unit['group'])}" if unit.get("per_group") else ""
        most = f"at most {unit['rows']:,} used{each}" if unit["rows"] != "auto" else "the number used is selected privately"
        right = f"one {noun}, with all their rows ({most})"
    if model not in ("local", "shuffled"): need(promise["unit"] == right, f"the unit is not {right}")
    told = NEIGHBOURS.get(model, f"add or remove {right.partition(' (')[0]}")
    need(promise["neighbours"] == told, f"the neighbours are not: {told}")
    if model != "central": return
    weight, rows = part(facts, "weight"), 1 if unit.get("rows", "auto") == "auto" else unit["rows"]
    copies, largest, most = weight.get("units", 1), weight.get("most"), min(unit.get("per_group", rows), rows)
    squares = rows // most * most**2 + (rows % most) ** 2
    good = is_whole(copies, 1) and (copies == 64 or copies == largest < 64) if "units" in weight else facts.get("method") == "marginals"
    need(not weight or (is_number(largest) and largest > 0 and good), "no weights have this maximum and number of copies")
    for label, law, stated in drawn(promise["ledger"]):
        least = squares * copies**2 if law == "gaussian" else rows * copies
        chosen = law == "selection" or (label, law) == ("rows per person", "choice")  # persons are counted
        need(stated >= least or chosen, f"the line {label} states noise for {stated} rows, and the unit needs {least}")
# ------------------------------------------------------------------------------------------------------ reading tables
ENCODINGS = {"utf-8": "utf-8-sig", "utf-16": "utf-16", "latin-1": "latin-1", "windows-1252": "windows-1252"}
DIALECT = {"delimiter?": "words", "decimal?": "words", "encoding?": "words", "bom?": "any", "crlf?": "any"}
def csv_rows(text, delimiter):
    """Read CSV: a list of rows of texts, with None for an empty field without quotes."""
    rows, row, at, plain = [], [], 0, re.compile(f"[^{re.escape(delimiter)}\r\n]*")
    while at < len(text) or row:
        pieces, quotes = [], text.startswith('"', at)
        while text.startswith('"', at):
            need((close := text.find('"', at + 1)) >= 0, "a quote is not closed")
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
def read_table(parts, parameters):  # by column, its texts in all parts
    dialect, columns = fits(part(parameters, "csv"), DIALECT, "its dialect"), {}
    encoding, delimiter = dialect.get("encoding", "utf-8"), dialect.get("delimiter", ",")
    known = encoding in ENCODINGS and len(delimiter) == 1 and dialect.get("decimal", ".") in (".", ",")
    need(known, "its encoding, delimiter or decimal mark is unknown")
    escape = re.compile("'+[-=+@\t\r]" if parameters.get("formulas") == "escaped" else "(?!)")
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
            for name, cell in zip(names, row): columns[name].append(cell[1:] if cell and escape.match(cell) else cell)
    need(columns, "it has no parts")
    return columns
def decimal_key(text, mark):  # the exact value of a number, or None
    number, mark = text.strip(" "), re.escape(mark)
    if not re.fullmatch(rf"[+-]?(\d+{mark}?\d*|{mark}\d+)([eE][+-]?\d{{1,4}})?", number, re.ASCII): return None
    return Fraction(number.replace(mark[-1], "."))
def is_figure(text, mark):  # a number, yes or no, or a day with or without a time
    return decimal_key(text, mark) is not None or bool(re.fullmatch(r"true|false|inf|-inf|nan|\d{4}-\d\d-\d\d([ T][\d:.]+)?", text))
def moment_key(text):  # one text for a day that is written with and without midnight, and for both marks of a time
    return re.sub(r" 00:00(:00(\.0*)?)?$", "", re.sub(r"(?<=\d)T(?=\d)", " ", text.strip(" ")))
# ------------------------------------------------------------------------------------------------ tables counted again
class Table:  # with its promise: roles, groups, and what is counted again
    def __init__(self, columns, guarantee):
        self.columns, self.promise, domain = columns, guarantee["parameters"], guarantee["domain"] or {}
        self.declared, self.unit = domain.get("columns", {}), domain.get("unit")
        self.mark, self.rows = part(self.promise, "csv").get("decimal", "."), len(next(iter(columns.values())))
        role = {name: declared["role"] for name, declared in self.declared.items()}
        self.people = [name for name in columns if role.get(name) in ("identifier", "person")]
        if guarantee["model"] != "syntactic": return
        self.required, self.reached, self.passed_on = (part(self.promise, n) for n in ("required", "reached", "kept"))
        self.together = part(self.promise, "reached_together").get("k")
        self.kept = [name for name in self.passed_on.get("columns", []) if name in columns]
        self.listed, by_role = self.promise.get("quasi_identifiers", []), [n for n in role if role[n] == "quasi-identifier"]
        secret = [*part(self.reached, "l"), *part(self.reached, "t")]
        secret += [name for name in role if role[name] == "sensitive" and name not in self.kept]
        rest = [name for name in role if role[name] == "attribute" and name not in [*secret, *self.kept]]
        self.quasi = list(dict.fromkeys([*self.listed, *by_role])) or rest
        self.unlisted = [n for n in by_role if self.listed and n not in self.listed and self.shown_by([n])]
        self.sensitive = [n for n in dict.fromkeys(secret) if n not in self.quasi and n in columns]
    def shown_by(self, names):  # the columns that show quasi-identifiers: of that name, or its bounds
        found = []
        for name in names:
            told = self.declared.get(name, {"missing": "own"})
            ends = ["set"] * (told.get("bounds") is None) + ["lower", "upper"] * ("categories" not in told)
            split = [f"{name}_{end}" for end in ends + ["may_be_missing"] * (told["missing"] == "own")]
            found += [name] if name in self.columns else [n for n in split if n in self.columns and n not in self.declared]
        return found
    def check_columns(self):
        need(not self.unlisted, f"quasi-identifiers that the promise leaves out: {', '.join(self.unlisted)}")
        shows, rows = self.shown_by([n for n in self.quasi if n in self.declared]), self.promise.get("rows", self.rows)
        odd = set(self.columns) - {*shows} - ({*self.sensitive, *self.kept, *self.people} & set(self.declared))
        need(not odd, f"columns that are not declared, or have no role: {', '.join(sorted(odd))}")
        need(self.rows == rows, f"it has {self.rows} rows, and {rows} are stated")
    def groups(self, columns):  # lists of the numbers of rows that are the same in these columns
        keys, found = [], defaultdict(list)
        for name in columns:
            cells, declared = self.columns[name], self.declared.get(name, {})
            numbers = [c if c is None else decimal_key(c, self.mark) for c in cells]
            texts = "categories" in declared or declared.get("kind") == "code"
            keys.append(cells if texts or numbers.count(None) > cells.count(None) else numbers)
        for row in range(self.rows): found[tuple(key[row] for key in keys)].append(row)
        return list(found.values())
    def recount(self):
        """Count what can be counted; say why the rest cannot be."""
        required, quasi, later, told = self.required, self.shown_by(self.quasi), [], ["no k is promised"]
        if "required" not in self.promise or set(required) - {"k", "l", "t", "k_by_columns", "probabilistic_k"}:
            later.append("something else is promised than rules that can be counted")
        if self.promise.get("output") == "sample": later.append("rows were drawn from groups: k, l and t are not in them")
        else:
            apart = [part(rules, "k_by_columns").get("columns") for rules in (self.reached, required)]
            odd = "probabilistic_k" in self.reached and "probabilistic_k" not in required
            need(not odd and apart[0] in (None, apart[1]), "another kind of k is stated as reached than is promised")
            if "k_by_columns" in required: told = self.recount_by_columns(required["k_by_columns"])
            if required.get("k") is None:
                need(self.reached.get("k") is self.together is None, "a k is stated as reached, and none is promised")
                if "probabilistic_k" in required: later.append("k holds with a probability: it cannot be counted")
            if any(required.get(rule) not in (None, {}) for rule in ("k", "l", "t")):
                need(quasi, "k, l or t is promised, and the table has none of its quasi-identifiers")
                told = self.recount_groups(quasi, later) if self.rows else ["no rows"]
        if later: raise Unchecked("; ".join(dict.fromkeys(later)))
        return "counted again: " + ", ".join(told)
    def recount_groups(self, quasi, later):
        groups = self.groups(quasi)
        told = [f"{self.rows} rows", f"{len(groups)} groups", f"k {self.count_k(groups, later)}"]
        need(len(groups) <= self.promise.get("cells", len(groups)), f"it has {len(groups)} groups, more than cells")
        if self.kept:
            sizes = [len(group) for group in self.groups(list(dict.fromkeys(quasi + self.kept)))]
            k, alone = min(sizes), sizes.count(1) / self.rows
            good = k >= (self.passed_on.get("k") or 0) and alone <= self.passed_on.get("unique", 1) + 1e-6
            need(good, f"with kept columns k is {k}, and {alone:.4g} of the rows are alone")
        asked = self.required.get("l") or {}, self.required.get("t") or {}
        need(self.sensitive or not any(asked), "l or t is promised, and no sensitive column is there")
        for name in self.sensitive: told += self.count_values(name, groups, *asked, later)
        return told
    def recount_by_columns(self, asked):
        lists, k = asked["columns"], max(asked["least"], part(self.reached, "k_by_columns").get("least", 0))
        for names in lists if self.rows else ():
            shows = self.shown_by([name for name in names if name in self.quasi])
            smallest = min(map(len, self.groups(shows))) if shows else 0
            need(smallest >= k, f"k of {', '.join(names)} is {smallest}, {k} is promised")
        rows = min(map(len, self.groups(self.shown_by(self.quasi))), default=math.inf)
        need(rows >= self.reached.get("k_of_rows", 0), f"k of whole rows is {rows}, and more is stated")
        left = [n for n in self.quasi if self.shown_by([n]) and not any(n in names for names in lists)]
        need(not left, f"quasi-identifiers that are in no list: {', '.join(left)}")
        return [f"{self.rows} rows", f"k by columns at least {k}"]
    def count_k(self, groups, later):
        required, reached, counts = self.required.get("k") or 0, self.reached.get("k"), self.promise.get("k_counts")
        k, least = min(map(len, groups)), required if reached is None else reached
        person = re.search(r"by column (['\"])(.*)\1$", counts or "")
        cells = self.columns.get(person[2]) if person else None
        if cells is not None and self.promise.get("identifiers") == "hash":
            people = [Counter(cells[row] for row in group if cells[row]) for group in groups]  # a row without a hash is anyone's
            k, unnamed = min(map(len, people)), [len(g) - sum(c.values()) for g, c in zip(groups, people)]
            share = max((max(c.values(), default=0) + n) / len(g) for g, c, n in zip(groups, people, unnamed))
            need(share <= self.reached.get("largest_share", 1) + 1e-6, f"one person has {share:.4g} of a group")
            own = max(Counter(filter(None, cells)).values(), default=0)
            need(own <= self.promise.get("most_rows", own), f"one person has {own} rows, more than stated")
        elif counts is not None: later.append("k counts persons, who are not in the table")
        need(k >= max(required, least), f"k is {k}, and {max(required, least)} is required or stated")
        need(least >= required, "the stated k is less than the required one")
        good = self.together is None or required <= self.together <= (k if reached is None else reached)
        need(good, f"k with earlier releases is {self.together}: less than required, or more than this table has")
        return k
    def numbered(self, name):  # sensitive values in order, missing ones last; whether they are numbers, dates or times
        cells, declared = self.columns[name], self.declared.get(name, {})
        bounds, names, given = declared.get("bounds"), declared.get("categories"), {c for c in cells if c is not None}
        known = {str(c): i for i, c in enumerate(names or [])}
        moments = names is None and isinstance(bounds, list) and bounds != [] and is_text(bounds[0])
        numbers = declared.get("kind") != "code" and all(decimal_key(c, self.mark) is not None for c in given)
        numbers = names is None and not moments and (isinstance(bounds, list) or numbers)
        def key(text):
            if names is not None and text not in known and text.strip() in known: text = text.strip()
            if names is not None: return known.get(text, len(known)), text
            if moments: return 0, moment_key(text)
            number = decimal_key(text, self.mark) if numbers else None
            return (math.inf, text) if number is None else (number, "")
        found = {c: i for i, c in enumerate(sorted(set(map(key, given))))}
        return [len(found) if c is None else found[key(c)] for c in cells], moments or numbers
    def count_values(self, name, groups, asked_l, asked_t, later):
        values, ordered = self.numbered(name)
        tables = [Counter(values[row] for row in group) for group in groups]
        least, stated = asked_l.get("least"), part(self.reached, "l").get(name)
        by_persons = "k_counts" in self.promise and isinstance(self.unit, dict)
        if by_persons or "persons" in (asked_l.get("counts"), asked_t.get("counts")):
            need(least is None or min(map(len, tables)) >= least - 1e-6, f"{name} has fewer values in a group than required")
            if asked_l or asked_t: later.append("l and t count persons")
            return []
        kind = asked_l.get("kind") or self.reached.get("l_kind") or "distinct"
        found, high = l_of(tables, kind, least), kind == "recursive"
        if asked_l and high: need(found < asked_l.get("c", 3), f"l of {name} is {found:.4g}, not below c")
        elif least is not None: need(found >= least - 1e-6, f"l of {name} is {found:.4g}, less than required")
        if stated is not None and self.reached.get("l_kind", kind) == kind:
            good = found <= nearest(exact(stated)) + 1e-6 if high else found >= nearest(exact(stated)) - 1e-6
            need(good, f"l of {name} is {found:.4g}, not as stated")
        return [f"l of {name} {found:.4g}", self.count_t(name, values, ordered, tables, asked_t, later)]
    def count_t(self, name, values, ordered, tables, asked, later):
        stated, stated_kind = part(self.reached, "t").get(name), part(self.reached, "t_kind").get(name)
        kind = asked.get("kind", "auto") if asked else stated_kind or "auto"
        if kind == "auto": kind = "ordered" if ordered else "equal"
        whole, t, known = sorted(Counter(values).items()), 0.0, kind in ("equal", "ordered")
        for table in tables:
            gaps = [table[value] / sum(table.values()) - count / self.rows for value, count in whole]
            if kind == "ordered": t = max(t, sum(map(abs, accumulate(gaps))) / max(len(whole) - 1, 1))
            else: t = max(t, sum(map(abs, gaps)) / 2)
        most = asked.get("most", math.inf)
        if stated is not None and (stated_kind in (None, kind) or not known): most = min(most, stated)
        need(t <= most + 1e-6 or not known, f"t of {name} is {t:.4g}, {most:.4g} is required or stated")
        if t > most + 1e-6: later.append(f"t of {name} follows a hierarchy that is not in the guarantee")
        return f"t of {name} {t:.4g}"
def l_of(tables, kind, least):
    if kind == "distinct": return min(map(len, tables))
    counts = [sorted(table.values(), reverse=True) for table in tables]
    if kind == "entropy": return min(math.exp(-sum(n / sum(g) * math.log(n / sum(g)) for n in g)) for g in counts)
    rests = [sum(group[max(int(least or 1) - 1, 0) :]) for group in counts]
    return max(group[0] / rest if rest else math.inf for group, rest in zip(counts, rests))
def least_variance(promise):  # of a count that is right on average, at this price (Hammersley, Chapman, Robbins)
    (_, unit), spent = declared_unit(promise["domain"]), nearest(exact(promise["spent"]))
    rows, most = unit.get("rows", "auto"), (objects([promise["parameters"].get("weight")]) or [{}])[0].get("most")
    moved = (1 if rows == "auto" else min(rows, unit.get("per_group") or rows)) * (float(most) if is_number(most) else 1.0)
    if not 1e-100 < spent < 300: return 0.0 if spent > 1 else math.inf
    return moved * moved / (math.expm1(2 * spent) if promise["accounting"] == "rho" else 4 * math.sinh(spent / 2) ** 2)
def check_table(columns, guarantee):  # each is declared, and those which name people hold hashes
    need(guarantee["domain"] is not None, "no columns are declared")
    table, hashed = Table(columns, guarantee), guarantee["parameters"].get("identifiers") == "hash"
    bare = [name for name in table.people if not hashed or not all(c is None or is_hash(c, 16) for c in columns[name])]
    need(not bare, f"columns that identify people: {', '.join(bare)}")
    if guarantee["model"] == "syntactic": table.check_columns()
    else:
        more = set(columns) - set(table.declared)
        if table.promise.get("method") == "QuerySession":  # figures, and ends of bins
            stated = table.promise.get("figures", [])
            more -= {n for n in stated if all(c is None or is_figure(c, table.mark) for c in columns.get(n, ()))}
        need(not more, "a column is not declared")
        need(used(guarantee["ledger"]) or not table.rows, "rows were released, and no line of the ledger was used")
    return f"{table.rows} rows; all {len(columns)} columns are declared"
QUOTED = re.compile(r"""["`](count)["`]|"[^"]*"|'[^']*'|`[^`]*`|--[^\r\n]*|/\*((?!/\*|\*/)[\s\S])*\*/|\{#((?!\{#)[\s\S])*?#\}""", re.I | re.A)
COUNT, ERROR = re.compile(r"\bcount[^!-~]*\((?![^!-~]*distinct\b)", re.I | re.A), re.compile(r"(count\((?!distinct\b).*\)_)?std_error", re.I | re.A)
def check_answer(columns, guarantee):  # its counts of rows have no smaller errors than any noise of the price
    told, least = guarantee["parameters"], least_variance(guarantee) * (1 - 1e-9)
    if guarantee["model"] == "syntactic" or told.get("method") != "QuerySession": return
    sql, figures, mark = told.get("query"), told.get("figures", []), part(told, "csv").get("decimal", ".")
    for _ in range(9): sql = QUOTED.sub(r" \1 ", sql) if is_text(sql) else ""  # comments may be nested
    read, counted = re.search(r"\bselect\b", sql, re.I | re.A) and not re.search(r"""["'`]|/\*|\*/|\{#""", sql), COUNT.search(sql)
    names = [n for n in columns if ERROR.fullmatch(n) and (counted or n != "std_error")]
    errors = [decimal_key(c or "", mark) for n in names if n in figures for c in columns[n]]
    need(all(e is None or e * e >= least for e in errors), "a count has a smaller error than any noise of the price")
    known = {*names} <= {*figures} and None not in errors and (not counted or any(n[-9:] == "std_error" for n in {*columns} & {*figures}))
    if not read or not known: raise Unchecked("its query and figures do not show which errors are those of counts")
# ------------------------------------------------------------------------------------------------------------- account
CUT = "it was cut back, is an older copy, or is another account"
class Account:  # its chain is followed, and its rules are checked line by line
    def __init__(self, data):
        self.data, self.ends, self.entries, self.digests, last = data, {}, [], {}, "0" * 64
        self.opened, self.closed, self.spent, self.deltas, end = None, False, Fraction(0), Fraction(0), 0
        for line in data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]:
            text, _, digest = line.rpartition(b" ")
            need(len(line) <= 2**20 and sha256(text).encode() == digest, "it is damaged: a line does not match its hash")
            event = fits(parsed(text), {"kind": "text", "after": "text", "*": "any"}, "a line")
            need(canonical(event) == text and event.pop("after") == last, "a line was edited, or does not follow the last")
            kind, last, end = event.pop("kind"), digest.decode(), end + len(line) + 1
            need(kind in EVENTS and (kind == "open") == (self.opened is None), "it is not opened once, or a line is unknown")
            self.take(kind, fits(event, EVENTS[kind], f"a line of kind {kind}"))
            self.ends[last] = end
        need(self.opened, "it has no first line")
    def take(self, kind, event):
        number, digest = event.get("entry", 1), event.get("digest")
        if kind == "open":
            self.opened, self.currency = event, "epsilon" if event["rho"] is None else "rho"
            limits = None in (event["epsilon"], event["rho"]) and event[self.currency] is not None
            need(event["format"] == "discreet.account" and limits, "it is not an account, or has not one limit")
            self.limit, self.delta = exact(event[self.currency]), exact(event["delta"])
            need(self.limit > 0 and self.delta < 1 and (event["rho"] is None or self.delta > 0), "its limits are damaged")
            return
        if kind in ("reserve", "spend", "close"): need(not self.closed, "something follows that it was closed")
        if kind == "close": self.closed = True
        if kind in ("reserve", "spend"):
            need(number == len(self.entries) + 1, "its entries are not in order")
            self.entries.append({"when": event["when"], "price": 0, "delta": 0, "booked": False})
        need(kind in ("close", "repair") or number <= len(self.entries), "an entry is unknown")
        if kind in ("reserve", "spend", "book"): self.charge(kind, self.entries[number - 1], event)
        if kind == "note" and event["text"] == "withdrawn": self.entries[number - 1]["withdrawn"] = True
        if digest is not None:
            free = digest not in self.digests or kind == "book" or (kind == "file" and self.digests[digest] == number)
            need(free and self.entries[number - 1]["booked"], "a digest occurs twice, or is of an entry that is not booked")
            self.digests[digest] = max(number, self.digests.get(digest, 0))
    def charge(self, kind, entry, event):
        price, delta, terms = exact(event["price"]), exact(event["delta"]), event.get("terms")
        need((terms is None) == (price > 0) and (price > 0 or not delta), "a release has a price, or terms of its own")
        if terms is not None:
            need(is_text(terms.get("model")) and terms["model"] in TERMS, "the model of terms is unknown")
            fits(terms, {"model": "model", "unit": "words", **TERMS[terms["model"]]}, "terms")
        if kind == "book":
            here, held = terms or {}, entry["terms"] or {}
            need(not entry["booked"] and here.get("model") == held.get("model"), "it was booked before, or as another kind")
            levels = [exact(each.get("epsilon", "0")) for each in (here, held)]
            need(price <= entry["price"] and delta <= entry["delta"] and levels[0] <= levels[1], "more is booked than reserved")
        for step in event.get("steps", []):
            good = isinstance(step, list) and len(step) == 4 and not any(map(misfit, step, ("law", "amount", "amount", "count")))
            need(good and exact(step[1]) > 0 and exact(step[2]) < 1, "a step is damaged")
        self.spent, self.deltas = self.spent + price - entry["price"], self.deltas + delta - entry["delta"]
        entry.update(terms=terms, price=price, delta=delta, booked=kind != "reserve", seeded=event.get("seeded", False))
        need(self.spent <= self.limit, "more is spent than its limit")
        need(self.deltas <= (self.delta if self.currency == "epsilon" else 0), "more delta is spent than it has")
    def has(self, head): return re.sub("^sha256:", "", head) in self.ends
    def check_release(self, guarantee, digest):
        named, number = guarantee["parameters"].get("account"), self.digests.get(digest)
        if isinstance(named, dict):
            need(named.get("dataset") == self.opened["dataset"], "it was charged to the account of another dataset")
            need(self.has(str(named.get("head"))), f"the account has not the line that the file names: {CUT}")
        need(number is not None, "the account does not know this file")
        entry, central = self.entries[number - 1], guarantee["model"] == "central"
        if central or (guarantee["unit"] == "one row" and guarantee["model"] in ("metric", "local")):
            noun, unit = declared_unit(guarantee["domain"] if guarantee["unit"] != "one row" else None)
            here = None if self.opened["unit"] == "row" else next(iter(self.opened["unit"].values()))
            need(unit.get(noun) == here, "the account protects another unit than the release")
        need("withdrawn" not in entry, f"entry {number} was withdrawn: nobody was to receive this file")
        alike = entry["terms"] == (None if central else terms_of(guarantee)) and entry["seeded"] >= guarantee["seeded"]
        need(alike, f"entry {number} states other terms")
        if central: need(self.pays(entry, guarantee), f"entry {number} was charged less than the file costs")
        return f"the account knows it as entry {number}"
    def pays(self, entry, guarantee):  # in the unit of the account
        cost, delta, pair = exact(guarantee["spent"]), guarantee["delta"], (guarantee["accounting"], self.currency)
        if pair == ("epsilon", "rho"):
            need(delta == 0, "a release with a delta of its own has no price in rho")
            cost = cost * cost / 2
        if pair == ("rho", "epsilon"): cost = exact(guarantee["epsilon"])
        slack = 1 if pair[0] == pair[1] else 1 + Fraction(1, 10**8)
        return cost <= entry["price"] * slack and (self.currency == "rho" or delta <= nearest(entry["delta"]))
def terms_of(guarantee):  # which is not of the central model: its terms, as an account writes them
    facts, spent = guarantee["parameters"], exact(guarantee["spent"])
    told = {"model": guarantee["model"], "unit": guarantee["unit"]}
    if guarantee["model"] == "syntactic":
        rules, stated = part(facts, "required"), [part(facts, n).get("k") for n in ("reached", "reached_together")]
        k = min((k for k in stated if k is not None), default=None) if "reached" in facts else rules.get("k")
        return {**told, "k": k, "rules": rules, "earlier": facts.get("earlier_releases", 0)}
    need(spent != math.inf, "without privacy it exceeds every account")
    told["epsilon"] = str(spent)
    if guarantee["model"] != "metric": return {**told, "delta": str(exact(guarantee["delta"]))}
    levels, radius, metric = part(facts, "category_epsilon").values(), facts.get("radius"), dict(part(facts, "scaling"))
    need(all(map(is_rational, levels)) and (radius is None or (is_number(radius) and radius > 0)), "its metric is damaged")
    apart, columns = sum(map(exact, levels)), (guarantee["domain"] or {}).get("columns", {})
    metric["columns"] = [n for n, declared in columns.items() if "categories" not in declared or "pattern" in declared]
    if radius is None: metric["density"] = facts.get("density")
    rate = None if radius is None else str((spent - apart) / exact(radius))
    told |= {"categories": str(apart), "rate": rate, "metric": metric}
    return {**told, "radius": None if radius is None else str(exact(radius))}
# ---------------------------------------------------------------------------------------------------------------- page
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
    def __init__(self, path, data):
        self.path, self.file_name, self.name = path, os.path.basename(path), called(os.path.basename(path))
        try:
            text = data.decode("utf-8")
            facts, bare = page_part(text, "facts")
            self.signature, without = page_part(text, "signature")
            self.hash, self.bare = sha256(without.encode()), sha256(page_part(bare, "signature")[1].encode())
            self.facts = fits(parsed(facts), SHAPES["page"], "the page")
            need(self.facts["format"] == "discreet.page", "it is not a page")
            fits(parsed(self.facts["given"]), SHAPES["given"], "what is given")
        except (Wrong, UnicodeDecodeError): raise Unchecked("its facts cannot be read") from None
    def check_promise(self, guarantee, size):
        spent, sealed = nearest(exact(guarantee["spent"])), {n: guarantee[n] for n in ("model", "epsilon", "delta", "unit")}
        sealed["rho"] = None if guarantee["accounting"] == "epsilon" else "inf" if spent == math.inf else spent
        sealed |= {n: guarantee[n] for n in ("seeded", "digest")} | {"bytes": size, "made_by": guarantee["version"]}
        wrong = unlike({**self.facts, **self.facts["promise"]}, sealed)
        need(not wrong, f"it states another promise than the file: {', '.join(wrong)}")
        return "it is about this file, and states its promise"
    def check_balance(self, account):  # what the page says about it, against the account as it was then
        told = self.facts["account"] or {}
        end = account.ends.get(re.sub("^sha256:", "", told.get("head", "")))
        if end is None: return
        was = Account(account.data[:end])
        number = was.digests.get(self.facts["digest"] or f"sha256:{self.facts['file_sha256']}")
        entry = {} if number is None else was.entries[number - 1]
        then = {"dataset": was.opened["dataset"], "currency": was.currency, "releases": len(was.entries), "entry": number,
                "total": nearest(was.limit), "spent": nearest(was.spent), "remaining": nearest(was.limit - was.spent),
                "head": "sha256:" + list(was.ends)[-1]}
        if entry: then |= {"when": entry["when"], "model": (entry["terms"] or {"model": "central"})["model"]}
        wrong = unlike(told, then)
        need(not wrong, f"it states another {' and '.join(wrong)} than the account had then")
# ---------------------------------------------------------------------------------------------------------- signatures
class Signature:  # its fields are checked when it is read, its bytes by `check`
    def __init__(self, data):
        refuse_later(value := parsed(data), 1)
        self.value = fits(value, SHAPES["signature"], "the signature")
        self.told, self.key = value["statement"], sha256(bytes.fromhex(value["public_key"]))
        need(value["format"] == "discreet.signature" and is_hash(value["signature"], 128), "it is not a signature")
    def bytes(self):
        told, made = {**self.told, **(self.told["account"] or {})}, b"discreet.statement\x01"
        names = "about files pages guarantee dataset entry head version time name key".split()
        for kind, value in zip("AFPGDEHVTNK", map(told.get, names)):
            for item in value if kind in "FP" else [] if value is None else [value]:
                if kind in "FP": data = bytes.fromhex(item["sha256"]) + item["name"].encode()
                else: data = bytes.fromhex(item) if kind in "GK" else str(item).encode()
                made += kind.encode() + len(data).to_bytes(8, "big") + data
        return made
    def check(self):
        if Ed25519PublicKey is None: raise Unchecked("signatures need the package `cryptography`")
        key, signature = (bytes.fromhex(self.value[name]) for name in ("public_key", "signature"))
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, self.bytes())
            need(self.told["key"] == self.key, "its fingerprint is not that of its public key")
        except (InvalidSignature, ValueError): raise Wrong("the signature is not one of this statement: one was changed") from None
        return self
    def listed(self, thing):  # the names of all signed files or pages, and whether a file or page is one of them
        items = self.told["pages" if isinstance(thing, Page) else "files"]
        return [item["name"] for item in items], thing.hash in [item["sha256"] for item in items]
    def vouches(self, thing):  # whether a file and the guarantee next to it, or a page, are what was signed
        beside, digests = getattr(thing, "beside", None), [item["sha256"] for item in self.told["files"]]
        return self.listed(thing)[1] and (beside is None or sha256(beside) in digests)
def public_key(path):
    try:
        need(b"PRIVATE KEY" not in read(path), "this is a private key; name the file that ends in .pub")
        value = fits(parsed(read(path)), SHAPES["key"], "the key")
        need((value["format"], value["algorithm"]) == ("discreet.key", "ed25519"), "it is not a public key")
        need(value["fingerprint"] == sha256(bytes.fromhex(value["public_key"])), "its fingerprint is another")
        return value["fingerprint"], value["name"]
    except Wrong as error: raise Usage(f"{path}: {error}") from None
# -------------------------------------------------------------------------------------------------------- binary files
NO_GUARANTEE = "there is no guarantee in the file or next to it"
def synopsis(data):  # the guarantee inside, if the checksum is right
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
def messages(data):  # of a file of local reports or counts: whether one of them was seeded, if all are whole
    at, seeded = 0, False
    while at < len(data):
        body = at + 12 + int.from_bytes(data[at + 8 : at + 12], "little")
        end = body + 16 + int.from_bytes(data[body + 8 : body + 16], "little")
        known = data[at : at + 5] == b"DSCL\x01" and data[at + 6 : at + 7] in (b"\0", b"\1")
        need(known and sha256(data[at:end]) == data[end : end + 32].hex(), "a message is damaged")
        seeded, at = seeded or data[at + 6] == 1, end + 32
    return seeded
# ------------------------------------------------------------------------------------------------------------- verdict
def read(path):
    try: return pathlib.Path(path).read_bytes()
    except OSError as error: raise Usage(f"{path}: {error.strerror}") from None
def plain(text): return "".join(c if c.isprintable() else "\ufffd" for c in text)  # nothing that a terminal obeys
def called(name):
    """Return a name for display: letters that could pass for others, or are not seen, are spelled out behind it."""
    odd = [c for c in name if not c.isprintable() or not unicodedata.normalize("NFD", c)[0].isascii()]
    return f"{plain(name)} [with {', '.join(f'U+{ord(c):04X}' for c in dict.fromkeys(odd))}]" if odd else name

class Given:  # a released file or folder, with the guarantee next to it
    def __init__(self, path):
        self.path, self.guarantee, place = path.rstrip("/"), None, path.rstrip("/") + ".guarantee.json"
        self.file_name, names = os.path.basename(self.path), sorted(os.listdir(path)) if os.path.isdir(path) else []
        inside = {name: os.path.join(path, name) for name in names}
        self.stray = [called(n) for n, p in inside.items() if os.path.isdir(p) or (n[:5] != "part-" and os.lstat(p).st_size)]
        shown_files = [p for n, p in inside.items() if n[0] not in "._" and not os.path.isdir(p)]
        parts = [read(p) for p in shown_files] if os.path.isdir(path) else [read(path)]
        self.tables = [data for p, data in zip(shown_files, parts) if "part-" in os.path.basename(p)[:5]] or parts
        self.name, self.payload = called(self.file_name), b"".join(parts)
        self.hash, self.beside = sha256(self.payload), read(place) if os.path.exists(place) else None
        self.local, self.parquet = self.payload[:4] == b"DSCL", b"PAR1" in (self.payload[:4], self.payload[-4:])

class Verdict:
    def __init__(self, keys, heads):
        self.answers, self.promises, self.rests, self.known = [], [], "", dict(map(public_key, keys))
        self.files, self.pages, self.signatures, self.good, self.others = [], [], [], [], []
        self.heads = [(head, "that you gave") for head in heads]
        for name in [name for name, times in Counter(self.known.values()).items() if times > 1]:
            self.say("keys", "key", NOTE, f"several of your keys are called {called(name)}; only fingerprints count")
    def say(self, about, check, result, detail):
        self.answers.append({"about": about, "check": check, "result": result, "detail": plain(detail)})
    def attempt(self, about, check, action, *given):
        """Do a check and note how it ended; return what it returns. A text that it returns says what holds."""
        try: found = action(*given)
        except (Wrong, Unchecked) as error:
            return self.say(about, check, CONTRADICTED if isinstance(error, Wrong) else NOT_CHECKED, str(error))
        if is_text(found): self.say(about, check, HOLDS, found)
        return found
    def leave(self, thing, check, detail, vouch=True):  # not checked, unless a key that the reader named vouches for it
        vouched = vouch and bool(self.known) and any(found.vouches(thing) for found in self.good)
        self.say(thing.name, check, NOTE if vouched else NOT_CHECKED, detail + "; its signer vouches for it" * vouched)
    @property
    def code(self):
        results = [answer["result"] for answer in self.answers]
        return 1 if CONTRADICTED in results else 2 if NOT_CHECKED in results else 0
    @property
    def said(self):
        empty = [promise["file"] for promise in self.promises if promise["nothing"]]
        if self.code or not empty: return RESULTS[self.code]
        whole, them = len(empty) == len(self.promises), "it promises" if len(empty) == 1 else "they promise"
        return f"unchanged; {them} nothing" if whole else f"holds; {', '.join(empty)}: no promise"
    def to_dict(self):
        told = {"verdict": RESULTS[self.code], "code": self.code, "promises": self.promises}
        return {**told, "checks": self.answers, "rests_on": self.rests}
    def check_file(self, file):
        name, data, alone = file.name, file.payload, file.beside is None and file.payload.lstrip()[:1] == b"{"
        if file.stray: self.say(name, "file", CONTRADICTED, f"files in the folder are no part of the table: {', '.join(file.stray)}")
        if file.beside is not None or alone:
            file.guarantee = self.attempt(name, "promise", guarantee_file, data if alone else file.beside, alone)
        elif file.local:
            seeded = self.attempt(name, "checksum", messages, data)
            if seeded is not None: self.check_seed(name, seeded)
            self.say(name, "mechanism", NOT_CHECKED, "local mechanisms and their promises are not read here")
        elif file.parquet: file.guarantee = self.attempt(name, "checksum", synopsis, data)
        else: self.say(name, "promise", NOT_CHECKED, NO_GUARANTEE)
        if (promise := file.guarantee) is None: return
        said, digest = plain(sentence(promise)), promise["digest"]
        self.promises.append({"file": name, "promise": said, "digest": digest, "nothing": nothing(promise)})
        self.attempt(name, "ledger", check_ledger, promise, lambda *words: self.say(name, *words))
        self.check_seed(name, promise["seeded"], '"external": ' in json.dumps(promise["ledger"]))
        if not (alone or file.beside or used(promise["ledger"])): self.say(name, "ledger", CONTRADICTED, "no line of it was used")
        if alone: self.say(name, "seal", NOT_CHECKED, "the sealed file is not next to it")
        elif file.beside is None: self.say(name, "checksum", HOLDS, "it is identical to the file that was written")
        elif seal(promise, data) == promise["digest"]: self.say(name, "seal", HOLDS, "the table matches the seal")
        else: self.say(name, "seal", CONTRADICTED, "table or promise was changed after it was written")
    def check_rows(self, file):
        name, promise, binary = file.name, file.guarantee, any(d[:4] in (b"PAR1", b"PK\x03\x04") for d in file.tables)
        if "mechanism" not in promise["parameters"] and promise["model"] != "metric": self.attempt(name, "promise", check_words, promise)
        else: self.leave(file, "words", "unit, neighbours and price are not derived from the mechanism here")
        if binary and file.beside is None: self.leave(file, "numbers", "the numbers of a synopsis are not read here")
        elif binary:  # no signer vouches for a k, l or t that nobody may be able to count
            self.leave(file, "rows", "the rows of Parquet and Excel files are not read here", promise["model"] != "syntactic")
        if binary or file.beside is None: return
        columns = self.attempt(name, "domain", read_table, file.tables, promise["parameters"])
        if columns is None or self.attempt(name, "domain", check_table, columns, promise) is None: return
        self.leave(file, "cells", "that every cell is one of its declaration is not checked here")
        self.attempt(name, "domain", check_answer, columns, promise)
        if promise["model"] == "syntactic": self.attempt(name, "recount", Table(columns, promise).recount)
    def check_seed(self, name, seeded, outside=False):
        if outside and not seeded: return self.say(name, "seed", NOTE, "not known: noise was drawn outside of Discreet")
        self.say(name, "seed", *((CONTRADICTED, "the noise was seeded: nothing is protected") if seeded else (HOLDS, "not seeded")))
    def read_signature(self, about, data):
        found = self.attempt(about, "signature", Signature, data)
        if found and all(found.value != other.value for _, other in self.signatures): self.signatures.append((about, found))
        return found
    def check_signatures(self):
        for about, found in self.signatures:
            if self.attempt(about, "signature", found.check) is None: continue
            known = self.known.get(found.key)
            text = f"unknown; it calls itself {called(found.told['name'])}" if known is None else f"known as {called(known)}"
            result = HOLDS if known is not None else CONTRADICTED if self.known else NOTE
            self.say(about, "key", result, f"signed {found.told['time']} with key {found.key}, which is {text}")
            (self.others if result == CONTRADICTED else self.good).append(found)
            if result != CONTRADICTED: self.compare_signed(about, found)
        unread = Ed25519PublicKey is None and self.signatures
        if unread: self.others = [found for _, found in self.signatures]
        failed = NOT_CHECKED if unread else CONTRADICTED
        unsigned = "it is not signed" + " by a key that you named" * bool(self.known)
        signed = "its signature was not checked" if unread else "it is signed by a key that you did not name"
        for thing in [*self.files, *self.pages]:
            by, other = ([found.key for found in held if found.listed(thing)[1]] for held in (self.good, self.others))
            if not by and other: self.say(thing.name, "signature", failed, signed)
            elif not by: self.say(thing.name, "signature", failed if unread or self.known else NOTE, unsigned)
            inside, signer = (thing.inside, thing.facts["signer"]) if isinstance(thing, Page) else (None, None)
            if inside and not unread and not inside.listed(thing)[1]:
                self.say(thing.name, "signature", CONTRADICTED, "the signature in it is not about it: it was made for other files")
            if signer is not None and signer not in by + other:
                self.say(thing.name, "signature", failed, f"the page says that key {signer} signs it, and no such signature is here")
    def compare_signed(self, about, found):
        told, names, digests = found.told, *([item[n] for item in found.told["files"]] for n in ("name", "sha256"))
        for thing in [*self.files, *self.pages]:
            listed, covered = found.listed(thing)
            renamed = "" if thing.file_name in listed else f"; it had another name then: {', '.join(map(called, listed))}"
            if covered: self.say(thing.name, "signature", HOLDS, f"it is what was signed{renamed}")
            elif not renamed: self.say(thing.name, "signature", CONTRADICTED, "another file was signed under this name")
            elif about == called(thing.file_name + ".signature.json"):
                self.say(about, "signature", CONTRADICTED, f"it is not about {thing.name}: it was made for other files")
        for file in [file for file in self.files if file.beside is not None]:
            beside = file.file_name + ".guarantee.json"
            if (found.listed(file)[1] or beside in names) and sha256(file.beside) not in digests:
                self.say(called(beside), "signature", CONTRADICTED, "it is not the guarantee that was signed")
        promise = next((f.guarantee for f in self.files if digests and f.hash == digests[0]), None)
        if promise and told["guarantee"] not in (None, sha256(canonical(promise))):
            self.say(about, "guarantee", CONTRADICTED, "the guarantee is not the one that was signed with this file")
        if told["account"] is not None:
            self.heads.append((told["account"]["head"], "that was signed"))
            named = promise["parameters"].get("account") if promise else None
            if promise and (named if isinstance(named, dict) else {}).get("dataset") != told["account"]["dataset"]:
                self.say(about, "account", CONTRADICTED, "the file names another account than the one that was signed")
        given = [file.hash for file in self.files]
        absent = [called(n) for n, d in zip(names, digests) if d not in given and not n.endswith(".guarantee.json")]
        if absent: self.say(about, "files", NOTE, f"signed with them, and not given: {', '.join(absent)}")
    def belongs(self, page):  # whether its file was released with one that was given: the page or a signature says so
        behind, given = (page.facts["behind"] or {}).get("digest"), [f.guarantee["digest"] for f in self.files if f.guarantee]
        signed = [s.told["files"] for s in self.good if s.listed(page)[1] and any(s.listed(f)[1] for f in self.files)]
        named = any(item["sha256"] == page.facts["file_sha256"] for items in signed for item in items)
        return named or (behind is not None and behind in given)
    def check_page(self, page):
        facts, named = page.facts, called(page.facts["file"])
        if page.bare != facts["shown"]:
            self.say(page.name, "page", CONTRADICTED, "the page was edited: it does not show what it was written with")
        if facts["account"] is not None: self.heads.append((facts["account"]["head"], "on the page"))
        file = next((f for f in self.files if f.hash == facts["file_sha256"]), None)
        if file is None and self.belongs(page):
            said = f"it is the page of {named}, which belongs to what you gave; give that file too"
            return self.say(page.name, "page", NOT_CHECKED, said)
        if file is None: return self.say(page.name, "page", CONTRADICTED, f"it is the page of another file: {named}")
        if file.file_name != facts["file"]: self.say(page.name, "page", NOTE, f"it calls {file.name} {named}")
        if file.guarantee is not None: self.attempt(page.name, "page", page.check_promise, file.guarantee, len(file.payload))
        else: self.say(page.name, "page", NOT_CHECKED, "the promise of its file is not read here")
        self.leave(page, "text", "that the page shows its facts and nothing else is not checked here")
    def check_account(self, path):
        about = called(os.path.basename(path or ""))
        book = self.attempt(about, "account", lambda: Account(read(path))) if path else None
        for file in self.files:
            promise, digest = file.guarantee, f"sha256:{file.hash}"
            if promise and book: self.attempt(file.name, "account", book.check_release, promise, promise["digest"] or digest)
            elif promise and not path: self.say(file.name, "account", NOTE, "no account was given: what else left is not known")
            elif book and file.local and digest not in book.digests:
                self.say(file.name, "account", CONTRADICTED, "the account does not know this file")
        if not book: return
        left = f"{shown(book.limit - book.spent)} of {book.currency} {shown(book.limit)} is left"
        self.say(about, "account", HOLDS, f"its chain is whole, and nothing is overspent: {left}")
        for page in self.pages: self.attempt(page.name, "account", page.check_balance, book)
        for head, what in self.heads:
            if not book.has(head): self.say(about, "head", CONTRADICTED, f"it has not the head {what}: {CUT}")
        for account in [found.told["account"] for found in self.good if found.told["account"] is not None]:
            if account["dataset"] != book.opened["dataset"]:
                self.say(about, "head", CONTRADICTED, "what was signed is about the account of another dataset")
    def read_page(self, path, data):
        name = called(os.path.basename(path))
        found = self.attempt(name, "page", Page, path, data)
        if found:
            self.pages.append(found)
            found.inside = self.read_signature(found.name, found.signature) if found.signature else None
        elif self.known: self.say(name, "page", CONTRADICTED, "it is not signed by a key that you named")
def nothing(promise):  # a masked table keeps no rule
    reached = promise["parameters"].get("reached", promise["parameters"].get("required"))
    return promise["model"] == "syntactic" and isinstance(reached, dict) and not any(reached.values())
def worded(v, mark=", "):
    if isinstance(v, list): return mark.join(worded(each, "+") for each in v)
    return str(v) if is_number(v) or is_text(v) else "..."
def amount(rule):
    if not isinstance(rule, dict): return worded(rule)
    more = [worded(v) if n == "kind" else f"{n}: {worded(v)}" for n, v in rule.items() if n not in ("least", "most")]
    return " ".join(f"{rule[n]:g}" for n in ("least", "most") if is_number(rule.get(n))) + (f" ({', '.join(more)})" if more else "")
def sentence(promise):
    unit = promise["unit"]
    if nothing(promise): return "nothing: no k, l or t, and no differential privacy."
    if promise["model"] == "syntactic":
        rules = [f"{n} = {amount(v)}" for n, v in part(promise["parameters"], "required").items() if v is not None]
        names = promise["parameters"].get("quasi_identifiers", [])
        by = ", ".join(map(called, names[:12])) + f" and {len(names) - 12} more" * (len(names) > 12)
        by = f" Groups are formed by {by}." if names else ""
        return f"{', '.join(rules) or 'k = none'}; no differential privacy. Unit: {unit}.{by}"
    epsilon = "infinite" if promise["epsilon"] == "inf" else promise["epsilon"]
    return (f"differential privacy in the {promise['model']} model, epsilon = {epsilon}, delta = {promise['delta']}. "
            f"Unit: {unit}; neighbours: {promise['neighbours']}.")
def is_page(data): return data[:64].lstrip().lower().startswith(b"<!doctype html")
def verify(paths, page=None, account=None, keys=(), heads=()):
    made, ending = Verdict(keys, heads), ".guarantee.json"
    tables = [path[: -len(ending)] if path.endswith(ending) and os.path.exists(path[: -len(ending)]) else path for path in paths]
    for path in dict.fromkeys([*tables, *([page] if page else [])]):
        data = b"" if os.path.isdir(path) else read(path)
        if path.endswith(".signature.json"): made.read_signature(called(os.path.basename(path)), data)
        elif path == page or is_page(data): made.read_page(path, data)
        elif data.startswith(b'{"after":"' + b"0" * 64): raise Usage(f"{path}: this is an account; give it with --account")
        else: made.files.append(Given(path))
    def has_facts(path): return os.path.isfile(path) and is_page(data := read(path)) and b'name="discreet-facts"' in data
    if not page and tables and all(map(has_facts, tables)): raise Usage(f"{tables[0]}: this is a page; give it with --page")
    if not made.files and not account: made.say("files", "file", NOT_CHECKED, "no released file was given")
    if heads and not account: made.say("account", "head", NOT_CHECKED, "without the account, the head that you gave is not found")
    for file in made.files: made.check_file(file)
    for path in dict.fromkeys([*(thing.path for thing in [*made.files, *made.pages]), account]):
        place = f"{path}.signature.json"
        if path and os.path.exists(place): made.read_signature(called(os.path.basename(place)), read(place))
    made.check_signatures()
    for file in [file for file in made.files if file.guarantee is not None]: made.check_rows(file)
    for found in made.pages: made.check_page(found)
    made.check_account(account)
    owners = sorted({s.key for s in made.good if any(s.listed(file)[1] for file in made.files)})
    names = [f"the owner of key {key[:16]}…{'' if made.known else ', who is unknown to you'}" for key in owners]
    signed = any(s.listed(file)[1] for s in made.others for file in made.files)
    how = "whose signature was not checked" if Ed25519PublicKey is None else "which are signed by a key that you did not name"
    grouped = [file.guarantee["model"] == "syntactic" for file in made.files if file.guarantee]
    unseen = ["the noise was drawn as stated, and that the ledger is complete"] * (False in grouped or not grouped)
    unseen += ["others know no further columns than the quasi-identifiers, and that the rows are the true ones"] * (True in grouped)
    whom = " and ".join(names) or "the maker of the files, " + (how if signed else "which are not signed")
    made.rests = " ".join(f"That {what}, cannot be seen in a file: it rests on {whom}." for what in unseen)
    if any(file.guarantee["parameters"].get("earlier_releases") for file in made.files if file.guarantee):
        made.rests += " What holds together with earlier releases was not checked: only the private history shows it."
    return made

def main(words=None):
    parser = argparse.ArgumentParser(description="Check a release of Discreet without Discreet.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="what was released, and signatures")
    parser.add_argument("--page", help="the page about it")
    parser.add_argument("--account", help="the account that it was charged to")
    parser.add_argument("--key", action="append", default=[], help="a public key that you trust")
    parser.add_argument("--head", action="append", default=[], help="a head of the account that you saw before")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    try:
        given = parser.parse_args(words)
        found = verify(given.files, given.page, given.account, given.key, given.head)
    except SystemExit as error: return 3 if error.code else 0
    except Usage as error: return print(f"error: {error}", file=sys.stderr) or 3
    lines = [f"Verdict: {found.said}", *(f"{p['file']} promises: {p['promise']}" for p in found.promises)]
    answers = sorted(found.answers, key=lambda answer: (CONTRADICTED, NOT_CHECKED, HOLDS, NOTE).index(answer["result"]))
    lines += [f"{a['result']}  {a['about']}, {a['check']}: {a['detail']}" for a in answers]
    try: print(json.dumps(found.to_dict()) if given.json else "\n".join([*lines, f"Not in any file. {found.rests}"]), flush=True)
    except BrokenPipeError: os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has gone: the code is still the verdict's
    return found.code
if __name__ == "__main__": sys.exit(main())
