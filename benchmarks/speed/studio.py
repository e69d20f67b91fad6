"""How long every page of the studio takes with a table of 200 columns and ten million rows, and what memory it takes.

    python -m benchmarks.speed.studio --rows 10000000 --columns 200

A server of its own process, as `discreet studio` starts it; pages are asked for over the loopback, one after the other,
each for the first time and then again. The table is Parquet, written before; its schema is complete, so that every
screen has all of it to show. Nothing is released here. All times are of the whole page, to its last byte; beside them
stands what the server's processors worked for it, which other programs on the machine change less.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._bench import save, show
from discreet.studio.app import SCREENS
from discreet.studio.workspace import Workspace

#: Rows of a group in the file.
GROUP = 100_000


def main() -> None:
    """Measure, show and save."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--again", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="leave the table in the temporary folder, and use it again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(tempfile.gettempdir() if given.keep else folder)
        table = place / f"people-{given.rows}-{given.columns}.parquet"
        if not table.exists():
            write_table(table, given.rows, given.columns)
        lines, facts = measure(Path(folder) / "home", table, given.columns, given.again)
    names = ["page", "first_s", "first_cpu_s", "median_s", "longest_s", "kb"]
    show(
        f"Pages of {given.columns} columns and {given.rows:,} rows", names, [[line[n] for n in names] for line in lines]
    )
    save("studio", {"rows": given.rows, "columns": given.columns, **facts, "pages": lines}, "granian", "starlette")


def write_table(place: Path, rows: int, columns: int) -> None:
    """Write small whole numbers, the same group of rows again and again."""
    rng = np.random.default_rng(1)
    group = pa.table({f"answer_{i}": rng.integers(0, 4, GROUP, dtype=np.int8) for i in range(columns)})
    with pq.ParquetWriter(place, group.schema, compression="snappy") as writer:
        for _ in range(max(rows // GROUP, 1)):
            writer.write_table(group, row_group_size=GROUP)


def measure(home: Path, table: Path, columns: int, again: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Ask for every page of a project, and how much memory the server held at most."""
    project = Workspace(home).create(source=str(table), goal="synthesize", parameters={"epsilon": 1, "delta": 1e-9})
    declared = "".join(f'[columns.answer_{i}]\nkind = "integer"\nbounds = [0, 3]\n' for i in range(columns))
    project.schema_file.write_text(declared, encoding="utf-8")
    command = [sys.executable, "-m", "discreet", "studio", "--no-browser", "--folder", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = re.search(r"http://([\d.]+:\d+)(/\S+)", server.stdout.readline())
        assert address is not None
        asking = Asking(address[1], server.pid)
        asking.enter(address[2])
        lines = [asking.timed("start", "GET", "/", again)]
        base = f"/p/{project.id}"
        lines += [asking.timed(name, "GET", f"{base}/{name}", again) for name in SCREENS]
        lines.append(asking.timed("job file", "GET", f"{base}/job.toml", again))
        asking.ask("POST", f"{base}/look", {"look": "yes"})
        lines.append(asking.timed("data, looked at", "GET", f"{base}/data", again))
        typed = {f"role:answer_{i}": "attribute" for i in range(columns)}
        lines.append(asking.timed("columns, saved", "POST", f"{base}/columns", again, typed))
        status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
        server.send_signal(signal.SIGTERM)
    memory = {name: int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) / 1024 for name in ("VmHWM", "VmRSS")}  # type: ignore[index]
    return lines, {"peak_mb": round(memory["VmHWM"]), "held_mb": round(memory["VmRSS"])}


class Asking:
    """A browser without a window."""

    def __init__(self, site: str, server: int) -> None:
        self.site = site
        self.server = server
        self.cookie = ""

    def worked(self) -> float:
        """Return the seconds that the server's threads have worked so far."""
        fields = Path(f"/proc/{self.server}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def enter(self, path: str) -> None:
        """Sign in, as soon as somebody listens."""
        for _ in range(200):
            try:
                self.ask("GET", path)
                return
            except ConnectionError:
                time.sleep(0.1)

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, int]:
        """Return status and size of an answer."""
        connection = HTTPConnection(self.site, timeout=60)
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.site}"}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, urlencode(form or {}), headers)
        answer = connection.getresponse()
        size = len(answer.read())
        if given := answer.headers.get("set-cookie"):
            self.cookie = given.partition(";")[0]
        connection.close()
        return answer.status, size

    def timed(
        self, name: str, method: str, path: str, again: int, form: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Return how long a page took at first, and later: median and longest."""
        took, worked = [], []
        for _ in range(1 + again):
            began, before = time.perf_counter(), self.worked()
            status, size = self.ask(method, path, form)
            took.append(time.perf_counter() - began)
            worked.append(self.worked() - before)
            assert status < 400, (path, status)
        return {"page": name, "first_s": round(took[0], 4), "median_s": round(statistics.median(took[1:]), 4),
            "longest_s": round(max(took), 4), "first_cpu_s": round(worked[0], 2),
            "kb": round(size / 1000, 1)}  # fmt: skip


if __name__ == "__main__":
    main()
