"""The verbs of `collect`: a service for the reports of many devices, its tasks, and what they add up to."""

import json
import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from discreet.cli.common import Json, console, epilog, show_files, show_table, warn
from discreet.core.schema import without_password
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument

collect = typer.Typer(
    name="collect",
    help="Local privacy as a service: ask devices, take their noisy reports in, read what they add up to.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
task = typer.Typer(
    name="task", help="What devices are asked: immutable, public, known by a digest.", no_args_is_help=True,
    rich_markup_mode="rich",
)  # fmt: skip
collect.add_typer(task)

Data = Annotated[Path, typer.Option(help="The folder of the collector.")]
_STORE = "DISCREET_STORE"


def _no_password(context: typer.Context, store: str | None) -> str | None:
    """Refuse a password on the command line: every user of the machine can read it in the list of processes."""
    source = context.get_parameter_source("store")
    bare = None if store is None else without_password(store)
    if bare is not None and bare != store and (source is None or source.name == "COMMANDLINE"):
        raise DataSourceError(
            "--store: every user of this machine can read a password on a command line; type --store "
            f"{shlex.quote(bare)} and set PGPASSWORD or write a .pgpass file, or put the whole address into {_STORE}"
        )
    return store


Kept = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", envvar=_STORE, callback=_no_password,
        help="Keep reports in PostgreSQL: postgresql://user@host/base; the password comes from PGPASSWORD or .pgpass.",
    ),
]  # fmt: skip
Digest = Annotated[str, typer.Argument(metavar="TASK", help="A digest, or its first characters (at least eight).")]
_FOLDER = Path("collected")


def _store(data: Path, store: str | None) -> Any:
    from discreet.collector import open_store

    if store is None and not data.is_dir():
        raise DataSourceError(
            f"data: there is no folder {str(data)!r}; discreet collect task create{_at(data, store)} makes one"
        )
    return open_store(store or data)


def _at(data: Path, store: str | None) -> str:
    """Return the options that lead to the same store again, for a line to be typed back; never a password."""
    if store is not None:
        return "" if store == os.environ.get(_STORE) else f" --store {shlex.quote(store)}"
    return "" if data == _FOLDER else f" --data {shlex.quote(str(data))}"


def _found(kept: Any, digest: str, data: Path, store: str | None) -> Any:
    """Return the task that is meant, or say how the tasks of this store are listed."""
    from discreet.collector import find_task

    try:
        return find_task(kept, digest)
    except DataSourceError as error:
        kept.shut()
        line = "discreet collect task list"
        raise DataSourceError(str(error).replace(line, line + _at(data, store))) from None


@collect.command(epilog=epilog("collect serve --data ./collected", "collect serve --data ./collected --port 9000"))
def serve(
    data: Data = _FOLDER,
    store: Kept = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; by default this machine alone can reach it.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.", min=1, max=65535)] = 8765,
    segments: Annotated[
        Path | None,
        typer.Option(help="Write reports as Parquet to this folder, for Spark to count, instead of counting."),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="The most reports of one task per second.", min=1)] = None,
    most_body: Annotated[int, typer.Option(help="The most bytes of one request.", min=64)] = 1 << 22,
    most_waiting: Annotated[int, typer.Option(help="The most bytes that wait to be written.", min=1024)] = 1 << 26,
    as_json: Json = False,
) -> None:
    """Take reports in until a signal ends it. An answer in the 200s means that a report is on the disk.

    Nothing is kept but noisy reports, their keys for the window that the task states, and counters.
    """
    from discreet.collector import Settings, serve

    settings = Settings(
        data=str(data), store=store, segments=None if segments is None else str(segments), host=host, port=port,
        rate=rate, most_body=most_body, most_waiting=most_waiting,
    )  # fmt: skip
    address = f"http://{host}:{port}"

    def told() -> None:
        if as_json:
            typer.echo(json.dumps({"address": address, "data": str(data), "token": str(data / "operator.token")}))
            return
        place = str(data) if store is None else without_password(store)
        console.print(f"[bold]Collecting[/] at [cyan]{address}[/], into [cyan]{escape(place)}[/].")
        console.print(
            "Open it in a browser for the dashboard; the password is in "
            f"[cyan]{escape(str(data / 'operator.token'))}[/]. Ctrl-C ends it.",
            soft_wrap=True,
        )
        if host not in ("127.0.0.1", "::1", "localhost"):
            warn(["others can reach this address: put a proxy with TLS in front of it (docs/collector.md)"])

    serve(settings, ready=told)


@collect.command(epilog=epilog("collect demo", "collect demo --data ./try-it --port 9000"))
def demo(
    data: Annotated[Path, typer.Option(help="Folder for what it collects.")] = Path("collector-demo"),
    epsilon: Annotated[float, typer.Option(help="Budget of one report.", min=0.01, max=20)] = 2.0,
    port: Annotated[int, typer.Option(help="The port.", min=1, max=65535)] = 8765,
    as_json: Json = False,
) -> None:
    """Watch a collector at work: a page plays 10,000 devices in your browser, and draws what is learnt from them."""
    from discreet.collector import Settings, open_store, serve, simulated_task

    asked = simulated_task(epsilon)
    store = open_store(data)
    store.create(asked)
    store.shut()
    settings = Settings(data=str(data), port=port, simulated=asked.digest)
    address = f"http://127.0.0.1:{port}"
    # What stands behind the # is not sent to anybody: the page reads it in the browser.
    page = f"{address}/demo#{settings.token()}"

    def told() -> None:
        if as_json:
            typer.echo(json.dumps({"page": page, "task": asked.digest, "data": str(data)}))
            return
        console.print("[bold]Open this in a browser:[/]")
        console.print(f"  {page}", soft_wrap=True, highlight=False)
        console.print(f"The dashboard is at [cyan]{address}[/] (password: what stands behind the #). Ctrl-C ends it.")

    serve(settings, ready=told)


@task.command(
    epilog=epilog(
        'collect task create --name "favourite colour" --epsilon 1 --domain colours.txt --wanted 100000',
        'collect task create --name "words" --epsilon 4 -m hadamard-sketch --candidates words.txt --wanted 1000000',
    )
)
def create(
    name: Annotated[str, typer.Option(help="What is asked, in a few words (required).")] = "",
    epsilon: Annotated[float | None, typer.Option(help="Budget of one report (required).")] = None,
    mechanism: Annotated[
        str, typer.Option("--mechanism", "-m", help="A name, or auto for the planner's choice.")
    ] = "auto",
    domain: Annotated[Path | None, typer.Option(help="The declared values: a file with one per line.")] = None,
    domain_size: Annotated[int | None, typer.Option(help="Number of values, if they are 0, 1, 2, ...", min=2)] = None,
    candidates: Annotated[
        Path | None, typer.Option(help="For sketches: the values that will be asked for, a file with one per line.")
    ] = None,
    public_file: Annotated[
        bool, typer.Option("--public-file", help="Name the file of candidates by its digest instead of listing them.")
    ] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Further parameters of the mechanism.")
    ] = None,
    per_day: Annotated[
        float | None, typer.Option(help="What a device may spend on this in a day; by default one report.")
    ] = None,
    wanted: Annotated[int, typer.Option(help="How many reports are needed.", min=1)] = 100_000,
    minimum: Annotated[
        int | None, typer.Option(help="Reports before anything is read; by default a hundredth of those wanted.", min=1)
    ] = None,
    opens: Annotated[str | None, typer.Option(help="When reports are taken from, in UTC; by default today.")] = None,
    closes: Annotated[str | None, typer.Option(help="When they end; by default 30 days after.")] = None,
    period: Annotated[int, typer.Option(help="Seconds of a batch: no finer time is kept.", min=60)] = 86_400,
    key_window: Annotated[
        int, typer.Option(help="Seconds for which repeated reports are recognised.", min=60)
    ] = 604_800,
    file: Annotated[Path | None, typer.Option(help="Take a task from a file instead.")] = None,
    data: Data = _FOLDER,
    store: Kept = None,
    as_json: Json = False,
) -> None:
    """Make a task. It can never be changed: another question, budget or time is another task."""
    from discreet.collector import open_store
    from discreet.local import Task

    if file is not None:
        try:
            made = Task.from_json(file.read_bytes().strip())
        except OSError as error:
            raise DataSourceError(f"file: cannot read {str(file)!r} ({error.strerror}); check the path") from None
    else:
        made = _task(
            name=name, epsilon=epsilon, mechanism=mechanism, domain=domain, domain_size=domain_size,
            candidates=candidates, public_file=public_file, settings=settings or [], per_day=per_day, wanted=wanted,
            minimum=minimum, opens=opens, closes=closes, period=period, key_window=key_window,
        )  # fmt: skip
    kept = open_store(store or data)
    others = [held for digest, held in kept.tasks().items() if digest != made.digest and held.task.name == made.name]
    new = kept.create(made)
    kept.shut()
    if as_json:
        typer.echo(json.dumps({"task": made.digest, "new": new, "description": made.to_dict()}, ensure_ascii=False))
        return
    console.print(f"[bold]The task.[/] {escape(made.name)}{'' if new else ' (it was there already)'}", soft_wrap=True)
    console.print(f"[cyan]{made.digest}[/]", soft_wrap=True)
    console.print(
        f"{made.mechanism.NAME}, epsilon {float(made.epsilon):g} per report and {float(made.per_day):g} per device and "
        f"day; open from {made.opens} to {made.closes}."
    )
    console.print("Pin this digest in your application: its clients then answer this task and no other.")
    if others:
        last = others[-1].task.digest
        warn([
            f"task {last[:12]} has the same name: a device that answered it refuses this one, unless the application "
            f"pins both as a list, the new one first and then {last}"
        ])  # fmt: skip
    console.print(
        f"A page that answers it: discreet collect client {made.digest[:8]}{_at(data, store)}", style="dim",
        soft_wrap=True, highlight=False,
    )  # fmt: skip


def _task(*, name: str, epsilon: Any, **given: Any) -> Any:
    """Make a task from options; times by default from today on."""
    from datetime import UTC, datetime, timedelta

    from discreet.jobs import SHELL, Job, spoken
    from discreet.jobs.work import build, read_lines
    from discreet.local import PublicFile, Task

    for option, value, fix in (("name", name, '"favourite colour"'), ("epsilon", epsilon, "1")):
        if not value:
            raise InvalidArgument(f"--{option}", value, "given", f"--{option} {fix}")
    parameters: dict[str, Any] = {"epsilon": epsilon, "mechanism": given["mechanism"], "reports": given["wanted"]}
    if given["domain"] is not None:
        parameters["domain"] = str(given["domain"])
    if given["domain_size"] is not None:
        parameters["domain_size"] = given["domain_size"]
    if given["settings"]:
        pairs = [pair.partition("=") for pair in given["settings"]]
        if any(not equals for _, equals, _ in pairs):
            raise InvalidArgument("--set", given["settings"][0], "NAME=VALUE", "--set width=1024")
        parameters["set"] = {key: value for key, _, value in pairs}
    if given["mechanism"] == "auto" and not {"domain", "domain_size"} & set(parameters):
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
        # The mechanism is chosen as a job of `sketch` would; its table is not read.
        return Task(
            build(Job("sketch", data="values.txt", parameters=parameters, outputs={"release": "reports.bin"})),
            name=name,
            per_day=epsilon if given["per_day"] is None else given["per_day"],
            wanted=given["wanted"],
            minimum=max(1, given["wanted"] // 100) if given["minimum"] is None else given["minimum"],
            opens=start,
            closes=later + timedelta(days=30) if given["closes"] is None else given["closes"],
            period=given["period"],
            key_window=given["key_window"],
            candidates=listed,
        )
    except DiscreetError as error:
        raise spoken(error, SHELL) from None
    except ValueError:
        raise InvalidArgument("--opens", given["opens"], "a time in UTC", "--opens 2026-11-16T00:00:00Z") from None


@task.command("list", epilog=epilog("collect task list", "collect task list --json"))
def listed(data: Data = _FOLDER, store: Kept = None, as_json: Json = False) -> None:
    """List the tasks, and how many reports of each have come."""
    from discreet.collector import standing

    kept = _store(data, store)
    found = [standing(kept, digest) for digest in kept.tasks()]
    kept.shut()
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    heads = ("task", "name", "mechanism", "epsilon", "reports", "closes")
    rows = [
        [t["task"][:12], t["name"], t["mechanism"], f"{t['epsilon_per_report']:g}", f"{t['reports']:,}",
         "closed" if t["closed"] else t["closes"][:10]]
        for t in found
    ]  # fmt: skip
    show_table("Tasks", heads, rows, right=("epsilon", "reports"))


@task.command(epilog=epilog("collect task show 3f2a91c0", "collect task show 3f2a91c0 --json > task.json"))
def show(digest: Digest, data: Data = _FOLDER, store: Kept = None, as_json: Json = False) -> None:
    """Show what devices are asked, word for word. With --json, the text whose SHA-256 is the digest."""
    kept = _store(data, store)
    found = _found(kept, digest, data, store)
    kept.shut()
    if as_json:
        typer.echo(found.task.to_json())
        return
    facts = found.task.to_dict()
    rows = [[key, json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)]
            for key, value in facts.items()]  # fmt: skip
    rows = [[key, text if len(text) <= 300 else f"{text[:300]}..."] for key, text in rows]
    show_table(f"Task {found.task.digest}", ("field", "value"), rows, prose=("value",))


@task.command(epilog=epilog("collect task close 3f2a91c0"))
def close(digest: Digest, data: Data = _FOLDER, store: Kept = None, as_json: Json = False) -> None:
    """Take no more reports of a task. What came can still be read; a task cannot be opened again."""
    kept = _store(data, store)
    found = _found(kept, digest, data, store)
    kept.close_task(found.task.digest)
    kept.shut()
    if as_json:
        typer.echo(json.dumps({"task": found.task.digest, "closed": True}))
        return
    console.print(f"[bold]Closed:[/] {escape(found.task.name)}. A collector that runs knows it within a second.")


@collect.command(epilog=epilog("collect estimate 3f2a91c0", "collect estimate 3f2a91c0 --top 5 --json"))
def estimate(
    digest: Digest,
    candidates: Annotated[Path | None, typer.Option(help="Values to ask for, a file with one per line.")] = None,
    segments: Annotated[Path | None, typer.Option(help="Count the segments in this folder instead.")] = None,
    counts_file: Annotated[
        Path | None,
        typer.Option("--counts", help="Write the counts to a file, for discreet report and audit."),
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="How many to show, largest first; by default 20, and all with --json.", min=1)
    ] = None,
    data: Data = _FOLDER,
    store: Kept = None,
    as_json: Json = False,
) -> None:
    """Estimate how many devices hold each value, with intervals. This costs no privacy; the collector may run on."""
    from discreet.collector import read
    from discreet.collector.stores import count
    from discreet.jobs.work import read_lines

    kept = _store(data, store)
    found = _found(kept, digest, data, store)
    counts = None if segments is None else count(found.task, segments)
    asked = None if candidates is None else read_lines(candidates)
    facts = read(kept, found.task.digest, candidates=asked, counts=counts)
    if counts_file is not None:
        whole = list((kept.counts(found.task.digest) if counts is None else counts).values())
        sum(whole[1:], whole[0]).save(counts_file)
    kept.shut()
    rows = sorted(facts["estimates"], key=lambda one: -one["count"])[: top or 20]
    if as_json:
        if top is not None:
            names = {one["candidate"] for one in rows}
            facts["estimates"] = rows
            for day in facts["periods"]:
                if "estimates" in day:
                    day["estimates"] = [one for one in day["estimates"] if one["candidate"] in names]
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    shown = [
        [str(r["candidate"]), f"{r['count']:,.0f}", f"{r['lower']:,.0f} to {r['upper']:,.0f}",
         "may be noise" if r["may_be_noise"] else ""]
        for r in rows
    ]  # fmt: skip
    show_table(f"{facts['name']}, {facts['reports']:,} reports", ("value", "devices", "95 % interval", ""), shown,
               right=("devices", "95 % interval"))  # fmt: skip
    days = [[one["from"], f"{one['reports']:,}", "" if one["enough"] else "not read alone"] for one in facts["periods"]]
    show_table("Reports over time", ("from", "reports", ""), days, right=("reports",))
    if facts["refused"]:
        told = ", ".join(f"{n:,} ({reason})" for reason, n in facts["refused"].items())
        console.print(f"[bold]Refused:[/] {told}.", soft_wrap=True)
    for line in facts["caveats"]:
        console.print(f"[dim]{escape(line)}[/]")
    show_files(counts_file)


@collect.command(
    epilog=epilog("collect client 3f2a91c0", "collect client 3f2a91c0 -o page --url https://collector.example")
)
def client(
    digest: Digest,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the page.")] = Path("page"),
    url: Annotated[str, typer.Option(help="Where devices find the collector.")] = "http://127.0.0.1:8765",
    data: Data = _FOLDER,
    store: Kept = None,
    as_json: Json = False,
) -> None:
    """Write a small web page that answers a task, with its digest pinned: the JavaScript client, ready to be changed.

    The collector does not serve it: an application brings its own client, because to a device the collector is the
    adversary.
    """
    from discreet.collector import starter
    from discreet.core import write_whole

    kept = _store(data, store)
    asked = _found(kept, digest, data, store).task
    kept.shut()
    made = starter(asked, url)
    taken = [name for name in made if (output / name).exists()]
    if taken:
        raise DataSourceError(
            f"output: {str(output / taken[0])!r} is there already; name another folder, such as -o {output.name}-2"
        )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataSourceError(f"output: cannot make {str(output)!r} ({error.strerror}); name another folder") from None
    for name, content in made.items():
        write_whole(output / name, content)
    if as_json:
        typer.echo(json.dumps({"folder": str(output), "files": sorted(made), "task": asked.digest}))
        return
    show_files(*(output / name for name in made))
    line = f"python -m http.server -b 127.0.0.1 -d {shlex.quote(str(output))} 8000"
    console.print(f"Try it, while the collector runs: [cyan]{escape(line)}[/]", soft_wrap=True, highlight=False)
    console.print("Then open [cyan]http://127.0.0.1:8000[/] in a browser.")


@collect.command(epilog=epilog("collect backup saturday.sqlite", "collect backup saturday.sqlite --data ./collected"))
def backup(
    target: Annotated[Path, typer.Argument(help="A file that is not there yet.", show_default=False)],
    data: Data = _FOLDER,
    as_json: Json = False,
) -> None:
    """Copy the store of a collector while it runs: all that was acknowledged before, and nothing half.

    To restore, stop the collector, put the file in the place of collected.sqlite, and remove collected.sqlite-wal and
    collected.sqlite-shm beside it.
    A store in PostgreSQL is copied with pg_dump.
    """
    from discreet.core import check_place

    check_place(target)
    kept = _store(data, None)
    kept.backup(target)
    kept.shut()
    if as_json:
        typer.echo(json.dumps({"file": str(target), "bytes": target.stat().st_size}))
        return
    show_files(target)
