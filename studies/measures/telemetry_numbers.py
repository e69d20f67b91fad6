"""The median of a latency through a running collector, with the clients of both languages.

    python -m studies.measures.telemetry_numbers [--seeds 20] [--script-seeds 20]

Writes results/telemetry_numbers.json after every seed, and goes on where it stopped. 100,000 devices hold log-normal
latencies (median 120 ms, σ = 1); each makes one report by the rules of a device (Python or JavaScript), and sends it to
a collector of its own process. The median is read over HTTP. Needs Node for the JavaScript client.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.local import Task, write_frame
from discreet.local.tasks.device import Device
from discreet.noise.reports import ByteCoins
from studies.measures._measure import RESULTS, save

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from collecting import collector, some_task

N, EPSILON, MEDIAN, SIGMA, BATCH = 100_000, 2, 120.0, 1.0, 5000
FILE = RESULTS / "telemetry_numbers.json"
SCRIPT = Path(__file__).parents[2] / "tests" / "support" / "javascript_law.mjs"


def in_python(task: Task, values: list[float], folder: Path) -> bytes:
    device, coins = Device(task), ByteCoins()
    return b"".join(device.report(value, coins) for value in values)


def in_javascript(task: Task, values: list[float], folder: Path) -> bytes:
    (folder / "task").write_text(task.to_json())
    (folder / "values").write_text(json.dumps(values))
    node = shutil.which("node")
    assert node is not None
    line = [node, str(SCRIPT), str(folder / "task"), str(folder / "values"), str(len(values))]
    return subprocess.run(line, capture_output=True, check=True).stdout


CLIENTS = {"python": in_python, "javascript": in_javascript}


def one(client: str, seed: int) -> dict[str, Any]:
    """Return what a collector reads from the devices of one seed."""
    task = some_task(dc.local.SquareWave(EPSILON, 1, 60_000, 256, "log"), name=f"latency {client} {seed}")
    values = np.random.default_rng(seed).lognormal(math.log(MEDIAN), SIGMA, N).tolist()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        begun = time.perf_counter()
        sent = CLIENTS[client](task, values, folder)
        made = time.perf_counter() - begun
        size = task.mechanism.layout.size
        with collector(folder / "collected", task) as found:
            for start in range(0, len(sent), BATCH * size):
                status, _ = found.post(task, write_frame(task.mechanism, sent[start : start + BATCH * size]))
                assert status == 200
            status, facts = found.read(f"/v1/tasks/{task.digest}/estimate?quantiles=0.5")
    assert (status, facts["reports"]) == (200, N)
    median = facts["quantiles"][0]
    covered = median["lower"] <= MEDIAN <= median["upper"]
    return {"client": client, "seed": seed, "error": median["value"] / MEDIAN - 1, "covered": covered, "seconds": made}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--script-seeds", type=int, default=20)
    given = parser.parse_args()
    runs = json.loads(FILE.read_text())["runs"] if FILE.exists() else []
    for client, seeds in (("python", given.seeds), ("javascript", given.script_seeds)):
        for seed in range(seeds):
            if any((run["client"], run["seed"]) == (client, seed) for run in runs):
                continue
            runs.append(one(client, seed))
            print(runs[-1], flush=True)
            save("telemetry_numbers", facts(runs))


def facts(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the runs with the root mean square error of the median, by client."""
    setting = {"devices": N, "epsilon": EPSILON, "median": MEDIAN, "sigma": SIGMA, "low": 1, "high": 60_000}
    found = {}
    for client in dict.fromkeys(run["client"] for run in runs):
        own = [run for run in runs if run["client"] == client]
        error = math.sqrt(sum(run["error"] ** 2 for run in own) / len(own))
        found[client] = {"seeds": len(own), "rmse": error, "covered": sum(run["covered"] for run in own)}
    return {"setting": setting, "median": found, "runs": runs}


if __name__ == "__main__":
    main()
