"""Runs a study in processes and keeps what is done in a file that grows: a run can be taken up again."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet._version import __version__
from discreet.core import checks, write_whole
from discreet.errors import DataSourceError
from discreet_studies.harness.study import Numbers, Results, Setting, Study

#: Results as they came with this package.
COMMITTED = Path(__file__).parents[1] / "results"
#: Seconds between two writings of the file.
_PAUSE = 5.0
_SCHEMA = pa.schema([("setting", pa.string()), ("measure", pa.string()), ("value", pa.float64())])

#: Hears how many of how many settings are done.
Tell = Callable[[int, int], None]
#: By the text of a setting.
_Done = dict[str, Mapping[str, float]]


def results_file(study: Study, folder: Path, *, quick: bool) -> Path:
    """Return where the results of a study lie in a folder."""
    return folder / f"{study.name}{'-quick' if quick else ''}{'.json' if study.numbers else '.parquet'}"


def run_study(
    study: Study, folder: str | Path, *, quick: bool = False, processes: int = 2, tell: Tell | None = None
) -> Results:
    """Measure every setting that the results file does not hold yet, and return all of the grid's results.

    Parameters
    ----------
    study : Study
        The study. With more than one process it must be one that `discreet_studies.load` knows by its name.
    folder : str or Path
        Where the results file is, or will be.
    quick : bool
        The small grid or the full one.
    processes : int
        How many settings are measured at a time; 1 stays in this process.
    tell : callable, optional
        Hears how many settings of how many are done.
    """
    place = Path(folder).expanduser()
    place.mkdir(parents=True, exist_ok=True)
    file = results_file(study, place, quick=quick)
    done: _Done = _read(study, file) if file.is_file() else {}
    settings = [json.dumps(dict(s), sort_keys=True) for s in study.settings(quick)]
    waiting = [s for s in settings if s not in done]
    workers = checks.whole("processes", processes, low=1, high=256)
    written = time.monotonic()
    try:
        for setting, numbers in _measured(study, waiting, workers):
            done[setting] = numbers
            if tell is not None:
                tell(sum(s in done for s in settings), len(settings))
            if time.monotonic() - written > _PAUSE:
                _write(study, file, done)
                written = time.monotonic()
    finally:  # an interrupted run keeps what it has
        _write(study, file, done)
    return Results(((json.loads(s), done[s]) for s in settings), quick=quick, file=file)


def read_results(study: Study, folder: str | Path | None = None) -> Results:
    """Return stored results: those in a folder (a full run before a quick one), else those of the package."""
    places = [COMMITTED] if folder is None else [Path(folder).expanduser(), COMMITTED]
    for place in places:
        for quick in (False, True):
            file = results_file(study, place, quick=quick)
            if file.is_file():
                rows = ((json.loads(s), numbers) for s, numbers in _read(study, file).items())
                return Results(rows, quick=quick, file=file)
    raise DataSourceError(f"{study.name}: no results found; run 'discreet study run {study.name}' first")


def _measured(study: Study, waiting: list[str], workers: int) -> Iterator[tuple[str, Numbers]]:
    if workers == 1 or len(waiting) < 2:
        for setting in waiting:
            yield setting, _timed(study, setting)
        return
    # Numerical libraries would start a thread a core in every process.
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            tasks = {pool.submit(_by_name, study.name, setting): setting for setting in waiting}
            try:
                for task in as_completed(tasks):
                    yield tasks[task], task.result()
            finally:
                pool.shutdown(cancel_futures=True)
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def _by_name(name: str, setting: str) -> Numbers:
    import discreet_studies

    return _timed(discreet_studies.load(name), setting)


def _timed(study: Study, setting: str) -> Numbers:
    read: Setting = json.loads(setting)
    start = time.perf_counter()
    numbers = dict(study.measure(read))
    return {**numbers, "seconds": time.perf_counter() - start}


def _read(study: Study, file: Path) -> _Done:
    if study.numbers:
        return _read_rows(study, file)
    try:
        table = pq.read_table(file, schema=_SCHEMA)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataSourceError(f"{str(file)!r} cannot be read as results; remove it to begin again ({error})") from None
    found: dict[str, dict[str, float]] = {}
    columns = (table[name].to_pylist() for name in _SCHEMA.names)
    for setting, measure, value in zip(*columns, strict=True):
        found.setdefault(setting, {})[measure] = value
    return dict(found)


def _read_rows(study: Study, file: Path) -> _Done:
    """Return results that were kept as flat rows."""
    found: _Done = {}
    try:
        for row in json.loads(file.read_text(encoding="utf-8"))["results"]:
            setting = {name: value for name, value in row.items() if name not in study.numbers}
            found[json.dumps(setting, sort_keys=True)] = {n: float(row[n]) for n in study.numbers if n in row}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataSourceError(f"{str(file)!r} cannot be read as results; remove it to begin again ({error})") from None
    return found


def _write_rows(study: Study, file: Path, done: _Done) -> None:
    """Keep results as flat rows.

    Rows that were there stay, so what they were made by stays written, too: the commands, one after the other, and the
    versions of packages that are not here.
    """
    before = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    command = f"discreet study run {study.name}"
    commands = [c for c in before.get("command", "").split("; then ") if c]
    commands += [command] if command not in commands and len(done) > len(before.get("results", [])) else []
    now = {"python": platform.python_version(), "discreet": __version__}
    for name in study.packages:
        with suppress(PackageNotFoundError):
            now[name] = version(name)
    rows = [{**json.loads(setting), **numbers} for setting, numbers in done.items()]
    whole = {n for n in study.numbers if all(float(row.get(n, 0)).is_integer() for row in rows)}
    rows = [{n: int(v) if n in whole else v for n, v in row.items()} for row in rows]
    head: dict[str, object] = {"command": "; then ".join(commands), "machine": platform.machine()}
    head["versions"] = before.get("versions", {}) | now
    write_whole(file, json.dumps({**head, "results": rows}, indent=1, ensure_ascii=False) + "\n")


def _write(study: Study, file: Path, done: _Done) -> None:
    if study.numbers:
        return _write_rows(study, file, done)
    rows = [(s, m, float(v)) for s, numbers in done.items() for m, v in numbers.items()]
    columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(_SCHEMA)]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=_SCHEMA), sink, compression="zstd")
    write_whole(file, sink.getvalue().to_pybytes())
