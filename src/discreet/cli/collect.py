"""The verbs of `collect`: a service that collects randomised reports from many devices."""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from discreet.cli.common import app, console, echo, group, show_files, show_table, warn
from discreet.cli.verbs import verb
from discreet.core import ends_of
from discreet.core.schema import without_password
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument
from discreet.jobs import EPSILON, declared, option
from discreet.jobs.kinds import KINDS

collect = group("collect", "Collect randomised reports from devices, and estimate frequencies from them.", app)
task = group("task", "Manage tasks: what devices are asked. A task is public and never changes.", collect)

_STORE, _FOLDER = "DISCREET_STORE", "collected"
DATA = option("data", "folder", "Folder of the collector.", _FOLDER, default=_FOLDER)
STORE = option(
    "store", "text", f"Keep reports in PostgreSQL at postgresql://user@host/base; by default taken from {_STORE}. The "
    "password comes from PGPASSWORD or .pgpass.", "postgresql://user@host/base",
)  # fmt: skip
TASK = option("task", "text", "Digest of the task, or its first eight characters or more.", "3f2a91c0", required=True,
    positional=True)  # fmt: skip
PORT = option("port", "whole", "Port.", 8765, default=8765, low=1, high=65535)
HOST = option("host", "text", "Address to listen on; by default, only this machine can reach it.", "0.0.0.0",
    default="127.0.0.1")  # fmt: skip
RATE = option("rate", "number", "Maximum number of reports per task and second.", 1000, low=1)
MAX_WAITING = option(
    "max_waiting", "whole", "Maximum bytes that wait to be written.", 1 << 26, default=1 << 26, low=1024
)


def _address(store: str | None) -> str | None:
    """Return the address of the store; refuse a password on the command line, which every user can read."""
    bare = None if store is None else without_password(store)
    if bare is not None and bare != store:
        raise DataSourceError(
            "--store: every user of this machine can read a password on a command line; type --store "
            f"{shlex.quote(bare)} and set PGPASSWORD or write a .pgpass file, or put the whole address into {_STORE}"
        )
    return store or os.environ.get(_STORE)


@contextmanager
def _store(
    data: Path, store: str | None, elsewhere: str = f"--store or {_STORE} names one in PostgreSQL"
) -> Iterator[Any]:
    from discreet.collector import open_store

    address = _address(store)
    absent = f"discreet collect task create{_at(data, store)} makes one, and {elsewhere}"
    kept = open_store(address or data, absent=absent)
    try:
        yield kept
    finally:
        kept.shut()


def _at(data: Path, store: str | None) -> str:
    """Return the options that lead to the same store again; never a password."""
    if _address(store) is not None:
        return "" if store is None else f" --store {shlex.quote(store)}"
    return "" if data == Path(_FOLDER) else f" --data {shlex.quote(str(data))}"


def _found(kept: Any, digest: str, data: Path, store: str | None) -> Any:
    """Return a task, or say how to list the tasks of this store."""
    from discreet.collector import find_task

    try:
        return find_task(kept, digest)
    except DataSourceError as error:
        line = "discreet collect task list"
        raise DataSourceError(str(error).replace(line, line + _at(data, store))) from None


@verb(
    collect,
    DATA,
    STORE,
    HOST,
    PORT,
    option("segments", "folder", "Write reports as Parquet to this folder instead of counting them.", "segments"),
    RATE,
    option("max_body", "whole", "Maximum bytes per request.", 1 << 22, default=1 << 22, low=64),
    MAX_WAITING,
    examples=("collect serve --data ./collected", "collect serve --data ./collected --port 9000"),
)  # fmt: skip
def serve(
    *, data: Path, store: str | None, host: str, port: int, segments: Path | None, rate: float | None, max_body: int,
    max_waiting: int, as_json: bool,
) -> None:  # fmt: skip
    """Run the collector until it is interrupted. It acknowledges a report after writing it to disk.

    About devices it keeps noisy reports, counters, and for a limited time keys that detect repeated reports.
    """
    from discreet.collector import Settings, missing_keys, serve

    place = _address(store)
    settings = Settings(
        data=str(data), store=place, segments=None if segments is None else str(segments), host=host, port=port,
        rate=rate, most_body=max_body, most_waiting=max_waiting,
    )  # fmt: skip
    address = f"http://{host}:{port}"

    def told() -> None:
        with _store(data, store) as kept:
            absent = missing_keys(data, kept)
        if as_json:
            echo({"address": address, "data": str(data), "token": str(data / "operator.token"), "warnings": absent})
            return
        shown = str(data) if place is None else without_password(place)
        console.print(f"[bold]Collecting[/] at [cyan]{address}[/], into [cyan]{escape(shown)}[/].")
        console.print(
            "Open the address in a browser for the dashboard. The password is in "
            f"[cyan]{escape(str(data / 'operator.token'))}[/]. Ctrl-C stops the collector.",
            soft_wrap=True,
        )
        if host not in ("127.0.0.1", "::1", "localhost"):
            warn(["others can reach this address: put a proxy with TLS in front of it (docs/collector.md)"])
        warn(absent)

    serve(settings, ready=told)


@verb(
    collect,
    option("to", "text", "Address of the collector.", "https://collector.example", required=True),
    declared("data", DATA, help="Folder of the shuffler.", example="shuffled", default="shuffled"),
    HOST,
    declared("port", PORT, default=8766, example=8766),
    RATE,
    MAX_WAITING,
    examples=(
        "collect shuffle --to https://collector.example",
        "collect shuffle --to http://127.0.0.1:8765 --port 9001",
    ),
)
def shuffle(*, to: str, data: Path, host: str, port: int, rate: float | None, max_waiting: int, as_json: bool) -> None:
    """Run a shuffler: it mixes sealed reports in batches, so the collector cannot tell who sent which.

    Someone else than the operator of the collector must run it. It can read nothing, and keeps no addresses.
    """
    from discreet.collector import Settings, sealing_keys, serve

    if to.partition("://")[0].lower() not in ("http", "https"):
        raise InvalidArgument("--to", to, "the address of a collector", "--to https://collector.example")
    key = list(sealing_keys(data) or sealing_keys(data, new=True))[-1]
    settings = Settings(data=str(data), host=host, port=port, rate=rate, most_waiting=max_waiting, to=to.rstrip("/"))

    def told() -> None:
        if as_json:
            echo({"address": f"http://{host}:{port}", "data": str(data), "to": to, "key": key})
            return
        console.print(
            f"[bold]Shuffling[/] at [cyan]http://{host}:{port}[/], for the collector at [cyan]{escape(to)}[/]."
        )
        console.print(f"Tasks that use it name its public key (--shuffler):\n[cyan]{key}[/]", soft_wrap=True)

    serve(settings, ready=told)


@verb(
    collect,
    option("new", "flag", "Make a new key, for tasks created from now on.", True),
    declared("data", DATA, help="Folder of the collector or the shuffler."),
    examples=("collect key", "collect key --data ./shuffled", "collect key --new"),
)
def key(*, new: bool, data: Path) -> Iterator[Any]:
    """Print the public sealing keys of a collector or a shuffler, the newest last; the first call makes one.

    Tasks name these keys. The private keys are in sealing.keys in the folder. Back that file up, and remove the line of
    an old key when its tasks are closed.
    """
    from discreet.collector import sealing_keys

    found = list((sealing_keys(data) if not new else None) or sealing_keys(data, new=True))
    yield {"keys": found, "file": str(data / "sealing.keys")}
    for one in found:
        typer.echo(one)


@verb(
    collect,
    option("data", "folder", "Folder for the reports.", "try-it", default="collector-demo"),
    option("epsilon", "number", "Privacy budget of one report.", 2.0, default=2.0, low=0.01, high=20),
    PORT,
    examples=("collect demo", "collect demo --data ./try-it --port 9000"),
)
def demo(*, data: Path, epsilon: float, port: int, as_json: bool) -> None:
    """Watch a collector at work: a page simulates 10,000 devices in your browser and shows the estimates."""
    from discreet.collector import Settings, open_store, serve, simulated_task

    asked = simulated_task(epsilon)
    store = open_store(data)
    store.create(asked)
    store.shut()
    settings = Settings(data=str(data), port=port, simulated=asked.digest)
    address = f"http://127.0.0.1:{port}"
    # Browsers do not send the part after #; the page reads it.
    page = f"{address}/demo#{settings.token()}"

    def told() -> None:
        if as_json:
            echo({"page": page, "task": asked.digest, "data": str(data)})
            return
        console.print("[bold]Open this page in a browser:[/]")
        console.print(f"  {page}", soft_wrap=True, highlight=False)
        console.print(f"The dashboard is at [cyan]{address}[/]; its password is the part after the #. Ctrl-C stops it.")

    serve(settings, ready=told)


_SKETCH = {name: KINDS["sketch"].option(name) for name in ("mechanism", "domain", "domain_size", "set", "yes_really")}


@verb(
    task,
    option("name", "text", "The question, in a few words.", "favourite colour"),
    declared("epsilon", EPSILON, takes=("number",), low=1e-6, high=200, help="Privacy budget of one report.",
        required=False),
    _SKETCH["yes_really"],
    declared("mechanism", _SKETCH["mechanism"], help="Name of a mechanism; auto chooses the most accurate."),
    declared("domain", _SKETCH["domain"], takes=("file",), example="colours.txt",
        help="The declared values: a file with one per line."),
    _SKETCH["domain_size"],
    option("candidates", "file", "For sketches: the values to estimate, a file with one per line.", "words.txt"),
    option("public_file", "flag", "Store the digest of the file of candidates, instead of the candidates.", True),
    _SKETCH["set"],
    option("per_day", "number", "Maximum budget per device and day; by default one report.", 2, above=0),
    option("wanted", "whole", "Number of reports wanted.", 100_000, default=100_000, low=1),
    option("minimum", "whole", "Fewest reports before anything is read; by default 1 % of those wanted.", 1000, low=1),
    option("opens", "text", "Time of the first report, in UTC; by default today.", "2026-11-16T00:00:00Z"),
    option("closes", "text", "Time of the last report; by default 30 days later.", "2026-12-16T00:00:00Z"),
    option("period", "whole", "Length of a batch in seconds. Counts have no finer time.", 86_400, default=86_400,
        low=60),
    option("key_window", "whole", "Seconds during which repeated reports are detected.", 604_800, default=604_800,
        low=60),
    option("shuffler", "text", "Public key of a shuffler: reports reach the collector through it alone.", "9f3c..."),
    option("batch", "whole", "With --shuffler: fewest reports that are forwarded together.", 2000, default=2000, low=2),
    option("honest", "whole", "With --shuffler: devices of a batch that are assumed to be honest.", 1000, low=2),
    option("delta", "number", "With --shuffler: probability that the amplified promise may fail.", 1e-6, default=1e-6,
        above=0, below=1),
    option("longest_wait", "whole", "With --shuffler: seconds until a batch that is too small is deleted.", 86_400,
        default=86_400, low=1),
    option("file", "file", "Take the task from a file instead.", "task.json"),
    DATA,
    STORE,
    examples=(
        'collect task create --name "favourite colour" --epsilon 1 --domain colours.txt --wanted 100000',
        'collect task create --name "words" --epsilon 4 -m hadamard-sketch --candidates words.txt --wanted 1000000',
    ),
)  # fmt: skip
def create(*, file: Path | None, data: Path, store: str | None, **given: Any) -> Iterator[Any]:
    """Create a task. It cannot be changed: another question, budget or time needs another task.

    To find words that no one listed, use -m prefix-extension --set pool=4096. Words are spelled with letters, digits,
    point and minus (--set alphabet=) and cut after 10 characters (--set length=).
    """
    from discreet.collector import open_store
    from discreet.core import read_whole
    from discreet.jobs.work import spelling
    from discreet.local import Task

    if file is not None:
        made = Task.from_json(read_whole(file, "file").strip())
    else:
        made = _task(shuffle=_shuffle(data, **given), **given)
    now = datetime.now(UTC)
    if datetime.fromisoformat(made.closes) <= now:
        fix = f"--closes {now + timedelta(days=30):%Y-%m-%dT00:00:00Z}"
        raise InvalidArgument("--closes", made.closes, "in the future: a task that is over takes no reports", fix)
    kept = open_store(_address(store) or data)
    others = [held for digest, held in kept.tasks().items() if digest != made.digest and held.task.name == made.name]
    new = kept.create(made)
    kept.shut()
    yield {"task": made.digest, "new": new, "description": made.to_dict()}
    console.print(f"[bold]Task[/] {escape(made.name)}{'' if new else ' (already there)'}", soft_wrap=True)
    console.print(f"[cyan]{made.digest}[/]", soft_wrap=True)
    console.print(
        f"{made.mechanism.NAME}, epsilon {float(made.epsilon):g} per report and {float(made.per_day):g} per device and "
        f"day; open from {made.opens} to {made.closes}."
    )
    if said := spelling(made.mechanism):
        console.print(escape(f"{said}. Longer values are cut; --set alphabet= and --set length= change this."))
    if made.shuffle is not None:
        from discreet.collector import shuffled_promise

        for line in shuffled_promise(made)["sentences"]:
            console.print(line)
    console.print("Put this digest into your application. Its clients then answer this task and no other.")
    if others:
        last = others[-1].task.digest
        warn([
            f"task {last[:12]} has the same name: a device that answered it refuses this one, unless the application "
            f"lists both, the new one first and then {last}"
        ])  # fmt: skip
    console.print(
        f"A page that answers it: discreet collect client {made.digest[:8]}{_at(data, store)}", style="dim",
        soft_wrap=True, highlight=False,
    )  # fmt: skip


def _shuffle(data: Path, *, shuffler: str | None, honest: int | None, **given: Any) -> Any:
    """Return how reports are mixed; None without a shuffler."""
    from discreet.collector import sealing_keys
    from discreet.local import Shuffle

    if shuffler is None:
        if honest is not None:
            raise InvalidArgument("--honest", honest, "used with --shuffler, the public key of a shuffler")
        return None
    if honest is None:
        fix = f"--honest {given['batch'] // 2}"
        raise InvalidArgument("--honest", None, "given: how many devices of a batch are assumed to be honest", fix)
    key = list(sealing_keys(data) or sealing_keys(data, new=True))[-1]
    chosen = {name: given[name] for name in ("batch", "delta", "longest_wait")}
    made = Shuffle(honest=honest, shuffler=shuffler, collector=key, **chosen)
    if not made.usable("00" * 32):
        fix = "--shuffler the line that discreet collect key prints"
        raise InvalidArgument("--shuffler", shuffler, "a key that can seal: devices refuse this one", fix)
    return made


def _task(*, name: str | None, epsilon: Any, **given: Any) -> Any:
    """Make a task from options; by default it opens today."""
    from discreet.collector import labels_in_a_file
    from discreet.jobs import Job
    from discreet.jobs.work import build, read_lines
    from discreet.local import PublicFile, Task

    for asked, value, fix in (("name", name, '"favourite colour"'), ("epsilon", epsilon, "1")):
        if not value:
            raise InvalidArgument(f"--{asked}", value, "given", f"--{asked} {fix}")
    parameters: dict[str, Any] = {"epsilon": epsilon, "reports": given["wanted"]}
    for each in _SKETCH:
        if given[each] is not None:
            parameters[each] = str(given[each]) if isinstance(given[each], Path) else given[each]
    if given["mechanism"] == "auto" and not {"domain", "domain_size", "set"} & set(parameters):
        raise InvalidArgument("--domain", None, "given for an automatic choice", "--domain colours.txt")
    listed: Any = None
    if given["candidates"] is not None:
        listed = read_lines(given["candidates"])
        if given["public_file"]:
            listed = PublicFile.of(given["candidates"].name, given["candidates"].read_bytes())
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        start = today if given["opens"] is None else given["opens"]
        later = today if given["opens"] is None else datetime.fromisoformat(given["opens"])
        # The mechanism is chosen as in a `sketch` job, whose table is not read.
        job = Job("sketch", data="values.txt", parameters=parameters, outputs={"release": "reports.bin"})
        made = Task(
            build(job, without=("fragment-puzzle",)),
            name=str(name),
            per_day=epsilon if given["per_day"] is None else given["per_day"],
            wanted=given["wanted"],
            minimum=max(1, given["wanted"] // 100) if given["minimum"] is None else given["minimum"],
            opens=start,
            closes=later + timedelta(days=30) if given["closes"] is None else given["closes"],
            period=given["period"],
            key_window=given["key_window"],
            candidates=listed,
            shuffle=given["shuffle"],
        )
        if labels_in_a_file(made):
            made.named(given["candidates"].read_bytes())  # refuses a file without one label for each value
        return made
    except DiscreetError:
        raise
    except (ValueError, OverflowError):  # 30 days after the last day that has a name
        raise InvalidArgument("--opens", given["opens"], "a time in UTC", "--opens 2026-11-16T00:00:00Z") from None


@verb(task, DATA, STORE, name="list", examples=("collect task list", "collect task list --json"))
def listed(*, data: Path, store: str | None) -> Iterator[Any]:
    """List the tasks with their numbers of reports."""
    from discreet.collector import standing

    with _store(data, store) as kept:
        found = [standing(kept, digest) for digest in kept.tasks()]
    yield found
    heads = ("task", "name", "mechanism", "epsilon", "reports", "closes")
    rows = [
        [t["task"][:12], t["name"], t["mechanism"], f"{t['epsilon_per_report']:g}", f"{t['reports']:,}",
         "closed" if t["closed"] else t["closes"][:10]]
        for t in found
    ]  # fmt: skip
    show_table("Tasks", heads, rows, right=("epsilon", "reports"))


@verb(task, TASK, DATA, STORE, examples=("collect task show 3f2a91c0", "collect task show 3f2a91c0 --json > task.json"))
def show(*, task: str, data: Path, store: str | None, as_json: bool) -> None:
    """Show what devices are asked. With --json, prints the exact text whose SHA-256 is the digest."""
    import json

    with _store(data, store) as kept:
        found = _found(kept, task, data, store)
    if as_json:
        typer.echo(found.task.to_json(), nl=sys.stdout.isatty())  # a newline in a pipe would give another digest
        return
    facts = found.task.to_dict()
    rows = [[key, json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)]
            for key, value in facts.items()]  # fmt: skip
    rows = [[key, text if len(text) <= 300 else f"{text[:300]}..."] for key, text in rows]
    show_table(f"Task {found.task.digest}", ("field", "value"), rows, prose=("value",))


@verb(task, TASK, DATA, STORE, examples=("collect task close 3f2a91c0",))
def close(*, task: str, data: Path, store: str | None) -> Iterator[Any]:
    """Take no more reports for a task. Its reports can still be read. It cannot be opened again."""
    with _store(data, store) as kept:
        found = _found(kept, task, data, store)
        kept.close_task(found.task.digest)
    yield {"task": found.task.digest, "closed": True}
    console.print(f"[bold]Closed:[/] {escape(found.task.name)}. A running collector notices within a second.")


@verb(
    collect,
    TASK,
    option("candidates", "file", "Values to estimate, a file with one per line.", "words.txt"),
    option("segments", "folder", "Count the segments in this folder, and the log of the collector.", "segments"),
    option("counts", "output", "Write the counts to a file, for 'discreet report' and 'discreet audit'.", "counts.bin"),
    option("top", "whole", "Number of values to show, largest first; by default 20, and all with --json.", 5, low=1),
    option("quantiles", "numbers", "Quantiles of a distribution to show; by default 0.05,0.25,0.5,0.75,0.95.",
        [0.5, 0.99], low=0, high=1),
    DATA,
    STORE,
    examples=("collect estimate 3f2a91c0", "collect estimate 3f2a91c0 --top 5 --json"),
)  # fmt: skip
def estimate(
    *, task: str, candidates: Path | None, segments: Path | None, counts: Path | None, top: int | None,
    quantiles: Any, data: Path, store: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Estimate how many reports come from holders of each value, or how a number is distributed, with intervals.

    Costs no privacy; the collector may keep running.
    """
    from discreet.collector import QUANTILES, labels_in_a_file, numbers_table, read, short, standing
    from discreet.collector.stores import count
    from discreet.core import read_whole
    from discreet.jobs.work import read_lines

    with _store(data, store) as kept:
        found = _found(kept, task, data, store)
        # Read before the segments: what is moved meanwhile is in both, and counted once.
        log = {} if segments is None else kept.log_of(found.task.digest)
        counted = None if segments is None else count(found.task, segments, log=log)
        asked: Any = None
        if candidates is not None:
            in_a_file = labels_in_a_file(found.task)
            asked = read_whole(candidates, "candidates") if in_a_file else read_lines(candidates)
        levels = QUANTILES if quantiles is None else quantiles
        facts = read(kept, found.task.digest, candidates=asked, counts=counted, quantiles=levels)
        if quantiles is not None and "quantiles" not in facts:
            raise InvalidArgument("--quantiles", quantiles, "used with a task about the distribution of a number")
        waiting = sum(map(len, log.values()))
        own = 0 if segments is None or kept.moves_to else standing(kept, found.task.digest)["reports"] - waiting
        for n, told in (
            (waiting, "of these reports are in no segment yet, but in the collector's log"),
            (own, "reports that this collector counted itself are not included"),
        ):
            facts["caveats"][:0] = [f"{n:,} {told}."] if n else []
        if counts is not None:
            whole = list((kept.counts(found.task.digest) if counted is None else counted).values())
            sum(whole[1:], whole[0]).save(counts)
    rows = sorted(facts.get("estimates", ()), key=lambda one: -one["count"])[: top or 20]
    if facts.get("ordered"):
        rows = [one for one in facts["estimates"] if one in rows]
    if as_json:
        if top is not None and rows:
            names = {one["candidate"] for one in rows}
            facts["estimates"] = rows
            for day in facts["periods"]:
                if "estimates" in day:
                    day["estimates"] = [one for one in day["estimates"] if one["candidate"] in names]
        echo(facts)
        return
    shown = [
        [str(r["candidate"]), f"{r['count']:,.0f}", ends_of(r["lower"], r["upper"]),
         "may be noise" if r["may_be_noise"] else ""]
        for r in rows
    ]  # fmt: skip
    title, right = f"{facts['name']}, {facts['reports']:,} reports", ("reports", "95 % interval")
    if "mean" in facts:
        show_table(title, ("", "estimate", right[1]), numbers_table(facts), right=("estimate", right[1]))
        shown = [
            [f"{short(r['from'])} to {short(r['to'])}", f"{100 * r['share']:.1f} %",
             f"{100 * r['lower']:.1f} to {100 * r['upper']:.1f} %", ""]
            for r in facts.get("histogram", ())
        ]  # fmt: skip
        title = "Distribution"
    if shown or "mean" not in facts:
        show_table(title, ("value", *right, ""), shown, right=right)
    days = [[one["from"], f"{one['reports']:,}", "" if one["enough"] else "too few"] for one in facts["periods"]]
    show_table("Reports over time", ("from", "reports", ""), days, right=("reports",))
    if facts["refused"]:
        told = ", ".join(f"{n:,} ({reason})" for reason, n in facts["refused"].items())
        console.print(f"[bold]Refused:[/] {told}.", soft_wrap=True)
    if mixed := facts.get("shuffled"):
        for line in mixed["sentences"]:
            console.print(line)
        if mixed["lost"]:
            warn([f"the shuffler deleted {mixed['lost']:,} reports, in batches that stayed too small or came too late"])
    for line in facts["caveats"]:
        console.print(f"[dim]{escape(line)}[/]")
    show_files(counts)


@verb(
    collect,
    TASK,
    option("output", "folder", "Folder for the page.", "page", default="page", short="-o"),
    option("url", "text", "Address at which devices reach the collector, or the task's shuffler; by default on this "
        "machine.", "https://collector.example"),
    DATA,
    STORE,
    examples=("collect client 3f2a91c0", "collect client 3f2a91c0 -o page --url https://collector.example"),
)  # fmt: skip
def client(*, task: str, output: Path, url: str | None, data: Path, store: str | None) -> Iterator[Any]:
    """Write a small web page that answers a task: the JavaScript client, with the digest of the task inside.

    The collector does not serve the page. Devices must not trust the collector, so the application brings the client.
    """
    from discreet.collector import starter
    from discreet.core import write_whole
    from discreet.local import PublicFile

    with _store(data, store) as kept:
        asked = _found(kept, task, data, store).task
    made = starter(asked, url or f"http://127.0.0.1:{8765 if asked.shuffle is None else 8766}")
    taken = [name for name in made if (output / name).exists()]
    if taken:
        raise DataSourceError(
            f"output: {str(output / taken[0])!r} already exists; name another folder, such as -o {output.name}-2"
        )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataSourceError(f"output: cannot make {str(output)!r} ({error.strerror}); name another folder") from None
    for name, content in made.items():
        write_whole(output / name, content)
    yield {"folder": str(output), "files": sorted(made), "task": asked.digest}
    show_files(*(output / name for name in made))
    if isinstance(asked.candidates, PublicFile):
        told = f"Copy the task's file {asked.candidates.name!r} into this folder, too: the page reads it."
        console.print(told, soft_wrap=True, highlight=False)
    line = f"python -m http.server -b 127.0.0.1 -d {shlex.quote(str(output))} 8000"
    console.print(f"To try it while the collector runs: [cyan]{escape(line)}[/]", soft_wrap=True, highlight=False)
    console.print("Then open [cyan]http://127.0.0.1:8000[/] in a browser.")


@verb(
    collect,
    option("target", "output", "The copy, a new file.", "saturday.sqlite", required=True, positional=True),
    DATA,
    examples=("collect backup saturday.sqlite", "collect backup saturday.sqlite --data ./collected"),
)
def backup(*, target: Path, data: Path) -> Iterator[Any]:
    """Copy the store of a running collector, with every report that was acknowledged before.

    To restore it, stop the collector, replace collected.sqlite by the copy, and remove collected.sqlite-wal and
    collected.sqlite-shm next to it. For a store in PostgreSQL, use pg_dump.
    """
    from discreet.core import check_place

    check_place(target)
    if (data / "shuffled.sqlite").exists() and not (data / "collected.sqlite").exists():
        raise DataSourceError(
            f"data: {str(data)!r} is the folder of a shuffler, whose store must not be restored from a copy: it would "
            "take frames again that it forgot (docs/shuffler.md); copy its sealing.keys, or name the collector's folder"
        )
    address = _address(None) or ""
    if address.startswith("postgres"):
        raise DataSourceError(f"{_STORE} names a PostgreSQL; copy it with pg_dump --schema=discreet, or unset {_STORE}")
    with _store(data, None, "pg_dump copies a store in PostgreSQL") as kept:
        kept.backup(target)
    yield {"file": str(target), "bytes": target.stat().st_size}
    show_files(target)
