"""The doors of a soak: devices and operator of a collector, the studio, commands on files, Spark."""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import discreet as dc
from collecting import some_task
from discreet.accounts import Account
from discreet.collector import sealing_keys
from discreet.errors import DiscreetError
from discreet.local import Shuffle, Task, write_frame
from soak.world import Notes, Service, children, settings
from studio_runs import COLUMNS, people

with warnings.catch_warnings():  # it asks for its successor
    warnings.simplefilter("ignore")
    import httpx

#: Frames of one task: each holds a value of its own.
MOST = 1 << 16
#: Frames that a shuffler mixes.
BATCH = 25
#: Limits of the accounts of commands, studio and Spark.
LIMIT = {"epsilon": 20, "delta": 1e-6}
_PEOPLE = {
    "id": {"role": "identifier"},
    "age": {"bounds": [18, 90], "kind": "integer", "role": "quasi-identifier"},
    "sex": {"categories": ["f", "m"], "role": "quasi-identifier"},
    "income": {"categories": ["low", "high"], "role": "sensitive"},
}
_PLANE = {name: COLUMNS[name] for name in ("x", "y")}
#: Parameters, outputs and columns of the jobs; the words of an account are added.
JOBS: dict[str, tuple[dict[str, Any], dict[str, str], Any]] = {
    "synopsis": ({"epsilon": 0.5}, {"release": "s.parquet"}, _PLANE),
    "synthesize": ({"epsilon": 0.5, "delta": 1e-9}, {"table": "rows.csv"}, COLUMNS),
    "cluster": ({"epsilon": 0.5, "n_clusters": 3}, {"centers": "c.csv", "release": "s.parquet"}, _PLANE),
    "anonymize": ({"k": 10, "l": 2}, {"release": "safe.csv"}, _PEOPLE),
    "perturb": ({"epsilon": 2.0, "radius": 0.1}, {"release": "noisy.csv"}, _PLANE),
    "mask": ({"method": "swapping"}, {"release": "masked.csv"}, _PEOPLE),
    "sketch": (
        {"epsilon": 2.0, "column": "sex", "domain": ["f", "m"]},
        {"release": "reports.bin", "counts": "counts.bin"},
        None,
    ),
}  # fmt: skip


def table_of(folder: Path) -> Path:
    """Write a table of synthetic people with names, for commands and studio."""
    rows = people(folder / "unnamed.csv").read_text(encoding="utf-8").splitlines()
    place = folder / "people.csv"
    named = [f'"id",{rows[0]}', *(f'"p{number}",{row}' for number, row in enumerate(rows[1:]))]
    place.write_text("\n".join(named) + "\n", encoding="utf-8")
    return place


def tasks_of(disk: Path) -> dict[str, Task]:
    """Return a task that devices answer directly, one that they answer through a shuffler, and one with few values."""
    keys = {name: next(iter(sealing_keys(disk / place, new=True)))
            for name, place in (("collector", "collected"), ("shuffler", "shuffled"))}  # fmt: skip
    mechanism = dc.local.DirectResponse(1, MOST)
    mixed = Shuffle(batch=BATCH, honest=10, longest_wait=86_400, **keys)
    return {
        "direct": some_task(mechanism, name="direct"),
        "sealed": some_task(mechanism, name="sealed", shuffle=mixed),
        "colour": some_task(),
    }


class Link:
    """A service on loopback: requests, and the times at which it answered."""

    def __init__(self, name: str, port: int, notes: Notes) -> None:
        self.name, self.port, self.notes = name, port, notes
        self._away: float | None = None

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes] | None:
        """Send a request; None, and a note, without an answer."""
        since, link = self.notes.now, http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            link.request(method, path, body, headers)
            answer = link.getresponse()
            found = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.notes.error(self.name, f"no answer: {type(error).__name__}: {error}", since=since)
            self.answered(False)
            return None
        finally:
            link.close()
        self.answered(True)
        return found

    def answered(self, well: bool) -> None:
        """Note a long time without an answer when it is over."""
        now = self.notes.now
        if not well:
            self._away = now if self._away is None else self._away
        elif self._away is not None:
            if now - self._away > 20:
                self.notes.note("gap", service=self.name, since=self._away, seconds=now - self._away)
            self._away = None


class Devices:
    """Devices with one report each: where there are as many values, frame i says that value i was held.

    So the counters show, frame by frame, what became of it.
    """

    def __init__(self, task: Task, link: Link) -> None:
        self.task, self.link = task, link
        self.frames: list[bytes] = []
        self.acknowledged: set[int] = set()

    def fresh(self, n: int) -> list[int]:
        """Let more devices have a report."""
        first = len(self.frames)
        for value in range(first, min(first + n, MOST)):
            mechanism, shuffle = self.task.mechanism, self.task.shuffle
            own = value.to_bytes(2, "little") if mechanism.layout.size == 2 else mechanism.encode(["red"])
            frame = write_frame(mechanism, own)
            self.frames.append(frame if shuffle is None else shuffle.seal(self.task.digest, frame))
        return list(range(first, len(self.frames)))

    def unanswered(self) -> list[int]:
        """Return the reports without an answer: devices send them again."""
        return [i for i in range(len(self.frames)) if i not in self.acknowledged]

    def send(self, frames: Iterable[int]) -> bool:
        """Send frames until one is not taken; return whether all were."""
        for frame in frames:
            since = self.link.notes.now
            told = self.link.ask("POST", f"/v1/tasks/{self.task.digest}/reports", self.frames[frame])
            if told is None:
                return False
            if told[0] != 200:
                text = f"status {told[0]}: {told[1].decode(errors='replace')}"
                self.link.notes.error(self.link.name, text, since=since)
                return False
            self.acknowledged.add(frame)
        return True

    def act(self, act: str, draw: random.Random) -> None:
        """Send new reports, old ones once more, or those without an answer."""
        if act == "replay" and self.acknowledged:
            self.send(draw.sample(sorted(self.acknowledged), min(5, len(self.acknowledged))))
        elif act == "unanswered":
            self.send(self.unanswered()[:50])
        else:
            self.send(self.fresh(draw.randint(1, 12)))


class Commands:
    """Commands of the shell, one at a time; the running one can be killed."""

    def __init__(self, notes: Notes, tmp: Path) -> None:
        self.notes, self.tmp = notes, tmp
        self.current: subprocess.Popen[str] | None = None
        self.killed = False

    def run(self, door: str, words: list[Any], *, fine: tuple[int, ...] = (0,), seconds: float = 900) -> int:
        """Run ``discreet``; note an error if it does not end well. Returns its exit code.

        It has long to end, for the machine may have much other work: only what hangs is a fault.
        """
        since, self.killed = self.notes.now, False
        line = [sys.executable, "-m", "discreet", *map(str, words)]
        self.current = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings(self.tmp)
        )
        try:
            out, said = self.current.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.current.kill()
            out, said = self.current.communicate()
            self.notes.error(door, f"{words} took more than {seconds:g} s", since=since)
        code, self.current = self.current.returncode, None
        if self.killed and code == -signal.SIGKILL:
            return code
        if code not in fine:
            self.notes.error(door, f"exit {code}: {said or out}", since=since, words=list(map(str, words)))
        elif "Traceback" in said:
            self.notes.error(door, said, since=since)
        return code

    def kill(self) -> int | None:
        """Kill the running command."""
        now = self.current
        if now is None:
            return None
        self.killed = True
        with suppress(ProcessLookupError):
            now.kill()
        return now.pid


class Operator:
    """Somebody who looks at the collector, copies its store and asks for estimates."""

    def __init__(
        self, link: Link, data: Path, devices: Devices, shown: Devices, commands: Commands, disk: Path
    ) -> None:
        self.link, self.data, self.devices, self.shown = link, data, devices, shown
        self.commands, self.disk = commands, disk
        #: Copies of the store, with what was acknowledged before each.
        self.copies: dict[Path, set[int]] = {}

    def act(self, act: str, draw: random.Random) -> None:
        """Do one of those."""
        digest, notes = self.shown.task.digest, self.link.notes
        if act == "backup":
            known, place = set(self.devices.acknowledged), self.disk / f"copy-{draw.getrandbits(24)}.sqlite"
            if self.commands.run("operator", ["collect", "backup", place, "--data", self.data]) == 0:
                self.copies[place] = known
            return
        if act == "shell":
            if len(self.devices.acknowledged) > 20:
                large = self.devices.task.digest
                self.commands.run("operator", ["collect", "estimate", large, "--data", self.data, "--json"])
            return
        token = (self.data / "operator.token").read_text().strip() if (self.data / "operator.token").exists() else ""
        path = {"metrics": "/metrics", "dashboard": f"/tasks/{digest}", "estimate": f"/v1/tasks/{digest}/estimate",
                "task": f"/v1/tasks/{digest}"}[act]  # fmt: skip
        since = notes.now
        told = self.link.ask("GET", path, Authorization=f"Bearer {token}")
        few = act in ("estimate", "dashboard") and len(self.shown.acknowledged) < 20
        if told is not None and told[0] != 200 and not few:
            notes.error("collector", f"GET {act}: status {told[0]}: {told[1][:300]!r}", since=since)


class Books:
    """Accounts of one door, one after the other: the next is made when one pays no more."""

    def __init__(self, folder: Path, name: str, notes: Notes) -> None:
        self.folder, self.name, self.notes, self.number = folder, name, notes, 0

    def path(self) -> Path | None:
        """Return the account that pays now; None if there was no room for one."""
        place = self.folder / f"{self.name}-{self.number}.account"
        since = self.notes.now
        try:
            if self.number == 0 or not place.exists() or Account(place).remaining < 2:
                place = self.folder / f"{self.name}-{self.number + 1}.account"
                Account.create(place, dataset=f"{self.name} {self.number + 1}", **LIMIT)
                self.number += 1
        except (DiscreetError, OSError) as error:
            self.notes.error(self.name, f"{type(error).__name__}: {error}", since=since)
            return None
        return place


def write_job(kind: str, table: Path, place: Path, account: Path | None, *, pages: bool, history: str = "") -> None:
    """Write a job file with relative outputs."""
    from discreet.jobs import Job

    given, outputs, columns = JOBS[kind]
    given = {**given, **({} if account is None else {"account": str(account)})}
    given |= {"history": history, "on_conflict": "merge"} if history and kind == "anonymize" else {}
    outputs = {**outputs, **({"report": "page.html"} if pages else {})}
    Job(kind, str(table), columns, given, outputs).to_toml(place)


class Files:
    """Releases from files: every job has a folder of its own, and is started again after it was lost."""

    def __init__(self, disk: Path, table: Path, commands: Commands, books: Books) -> None:
        self.folder, self.table, self.commands, self.books = disk / "files", table, commands, books
        self.folder.mkdir()
        #: Whether the last attempt of a job ended well, and how often it was killed.
        self.done: dict[int, bool] = {}
        self.kills: dict[int, int] = {}

    def act(self, act: str, draw: random.Random) -> None:
        """Begin a job, or one that was begun before."""
        if act == "again":
            if self.done:
                lost = [number for number, well in self.done.items() if not well]
                self.attempt(draw.choice(lost or sorted(self.done)))
            return
        account = self.books.path()
        if account is None:
            return
        number = len(self.done) + 1
        place, since = self.folder / str(number), self.books.notes.now
        history = str(self.folder / f"people-{number // 20}.history")
        try:
            place.mkdir(exist_ok=True)
            write_job(act, self.table, place / "job.toml", account, pages=draw.random() < 0.5, history=history)
        except (DiscreetError, OSError) as error:
            self.books.notes.error("files", f"{type(error).__name__}: {error}", since=since)
            return
        self.done[number] = False
        self.attempt(number)

    def attempt(self, number: int) -> None:
        """Run a job."""
        code = self.commands.run("files", ["run", self.folder / str(number) / "job.toml", "--json"])
        self.done[number] = code == 0
        self.kills[number] = self.kills.get(number, 0) + (code < 0)


class Spark:
    """Releases from Spark, by a driver that lives long."""

    def __init__(self, disk: Path, service: Service, books: Books) -> None:
        self.folder, self.service, self.books = disk / "spark", service, books
        self.folder.mkdir()
        self.made = 0

    def act(self, act: str, draw: random.Random) -> None:
        """Ask the driver for a release, and wait for it."""
        account, process, notes = self.books.path(), self.service.process, self.books.notes
        if account is None or process is None or process.stdin is None or process.stdout is None:
            return
        self.made, since = self.made + 1, notes.now
        out = self.folder / f"{self.made}.{act}.parquet"
        try:
            process.stdin.write(json.dumps({"act": act, "out": str(out), "account": str(account)}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except (OSError, ValueError) as error:
            notes.error("spark", f"no answer: {type(error).__name__}: {error}", since=since)
            return
        told = json.loads(line) if line else {"ok": False, "error": "no answer: the driver ended"}
        if told["ok"]:
            notes.done("spark", "released")
        else:
            notes.error("spark", told["error"], since=since)


class Studio:
    """A steward with a browser."""

    def __init__(self, home: Path, port: int, table: Path, jobs: Path, books: Books, notes: Notes) -> None:
        self.home, self.port, self.table, self.jobs, self.books, self.notes = home, port, table, jobs, books, notes
        self.origin = f"http://127.0.0.1:{port}"
        self.client: httpx.Client | None = None
        self.projects: list[str] = []
        self.downloads = 0
        self._link = Link("studio", port, notes)
        jobs.mkdir()

    def started(self, process: subprocess.Popen[str]) -> None:
        """Wait for the address that a new studio prints, and sign in, without holding anybody up."""

        def read() -> None:
            assert process.stdout is not None
            with suppress(OSError, ValueError):
                for line in process.stdout:
                    if found := re.search(r"http://\S+", line):
                        client = httpx.Client(
                            base_url=self.origin, headers={"origin": self.origin}, follow_redirects=True, timeout=60
                        )
                        with suppress(httpx.HTTPError):
                            client.get(found[0])
                            self.client = client

        threading.Thread(target=read, daemon=True).start()

    def ask(self, method: str, path: str, **more: Any) -> Any:
        """Ask for a page; None, and a note, if it is not one."""
        since, client = self.notes.now, self.client
        try:
            if client is None:
                raise httpx.ConnectError("not signed in")
            page = client.request(method, path, **more)
        except httpx.HTTPError as error:
            self.notes.error("studio", f"no answer: {type(error).__name__}: {error}", since=since)
            self._link.answered(False)
            return None
        self._link.answered(True)
        if page.status_code >= 500 or page.status_code in (401, 403):
            self.notes.error("studio", f"{method} {path}: status {page.status_code}", since=since)
            return None
        if page.status_code == 400:
            words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text.partition("<main")[2]))
            self.notes.error("studio", f"refused: {words[:600]}", since=since)
            return None
        return page

    def act(self, act: str, draw: random.Random) -> None:
        """Do what a steward does."""
        if act == "open" or not self.projects:
            self._open(draw)
            return
        project = draw.choice(self.projects[-4:])
        if act == "look":
            where = draw.choice(("", "data", "columns", "goal", "plan", "release", "evidence", "account"))
            self.ask("GET", f"/p/{project}/{where}" if where else "/")
        elif act == "start":
            self._start(project)
        elif act == "forget":
            if len(self.projects) > 4:
                self.projects.remove(oldest := self.projects[0])
                self.ask("POST", f"/p/{oldest}/forget", data={"sure": "yes"})
        else:
            self._run(act, project, draw)

    def _open(self, draw: random.Random) -> None:
        kind = draw.choice(("synopsis", "synthesize", "anonymize", "cluster", "perturb"))
        account, place, since = self.books.path(), self.jobs / f"{draw.getrandbits(32)}.toml", self.notes.now
        if account is None:
            return
        try:
            write_job(kind, self.table, place, account, pages=False)
        except (DiscreetError, OSError) as error:
            self.notes.error("studio", f"{type(error).__name__}: {error}", since=since)
            return
        page = self.ask("POST", "/open", data={"path": str(place)})
        if page is not None and (found := re.search(r"/p/([a-z0-9]{12})", str(page.url))):
            self.projects.append(found[1])
            self._start(found[1])

    def _start(self, project: str) -> None:
        page = self.ask("GET", f"/p/{project}/release")
        if page is None or page.status_code != 200:
            return
        asked = dict(re.findall(r'name="(number|key|attempt)" value="([\w-]+)"', page.text))
        if "key" in asked:
            self.ask("POST", f"/p/{project}/release/start", data=asked)
            self.notes.done("studio", "started")

    def _run(self, act: str, project: str, draw: random.Random) -> None:
        runs = [int(p.name) for p in (self.home / project / "runs").glob("[0-9]*")]
        if not runs:
            return
        address = f"/p/{project}/release/{draw.choice(runs)}"
        if act == "stop":
            self.ask("POST", f"{address}/stop")
            return
        page = self.ask("GET", address)
        if page is None:
            return
        if act == "again" and (found := re.search(r'name="attempt" value="(\d+)"', page.text)):
            self.ask("POST", f"{address}/again", data={"attempt": found[1]})
        elif act == "download":
            for name in set(re.findall(r'/file/([\w%-]+)"', page.text)):
                if self.ask("GET", f"{address}/file/{name}") is not None:
                    self.downloads += 1

    def runs_of(self, service: Service) -> list[int]:
        """Return the processes of runs."""
        pids = [] if service.process is None else children(service.process.pid)
        return [pid for pid in pids if _says(pid, "discreet.studio.runs.child")]


def _says(pid: int, word: str) -> bool:
    try:
        return word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def when(there: Callable[[], Any], seconds: float, stop: threading.Event) -> Any:
    """Wait until something is there, and return it; None if it takes too long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stop.is_set():
        if found := there():
            return found
        time.sleep(0.05)
    return None


def writer_line(disk: Path, logs: Path, number: int, seed: int, pace: float) -> list[str]:
    """Return the command of a program that charges accounts."""
    here = Path(__file__).with_name("writer.py")
    return [sys.executable, str(here), str(disk / "accounts"), str(logs / f"writer-{number}.published"),
            str(seed * 100 + number), str(pace)]  # fmt: skip


def spark_line(table: Path) -> list[str]:
    """Return the command of a Spark driver."""
    return [sys.executable, str(Path(__file__).with_name("spark_driver.py")), str(table)]
