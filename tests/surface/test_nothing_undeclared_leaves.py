"""Nothing undeclared is released: no index, no further column, no attribute or metadata of the table.

One table that is full of marks, in every form that is read, goes through everything public that gives rows back. The
marks are then looked for in what came back, in memory and on disk.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import run
from discreet import anonymity, local, metric

N = 60
#: A text, and the beginning of a number, that are in the table wherever nothing was declared.
MARK, NUMBER = "TELLTALE", 77712377
ROLES = {
    "lat": {"bounds": [-80, 80], "role": "quasi-identifier"},
    "lon": {"bounds": [-170, 170], "role": "quasi-identifier"},
    "kind": {"categories": ["a", "b"], "role": "sensitive"},
}
DOMAIN = dc.Domain(ROLES)
NUMBERS = dc.Domain({"lat": (-80, 80), "lon": (-170, 170)})


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    columns = {"lat": rng.uniform(-60, 60, N), "lon": rng.uniform(-90, 90, N), "kind": rng.choice(["a", "b"], N)}
    table = pd.DataFrame({**columns, f"{MARK} column": [f"{MARK} {i}" for i in range(N)]})
    names = pd.Index([f"{MARK} {i}" for i in range(N)], name=f"{MARK} name")
    table.index = pd.MultiIndex.from_arrays([names, NUMBER * 100 + np.arange(N)], names=[f"{MARK} name", "pay"])
    table.attrs = {"source": f"{MARK} export"}
    return table


def arrow() -> pa.Table:
    """Return a table as pandas hands it over, its index among the columns, with more said of it and its columns."""
    table = pa.Table.from_pandas(frame(), preserve_index=True)
    assert MARK.encode() in table.schema.metadata[b"pandas"]
    fields = [field.with_metadata({"note": f"{MARK} of {field.name}"}) for field in table.schema]
    return table.cast(pa.schema(fields, {**table.schema.metadata, b"author": MARK.encode()}))


def parquet(folder: Path) -> Path:
    pq.write_table(arrow(), folder / "in.parquet")
    return folder / "in.parquet"


def text(folder: Path) -> Path:
    frame().to_csv(folder / "in.csv")
    return folder / "in.csv"


FORMS: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: frame(),
    "polars": lambda _: pl.from_pandas(frame().reset_index()),
    "arrow": lambda _: arrow(),
    "parquet": parquet,
    "csv": text,
}


#: Frames of pandas and files of Parquet become the same Arrow tables: `make test-all` tries them too.
LATER = ("pandas", "parquet")


@pytest.fixture(params=[pytest.param(form, marks=[pytest.mark.slow] * (form in LATER)) for form in FORMS])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return FORMS[request.param](tmp_path_factory.mktemp("source"))


def shown(thing: Any) -> Iterator[str]:
    """Yield everything that a reader of a returned thing could see."""
    if isinstance(thing, Path):
        yield thing.name
        yield thing.read_bytes().decode("latin-1")
        if thing.suffix == ".parquet":  # values are compressed
            yield from shown(pq.read_table(thing))
        return
    if isinstance(thing, pa.Table):
        yield thing.schema.to_string(show_schema_metadata=True, show_field_metadata=True, truncate_metadata=False)
        yield repr(thing.to_pydict())
        yield from shown(thing.to_pandas())
    elif isinstance(thing, pd.DataFrame):
        assert thing.index.equals(pd.RangeIndex(len(thing)))
        assert thing.index.names == [None]
        yield f"{thing.attrs} {thing.to_csv()} {vars(thing.flags)}"
    elif isinstance(thing, pl.DataFrame):
        yield repr(thing.to_dict(as_series=False))
    elif isinstance(thing, np.ndarray):
        yield repr(thing.tolist())
    yield repr(thing)
    yield pickle.dumps(thing).decode("latin-1")


def check(*things: Any) -> None:
    for thing in things:
        for words in shown(thing):
            assert MARK not in words
            assert str(NUMBER) not in words


def test_the_marks_are_found_where_they_are(tmp_path: Path) -> None:
    kept = pd.DataFrame({"lat": [1.0]})
    kept.attrs = {"source": MARK}
    for thing in (arrow(), arrow().select(["lat"]), parquet(tmp_path), kept, text(tmp_path), pl.DataFrame({MARK: [1]})):
        with pytest.raises(AssertionError):
            check(thing)
    with pytest.raises(AssertionError):
        check(frame()[["lat"]])


PERTURBERS: dict[str, Any] = {
    "nd": metric.NDLaplace(1, 0.1, DOMAIN, category_epsilon=1),
    "clip": metric.NDLaplace(1, 0.1, NUMBERS, "clip"),
    "piecewise": metric.Piecewise(1, DOMAIN, category_epsilon=1),
    "hybrid": metric.Piecewise(1, NUMBERS, method="hybrid"),
    "duchi": metric.Piecewise(1, NUMBERS, method="duchi"),
    "wave": metric.Piecewise(1, NUMBERS, method="square_wave"),
    "unit": metric.PrivUnit(2, NUMBERS),
    "sphere": metric.SphericalLaplace(1, 200, NUMBERS),
    "elastic": metric.ElasticLaplace(1, 10, NUMBERS, density=np.ones((4, 4)), cells=16),
}


@pytest.mark.parametrize("name", PERTURBERS)
def test_perturbed_rows(name: str, table: Any, tmp_path: Path) -> None:
    mechanism = PERTURBERS[name]
    moved = mechanism.transform(table)
    assert isinstance(moved, pa.Table if isinstance(table, Path) else type(table))
    check(moved, mechanism.fit_transform(table), mechanism.guarantee_)
    for order in ("shuffled", "input"):
        for suffix in ("csv", "parquet"):
            written = mechanism.transform_file(table, tmp_path / f"{order}.{suffix}", order=order)
            check(written.head, written.guarantee)
    assert len(list(tmp_path.iterdir())) == 8
    check(*tmp_path.iterdir())


@pytest.mark.parametrize("order", ["shuffled", "input"])
@pytest.mark.parametrize("make", [frame, arrow, lambda: pl.from_pandas(frame().reset_index())])
def test_trajectories(order: str, make: Callable[[], Any]) -> None:
    table = make()
    users = np.repeat(np.arange(N // 3), 3)
    plan = metric.Trajectory(metric.NDLaplace(1, 0.1, NUMBERS), threshold=1, test_epsilon=0.5, budget=5)
    report = plan.report(table, users, order=order)
    assert isinstance(report.places, type(table))
    check(report.places, report.fresh, report.trajectory, report.guarantee)


METHODS: dict[str, Any] = {
    "tree": anonymity.DensityTree(k=5, domain=DOMAIN),
    "mondrian": anonymity.Mondrian(k=5, domain=DOMAIN),
    "levels": anonymity.Generalization(k=5, domain=DOMAIN, suppress=0.5),
    "means": anonymity.Microaggregation(k=5, domain=DOMAIN),
    "noise": anonymity.NoiseAddition(0.2, domain=DOMAIN),
    "ranks": anonymity.RankSwapping(0.2, domain=DOMAIN),
    "ranks in groups": anonymity.RankSwapping(k=3, domain=DOMAIN),
    "factors": anonymity.MultiplicativeNoise(0.2, domain=DOMAIN),
}


@pytest.mark.parametrize("name", METHODS)
def test_anonymous_rows(name: str, table: Any, tmp_path: Path) -> None:
    method = METHODS[name]
    release = method.fit_transform(table)
    check(release.table, release.to_pandas(), release.guarantee, release)
    forms = ["text", "bounds"] if name in ("tree", "mondrian", "levels") else ["text"]
    for form in forms:
        for suffix in ("csv", "parquet"):
            release.save(tmp_path / f"{form}.{suffix}", form=form)
            if hasattr(method, "transform_file"):
                method.transform_file(table, tmp_path / f"file-{form}.{suffix}", form=form)
    if len(forms) == 2:
        outputs = [method.fit_transform(table, output=output) for output in ("center", "sample")]
        check(release.bounds, *outputs, *(output.table for output in outputs))
    check(*tmp_path.iterdir())


def test_synopses_and_clusters(table: Any, tmp_path: Path) -> None:
    for made in (
        dc.GridSynopsis(epsilon=1.0, domain=NUMBERS, rule=3).fit(table).synopsis_,
        dc.TreeSynopsis(epsilon=1.0, domain=NUMBERS).fit(table).synopsis_,
    ):
        made.save(tmp_path / "synopsis.parquet")
        check(made.sample(20), made.to_arrow(), made.guarantee, tmp_path / "synopsis.parquet")
    names = ["lat", "lon"]
    columns = table if isinstance(table, Path) else table.select(names) if isinstance(table, pa.Table) else table[names]
    model = dc.PrivateKMeans(2, epsilon=5.0, domain=NUMBERS).fit(columns)
    model.predict_file(columns, tmp_path / "labels.parquet")
    found = model.predict(columns), model.transform(columns), model.cluster_centers_
    check(*found, tmp_path / "labels.parquet")


def test_reports_of_users() -> None:
    column = frame()["kind"]
    for mechanism in (local.DirectResponse(1, ["a", "b"]), local.UnaryEncoding(1, ["a", "b"])):
        reports = mechanism.encode(column)
        assert len(reports) == N
        check(reports.to_bytes(), reports)


@pytest.mark.parametrize("source", [parquet, text])
def test_the_command_line(source: Callable[[Path], Path], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    data, schema = source(tmp_path / "in"), tmp_path / "in" / "schema.toml"
    DOMAIN.to_toml(schema)
    verbs: dict[str, list[str]] = {
        "perturb": ["--epsilon", "1", "--radius", "0.1", "--category-epsilon", "1"],
        "anonymize": ["--k", "5"],
        "synopsis": ["--epsilon", "1"],
    }
    for verb, more in verbs.items():
        for suffix in ("parquet",) if verb == "synopsis" else ("csv", "parquet"):
            target = tmp_path / "out" / f"{verb}.{suffix}"
            command = [verb, str(data), "--schema", str(schema), "-o", str(target), *more]
            result = run(*command, catch=True)
            assert result.exit_code == 0, result.output
            assert MARK not in result.output
            assert str(NUMBER) not in result.output
    check(*(tmp_path / "out").iterdir())
