"""The promise of a release: what was spent, on what, and under which assumptions.

A `Guarantee` is part of every artifact. Its ε is not what the user typed but the sum of the ledger's steps, computed
again whenever it is read from a file. It can be sealed with a digest over itself and the artifact (never over the
input), so that later changes are detected.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from discreet._version import __version__
from discreet.core import checks
from discreet.core.budget.draws import Draw
from discreet.core.budget.ledger import KINDS, Kind, Ledger, Line, Scope, add_up, spending
from discreet.core.budget.prices import epsilon_to_zcdp, zcdp_to_epsilon
from discreet.core.checks import Budget, Exact
from discreet.core.columns.facts import told_of
from discreet.core.columns.unit import unit_to_plain
from discreet.core.domain import Domain
from discreet.core.output import html
from discreet.core.output.figures import SURE_DELTA, at_most, percent_up, rule_text
from discreet.core.output.files import read_json, refuse_later
from discreet.errors import DiscreetError, FormatError, InvalidArgument, InvalidType

__all__ = ["Budget", "Guarantee", "Ledger", "Line", "Scope", "add_up", "epsilon_to_zcdp", "zcdp_to_epsilon"]

Model = Literal["central", "local", "metric", "shuffled", "syntactic"]
MODELS: tuple[Model, ...] = ("central", "local", "metric", "shuffled", "syntactic")

#: The neighbour relation of each model: which two inputs are to look alike.
NEIGHBOURS: Mapping[str, str] = MappingProxyType(
    {
        "central": "add or remove one row",
        "local": "any two values of one user",
        "metric": "two points at a distance",
        "shuffled": "one user's value replaced",
        "syntactic": "none: a property of the released table",
    }
)

#: What a seal is over: bytes, or buffers that follow each other.
Payload: TypeAlias = bytes | bytearray | memoryview | Iterable[Any]

_FORMAT, _FORMAT_VERSION = "discreet.guarantee", 2
#: How a message about damaged declarations begins.
DECLARATION = "the guarantee is damaged in its declarations"


@dataclass(frozen=True)
class Guarantee:
    """A privacy promise that can be read, checked and stored.

    Make one with `Guarantee.from_ledger`. All fields are plain data; none is a function of the raw rows.

    Attributes
    ----------
    model : {"central", "local", "metric", "shuffled", "syntactic"}
        Who is kept from learning what; see docs/architecture.md.
    unit : str
        Unit of privacy: what one neighbour differs in, such as "one row".
    neighbours : str
        The neighbour relation, in words.
    ledger : tuple of Line
        What was spent on what.
    accounting : {"epsilon", "rho"}
        The ledger's unit: pure ε, or zCDP.
    delta : float
        0 for pure ε; with ε, what the δ of its steps add up to.
    parameters : mapping
        The settings of the method.
    domain : Domain or None
        The declared columns.
    assumptions : tuple of str
        What must be true for the promise to hold, beyond the mathematics.
    seeded : bool
        True if the noise can be repeated. Such a release must not be published.
    version : str
        Version of the library that made it.
    digest : str or None
        Seal over this guarantee and the artifact's payload.

    Examples
    --------
    >>> ledger = Ledger(epsilon=1)
    >>> _ = ledger.spend("cells", 0.5, "parallel")
    >>> promise = Guarantee.from_ledger(ledger, model="central", assumptions=["the bounds are public"])
    >>> promise.epsilon
    0.5
    >>> Guarantee.from_json(promise.to_json()) == promise
    True
    """

    model: Model
    unit: str = "one row"
    neighbours: str = ""
    ledger: tuple[Line, ...] = ()
    accounting: Literal["epsilon", "rho"] = "epsilon"
    delta: float = 0.0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    domain: Domain | None = None
    assumptions: tuple[str, ...] = ()
    seeded: bool = False
    version: str = __version__
    digest: str | None = None

    def __post_init__(self) -> None:
        checks.choice("model", self.model, MODELS)
        checks.choice("accounting", self.accounting, ("epsilon", "rho"))
        for name in ("unit", "neighbours", "version"):
            if not isinstance(getattr(self, name), str):
                raise InvalidType(name, getattr(self, name), "text", f'{name}="one row"')
        if not isinstance(self.seeded, bool):
            raise InvalidType("seeded", self.seeded, "True or False", "seeded=False")
        if self.accounting == "rho" or self.delta != 0:
            checks.probability("delta", self.delta)
        if any(not isinstance(x, Line) or not x.amount > 0 for x in self.ledger):
            raise InvalidType("ledger", self.ledger, "lines with positive amounts", "Guarantee.from_ledger(ledger)")
        for line in self.ledger:
            line.check(self.accounting)
        if not isinstance(self.parameters, Mapping):
            raise InvalidType("parameters", self.parameters, "a mapping", "parameters={}")
        whose = f"add or remove {self.unit.partition(' (')[0]}" if self.model == "central" else NEIGHBOURS[self.model]
        object.__setattr__(self, "neighbours", self.neighbours or whose)
        # Through JSON and back: what cannot be written down cannot be promised, and no array can be kept by accident.
        object.__setattr__(self, "parameters", MappingProxyType(_plain("parameters", dict(self.parameters))))
        stated = [*self.assumptions, *(() if self.domain is None else self.domain.source.stated)]
        if not all(isinstance(each, str) for each in stated):
            raise InvalidType("assumptions", stated, "texts", 'assumptions=["the bounds are public"]')
        object.__setattr__(self, "assumptions", tuple(dict.fromkeys(_plain("assumptions", stated))))

    @classmethod
    def from_ledger(cls, ledger: Ledger, *, model: Model, **details: Any) -> Guarantee:
        """State what a ledger's spending amounts to. ``details`` are the other fields."""
        if not isinstance(ledger, Ledger):
            raise InvalidType("ledger", ledger, "a Ledger", "ledger=Ledger(epsilon=1.0)")
        unknown = set(details) - {f.name for f in fields(cls)}
        if unknown:
            raise InvalidType("details", sorted(unknown), "fields of a Guarantee", 'unit="one row"')
        units = {entry.promised_to for entry in ledger.releases}
        stated = details.get("unit", *(units if len(units) == 1 else ["one row"]))
        if units - {stated}:
            expected = f"the unit of all releases that the ledger paid for ({', '.join(sorted(units))})"
            raise InvalidArgument("unit", stated, expected, "one ledger per unit")
        details["unit"] = stated
        details["seeded"] = bool(details.get("seeded")) or any(entry.seeded for entry in ledger.releases)
        return cls(model=model, ledger=ledger.lines, accounting=ledger.unit, delta=ledger.delta, **details)

    @classmethod
    def of_law(cls, law: Any, *, model: Model, **details: Any) -> Guarantee:
        """State the cost of a report of a frozen law, by the law's own lines.

        ``law`` has ``epsilon`` (the stated cost), ``price`` (the cost of the probabilities that are used) and ``lines``
        (labels and amounts). If ``one_of`` is not empty, a report is one of several, and only the most expensive line
        counts.
        """
        if law.price > law.epsilon:
            raise ArithmeticError(f"the chances of a report cost epsilon {float(law.price):.17g}, above {law.epsilon}")
        steps = [(label, checks.budget("epsilon", amount)) for label, amount in law.lines]
        lines = tuple(Line(label, amount, draws=(Draw("report", epsilon=amount),)) for label, amount in steps)
        if law.one_of:
            lines = (Line(law.one_of, add_up(lines, "parallel"), "parallel", lines),)
        if add_up(lines) > checks.budget("epsilon", law.epsilon):
            raise ArithmeticError(f"the lines of a report add up to {add_up(lines)}, above {law.epsilon}")
        return cls(model=model, ledger=lines, **details)

    @property
    def spent(self) -> Budget:
        """Sum of the ledger's steps, in the ledger's unit."""
        return Budget(add_up(self.ledger))

    @property
    def epsilon(self) -> float | None:
        """The ε promised, at `delta`; None for a syntactic promise, which has none."""
        if self.model == "syntactic":
            return None
        return self.spent if self.accounting == "epsilon" else zcdp_to_epsilon(self.spent, self.delta)

    @property
    def rho(self) -> float | None:
        """The ρ promised by a zCDP ledger; None for a pure ε one."""
        return self.spent if self.accounting == "rho" else None

    def to_dict(self) -> dict[str, Any]:
        """Return all facts as plain data, amounts as exact rationals in text."""
        return {
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            "model": self.model,
            "epsilon": None if self.epsilon is None else _edge(self.epsilon),
            "delta": self.delta,
            "accounting": self.accounting,
            "spent": str(self.spent.exact),
            "unit": self.unit,
            "neighbours": self.neighbours,
            "ledger": [_line_to_dict(x) for x in self.ledger],
            "parameters": dict(self.parameters),
            "domain": None if self.domain is None else _domain_to_dict(self.domain),
            "assumptions": list(self.assumptions),
            "seeded": self.seeded,
            "version": self.version,
            "digest": self.digest,
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the guarantee as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Guarantee:
        """Read a guarantee and add its ledger up afresh; a stated ε that does not match is refused."""
        try:
            facts = read_json(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise FormatError(f"not a Discreet guarantee: {error}") from None
        return cls.from_dict(facts)

    @classmethod
    def from_dict(cls, facts: Any) -> Guarantee:
        """Read what `to_dict` wrote."""
        if not isinstance(facts, Mapping) or "format" not in facts:
            raise FormatError("not a Discreet guarantee: the field 'format' is missing")
        refuse_later("the guarantee", facts, _FORMAT_VERSION)
        if facts["format"] != _FORMAT or facts.get("format_version") != _FORMAT_VERSION:
            got = (facts["format"], facts.get("format_version"))
            raise FormatError(
                f"not a guarantee this version can read: format must be {(_FORMAT, _FORMAT_VERSION)}, got {got}"
            )
        try:
            given: dict[str, Any] = {each.name: facts[each.name] for each in fields(cls)}
            given["ledger"] = tuple(_line_from_dict(x) for x in given["ledger"])
            given["delta"], given["assumptions"] = float(given["delta"]), tuple(given["assumptions"])
            given["domain"] = None if given["domain"] is None else _domain_from_dict(given["domain"])
            promise = cls(**given)
            stated = (facts["spent"], facts["epsilon"])
            found = promise.to_dict()
        except KeyError as error:
            raise FormatError(f"the guarantee is damaged: the field {error} is missing") from None
        except (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, DiscreetError) as error:
            said = "" if str(error).startswith(DECLARATION) else "the guarantee is damaged: "
            raise FormatError(f"{said}{error}") from None
        unknown = sorted(set(map(str, facts)) - set(found))
        if unknown:
            raise FormatError(f"the guarantee is damaged: unknown fields {unknown}")
        for name, said in zip(("spent", "epsilon"), stated, strict=True):
            if said != found[name]:
                label = promise.accounting if name == "spent" else name
                told = f"{label} is {_decimal(found[name])}, and {_decimal(said)} is stated"
                raise FormatError(f"the guarantee does not add up: {told}")
        return promise

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping cannot be pickled, and what comes out of a pickle should be checked like a file.
        return Guarantee.from_dict, (self.to_dict(),)

    def seal(self, payload: Payload) -> Guarantee:
        """Return this guarantee with a digest over itself and the artifact's payload, which may come in pieces."""
        return replace(self, digest=self._digest(payload))

    def verify(self, payload: Payload) -> bool:
        """Return whether guarantee and payload are those that were sealed."""
        return self.digest is not None and self.digest == self._digest(payload)

    def canonical(self, *without: str) -> bytes:
        """Return the guarantee in the one form that digests are over, without some fields."""
        facts = {k: v for k, v in self.to_dict().items() if k not in without}
        return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()

    def _digest(self, payload: Payload) -> str:
        head = self.canonical("digest")
        digest = hashlib.sha256(len(head).to_bytes(8, "big") + head)
        whole = isinstance(payload, (bytes, bytearray, memoryview)) or not isinstance(payload, Iterable)
        pieces: Iterable[Any] = (payload,) if whole else payload
        for piece in pieces:  # one by one: joining a large payload would copy it
            try:
                digest.update(piece)
            except (TypeError, ValueError, BufferError):
                raise InvalidType("payload", type(piece), "bytes, or an iterable of buffers", 'b"..."') from None
        return "sha256:" + digest.hexdigest()

    @property
    def drawn_here(self) -> bool | None:
        """True if Discreet drew the noise of all steps, None of some, False if all were charged by hand (external)."""
        steps = {line.external for top in self.ledger for _, line in top.walk() if not line.parts and not line.unused}
        return True not in steps if len(steps) < 2 else None

    _repr_html_ = html.promise

    def __str__(self) -> str:
        return self._text(spent=True)

    def brief(self) -> str:
        """Return the text of the guarantee without the ledger, for output next to a table of it."""
        return self._text(spent=False)

    def _text(self, *, spent: bool) -> str:
        sentences = [self.sentence()]
        if self.ledger and spent:
            names = () if self.domain is None else self.domain.names
            sentences.append(f"It was spent on {'; '.join(spending(self.ledger, self.accounting, names))}.")
        if isinstance(charged := self.parameters.get("account"), Mapping):
            how = "was charged to" if self.model == "central" else "is listed in"
            sentences.append(f"It {how} the account {charged['dataset']!r}, at {charged['head']}.")
        sentences += _assumed(self.assumptions)
        sentences += [] if self.domain is None else told_of(self.domain.facts, self.parameters.get("facts"))
        if self.seeded:
            sentences.append("THE NOISE WAS SEEDED: this release can be undone and must not be published.")
        elif self.ledger:
            sentences.append(_ENTROPY[self.drawn_here])
        sentences.append(f"Made by Discreet {self.version}" + (f", sealed {self.digest}." if self.digest else "."))
        return " ".join(sentences)

    def sentence(self) -> str:
        """Return what is promised, and to whom."""
        return f"{self._promise()} The unit of privacy is {self.unit}."

    def _promise(self) -> str:
        epsilon = self.epsilon
        if epsilon is None:
            # An anonymous table has other facts in addition to the rules it satisfies.
            kept = self.parameters.get("required", self.parameters)
            stated = ", ".join(rule_text(k, v) for k, v in kept.items() if v is not None)
            sampled = self.parameters.get("output") == "sample"
            head = "The rows were drawn from a table that satisfies" if sampled else "This table satisfies"
            together = _together_text(self.parameters.get("earlier_releases"))
            kept_columns, persons = self.parameters.get("kept"), persons_text(self)
            if not kept_columns:
                said = f"{head} {stated or 'no stated property'}{together}"
                return f"{said}; it promises no differential privacy.{persons}"
            known = ", ".join(map(str, self.parameters.get("quasi_identifiers", ())))
            where = f" in the columns that were generalised ({known}) only" if stated and known else ""
            return (
                f"{head} {stated or 'no stated property'}{where}{together}; it promises no differential privacy."
                f"{persons} {kept_text(kept_columns)}"
            )
        if math.isinf(epsilon):
            return "This release carries NO privacy guarantee (epsilon is infinite)."
        if epsilon == 0:
            return "This release has spent nothing: it is the same whatever the data are."
        pair = f"({at_most(epsilon)}, {self.delta:.3g})" if self.delta else at_most(epsilon)
        name = f"{pair}-differential privacy"
        factor = f"{math.exp(epsilon):.4g}" if epsilon < 700 else "a number beyond all bounds"
        slack = f", up to a probability of {self.delta:.3g}" if self.delta else ""
        if self.delta > SURE_DELTA:
            slack += ", with which anything may come out about anybody: that is too much for a table of more than "
            slack += f"{math.floor(1 / self.delta):,} rows"
        return (
            f"This release satisfies {name} in the {self.model} model (neighbours: {self.neighbours}): no outcome is "
            f"more than e^{at_most(epsilon)} = {factor} times as likely for one neighbour as for the other{slack}."
        )


#: The source of the noise, by `Guarantee.drawn_here`.
_ENTROPY = {
    True: "The noise was drawn from the operating system's entropy.",
    None: "The noise was drawn from the operating system's entropy, except that of external steps, which was drawn "
    "outside of Discreet.",
    False: "The noise was drawn outside of Discreet, so how it was drawn is not known.",
}
#: Caveats among the assumptions. They are true in any case, so nothing is assumed.
_CAVEAT = re.compile(
    r"the first \d+ rows of the file were looked at|the categories of a column were selected privately"
    r"|no more is promised|the pattern of changes is not covered|no privacy rests on"
    r"|rows come out in the order they went in|that a person is in the table"
)


def _assumed(assumptions: Iterable[str]) -> list[str]:
    """Return what must be true in one sentence, and each caveat in its own."""
    texts = [part for text in assumptions for part in re.split(r"; (?=that a person is in the table)", text)]
    needed = [text for text in texts if not _CAVEAT.match(text)]
    caveats = [f"{text[:1].upper()}{text[1:]}." for text in texts if _CAVEAT.match(text)]
    return ([f"It assumes that {'; '.join(needed)}."] if needed else []) + caveats


def kept_text(kept: Mapping[str, Any]) -> str:
    """Describe the columns that an anonymous table passes on unchanged, and the risk of that."""
    names = [str(name) for name in kept["columns"]]
    were = f"Column {names[0]} was" if len(names) == 1 else f"Columns {', '.join(names)} were"
    told = "it is" if len(names) == 1 else "they are"
    if "k" not in kept:
        return f"{were} passed on as {told}."
    share = float(kept["unique"])
    # Rounded up, and never to all or to none where it is not so.
    near = "more than 99.9 %" if share > 0.999 else "less than 0.1 %" if share < 0.001 else percent_up(share)
    shown = "no row is" if not share else "all rows are" if share == 1 else f"{near} of the rows are"
    return f"{were} passed on as {told}: if {told} known too, the smallest group is {kept['k']} and {shown} unique."


def person_column(guarantee: Guarantee) -> str | None:
    """Return the column by which the k of a table counts persons; None where it counts rows."""
    said = guarantee.parameters.get("k_counts")
    found = re.search(r"by column (['\"])(.*)\1$", said) if isinstance(said, str) else None
    return found.group(2) if found else None


def _decimal(stated: Any) -> str:
    """Write what a file states as a number, whatever it is."""
    try:
        return f"{float(Fraction(stated)):.9g}"
    except (TypeError, ValueError, ArithmeticError):
        return str(stated)[:80]


def promises_nothing(guarantee: Guarantee) -> bool:
    """Return whether a table was changed without any rule that it keeps: no k, l or t, and no epsilon."""
    reached = guarantee.parameters.get("reached", guarantee.parameters.get("required"))
    return guarantee.model == "syntactic" and isinstance(reached, Mapping) and not any(reached.values())


def hidden_among(facts: Mapping[str, Any]) -> int | None:
    """Return the k of a table against readers of all releases of its history; None where no k is promised."""
    stated = [facts.get(name) for name in ("reached", "reached_together")]
    found = [each["k"] for each in stated if isinstance(each, Mapping) and each.get("k") is not None]
    return min(map(int, found), default=None)


def found_at_most(guarantee: Guarantee) -> float | None:
    """Return the risk of being found if k counts persons; None if it counts rows.

    Guessing among the persons of a group is right with probability 1/k; guessing among its rows, with the person's
    share of rows. The larger one counts.
    """
    reached, k = guarantee.parameters.get("reached"), hidden_among(guarantee.parameters)
    if person_column(guarantee) is None or not isinstance(reached, Mapping) or not k:
        return None
    return max(1 / k, float(reached.get("largest_share", 0.0)))


def persons_text(guarantee: Guarantee) -> str:
    """Say, where k counts persons, that it does, and how many rows of a group one of them has at most."""
    if person_column(guarantee) is None:
        return ""
    counted = guarantee.parameters["k_counts"].partition(",")[0]
    share = dict(guarantee.parameters.get("reached", {})).get("largest_share")
    if not isinstance(share, (int, float)) or guarantee.parameters.get("output") == "sample":
        return f" k counts {counted}."
    most = percent_up(share)
    return f" k counts {counted}; at most {most} of the rows of a group belong to {guarantee.unit}."


def _together_text(earlier: Any) -> str:
    """Describe what a table promises together with earlier ones."""
    if not earlier:
        return ""
    others = "the earlier release" if earlier == 1 else f"the {earlier} earlier releases"
    return f", and so does every group of its rows that can be told apart with the help of {others}"


def _line_to_dict(line: Line) -> dict[str, Any]:
    facts: dict[str, Any] = {"label": line.label, "amount": str(line.amount), "kind": line.kind}
    if line.parts:
        return {**facts, "parts": [_line_to_dict(x) for x in line.parts]}
    if line.draws:
        return {**facts, "draws": [draw.to_dict() for draw in line.draws]}
    return {**facts, "unused" if line.unused else "external": True}


def _line_from_dict(facts: Mapping[str, Any]) -> Line:
    amount: Exact = math.inf if facts["amount"] == "inf" else Fraction(facts["amount"])
    kind: Kind = checks.choice("kind", facts["kind"], KINDS)
    parts = tuple(_line_from_dict(x) for x in facts.get("parts", ()))
    draws = tuple(Draw.from_dict(x) for x in facts.get("draws", ()))
    said = [name for name in ("parts", "draws", "unused", "external") if facts.get(name)]
    known = {"label", "amount", "kind", *said}
    if not isinstance(facts["label"], str) or amount <= 0 or len(said) != 1 or set(facts) != known:
        raise FormatError("a ledger line is damaged")
    return Line(facts["label"], amount, kind, parts, draws, said == ["unused"])


def _domain_to_dict(domain: Domain) -> dict[str, Any]:
    unit = {} if domain.unit is None else {"unit": unit_to_plain(domain.unit)}  # or the seals of old ones would break
    return {"named": domain.named, "columns": domain.to_dict(), **unit, **domain.facts.to_dict()}


def _domain_from_dict(facts: Mapping[str, Any]) -> Domain:
    unknown = sorted(set(map(str, facts)) - {"named", "columns", "unit", "functions", "impossible", "rules"})
    if unknown:
        raise FormatError(f"the guarantee is damaged: unknown fields {unknown} of the domain")
    try:
        domain = Domain(**{name: told for name, told in facts.items() if name != "named"})
    except (TypeError, ValueError, AttributeError, ArithmeticError, LookupError, DiscreetError) as error:
        raise FormatError(f"{DECLARATION}: {error}") from None
    return domain if facts["named"] else Domain._of(domain.columns, named=False, unit=domain.unit, facts=domain.facts)


def _edge(number: float) -> float | str:
    return "inf" if math.isinf(number) else float(number)


def _plain(name: str, value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        raise InvalidType(
            name, type(value).__name__, "plain data (text, finite numbers, lists)", f"{name}={{'k': 10}}"
        ) from None
