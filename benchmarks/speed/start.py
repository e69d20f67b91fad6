"""Time of commands on a small table: the first one on a machine, and every later one.

    python -m benchmarks.speed.start
    python -m benchmarks.speed.start --only anonymize risk --no-cold

Every command runs in a process of its own, on a generated table of 4,000 rows and 5 columns; those of "stays" on one of
4,000 rows of 1,500 persons, with dates, decimal commas and marks between thousands. Cold: with an empty folder
for compiled kernels. Warm: the kernels are there; the best of several runs counts. Seconds are processor seconds of the
process, as the operating system counts them, next to elapsed seconds. `bare` is
``python -c "import numpy, numba, pyarrow"``, measured in turns with the warm commands. Modules are counted in one more
run. Signatures are the kernels that the cold run compiled and kept.

The studio is timed from the command until its first page has arrived. The address is requested once, as soon as it is
printed; nothing is tried again.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks._bench import save, show

ROWS = 4_000
BARE = ("-c", "import numpy, numba, pyarrow")
#: Runs a command and then prints how many modules it has loaded.
COUNTING = """
import atexit, os, sys
atexit.register(lambda: os.write(int(os.environ["COUNT_TO"]), str(len(sys.modules)).encode()))
if sys.argv[1] == "-c":
    exec(sys.argv[2])
else:
    del sys.argv[0]
    from discreet.cli import main
    main()
"""
SCHEMA = """
[columns.age]
bounds = [0, 100]
role = "quasi-identifier"

[columns.cost]
bounds = [0, 1000]
role = "quasi-identifier"

[columns.visits]
kind = "integer"
bounds = [0, 20]
role = "quasi-identifier"

[columns.sex]
categories = ["f", "m"]
role = "quasi-identifier"

[columns.illness]
categories = ["none", "cold", "flu", "asthma", "gout"]
role = "sensitive"
"""
STAYS = """
[source]
delimiter = ";"
decimal = ","
thousands = "."
dates = ["%d.%m.%Y"]
missing = ["k.A."]

[unit]
person = "patient"
rows = 4

[columns]
patient = {role = "person"}
age = {kind = "integer", bounds = [0, 120], role = "quasi-identifier"}
admitted = {bounds = [2025-01-01, 2025-12-31], role = "quasi-identifier"}
cost = {bounds = [0, 10000], role = "quasi-identifier"}
ward = {categories = ["surgery", "neurology", "emergency"], role = "quasi-identifier"}
illness = {categories = ["none", "cold", "flu", "asthma", "gout"], role = "sensitive"}
"""
POINTS = "[columns.age]\nbounds = [0, 100]\n\n[columns.cost]\nbounds = [0, 1000]\n"
TABLE, PERSONS = "people.csv --schema schema.toml", "stays.csv --schema stays.toml"
#: Commands of the terminal; those with "$" are programs in Python.
COMMANDS = {
    "help": "--help",
    "wrong option": f"synopsis {TABLE} --epsilon -1 -o wrong.parquet",
    "synopsis": f"synopsis {TABLE} --epsilon 1 -o s.parquet",
    "anonymize": f"anonymize {TABLE} --k 10 --l 2 -o safe.csv",
    "risk": f"risk {TABLE}",
    "ask": "ask given.parquet age>50",
    "perturb": "perturb people.csv --schema points.toml --epsilon 2 --radius 5 -o noisy.csv",
    "cluster": "cluster people.csv --schema points.toml --epsilon 1 -k 5 -o centers.csv",
    "synthesize": f"synthesize {TABLE} --epsilon 1 --delta 1e-9 -o synthetic.parquet",
    "report": "report given.parquet -o report.html",
    "stays: synopsis": f"synopsis {PERSONS} --epsilon 1 -o stays.parquet",
    "stays: anonymize": f"anonymize {PERSONS} --k 10 --l 2 -o stays-safe.csv",
    "stays: synthesize": f"synthesize {PERSONS} --epsilon 1 --delta 1e-9 -o stays-synthetic.parquet",
    "HadamardSketch": "$import discreet as dc; m = dc.local.HadamardSketch(epsilon=2, key=7); "
    "v = ['a', 'b'] * 2000; m.estimate(m.aggregate(m.encode(v)), ['a', 'b'])",
    "DensityTree, 30,000 rows": "$import numpy as np, discreet as dc; "
    "X = np.random.default_rng(0).random((30_000, 5)); box = dc.Domain.box(0, [1] * 5); "
    "dc.anonymity.DensityTree(10, domain=box).fit(X)",
    "import discreet": "$import discreet",
}
#: Most processor seconds of a cold run, and most times `bare` of a warm run.
GOALS: dict[str, tuple[float | None, float | None]] = {
    "synopsis": (5, 2.5), "anonymize": (12, 2.5), "risk": (5, 2.5), "ask": (5, 2.5), "perturb": (5, 2.5),
    "cluster": (5, 4), "synthesize": (5, 4), "report": (5, 4), "HadamardSketch": (5, None), "studio": (None, 3),
    "stays: synopsis": (5, 2.5), "stays: anonymize": (5, 2.5), "stays: synthesize": (8, 4),
}  # fmt: skip


@dataclass
class Run:
    """Time and memory of one process."""

    cpu: float
    elapsed: float
    peak_mb: float


def main() -> None:
    """Measure, show and save."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[*COMMANDS, "studio"], help="names of commands")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--no-cold", dest="cold", action="store_false")
    parser.add_argument("--no-save", dest="save", action="store_false")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_files(place)
        lines, bare = measure(place, given.only, given.repeat, given.cold)
        plain = modules(place, list(BARE))
    columns = ["command", "cold_s", "signatures", "warm_s", "times_bare", "warm_elapsed_s", "modules", "peak_mb"]
    show(f"Start on {ROWS:,} rows (bare: {bare.cpu:.2f} s)", columns, [[x.get(c, "") for c in columns] for x in lines])
    if given.save:
        facts = {"rows": ROWS, "bare_s": round(bare.cpu, 3), "bare_elapsed_s": round(bare.elapsed, 3)}
        facts |= {"bare_peak_mb": round(bare.peak_mb), "bare_modules": plain, "lines": lines}
        save("start", facts, "numpy", "numba", "pyarrow", "scipy", "scikit-learn")


def write_files(place: Path) -> None:
    """Write the tables, their schemas, and the synopsis that is asked and reported on."""
    rng = random.Random(1)
    rows = ["age,cost,visits,sex,illness"]
    for _ in range(ROWS):
        center = rng.choice(((30, 200), (55, 500), (75, 800)))
        age = min(max(rng.gauss(center[0], 8), 0), 100)
        cost = min(max(rng.gauss(center[1], 90), 0), 1000)
        illness = rng.choice(("none", "cold", "flu", "asthma", "gout"))
        rows.append(f"{age:.0f},{cost:.2f},{rng.randint(0, 20)},{rng.choice('fm')},{illness}")
    (place / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (place / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    (place / "points.toml").write_text(POINTS, encoding="utf-8")
    rows = ["patient;age;admitted;cost;ward;illness"]
    for _ in range(ROWS):
        age = rng.randint(0, 99) if rng.random() < 0.95 else "k.A."
        admitted = f"{rng.randint(1, 28):02d}.{rng.randint(1, 12):02d}.2025"
        cost = f"{rng.randint(0, 9)}.{rng.randint(0, 999):03d},{rng.randint(0, 99):02d}"
        ward = rng.choice(("surgery", "neurology", "emergency"))
        illness = rng.choice(("none", "cold", "flu", "asthma", "gout"))
        rows.append(f"P{rng.randint(1, 1500):05d};{age};{admitted};{cost};{ward};{illness}")
    (place / "stays.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (place / "stays.toml").write_text(STAYS, encoding="utf-8")
    run(place, command(f"synopsis {TABLE} --epsilon 1 -o given.parquet"), place / "warm")


def measure(place: Path, names: list[str], repeat: int, cold: bool) -> tuple[list[dict[str, Any]], Run]:
    """Run every command once without being timed, once cold, and then warm, in turns."""
    first = {}
    for name in names:
        start_once(place, name)
        if cold and name in COMMANDS:
            with tempfile.TemporaryDirectory() as empty:
                taken = run(place, command(COMMANDS[name]), Path(empty))
                kept = sum(1 for file in Path(empty).rglob("*.nbc") if file.is_file())
            first[name] = {"cold_s": round(taken.cpu, 2), "cold_elapsed_s": round(taken.elapsed, 2), "signatures": kept}
    warm: dict[str, list[Run]] = {"bare": [], **{name: [] for name in names}}
    for _ in range(repeat):
        for name, runs in warm.items():
            runs.append(run(place, list(BARE), place / "warm") if name == "bare" else start_once(place, name))
    best = {name: Run(*(min(getattr(r, f) for r in runs) for f in ("cpu", "elapsed", "peak_mb")))
        for name, runs in warm.items()}  # fmt: skip
    bare, lines = best.pop("bare"), []
    for name, taken in best.items():
        line = {"command": name, **first.get(name, {}), "warm_s": round(taken.cpu, 3),
            "warm_elapsed_s": round(taken.elapsed, 3), "times_bare": round(taken.cpu / bare.cpu, 2),
            "times_bare_elapsed": round(taken.elapsed / bare.elapsed, 2), "peak_mb": round(taken.peak_mb)}  # fmt: skip
        if name in COMMANDS:
            line["modules"] = modules(place, command(COMMANDS[name]))
        line["goal_cold_s"], line["goal_times_bare"] = GOALS.get(name, (None, None))
        lines.append(line)
    return lines, bare


def command(text: str) -> list[str]:
    """Return the arguments of Python for a command."""
    return ["-c", text[1:]] if text.startswith("$") else ["-m", "discreet", *text.split()]


def start_once(place: Path, name: str) -> Run:
    """Run a command with compiled kernels."""
    if name == "studio":
        return studio(place)
    return run(place, command(COMMANDS[name]), place / "warm")


def environment(cache: Path) -> dict[str, str]:
    """Return an environment in which compiled kernels are kept in a folder of its own."""
    # An installed package has its byte code.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**usual, "XDG_CACHE_HOME": str(cache), "DISCREET_QUIET": "1"}


def run(place: Path, arguments: list[str], cache: Path) -> Run:
    """Run Python and return what it took; the figures are the kernel's."""
    with (place / "said.txt").open("w") as said:
        began = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, *arguments], cwd=place, env=environment(cache), stdout=said, stderr=said
        )
        _, status, used = os.wait4(child.pid, 0)
        elapsed = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in ((2,) if "wrong.parquet" in arguments else (0,)):
        raise SystemExit(f"{' '.join(arguments)}\n{(place / 'said.txt').read_text('utf-8')}")
    return Run(used.ru_utime + used.ru_stime, elapsed, used.ru_maxrss / 1024)


def modules(place: Path, arguments: list[str]) -> int:
    """Return how many modules a command loads."""
    reading, writing = os.pipe()
    wanted = arguments if arguments[0] == "-c" else arguments[1:]
    env = {**environment(place / "warm"), "COUNT_TO": str(writing)}
    subprocess.run([sys.executable, "-c", COUNTING, *wanted], cwd=place, env=env, pass_fds=(writing,), check=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    os.close(writing)
    with os.fdopen(reading) as counted:
        return int(counted.read())


def studio(place: Path) -> Run:
    """Start the studio and ask for its first page, as a browser would: once."""
    home = tempfile.mkdtemp(dir=place)
    began = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "discreet", "studio", "--no-browser", "--folder", home],
        cwd=place, env=environment(place / "warm"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    with server.stdout as said:
        address = re.search(r"http://([\d.]+:\d+)(/\S+)", said.readline())
        assert address is not None
        enter = HTTPConnection(address[1], timeout=60)
        enter.request("GET", address[2])
        answer = enter.getresponse()
        answer.read()
        cookie = str(answer.headers["set-cookie"]).partition(";")[0]
        page = HTTPConnection(address[1], timeout=60)
        page.request("GET", answer.headers["location"], headers={"Cookie": cookie})
        assert b"</html>" in page.getresponse().read()
        elapsed = time.perf_counter() - began
        fields = Path(f"/proc/{server.pid}/stat").read_text("utf-8").rpartition(") ")[2].split()
        worked = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{server.pid}/status").read_text("utf-8"))
        assert peak is not None
        server.send_signal(signal.SIGTERM)
        server.wait(30)
    return Run(worked, elapsed, int(peak[1]) / 1024)


if __name__ == "__main__":
    main()
