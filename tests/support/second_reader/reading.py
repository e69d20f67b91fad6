"""Facts that a stranger can read from the bytes and words of a release. Nothing of the package is used here.

`read` returns objections: sentences that are false, sentences that it does not know, figures that do not fit the bytes.
Every sentence must match a line of `SENTENCES`. A new sentence needs a line there: a check, or why none is possible.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

_ITEMS = re.compile(r"one item, with all its rows|one person, with all their rows \(at most (?P<most>\d+) items used\)")
NEIGHBOURS = {"central": "add or remove one row", "local": "any two values of one user"}


@dataclass(frozen=True)
class Case:
    """The release as it lies before the reader."""

    made: Any
    promise: dict[str, Any]

    @cached_property
    def facts(self) -> dict[str, Any]:
        return dict(self.promise["parameters"])

    @property
    def epsilon(self) -> float:
        return math.inf if self.promise["epsilon"] == "inf" else float(self.promise["epsilon"])

    @cached_property
    def columns(self) -> dict[str, dict[str, Any]]:
        return {} if self.promise["domain"] is None else dict(self.promise["domain"]["columns"])

    @property
    def assumed(self) -> str:
        """What is assumed in one sentence, then caveats, which are true in any case, as sentences."""
        needed, caveats = [], []
        for text in self.promise["assumptions"]:
            head, mark, rest = text.partition("; that a person is in the table")
            for part in [head, *([mark[2:] + rest] if mark else [])]:
                (caveats if part.startswith(_CAVEATS) else needed).append(part)
        said = f" It assumes that {'; '.join(needed)}." if needed else ""
        return said + "".join(f" {text[0].upper()}{text[1:]}." for text in caveats)


_CAVEATS = ("the first ", "the categories of a column were selected privately", "no more is promised",
    "no privacy rests", "the pattern of changes is not covered", "rows come out in the order",
    "that a person is in the table")  # fmt: skip

Objections = Iterator[str]
Check = Callable[[Case, re.Match[str]], Objections]


def read(made: Any, bytes_too: Callable[[Case], Objections]) -> list[str]:
    """Return all objections to a release; ``bytes_too`` reads what was released itself."""
    case = Case(made, json.loads(made.promise))
    wrong = [*_frame(case), *_ledger(case), *_text(case), *bytes_too(case)]
    for place, sentences in (("assumes", case.promise["assumptions"]), ("says", made.said)):
        for sentence in sentences:
            wrong += [f"{place} {sentence!r}: {why}" for why in _sentence(case, sentence)]
    return wrong


def _frame(case: Case) -> Objections:
    promise, made = case.promise, case.made
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?\S*", promise["version"]):
        yield f"no library version: {promise['version']!r}"
    said = " ".join(made.said)
    together = re.sub(r"(?<=\d),(?=\d{3})", "", said)  # thousands are set apart for people, secrets are not
    everything = " ".join((made.promise, made.text, said, together)).encode() + made.payload
    for secret in made.secrets:
        if len(secret) > 4 and secret.encode() in everything:
            yield f"{secret!r} of the input, or the seed, left the record"
    if re.search(r'"(random_state|seed|rng)"', made.promise):
        yield "a seed is written down"
    model, unit = promise["model"], promise["unit"]
    known = {NEIGHBOURS.get(model)} if not people_hidden(promise) else {"add or remove one person, with all their rows"}
    if found := _ITEMS.fullmatch(unit):  # a bitmap of the items that a data holder has
        known = {f"add or remove {unit.partition(' (')[0]}"}
        if found["most"] and int(found["most"]) != promise["parameters"].get("items"):
            yield f"the unit is {unit!r}, of {promise['parameters'].get('items')} items"
    if model in NEIGHBOURS and promise["neighbours"] not in known and not _row_local(promise):
        yield f"neighbours of the {model} model are not {promise['neighbours']!r}"
    persons = [name for name, c in case.columns.items() if c["role"] in ("person", "identifier")]
    drawn = promise["parameters"].get("method") == "SampledGeneralization"  # the schema of a table, like syntactic ones
    if model != "syntactic" and persons and not drawn:
        yield f"columns {persons} are part of the release"
    if unit == "one row" and any("single person" in s or "one person" in s for s in made.said):
        yield "a promise about rows speaks of a person"
    if unit == "one person" and "k_counts" not in case.facts:
        yield "the unit is a person, but nothing says how persons are counted"
    if people_hidden(promise):
        said = promise["domain"].get("unit")
        if not isinstance(said, dict) or said["rows"] != people_hidden(promise):
            yield f"the unit is {unit!r}, and the schema says {said!r}"
    if not isinstance(promise["seeded"], bool):
        yield "seeded must be yes or no"


def people_hidden(promise: dict[str, Any]) -> int:
    """Return the number of rows used per person, or 0 if persons are not the unit."""
    found = re.fullmatch(
        r"one person, with all their rows \(at most ([\d,]+) used(, at most [\d,]+ per .+)?\)", promise["unit"]
    )
    return int(found[1].replace(",", "")) if found and promise["model"] == "central" else 0


def _row_local(promise: dict[str, Any]) -> bool:
    """Rows perturbed by a law of the local model have values of one row for neighbours."""
    return promise["unit"] == "one row" and promise["neighbours"].startswith("two values of one row: ")


# ---- the ledger


def _amount(line: dict[str, Any]) -> Any:
    return math.inf if line["amount"] == "inf" else Fraction(line["amount"])


def total(lines: list[dict[str, Any]], kind: str = "sequential") -> Any:
    """Steps on the same rows add up; disjoint ones cost as much as the most expensive; pure ones cost (Σε)²/2 in ρ."""
    amounts = [_amount(line) for line in lines]
    found = max(amounts, default=Fraction(0)) if kind == "parallel" else sum(amounts, Fraction(0))
    return found * found / 2 if kind == "pure" else found


def walk(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """All lines, groups before their parts."""
    for line in lines:
        yield line
        yield from walk(line.get("parts", []))


def _ledger(case: Case) -> Objections:
    promise = case.promise
    for line, unit in walk_units(promise["ledger"], promise["accounting"]):
        if line.get("parts") and total(line["parts"], line["kind"]) != _amount(line):
            yield f"the parts of {line['label']!r} do not add up to {line['amount']}"
        if _amount(line) <= 0:
            yield f"{line['label']!r} cost nothing"
        yield from _drawn(promise, line, unit)
    spent = total(promise["ledger"])
    stated = math.inf if promise["spent"] == "inf" else Fraction(promise["spent"])
    if spent != stated:
        yield f"the ledger adds up to {spent}, not {stated}"
    if promise["model"] == "syntactic":
        if promise["epsilon"] is not None or promise["ledger"]:
            yield "a syntactic promise has no epsilon"
    elif promise["accounting"] == "rho":
        level = _of_rho(float(spent), promise["delta"])
        if not level * (1 - 1e-9) <= case.epsilon <= level * (1 + 1e-6):
            yield f"ρ = {float(spent)} at δ = {promise['delta']} is ε = {level}, not {case.epsilon}"
    elif case.epsilon != float(spent):
        yield f"epsilon {case.epsilon} is not what was spent, {float(spent)}"
    deltas = [Fraction(d.get("delta", 0)) for line in walk(promise["ledger"]) for d in line.get("draws", ())]
    if promise["accounting"] == "epsilon" and float(sum(deltas, Fraction(0))) != promise["delta"]:
        yield f"the steps add up to δ = {float(sum(deltas))}, {promise['delta']} is stated"
    if promise["accounting"] not in ("epsilon", "rho"):
        yield "an unknown accounting"


def walk_units(lines: list[dict[str, Any]], unit: str) -> Iterator[tuple[dict[str, Any], str]]:
    """All lines with the unit they are paid in: parts of a pure group are in ε."""
    for line in lines:
        yield line, unit
        yield from walk_units(line.get("parts", []), "epsilon" if line["kind"] == "pure" else unit)


def _of_rho(rho: float, delta: float) -> float:
    """The least ε of ρ-zCDP at δ over orders of Rényi divergence (Canonne, Kamath and Steinke 2020, proposition 12)."""

    def level(a: float) -> float:
        return a * rho + math.log1p(-1 / a) - math.log(delta * a) / (a - 1)

    low, high = 1 + 1e-9, 2 + 10 * math.sqrt(-math.log(delta) / rho)
    for _ in range(300):  # falls, then rises
        third = (high - low) / 3
        low, high = (low, high - third) if level(low + third) < level(high - third) else (low + third, high)
    return max(0.0, level((low + high) / 2))


def _drawn(promise: dict[str, Any], line: dict[str, Any], unit: str) -> Objections:
    """Recompute the price of a step from the noise that was drawn for it."""
    said = [name for name in ("parts", "draws", "unused", "external") if line.get(name)]
    if len(said) != 1:
        yield f"{line['label']!r} must have parts or draws, or say why it has none: {said}"
        return
    if said == ["external"] and promise["model"] == "central":
        yield f"nothing says what was drawn for {line['label']!r}"
    for draw in line.get("draws", ()):
        price, amount = _price(draw, unit), float(_amount(line))
        if price > amount * (1 + 1e-12):
            yield f"{line['label']!r} cost {amount}, and its noise is worth {price}"
        if draw["law"] in ("laplace", "max-norm", "choice") and price < amount * (1 - 1e-12):
            yield f"{line['label']!r} paid {amount} for noise that is worth {price}"
        persons = people_hidden(promise)
        if draw["law"] == "gaussian":  # what counts is a sum of squares, largest where all rows are in one cell
            persons *= persons
        # Keys are selected, and rows per person chosen, for whole persons.
        if persons and draw["law"] != "selection" and draw["rows"] != persons and line["label"] != "rows per person":
            yield f"{line['label']!r} is for {draw['rows']} rows of a person, who has {persons}"


def _price(draw: dict[str, Any], unit: str) -> float:
    """The price of noise by its scale and by how far one unit moves what it was added to; a pure ε is ε²/2 in ρ."""
    if draw["law"] == "gaussian":
        if unit != "rho":
            return math.inf
        return float(Fraction(draw["l2_squared"]) * draw["rows"] / (2 * Fraction(draw["scale"]) ** 2))
    level = _level(draw)
    return level if unit == "epsilon" else level**2 / (8 if draw["law"] == "choice" else 2)


def _level(draw: dict[str, Any]) -> float:
    if "epsilon" in draw:
        return float(Fraction(draw["epsilon"]))
    scale, rows = float(Fraction(draw["scale"])), draw["rows"]
    if scale == 0:
        return math.inf
    if draw["law"] == "privtree":
        a, bias = math.exp(-1 / scale), draw["bias"]
        terms = (math.log1p((q := a ** (j * bias)) * (1 - a) / (1 + a - q)) for j in range(1, 2000))
        return rows * (2 / scale + math.fsum(terms))
    name = {"laplace": "l1", "flip": "l1", "max-norm": "linf", "isotropic": "l2_squared"}.get(draw["law"], "span")
    moves = float(Fraction(draw[name]))
    return rows * (math.sqrt(moves) if draw["law"] == "isotropic" else moves) / scale


def _line_text(line: dict[str, Any], unit: str = "epsilon") -> str:
    """A line in words; amounts with six digits."""
    text = f"{line['label']} {'ρ ' * (unit == 'rho')}{float(_amount(line)):.6g}"
    parts = line.get("parts")
    if not parts:
        return text + (" (parallel composition)" if line["kind"] == "parallel" else "")
    joint = {"parallel": "parallel composition, the largest of", "pure": "half the square of the sum of epsilons"}
    inner = "epsilon" if line["kind"] == "pure" else unit
    return f"{text} ({joint.get(line['kind'], 'the sum of')} {', '.join(_line_text(p, inner) for p in parts)})"


# ---- the text of the guarantee


def _text(case: Case) -> Objections:
    """Take the text apart from front to back; what is left over is not known."""
    promise, rest = case.promise, case.made.text
    for pattern, check in PROMISES:
        found = re.match(pattern, rest)
        if found:
            yield from check(case, found)
            rest = rest[found.end() :]
            break
    else:
        yield f"no promise is recognised in {rest[:120]!r}"
        return
    parts = [f" The unit of privacy is {promise['unit']}."]
    if promise["ledger"]:
        lines = [_line_text(line, promise["accounting"]) for line in promise["ledger"]]
        parts.append(f" It was spent on {'; '.join(lines)}.")
    if charged := promise["parameters"].get("account"):
        how = "was charged to" if promise["model"] == "central" else "is listed in"
        parts.append(f" It {how} the account {charged['dataset']!r}, at {charged['head']}.")
    if promise["assumptions"]:
        parts.append(case.assumed)
    if promise["seeded"]:
        parts.append(" THE NOISE WAS SEEDED: this release can be undone and must not be published.")
    elif promise["ledger"]:
        parts.append(_source(json.dumps(promise["ledger"])))
    parts.append(
        f" Made by Discreet {promise['version']}" + (f", sealed {promise['digest']}." if promise["digest"] else ".")
    )
    for part in parts:
        if not rest.startswith(part):
            yield f"the text goes on with {rest[:160]!r}, not with {part[:160]!r}"
            return
        rest = rest[len(part) :]
    if rest:
        yield f"the text ends with {rest!r}, which is not known"
    yield from _unit(case)


def _unit(case: Case) -> Objections:
    unit, facts = case.promise["unit"], case.facts
    spent = re.search(r"at most epsilon ([\d.e+-]+)$", unit)
    if facts.get("mechanism") == "rappor":
        f, hashes = _number(facts["f"]), facts["hashes"]
        life = 2 * hashes * math.log((1 - f / 2) / (f / 2)) if f else math.inf
        if not spent or float(spent[1]) < life * (1 - 1e-12):
            yield f"a lifetime costs {life}, more than is said: {unit!r}"
    elif facts.get("mechanism") == "bit-flip" and facts["memoised"]:
        most = case.epsilon * (facts["bits"] + 1)
        if not spent or float(spent[1]) < most * (1 - 1e-12):
            yield f"a lifetime costs {most}, more than is said: {unit!r}"
    elif (
        not people_hidden(case.promise)
        and not _ITEMS.fullmatch(unit)
        and unit
        not in (
            "one row",
            "one person",
            "one report of one user",
            "one user's trajectory",
        )
    ):
        yield f"an unknown unit: {unit!r}"


def _number(value: Any) -> float:
    return float(Fraction(value)) if isinstance(value, str) else float(value)


def _promised(case: Case, m: re.Match[str]) -> Objections:
    if m["model"] != case.promise["model"] or m["neighbours"] != case.promise["neighbours"]:
        yield "the text names another model or relation than the record"
    if float(m.groupdict().get("delta") or 0) != case.promise["delta"]:
        yield f"the text promises δ = {m['delta']}, the record {case.promise['delta']}"
    if m["level"] != m["again"] or not case.epsilon <= float(m["level"]) <= case.epsilon * 1.0001:
        yield f"the text promises {m['level']}, the record {case.epsilon}"
    if m["factor"] != "a number beyond all bounds":
        close = abs(float(m["factor"]) / math.exp(case.epsilon) - 1) < 6e-4
        if not close:
            yield f"e^{case.epsilon} is not {m['factor']}"


def _satisfied(case: Case, m: re.Match[str]) -> Objections:
    facts = case.facts
    required = {name: value for name, value in facts["required"].items() if value is not None}
    stated = {} if m["stated"] == "no stated property" else dict(re.findall(r"(\w+) = ([\d.]+)", m["stated"]))
    for name, value in required.items():
        amount = value if not isinstance(value, dict) else value.get("least", value.get("most"))
        if name not in stated or float(stated[name]) != float(amount):
            yield f"{name} = {amount} is required, but the text says {m['stated']!r}"
    if set(stated) - set(required) - {"c"}:
        yield f"{m['stated']!r} states what is not required"
    if m["head"].startswith("The rows were drawn") != (facts["output"] == "sample"):
        yield "whether rows were drawn is told wrongly"
    if bool(facts.get("kept")) != bool(m["kept"]):
        yield "what was passed on as it is, is not said as it is"
    elif m["kept"]:
        yield from kept_sentence(case, m["kept"])
    if bool(facts.get("earlier_releases")) != ("told apart with the help of" in m[0]):
        yield "earlier releases are told wrongly"


def kept_sentence(case: Case, text: str) -> Objections:
    """The columns that are passed on and what that costs, against the record (which the bytes are held to)."""
    kept = case.facts["kept"]
    found = re.fullmatch(
        r"Columns? (?P<names>.+) (was|were) passed on as (it is|they are)(: if (it is|they are) known too, the "
        r"smallest group is (?P<k>\d+) and "
        r"(?P<share>no row is|all rows are|(more than |less than )?[\d.]+ % of the rows are) unique)?\.",
        text,
    )
    if not found or found["names"].split(", ") != kept["columns"]:
        yield f"unknown words of kept columns: {text!r}"
        return
    if (found["k"] is None) != ("k" not in kept) or (found["k"] and int(found["k"]) != kept["k"]):
        yield f"the smallest group with kept columns is {kept.get('k')}, not {found['k']}"
    if found["share"]:
        share = 100 * kept["unique"]
        words = found["share"]
        fits = (
            share == 0 if words == "no row is" else share == 100 if words == "all rows are"
            else share > 99.9 if words.startswith("more") else share < 0.1 if words.startswith("less")
            else -1e-9 <= float(words.split(" ")[0]) - share < 0.1 + 1e-9
        )  # fmt: skip
        if not fits:
            yield f"{share} % of the rows are unique, not: {words}"


def _infinite(case: Case, m: re.Match[str]) -> Objections:
    if case.epsilon != math.inf:
        yield "it says that nothing is promised, and promises something"


PROMISES: list[tuple[str, Check]] = [
    (
        r"This release satisfies (?P<level>[\d.e+-]+)-differential privacy in the (?P<model>\w+) model \(neighbours: "
        r"(?P<neighbours>.+?)\): no outcome is more than e\^(?P<again>[\d.e+-]+) = (?P<factor>[\d.e+]+|a number beyond "
        r"all bounds) times as likely for one neighbour as for the other\.",
        _promised,
    ),
    (
        r"This release satisfies \((?P<level>[\d.e+-]+), (?P<delta>[\d.e+-]+)\)-differential privacy in the "
        r"(?P<model>\w+) model \(neighbours: (?P<neighbours>.+?)\): no outcome is more than e\^(?P<again>[\d.e+-]+) = "
        r"(?P<factor>[\d.e+]+|a number beyond all bounds) times as likely for one neighbour as for the other, up to a "
        r"probability of (?P=delta)\.",
        _promised,
    ),
    (r"This release carries NO privacy guarantee \(epsilon is infinite\)\.", _infinite),
    (
        r"(?P<head>This table satisfies|The rows were drawn from a table that satisfies) (?P<stated>.+?)"
        r"( in the columns that were generalised \([^)]*\) only)?"
        r"(, and so does every group of its rows that can be told apart with the help of the (\d+ )?earlier releases?)?"
        r"; it promises no differential privacy\."
        r"( k counts persons(; at most [\w. ]+ % of the rows of a group belong to one person)?\.)?( (?P<kept>"
        r"Columns? .+?\.)(?= The unit))?",
        _satisfied,
    ),
]


def _sentence(case: Case, sentence: str) -> Objections:
    from second_reader.sentences import SENTENCES

    for pattern, check in SENTENCES:
        found = re.fullmatch(pattern, sentence)
        if found:
            if not isinstance(check, str):
                yield from check(case, found)
            return
    yield "a sentence that nobody checks; give it a check in second_reader/sentences.py, or say why there is none"


# ---- seals


def seal(promise: dict[str, Any], *pieces: bytes) -> str:
    """The digest over a guarantee and a payload: length and canonical JSON, then the payload."""
    facts = {name: value for name, value in promise.items() if name != "digest"}
    head = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(len(head).to_bytes(8, "big") + head)
    for piece in pieces:
        digest.update(piece)
    return "sha256:" + digest.hexdigest()


def _source(ledger: str) -> str:
    """Say where the noise came from: a line that was charged by hand has no draws."""
    if '"external": true' not in ledger:
        return " The noise was drawn from the operating system's entropy."
    if '"draws": [' not in ledger:
        return " The noise was drawn outside of Discreet, so how it was drawn is not known."
    return (
        " The noise was drawn from the operating system's entropy, except that of external steps, which was drawn "
        "outside of Discreet."
    )
