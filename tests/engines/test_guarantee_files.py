"""Only a promise may have the name of one: no table, synopsis or page takes the place of what is next to a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dc
from discreet.engines.writing.writer import write_table
from discreet.errors import DataSourceError

DOMAIN = dc.Domain({"age": {"bounds": [0, 100], "role": "quasi-identifier"}})
TABLE = pd.DataFrame({"age": np.random.default_rng(1).random(60) * 100})


def labels(target: Path) -> None:
    model = dc.PrivateKMeans(2, 1.0, DOMAIN, synopsis=dc.GridSynopsis(rule=4), refine="project").fit(TABLE)
    model.predict_file(TABLE, target)


def tree_rows(target: Path) -> None:
    dc.anonymity.DensityTree(k=5, domain=DOMAIN).fit(TABLE).transform_file(TABLE, target)


def job(target: Path) -> None:
    TABLE.to_csv(target.with_name("people.csv"), index=False)
    data = str(target.with_name("people.csv"))
    dc.Job("anonymize", data, schema=DOMAIN, parameters={"k": 5}, outputs={"release": str(target)}).run()


WRITERS: dict[str, Callable[[Path], Any]] = {
    "predict_file": labels,
    "transform_file of noise": lambda target: dc.metric.NDLaplace(2, 0.1, DOMAIN).transform_file(TABLE, target),
    "transform_file of a tree": tree_rows,
    "release": lambda target: dc.anonymity.DensityTree(k=5, domain=DOMAIN).fit_transform(TABLE).save(target),
    "synopsis": lambda target: dc.GridSynopsis(1.0, DOMAIN, rule=4).fit(TABLE).synopsis_.save(target),
    "table": lambda target: write_table(target, pa.table({"age": [1]})),
    "job": job,
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("name", ["safe.csv.guarantee.json", "Safe.Guarantee.JSON"])
def test_the_name_of_a_promise_is_refused(write: Callable[[Path], Any], name: str, tmp_path: Path) -> None:
    promise = tmp_path / name
    promise.write_text("promised")
    with pytest.raises(DataSourceError, match="is the name of a promise"):
        write(promise)
    assert promise.read_text() == "promised"
    assert not promise.with_name(f"{name}.guarantee.json").exists()


def test_the_promise_of_a_job_may_have_it(tmp_path: Path) -> None:
    target = tmp_path / "synopsis.guarantee.json"
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    outputs = {"release": str(tmp_path / "s.parquet"), "guarantee": str(target)}
    data = str(tmp_path / "people.csv")
    dc.Job("synopsis", data, schema=DOMAIN, parameters={"epsilon": 1.0}, outputs=outputs).run()
    assert dc.Guarantee.from_json(target.read_text()).model == "central"


@pytest.mark.parametrize("name", ["safe.csv.guarantee.json", "s.parquet.guarantee.json"])
def test_the_promise_of_a_job_is_not_put_next_to_another_file(name: str, tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "safe.csv").write_text("released earlier")
    outputs = {"release": "s.parquet", "guarantee": name}
    made = dc.Job("synopsis", "people.csv", DOMAIN, {"epsilon": 1.0}, outputs, tmp_path)
    with pytest.raises(dc.errors.InvalidArgument, match="because this is the guarantee of"):
        made.run()
    assert not (tmp_path / "s.parquet").exists()
    assert not (tmp_path / name).exists()
