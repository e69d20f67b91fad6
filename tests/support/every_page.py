"""Releases of every model and method, and the pages about them: for tests that read every page."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

import discreet as dc
from command_line import run
from discreet.evaluation import audited_mechanism
from discreet.planning import outlook
from discreet.reporting import examine, report_facts, report_page
from discreet.reporting.pages import artifact_page, mechanism_page, plan_page

#: Names and categories that are also words of pages: they are the user's, so no page may translate them.
TRAPS = ("rows", "total", "none", "yes")

COLUMNS = """
[columns.who]
role = "person"
[columns.rows]
bounds = [0, 100]
role = "quasi-identifier"
[columns.cost]
bounds = [0.0, 5000.0]
[columns.came]
kind = "date"
bounds = ["2020-01-01", "2023-12-31"]
role = "quasi-identifier"
[columns.town]
categories = ["total", "none", "Bremen, Stadt"]
missing = "own"
role = "quasi-identifier"
[columns.ill]
categories = ["yes", "no", "flu", "gout"]
role = "sensitive"
"""


def make_table(n: int = 500, seed: int = 1) -> pa.Table:
    """Return rows of persons, with missing values."""
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 100, n)
    towns = np.array(["total", "none", "Bremen, Stadt", None], object)[draw.integers(0, 4, n)]
    days = np.datetime64("2020-01-01") + draw.integers(0, 1460, n)
    cost = np.round(age * 30.0 + draw.random(n) * 900, 2)
    ill = np.array(["yes", "no", "flu", "gout"])[draw.integers(0, 4, n)]
    return pa.table(
        {"who": [f"p{i}" for i in draw.integers(0, n // 2, n)], "rows": age, "cost": cost, "came": pa.array(days),
         "town": towns.tolist(), "ill": ill, "old": np.where(age >= 65, "yes", "no")}
    )  # fmt: skip


def _commands(at: Path) -> dict[str, list[Any]]:
    """Return the commands that make the releases, by the name of the file."""
    one, raw = ["--unit", "row"], at / "raw-people.csv"
    people, points = [raw, "--schema", at / "schema.toml"], [raw, "--schema", at / "points.toml"]
    anonymize = [raw, "--schema", at / "hidden.toml", "-k"]
    places = [at / "raw-places.csv", "--schema", at / "places.toml", "--epsilon", 1]
    return {
        "grid.parquet": ["synopsis", *people, *one, "--epsilon", 1, "--columns", "rows,cost"],
        "means.parquet": ["synopsis", *points, "--epsilon", 0.02, "--leaf-means", "--rows", 500],
        "sparse.parquet": ["synopsis", *people, *one, "--epsilon", 1, "--rule", 40, "--max-cells", 1000],
        "tree.parquet": ["synopsis", *people, "--person", "who", "--person-rows", 3, "--rho", 0.1,
                         "--delta", 1e-6, "--method", "tree", "--partitioner", "median", "--max-depth", 3],
        "privtree.parquet": ["synopsis", *points, "--epsilon", 8, "--method", "tree", "--partitioner", "privtree",
                             "--seed", 3],
        "density.parquet": ["synopsis", *points, "--epsilon", 0.5, "--method", "tree", "--partitioner", "density"],
        "quantile.parquet": ["synopsis", *points, "--epsilon", 1, "--method", "tree", "--partitioner", "quantile"],
        "model.parquet": ["synthesize", *people, "--person", "who", "--person-rows", "auto",
                          "--epsilon", 3, "--delta", 1e-9, "--account", at / "people.account"],
        "rows.csv": ["synthesize", *people, *one, "--epsilon", 1, "--target", "ill"],
        "facts.csv": ["synthesize", raw, "--schema", at / "facts.toml", "--epsilon", 2],
        "raw-centers.csv": ["cluster", *points, "--epsilon", 5, "--delta", 1e-6, "--method", "lift", "-k", 3,
                            "--release", at / "lifted.parquet"],
        "groups.csv": ["anonymize", *anonymize, 5, "--l", 2],
        "persons.csv": ["anonymize", *anonymize, 4, "--person", "who", "--t", 0.6, "--history", at / "history"],
        "later.csv": ["anonymize", *anonymize, 4, "--person", "who", "--t", 0.6, "--history", at / "history"],
        "hashed.csv": ["anonymize", *anonymize, 3, "--person", "who", "--hash-key", at / "key"],
        "mondrian.csv": ["anonymize", *people, "-k", 6, "--method", "mondrian", "--keep", "cost", "--l", 2,
                         "--l-kind", "entropy", "--suppress", 0.1],
        "general.csv": ["anonymize", *anonymize, 5, "--method", "generalization", "--l", 2, "--l-kind", "recursive",
                        "--top", "rows=90"],
        "drawn.csv": ["anonymize", raw, "--schema", at / "alone.toml", "-k", 13, "--method", "generalization",
                      "--sample", 0.3, "--level", "rows=3", "--level", "town=1", "--level", "came=3",
                      "--level", "cost=8", "--level", "ill=1"],
        "micro.csv": ["anonymize", *points, "-k", 5, "--method", "microaggregation"],
        "apart.csv": ["anonymize", *points, "-k", 5, "--method", "microaggregation", "--columns", "rows=a",
                      "--columns", "cost=b"],
        "sampled.csv": ["anonymize", *anonymize, 5, "--form", "sample"],
        "bounds.csv": ["anonymize", *anonymize, 5, "--bounds", "--order", "input"],
        "moved.csv": ["perturb", *people, *one, "--epsilon", 2, "--radius", 0.1, "--category-epsilon", 1],
        "clipped.csv": ["perturb", *points, "--epsilon", 2, "--radius", 0.1, "--remap", "clip", "--order", "input"],
        "piecewise.csv": ["perturb", *points, "--epsilon", 2, "--method", "piecewise"],
        "sphere.csv": ["perturb", *places, "--sphere", "--radius", 200],
        "elastic.csv": ["perturb", *places, "--method", "elastic",
                        "--min-people", 50, "--cells", 64, "--density", at / "raw-density.csv"],
        "unit.csv": ["perturb", *places, "--method", "priv-unit"],
    }  # fmt: skip


def make_releases(at: Path) -> list[Path]:
    """Make a release of every kind, and return the files."""
    pa_csv.write_csv(make_table(), at / "raw-people.csv")
    pa_csv.write_csv(make_table(seed=2), at / "raw-others.csv")
    (at / "schema.toml").write_text(COLUMNS)
    (at / "hidden.toml").write_text(COLUMNS.replace("5000.0]\n", '5000.0]\nrole = "sensitive"\n'))
    (at / "alone.toml").write_text(
        (at / "hidden.toml").read_text().replace("sensitive", "quasi-identifier").replace('"person"', '"identifier"')
    )
    (at / "facts.toml").write_text(
        '[columns.rows]\nkind = "integer"\nbounds = [0, 100]\n'
        '[columns.ill]\ncategories = ["yes", "no", "flu", "gout"]\n'
        '[[impossible]]\nrows = [0, 10]\nill = ["gout"]\n[columns.old]\ncategories = ["yes", "no"]\n'
        '[functions.old.rows]\n"0..64" = "no"\n"65..100" = "yes"\n'
    )
    (at / "points.toml").write_text(
        '[columns.rows]\nbounds = [0, 100]\nrole = "quasi-identifier"\n[columns.cost]\nbounds = [0.0, 5000.0]\n'
        'role = "quasi-identifier"\n'
    )
    draw = np.random.default_rng(2)
    places = pa.table({"latitude": 45 + 5 * draw.random(400), "longitude": 8 + 5 * draw.random(400)})
    pa_csv.write_csv(places, at / "raw-places.csv")
    pa_csv.write_csv(places.append_column("weight", pa.array(np.full(400, 100))), at / "raw-density.csv")
    (at / "places.toml").write_text("[columns.latitude]\nbounds = [44, 51]\n[columns.longitude]\nbounds = [7, 14]\n")
    (at / "key").write_text("a secret that is long enough")
    done = run("account", "create", at / "people.account", "--dataset", "people", "--epsilon", 5, "--delta", 1e-6,
               "--person", "who", catch=True)  # fmt: skip
    assert done.exit_code == 0, done.output
    for name, words in _commands(at).items():
        done = run(*words, "-o", at / name, catch=True)
        assert done.exit_code == 0, (name, done.output, done.exception)
    _more(at)
    _break(at)
    return sorted(
        file
        for file in at.iterdir()
        if file.suffix in (".csv", ".parquet", ".bin") and not file.name.startswith("raw-")
    )


def _more(at: Path) -> None:
    """Make the releases that need Python: counts of each mechanism, trajectories, masked tables."""
    values = ["yes"] * 700 + ["no"] * 300
    for name in ("direct-response", "local-hashing", "unary-encoding", "projective-geometry"):
        made: Any = dc.local.mechanisms()[name]
        m = made(2, **({} if name == "local-hashing" else {"domain": ["yes", "no", "none"]}))
        m.aggregate(m.encode(values)).save(at / f"{name}.bin")
    domain = dc.Domain.from_toml(at / "points.toml")
    table = make_table().select(["rows", "cost"])
    coded = dc.Domain({"rows": {"bounds": (0, 100), "top": 90, "role": "quasi-identifier"}})
    masked = {
        "noise": dc.anonymity.NoiseAddition(0.2, domain=domain),
        "times": dc.anonymity.MultiplicativeNoise(0.2, domain=domain),
        "ranks": dc.anonymity.RankSwapping(0.1, domain=domain),
        "swapped": dc.anonymity.RankSwapping(k=4, domain=domain),
        "coded": dc.anonymity.TopBottomCoding(domain=coded),
    }
    for name, method in masked.items():
        method.fit_transform(table.select(method.domain.names)).save(at / f"{name}.csv")
    for epsilon in (float("inf"), 30.0):
        dc.GridSynopsis(epsilon, domain, 4).fit(table).synopsis_.save(at / f"grid-{epsilon:g}.parquet")


def every_page(at: Path) -> dict[str, Callable[..., str]]:
    """Return what renders each page in a language, by the name of the page."""
    made: dict[str, Callable[..., str]] = {}
    files = [file for file in at.iterdir() if file.suffix in (".csv", ".parquet", ".bin")]
    files = sorted(file for file in files if not file.name.startswith("raw-"))
    for file in [*files, *sorted((at / "broken").glob("*.csv"))]:
        name = f"{file.parent.name} {file.name}" if file.parent != at else file.name
        made[name] = partial(report_page, report_facts(file))
        made[f"audit of {name}"] = partial(artifact_page, examine(file).to_dict())
    made["audit of a cut file"] = partial(artifact_page, examine(at / "broken" / "cut.parquet").to_dict())
    raw, about = at / "raw-people.csv", {"title": "Plan", "owner": "total", "purpose": "Risk", "date": "2026-11-17"}
    for name in ("grid.parquet", "rows.csv", "groups.csv", "moved.csv", "lifted.parquet"):
        facts = report_facts(at / name, against=raw, target="ill" if name == "rows.csv" else None)
        made[f"{name} against the raw table"] = partial(report_page, {**facts, "about": about})
    more: dict[str, Any] = {"attacks": [at / "attack.json"], "audits": [at / "audit.json"]}
    more["clusters"] = json.loads((at / "clusters.json").read_text())
    made["with an attack, an audit and clusters"] = partial(report_page, report_facts(at / "grid.parquet", **more))
    made["audit of noise"], made["audit of tables"] = (partial(mechanism_page, _audit(n)) for n in ("noise", "tables"))
    line = "Counts by rows are good to ±2 %, by cost to ±3 %; rows by cost is mostly noise"
    line += " (a marginal synopsis, or its synthetic rows)."
    found = outlook(5000, 3, persons=1000, target_error=0.01)
    made["plan"] = partial(plan_page, found, line, own=["rows", "cost"])
    made["plan without persons"] = partial(plan_page, outlook(200_000, 1, epsilon=0.1, delta=1e-6), "")
    return made


def _audit(name: str) -> dict[str, Any]:
    if name == "tables":
        return {"mechanism": "anonymity.DensityTree", "passed": True, "failures": [], "results": []}
    entry = audited_mechanism("noise.discrete_laplace")
    results = entry.audit(2000, 0.99, random_state=1, time_budget=None, workers=1, progress=None)
    pairs = list(zip((pair.name for pair in entry.pairs), results, strict=True))
    return {"mechanism": entry.name, "claimed": entry.epsilon, "delta": entry.delta, "passed": True, "results": pairs,
            "exact_result": entry.exact()}  # fmt: skip


def _break(at: Path) -> None:
    """Make files that break their promise, and results to attach."""
    place = at / "broken"
    place.mkdir()
    for name in ("groups.csv", "groups.csv.guarantee.json"):
        (place / name.replace("groups", "sealed")).write_bytes((at / name).read_bytes())
    body = (place / "sealed.csv").read_text().replace("flu", "Zahnweh", 1)
    (place / "sealed.csv").write_text(body)
    (place / "seeded.csv").write_bytes((at / "groups.csv").read_bytes())
    promise = json.loads((at / "groups.csv.guarantee.json").read_text())
    promise["seeded"], promise["digest"] = True, None
    (place / "seeded.csv.guarantee.json").write_text(json.dumps(promise))
    (place / "cut.parquet").write_bytes((at / "grid.parquet").read_bytes()[:-9])
    for words, name in (
        (["attack", at / "grid.parquet", "--kind", "synopsis", "--against", at / "raw-people.csv", "--control",
          at / "raw-others.csv", "--schema", at / "points.toml"], "attack"),
        (["audit", at / "grid.parquet"], "audit"),
        (["cluster", at / "grid.parquet", "-k", "auto", "-o", at / "raw-found.csv"], "clusters"),
    ):  # fmt: skip
        done = run(*words, "--json", catch=True)
        assert done.exit_code == 0, (name, done.output, done.exception)
        (at / f"{name}.json").write_text(done.stdout)
