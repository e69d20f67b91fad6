"""Finished runs in a studio's folders, made by real jobs on small tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from discreet.jobs import Job
from discreet.studio.workspace import Project, Workspace

COLUMNS: dict[str, Any] = {
    "age": {"bounds": [18, 90], "kind": "integer"}, "sex": {"categories": ["f", "m"]},
    "income": {"categories": ["low", "high"]}, "x": {"bounds": [0, 10]}, "y": {"bounds": [0, 10]},
}  # fmt: skip
QUASI: dict[str, Any] = {
    "age": {"bounds": [18, 90], "kind": "integer", "role": "quasi-identifier"},
    "sex": {"categories": ["f", "m"], "role": "quasi-identifier"},
    "income": {"categories": ["low", "high"], "role": "sensitive"},
}


def people(path: Path, n: int = 1500, seed: int = 1) -> Path:
    """Write a table of synthetic people who live in three places."""
    rng = np.random.default_rng(seed)
    home = rng.integers(0, 3, n)
    age = rng.integers(18, 91, n)
    table = pa.table(
        {
            "age": age, "sex": rng.choice(["f", "m"], n),
            "income": np.where(age + rng.normal(0, 20, n) > 60, "high", "low"),
            "x": np.clip(np.array([2.0, 5.0, 8.0])[home] + rng.normal(0, 0.5, n), 0, 10),
            "y": np.clip(np.array([2.0, 8.0, 4.0])[home] + rng.normal(0, 0.5, n), 0, 10),
        }
    )  # fmt: skip
    pa_csv.write_csv(table, path)
    return path


def finished(project: Project, job: Job) -> Path:
    """Run a job in the folder of a new run, as the studio's own process does, and return the folder."""
    number = 1 + max((int(p.name) for p in project.runs.glob("[0-9]*")), default=0)
    folder = project.runs / str(number)
    folder.mkdir(parents=True)
    job = replace(job, folder=folder)
    job.to_toml(folder / "job.toml")
    told = job.run().to_dict()
    status = {
        "state": "done", "started": "2026-01-31T10:00:00+00:00", "ended": "2026-01-31T10:00:05+00:00",
        "progress": {"share": 1.0, "what": "done"}, "message": "", "entry": None,
        "files": {name: Path(path).name for name, path in told["files"].items()}, "figures": told["figures"],
    }  # fmt: skip
    (folder / "status.json").write_text(json.dumps(status, default=str), encoding="utf-8")
    return folder


def released(home: Path, kind: str, parameters: Mapping[str, Any], outputs: Mapping[str, str], columns: Any) -> Project:
    """Return a project with one finished run."""
    home.mkdir(parents=True, exist_ok=True)
    table = people(home / "people.csv")
    project = Workspace(home / "studio").create(source=str(table), goal=kind, parameters=dict(parameters))
    job = Job(kind, str(table), columns, dict(parameters), dict(outputs))
    if job.schema is not None:
        project.schema_file.write_text(job.schema.to_toml() + "\n", encoding="utf-8")
    finished(project, job)
    return project


def every_kind(home: Path) -> dict[str, Project]:
    """Return a project with a finished run for every goal."""
    seed = {"seed": 1}
    plane = {name: COLUMNS[name] for name in ("x", "y")}
    made = {
        "synthesize": ({"epsilon": 2.0, "delta": 1e-9}, {"table": "rows.csv", "release": "s.parquet"}, COLUMNS),
        "synopsis": ({"epsilon": 1.0}, {"release": "s.parquet"}, plane),
        "cluster": ({"epsilon": 2.0, "n_clusters": "auto"}, {"centers": "c.csv", "release": "s.parquet"}, plane),
        "perturb": ({"epsilon": 2.0, "radius": 0.1}, {"release": "noisy.csv"}, plane),
        "anonymize": ({"k": 10, "l": 2}, {"release": "safe.csv"}, QUASI),
        "sketch": (
            {"epsilon": 2.0, "column": "sex", "domain": ["f", "m"]},
            {"release": "reports.bin", "counts": "counts.bin"},
            None,
        ),
    }
    return {
        kind: released(home / kind, kind, {**given, **({} if kind == "anonymize" else seed)}, outputs, columns)
        for kind, (given, outputs, columns) in made.items()
    }
