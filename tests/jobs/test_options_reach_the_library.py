"""Every argument that a steward may want is an option of a job, and what is wrong without data is said before data."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import anonymity, metric
from discreet.cli import app
from discreet.errors import DiscreetError
from discreet.jobs.declare import spoken
from discreet.jobs.job import Job
from discreet.jobs.kinds import KINDS
from discreet.jobs.options import SHELL
from discreet.jobs.work import perturb, synopsis, tables

CLASSES = {
    "synopsis": (dc.GridSynopsis, dc.TreeSynopsis),
    "cluster": (dc.PrivateKMeans,),
    "anonymize": tuple(map(KINDS["anonymize"].estimator, KINDS["anonymize"].estimators)),
    "perturb": tuple(map(KINDS["perturb"].estimator, KINDS["perturb"].estimators)),
}
#: Arguments without an option, and why.
LEFT_OUT = {
    "domain": "the section [schema]",
    "method": "the option of that name chooses the class and its method",
    "adaptive": "constants of a published method: for the studies",
}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_argument_of_a_class_is_an_option_or_left_out_for_a_reason(kind: str) -> None:
    known = {name for option in KINDS[kind].parameters for name in option.arguments} | set(LEFT_OUT)
    if kind == "anonymize":
        known.add("random_state")  # of the folds of pruning alone: a release is not seeded from outside
    for made in CLASSES[kind]:
        assert not set(inspect.signature(made).parameters) - known, made


AGE = {"bounds": [0, 120], "role": "quasi-identifier"}
TOWN = {"categories": ["a", "b"], "role": "target"}
GIVEN: list[tuple[str, dict[str, Any]]] = [
    ("anonymize", {"k": 2, "supervised": True, "min_share": 0.1, "max_depth": 3, "pruning": "folds"}),
    ("anonymize", {"k": 2, "method": "generalization", "widths": {"age": [10, 20]}, "grid": {"age": 12}}),
    ("anonymize", {"k": 2, "method": "mondrian", "t": 1, "t_kind": "equal"}),
    ("perturb", {"epsilon": 1, "radius": 0.1, "remap": "grid", "grid": 5}),
    ("perturb", {"epsilon": 1, "method": "square-wave", "attributes": "sample"}),
    ("synopsis", {"epsilon": 1, "method": "tree", "bits": 8, "axis": "widest"}),
    ("synopsis", {"epsilon": 1, "expected_survivors": 10}),
]


@pytest.mark.parametrize(("kind", "given"), GIVEN, ids=[str(g[1]) for g in GIVEN])
def test_what_a_job_is_given_reaches_the_class_behind_it(kind: str, given: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [f"{age},{'ab'[int(age > 50)]}" for age in rng.integers(0, 120, 60)]
    (tmp_path / "t.csv").write_text("age,town\n" + "\n".join(lines) + "\n")
    columns = {"age": AGE, "town": TOWN} if kind == "anonymize" else {"age": (0, 120)}
    ending = "parquet" if kind == "synopsis" else "csv"
    job = Job(kind, "t.csv", columns, given, {"release": f"out.{ending}"}, tmp_path)
    made = {"anonymize": tables._model, "perturb": perturb._mechanism, "synopsis": synopsis.estimator}[kind](job)
    assert made.get_params().items() >= job.declared.arguments(job.parameters).items()
    job.check()
    assert job.run().files["release"].is_file()


WRONG: list[Any] = [
    lambda d: dc.GridSynopsis(1.0, d, rule=(2, 2)),
    lambda d: dc.GridSynopsis(1.0, d, size_share=2),
    lambda d: dc.TreeSynopsis(1.0, d, max_depth=60, threshold=5.0),
    lambda d: dc.TreeSynopsis(-1.0, d),
    lambda d: dc.PrivateKMeans(3, domain=d, columns=["nobody"]),
    lambda d: dc.PrivateKMeans(3, domain=d, n_rows=-1),
    lambda d: dc.PrivateKMeans(3, domain=None),
    lambda d: anonymity.DensityTree(2, domain=d, criterion="nope"),
    lambda d: anonymity.DensityTree(2, domain=d, supervised=True),
    lambda d: anonymity.DensityTree(2, 3, domain={"age": (0, 9), "ill": ["no", "yes"]}, sensitive="ill"),
    lambda d: anonymity.Mondrian(2, domain=d, t_kind="nope"),
    lambda d: anonymity.Generalization(2, domain=d, widths={"age": [20, 5]}),
    lambda d: anonymity.Microaggregation(1, domain=d),
    lambda d: metric.NDLaplace(1.0, -1.0, domain=d),
]


@pytest.mark.parametrize("place", range(len(WRONG)))
def test_check_refuses_without_data_as_fit_does_with_them(place: int) -> None:
    X = {"age": np.arange(20.0), "ill": ["no", "yes"] * 10}
    model = WRONG[place]({"age": (0, 120)})
    with pytest.raises(DiscreetError) as with_data:
        model.fit(pa.table(X))
    with pytest.raises(DiscreetError) as without:
        model.check() if hasattr(model, "check") else model.fit()
    assert str(without.value) == str(with_data.value)


def test_check_accepts_what_fit_accepts() -> None:
    for model in (
        dc.GridSynopsis(1.0, (0, 1)),
        dc.TreeSynopsis(1.0, ([0, 0], [1, 1])),
        dc.PrivateKMeans(2, 1.0, (0, 1)),
    ):
        model.check()
        model.fit(np.full((20, 2), 0.5))


def test_a_sentence_names_options_as_they_were_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("age,cost\n3,4\n")
    schema = '[columns.age]\nbounds = [0, 120]\nrole = "quasi-identifier"\n[columns.cost]\nbounds = [0, 9]\n'
    (tmp_path / "s.toml").write_text(schema)
    with pytest.raises(DiscreetError, match=r"add keep=\['cost'\]$"):
        anonymity.DensityTree(2, domain=dc.Domain.from_toml(tmp_path / "s.toml")).check()
    job = Job("anonymize", "t.csv", "s.toml", {"k": 2, "history": "h"}, {"release": "o.csv"}, tmp_path)
    with pytest.raises(DiscreetError) as told:
        job.check()
    assert str(told.value).endswith('add keep = ["cost"]')
    assert str(spoken(told.value, SHELL)).endswith(
        "delete it there to leave it out of the release; only if its exact values may be released, add --keep cost"
    )
    line = f"anonymize {tmp_path}/t.csv --schema {tmp_path}/s.toml --k 2 -o {tmp_path}/o.csv --keep cost"
    with pytest.raises(SystemExit):
        app.main([*line.split(), "--history", f"{tmp_path}/h"])
    assert "--history needs a column to follow people by" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(DiscreetError, match=r"^\[parameters\] history needs a column"):
        Job(
            "anonymize", "t.csv", "s.toml", {"k": 2, "keep": ["cost"], "history": "h"}, dict(job.outputs), tmp_path
        ).check()


def test_another_class_is_suggested_as_a_method(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\nx\n")
    columns = {f"c{i}": [f"v{j}" for j in range(40)] for i in range(12)}
    job = Job("synopsis", "t.csv", columns, {"epsilon": 1}, {"release": "s.parquet"}, tmp_path)
    with pytest.raises(DiscreetError, match='try method = "tree", or fewer columns') as told:
        job.check()
    assert str(spoken(told.value, SHELL)).endswith("try --method tree, or fewer columns")


def test_a_job_says_how_its_table_is_written_as_a_schema_file_does(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age;cost\n" + "31;1,5\n" * 40)
    domain = dc.Domain({"cost": (0, 3)}, source={"delimiter": ";", "decimal": ","})
    given = {"epsilon": 1000, "yes_really": True, "rule": 2, "rows": 40}
    job = Job("synopsis", "t.csv", domain, given, {"release": "s.parquet"}, tmp_path)
    again = Job.from_toml(job.to_toml(tmp_path / "job.toml"))
    assert again == job
    read = Job.from_toml(tmp_path / "job.toml")
    assert read.run().artifact.weights.tolist() == job.run().artifact.weights.tolist() == [0, 40]
