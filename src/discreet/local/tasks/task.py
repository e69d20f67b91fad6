"""A task: the public description of a collection, identified by its digest.

Nothing in it is secret or may change. The digest fixes the mechanism, every coin, the budgets and the times. A
collector serves it; a client checks it against its own limits before it answers.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from codecs import BOM_UTF8
from dataclasses import MISSING, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from discreet.core import DeclaredValue, option, refuse_later, written_amount
from discreet.errors import DiscreetError, FormatError, InvalidArgument, InvalidType
from discreet.local.mechanism import REPORT_EPSILON, Mechanism, local_budget, mechanism_from_dict
from discreet.local.numbers.mean_vectors import MeanVector
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.strings.prefix import PrefixExtension
from discreet.local.strings.puzzle import FragmentPuzzle
from discreet.local.tasks.sealing import MOST_BATCH, Shuffle, sealed_size
from discreet.local.wire import binary

_FORMAT, _VERSION = "discreet.task", 1
#: The rules by which a client turns a value and coins into a frame. A client refuses tasks of rules it does not know.
CLIENT = 1
_DAY = 86_400
_LONGEST_NAME, _LARGEST_TASK = 100, 1 << 24
_AS_THEY_ARE = ("name", "wanted", "opens", "closes", "minimum", "period", "key_window")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class PublicFile:
    """A long public list of labels, one per line: the name and the SHA-256 of a file.

    Examples
    --------
    >>> words = PublicFile.of("words.txt", b"cat\\ndog\\nemu\\n")
    >>> words.labels(b"cat\\ndog\\nemu\\n")
    ('cat', 'dog', 'emu')
    """

    name: str
    sha256: str

    def __post_init__(self) -> None:
        _name("file", self.name)
        if not is_digest(self.sha256):
            raise InvalidArgument("sha256", self.sha256, "64 hexadecimal digits", "PublicFile.of(name, content)")

    @classmethod
    def of(cls, name: str, content: bytes) -> PublicFile:
        """Describe a file by its content."""
        if content.startswith(BOM_UTF8):
            raise FormatError(f"{name!r} begins with a byte order mark, part of its first label; save it without one")
        return cls(name, hashlib.sha256(content).hexdigest())

    def labels(self, content: bytes) -> tuple[str, ...]:
        """Read the labels of the file; refuse another file."""
        if not isinstance(content, bytes):
            raise InvalidType("labels", type(content).__name__, "the bytes of a file", "Path(name).read_bytes()")
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise FormatError(f"this is not the content of the task's file {self.name!r}: its SHA-256 differs")
        try:
            lines = content.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            raise FormatError(f"{self.name!r} is not text in UTF-8") from None
        return _labels(self.name, [line.removesuffix("\r") for line in lines if line.removesuffix("\r")])


class Task(DeclaredValue):
    """A question to devices: public and immutable.

    Notes
    -----
    ``coins`` follow from the mechanism and are written out, so that a device needs no exponentials. Labels are texts in
    NFC form, or whole numbers.

    Privacy
    -------
    A task spends nothing. It states the cost of a report (neighbours: any two values of one user) and the most that a
    device may spend on it in a day.

    Examples
    --------
    >>> import discreet as dc
    >>> colours = dc.local.DirectResponse(epsilon=1, domain=["red", "green", "blue"])
    >>> task = Task(colours, name="favourite colour", per_day=1, wanted=10_000, minimum=1_000,
    ...             opens="2026-11-16T00:00:00Z", closes="2026-12-16T00:00:00Z")
    >>> Task.from_json(task.to_json()) == task, len(task.digest)
    (True, 64)
    >>> task.coins["keep"]
    '937c656abe1d6f67ccdfd33d7730d2ac'
    """

    mechanism: Mechanism = option(help="The mechanism of the reports. Its ``epsilon`` is the cost of one report.")
    name: str = option(example="colour", help="The question, in a few words. A client answers one task per name.")
    per_day: float = replace(REPORT_EPSILON, help="The most that one device may spend on this task in a local day.")
    wanted: int = option(
        default=MISSING, low=1, high=10**15, example=10_000, help="Number of reports that the task needs."
    )
    opens: Any = option(default=MISSING, help='When reports are first taken, in UTC, such as "2026-11-16T00:00:00Z".')
    closes: Any = option(default=MISSING, help="When the task ends.")
    minimum: int = option(default=MISSING, low=1, example=1000, help="Number of reports before anything may be read.")
    period: int = option(
        default=_DAY, low=60, high=366 * _DAY, help="Seconds of a batch: no finer time is kept of a report."
    )
    key_window: int = option(
        default=7 * _DAY, low=60, high=366 * _DAY,
        help="Seconds after which the collector forgets an idempotency key; clients must not retry later.",
    )  # fmt: skip
    candidates: Any = option(
        default=None,
        help="Labels of the values 0..d-1, of several numbers, or the values to estimate: a list or a `PublicFile`.",
    )
    shuffle: Any = option(default=None, help="A `Shuffle`, if reports are mixed before the collector sees them.")

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism):
            given = type(self.mechanism).__name__
            raise InvalidType("mechanism", given, "a local mechanism", "mechanism=plan(...).best.make(domain)")
        _name("name", self.name)
        values = self.read_options()
        values["per_day"] = local_budget("per_day", self.per_day)
        values["minimum"] = replace(self.declared["minimum"], high=values["wanted"]).read(self.minimum)
        values |= {name: _time(name, values[name]) for name in ("opens", "closes")}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.per_day < self.mechanism.epsilon:
            least = f"{float(self.mechanism.epsilon):g}"
            raise InvalidArgument(
                "per_day", self.per_day, f"at least the cost of one report, {least}", "per_day=" + least
            )
        if self.opens >= self.closes:
            opens = datetime.fromisoformat(self.opens)
            fix = f"closes='{opens + timedelta(days=30):{_TIME}}'" if opens.year < 9999 else "an earlier time for opens"
            raise InvalidArgument("closes", self.closes, f"after opens, {self.opens}", fix)
        self._check_labels()
        self._check_size()
        thresholds(self.mechanism)

    def _check_size(self) -> None:
        """Refuse mechanisms whose counts grow with every report, and values that not every language can hold."""
        m = self.mechanism
        grows = isinstance(m, PrefixExtension) or (isinstance(m, LocalHashing) and m.candidates is None)
        if grows and m.pool is None:  # type: ignore[attr-defined]
            fix = "pool=1024"
            raise InvalidArgument("mechanism", f"{m.NAME} without a pool", "one whose counts have a fixed size", fix)
        if isinstance(m, PrefixExtension) and m.bits is not None:
            raise InvalidArgument("mechanism", f"{m.NAME} of whole numbers", "one of texts, in a task", "bits=None")
        if self.shuffle is not None and not isinstance(self.shuffle, Shuffle):
            fix = "shuffle=dc.local.Shuffle(...)"
            raise InvalidType("shuffle", type(self.shuffle).__name__, "a Shuffle, or None", fix)
        most = MOST_BATCH // 2 // sealed_size(m.layout.size)
        if self.shuffle is not None and self.shuffle.batch > most:
            raise InvalidArgument("batch", self.shuffle.batch, f"at most {most} reports of this size", f"batch={most}")

    def _check_labels(self) -> None:
        domain = getattr(self.mechanism, "domain", getattr(self.mechanism, "candidates", None))
        if isinstance(domain, tuple):
            _labels("mechanism", domain)
        if self.candidates is None:
            return
        # Local hashing that counts its candidates hashes them as they are: names of its numbers would be other values.
        if isinstance(domain, tuple) or (domain is not None and isinstance(self.mechanism, LocalHashing)):
            raise InvalidArgument("candidates", "given", "None: the mechanism lists its values", "candidates=None")
        several = isinstance(self.mechanism, MeanVector)
        if hasattr(self.mechanism, "low") and (not several or isinstance(self.candidates, PublicFile)):
            expected = "a list of names" if several else "None: the task asks for a number"
            raise InvalidArgument("candidates", "given", expected, "candidates=None")
        if isinstance(self.candidates, PublicFile):
            return
        if isinstance(self.candidates, (str, bytes)) or not hasattr(self.candidates, "__iter__"):
            raise InvalidType(
                "candidates", self.candidates, "a list of labels or a PublicFile", "candidates=['a', 'b']"
            )
        listed = _labels("candidates", self.candidates)
        wanted = len(self.mechanism.low) if several else domain  # type: ignore[attr-defined]
        if isinstance(wanted, int) and len(listed) != wanted:
            raise InvalidArgument("candidates", f"{len(listed)} labels", f"one for each of the {wanted} values")
        object.__setattr__(self, "candidates", listed)

    def named(self, content: bytes | None = None) -> tuple[Any, ...] | None:
        """Return the candidates, from the content of their file if the task names one; None if there are none."""
        if not isinstance(self.candidates, PublicFile):
            listed: tuple[Any, ...] | None = self.candidates
            return listed
        if content is None:
            raise InvalidArgument("content", None, f"the content of the task's file {self.candidates.name!r}")
        labels, domain = self.candidates.labels(content), getattr(self.mechanism, "domain", None)
        if isinstance(domain, int) and len(labels) != domain:
            raise FormatError(f"{self.candidates.name!r} has {len(labels)} labels for {domain} values")
        return labels

    @property
    def epsilon(self) -> float:
        """The cost of one report."""
        return self.mechanism.epsilon

    @cached_property
    def coins(self) -> dict[str, str]:
        """The thresholds of the device's coins: sixteen base-256 digits each, rounded towards privacy."""
        return thresholds(self.mechanism)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return hashlib.sha256(self.to_json().encode("utf-8")).hexdigest()

    def open_at(self, when: datetime) -> bool:
        """Return whether the task takes reports at a time."""
        # Not `strftime`, which writes the year 203 with three digits.
        return bool(self.opens <= f"{when.astimezone(UTC).isoformat()[:19]}Z" < self.closes)

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain data."""
        listed = self.candidates
        if isinstance(listed, PublicFile):
            listed = {"file": listed.name, "sha256": listed.sha256}
        return {
            "format": _FORMAT, "version": _VERSION, "client": CLIENT, "mechanism": self.mechanism.to_dict(),
            "coins": self.coins, "candidates": list(listed) if isinstance(listed, tuple) else listed,
            "epsilon": str(self.epsilon.exact), "per_day": str(self.per_day.exact),  # type: ignore[attr-defined]
            **{name: getattr(self, name) for name in _AS_THEY_ARE},
            **({} if self.shuffle is None else {"shuffle": self.shuffle.to_dict()}),
        }  # fmt: skip

    def to_json(self) -> str:
        """Return the canonical JSON, whose SHA-256 is the digest."""
        return binary.canonical(self.to_dict()).decode("utf-8")

    @classmethod
    def from_json(cls, text: str | bytes) -> Task:
        """Read a task; refuse JSON that is not canonical, or coins of another mechanism."""
        if not isinstance(text, (str, bytes)):
            raise InvalidType("text", type(text).__name__, "text", "text=task.to_json()")
        if len(text) > _LARGEST_TASK:
            raise FormatError(f"not a task of Discreet: longer than {_LARGEST_TASK} bytes")
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError):
            raise FormatError("not a task of Discreet: it is not JSON") from None
        if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
            raise FormatError(f"not a task of Discreet: the field 'format' must be {_FORMAT!r}")
        refuse_later("the task", facts, _VERSION, "version")
        for field, known in (("version", _VERSION), ("client", CLIENT)):
            if (found := facts.get(field)) != known or type(found) is not int:
                more = "; upgrade discreet" if type(found) is int and found > known else ""
                raise FormatError(f"a task of {field} {found!r}: this library knows {field} {known}{more}")
        try:
            task = cls(
                mechanism_from_dict(facts["mechanism"]),
                per_day=written_amount(facts["per_day"]),  # type: ignore[arg-type]
                candidates=_read_candidates(facts["candidates"]),
                shuffle=Shuffle.from_dict(facts.get("shuffle")),
                **{name: facts[name] for name in _AS_THEY_ARE},
            )
            same = task.to_json() == (text if isinstance(text, str) else text.decode("utf-8"))
        except KeyError as error:
            raise FormatError(f"a task damaged: the field {error} is missing") from None
        except (DiscreetError, TypeError, ValueError, ArithmeticError) as error:
            raise FormatError(f"a task damaged: {error}") from None
        if not same:
            raise FormatError(f"a task damaged: {_odd_field(facts, task.to_dict())}")
        return task

    def __repr__(self) -> str:
        kind, epsilon = type(self.mechanism).__name__, float(self.epsilon)
        return f"<task {self.digest[:12]}: {self.name!r}, {kind}, epsilon {epsilon:g}>"


def thresholds(mechanism: Mechanism) -> dict[str, str]:
    """Return every probability that a device needs, as sixteen base-256 digits in hexadecimal; eight if stored.

    A device computes no exponential. It reads a uniform U digit by digit and compares it with T/256^16: the first
    different digit decides, and a full tie is a no. So heads have probability exactly T/256^16. A probability of
    telling the truth is rounded down, one of hiding it up; both bring the reports of two values closer together.
    """
    if isinstance(mechanism, FragmentPuzzle):
        expected = "one that a single device can answer: a frequency oracle, a sketch, numbers or prefix extension"
        raise InvalidArgument("mechanism", mechanism.NAME, expected, "mechanism=plan(...).best.make(domain)")
    return {name: f"{coin.threshold:0{2 * coin.digits}x}" for name, coin in mechanism.randomiser.coins.items()}


def _odd_field(facts: dict[str, Any], own: dict[str, Any]) -> str:
    for field in sorted(facts.keys() | own.keys()):
        if field not in own:
            return f"the field {field!r} is not known"
        if facts.get(field) != own[field]:
            return f"{field} must be {json.dumps(own[field], ensure_ascii=False)[:200]}"
    return "it is not in canonical form: sorted keys, no blanks"


def _read_candidates(listed: Any) -> Any:
    if isinstance(listed, dict):
        if set(listed) != {"file", "sha256"}:
            raise FormatError("candidates must be a list, null, or a file with its sha256")
        return PublicFile(listed["file"], listed["sha256"])
    return None if listed is None else tuple(listed)


def _labels(name: str, labels: Any) -> tuple[Any, ...]:
    """Check labels: different ones, texts in NFC form or whole numbers that every language can hold."""
    listed = tuple(labels)
    for label in listed:
        if isinstance(label, str):
            if any("\ud800" <= character <= "\udfff" for character in label):  # a lone surrogate
                raise InvalidArgument(name, label, "made of labels that UTF-8 can write")
            if unicodedata.normalize("NFC", label) != label:
                fix = "[unicodedata.normalize('NFC', x) for x in labels]"
                raise InvalidArgument(name, label, "made of labels in NFC form", fix)
        elif isinstance(label, bool) or not isinstance(label, int) or abs(label) >= 2**53:
            raise InvalidType(name, label, "made of texts, or whole numbers below 2**53", "labels as text")
    if len(set(listed)) < max(len(listed), 2):
        raise InvalidArgument(name, f"{len(listed)} labels", "a list of at least two labels, all different")
    return listed


def _name(what: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > _LONGEST_NAME:
        expected = f"a line of text, at most {_LONGEST_NAME} characters"
        raise InvalidArgument(what, value, expected, f"{what}='favourite colour'")


def _time(name: str, value: object) -> str:
    """Read a time in UTC and return it as text, which sorts like the times."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).strftime(_TIME)
    try:
        if isinstance(value, str) and datetime.strptime(value, _TIME).strftime(_TIME) == value:
            return value
    except ValueError:
        pass
    raise InvalidArgument(name, value, "a time in UTC by whole seconds", f"{name}='2026-11-16T00:00:00Z'")


def is_digest(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and set(text) <= set("0123456789abcdef")
