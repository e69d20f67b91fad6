"""Releases that can be shown: finished runs and opened files. They contain no raw data.

Facts about a release are collected once, by the run's own process or by a short one of its own, and kept next to the
release with the digest of the file they are about. Pages then draw from these; only questions load a synopsis, and of
those the two last used are kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet.core import write_whole
from discreet.errors import DataSourceError, DiscreetError, FormatError
from discreet.studio.runs.offer import history_of
from discreet.studio.runs.run import runs_of
from discreet.studio.workspace import Project, Workspace

#: Seconds before a page is shown with the results so far.
_PATIENCE = 0.25
#: Answers and pictures that are remembered.
_REMEMBERED = 64


@dataclass(frozen=True)
class Released:
    """A release."""

    number: int  # of its run; 0 for a file that was opened
    file: Path  # the artifact
    folder: Path  # where facts and evidence are kept
    files: dict[str, Path] = field(default_factory=dict)  # by name of the output
    figures: dict[str, Any] = field(default_factory=dict)  # of the job, with the clusters
    kind: str = ""  # of job; "" for a file that was opened
    ended: str = ""  # when it was made

    @property
    def clusters(self) -> dict[str, Any] | None:
        return self.figures if "centers" in self.figures else None

    @property
    def stamp(self) -> list[int]:
        told = self.file.stat()
        return [told.st_size, told.st_mtime_ns, told.st_ctime_ns]  # the last one cannot be forged

    @property
    def facts_file(self) -> Path:
        return self.folder / "facts.json"


def releases(project: Project) -> list[Released]:
    """Return what a project released, the newest first; a file that was opened is the last."""
    found = []
    for run in runs_of(project):
        files = {name: run.path(name) for name in run.files}
        file = files.get("counts") or files.get("release")
        if file is not None and file.is_file():
            found.append(
                Released(
                    run.number, file, run.folder / "evidence", files, run.figures, run.asked["kind"],
                    run.status["ended"] or "",
                )
            )  # fmt: skip
    if project.artifact and Path(project.artifact).is_file():
        found.append(Released(0, Path(project.artifact), project.folder / "evidence"))
    return found


def release_of(project: Project, number: str) -> Released:
    found = releases(project)
    chosen = [each for each in found if not number or str(each.number) == number]
    if not chosen:
        raise DataSourceError("nothing was released here yet; start a release first")
    return chosen[0]


def earlier_of(project: Project, release: Released) -> list[tuple[Project | None, Path]]:
    """Return the earlier releases that one was checked with: the project, None if it is forgotten, and the table."""
    entries = history_of(project).entries
    own = next((entry for entry in entries if Path(entry.table) == release.file), None)
    tables = [Path(entry.table) for entry in entries if own is not None and entry.seal in own.earlier]
    known = {each.runs: each for each in Workspace(project.folder.parent).projects()}
    return [(known.get(p.parent.parent), p) for p in tables]


def kept_facts(release: Released) -> dict[str, Any] | None:
    try:
        kept = json.loads(release.facts_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    facts: dict[str, Any] = kept["facts"]
    return facts if kept["stamp"] == release.stamp else None


def collect(release: Released) -> dict[str, Any]:
    from discreet.reporting import report_facts

    stamp = release.stamp
    facts = report_facts(release.file, clusters=release.clusters)
    release.folder.mkdir(parents=True, exist_ok=True)
    if plane := facts["release"].get("plane"):  # of a fine grid it is megabytes, which only the report needs
        write_whole(release.folder / "plane.json", json.dumps(plane))
        facts["release"]["plane"] = {"columns": plane["columns"]}
    write_whole(release.facts_file, json.dumps({"stamp": stamp, "facts": facts}))
    return facts


def with_plane(release: Released, facts: dict[str, Any]) -> dict[str, Any]:
    if not facts["release"].get("plane"):
        return facts
    plane = json.loads((release.folder / "plane.json").read_text(encoding="utf-8"))
    return {**facts, "release": {**facts["release"], "plane": plane}}


def _collected(project: Project, release: Released) -> dict[str, Any]:
    """Collect facts in a process of its own: a released table may be large."""
    if (facts := kept_facts(release)) is not None:
        return facts
    # -P: what lies where the studio was started is never taken for a module.
    asked = [sys.executable, "-P", "-m", "discreet.studio.released", str(project.folder), str(release.number)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode or (facts := kept_facts(release)) is None:
        raise FormatError((done.stderr.strip().splitlines() or ["the release cannot be read"])[-1])
    return facts


def facts_of(later: Later, project: Project, release: Released) -> dict[str, Any] | None:
    if (facts := kept_facts(release)) is None:
        key = ("facts", str(release.file), *release.stamp)
        [facts] = later.get((key, lambda: _collected(project, release)))
    return facts


@lru_cache(maxsize=2)
def _loaded(path: str, _stamp: tuple[int, ...]) -> Any:
    from discreet.synopses import Synopsis

    return Synopsis.load(path)


def synopsis_of(release: Released) -> Any:
    return _loaded(str(release.file), tuple(release.stamp))


class Later:
    """Work that a page waits for only briefly. If it is not ready, the next request shows it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="studio")
        self._begun: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, *wanted: tuple[Hashable, Callable[[], Any]]) -> list[Any]:
        """Return the results, after one wait for all, None for what takes longer. An error is raised, and forgotten."""
        with self._guard:
            for key, work in wanted:
                if key not in self._begun:
                    self._begun[key] = self._pool.submit(work)
                self._begun.move_to_end(key)
            futures = [self._begun[key] for key, _ in wanted]
            while len(self._begun) > _REMEMBERED:
                self._begun.popitem(last=False)
        wait(futures, _PATIENCE)
        for (key, _), future in zip(wanted, futures, strict=True):
            if future.done() and future.exception() is not None:
                self._begun.pop(key, None)
        return [future.result() if future.done() else None for future in futures]


def unforeseen(error: BaseException) -> str:
    """Describe an unexpected error by type and place. Its message may quote a row."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}, {Path(last.filename).name} line {last.lineno}"


def main(folder: str, number: str) -> None:
    place = Path(folder)
    try:
        collect(release_of(Workspace(place.parent).project(place.name), number))
    except DiscreetError as error:
        sys.exit(str(error).splitlines()[0])
    except Exception as error:  # whatever it is: its words may quote the file
        sys.exit(f"the release cannot be read ({unforeseen(error)})")


if __name__ == "__main__":
    main(*sys.argv[1:3])
