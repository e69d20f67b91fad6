"""What must hold after a soak. Every check returns the faults that it found, in words; an empty list is well.

They read what is on the disk and what was noted, and they know nothing of how it came about: so a planted fault shows
that a check can fail (`test_soak.py`).
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sqlite3
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from command_line import exit_code
from discreet.accounts import Account
from discreet.anonymity import ReleaseHistory
from discreet.collector import open_store
from discreet.collector.stores.sqlite import SqliteStore
from discreet.errors import DiscreetError
from discreet.studio.runs.run import ENDED, Run

Events = Sequence[Mapping[str, Any]]
#: Seconds after a kill or a full disk in which a service may be away: it has to start, and others have to notice.
AWAY = 60.0
#: Seconds of a life in which a program loads what it needs, at least, and the least seconds that are left then.
WARM, LONG = 120.0, 60.0
#: The most MiB per hour that memory may grow, where that comes to more than so many MiB in the longest life.
GROWTH, LEAST = 30.0, 8.0


# ---- reports


def reports(address: Path, task: str, acknowledged: Iterable[int], sent: int) -> list[str]:
    """Every acknowledged report is counted once, none twice, and none that was never sent."""
    store = open_store(address)
    try:
        counts = list(store.counts(task).values())
    finally:
        store.shut()
    total = sum((one.counters["reports"] for one in counts), np.zeros(0, np.int64) if not counts else 0)
    held = np.zeros(len(total), np.bool_)
    known = list(acknowledged)
    if known and not len(total):
        return [f"all of {len(known)} acknowledged reports are lost"]
    held[known] = True
    found = {
        "acknowledged reports are lost": int((held & (total == 0)).sum()),
        "reports were counted more than once": int((total > 1).sum()),
        "reports were counted that were never sent": int(total[sent:].sum()),
        "reports are in the number of reports and not in the counters": abs(
            int(sum(one.n for one in counts)) - int(total.sum())
        ),
    }
    return [f"{n} {what}" for what, n in found.items() if n]


def number(address: Path, task: str, acknowledged: int) -> list[str]:
    """As many reports are counted as were acknowledged, where no report can be told from another."""
    store = open_store(address)
    try:
        found = sum(counts.n for counts in store.counts(task).values())
    finally:
        store.shut()
    return [] if found == acknowledged else [f"{acknowledged} reports were acknowledged and {found} are counted"]


def whole_store(file: Path) -> list[str]:
    """An SQLite file passes the check of SQLite itself."""
    try:
        with closing(sqlite3.connect(file)) as base:
            said = base.execute("pragma integrity_check").fetchone()[0]
    except sqlite3.DatabaseError as error:
        said = str(error)
    return [] if said == "ok" else [f"{file.name}: {said}"]


def copy_of_store(file: Path, task: str, known: set[int], place: Path) -> list[str]:
    """A copy made meanwhile opens, and has all that was acknowledged before it."""
    place.mkdir()
    file.rename(place / "collected.sqlite")
    store = SqliteStore(place)
    try:
        total = sum(one.counters["reports"] for one in store.counts(task).values())
    finally:
        store.shut()
    lost = len(known) if isinstance(total, int) else int((total[sorted(known)] == 0).sum())
    return [f"{file.name}: {lost} reports acknowledged before the copy are not in it"] if known and lost else []


# ---- accounts


def account(file: Path) -> list[str]:
    """The chain of hashes holds, and what was reserved, booked and spent composes to at most the limit."""
    *lines, rest = file.read_bytes().split(b"\n")
    head, limits, prices = "0" * 64, (Fraction(0), Fraction(0)), dict[int, tuple[Fraction, Fraction]]()
    faults = []
    for number, line in enumerate(lines, 1):
        text, _, seal = line.rpartition(b" ")
        if hashlib.sha256(text).hexdigest().encode() != seal:
            return [f"{file.name}: line {number} does not have its hash"]
        facts = json.loads(text)
        if facts["after"] != head:
            return [f"{file.name}: line {number} does not follow the one before"]
        head = seal.decode()
        if facts["kind"] == "open":
            limits = Fraction(facts["epsilon"]), Fraction(facts["delta"])
        elif facts["kind"] in ("reserve", "spend", "book", "add"):
            if facts["kind"] == "reserve" and facts["entry"] in prices:
                faults.append(f"{file.name}: entry {facts['entry']} was reserved twice")
            prices[facts["entry"]] = Fraction(facts["price"]), Fraction(facts["delta"])
    for name, limit, spent in zip(("ε", "δ"), limits, map(sum, zip(*prices.values(), strict=True)), strict=False):
        if spent > limit:
            faults.append(f"{file.name}: {name} {float(spent):g} spent of {float(limit):g}")
    if rest:
        faults += [] if b"\n" not in rest else [f"{file.name}: a torn line in the middle"]
    try:
        read = Account(file)
    except DiscreetError as error:
        return [*faults, f"{file.name}: {error}"]
    total = sum(price for price, _ in prices.values())
    if read.spent.exact != total:
        faults.append(f"{file.name}: says that {float(read.spent):g} is spent, its lines add up to {float(total):g}")
    return faults


def published(folder: Path, told: Iterable[Mapping[str, Any]]) -> list[str]:
    """All that programs were allowed to publish is in the accounts, at its price, once; booked is booked."""
    entries = {f.name: {e.number: e for e in Account(f).entries} for f in folder.glob("*.account")}
    faults, seen = [], Counter[tuple[str, int]]()
    for line in told:
        if line["state"] not in ("reserved", "booked"):
            continue
        entry = entries.get(line["account"], {}).get(line["entry"])
        where = f"{line['account']}, entry {line['entry']}"
        seen[line["account"], line["entry"]] += line["state"] == "reserved"
        if entry is None or entry.price != line["price"]:
            faults.append(f"{where}: a price of {line['price']} was allowed, and is not there")
        elif line["state"] == "booked" and (entry.state != "booked" or entry.digest != line["digest"]):
            faults.append(f"{where}: was booked, and is {entry.state}")
    return faults + [f"{place}: given to two programs" for place, n in seen.items() if n > 1]


# ---- files


def release(files: Sequence[Path], account: Path | None = None, page: Path | None = None) -> list[str]:
    """Files that are there pass `discreet verify`, with their account and their page."""
    words: list[Any] = ["verify", *files]
    words += ["--account", account] if account is not None else []
    words += ["--page", page] if page is not None and page.exists() else []
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = exit_code(*words)
    name = f"{files[0].parent.name}/{files[0].name}"
    return [] if code == 0 else [f"{name}: verify ends with {code}: {said.getvalue()[:1500]}"]


def temporary(folder: Path, killed: int) -> list[str]:
    """Only a program that was killed leaves a temporary file, at most one of each output, for its owner alone."""
    left = [place for place in folder.iterdir() if place.name.startswith(".")]
    if not left:
        return []
    if not killed:
        return [f"{folder.name}: {place.name} was left though nothing was killed" for place in left]
    return [f"{folder.name}: others may read {place.name}" for place in left if place.stat().st_mode & 0o077]


def job(folder: Path, *, done: bool, killed: int) -> tuple[list[str], int]:
    """Check every output of a job; return the faults, and the number of files that were looked at."""
    told = tomllib.loads((folder / "job.toml").read_text(encoding="utf-8"))
    page = folder / "page.html"
    account = told["parameters"].get("account")
    faults, looked, kind = temporary(folder, killed), 0, told["job"]["kind"]
    names = {name: Path(file).name for name, file in told["outputs"].items()}
    if kind == "synthesize":
        names["release"] = f"{Path(names['table']).stem}.synopsis.parquet"
    released: list[Path] = []
    for name, file in names.items():
        place = folder / file
        if not place.exists():
            faults += [f"{folder.name}: the job is done, and {file} is not there"] if done else []
            continue
        looked += 1
        if name == "report":
            text = place.read_text(encoding="utf-8")
            faults += [] if text.rstrip().endswith("</html>") else [f"{folder.name}: {file} is half a page"]
        elif kind == "sketch":
            faults += [] if name == "release" else release([place])
        elif name != "centers":
            released.append(place)
    if released:
        faults += release(released, Path(account), page if done else None)
    known = {*names.values(), *(f"{file}.guarantee.json" for file in names.values()), "job.toml"}
    others = [p.name for p in folder.iterdir() if p.name not in known and not p.name.startswith(".")]
    return faults + [f"{folder.name}: {name} is not an output of it" for name in others], looked


def history(folder: Path) -> list[str]:
    """A release history opens and clears up after the killed."""
    try:
        ReleaseHistory(folder).records()
    except DiscreetError as error:
        return [f"{folder.name}: {error}"]
    return []


def studio(home: Path) -> tuple[list[str], Counter[str]]:
    """Every run of the studio has ended and says how; what it hands out is whole, and nothing else is left."""
    faults, states = [], Counter[str]()
    for status in sorted(home.glob("*/runs/*/status.json")):
        run, where = Run.read(status.parent), f"run {status.parent.name} of {status.parents[2].name}"
        state = str(run.status["state"])
        states[state] += 1
        if state not in ENDED:
            faults.append(f"{where} is {state} although no studio runs")
        if run.status["unforeseen"]:
            faults.append(f"{where} failed unforeseen: {run.status['message']}")
        forgotten = json.loads((status.parents[2] / "project.json").read_text(encoding="utf-8"))["forgotten"]
        faults += temporary(run.folder, 0)
        if state == "done" and not forgotten:
            for name, file in run.status["files"].items():
                if not (run.folder / file).is_file():
                    faults.append(f"{where}: {file} is not there")
                elif name in ("release", "table") and run.asked["kind"] != "sketch":
                    book = run.asked["account"]
                    faults += release([run.folder / file], Path(book) if book else None)
    for begun in home.glob("*/runs/.new-*"):
        faults.append(f"{begun.name} was begun and never cleared up")
    return faults, states


# ---- errors

#: Why something may be refused or fail, and what it says then. A reason is looked up with what was done meanwhile.
_ROOM = r"No space left on device|disk is full|takes no reports now|check the folder and its room|\"store\""
_LIMIT = r"BudgetExceeded|but only .* (is|are) left"
_BUSY = r"under way|is just ending|was forgotten|try again|one moment"
_AWAY = r"no answer: |the collector does not answer|not signed in|status 403$"


def reason(event: Mapping[str, Any], events: Events) -> str | None:
    """Return why an error is explained by what was done to the machine; None if nothing explains it."""
    text, door = str(event["text"]), str(event["door"])
    java = door == "spark" and re.search(r"Py4J|Spark|Connection(Refused|Reset)Error", text)
    if "Traceback" in text or ("unforeseen" in text and not java):
        return None
    if re.search(_ROOM, text) and _meanwhile(event, events, "full", 10.0):
        return "no room"
    if re.search(_AWAY, text):
        services = {"shuffler": ("shuffler", "collector"), "operator": ("collector",)}.get(door, (door,))
        if any(_meanwhile(event, events, "kill", AWAY, service) for service in services):
            return "killed"
        if _meanwhile(event, events, "full", AWAY):
            return "could not start without room"
    if java and _meanwhile(event, events, "kill", AWAY, "spark"):
        return "killed"
    if re.search(_LIMIT, text):
        return "limit of an account"
    return "busy" if door == "studio" and re.search(_BUSY, text) else None


def _meanwhile(event: Mapping[str, Any], events: Events, kind: str, slack: float, service: str = "") -> bool:
    """Return whether something was done while an action ran, or shortly before."""
    for other in events:
        if other["kind"] == kind and (not service or other["service"] == service):
            until = other.get("until", other["at"]) + slack
            if other["at"] <= event["at"] and event["since"] <= until:
                return True
    return False


def errors(events: Events) -> tuple[list[str], Counter[str]]:
    """Every error is explained; return those that are not, and the numbers by reason."""
    faults, kinds = [], Counter[str]()
    for event in events:
        if event["kind"] != "error":
            continue
        why = reason(event, events)
        kinds[f"{event['door']}: {why or 'not explained'}"] += 1
        if why is None:
            faults.append(f"{event['door']}, second {event['at']:.0f}: {event['text'][-900:]}")
    return faults, kinds


#: All that a service may log: where it is, and what befell its disk, its processes and its collector.
_LOGGED = re.compile(
    r"Collecting at |Open the address in a browser|Shuffling at |Tasks that use it name its public key|[0-9a-f]{64}$"
    r"|(maintenance failed: |forwarding failed: )?the store takes no reports at the moment: (database or )?disk"
    r"|the store takes reports again|a batch of task \w+ waits: (status (None|503)|no answer of the collector: )"
    # granian says the last also of a worker that ended in time; one that did not is an error of `Service.stop`
    r"|\[ERROR\] Unexpected exit from worker|\[WARNING\] Killing worker-1 after it refused to gracefully stop"
    r"|(Error: )?data: process \d+ already keeps its reports|\s*$"
    r"|(Error: )?(data|output): cannot (keep|read|write) .*(disk is full|No space left on device|disk I/O error)"
)


def logs(folder: Path) -> list[str]:
    """No log has a traceback, and those of services have no line that is not on the list."""
    faults = []
    for file in sorted(folder.glob("*.log")):
        text = file.read_text(encoding="utf-8", errors="replace")
        own = file.stem != "spark" or re.search(r'File ".*/discreet/', text)  # Spark tells that Java is gone
        if own and "Traceback (most recent call last)" in text:
            at = text.index("Traceback (most recent call last)")
            faults.append(f"{file.name}: {text[at : at + 1500]}")
        if file.stem in ("collector", "shuffler", "studio"):
            faults += [f"{file.name}: {line}" for line in text.splitlines() if not _LOGGED.match(line)]
    return faults


def gaps(events: Events) -> list[str]:
    """A service that was away was killed or had no room, and came back in time."""
    faults = []
    for gap in events:
        if gap["kind"] != "gap":
            continue
        asked = {"since": gap["since"], "at": gap["at"]}
        hurt = any(_meanwhile(asked, events, "kill", AWAY, name) for name in (gap["service"], "collector"))
        if not hurt and not _meanwhile(asked, events, "full", AWAY):
            faults.append(f"{gap['service']} did not answer for {gap['seconds']:.0f} s, and nothing was done to it")
    return faults


def ends(events: Events) -> list[str]:
    """No service ends by itself, unless there is no room to start."""
    return [
        f"{event['service']} ended by itself with {event['code']} in second {event['at']:.0f}"
        for event in events
        if event["kind"] == "end" and not event["ours"]
        if not _meanwhile({**event, "since": event["at"] - AWAY / 4}, events, "full", 10.0)
    ]


# ---- memory


def slope(lives: Iterable[Sequence[tuple[float, float]]]) -> tuple[float, float, float]:
    """Return the growth that several lives share, in MiB per second, the seconds of the longest, and the mean MiB.

    Each life has a level of its own. Its first half is left out: pages load code when they are first asked for, and a
    leak goes on. Least squares.
    """
    above = below = longest = 0.0
    held: list[float] = []
    for life in lives:
        warm = max(WARM, (life[-1][0] - life[0][0]) / 2)
        kept = np.array([(at, mib) for at, mib in life if at - life[0][0] >= warm])
        if len(kept) < 3 or kept[-1, 0] - kept[0, 0] < LONG:
            continue
        at, mib = kept[:, 0] - kept[:, 0].mean(), kept[:, 1] - kept[:, 1].mean()
        above, below = above + float(at @ mib), below + float(at @ at)
        longest, held = max(longest, float(np.ptp(kept[:, 0]))), [*held, *kept[:, 1].tolist()]
    return (above / below if below else 0.0), longest, float(np.mean(held)) if held else 0.0


def flat(lives: Mapping[str, Iterable[Sequence[tuple[float, float]]]]) -> tuple[list[str], dict[str, Any]]:
    """Memory does not grow with time: less than a stated rate, in every service."""
    faults, told = [], {}
    for name, own in lives.items():
        rate, longest, mean = slope(own)
        told[name] = {"mib_per_hour": round(3600 * rate, 1), "longest_seconds": round(longest), "mean_mib": round(mean)}
        if not longest:
            faults.append(f"{name}: no life was long enough to see whether memory grows")
        elif rate * longest > LEAST and 3600 * rate > GROWTH:
            faults.append(f"{name}: memory grows by {3600 * rate:.0f} MiB per hour")
    return faults, told
