"""Labels of rows are for the holder of the rows: they come without a guarantee, and nothing else is released."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.errors import DataSourceError

DOMAIN = dc.Domain({"who": {"role": "identifier"}, "age": (0, 100), "cost": (0, 100)})


def frame() -> pd.DataFrame:
    rows = np.random.default_rng(1).random((60, 2)) * 100
    table = pd.DataFrame(rows, columns=["age", "cost"], index=[f"Ann {i}" for i in range(60)])
    return table.assign(who=[f"id {i}" for i in range(60)], diary="secret")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_of_labels_holds_labels_alone(tmp_path: Path, ending: str) -> None:
    model = dc.PrivateKMeans(2, 1.0, DOMAIN, synopsis=dc.GridSynopsis(rule=4), refine="project").fit(frame())
    target = tmp_path / f"labels.{ending}"
    model.predict_file(frame(), target)
    assert [p.name for p in tmp_path.iterdir()] == [target.name]
    held = target.read_bytes()
    assert not any(word in held for word in (b"Ann", b"id 1", b"secret", b"diary", b"who", b"pandas"))
    if ending == "parquet":
        assert pq.read_schema(target).metadata is None
        assert pq.read_table(target).schema == pa.schema([("cluster", pa.int64())])


def test_labels_do_not_take_the_place_of_a_release(tmp_path: Path) -> None:
    target = tmp_path / "safe.csv"
    noise = dc.metric.NDLaplace(2, 0.1, DOMAIN)
    noise.transform_file(frame(), target)
    before = target.read_bytes()
    model = dc.PrivateKMeans(2, 1.0, DOMAIN, synopsis=dc.GridSynopsis(rule=4), refine="project").fit(frame())
    with pytest.raises(DataSourceError, match=r"safe.csv.guarantee.json.*name another file"):
        model.predict_file(frame(), target)
    assert target.read_bytes() == before
    model.predict_file(frame(), tmp_path / "labels.csv")
