"""The totals of an account, and which line may follow.

Central releases have a price in the unit of the limit. Others are listed with terms of their own: the rules of an
anonymous table, the rate of a perturbed one, the ε of a local report. They add nothing to what is spent.

Limits are kept in ε (and a sum of δ) or in ρ, as exact rationals. There, adding up is valid also if the next price is
chosen after seeing a result (basic composition, and that of zCDP, hold for adaptive prices under a fixed limit).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.core import at_least, at_most, checks, refuse_later
from discreet.errors import BudgetExceeded, FormatError

FORMAT, VERSION = "discreet.account", 1
#: How to make an account that takes releases with a δ.
WITH_DELTA = "'discreet account create ... --delta 1e-6', or Account.create(..., delta=1e-6)"
#: Laws of steps. Any other ε-DP step loses no more than randomised response.
LAWS = ("laplace", "gaussian", "exponential", "response", "zcdp")
#: A note that says that nobody received a release: `discreet withdraw` writes it.
WITHDRAWN = "withdrawn"
#: Law, price (ρ for "gaussian" and "zcdp", else ε), δ, and number of repetitions.
Step = tuple[str, Fraction, Fraction, int]


@dataclass(frozen=True)
class Entry:
    """One release in an account.

    ``price`` and ``delta`` are in the unit of the account. Both are 0 if the release is not of the central model; its
    own kind of price is then in ``terms`` (docs/accounts.md). ``state`` is "reserved" until it is published (and
    forever if its program was lost), then "booked"; "answered" has no artifact; "added" was released without the
    account. ``digest`` is the seal of the artifact, ``files`` are further forms of it (name and seal), ``steps`` are
    the laws of its noise, ``task`` is the digest of the job. ``withdrawn``: a note says that nobody received it.

    Examples
    --------
    >>> Entry(1, "synopsis", {}, Fraction(1, 2), Fraction(0), "2026-11-16T07:00:00+00:00", "ana@ward", "reserved").state
    'reserved'
    """

    number: int
    job: str
    asked: Mapping[str, Any]
    price: Fraction
    delta: Fraction
    when: str
    who: str
    state: str
    digest: str | None = None
    seeded: bool = False
    steps: tuple[Step, ...] = ()
    task: str | None = None
    notes: tuple[str, ...] = ()
    terms: Mapping[str, Any] | None = None
    files: tuple[tuple[str, str], ...] = ()
    withdrawn: bool = False

    @property
    def model(self) -> str:
        """The model of privacy: "central", or that of the terms."""
        return "central" if self.terms is None else str(self.terms["model"])

    @property
    def cost(self) -> str:
        """The price in words; a number if it is in the unit of the account."""
        terms = self.terms
        if terms is None:
            return f"{float(self.price):.6g}"
        if terms["model"] == "syntactic":
            return "no rules" if terms["k"] is None else f"k = {terms['k']}"
        level = f"ε {at_most(_read(terms['epsilon']))}"
        if terms["model"] == "metric":
            radius = terms["radius"]
            return f"{level} at a distance" if radius is None else f"{level} at {float(_read(radius)):g}"
        return f"{level} per {terms['unit'].removeprefix('one ').partition(' of ')[0]}"

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """Every file of the release: name and digest."""
        own = [(str(self.asked.get("file") or ""), self.digest)] if self.digest else []
        return (*own, *self.files)

    @property
    def named(self) -> str:
        """Verb and file, or the job."""
        return _named(self.job, self.asked)

    @property
    def what(self) -> str:
        """The release in words: verb and file, or the job; and the columns if they are few."""
        columns = self.asked.get("columns")
        if not isinstance(columns, list) or not columns:
            return self.named
        shown = ", ".join(map(str, columns))
        return f"{self.named}: {shown if len(shown) <= 60 else f'{len(columns)} columns'}"

    def to_dict(self) -> dict[str, Any]:
        """Return all facts as plain data."""
        return {
            "entry": self.number, "job": self.job, "asked": dict(self.asked), "price": str(self.price),
            "delta": str(self.delta), "when": self.when, "who": self.who, "state": self.state, "digest": self.digest,
            "seeded": self.seeded, "notes": list(self.notes), "model": self.model,
            "terms": None if self.terms is None else dict(self.terms),
            "files": [{"file": name, "digest": digest} for name, digest in self.shown],
        }  # fmt: skip


def _named(job: str, asked: Mapping[str, Any]) -> str:
    """Return the verb and file of a job if it has them, else its name."""
    said = [asked.get(name) for name in ("verb", "file")]
    return " ".join(map(str, said)) if all(said) else job


#: Prices repeat often.
_known_amount = lru_cache(4096)(checks.written_amount)


def _whole(value: Any, least: int = 1) -> bool:
    return type(value) is int and least <= value < 2**53


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _read(text: Any) -> Fraction:
    return _known_amount(text) if isinstance(text, str) else checks.written_amount(text)


def _amount(value: Any) -> bool:
    return _read(value) >= 0


def _perhaps_amount(value: Any) -> bool:
    return value is None or _amount(value)


def _step(value: Any) -> bool:
    whole = isinstance(value, list) and len(value) == 4 and value[0] in LAWS and _whole(value[3])
    return whole and _read(value[1]) > 0 and _read(value[2]) < 1


def _unit(value: Any) -> bool:
    return value == "row" or (isinstance(value, dict) and len(value) == 1 and all(map(_text, value.values())))


#: The exact fields of the terms of each model.
_TERMS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "syntactic": {
        "k": lambda v: v is None or _whole(v), "rules": lambda v: isinstance(v, dict), "earlier": lambda v: _whole(v, 0)
    },
    "metric": {
        "epsilon": _amount, "categories": _amount, "radius": _perhaps_amount, "rate": _perhaps_amount,
        "metric": lambda v: isinstance(v, dict),
    },
    **{model: {"epsilon": _amount, "delta": _amount} for model in ("local", "shuffled")},
}  # fmt: skip


def _terms(value: Any) -> bool:
    fields = _TERMS.get(str(value.get("model"))) if isinstance(value, dict) else None
    if fields is None or set(value) != {"model", "unit", *fields}:
        return False
    return _text(value["unit"]) and all(holds(value[name]) for name, holds in fields.items())


_SIGNED: dict[str, Callable[[Any], bool]] = {"when": _text, "who": _text}
_PRICED: dict[str, Callable[[Any], bool]] = {"entry": _whole, "price": _amount, "delta": _amount}
_ASKED: dict[str, Callable[[Any], bool]] = {
    **_SIGNED, **_PRICED, "job": _text, "asked": lambda v: isinstance(v, dict), "task": lambda v: v is None or _text(v),
}  # fmt: skip
_MADE: dict[str, Callable[[Any], bool]] = {
    "digest": lambda v: v is None or _text(v), "steps": lambda v: isinstance(v, list) and all(map(_step, v)),
    "seeded": lambda v: isinstance(v, bool),
}  # fmt: skip
#: The exact fields of each kind of line.
_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "open": {
        **_SIGNED, "format": lambda v: v == FORMAT, "version": lambda v: v == VERSION and type(v) is int,
        "dataset": _text, "unit": _unit, "epsilon": _perhaps_amount, "rho": _perhaps_amount, "delta": _amount,
    },
    "reserve": _ASKED,
    "book": {**_PRICED, **_MADE, "when": _text},
    "spend": {**_ASKED, **_MADE, "state": lambda v: v in ("answered", "added")},
    "file": {**_SIGNED, "entry": _whole, "name": _text, "digest": _text},
    "note": {**_SIGNED, "entry": _whole, "text": _text},
    "close": _SIGNED,
    "repair": {"dropped": _whole},
}  # fmt: skip


@dataclass
class Totals:
    """The state after all lines so far. Every line is checked against it."""

    opened: dict[str, Any] = field(default_factory=dict)
    entries: dict[int, Entry] = field(default_factory=dict)
    limit: Fraction = Fraction(0)
    delta_limit: Fraction = Fraction(0)
    spent: Fraction = Fraction(0)
    delta_spent: Fraction = Fraction(0)
    digests: set[str] = field(default_factory=set)
    closed: str = ""
    repairs: int = 0

    @property
    def currency(self) -> str:
        """The unit of the limit: "epsilon" or "rho"."""
        return "epsilon" if self.opened.get("rho") is None else "rho"

    def check(self, facts: dict[str, Any]) -> None:
        kind = facts.get("kind")
        fields = _FIELDS.get(kind) if isinstance(kind, str) else None
        if fields is not None and "terms" in facts and kind in ("reserve", "book", "spend"):
            fields = {**fields, "terms": _terms}
        refuse_later("the account", facts, VERSION, "version")
        if fields is None or set(facts) != {"kind", *fields}:
            raise FormatError(f"this version does not know lines of kind {kind!r} with these fields")
        for name, holds in fields.items():
            if not holds(facts[name]):
                raise FormatError(f"{name!r} in a line of kind {kind!r} is not valid")
        if (kind == "open") == bool(self.opened):
            raise FormatError("an account begins with one line that opens it")
        getattr(self, f"_check_{kind}", lambda _: None)(facts)

    def _check_open(self, facts: dict[str, Any]) -> None:
        if (facts["epsilon"] is None) == (facts["rho"] is None):
            raise FormatError("an account has a limit in epsilon or in rho")
        delta = _read(facts["delta"])
        if _read(facts["epsilon"] or facts["rho"]) <= 0 or not 0 <= delta < 1:
            raise FormatError("the limits of the account are not valid")
        if facts["rho"] is not None and not delta:
            raise FormatError("a limit in rho needs a delta")

    def _check_new(self, facts: dict[str, Any]) -> None:
        if self.closed:
            raise BudgetExceeded(f"the account {self.opened['dataset']!r} is closed: nothing more can be spent")
        if facts["entry"] != len(self.entries) + 1:
            raise FormatError("entries are not numbered in order")
        price, delta = _read(facts["price"]), _read(facts["delta"])
        what = _named(facts["job"], facts["asked"])
        if bool(price) == ("terms" in facts) or (delta and not price):
            raise FormatError("a release has a price, or terms of its own, but not both")
        if self.spent + price > self.limit:
            raise BudgetExceeded(
                f"{what!r} needs {self.currency} {at_most(price)} but only {at_least(self.limit - self.spent)} of "
                f"{at_least(self.limit)} is left in the account {self.opened['dataset']!r}; spend less, or use an "
                "earlier release again, which costs nothing"
            )
        most = self.delta_limit if self.currency == "epsilon" else Fraction(0)  # in ρ, δ is only where ε is stated
        if self.delta_spent + delta > most:
            have = f"has only {at_least(most - self.delta_spent)} left" if most else "allows none"
            raise BudgetExceeded(
                f"{what!r} needs delta {at_most(delta)} but the account {self.opened['dataset']!r} {have}; make a "
                f"release without delta, or charge an account with more of it: {WITH_DELTA}"
            )

    _check_reserve = _check_new

    def _check_spend(self, facts: dict[str, Any]) -> None:
        self._check_new(facts)
        self._check_digest(facts)

    def _check_book(self, facts: dict[str, Any]) -> None:
        entry = self.entries.get(facts["entry"])
        if entry is None or entry.state != "reserved":
            raise FormatError("a release is booked that was not reserved")
        price, delta = _read(facts["price"]), _read(facts["delta"])
        terms, held = facts.get("terms", {}), entry.terms or {}
        if terms.get("model") != held.get("model"):
            raise FormatError("what is booked is another kind of release than was reserved")
        level, most = (_read(each.get("epsilon", "0")) for each in (terms, held))
        if not (terms or price) or price > entry.price or delta > entry.delta or level > most:
            raise FormatError("more is booked than was reserved")
        # Equal digests are possible: small files of random bits may be the same.

    def _check_digest(self, facts: dict[str, Any]) -> None:
        if facts["digest"] in self.digests:
            raise FormatError("this artifact is already in the account")

    def _check_file(self, facts: dict[str, Any]) -> None:
        entry = self.entries.get(facts["entry"])
        if entry is None or entry.state == "reserved":
            raise FormatError("a file of a release that was not booked")
        if facts["digest"] not in [digest for _, digest in entry.shown]:
            self._check_digest(facts)

    def _check_note(self, facts: dict[str, Any]) -> None:
        if facts["entry"] not in self.entries:
            raise FormatError("the entry does not exist")

    def _check_close(self, facts: dict[str, Any]) -> None:
        if self.closed:
            raise BudgetExceeded("the account is already closed")

    def take(self, facts: dict[str, Any]) -> None:
        kind = facts["kind"]
        if kind == "open":
            self.opened = facts
            self.limit = _read(facts["epsilon"] or facts["rho"])
            self.delta_limit = _read(facts["delta"])
        elif kind in ("reserve", "spend"):
            self._put(None, facts, facts.get("state", "reserved"))
        elif kind == "book":
            self._put(self.entries[facts["entry"]], facts, "booked")
        elif kind == "note":
            entry = self.entries[facts["entry"]]
            said = f"{facts['text']} ({facts['who']}, {facts['when'][:10]})"
            gone = entry.withdrawn or facts["text"] == WITHDRAWN
            self.entries[entry.number] = replace(entry, notes=(*entry.notes, said), withdrawn=gone)
        elif kind == "file":
            entry = self.entries[facts["entry"]]
            self.entries[entry.number] = replace(entry, files=(*entry.files, (facts["name"], facts["digest"])))
            self.digests.add(facts["digest"])
        elif kind == "close":
            self.closed = facts["when"]
        else:
            self.repairs += 1

    def forget(self) -> None:
        self.__dict__.update(Totals().__dict__)

    def _put(self, before: Entry | None, facts: dict[str, Any], state: str) -> None:
        price, delta, digest = _read(facts["price"]), _read(facts["delta"]), facts.get("digest")
        self.spent += price if before is None else price - before.price
        self.delta_spent += delta if before is None else delta - before.delta
        if digest is not None:
            self.digests.add(digest)
        steps = tuple((law, _read(a), _read(d), n) for law, a, d, n in facts.get("steps", ()))
        made: dict[str, Any] = {"digest": digest, "steps": steps, "terms": facts.get("terms")}
        made["seeded"] = facts.get("seeded", False)
        if before is None:
            asked = facts["entry"], facts["job"], facts["asked"], price, delta, facts["when"], facts["who"], state
            self.entries[facts["entry"]] = Entry(*asked, task=facts["task"], **made)
        else:
            self.entries[before.number] = replace(before, price=price, delta=delta, state=state, **made)
