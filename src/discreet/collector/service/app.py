"""The application that granian calls for every request (RSGI). It reads, checks, and waits for the commit.

A 200 answer to a post means that its reports are on the disk. Only the reports of a request are kept: no address, no
header, no time.
"""

import asyncio
import json
import logging
import multiprocessing
import os
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from hmac import compare_digest
from time import monotonic, time
from typing import Any

from discreet.collector.client_pages import served
from discreet.collector.service import metrics, operator
from discreet.collector.service.committer import Committer
from discreet.collector.service.settings import Bucket, Settings, sealing_keys
from discreet.collector.stores.base import Held, Outcome, Post, Store, find_task
from discreet.errors import DataSourceError, DiscreetError, FormatError
from discreet.local.tasks import INNER, MOST_BATCH, batch_code, sealed_size, split_frame, unseal

log = logging.getLogger("discreet.collector")
# Reports need no login, so a page of any origin may send them.
_OPEN = ("access-control-allow-origin", "*")
_JSON = [("content-type", "application/json"), ("cache-control", "no-store"), _OPEN]
TAKEN = [("content-type", "application/json"), _OPEN]
_PREFLIGHT = [
    _OPEN,
    ("access-control-allow-methods", "GET, POST"),
    ("access-control-allow-headers", "content-type"),
    ("access-control-max-age", "86400"),
]
_TASKS = "/v1/tasks/"
#: Seconds between two checks for new tasks.
_LOOK = 0.5
_AGAIN, _DONE = b'{"counted":0,"known":true}', b'{"taken":true}'
#: The head of a batch: version, name, reports that the shuffler deleted so far, code.
_NAME, _LOST, _CODE = 17, 25, 57
BATCH, RECEIPT = b"\x10", b"taken"
#: Bodies up to this size are read at once; those up to so many times the limit to their end, as many clients see no
#: answer before they have sent everything.
_SMALL, _DRAINED = 1 << 12, 4
#: Status, reason, text, headers.
Refusal = tuple[Any, ...]
_CLOSED: Refusal = (410, "closed", "this task is closed; no more reports are taken")
_BUSY: Refusal = (
    503, "busy", "more reports wait than can be written; send the same frame again later", ("retry-after", "1"),
)  # fmt: skip
# The error may name hosts and users: only the log shows it.
UNWRITTEN: Refusal = (
    503, "store", "the store takes no reports now; send the same frame again later", ("retry-after", "5"),
)  # fmt: skip


class Entry:
    """A task, with the values that every request needs."""

    def __init__(self, held: Held, rate: float | None) -> None:
        task = held.task
        self.held, self.digest, self.size = held, task.digest, task.mechanism.layout.size
        self.opens, self.closes = (datetime.fromisoformat(text).timestamp() for text in (task.opens, task.closes))
        self.period = task.period
        self.bucket = None if rate is None else Bucket(rate)
        self.public = task.to_json().encode("utf-8")
        self.shuffle = task.shuffle
        #: The shuffler's private key, once it is needed.
        self.key: Any = None


class App:
    """The application; one object per process, which opens its store when it starts."""

    #: True for a shuffler.
    mixes = False

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.numbers = metrics.Numbers()
        self._paths: dict[str, Entry] = {}
        self._looked = 0.0
        self._static: dict[str, tuple[str, bytes]] = {}
        self._reading: dict[asyncio.Task[Any], float] = {}
        #: Bytes of incomplete bodies.
        self._arriving = 0
        self._listens = False
        # Estimates may be slow; checks for tasks must not wait for them.
        self._pool, self._looking = ThreadPoolExecutor(1, "reader"), ThreadPoolExecutor(1, "looker")
        self._opening = ThreadPoolExecutor(1, "opener")
        self._token = b"" if self.mixes else settings.token().encode("ascii")

    # ---- the life of a process

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        end_with_parent()
        try:
            self.store: Store = self.opened()
        except DiscreetError as error:  # the disk became full since it was checked
            log.error("%s", error)
            raise SystemExit(2) from None
        most = self.settings.most_waiting
        self.committer = Committer(self.store, loop, most_waiting=most, checks=not self.mixes)
        self._learn()
        if self.settings.simulated is not None:
            self._static = served(find_task(self.store, self.settings.simulated).task)
        self.committer.start()
        self._loop = loop
        loop.call_soon_threadsafe(self._watch)

    def opened(self) -> Store:
        return self.settings.open(serving=True)

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.committer.stop()
        self.store.shut()

    def _learn(self) -> None:
        """Read the tasks."""
        found: dict[str, Entry] = {}
        old = self._paths
        for digest, one in self.store.tasks().items():
            entry = old.get(f"{_TASKS}{digest}/reports")
            if entry is None or entry.held != one:
                entry = Entry(one, self.settings.rate)
            found[f"{_TASKS}{digest}/reports"] = found[f"{_TASKS}{digest}"] = entry
            if entry.shuffle is not None:
                found[f"{_TASKS}{digest}/batches"] = entry
        # Replace the dict at once: no request may find a task missing.
        self._paths, self._looked = found, monotonic()

    async def _entry(self, path: str) -> Entry | None:
        """Return the task of a path, with changes made a moment ago."""
        if monotonic() - self._looked > _LOOK:
            self._looked = monotonic()
            try:
                await asyncio.get_running_loop().run_in_executor(self._looking, self._learn)
            except DiscreetError as error:
                log.warning("cannot read the tasks: %s", error)
        return self._paths.get(path)

    # ---- requests

    async def __rsgi__(self, scope: Any, proto: Any) -> None:
        """Answer one request."""
        if scope.proto != "http":
            proto.close(404)
            return
        path, method = scope.path, scope.method
        if method == "POST" and path.endswith(("/reports", "/batches")):
            await self._post(path, scope, proto)
        elif method == "OPTIONS" and path.startswith(_TASKS):
            proto.response_empty(204, _PREFLIGHT)
        elif method not in ("GET", "HEAD"):
            allowed = "POST, OPTIONS" if path.endswith(("/reports", "/batches")) else "GET"
            refuse(proto, 405, "method", f"{method} is not answered here; use {allowed}", ("allow", allowed))
        else:
            await self._get(path, scope, proto)

    async def _post(self, path: str, scope: Any, proto: Any) -> None:
        entry = self._paths.get(path)
        if entry is None or monotonic() - self._looked > _LOOK:  # the operator may have closed it
            entry = await self._entry(path)
        if entry is None:
            self.numbers.refused["", "task"] += 1
            mixed = path.endswith("/batches") and path.removesuffix("/batches") in self._paths
            other = "this task has no shuffler; devices send to /reports"
            refuse(proto, 404, "task", other if mixed else "there is no task with this digest")
            return
        now, batch = time(), path.endswith("/batches")
        # What came to the shuffler in time may wait there for a batch.
        over = entry.held.closed or now >= entry.closes + (entry.shuffle.longest_wait if batch else 0)
        if over and not batch:
            self._refuse_post(entry, proto, *_CLOSED)
        elif now < entry.opens and not over:
            self._refuse_post(entry, proto, 403, "early", f"this task opens at {entry.held.task.opens}")
        elif self._full:
            self._refuse_post(entry, proto, *_BUSY)
        elif batch:
            await self._take_batch(entry, now, scope, proto, over=over)
        elif entry.shuffle is not None and not self.mixes:
            text = "this task takes reports from its shuffler only; send sealed frames there"
            self._refuse_post(entry, proto, 403, "shuffled", text)
        else:
            await self._take(entry, now, scope, proto)

    async def _take(self, entry: Entry, now: float, scope: Any, proto: Any) -> None:
        """Read a frame, and answer when it is written."""
        data = await self._body(scope, proto)
        if isinstance(data, tuple):
            self._refuse_post(entry, proto, *data)
            return
        try:
            key, n, reports = self._split(entry, data)
        except FormatError as error:
            self._refuse_post(entry, proto, 400, error.reason, str(error))
            return
        if entry.bucket is not None and not entry.bucket.take(n):
            text = "more reports per second than this task takes; send the same frame again later"
            self._refuse_post(entry, proto, 429, "rate", text, ("retry-after", "1"))
            return
        # A shuffler keeps no time. A frame that came again, in any batch, would mark its device: it forgets none.
        period = 0 if self.mixes else int((now - entry.opens) // entry.period)
        post = Post(entry.digest, period, key, n, reports, for_ever=self.mixes)
        (outcome,) = await self.committer.put(entry.held, post)
        if outcome is Outcome.NEW:
            self.numbers.took(entry.digest, n)
            proto.response_bytes(200, TAKEN, _DONE if self.mixes else b'{"counted":%d}' % n)
        elif outcome is Outcome.AGAIN:
            self.numbers.again[entry.digest] += 1
            proto.response_bytes(200, TAKEN, _DONE if self.mixes else _AGAIN)
        elif outcome is Outcome.OTHER:
            self._refuse_post(entry, proto, 409, "key", "this key was used for other reports; a key is for one frame")
        elif isinstance(outcome, FormatError):
            self._refuse_post(entry, proto, 400, outcome.reason, str(outcome))
        else:
            self._refuse_post(entry, proto, *UNWRITTEN)

    def _split(self, entry: Entry, data: bytes) -> tuple[bytes, int, bytes]:
        """Return key, number and bytes of the reports of a frame."""
        return split_frame(entry.size, data)

    async def _take_batch(self, entry: Entry, now: float, scope: Any, proto: Any, *, over: bool) -> None:
        """Open the frames of a shuffler's batch, write all of them at once, and answer the same for any content.

        A batch has a name that is never forgotten, so it is taken once. A frame that cannot be opened, or holds no
        possible report, is refused by itself: its device must not stop the others. If the task is ``over``, only the
        number of deleted reports is taken.
        """
        data = await self._body(scope, proto, MOST_BATCH + _CODE)
        if isinstance(data, tuple):
            self._refuse_post(entry, proto, *data)
            return
        period = int((min(now, entry.closes - 1) - entry.opens) // entry.period)
        loop = asyncio.get_running_loop()
        try:
            opened = await loop.run_in_executor(self._opening, self._opened, entry, period, data, over)
        except FormatError as error:
            self._refuse_post(entry, proto, 400, error.reason, str(error))
            return
        except DiscreetError as error:
            log.error("a batch of task %s waits: %s", entry.digest[:12], error)
            self._refuse_post(entry, proto, *UNWRITTEN)
            return
        if opened is None:
            self._refuse_post(entry, proto, *_CLOSED)
            return
        posts, bad, receipt = opened
        outcomes = await self.committer.put(entry.held, *posts) if posts else []
        if any(isinstance(one, DiscreetError) and not isinstance(one, FormatError) for one in outcomes):
            self._refuse_post(entry, proto, *UNWRITTEN)
            return
        found = Counter(outcomes[1:])
        self.numbers.frames[entry.digest] += found[Outcome.NEW]
        self.numbers.reports[entry.digest] += found[Outcome.NEW]
        self.numbers.again[entry.digest] += found[Outcome.AGAIN]
        odd = sum(isinstance(one, FormatError) for one in outcomes[1:])
        for reason, n in (("seal", bad), ("report", odd), ("key", found[Outcome.OTHER])):
            if n:
                self.numbers.refused[entry.digest, reason] += n
                self.committer.refused[entry.digest, reason] += n
        proto.response_bytes(200, TAKEN, taken(receipt))

    def _opened(self, entry: Entry, period: int, data: bytes, over: bool) -> tuple[list[Post], int, bytes] | None:
        """Return the post of a batch's name and those of its frames, how many could not be opened, and a receipt.

        None if the task is over, unless the batch was taken before.
        """
        size, digest = sealed_size(entry.size), entry.digest
        head, code, content = data[:_LOST], data[_LOST:_CODE], data[_CODE:]
        if head[:1] != BATCH or len(code) < _CODE - _LOST or len(content) % size:
            raise FormatError("a batch cut short, or of another version", reason="length")
        own = sealing_keys(self.settings.data).get(entry.shuffle.collector)
        if own is None:
            if over:
                return None  # the key is removed after the end, and then nothing can be checked
            raise DataSourceError(f"data: the key {entry.shuffle.collector} of this task is not in the folder")
        if not compare_digest(code, batch_code(own, entry.shuffle.shuffler, digest, head + content)):
            raise FormatError("a batch that the shuffler of the task did not send", reason="code")
        receipt = batch_code(own, entry.shuffle.shuffler, digest, RECEIPT + head)
        if lost := int.from_bytes(head[_NAME:], "little"):
            self.store.note_lost(digest, lost)
        if content and self.store.knows(digest, head[1:_NAME]):
            return [], 0, receipt  # also after the end, or the shuffler would report it as lost
        if over:
            return None
        if not content:
            return [], 0, receipt
        if len(content) < size * entry.shuffle.batch:
            raise FormatError(f"a batch with less than its {entry.shuffle.batch:,} frames", reason="small")
        posts, bad = [Post(digest, period, head[1:_NAME], 0, b"", for_ever=True)], 0
        for start in range(0, len(content), size):
            frame = unseal(own, INNER, digest, content[start : start + size])
            try:
                key, n, reports = split_frame(entry.size, frame or b"")
                posts.append(Post(digest, period, key, n, reports))
            except FormatError:
                bad += 1
        return posts, bad, receipt

    @property
    def _full(self) -> bool:
        """True if no more requests fit into memory."""
        return self.committer.waiting_bytes + self._arriving >= self.settings.most_waiting

    async def _body(self, scope: Any, proto: Any, most: int = 0) -> bytes | Refusal:
        """Read the body of a request, or return a refusal if one body, or all together, are too large."""
        most = most or self.settings.most_body
        length = scope.headers.get("content-length")
        large = (413, "large", f"a frame must have at most {most:,} bytes; send several")
        if length is not None and (not length.isdecimal() or int(length) > _DRAINED * most):
            return large
        kept = most if length is None or int(length) <= most else 0
        parts: list[bytes] = []
        total, read, reader = 0, 0, asyncio.current_task()
        assert reader is not None
        self._reading[reader] = monotonic()
        try:
            if length is not None and int(length) <= min(_SMALL, kept):
                total = int(length)
                self._arriving += total
                return bytes(await proto())
            async for part in proto:
                read += len(part)
                if read > _DRAINED * most:
                    return large
                if read <= kept:
                    total += len(part)
                    self._arriving += len(part)
                    if self._full:
                        return _BUSY
                    parts.append(bytes(part))
            return large if read > kept else b"".join(parts)
        except asyncio.CancelledError:
            if reader.uncancel():
                raise
            told = f"the frame did not arrive within {self.settings.patience:g} seconds"
            return large if read > kept else (408, "slow", told)
        except RuntimeError:  # granian: the connection went away, or its framing is broken
            return (400, "cut", "the request ended before its body did")
        finally:
            self._arriving -= total
            self._reading.pop(reader, None)

    def _watch(self) -> None:
        """Cancel requests whose bodies are late. One check of all is cheaper than a timer for each."""
        self._listens = self._listens or drop_slow_readers(self.settings.patience)
        late = monotonic() - self.settings.patience
        for reader in [reader for reader, since in self._reading.items() if since < late]:
            del self._reading[reader]
            reader.cancel()
        self._loop.call_later(self.settings.patience / 4, self._watch)

    def _refuse_post(
        self, entry: Entry, proto: Any, status: int, reason: str, text: str, *headers: tuple[str, str]
    ) -> None:
        self.numbers.refused[entry.digest, reason] += 1
        self.committer.refused[entry.digest, reason] += 1
        refuse(proto, status, reason, text, *headers)

    async def _get(self, path: str, scope: Any, proto: Any) -> None:
        if path == "/health":
            proto.response_bytes(200, _JSON, b'{"alive":true}')
        elif path == "/ready":
            ready = self.committer.ready and not self._full
            proto.response_bytes(200 if ready else 503, _JSON, b'{"ready":true}' if ready else b'{"ready":false}')
        elif path == "/metrics":
            head = [("content-type", "text/plain; version=0.0.4"), ("cache-control", "no-store")]
            proto.response_str(200, head, self.numbers.text(self.committer))
        elif path in self._static:
            kind, content = self._static[path]
            proto.response_bytes(200, [("content-type", kind), ("cache-control", "no-store")], content)
        elif operator.asks(path):
            await self._operator(path, scope, proto)
        elif (entry := self._paths.get(path) or await self._entry(path)) is None:
            refuse(proto, 404, "path", "there is nothing here; tasks are at /v1/tasks/<digest>")
        elif path.endswith(("/reports", "/batches")):
            refuse(proto, 405, "method", "GET is not answered here; use POST", ("allow", "POST, OPTIONS"))
        else:
            proto.response_bytes(200, [*_JSON[:1], _OPEN, ("etag", f'"{entry.digest}"')], entry.public)

    async def _operator(self, path: str, scope: Any, proto: Any) -> None:
        """Answer the operator, who must have the token."""
        given = operator.token(scope.headers.get("authorization"))
        if not compare_digest(given, self._token):
            asked = ("www-authenticate", 'Basic realm="collector"')
            refuse(proto, 401, "token", "this needs the operator's token", asked)
            return
        loop = asyncio.get_running_loop()
        asked_for = self.store, self.committer, path, scope.query_string
        status, kind, body = await loop.run_in_executor(self._pool, operator.answer, *asked_for)
        # No header for other origins: pages on devices must not read the operator's answers.
        proto.response_bytes(status, [("content-type", kind), ("cache-control", "no-store")], body)


def taken(receipt: bytes) -> bytes:
    """Return the answer to a batch."""
    return b'{"taken":"%s"}' % receipt.hex().encode("ascii")


def refuse(proto: Any, status: int, reason: str, text: str, *headers: tuple[str, str]) -> None:
    body = json.dumps({"error": text, "reason": reason}, ensure_ascii=False).encode("utf-8")
    proto.response_bytes(status, [*_JSON, *headers], body)


def end_with_parent() -> None:
    """End this process when its parent is gone.

    Otherwise a worker whose parent was killed keeps the store locked against the next collector. It may end at once:
    what it acknowledged is on the disk.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    if parent is not None:
        threading.Thread(target=wait, name="parent", daemon=True).start()


def drop_slow_readers(seconds: float) -> bool:
    """Have the kernel close connections whose peer reads no bytes for so long; False if nothing listens yet.

    granian would wait forever. Connections inherit the setting from the listening socket, which granian does not
    expose, so it is searched among the files of this process. Only Linux has the setting.
    """
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return True
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # not a socket, or closed meanwhile
            # Not a copy: closing a copy of an SQLite file would drop its locks.
            found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=int(name))
            try:
                if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * seconds))
                    return True
            finally:
                found.detach()
    return False
