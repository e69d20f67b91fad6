"""A Spark frame on several executors gives the releases of an array, and nothing but whole numbers leaves them."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engines.passes.cells import RowMap
from discreet.engines.readers import read_columns
from discreet.engines.spark.cells import GridOfTree, cell_expression
from discreet.errors import DataSourceError, SchemaError
from discreet.reporting import verify
from evidence_damage import independent
from spark_releases import (
    DOMAIN,
    JAVA,
    NUMBERS,
    PARTITIONERS,
    PEOPLE,
    anonymous,
    grids,
    report_table,
    sketches,
    table,
    trees,
    write_pieces,
)
from support.trees import cuts_of

pytest.importorskip("pyspark", reason="the extra is not installed: pip install 'discreet[spark]'")
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"
)

ROWS = table()


#: Spark writes Java for each question and has it compiled, which for a few thousand rows takes most of the time.
COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}
PLAIN = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    from discreet.engines.spark import session

    # With the slow tests two executors, each a process of its own; tasks that take long are started twice. Without them
    # two threads, whose tasks are sent, retried and added up in the same way, at half the cost.
    whole = any(item.path == request.path and item.get_closest_marker("slow") for item in request.session.items)
    started = session(
        "local-cluster[2,1,1024]" if whole else "local[2,4]",
        spark__sql__shuffle__partitions="2",
        spark__ui__showConsoleProgress="false",
        spark__speculation="true",
        spark__driver__maxResultSize="1m",  # counts fit into it, rows of a large table do not
        spark__driver__extraJavaOptions=JAVA,
        spark__executor__extraJavaOptions=JAVA,
    )
    for name, value in (COMPILED if whole else PLAIN).items():
        started.conf.set(name, value)
    started.sparkContext.setLogLevel("OFF")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pieces(ROWS, tmp_path_factory.mktemp("rows") / "table")


@pytest.fixture(scope="module")
def frame(spark: Any, folder: Path) -> Any:
    return spark.read.parquet(str(folder)).cache()


@pytest.fixture(scope="module")
def shuffled(frame: Any) -> Any:
    return frame.repartition(3, "income").cache()


def test_executors_without_room_are_reported_like_any_full_disk(tmp_path: Path) -> None:
    """Spark passes on their words; nothing is left."""
    from discreet.engines.spark.parts import PartFolder

    target = tmp_path / "safe.parquet"
    said = "An exception was thrown from the Python worker: OSError: [Errno 28] No space left on device"
    with (
        pytest.raises(DataSourceError, match=r"cannot write .*safe.parquet' \(No space left on device\); check"),
        PartFolder(target, dc.Guarantee("syntactic", parameters={"required": {"k": 10}})),
    ):
        raise RuntimeError(said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow  # a tree of a frame against one of rows is also fitted where a grid is counted in the JVM
@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_a_tree_is_the_same_from_memory_from_files_and_from_spark(
    partitioner: str, folder: Path, shuffled: Any
) -> None:
    expected = trees(ROWS, (partitioner,))
    assert trees(str(folder), (partitioner,)) == expected
    assert trees(shuffled, (partitioner,)) == expected


@pytest.mark.slow
def test_marginals_are_the_same_from_memory_from_files_and_from_spark(folder: Path, shuffled: Any) -> None:
    fit = dc.MarginalSynopsis(2.0, DOMAIN, delta=1e-6, random_state=7).fit
    assert len({fit(table).synopsis_.digest for table in (ROWS, str(folder), shuffled)}) == 1


def test_a_grid_is_the_same_however_rows_are_divided(folder: Path, frame: Any, shuffled: Any) -> None:
    expected = grids(ROWS)
    assert grids(str(folder)) == expected
    assert grids(shuffled) == expected
    backwards = frame.orderBy("income", ascending=False).coalesce(1)
    fit = dc.GridSynopsis(2.0, domain=NUMBERS, random_state=7, rule=12).fit
    assert fit(backwards).synopsis_.digest == expected["grid"]


@pytest.mark.parametrize(
    "unit",
    [
        dc.Person("user", rows=3, group="sex", per_group=2),
        pytest.param(dc.Person("user", rows=4), marks=pytest.mark.slow),
        pytest.param(dc.Person("user", rows="auto"), marks=pytest.mark.slow),
    ],
    ids=["groups", "rows", "bought"],
)
def test_rows_of_persons_are_bounded_where_they_are(unit: dc.Person, spark: Any, tmp_path: Path) -> None:
    who = np.random.default_rng(1).zipf(1.4, len(ROWS)) % 90
    names = [None if w == 7 else f"{w}" if unit.group else int(w) for w in who]  # texts, or whole numbers
    rows = ROWS.append_column("user", pa.array(names))
    frame = spark.read.parquet(str(write_pieces(rows, tmp_path / "people"))).repartition(3)
    method = dc.GridSynopsis(2.0, DOMAIN.with_unit(unit), rule=3, random_state=7)
    found = method.fit(frame).synopsis_
    expected = method.fit(rows).synopsis_
    assert found.digest == expected.digest
    assert found.guarantee.unit.startswith("one person, with all their rows (at most ")


#: Of a table with a column of persons: one question of every kind of pass.
ASKED: dict[str, Any] = {
    "sql": lambda s: s.sql("SELECT sex, AVG(income), COUNT(*) FROM t WHERE age > 30 GROUP BY sex", epsilon=1),
    "quantiles": lambda s: s.quantiles("income", [0.25, 0.75], by="sex", epsilon=1),
    "distinct": lambda s: s.distinct("sex", epsilon=1),
    "sum": lambda s: s.sum("income", "age < 60", epsilon=1, delta=1e-6),
}


@pytest.mark.slow  # rows of persons are bounded for a session as for a synopsis
@pytest.mark.parametrize(
    ("unit", "asked"),
    [
        (dc.Person("user", rows=3, group="sex", per_group=2), ["sql"]),
        (dc.Person("user", rows=4), [*ASKED]),
        (dc.Person("user", rows="auto"), [*ASKED]),
    ],
    ids=["groups", "rows", "bought"],
)
def test_a_session_of_persons_answers_the_same_from_memory_from_files_and_from_spark(
    unit: dc.Person, asked: list[str], spark: Any, tmp_path: Path
) -> None:
    who = np.random.default_rng(1).zipf(1.4, len(ROWS)) % 90
    rows = ROWS.append_column("user", pa.array([None if w == 7 else f"u{w}" for w in who]))
    path = str(write_pieces(rows, tmp_path / "people"))
    domain, found = DOMAIN.with_unit(unit), []
    for source in (rows, path, spark.read.parquet(path).repartition(3)):
        ledger = dc.Ledger(epsilon=4, delta=1e-6)
        session = dc.QuerySession(source, ledger, domain=domain, random_state=7)
        answers = [ASKED[name](session) for name in asked]
        found.append(([a.to_arrow().to_pylist() for a in answers], [a.guarantee.digest for a in answers]))
        assert float(ledger.spent) == len(asked)
    assert found[0] == found[1] == found[2]


def test_keys_of_a_frame_are_refused_before_anything_is_charged(frame: Any) -> None:
    ledger = dc.Ledger(epsilon=1, delta=1e-6)
    session = dc.QuerySession(frame, ledger, domain=NUMBERS)
    with pytest.raises(SchemaError, match="declare the categories"):
        session.count(by="sex", keys="private", epsilon=1, delta=1e-6)
    assert float(ledger.spent) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", sketches())
def test_stored_reports_are_counted_on_spark_and_from_files(name: str, spark: Any, tmp_path: Path) -> None:
    mechanism = sketches()[name]
    rows, reports = report_table(mechanism)
    path = write_pieces(rows, tmp_path / "reports")
    expected = mechanism.aggregate(reports.rows)
    expected.rejected += 2
    assert mechanism.aggregate(rows) == expected
    assert mechanism.aggregate(str(path)) == expected
    assert mechanism.aggregate(spark.read.parquet(str(path))) == expected


@pytest.mark.slow
def test_collected_reports_give_the_same_counts_from_sqlite_postgres_and_spark(spark: Any, tmp_path: Path) -> None:
    """Two collectors share a folder of segments; a device that tried both, around midnight too, is counted once."""
    from collecting import some_task
    from discreet.collector.stores import segments
    from discreet.collector.stores.base import Post
    from discreet.collector.stores.postgres import PostgresStore
    from discreet.collector.stores.sqlite import SqliteStore
    from postgres import binaries, server

    task = some_task(dc.local.HadamardSketch(2, 32, 32, key=7))
    rows = task.mechanism.encode(["cat", "dog"] * 300).rows
    keys = np.random.default_rng(1).bytes(16 * 100)
    sent = [
        Post(task.digest, i % 2, keys[16 * i : 16 * i + 16], 6, rows[6 * i : 6 * i + 6].tobytes()) for i in range(100)
    ]

    def filled(store: Any, posts: list[Post]) -> Any:
        store.create(task)
        for start in range(0, len(posts), 30):
            store.commit(posts[start : start + 30])
            if start == 30:
                store.tidy(lambda work: store.commit([], work) and None, all_of_it=True)
        if store.segments is not None:
            store.tidy(lambda work: store.commit([], work) and None, all_of_it=True)
        found = store.counts(task.digest)
        store.shut()
        return found

    expected = filled(SqliteStore(tmp_path / "alone"), sent)
    assert sum(counts.n for counts in expected.values()) == 600
    if binaries() is not None:
        with server(fsync=True) as address:
            assert filled(PostgresStore(address), sent) == expected
    again = [post._replace(period=2 if i < 50 else post.period) for i, post in enumerate(sent)]
    for name, some in (("one", sent[:60]), ("two", again[40:])):
        filled(SqliteStore(tmp_path / name, segments=tmp_path / "segments"), some)
    found = segments.count(task, tmp_path / "segments", spark)
    assert found.pop(2).n == 0
    assert found == expected


@pytest.mark.slow
def test_private_k_means_finds_the_same_centres(frame: Any) -> None:
    one = dc.PrivateKMeans(3, epsilon=2.0, domain=NUMBERS, random_state=7).fit(ROWS)
    two = dc.PrivateKMeans(3, epsilon=2.0, domain=NUMBERS, random_state=7).fit(frame)
    assert two.synopsis_.digest == one.synopsis_.digest
    assert np.array_equal(two.cluster_centers_, one.cluster_centers_)
    assert two.feature_names_in_.tolist() == ["age", "income", "sex"]
    assert np.array_equal(np.bincount(two.predict(frame) + 1), np.bincount(one.predict(ROWS) + 1))
    steps = {"n_clusters": 2, "epsilon": 2.0, "domain": NUMBERS, "n_iter": 2, "random_state": 7}
    lloyd = [dc.DPLloyd(**steps).fit(data).guarantee_.digest for data in (ROWS, frame)]
    assert lloyd[0] == lloyd[1]
    sexes = dc.Domain({**{c.name: c for c in NUMBERS}, "sex": ["f", "m"]})
    for model in (dc.PrivateLinearRegression, dc.PrivateLogisticRegression, dc.PrivatePCA):
        fits = [model(2.0, sexes if "Log" in model.__name__ else NUMBERS, random_state=7) for _ in range(2)]
        assert fits[0].fit(ROWS).guarantee_.digest == fits[1].fit(frame).guarantee_.digest


@pytest.mark.slow  # a dozen passes, each a job of its own
def test_many_columns_are_projected_where_the_rows_are(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of all columns come back as one aggregate of keys and numbers; no row does."""
    from discreet.engines.spark import SparkTable

    rng = np.random.default_rng(0)
    rows = np.clip(rng.uniform(0, 1, (3, 20))[rng.integers(3, size=400)] + rng.normal(0, 0.05, (400, 20)), 0, 1)
    names = [f"c{j}" for j in range(20)]
    domain = dc.Domain.box([0.0] * 20, 1.0, names=names)
    table = pa.table(dict(zip(names, rows.T, strict=True)))
    frame = spark.createDataFrame(table.to_pandas()).repartition(3)

    def read(*_: Any) -> None:
        raise AssertionError("rows were brought to the driver")

    monkeypatch.setattr(SparkTable, "read", read)
    settings = {"n_clusters": 3, "epsilon": 5.0, "domain": domain, "synopsis": "lift", "random_state": 7}
    made = [dc.PrivateKMeans(**settings).fit(data).synopsis_ for data in (table, frame)]
    assert made[0].digest == made[1].digest


def test_rows_are_perturbed_on_the_driver_in_their_order(frame: Any) -> None:
    in_order = frame.coalesce(1)
    brought = read_columns(dc.engines.open(in_order), ["age", "income"])
    noisy = dc.metric.NDLaplace(1.0, 0.1, domain=NUMBERS, random_state=3)
    released = noisy.transform(in_order)
    assert isinstance(released, pa.Table)
    assert released.equals(noisy.transform(brought))


@pytest.mark.slow
def test_an_anonymous_table_and_its_risk_come_from_a_frame(frame: Any) -> None:
    roles = {"age": "quasi-identifier", "income": "quasi-identifier", "sex": "sensitive"}
    domain = dc.Domain(
        {name: {**declared, "role": roles[name], "missing": "own"} for name, declared in DOMAIN.to_dict().items()}
    )
    in_order = frame.coalesce(1)
    brought = read_columns(dc.engines.open(in_order), ["age", "income", "sex"])
    tree = dc.anonymity.Mondrian(k=20, domain=domain).fit(brought)
    released = [tree.transform(data, random_state=1).table for data in (brought, in_order)]
    assert released[0].equals(released[1])
    reports = [dc.anonymity.risk(data, ["age"], "sex").to_dict() for data in (ROWS, frame)]
    assert reports[0] == reports[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:delta = 0.1 is above")
def test_labels_thresholds_and_drawn_rows_are_the_same_from_a_frame(frame: Any, shuffled: Any, tmp_path: Path) -> None:
    ages = {"kind": "integer", "bounds": [0, 120], "top": 90, "missing": "own"}
    domain = dc.Domain({"age": ages, "sex": ["f", "m", "x"]})
    settings: dict[str, Any] = {
        "levels": {"age": 3, "sex": 1},
        "hierarchies": {"sex": {"known": ["f", "m"], "y": ["x"]}},
    }
    drawn = dc.anonymity.SampledGeneralization(5, 0.5, 0.1, domain=domain, random_state=3, **settings)
    tables = [drawn.fit_transform(data) for data in (ROWS, frame, shuffled)]
    assert len({each.guarantee.digest for each in tables}) == 1
    assert {"> 90", "known"} <= {*tables[0].table["age"].to_pylist(), *tables[0].table["sex"].to_pylist()}
    whole = dc.anonymity.Generalization(5, domain=domain, suppress=0.5, **settings).fit(ROWS)
    written = whole.transform_file(frame, tmp_path / "rows.parquet")
    expected = whole.transform(ROWS)
    assert (
        written.guarantee.parameters["labels"]
        == expected.guarantee.parameters["labels"]
        == {"sex": {"known": ["f", "m"]}}
    )
    shown = [sorted(zip(*t.to_pydict().values(), strict=True)) for t in (pq.read_table(written.path), expected.table)]
    assert shown[0] == shown[1]


@pytest.mark.slow
def test_rows_of_a_frame_go_to_files_on_the_driver(frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.metric import perturber
    from discreet.metric import rows as _rows

    for module in (_rows, perturber):  # chunks that end within Spark's batches
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 700)
    in_order = frame.coalesce(1)
    brought = read_columns(dc.engines.open(in_order), ["age", "income", "sex"])
    noisy = dc.metric.NDLaplace(1.0, 0.1, domain=DOMAIN, category_epsilon=1.0, random_state=3)
    written = noisy.transform_file(in_order, tmp_path / "noisy.parquet", order="input")
    assert pq.read_table(written.path).replace_schema_metadata(None).equals(noisy.transform(brought))
    model = dc.PrivateKMeans(3, epsilon=2.0, domain=NUMBERS, random_state=7).fit(frame)
    labels = model.predict_file(in_order, tmp_path / "labels.parquet")
    assert np.array_equal(pq.read_table(labels.path)["cluster"], model.predict(brought))


def as_a_bag(rows: pa.Table) -> list[str]:
    """Return the rows in an order of their own, each as text: -0.0 is another one than 0.0."""
    return sorted(map(str, zip(*(column.to_pylist() for column in rows.columns), strict=True)))


def no_rows_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.engines.spark import SparkTable, parts

    def read(*_: Any) -> None:
        raise AssertionError("rows were brought to the driver")

    monkeypatch.setattr(SparkTable, "read", read)
    monkeypatch.setattr(parts, "ROWS_PER_PART", 900)  # several files of a small table


def same_tree(method: Any, frame: Any, monkeypatch: pytest.MonkeyPatch, memory: int = 1 << 17) -> None:
    """Fit on rows in memory and on a frame, in so little memory that levels are counted before rows are grown."""
    from discreet.anonymity.release import framed

    expected = method.fit(ROWS)
    tree, counts = cuts_of(expected.tree_), expected.leaf_counts_
    monkeypatch.setattr(framed, "MEMORY", memory)
    no_rows_here(monkeypatch)
    found = method.fit(frame)
    assert cuts_of(found.tree_) == tree
    assert np.array_equal(found.leaf_counts_, counts)
    assert len(counts) > 8


@pytest.mark.slow
def test_a_tree_of_an_anonymous_table_grows_where_the_rows_are(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    same_tree(anonymous(), frame, monkeypatch, memory=1 << 18)  # one level, and every level is a job


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"l_diversity": 2}], ids=["k", "l"])
def test_levels_are_chosen_where_the_rows_are(
    settings: dict[str, Any], shuffled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = dc.anonymity.Generalization(k=15, domain=dc.Domain(PEOPLE), suppress=0.02, **settings)
    expected = dict(method.fit(ROWS).levels_)
    assert all(expected.values())
    no_rows_here(monkeypatch)
    assert method.fit(shuffled).levels_ == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cell", "factor", "width", "mondrian", "persons", "blind"])
def test_every_way_of_growing_is_the_same_on_spark(name: str, shuffled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds, domain = dc.anonymity, dc.Domain(PEOPLE)
    texts = dc.Domain({**PEOPLE, "sex": {"categories": ["f", "m", "x"], "role": "quasi-identifier"}})
    people = dc.Domain({**PEOPLE, "income": {"bounds": [0, 1e5], "role": "person"}})
    method = {
        "cell": kinds.DensityTree(20, domain=texts, criterion="cell"),
        "factor": kinds.DensityTree(20, None, 0.5, domain=domain, criterion="factor"),
        "width": kinds.DensityTree(20, 2, domain=domain, criterion="width", l_kind="entropy"),
        "mondrian": kinds.Mondrian(20, domain=texts, hierarchies={"sex": "merge"}),
        "persons": kinds.DensityTree(20, domain=people),
        "blind": kinds.DensityTree(20, 2, domain=domain, blind=True),
    }[name]
    same_tree(method, shuffled, monkeypatch)


def test_an_anonymous_table_is_written_where_its_rows_are(
    frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_rows_here(monkeypatch)
    tree = anonymous().fit(ROWS)
    expected = tree.transform(ROWS, random_state=2)
    written = tree.transform_file(frame, tmp_path / "rows.parquet", random_state=2)
    parts = sorted(written.path.iterdir())
    assert [part.name for part in parts] == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    found = pa.concat_tables([pq.read_table(part) for part in parts]).replace_schema_metadata(None)
    assert found.schema == expected.table.schema
    assert as_a_bag(found) == as_a_bag(expected.table)
    assert written.guarantee.parameters == expected.guarantee.parameters
    assert found.slice(0, len(written.head)).combine_chunks().equals(written.head.combine_chunks())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.parquet", "rows.parquet.guarantee.json"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_folder_that_spark_wrote_is_verified_like_a_file(frame: Any, tmp_path: Path, ending: str) -> None:
    """Nothing but parts is in it, so nothing strange is found; another file, or a changed part, is."""
    path = anonymous().fit(ROWS).transform_file(frame, tmp_path / f"rows.{ending}", random_state=2).path
    found, theirs = verify([path]), independent().verify([str(path)])
    assert {a.name for a in found.answers if a.result == "contradicted"} <= {"seed"}, found.to_dict()
    assert {a["check"] for a in theirs.answers if a["result"] == "contradicted"} <= {"seed"}, theirs.to_dict()
    assert [a.name for a in found.answers if a.result == "holds" and a.name in ("seal", "recount")] == [
        "seal",
        "recount",
    ]
    (path / "_raw.csv").write_text("name\nana\n")
    for answers in (verify([path]).to_dict(), independent().verify([str(path)]).to_dict()):
        assert ("file", "contradicted") in [(a["check"], a["result"]) for a in answers["checks"]]


@pytest.mark.slow  # numbers are those of test_order_of_parts.py
def test_no_order_of_a_frame_can_be_seen_in_what_is_written(
    frame: Any, shuffled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_rows_here(monkeypatch)
    tree, found = anonymous().fit(ROWS), []
    for i, rows in enumerate((frame, shuffled, frame.orderBy("income"))):
        written = tree.transform_file(rows, tmp_path / f"{i}.parquet", random_state=2)
        found.append([part.read_bytes() for part in sorted(written.path.iterdir())])
    assert len(found[0]) == 3
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
def test_what_was_mistyped_does_not_leave_a_frame(spark: Any, tmp_path: Path) -> None:
    day, flag = ("2025-01-01", "2025-12-31"), [False, True]
    kept = {"cost": (0, 100), "visits": dc.Integer(0, 9), "code": {"categories": [1, 2]}, "yes": flag, "day": day}
    columns = {
        "age": {"bounds": [0, 99], "role": "quasi-identifier"},
        "ill": {"categories": ["flu", "-"], "role": "sensitive"},
    }
    domain = dc.Domain({**columns, **kept})
    typed = {"ill": ["flu", "Ann Smith", "-"], "cost": ["7.50", "0170 123", "5000"], "visits": ["3", "77", "two"]}
    typed |= {"code": ["1", "Ann", "2.0"], "yes": ["true", "Ann", "false"], "day": ["2025-02-03", "1999-01-01", "Ann"]}
    rows = pa.table(
        {"age": [i % 50 for i in range(300)], **{n: [v[i // 7 % 3] for i in range(300)] for n, v in typed.items()}}
    )
    frame = spark.createDataFrame(
        [tuple(row.values()) for row in rows.to_pylist()],
        ", ".join(f"{n} {'int' if n == 'age' else 'string'}" for n in rows.column_names),
    )
    method = dc.anonymity.DensityTree(5, domain=domain, keep=list(kept)).fit(frame)
    expected = method.transform(rows)
    for ending in ("csv", "parquet"):
        written = method.transform_file(frame, tmp_path / f"rows.{ending}", escape_formulas=ending == "csv")
        found = read_columns(dc.engines.open(str(written.path)), expected.table.column_names)
        if ending == "parquet":
            assert as_a_bag(found) == as_a_bag(expected.table)
            assert found.schema.field("cost").type == pa.float64()
        assert {v for v in found["ill"].to_pylist() if v} == {"flu", "-"}
        assert not any("Ann" in p.read_bytes().decode("latin-1") for p in written.path.iterdir())
    assert set(expected.table["cost"].to_pylist()) == {7.5, None, 100.0}
    assert b'"\'-"' in b"".join(p.read_bytes() for p in (tmp_path / "rows.csv").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["persons", "hashed", "levels", "csv"])
def test_all_that_a_frame_is_released_with_is_as_in_memory(
    name: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.jobs.work.audit import examine

    no_rows_here(monkeypatch)
    n = len(ROWS)
    notes = np.where(np.arange(n) % 7 == 0, -0.0, np.arange(n) % 3 * 0.5)
    rows = ROWS.append_column("who", pa.array([None if i % 90 == 0 else f"w{i % 800}" for i in range(n)]))
    rows = rows.append_column("note", pa.array(notes))
    frame = spark.read.parquet(str(write_pieces(rows, tmp_path / "people"))).repartition(3)
    person = {"who": {"categories": [f"w{i}" for i in range(800)], "role": "person"}, "note": (0, 10)}
    named = {"who": {**person["who"], "role": "identifier"}}
    kinds = dc.anonymity
    hashed = {"identifiers": "hash", "key": b"k" * 16}
    method, settings = {
        "persons": (kinds.DensityTree(20, domain={**PEOPLE, **person}, keep=["note"], suppress=0.05), {}),
        "hashed": (kinds.Mondrian(20, domain={**PEOPLE, **named}), hashed),
        "levels": (kinds.Generalization(10, domain=PEOPLE, suppress=0.2), {}),
        "csv": (kinds.Mondrian(20, 2, domain=PEOPLE), {}),
    }[name]
    method.set_params(domain=dc.Domain(method.domain))
    method.fit(rows)
    target = tmp_path / ("rows.csv" if name == "csv" else "rows.parquet")
    written = method.transform_file(frame, target, random_state=2, **settings)
    expected = method.transform(rows, random_state=2, **settings)
    assert written.guarantee.parameters == expected.guarantee.parameters
    assert written.guarantee.parameters["suppressed"] > 0 or name != "levels"
    gone = {"left_out_without_person": len(range(0, n, 90))} if name == "persons" else {}
    assert gone.items() <= written.guarantee.parameters.items()
    found = read_columns(dc.engines.open(str(written.path)), expected.table.column_names)
    assert as_a_bag(found) == as_a_bag(expected.table)
    if name != "persons":  # an audit tells 0.0 from -0.0 in a kept column, a release does not
        assert examine(written.path).passed


@pytest.mark.slow
def test_a_part_that_is_written_twice_is_there_once(
    frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt of every task writes its whole file and fails then; what it wrote is not released."""
    from discreet.engines.spark import parts

    no_rows_here(monkeypatch)
    original, fails = parts._write_part, 1

    def write(*given: Any) -> Any:
        from pyspark import TaskContext

        yield from original(*given)
        if TaskContext.get().attemptNumber() < fails:
            raise ValueError("lost")

    monkeypatch.setattr(parts, "_write_part", write)
    tree = dc.anonymity.Mondrian(20, domain=dc.Domain(PEOPLE)).fit(ROWS)
    written = tree.transform_file(frame, tmp_path / "rows.parquet")
    assert as_a_bag(pq.read_table(written.path)) == as_a_bag(tree.transform(ROWS).table)
    assert len(list(written.path.iterdir())) == 3
    before = sorted(tmp_path.iterdir())
    fails = 99
    with pytest.raises(Exception, match="lost"):
        tree.transform_file(frame, tmp_path / "never.parquet")
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(DataSourceError, match="is there already"):
        tree.transform_file(frame, tmp_path / "rows.parquet")


KILLED = """
import sys, time
from pathlib import Path
from discreet.engines.spark import parts, session
from spark_releases import anonymous, table
original = parts._write_part
def write(*given):
    import time
    yield from original(*given)
    time.sleep(600)
parts._write_part = write
frame = session("local[2]", spark__ui__showConsoleProgress="false").read.parquet(sys.argv[1])
anonymous().fit(table()).transform_file(frame, sys.argv[2])
"""


@pytest.mark.slow
def test_a_driver_that_is_killed_leaves_nothing_under_the_name(folder: Path, tmp_path: Path) -> None:
    """All rows are in files already; they were not yet counted, and the folder is its owner's alone."""
    target = tmp_path / "rows.parquet"
    support = Path(__file__).parents[2] / "support"
    command = [sys.executable, "-c", KILLED, str(folder), str(target)]
    with subprocess.Popen(command, cwd=support, start_new_session=True, stderr=subprocess.DEVNULL) as job:
        try:
            until = time.monotonic() + 240
            while not list(tmp_path.glob(".rows.parquet.*/*.tally")) and job.poll() is None:
                assert time.monotonic() < until
                time.sleep(0.1)
            assert job.poll() is None
        finally:
            os.killpg(job.pid, signal.SIGKILL)  # Java with it
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".rows.parquet.")
    assert left.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_frame_that_changes_between_the_passes_is_not_released(frame: Any, tmp_path: Path) -> None:
    def some(batches: Any) -> Any:
        import os

        for batch in batches:
            yield batch.slice(os.urandom(1)[0])

    tree = dc.anonymity.Mondrian(20, domain=dc.Domain(PEOPLE)).fit(ROWS)
    with pytest.raises(DataSourceError, match="changed while"):
        tree.transform_file(frame.mapInArrow(some, frame.schema), tmp_path / "rows.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_more_rows_are_written_than_the_driver_would_take(spark: Any, tmp_path: Path) -> None:
    """Six million characters of hashed identifiers, where the driver refuses more than one."""
    rng, n = np.random.default_rng(0), 400_000
    rows = pa.table({"age": rng.integers(0, 100, n), "ill": rng.choice(["no", "yes"], n), "id": np.arange(n)})
    pq.write_table(rows, tmp_path / "people.parquet", row_group_size=100_000)
    domain = dc.Domain({"age": {"bounds": [0, 100], "role": "quasi-identifier"},
                        "ill": {"categories": ["no", "yes"], "role": "sensitive"},
                        "id": {"bounds": [0, n], "role": "identifier"}})  # fmt: skip
    tree = dc.anonymity.Mondrian(50, 2, domain=domain).fit(rows.slice(0, 20_000))
    frame = spark.read.parquet(str(tmp_path / "people.parquet"))
    with pytest.raises(Exception, match="maxResultSize"):
        frame.toArrow() if hasattr(type(frame), "toArrow") else frame.collect()
    written = tree.transform_file(frame, tmp_path / "rows.parquet", identifiers="hash", key=b"k" * 16)
    found = pq.read_table(written.path)
    assert (written.n_rows, found.num_rows, len(found["id"].unique())) == (n, n, n)


@pytest.mark.parametrize(
    "missing", ["own", pytest.param("wildcard", marks=pytest.mark.slow), pytest.param("drop", marks=pytest.mark.slow)]
)
def test_risk_counts_equal_rows_where_they_are(
    missing: str, frame: Any, shuffled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.engines.spark import SparkTable

    def read(*_: Any) -> None:
        raise AssertionError("rows were brought to the driver")

    settings: dict[str, Any] = {"sensitive": ["sex", "age"], "missing": missing}
    people = ROWS.slice(0, 2000).select(["age", "income"])
    expected = dc.anonymity.risk(ROWS, ["income"], population=people, **settings).to_dict()
    monkeypatch.setattr(SparkTable, "read", read)
    assert dc.anonymity.risk(shuffled, ["income"], population=people, **settings).to_dict() == expected
    if missing != "wildcard":
        persons = {"missing": missing, "person": "sex"}
        assert dc.anonymity.risk(frame, ["age"], **persons) == dc.anonymity.risk(ROWS, ["age"], **persons)
        assert dc.anonymity.risk(ROWS, ["age"], population=frame).k_map == dc.anonymity.risk(ROWS, ["age"]).k


def test_only_whole_numbers_leave_the_executors(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.engines.spark import table as spark

    collected, original = [], spark.collected

    def collect(plan: Any) -> pa.Table:
        found = original(plan)
        collected.append(found)
        return found

    monkeypatch.setattr(spark, "collected", collect)
    tree = dc.TreeSynopsis(2.0, domain=DOMAIN, partitioner="density", max_depth=2, random_state=7).fit(frame)
    assert collected
    assert all(kind == pa.int64() for found in collected for kind in found.schema.types)
    # What is released is made of plain arrays: nothing that Spark could work out a second time.
    assert isinstance(tree.synopsis_.weights, np.ndarray)
    assert not any(type(value).__module__.startswith("pyspark") for value in vars(tree).values())


def test_a_task_that_fails_and_is_done_again_changes_nothing(frame: Any, tmp_path: Path) -> None:
    marks = str(tmp_path)

    def fragile(batches: Any) -> Any:
        from pathlib import Path

        from pyspark import TaskContext

        context = TaskContext.get()
        for i, batch in enumerate(batches):
            yield batch
            # When some rows have been handed on already.
            if context.partitionId() == 1 and context.attemptNumber() == 0 and i == 0:
                Path(marks, f"{context.partitionId()}-{context.taskAttemptId()}").touch()
                raise ValueError("lost")

    weak = frame.repartition(3).mapInArrow(fragile, frame.schema)
    fit = dc.GridSynopsis(2.0, domain=NUMBERS, random_state=7, rule=12, n_rows=2500).fit
    assert fit(weak).synopsis_.digest == fit(ROWS).synopsis_.digest
    assert len(list(tmp_path.iterdir())) == 1


def test_columns_that_are_not_there_or_of_another_type_are_named(spark: Any, frame: Any, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="the Spark frame has no column 'height'; it has 'age', 'income', 'sex'"):
        dc.GridSynopsis(1.0, domain={"height": (0, 3)}).fit(frame)
    lists = spark.createDataFrame([([1.0],)], "age array<double>")
    with pytest.raises(SchemaError, match=r"column 'age' of the Spark frame has type array<double>, but is declared"):
        dc.GridSynopsis(1.0, domain={"age": (0, 120)}).fit(lists)
    when = spark.createDataFrame([(None,)], "age timestamp")
    with pytest.raises(SchemaError, match="type timestamp, but is declared with numbers"):
        dc.TreeSynopsis(1.0, domain={"age": (0, 120)}).fit(when)
    with pytest.raises(SchemaError, match="has 3 columns; keep the one of reports"):
        sketches()["direct"].aggregate(frame)


def test_columns_that_differ_by_capitals_or_have_odd_names_are_distinguished(spark: Any) -> None:
    odd = spark.createDataFrame([(1.0, 9.0, 2.0)], "age double, AGE double, `a.b` double")
    grid = dc.engines.GridMap(dc.Domain({"AGE": (0, 10), "a.b": (0, 10)}), 10)
    assert dc.engines.open(odd).count(grid).cells.tolist() == [92]


def test_types_nulls_and_dates_follow_the_rules_of_the_other_engines(spark: Any) -> None:
    domain = dc.Domain(
        {
            "n": (0, 10),
            "price": (0, 10),
            "code": {"categories": [1, 2]},
            "yes": [False, True],
            "born": ("2000-01-01", "2009-12-31"),
        }
    )
    types = "n smallint, price decimal(6,2), code string, yes boolean, born date"
    day = datetime.date(2005, 6, 1)
    rows = [
        (3, Decimal("2.50"), " 1 ", True, day),
        (None, Decimal("1.00"), "2", None, day),
        (7, None, "2.0", False, None),
    ]
    frame = spark.createDataFrame(rows, types)
    names = frame.columns
    brought = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    for name in names:
        grid = dc.engines.GridMap(domain.select([name]), 5 if name in ("n", "price", "born") else 2)
        assert dc.engines.open(frame).count(grid) == dc.engines.open(brought).count(grid)


def test_a_grid_counted_in_the_jvm_agrees_with_the_kernel_to_the_last_bit(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    low, high, parts = -0.1, 1.3, 49
    edges = low + np.arange(parts + 1) * ((high - low) / parts)
    near = [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)]
    odd = [np.inf, -np.inf, np.nan, 5e-324, -0.0, 1.7e308, -1.7e308]
    x = np.concatenate([*near, odd, np.random.default_rng(2).uniform(-0.2, 1.4, 3000)])
    whole = np.random.default_rng(3).integers(-(2**63), 2**63 - 1, len(x))
    short = np.clip(x, -1e30, 1e30).astype(np.float32)
    rows = pa.table({"x": x, "n": pa.array(whole, mask=np.arange(len(x)) % 5 == 0), "f": short})
    frame = spark.read.parquet(str(write_pieces(rows, tmp_path / "rows")))
    for name, value in COMPILED.items():  # the arithmetic that users get
        spark.conf.set(name, value)
    walked, fold = [], GridOfTree.fold
    monkeypatch.setattr(GridOfTree, "fold", lambda self, found: walked.append(self) or fold(self, found))
    for rule in ("drop", "own"):
        bounds = {"x": [low, high], "n": [-9.1e18, 9.2e18], "f": [0.1, 0.9]}
        domain = dc.Domain({name: {"bounds": ends, "missing": rule} for name, ends in bounds.items()})
        for cells in (dc.engines.GridMap(domain, [parts, 7, 1000]), RowMap(domain)):
            assert cell_expression(cells, ["c0", "c1", "c2"], ["double", "long", "float"]) is not None
            assert dc.engines.open(frame).count(cells) == dc.engines.open(rows).count(cells)
        tree = dc.TreeSynopsis(2.0, domain=domain, max_depth=9, axis="widest", n_rows=3000, random_state=1)
        walked.clear()
        assert tree.fit(frame).synopsis_.digest == tree.fit(rows).synopsis_.digest
        assert len(walked) == 1


@pytest.mark.slow
def test_a_tree_of_an_empty_frame_is_that_of_no_rows(spark: Any) -> None:
    empty = spark.createDataFrame([], "age int, income double, sex string")
    assert trees(empty, ("quantile",)) == trees(ROWS.slice(0, 0), ("quantile",))


def test_an_empty_frame_is_a_result_like_any_other(spark: Any) -> None:
    empty = spark.createDataFrame([], "age int, income double, sex string")
    none = ROWS.slice(0, 0)
    fit = dc.GridSynopsis(2.0, domain=NUMBERS, random_state=7, rule=5, leaf_means=True).fit
    assert fit(empty).synopsis_.digest == fit(none).synopsis_.digest
    assert dc.metric.NDLaplace(1.0, 0.1, domain=NUMBERS).transform(empty).num_rows == 0
    assert sketches()["direct"].aggregate(spark.createDataFrame([], "report binary")).n == 0


def test_a_frame_that_gives_other_rows_each_time_is_warned_about(spark: Any, frame: Any) -> None:
    from pyspark.sql import functions

    fit = dc.GridSynopsis(1.0, domain=NUMBERS, rule=3).fit
    drawn = frame.filter(functions.rand() < 0.5)
    with pytest.warns(UserWarning, match="the Spark frame is not deterministic") as caught:
        fit(drawn)
    assert sum("not deterministic" in str(w.message) for w in caught) == 1  # of several passes
    from discreet.engines.spark import unsteady

    told = functions.udf(lambda x: x, "double").asNondeterministic()
    assert unsteady(frame.withColumn("income", told("income")))
    assert unsteady(frame.limit(5))
    assert not unsteady(frame.orderBy("income").limit(5))
    assert not unsteady(frame.repartition(3))


@pytest.mark.slow
def test_the_plan_as_text_tells_as_much_where_there_is_no_other(frame: Any) -> None:
    from pyspark.sql import functions

    from discreet.engines.spark import unsteady

    class Distant:
        """Stands for a frame of Spark Connect, which has no plan in this process."""

        def __init__(self, plan: Any) -> None:
            self.explain = plan.explain

    assert unsteady(Distant(frame.withColumn("x", functions.rand())))
    assert unsteady(Distant(frame.withColumn("x", functions.expr("uuid()"))))
    assert not unsteady(Distant(frame.filter("age > 3")))


def test_a_person_of_a_frame_is_one_however_spelled(spark: Any) -> None:
    frame = spark.createDataFrame([("*", w) for w in ("7", " 7", "7.0", "07")], ["a", "who"])
    assert dc.anonymity.risk(frame, ["a"], person="who").k == 1


@pytest.mark.slow
def test_the_loss_of_an_executor_changes_no_release(spark: Any, frame: Any, tmp_path: Path) -> None:
    """The last test: one of the two executors is killed in the middle of a job, and a task of another fails."""
    marks = str(tmp_path)

    def executor(batches: Any) -> Any:
        import os
        import time
        from pathlib import Path

        import pyarrow as pa

        for _ in batches:
            time.sleep(0.3)  # so that no executor does all the work
            parent = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
            yield pa.RecordBatch.from_arrays([pa.array([parent])], ["id"])

    def deadly(batches: Any) -> Any:
        import os
        import signal
        from pathlib import Path

        from pyspark import TaskContext

        context = TaskContext.get()
        daemon = os.getppid()
        for batch in batches:
            yield batch
            if context.partitionId() == 1 and context.attemptNumber() == 0:
                Path(marks, f"failed-{context.taskAttemptId()}").touch()
                raise ValueError("lost")
            if context.partitionId() != 3:
                continue
            try:
                Path(marks, "killed").touch(exist_ok=False)
            except FileExistsError:
                continue
            # The worker's parent is PySpark's daemon, whose parent is the executor.
            executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)

    assert spark.range(0, 8, 1, 8).mapInArrow(executor, "id string").distinct().count() == 2
    weak = frame.repartition(4).mapInArrow(deadly, frame.schema)
    fit = dc.GridSynopsis(2.0, domain=NUMBERS, random_state=7, rule=12, n_rows=2500).fit
    assert fit(weak).synopsis_.digest == fit(ROWS).synopsis_.digest
    assert len(list(tmp_path.glob("killed"))) == 1
    assert len(list(tmp_path.glob("failed-*"))) >= 1


JAVA_KILLED = "os.kill(gateway.proc.pid, signal.SIGKILL); gateway.proc.wait()"


@pytest.mark.slow
@pytest.mark.parametrize("end", ["spark.stop()", JAVA_KILLED], ids=["stopped", "killed"])
def test_a_frame_whose_session_has_ended_is_refused_before_the_charge(end: str, tmp_path: Path) -> None:
    program = f"""
import os, signal
import discreet as dc
from discreet.engines.spark import session
spark = session("local[1]")
gateway = spark.sparkContext._gateway
frame = spark.range(9).selectExpr("double(id) AS x")
account = dc.Account.create({str(tmp_path / "a.account")!r}, dataset="t", epsilon=3)
domain = dc.Domain({{"x": (0, 9)}})
grid = dc.GridSynopsis(1, domain=domain, ledger=account)
grid.fit(frame)
opened = dc.engines.open(frame, domain)
asked = dc.QuerySession(frame, account, domain=domain)
{end}
for ask in (lambda: grid.fit(frame), lambda: grid.fit(opened), lambda: asked.count(epsilon=0.5)):
    try:
        ask()
    except dc.errors.DataSourceError as error:
        print(error, account.spent)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-uc", program], capture_output=True, text=True, check=True)
    told = "data: the Spark session of this frame has ended; start another one and read the frame again"
    assert done.stdout == f"{told} 1.0\n" * 3, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize(("options", "expected"), [("", "4"), (", spark__sql__shuffle__partitions='7'", "7")])
def test_a_new_session_on_one_machine_has_few_partitions_unless_told_otherwise(options: str, expected: str) -> None:
    program = (
        "from discreet.engines.spark import session\n"
        f"session('local[2]'{options})\n"
        "print(session('local[2]').conf.get('spark.sql.shuffle.partitions'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == expected
