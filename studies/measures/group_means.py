"""How far 16 private means are off: age by education on Adult, between 17 and 90, ε = 0.5 for all of them together.

    python -m studies.measures.group_means [--runs 20] [--opendp PYTHON] [--tumult PYTHON]

Writes results/group_means.json. The promise is the same for all: pure ε, one row added or removed, public groups. The
peers run in their own environments (opendp[polars]==0.16.0; tmlt.analytics==0.21.0 with numpy 1.26, pandas 1.5 and
pyspark 3.5), named by their Python programs; a peer that is not named is left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

import discreet as dc
from discreet.datasets.records import read_file
from studies.measures._measure import save, show

LOW, HIGH, EPSILON = 17, 90, 0.5
PEERS = Path(__file__).with_name("_group_means_peers.py")


def rows() -> pa.Table:
    """Return education and age of Adult's 32,561 training rows."""
    raw = read_file("uci-adult/adult_train.csv.gz", "adult")
    return pa.table({"education": raw["education"], "age": raw["age"].cast(pa.int64())})


def ours(table: pa.Table, groups: list[str], runs: int) -> tuple[list[dict[str, float]], float]:
    """Return the means of each run, and the share of 95 % intervals that hold the truth."""
    domain = dc.Domain({"education": groups, "age": dc.Integer(LOW, HIGH)})
    truth, found, held = truths(table), [], []
    for seed in range(runs):
        session = dc.QuerySession(table, dc.Ledger(epsilon=EPSILON), domain=domain, random_state=seed)
        frame = session.mean("age", by="education", epsilon=EPSILON).to_arrow().to_pylist()
        found.append({row["education"]: row["estimate"] for row in frame})
        held += [row["low"] <= truth[row["education"]] <= row["high"] for row in frame]
    return found, float(np.mean(held))


def truths(table: pa.Table) -> dict[str, float]:
    """Return the true means."""
    found = table.group_by("education").aggregate([("age", "mean")]).to_pylist()
    return {row["education"]: row["age_mean"] for row in found}


def errors(found: list[dict[str, float]], truth: dict[str, float]) -> dict[str, float]:
    """Return the mean absolute error over groups and runs, its 95 % interval over runs, and the largest error."""
    each = np.array([[abs(run[group] - truth[group]) for group in truth] for run in found])
    runs = each.mean(axis=1)
    half = 1.96 * runs.std(ddof=1) / np.sqrt(len(runs))
    middle = float(runs.mean())
    return {"error": middle, "low": middle - half, "high": middle + half, "largest": float(each.max())}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    for name in ("opendp", "tumult"):
        parser.add_argument(f"--{name}")
    asked = parser.parse_args()
    table = rows()
    truth, groups = truths(table), sorted(pc.unique(table["education"]).to_pylist())
    means, covered = ours(table, groups, asked.runs)
    found = {"discreet": means}
    with tempfile.TemporaryDirectory() as folder:
        pa_csv.write_csv(table, f"{folder}/t.csv")
        for name in ("opendp", "tumult"):
            if program := getattr(asked, name):
                command = [program, PEERS, name, f"{folder}/t.csv", str(asked.runs), f"{folder}/{name}.json"]
                subprocess.run(command, check=True, cwd=folder, env={"PATH": "/usr/bin:/bin", "HOME": folder})
                found |= json.loads(Path(folder, f"{name}.json").read_text())
    results = {name: errors(runs, truth) for name, runs in found.items()}
    peers = [facts["error"] for name, facts in results.items() if name != "discreet"]
    ratio = results["discreet"]["error"] / min(peers) if peers else None
    sys.argv[1:] = [f"--runs {asked.runs}", *(f"--{n} PYTHON" for n in ("opendp", "tumult") if getattr(asked, n))]
    facts = {"epsilon": EPSILON, "groups": len(truth), "runs": asked.runs, "mean absolute error": results}
    save("group_means", {**facts, "ratio to the best peer": ratio, "covered": covered}, "discreet", "numpy")
    show(
        "mean absolute error, years",
        ["", "error", "low", "high", "largest"],
        [[n, *f.values()] for n, f in results.items()],
    )
    if ratio is not None:
        show("ours over the best peer", ["ratio", "intervals hold"], [[f"{ratio:.2f}", covered]])


if __name__ == "__main__":
    main()
