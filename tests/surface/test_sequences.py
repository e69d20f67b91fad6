"""Releases, charges, resumed runs, restarts and kills in random order: what was promised of each still holds of all.

Releases about one table are made by job files, by Python, and by two projects of a studio, some at the same time, some
killed with SIGKILL at any of their file operations. Nothing of the package judges the outcome: tables, promises,
entries and account lines are read here as the files say them.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from discreet.accounts import Account
from discreet.anonymity import ReleaseHistory
from discreet.jobs import Job
from discreet.studio.runs import Supervisor, runs_of
from discreet.studio.runs.offer import offer_of
from discreet.studio.runs.supervisor import settle
from discreet.studio.workspace import Project, Workspace
from support.joined_tables import Person, together
from support.killable import Killable
from support.second_reader.reading import seal

K, PEOPLE, NEW, LIMIT = 4, 40, 12, Fraction(1)
#: The reader below finds everyone in the one cell that holds them, so nobody is left out.
MERGE = {"on_conflict": "merge"}
COLUMNS = {
    "id": {"role": "identifier"},
    "age": {"bounds": [0, 63], "kind": "integer", "role": "quasi-identifier"},
    "cost": {"bounds": [0, 63], "kind": "integer", "role": "quasi-identifier"},
    "ill": {"categories": ["a", "b"], "role": "sensitive"},
}
SCHEMA = "".join(
    f"[columns.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in said.items())
    for name, said in COLUMNS.items()
)
#: Sequences of `make test`, and of the slow test.
QUICK, SLOW = 3, 1000
#: The operation before which a process is killed; most releases have 40 to 90.
AT = st.one_of(st.none(), st.integers(0, 100))
METHOD = st.sampled_from(["density-tree", "mondrian"])
WAY = st.sampled_from(["job", "python", "studio 0", "studio 1"])
_now: dict[str, Killable] = {}
_counted = {"sequences": 0, "releases": 0, "killed": 0, "refused": 0}


class InChildren(Supervisor):
    """A supervisor whose runs are children that can be killed; no one follows them but the test."""

    def __init__(self, workspace: Workspace, machine: Sequences) -> None:
        self.machine = machine
        super().__init__(workspace)

    def _launch(self, folder: Path, handle: int) -> None:
        os.close(handle)
        self.machine.begin("studio", {"run": str(folder)})


class Sequences(RuleBasedStateMachine):
    """One table, one account, one studio with two projects about the table, and what was ever released."""

    def __init__(self) -> None:
        super().__init__()
        _counted["sequences"] += 1
        self.processes = _now["processes"]
        self.folder = Path(tempfile.mkdtemp(dir=self.processes.folder))
        self.out = self.folder / "out"
        self.out.mkdir()
        self.table, self.schema = self.folder / "people.csv", self.folder / "schema.toml"
        self.schema.write_text(SCHEMA, encoding="utf-8")
        self.people: dict[str, Person] = {}
        self.arrive(PEOPLE)
        self.workspace = Workspace(self.folder / "studio")
        self.projects = [self._project(method) for method in ("density-tree", "mondrian")]
        self.history = self.workspace.home / "histories" / self.projects[0].mark
        self.supervisor = InChildren(self.workspace, self)
        self.account = self.folder / "people.account"
        Account.create(self.account, dataset="people", epsilon=1)
        self.lines: list[str] = []
        self.seen: dict[str, tuple[bytes, dict[str, Person]]] = {}
        self.number = 0
        self.at: int | None = None
        self.begun: list[tuple[int, Path | None]] = []

    def _project(self, method: str) -> Project:
        made = self.workspace.create(
            source=str(self.table), goal="anonymize", parameters={"k": K, "method": method, **MERGE}
        )
        made.schema_file.write_text(SCHEMA, encoding="utf-8")
        return made

    # What happens.

    @rule(method=METHOD, at=AT)
    def a_job_file_is_run(self, method: str, at: int | None) -> None:
        self.at = at
        self.by_job(method)
        self.end()

    @rule(at=AT)
    def a_program_releases(self, at: int | None) -> None:
        self.at = at
        self.by_python()
        self.end()

    @rule(which=st.integers(0, 1), at=AT, noticed=st.booleans())
    def the_studio_releases(self, which: int, at: int | None, noticed: bool) -> None:
        self.at = at
        self.by_studio(which)
        self.end(noticed)

    @rule(which=st.integers(0, 1), at=AT, noticed=st.booleans())
    def a_run_is_taken_up(self, which: int, at: int | None, noticed: bool) -> None:
        project = self.projects[which]
        for run in runs_of(project):
            if run.ended and run.state != "done":
                self.at = at
                self.supervisor.again(project, run, run.status["attempt"])
                self.end(noticed)
                return

    @rule(first=WAY, second=WAY, at=AT, both=st.booleans(), noticed=st.booleans())
    def two_release_at_once(self, first: str, second: str, at: int | None, both: bool, noticed: bool) -> None:
        self.at = at
        self.by(first)
        self.at = at if both else None
        self.by(second if second != first else "job")  # a project has one run at a time
        self.end(noticed)

    @rule()
    def the_studio_is_started_again(self) -> None:
        self.supervisor = InChildren(self.workspace, self)

    @rule()
    def more_people_come(self) -> None:
        if len(self.people) < PEOPLE + 4 * NEW:
            self.arrive(NEW)

    @rule(price=st.sampled_from([0.1, 0.25, 0.4]), at=AT, two=st.booleans())
    def the_account_is_charged(self, price: float, at: int | None, two: bool) -> None:
        self.at = at
        for _ in range(1 + two):
            self.number += 1
            given = {"epsilon": price, "account": str(self.account)}
            made = {"release": str(self.out / f"{self.number}.parquet")}
            self.begin_job(Job("synopsis", str(self.table), {"age": COLUMNS["age"]}, given, made))
        self.end()

    # How.

    def arrive(self, more: int) -> None:
        for i in range(len(self.people), len(self.people) + more):
            self.people[f"p{i}"] = (i * 37 % 64, i * i * 11 % 64)
        lines = (f"{name},{age},{cost},{'ab'[age % 2]}\n" for name, (age, cost) in self.people.items())
        self.table.write_text("id,age,cost,ill\n" + "".join(lines), encoding="utf-8")

    def by(self, way: str) -> None:
        if way == "job":
            self.by_job("mondrian")
        elif way == "python":
            self.by_python()
        else:
            self.by_studio(int(way[-1]))

    def by_job(self, method: str) -> None:
        self.number += 1
        given = {"k": K, "method": method, "history": str(self.history), **MERGE}
        made = {"release": str(self.out / f"{self.number}.csv")}
        self.begin_job(Job("anonymize", str(self.table), str(self.schema), given, made))

    def by_python(self) -> None:
        self.number += 1
        places = {"table": self.table, "schema": self.schema, "history": self.history}
        target = self.out / f"{self.number}.csv"
        self.begin("python", {**{n: str(p) for n, p in places.items()}, "target": str(target), "k": K})

    def by_studio(self, which: int) -> None:
        project = self.projects[which]
        if any(not run.ended for run in runs_of(project)):
            return
        offer = offer_of(self.workspace, project)
        assert offer.job is not None, offer.lacking
        self.supervisor.start(project, offer.job, offer.number, offer.digest)

    def begin_job(self, job: Job) -> None:
        file = self.folder / f"{self.number}.toml"
        job.to_toml(file)
        self.begin("job", {"file": str(file)})

    def begin(self, what: str, facts: dict[str, Any]) -> None:
        child = self.processes.start(what, facts, self.at)
        self.begun.append((child, Path(facts["run"]) if what == "studio" else None))

    def end(self, noticed: bool = True) -> None:
        """Wait for all that was begun; a killed run may be left for a later start of the studio to notice."""
        for child, run in self.begun:
            code = self.processes.wait(child)
            assert code in (0, 2, 3 if run else 0, -9), code
            _counted["killed"] += code == -9
            _counted["refused"] += code in (2, 3)
            if run is not None and noticed:
                settle(run)
        self.begun = []

    # What must hold.

    @invariant()
    def every_table_was_checked_with_those_before(self) -> None:
        found = {name: text for name, text in self.visible().items() if name not in self.seen}
        known = len(self.seen)
        counts = []
        for name, text in found.items():
            promise = json.loads(Path(f"{name}.guarantee.json").read_text(encoding="utf-8"))
            assert promise["digest"] == seal(promise, text), "the promise is that of another table"
            counts.append(promise["parameters"].get("earlier_releases", 0))
            self.seen[name] = (text, dict(self.people))
            _counted["releases"] += 1
        assert all(count >= known + i for i, count in enumerate(sorted(counts))), (known, counts)
        if found:
            alike = together(list(self.seen.values()))
            assert min(alike.values()) >= K, sorted(alike.values())[:5]

    @invariant()
    def no_table_is_without_its_promise(self) -> None:
        for table in [*self.out.glob("*.csv"), *self.workspace.home.glob("*/runs/*/*.csv")]:
            if not table.name.startswith("."):
                promise = json.loads(Path(f"{table}.guarantee.json").read_text(encoding="utf-8"))
                assert promise["digest"] == seal(promise, table.read_bytes())

    @invariant()
    def no_entry_is_without_its_table(self) -> None:
        for place in self.history.glob("[0-9]*.json"):
            entry = json.loads(place.read_text(encoding="utf-8"))
            record = place.with_suffix(".record").exists()
            waits = entry["waits"] and (Path(entry["waits"]).exists() or not record)  # removed by anyone who comes next
            if place.with_suffix(".withdrawn").exists() or waits:
                continue
            status = Path(entry["table"]).parent / "status.json"
            lost = status.exists() and json.loads(status.read_text(encoding="utf-8"))["state"] in ("running", "waiting")
            assert record
            assert entry["table"] in self.seen or lost, entry

    @invariant()
    def every_table_has_its_entry(self) -> None:
        listed = [json.loads(place.read_text(encoding="utf-8")) for place in self.history.glob("[0-9]*.json")]
        assert set(self.seen) <= {entry["table"] for entry in listed}

    @invariant()
    def no_more_is_spent_than_there_is(self) -> None:
        lines = self.account.read_text(encoding="utf-8").splitlines()
        whole = [
            line for line in lines if len(line.rpartition(" ")[2]) == 64 and line.endswith(line.rpartition(" ")[2])
        ]
        assert whole[: len(self.lines)] == self.lines, "a line that was written is gone"
        self.lines = whole
        spent: dict[int, Fraction] = {}
        booked = []
        for line in whole:
            facts = json.loads(line.rpartition(" ")[0])
            if facts["kind"] in ("reserve", "book"):
                spent[facts["entry"]] = max(spent.get(facts["entry"], Fraction(0)), Fraction(facts["price"]))
            if facts["kind"] == "book":
                booked.append(facts["digest"].encode())
        assert sum(spent.values()) <= LIMIT, spent
        for made in self.out.glob("*.parquet"):
            data = made.read_bytes()
            assert made.name.startswith(".") or any(digest in data for digest in booked), "released and not paid for"

    def visible(self) -> dict[str, bytes]:
        """Return all tables that somebody can have: job files and programs leave theirs, the studio shows finished."""
        places = list(self.out.glob("*.csv"))
        for status in self.workspace.home.glob("*/runs/*/status.json"):
            told = json.loads(status.read_text(encoding="utf-8"))
            places += [status.parent / told["files"]["release"]] if told["state"] == "done" else []
        return {str(place): place.read_bytes() for place in places if not place.name.startswith(".")}


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killable]:
    with Killable(tmp_path_factory.mktemp("killed").resolve()) as made:
        _now["processes"] = made
        yield made


def _run(sequences: int, *, same: bool) -> None:
    usual = settings(
        max_examples=sequences, stateful_step_count=8, deadline=None, database=None, derandomize=same,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate,),
    )  # fmt: skip
    run_state_machine_as_test(Sequences, settings=usual)


@pytest.mark.usefixtures("processes")
def test_what_was_promised_holds_after_some_sequences_with_kills() -> None:
    _run(QUICK, same=True)
    assert _counted["releases"]


@pytest.mark.slow
@pytest.mark.usefixtures("processes")
def test_what_was_promised_holds_after_many_sequences_with_kills() -> None:
    before = dict(_counted)
    _run(SLOW, same=False)
    sys.stdout.write(f"{ ({name: count - before[name] for name, count in _counted.items()}) }\n")
    assert _counted["sequences"] - before["sequences"] >= SLOW


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_release_that_is_killed_anywhere_is_whole_or_did_not_happen(processes: Killable, step: int) -> None:
    folder = Path(tempfile.mkdtemp(dir=processes.folder))
    table, schema, history, target = (folder / name for name in ("t.csv", "s.toml", "h", "safe.csv"))
    people = {f"p{i}": (i * 37 % 64, i * i * 11 % 64) for i in range(PEOPLE)}
    table.write_text(
        "id,age,cost,ill\n" + "".join(f"{n},{a},{c},a\n" for n, (a, c) in people.items()), encoding="utf-8"
    )
    schema.write_text(SCHEMA, encoding="utf-8")
    facts = {"table": table, "schema": schema, "history": history, "target": target}
    given = {**{name: str(place) for name, place in facts.items()}, "k": K}
    outcomes = set()
    for at in range(20, 200, step):  # before that it reads the table and the history
        code = processes.wait(processes.start("python", given, at))
        if code:  # the next one clears up, and may be killed while it does
            processes.wait(processes.start("clear", {"history": str(history)}, at % 12))
        entries = ReleaseHistory(history).records()  # what the next release is checked with
        promise = Path(f"{target}.guarantee.json")
        assert target.exists() == promise.exists() == (len(entries) == 1), at
        if target.exists():
            told = json.loads(promise.read_text(encoding="utf-8"))
            assert told["digest"] == seal(told, target.read_bytes()), at
        outcomes.add((code, len(entries)))
        for place in (target, promise, *history.glob("*")):
            place.unlink(missing_ok=True)
        if code == 0:
            break
    assert outcomes == {(-9, 0), (-9, 1), (0, 1)}
