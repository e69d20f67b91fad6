"""Random work through all doors at once, processes killed and a disk filled meanwhile; then every promise is checked.

``make soak MINUTES=60 SEED=1``. All on loopback, with a network, processes and
mounts of its own where the system allows it: nothing outlives this program. Ends with 0 if everything holds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collecting import free_port
from discreet import __version__
from discreet.accounts import Account
from discreet.collector import open_store
from discreet.collector.stores.batches import BatchStore
from soak import checks, doors, world
from soak.chart import chart
from soak.plan import FULL_FOR, SERVICES, Step, digest, plan
from spark_releases import table, write_pieces

#: Programs that charge accounts, and the mean seconds between two charges of one.
WRITERS, PACE = 4, 1.0


class Soak:
    """One soak in a folder of its own."""

    def __init__(self, work: Path, seed: int, minutes: float) -> None:
        self.work, self.seed, self.minutes = work, seed, minutes
        self.steps = plan(seed, minutes)
        self.disk, self.logs, self.tmp = work / "disk", work / "logs", work / "tmp"
        world.mounted(work, world.OWN)
        for folder in (self.logs, self.tmp, work / "tables"):
            folder.mkdir()
        self.small = world.mounted(self.disk, world.DISK)
        (self.disk / "accounts").mkdir()
        self.notes = world.Notes(self.logs / "events.jsonl")
        self.stop, self.guard = threading.Event(), threading.Lock()
        self._prepare()

    def _prepare(self) -> None:
        disk, notes, logs = self.disk, self.notes, self.logs
        rows = doors.table_of(self.work / "tables")
        pieces = write_pieces(table(), self.work / "tables" / "pieces")
        self.tasks = doors.tasks_of(disk)
        store = open_store(disk / "collected")
        for task in self.tasks.values():
            store.create(task)
        store.shut()
        ports = {name: free_port() for name in SERVICES}
        links = {name: doors.Link(name, ports[name], notes) for name in SERVICES}
        self.devices = {name: doors.Devices(task, links["shuffler" if task.shuffle else "collector"])
                        for name, task in self.tasks.items()}  # fmt: skip
        books = {name: doors.Books(disk / "accounts", name, notes) for name in ("files", "studio", "spark")}
        self.commands = doors.Commands(notes, self.tmp)
        asked = doors.Commands(notes, self.tmp)
        self.operator = doors.Operator(
            links["collector"], disk / "collected", self.devices["direct"], self.devices["colour"], asked, disk
        )
        self.files = doors.Files(disk, rows, self.commands, books["files"])
        self.studio = doors.Studio(disk / "studio", ports["studio"], rows, disk / "jobs", books["studio"], notes)
        discreet = [sys.executable, "-u", "-m", "discreet"]
        to = f"http://127.0.0.1:{ports['collector']}"
        lines = {
            "collector": ["collect", "serve", "--data", disk / "collected", "--port", ports["collector"]],
            "shuffler": ["collect", "shuffle", "--to", to, "--data", disk / "shuffled", "--port", ports["shuffler"]],
            "studio": ["studio", "--no-browser", "--folder", disk / "studio", "--port", ports["studio"]],
        }
        self.services = {
            name: world.Service(
                name, [*discreet, *map(str, line)], logs, notes, pipes=name == "studio",
                started=self.studio.started if name == "studio" else None,
            )
            for name, line in lines.items()
        }  # fmt: skip
        for number in range(WRITERS):
            line = doors.writer_line(disk, logs, number, self.seed, PACE)
            self.services[f"writer-{number}"] = world.Service(f"writer-{number}", line, logs, notes)
        self.services["spark"] = world.Service("spark", doors.spark_line(pieces), logs, notes, pipes=True)
        self.spark = doors.Spark(disk, self.services["spark"], books["spark"])
        self.acts: dict[str, Callable[[str, random.Random], None]] = {
            "devices": self._devices, "operator": self.operator.act, "studio": self.studio.act,
            "files": self.files.act, "spark": self.spark.act, "kill": self._kill, "disk": self._full,
        }  # fmt: skip
        self.sampler = world.Sampler(notes, {name: self.services[name] for name in SERVICES})

    # ---- while it runs

    def _devices(self, act: str, draw: random.Random) -> None:
        self.devices[act if act in self.devices else draw.choice(list(self.devices))].act(act, draw)

    def _kill(self, victim: str, draw: random.Random) -> None:
        """Kill a process, when there is one of that kind."""
        delay, service = draw.uniform(0, 2.5), self.services.get(victim)
        if victim == "writer":
            service = self.services[f"writer-{draw.randrange(WRITERS)}"]
        pid: int | None = None
        if victim == "command":
            if doors.when(lambda: self.commands.current, 45, self.stop):
                time.sleep(delay)
                pid = self.commands.kill() or (
                    self.commands.kill() if doors.when(lambda: self.commands.current, 45, self.stop) else None
                )
        elif victim == "run":
            owner = self.services["studio"]
            if doors.when(lambda: self.studio.runs_of(owner), 50, self.stop):
                time.sleep(delay)
                pid = owner.kill(draw, lambda _: self.studio.runs_of(owner))
        elif service is not None:
            pid = service.kill(draw, (lambda pids: pids[:1]) if victim == "studio" else lambda pids: pids)
        if pid is None:
            self.notes.done("kill", f"{victim} was not there")
            return
        self.notes.note("kill", service=victim, pid=pid)

    def _full(self, _: str, draw: random.Random) -> None:
        """Fill the disk for some seconds."""
        if not self.small:
            self.notes.done("disk", "could not be mounted")
            return
        event = self.notes.note("full", until=float("inf"))
        filler = world.fill(self.disk)
        self.stop.wait(draw.uniform(*FULL_FOR))
        filler.unlink()
        event["until"] = self.notes.now
        self.notes.note("room")

    def _follow(self, door: str) -> None:
        """Do the steps of a door in their order, each at its time or as soon as the door is free."""
        for step in (step for step in self.steps if step.door == door):
            if self.stop.wait(max(0.0, step.at - self.notes.now)) or self.notes.now > 60 * self.minutes:
                return
            self._step(step)

    def _step(self, step: Step) -> None:
        try:
            self.acts[step.door](step.act, random.Random(step.draw))
            self.notes.done(step.door, step.act)
        except Exception:  # a fault of this program or of what it calls: told, never forgotten
            self.notes.error(step.door, traceback.format_exc())

    def _keep(self) -> None:
        due = 0.0
        while not self.stop.wait(0.25):
            with self.guard:
                for service in self.services.values():
                    service.keep()
            if time.monotonic() >= due:
                self.sampler.look()
                due = time.monotonic() + world.LOOK

    def run(self) -> None:
        """Work for as long as the plan says, then bring everything to rest."""
        keeper = threading.Thread(target=self._keep, name="keeper")
        keeper.start()
        try:
            self._ready(120)
            self.notes.began = time.monotonic()
            self.notes.events.clear()
            workers = [threading.Thread(target=self._follow, args=(door,), name=door) for door in self.acts]
            for worker in workers:
                worker.start()
            end = 60 * self.minutes
            while self.notes.now < end:
                time.sleep(1)
            self.worked = self.notes.now
            for worker in workers:
                worker.join(max(1.0, end + 240 - self.notes.now))
                if worker.is_alive() and worker.name == "files":  # a slow machine: its job is done below
                    self.commands.kill()
                    worker.join(60)
                if worker.is_alive():
                    self.notes.error(worker.name, f"the door {worker.name} did not come to an end")
            self._rest()
        finally:
            self.stop.set()
            keeper.join(30)
            for name in ("spark", *(f"writer-{i}" for i in range(WRITERS)), "studio", "shuffler", "collector"):
                self.services[name].stop()

    def _ready(self, seconds: float) -> None:
        """Wait until all services answer."""
        end = time.monotonic() + seconds
        waiting = {"collector": "/health", "shuffler": "/health", "studio": ""}
        while waiting and time.monotonic() < end:
            for name, path in list(waiting.items()):
                if name == "studio":
                    there = self.studio.client is not None
                else:
                    link = self.devices["direct" if name == "collector" else "sealed"].link
                    there = (link.ask("GET", path) or (0, b""))[0] == 200
                if there:
                    del waiting[name]
            time.sleep(0.5)
        for name in waiting:
            self.notes.error(name, f"{name} did not come back within {seconds:g} s")

    def _rest(self) -> None:
        """Send what has no answer, complete the last batch, go on with lost jobs, let runs of the studio end."""
        self._ready(120)
        for devices in self.devices.values():
            end = time.monotonic() + 60
            while devices.unanswered() and time.monotonic() < end:
                devices.send(devices.unanswered()) or time.sleep(1)
        self._deliver()
        for number in [number for number, well in self.files.done.items() if not well]:
            self.files.attempt(number)
        doors.when(lambda: not self.studio.runs_of(self.services["studio"]), 120, self.stop)
        for project in self.studio.projects:
            self.studio.ask("GET", f"/p/{project}/release")

    def _deliver(self) -> None:
        """Fill the last batch of the shuffler, and wait until the collector has it."""
        sealed, end = self.devices["sealed"], time.monotonic() + 150
        while time.monotonic() < end:
            store = BatchStore(self.disk / "shuffled")
            try:
                held = store.tasks().get(sealed.task.digest)
                waiting = 0 if held is None else store.waiting(held)[0]
                batches = len(store.batches())
            finally:
                store.shut()
            if not waiting and not batches:
                return
            if waiting and not batches:
                sealed.send(sealed.fresh(-waiting % doors.BATCH))
            time.sleep(1)
        self.notes.error("shuffler", "batches still wait at the end")

    # ---- afterwards

    def check(self) -> dict[str, list[str]]:
        """Return what does not hold, by promise."""
        disk, events = self.disk, self.notes.events
        self.looked: Counter[str] = Counter()
        left = world.left(os.getpid(), 30)
        found: dict[str, list[str]] = {name: [] for name in (
            "nothing acknowledged lost", "no account overspent", "no half file", "no unexplained exception",
            "memory flat", "nothing left running",
        )}  # fmt: skip
        lost = found["nothing acknowledged lost"]
        for name, devices in self.devices.items():
            if missing := devices.unanswered():
                lost.append(f"{len(missing)} reports of the task {name} were never acknowledged")
            store = disk / "collected", devices.task.digest
            if name == "colour":
                here = checks.number(*store, len(devices.acknowledged))
            else:
                here = checks.reports(*store, devices.acknowledged, len(devices.frames))
            lost += [f"{name}: {fault}" for fault in here]
            self.looked[f"reports, {name}"] = len(devices.acknowledged)
        for number, (file, known) in enumerate(self.operator.copies.items()):
            lost += checks.copy_of_store(file, self.tasks["direct"].digest, known, disk / f"copied-{number}")
            self.looked["copies of the store"] += 1
        found["no account overspent"] = self._accounts()
        found["no half file"] = self._files()
        more, self.kinds = checks.errors(events)
        found["no unexplained exception"] = [
            *more, *checks.logs(self.logs), *checks.gaps(events), *checks.ends(events)
        ]  # fmt: skip
        lives = {name: [life for (who, _), life in self.sampler.lives.items() if who == name] for name in SERVICES}
        found["memory flat"], self.memory = checks.flat(lives)
        found["nothing left running"] = [f"process {pid} still runs: {words}" for pid, words in left.items()]
        return found

    def _accounts(self) -> list[str]:
        faults, folder = [], self.disk / "accounts"
        for file in sorted(folder.glob("*.account")):
            faults += checks.account(file)
            self.looked["accounts"] += 1
            self.looked["entries of accounts"] += len(Account(file).entries)
        told = [json.loads(line) for file in sorted(self.logs.glob("*.published"))
                for line in file.read_text().splitlines() if line.endswith("}")]  # fmt: skip
        for line in told:
            self.notes.counts[f"writers: {line['state']}"] += 1
            if line["state"] == "error":
                at = line["at"] - self.notes.began
                self.notes.events.append(
                    {"at": at, "since": at, "kind": "error", "door": "writers", "text": line["text"]}
                )
        return faults + checks.published(folder, told) + checks.temporary(folder, 0)

    def _files(self) -> list[str]:
        faults = []
        for number, well in self.files.done.items():
            more, looked = checks.job(
                self.files.folder / str(number), done=well, killed=self.files.kills.get(number, 0)
            )
            faults += more
            self.looked["files of commands"] += looked
        for place in self.files.folder.glob("*.history"):
            faults += checks.history(place)
        for place in self.spark.folder.iterdir():
            if place.name.endswith(".parquet") and not place.name.startswith("."):
                faults += checks.release([place])
                self.looked["releases from Spark"] += 1
            elif place.name.startswith(".") and not any(e["service"] == "spark" for e in self.notes.of("kill")):
                faults.append(f"spark: {place.name} was left though no driver was killed")
        more, states = checks.studio(self.disk / "studio")
        self.looked.update({f"runs of the studio, {state}": n for state, n in states.items()})
        for name in ("collected/collected.sqlite", "shuffled/shuffled.sqlite"):
            faults += checks.whole_store(self.disk / name)
        return faults + more

    def result(self, found: dict[str, list[str]]) -> dict[str, Any]:
        """Return all figures, as plain data."""
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        kills = Counter(event["service"] for event in self.notes.of("kill"))
        acts: dict[str, dict[str, int]] = {}
        for name, n in sorted(self.notes.counts.items()):
            door, _, act = name.partition(": ")
            acts.setdefault(door, {})[act] = n
        series = {
            name: [life[:: max(1, len(life) // 120)] for (who, _), life in self.sampler.lives.items() if who == name]
            for name in SERVICES
        }
        ends = Counter(event["service"] for event in self.notes.of("end") if not event["ours"])
        return {
            "version": __version__, "python": platform.python_version(), "seed": self.seed, "minutes": self.minutes,
            "plan": digest(self.steps), "planned": dict(Counter(step.door for step in self.steps)), "acts": acts,
            "kills": dict(kills), "full_disks": len(self.notes.of("full")), "checked": dict(self.looked),
            "errors": dict(sorted(self.kinds.items())), "ended_by_themselves": dict(ends), "memory": self.memory,
            "cpu_seconds": round(sum(one.ru_utime + one.ru_stime for one in used)),
            "promises": {name: not faults for name, faults in found.items()},
            "faults": {name: faults[:40] for name, faults in found.items() if faults}, "series": series,
        }  # fmt: skip


def line_of(told: dict[str, Any]) -> str:
    """Return the result in one line."""
    broken = [name for name, well in told["promises"].items() if not well]
    actions = sum(sum(acts.values()) for door, acts in told["acts"].items() if door not in ("kill", "disk"))
    verdict = "everything held" if not broken else "BROKEN: " + ", ".join(broken)
    grown = max(facts["mib_per_hour"] for facts in told["memory"].values())
    return (
        f"soak, {told['minutes']:g} minutes, seed {told['seed']}: {verdict}; {actions:,} actions, "
        f"{sum(told['kills'].values())} kills, {told['full_disks']} full disks, "
        f"{sum(told['errors'].values())} errors explained or told, memory {grown:+.0f} MiB per hour at most"
    )


def main() -> int:
    """Soak, check, write the result."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--minutes", type=float, default=60)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--out", type=Path, default=Path("soak-result"))
    given = asked.parse_args()
    world.enter()
    if os.environ[world.INSIDE] == "yes":
        world.loopback()
    given.out.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="discreet-soak-"))
    try:
        soak = Soak(work, given.seed, given.minutes)
        soak.run()
        told = soak.result(soak.check())
    finally:
        shutil.rmtree(given.out / "logs", ignore_errors=True)
        shutil.copytree(work / "logs", given.out / "logs")
        for place in (work / "disk", work):
            world.unmount(place)
        shutil.rmtree(work, ignore_errors=True)
    (given.out / "soak.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    (given.out / "soak.svg").write_text(chart(told), encoding="utf-8")
    for name, faults in told["faults"].items():
        for fault in faults:
            sys.stdout.write(f"{name}: {fault}\n")
    sys.stdout.write(line_of(told) + "\n")
    return 0 if all(told["promises"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
