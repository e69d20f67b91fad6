"""The shuffler: takes sealed frames from devices, mixes them in batches, and forwards them to a collector.

It is the same application as the collector, with another store. It can open the outer layer of a frame, not the inner
one. It forwards a whole batch in one request, without addresses, times or order. Its answers are the same whatever a
frame holds.
"""

import asyncio
import logging
import threading
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from discreet.collector.service import metrics
from discreet.collector.service.app import BATCH, RECEIPT, App, Entry, refuse, taken
from discreet.collector.service.settings import Bucket, bind_key, sealing_keys
from discreet.collector.stores.base import LOST
from discreet.collector.stores.batches import BatchStore
from discreet.errors import DiscreetError, FormatError
from discreet.local import Task
from discreet.local.tasks import LAYER, OUTER, asked, batch_code, is_digest, sealed_size, unseal

log = logging.getLogger("discreet.collector")
#: Seconds between two looks for batches, the longest pause after a failure, and seconds for a batch to be taken.
_LOOK, _PAUSE, _PATIENCE = 0.5, 60.0, 300.0
#: Questions per second to the collector for tasks that are not known, and seconds for an answer.
_ASKS, _ANSWER = 10.0, 10.0


class StillAsking(Exception):
    """The collector has not said yet whether it has a task."""


class Shuffler(App):
    """The application of a shuffler."""

    mixes = True
    store: BatchStore

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.numbers = metrics.Numbers("shuffler")
        self._asks = Bucket(_ASKS)
        self._fetching: dict[str, asyncio.Future[bool]] = {}
        self._ends = threading.Event()
        self._told: dict[str, int] = {}
        super().__rsgi_init__(loop)
        threading.Thread(target=self._forward, name="forwarder", daemon=True).start()

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ends.set()
        super().__rsgi_del__(loop)

    # ---- devices

    async def _entry(self, path: str) -> Entry | None:
        """Return the task of a path; ask the collector for one that is not known yet."""
        found = await super()._entry(path)
        digest = path.removeprefix("/v1/tasks/").partition("/")[0]
        if found is not None or not is_digest(digest):
            return found
        if digest not in self._fetching:
            if not self._asks.take(1):
                raise StillAsking
            self._fetching[digest] = self._loop.run_in_executor(self._opening, self._fetch, digest)
        try:
            known = await asyncio.shield(self._fetching[digest])
        finally:
            self._fetching.pop(digest, None)
        if not known:
            raise StillAsking
        return self._paths.get(path)

    def _fetch(self, digest: str) -> bool:
        """Take a task from the collector, if it names a key of this shuffler; False if the collector cannot say."""
        status, text = asked(f"{self.settings.to}/v1/tasks/{digest}", None, _ANSWER)[:2]
        if status != 200 or sha256(text).hexdigest() != digest:
            return status == 404 and b'"path"' in text  # else a proxy's answer, after which devices try again
        try:
            task = Task.from_json(text)
            if task.shuffle is None or task.shuffle.shuffler not in sealing_keys(self.settings.data):
                whose = "no shuffler" if task.shuffle is None else "another shuffler"
                log.warning("task %s names %s", digest[:12], whose)
            elif not task.shuffle.usable(digest):
                log.warning("task %s names a key that seals nothing", digest[:12])
            else:
                bind_key(self.settings.data, task.shuffle.shuffler, self.store.born)
                self.store.create(task)
                self._learn()
        except DiscreetError as error:
            log.warning("task %s: %s", digest[:12], error)
            return isinstance(error, FormatError)  # else a disk that fails: devices try again
        return True

    async def __rsgi__(self, scope: Any, proto: Any) -> None:
        """Answer one request."""
        try:
            await super().__rsgi__(scope, proto)
        except StillAsking:
            text = "the collector does not answer; send the same frame again later"
            refuse(proto, 503, "collector", text, ("retry-after", "5"))

    def _split(self, entry: Entry, data: bytes) -> tuple[bytes, int, bytes]:
        """Remove the outer layer of a frame; the key is a digest of the rest."""
        whole = sealed_size(entry.size) + LAYER
        if len(data) != whole:
            raise FormatError(f"a sealed frame of this task has {whole} bytes, not {len(data)}", reason="length")
        entry.key = entry.key or sealing_keys(self.settings.data).get(entry.shuffle.shuffler)
        inner = None if entry.key is None else unseal(entry.key, OUTER, entry.digest, data)
        if inner is None:
            raise FormatError("a frame that is not sealed to the shuffler of its task", reason="seal")
        return sha256(inner).digest()[:16], 1, inner

    async def _take_batch(self, entry: Entry, now: float, scope: Any, proto: Any, *, over: bool) -> None:
        refuse(proto, 404, "path", "a shuffler takes single frames; there are no batches here")

    async def _operator(self, path: str, scope: Any, proto: Any) -> None:
        refuse(proto, 404, "path", "there is nothing here; tasks are at /v1/tasks/<digest>")

    # ---- the collector

    def _forward(self) -> None:
        """Bring batches to the collector, and what was deleted; try again after ever longer pauses."""
        pause = _LOOK
        while not self._ends.wait(pause):
            try:
                done = self._round()
            except (DiscreetError, OSError, ValueError) as error:  # a thread that ended would keep the reports for ever
                log.warning("forwarding failed: %s", error)
                done = False
            pause = _LOOK if done else min(2 * max(pause, 1.0), _PAUSE)

    def _round(self) -> bool:
        """Try to deliver all that waits; False if some of it could not be."""
        by_number = {held.number: held for held in self.store.tasks().values()}
        done, batches = True, self.store.batches()
        self.numbers.waiting_batches = len(batches)
        for name, number in batches:
            task, content = by_number[number].task, self.store.content(name)
            status = self._deliver(task, name, content)
            if status == 200:
                self.store.delivered(self.committer.run, name)
                self.numbers.batches[task.digest] += 1
            elif status == 410:
                n = len(content) // sealed_size(task.mechanism.layout.size)
                log.error("task %s is closed: %d reports deleted", task.digest[:12], n)
                self.store.close_task(task.digest)
                self.store.delivered(self.committer.run, name, lost=n)
            else:
                done = False
        for held in by_number.values():
            digest = held.task.digest
            lost = self.numbers.lost[digest] = self.store.refused(digest).get(LOST, 0)
            self.numbers.waiting[digest] = self.store.waiting(held)[0]
            if lost > self._told.get(digest, 0):
                status = self._deliver(held.task, bytes(16), b"")
                if status == 410:
                    self.store.close_task(digest)
                if status in (200, 404, 410):
                    self._told[digest] = lost
                else:
                    done = False
        return done

    def _deliver(self, task: Task, name: bytes, content: bytes) -> int | None:
        """Send one batch with the number of deleted reports; return the status of the answer.

        An answer of 200 counts only with the code that the collector alone can make.
        """
        lost = self.store.refused(task.digest).get(LOST, 0)
        head, other = BATCH + name + lost.to_bytes(8, "little"), task.shuffle.collector
        own = sealing_keys(self.settings.data).get(task.shuffle.shuffler)
        if own is None:
            log.error("a batch of task %s waits: its key is not in the folder", task.digest[:12])
            return None
        code = batch_code(own, other, task.digest, head + content)
        address = f"{self.settings.to}/v1/tasks/{task.digest}/batches"
        status, told, _ = asked(address, head + code + content, _PATIENCE)
        if status == 200 and not compare_digest(told, taken(batch_code(own, other, task.digest, RECEIPT + head))):
            status, told = None, b"an answer that is not the collector's"
        if status == 410 and b'"closed"' not in told:
            status = None  # a proxy's answer: nothing is deleted
        if status != 200:
            why = told[:200].decode("utf-8", "replace")
            said = "no answer of the collector:" if status is None else f"status {status}"
            log.warning("a batch of task %s waits: %s %s", task.digest[:12], said, why)
        return status
