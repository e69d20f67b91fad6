"""The memory of the studio: one private folder per opened table, written atomically.

<home>/                       0700
  <project>/project.json      what the steward said so far
  <project>/schema.toml       the declared columns, complete or a draft
  <project>/upload/           an uploaded file, removed with the project
  <project>/runs/<n>/         one folder per release: job.toml, status.json, what came out
  histories/<data set>/       all anonymous releases about the same people (`discreet.anonymity.ReleaseHistory`)

Of a forgotten project with finished releases stay project.json (the table and its account) and, of each such release,
status.json.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from discreet import noise
from discreet.core import NAMING, write_whole
from discreet.core.schema import is_address, read_address
from discreet.errors import DataSourceError, DiscreetError

_NAME = re.compile(r"[a-z0-9]{12}")
#: Tables whose rows were shown, in the folder of all projects.
_SEEN = ".looked"
#: Where the histories of all tables are, in the same folder.
HISTORIES = "histories"
#: The answer that a table is not a later version of another.
OWN = "own"


@dataclass
class Project:
    """A table that was opened, and what was said about it."""

    id: str  # its random id in addresses
    folder: Path  # where it is kept
    source: str = ""  # the table: a path, a folder or a database; "" for an artifact
    artifact: str = ""  # a release that was opened instead of a table
    uploaded: bool = False  # the table was uploaded into the folder of the project
    #: Format of the table, as ``[source]`` of a schema, once the user has stated it; see `heads`.
    written: dict[str, Any] = field(default_factory=dict)
    looked: bool = False  # the user allowed rows to be shown
    goal: str = ""  # the kind of job that is wanted, "" before it is chosen
    parameters: dict[str, Any] = field(default_factory=dict)  # as in a job file
    account: str = ""  # the file of the account that releases are charged to
    #: The data set that it is a later version of, by its mark; `OWN` if it is none, "" before that was answered.
    follows: str = ""
    #: In the order of the table, once they were drafted.
    columns: list[str] = field(default_factory=list)
    #: Columns that are left out of the schema, with their declarations.
    unused: dict[str, Any] = field(default_factory=dict)
    #: Public guesses for forecasts, such as the number of rows; never counted.
    planned: dict[str, Any] = field(default_factory=dict)
    #: A job file named a database on the network, which the user has not yet allowed to be read.
    unasked: bool = False
    forgotten: bool = False  # only what later releases are checked with is left

    @property
    def name(self) -> str:
        """Return a short name: the last part of the path, or the table of a database."""
        if is_address(self.source):
            found = read_address(self.source)
            return found.table or found.query[:40]
        return Path(self.source or self.artifact).name

    @property
    def said(self) -> str:
        """When something was last said of it, as statuses write a time; "" if that is not known."""
        try:
            changed = (self.folder / "project.json").stat().st_mtime
        except OSError:
            return ""
        return datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")

    @property
    def schema_file(self) -> Path:
        return self.folder / "schema.toml"

    @property
    def uploads(self) -> Path:
        return self.folder / "upload"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def seen(self) -> bool:
        """Return whether rows of this table were ever shown, in any project."""
        try:
            return self.mark in (self.folder.parent / _SEEN).read_text(encoding="ascii").split()
        except OSError:
            return False

    def mark_seen(self) -> None:
        """Note that rows of this table are looked at; the table is named by a digest alone."""
        handle = os.open(self.folder.parent / _SEEN, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "a", encoding="ascii") as file:
            file.write(f"{self.mark}\n")

    @property
    def mark(self) -> str:
        """Return a digest that identifies the table in every project."""
        named = self.source if is_address(self.source) else os.path.realpath(self.source)
        return hashlib.sha256(os.fsencode(named)).hexdigest()

    @property
    def dataset(self) -> str:
        """Return the mark of the first table about the same people: all versions share releases and accounts."""
        return self.mark if self.follows in ("", OWN) else self.follows

    def save(self) -> None:
        """Write what was said, whole or not at all."""
        told = {name: value for name, value in asdict(self).items() if name not in ("id", "folder")}
        write_whole(self.folder / "project.json", json.dumps(told, ensure_ascii=False, indent=1), private=True)


#: What a project says, and of what kind each of it is.
_SAID = {f.name: type(getattr(Project("", Path()), f.name)) for f in fields(Project) if f.name not in ("id", "folder")}


class DataSet(NamedTuple):
    """Tables about the same people: the mark of the first, the latest, and the number of their releases."""

    mark: str
    latest: Project
    releases: int


class Workspace:
    """All projects of one steward."""

    def __init__(self, home: str | Path) -> None:
        self.home = Path(home).expanduser().absolute()
        try:
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            facts = self.home.stat()
        except OSError as error:
            raise DataSourceError(f"folder: cannot use {str(home)!r} ({error.strerror}); name another") from None
        # Not narrowed by us: it may be somebody's folder of other things.
        if hasattr(os, "getuid") and (facts.st_uid != os.getuid() or facts.st_mode & 0o077):
            raise DataSourceError(
                f"folder: others may look into {str(home)!r}, and projects must be yours alone; name a new folder, or "
                f"say chmod 700 {shlex.quote(str(home))}"
            )

    def create(self, **said: Any) -> Project:
        name = noise.generator().bytes(6).tobytes().hex()
        folder = self.home / name
        folder.mkdir(mode=0o700)
        made = Project(name, folder, **said)
        made.save()
        return made

    def project(self, name: str) -> Project:
        found = self._read(name)
        if found.forgotten:
            raise DataSourceError(f"project: {name!r} was forgotten; open the table again")
        return found

    def _read(self, name: str) -> Project:
        folder = self.home / name
        place = folder / "project.json"
        # A link is none of ours: it would lead out of the folder.
        if not _NAME.fullmatch(name) or folder.is_symlink() or place.is_symlink() or not place.is_file():
            raise DataSourceError(f"project: there is no {name[:40]!r} here; open the table again")
        try:
            told = json.loads(place.read_text(encoding="utf-8"))
            made = Project(name, folder, **{k: v for k, v in told.items() if k in _SAID})
            if any(type(getattr(made, k)) is not kind for k, kind in _SAID.items()) or "\0" in made.source:
                raise TypeError
            _ = made.name
        except (OSError, ValueError, TypeError, AttributeError, DiscreetError):
            raise DataSourceError(f"project: {name!r} is damaged; open the table again") from None
        return made

    def projects(self, *, forgotten: bool = False) -> Iterator[Project]:
        """Go through all projects, the newest first; with what is left of forgotten ones if asked."""
        written = {}
        for place in self.home.glob("*/project.json"):
            with suppress(OSError):  # forgotten since
                written[place.parent.name] = place.stat().st_mtime
        for name in sorted(written, key=lambda name: written[name], reverse=True):
            try:
                found = self._read(name)
            except DataSourceError:  # what is damaged or none of ours is not listed
                continue
            if forgotten or not found.forgotten:
                yield found

    def accounts_of(self, source: str, *, but: str = "") -> list[str]:
        """Return the accounts that other projects of a data set are charged to, the latest first."""
        known = list(self.projects(forgotten=True))
        same = {p.dataset for p in known if source and p.source == source}
        found = [p.account for p in known if p.dataset in same and p.id != but]
        return [path for path in dict.fromkeys(found) if path and os.path.isfile(path)]

    def datasets(self, project: Project, names: Sequence[str]) -> list[DataSet]:
        """Return the data sets of other tables whose people are named by a column among ``names``."""
        found: dict[str, DataSet] = {}
        for other in self.projects():
            mine = not other.source or other.source == project.source or other.dataset == project.mark
            if not mine and not {*names}.isdisjoint(_people(other)):
                done = sum(_state(status) == "done" for status in other.runs.glob("[0-9]*/status.json"))
                _, latest, before = found.get(other.dataset, (None, other, 0))
                found[other.dataset] = DataSet(other.dataset, latest, before + done)
        return list(found.values())

    def sweep(self) -> None:
        """Remove uploaded tables: when the studio ends, and when it begins after it was killed.

        Where a release is not finished the table stays, or it could not be taken up again.
        """
        for project in self.projects():
            states = map(_state, project.runs.glob("*/status.json"))
            if project.uploads.is_dir() and not set(states) & {"", "waiting", "running", "lost"}:
                shutil.rmtree(project.uploads, ignore_errors=True)

    def forget(self, project: Project) -> None:
        """Remove a project; releases saved elsewhere and accounts stay.

        Of finished releases that they were made stays too, and the history of the table: somebody may have them, and
        later ones about the same people have to be checked together with them.
        """
        finished = [status for status in project.runs.glob("[0-9]*/status.json") if _state(status) == "done"]
        if not finished or project.runs.is_symlink():
            if project.folder.exists():
                shutil.rmtree(project.folder)
            return
        # First, so that a process killed in between leaves nothing that looks whole.
        Project(
            project.id, project.folder, project.source, project.artifact, project.uploaded, account=project.account,
            follows=project.follows, forgotten=True,
        ).save()  # fmt: skip
        for place in project.folder.iterdir():
            if place.name not in ("project.json", "runs"):
                _remove(place)
        for place in project.runs.iterdir():
            status = place / "status.json"
            if status not in finished:
                _remove(place)
                continue
            told = json.loads(status.read_text(encoding="utf-8"))
            write_whole(status, json.dumps({**told, "files": {}}, ensure_ascii=False), private=True)
            for each in place.iterdir():
                if each.name != "status.json":
                    _remove(each)


def _people(project: Project) -> list[str]:
    try:
        columns = tomllib.loads(project.schema_file.read_text(encoding="utf-8"))["columns"]
        return [name for name, told in columns.items() if told.get("role") in NAMING]
    except (OSError, ValueError, KeyError, AttributeError):
        return []


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _state(status: Path) -> str:
    try:
        told = json.loads(status.read_text(encoding="utf-8"))
        whole = not status.parent.is_symlink() and isinstance(told.get("files", {}), dict)
        return str(told["state"]) if whole else ""
    except (OSError, ValueError, AttributeError, KeyError):
        return ""


def default_home() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "discreet" / "studio"
