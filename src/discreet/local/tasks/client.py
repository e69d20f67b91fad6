"""The client on a device: it checks a task, pays for the report, and sends it to the collector.

The client treats the server as an adversary. It answers only tasks whose digest the application has pinned, keeps to
the application's limits, and never answers two tasks with the same question. It sends noise only, without clock,
counter or name, and repeats the very same frame.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from discreet import noise
from discreet.core import checks, counted, written_amount
from discreet.errors import BudgetExceeded, DataSourceError, FormatError, InvalidArgument, InvalidType
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.tasks import frames
from discreet.local.tasks.device import Device
from discreet.local.tasks.device_file import DeviceFile
from discreet.local.tasks.task import PublicFile, Task, is_digest
from discreet.local.wire import binary
from discreet.noise.reports import ByteCoins

#: Reports of one frame, reports that may wait, seconds for one request, bytes of a task that is read.
_BATCH, _MOST_WAITING, _PATIENCE, _LARGEST_TASK = 100, 1000, 10, 1 << 24
#: The longest a server may ask a device to stay away, and the bytes of an error that are read.
_LONGEST_PAUSE, _LONGEST_ERROR = 3600, 1000
#: Status codes after which the same frame is sent again later.
_LATER, _GONE = (408, 425, 429), 410
#: Status codes of an address that does not take this task, or not yet: the frame waits for the right one.
_ELSEWHERE = (403, 404)
log = logging.getLogger("discreet.client")


class Sent(NamedTuple):
    """The result of an attempt to send: reports acknowledged, waiting, and refused for good."""

    sent: int
    waiting: int
    refused: int


class Client:
    """Answers pinned tasks of a collector from one device, within limits that the application sets.

    Parameters
    ----------
    path : str or Path
        The device's file: secret, ledger, queue. One program at a time may hold it. Deleting it makes a new device with
        a new lifetime, which no limit covers.
    url : str or dict of str to str
        Address of the collector, or of the shuffler for tasks with one; a dict has one for every question.
    pins : dict of str to str or list of str
        For every question, the digest of the one task that may ask it. A list names the task first, then those it
        replaces.
    report, day, life : float
        The most that one report, all reports of one local day, and all reports ever may cost.
    labels : dict of str to bytes, optional
        For questions whose task names a public file of candidates: the content of the file.
    clock : callable, optional
        Returns the local time, which is never sent; None uses the device's clock.

    Privacy
    -------
    Neighbours: any two histories of values of one device. Each report costs ``task.epsilon`` by the task's mechanism
    and is charged before it is made. Charges add up (basic composition over all tasks and days), so everything a device
    ever sends costs at most ``life``, and the reports of one day at most ``day``. A memoised d-bit flip has d + 1
    responses: its days are charged for every report, the life of the device for the first d + 1. For stored responses
    this holds given which reports of a question use the same one: no ε covers that a value changed (`BitFlip`,
    `Rappor`). Every question has its own stored responses. A refusal depends on counts of reports and on days only,
    never on a value. *When* a device reports is not covered.

    If the clock is set back, the last day continues. A frame without acknowledgement is sent again unchanged until the
    task's ``key_window`` is over; then it is dropped, as the collector might count it twice.

    Examples
    --------
    >>> import tempfile, discreet as dc
    >>> task = dc.local.Task(dc.local.DirectResponse(1, ["red", "green", "blue"]), name="colour", per_day=1, wanted=100,
    ...                      minimum=10, opens="2020-01-01T00:00:00Z", closes="2099-01-01T00:00:00Z")
    >>> folder = tempfile.TemporaryDirectory()
    >>> client = Client(folder.name + "/device", "http://127.0.0.1:1", pins={"colour": task.digest},
    ...                 report=1, day=2, life=30)
    >>> client.use(task)                           # or let the client fetch it
    >>> client.report("colour", "green")
    >>> client.spent_today, client.spent, client.flush()              # no collector: the report waits
    (1.0, 1.0, Sent(sent=0, waiting=1, refused=0))
    >>> client.close(); folder.cleanup()
    """

    def __init__(
        self,
        path: str | Path,
        url: str | Mapping[str, str],
        *,
        pins: Mapping[str, str | Sequence[str]],
        report: Any,
        day: Any,
        life: Any,
        labels: Mapping[str, bytes] | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._pins = _pins(pins)
        self._urls = _addresses(url, self._pins)
        self._report, self._day, self._life = (
            checks.positive(name, value) for name, value in (("report", report), ("day", day), ("life", life))
        )
        self._labels = dict(labels or {})
        self._clock = clock or datetime.now
        self._devices: dict[str, Device] = {}
        self._not_before: dict[str, float] = {}
        #: Held while the file is read and changed, not while the network is waited for.
        self._lock = threading.RLock()
        self._file = DeviceFile(path)
        self._problem = ""

    def use(self, task: Task | str | bytes) -> None:
        """Take a task from another source than the collector; refuse it if it is not pinned or exceeds a limit."""
        text = task.to_json() if isinstance(task, Task) else task
        raw = text.encode("utf-8") if isinstance(text, str) else bytes(text)
        digest = hashlib.sha256(raw).hexdigest()
        question = next((q for q, (pinned, _) in self._pins.items() if pinned == digest), None)
        if question is None:
            raise FormatError(f"the task {digest[:12]}… is not pinned by the application; nothing is sent to it")
        with self._lock:
            self._accept(question, digest, Task.from_json(raw))

    def _accept(self, question: str, digest: str, task: Task) -> Device:
        for what, asked, ceiling in (("report", task.epsilon, self._report), ("day", task.per_day, self._day)):
            if Fraction(asked.exact) > ceiling:  # type: ignore[attr-defined]
                raise BudgetExceeded(
                    f"the task of {question!r} asks for epsilon {float(asked):g} per {what}, the application allows "
                    f"{float(ceiling):g}; nothing is sent to it"
                )
        subject, (_, replaced) = _subject(task), self._pins[question]
        for other, facts in self._file.state.tasks.items():
            same = question == facts["question"] or task.name == facts["name"] or subject == facts["subject"]
            if same and other != digest and other not in replaced:
                raise FormatError(
                    f"the task of {question!r} asks what task {other[:12]}… has asked; nothing is sent to it, unless "
                    f"the application pins it with the one it takes the place of"
                )
        if task.shuffle is not None and not task.shuffle.usable(digest):
            raise FormatError(f"the task of {question!r} names a key that seals nothing; nothing is sent to it")
        device = Device(task, self._labels.get(question))
        if digest not in self._file.state.tasks:
            facts = {"question": question, "name": task.name, "subject": subject, "text": task.to_json(), "reports": 0}
            with self._file.change() as state:
                state.tasks[digest] = facts
        self._devices[question] = device
        return device

    def _device(self, question: str) -> Device:
        if question not in self._pins:
            raise InvalidArgument("question", question, f"pinned: {', '.join(map(repr, self._pins))}")
        if question in self._devices:
            return self._devices[question]
        digest, _ = self._pins[question]
        known = self._file.state.tasks.get(digest)
        text = known["text"] if known else self._fetch(self._urls[question], digest)
        raw = text.encode("utf-8") if isinstance(text, str) else text
        if hashlib.sha256(raw).hexdigest() != digest:
            raise FormatError(f"the collector's task for {question!r} is not the pinned one; nothing is sent to it")
        return self._accept(question, digest, Task.from_json(raw))

    def report(self, question: str, value: Any) -> None:
        """Charge, randomise and queue one answer to a pinned question. `flush` sends the queue.

        The first answer needs the task: it is fetched from the collector, unless `use` was given it. Then it is kept.
        No value causes an error; see docs/wire-format.md. If a limit would be exceeded, `BudgetExceeded` is raised and
        nothing is charged.
        """
        with self._lock:
            self._make(question, value)

    def _make(self, question: str, value: Any) -> None:
        device = self._device(question)
        task, state, now = device.task, self._file.state, self._now()
        if not task.open_at(now.astimezone()):
            raise DataSourceError(f"{question!r} takes reports from {task.opens} until {task.closes} only")
        if self._waiting() >= _MOST_WAITING:
            raise DataSourceError(f"{_MOST_WAITING} reports wait already; send them first")
        made = state.tasks[task.digest]["reports"]
        today = max(now.date().isoformat(), state.day)
        of_day, of_life = self._prices(task, made)
        self._check(question, task, of_day, of_life, new_day=today != state.day)
        body = device.report(value, ByteCoins(), state.memo(question))
        with self._file.change() as changed:
            if today != changed.day:
                changed.day, changed.today = today, {}
            changed.charge(task.digest, of_day, of_life)
            changed.tasks[task.digest]["reports"] = made + 1
            changed.queue.append([task.digest, body.hex()])

    def _now(self) -> datetime:
        """Return the local time. The first and the last year have moments that no other time zone can write."""
        now = self._clock()
        return now.replace(year=min(max(now.year, 2), 9998))

    def _prices(self, task: Task, made: int) -> tuple[Fraction, Fraction]:
        """Return what the next report costs its day and the life of the device. Neither depends on the value.

        A life that paid for d + 1 reports of a memoised d-bit flip has paid for all its responses. Which of them were
        sent depends on the values, so a day pays for all its reports. That also bounds how often their noise counts.
        """
        m, price = task.mechanism, Fraction(task.epsilon.exact)  # type: ignore[attr-defined]
        if isinstance(m, BitFlip) and m.memoised:
            return price, price * (made <= m.bits)
        return price, price

    def _check(self, question: str, task: Task, of_day: Fraction, of_life: Fraction, *, new_day: bool) -> None:
        state = self._file.state
        spent = [Fraction(0)] * 2 if new_day else [state.spent_today(task.digest), state.spent_today()]
        per_day = Fraction(task.per_day.exact)  # type: ignore[attr-defined]
        limits = (
            (per_day, spent[0], of_day, "today by its task; wait for tomorrow"),
            (self._day, spent[1], of_day, "today for all tasks; wait for tomorrow"),
            (self._life, written_amount(state.life), of_life, "for the life of this device; it reports no more"),
        )
        for limit, used, price, where in limits:
            if used + price > limit:
                raise BudgetExceeded(
                    f"{question!r} costs epsilon {float(price):g} per report, and {float(limit - used):g} of "
                    f"{float(limit):g} is left {where}"
                )

    @property
    def spent(self) -> float:
        """The cost of all reports of this device."""
        return float(written_amount(self._file.state.life))

    @property
    def spent_today(self) -> float:
        """The cost of the reports of the last day."""
        return float(self._file.state.spent_today())

    def flush(self) -> Sent:
        """Try to send the queue: once, one request per frame. Frames without acknowledgement stay."""
        sent = refused = 0
        down: set[str] = set()
        with self._lock:
            self._frame()
            entries = [tuple(entry) for entry in self._file.state.frames]
            questions = {digest: facts["question"] for digest, facts in self._file.state.tasks.items()}
        for digest, frame, first, reports in entries:
            # A question that is not pinned any more has no address of its own.
            url = self._urls.get(questions[digest], self._urls[""])
            if not url or url in down or time.monotonic() < self._not_before.get(url, 0.0):
                continue
            # Once the collector may have forgotten the key, sending again could count twice.
            late = self._late(digest, frame, first)
            answer, text = (_GONE, b"") if late else self._ask(url, f"/v1/tasks/{digest}/reports", bytes.fromhex(frame))
            # A redirect is somebody else's answer, such as that of a café's network.
            later = answer is None or 300 <= answer < 400 or answer >= 500 or answer in _LATER
            if answer is None or answer >= 300:
                kept = "kept" if later or answer in _ELSEWHERE else "dropped"
                why = "it was sent first too long ago" if late else f"{url} answers {answer}{_reason(text)}"
                why = why if answer is not None else f"cannot reach {url} ({text.decode('utf-8', 'replace')})"
                self._problem = f"{counted(reports, 'report')} of {questions[digest]!r} {kept}: {why}"
                log.warning("%s", self._problem)
            if later:
                down.add(url)
            if later or answer in _ELSEWHERE:
                continue
            if self._done(frame):
                sent, refused = (
                    (sent + reports, refused) if answer is not None and answer < 300 else (sent, refused + reports)
                )
        return Sent(sent, self._waiting(), refused)

    @property
    def problem(self) -> str:
        """Why reports were last refused or not taken; empty if none were. The log `discreet.client` says so too."""
        return self._problem

    def _waiting(self) -> int:
        return len(self._file.state.queue) + sum(int(entry[3]) for entry in self._file.state.frames)

    def _frame(self) -> None:
        """Put the queue into frames in random order, and save them before anything is sent."""
        if not self._file.state.queue:
            return
        with self._file.change() as state:
            for digest in sorted({task for task, _ in state.queue}):
                asked = Task.from_json(state.tasks[digest]["text"])
                bodies = [bytes.fromhex(body) for task, body in state.queue if task == digest]
                mixed = [bodies[i] for i in noise.permutation(len(bodies))]
                # Sealed frames have equal lengths, and no two reports of a device stay together.
                most = _BATCH if asked.shuffle is None else 1
                for start in range(0, len(mixed), most):
                    part = mixed[start : start + most]
                    frame = frames.write_frame(asked.mechanism, b"".join(part))
                    frame = frame if asked.shuffle is None else asked.shuffle.seal(digest, frame)
                    state.frames.append([digest, frame.hex(), None, len(part)])
            state.queue = []

    def _late(self, digest: str, frame: str, first: float | None) -> bool:
        """Note the first attempt; return whether the collector may have forgotten the key."""
        now = self._now().timestamp()
        if first is not None:
            return abs(now - first) >= Task.from_json(self._file.state.tasks[digest]["text"]).key_window
        with self._lock, self._file.change() as state:
            for entry in state.frames:
                if entry[1] == frame:
                    entry[2] = now
        return False

    def _done(self, frame: str) -> bool:
        """Forget a frame; another thread may have done so."""
        with self._lock:
            left = [entry for entry in self._file.state.frames if entry[1] != frame]
            if len(left) == len(self._file.state.frames):
                return False
            with self._file.change() as state:
                state.frames = left
        return True

    def _fetch(self, url: str, digest: str) -> bytes:
        status, text = self._ask(url, f"/v1/tasks/{digest}", None)
        if status != 200:
            told = {
                None: f"there is no answer ({text.decode('utf-8', 'replace')})",
                404: "it has no such task (status 404)",
            }
            why = told.get(status, f"status {status}")
            raise DataSourceError(
                f"the task {digest[:12]}… is not available from {url}: {why}; a device needs it once before its first "
                "report, so try again later, or ship the task with the application and call client.use(task)"
            )
        return text

    def _ask(self, url: str, path: str, body: bytes | None) -> tuple[int | None, bytes]:
        """Make a request without information on the device; None and the reason if there is no answer."""
        status, text, pause = asked(url + path, body, _PATIENCE)
        if pause.isascii() and pause.isdigit():
            self._not_before[url] = time.monotonic() + min(int(pause[:9]), _LONGEST_PAUSE)
        return status, text

    def close(self) -> None:
        """Release the device's file for other programs."""
        self._file.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        urls = ", ".join(sorted({url for url in self._urls.values() if url}))
        return f"<client of {urls}: epsilon {self.spent:g} of {float(self._life):g} spent>"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Reports go only to the address that the application named."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def asked(address: str, body: bytes | None, patience: float) -> tuple[int | None, bytes, str]:
    """Make a request; return the status, the text, and for how long to stay away. Without answer: None, and why."""
    headers = {"Content-Type": "application/octet-stream", "User-Agent": "discreet"}
    request = urllib.request.Request(address, body, headers)
    try:
        with _OPENER.open(request, timeout=patience) as answer:
            return answer.status, answer.read(_LARGEST_TASK + 1), ""
    except urllib.error.HTTPError as error:
        refusal = error
    except (OSError, ValueError, http.client.HTTPException) as error:  # a ValueError: a redirect to no address
        return None, (str(getattr(error, "reason", "") or error) or type(error).__name__).encode("utf-8", "replace"), ""
    try:
        with refusal:
            return refusal.code, refusal.read(_LONGEST_ERROR), refusal.headers.get("Retry-After", "")
    except (OSError, http.client.HTTPException):  # an answer cut short counts as none
        return None, b"its answer was cut short", ""


def _reason(text: bytes) -> str:
    """Return what a server says in its refusal, as plain text; empty if that is not the answer of a collector."""
    try:
        told = json.loads(text)["error"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return f" ({''.join(c for c in str(told)[:200] if c.isprintable())})"


def _subject(task: Task) -> str:
    """Return a digest of the subject of a task: its list of values, or its name if it lists none."""
    listed: Any = task.candidates
    if isinstance(listed, PublicFile):
        listed = listed.sha256
    if listed is None:
        facts = task.mechanism.to_dict()
        listed = facts.get("domain", facts.get("candidates"))
    if listed is None or isinstance(listed, int):
        listed = ["named", task.name]
    labels = listed if isinstance(listed, str) else sorted(map(str, listed))
    return hashlib.sha256(binary.canonical({"asks": labels})).hexdigest()


def _addresses(url: object, questions: Mapping[str, Any]) -> dict[str, str]:
    """Return the address of every question, and under "" the one of all others."""
    found = {"": "", **url} if isinstance(url, Mapping) else dict.fromkeys(["", *questions], url)
    for question in questions:
        one = found.get(question)
        if not isinstance(one, str) or one.partition("://")[0].lower() not in ("http", "https"):
            raise InvalidType("url", one, "the address of a collector", "url='https://collector.example'")
    return {question: str(one).rstrip("/") for question, one in found.items()}


def _pins(pins: object) -> dict[str, tuple[str, tuple[str, ...]]]:
    fix = "pins={'favourite colour': task.digest}"
    if not isinstance(pins, Mapping) or not pins:
        raise InvalidType("pins", pins, "a dict of questions and digests of tasks", fix)
    found = {}
    for question, pinned in pins.items():
        listed = (pinned,) if isinstance(pinned, str) else tuple(pinned)
        if not isinstance(question, str) or not listed or not all(map(is_digest, listed)):
            raise InvalidArgument("pins", pinned, "a digest of a task, 64 hexadecimal digits, per question", fix)
        found[question] = (listed[0], listed[1:])
    if len({digest for digest, _ in found.values()}) < len(found):
        raise InvalidArgument("pins", "one task twice", "a task of its own for every question", fix)
    return found
