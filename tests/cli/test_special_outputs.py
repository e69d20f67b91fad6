"""A pipe, a device or a folder is never replaced by a file: pages go through pipes, releases are refused there."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from command_line import run
from discreet.core.output.files import NewFile, special, write_whole
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument
from discreet.jobs.kinds import KINDS

SCHEMA = ("--schema", "s.toml")
REPORTS = ("sketch", "encode", "t.csv", "--column", "job", "--domain", "clerk,nurse", "--epsilon", "1")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a table, a schema and one artifact of every kind that verbs read."""
    tmp_path = tmp_path_factory.mktemp("made")
    (tmp_path / "t.csv").write_text("age,job\n" + "35,clerk\n41,nurse\n" * 50)
    (tmp_path / "s.toml").write_text(
        '[columns.age]\nbounds = [0, 120]\nrole = "quasi-identifier"\n'
        '[columns.job]\ncategories = ["clerk", "nurse"]\nrole = "quasi-identifier"\n'
    )
    for words in (
        ("synopsis", "t.csv", *SCHEMA, "--epsilon", "1", "-o", "s.parquet"),
        (*REPORTS, "-o", "r.bin"),
        ("sketch", "aggregate", "r.bin", "-o", "c.bin"),
        ("sketch", "distinct", "t.csv", "--column", "job", "--epsilon", "2", "--key", "7", "-o", "a.bin"),
        ("sketch", "distinct", "t.csv", "--column", "job", "--epsilon", "2", "--key", "7", "-o", "b.bin"),
    ):
        code, told = said(tmp_path, *words)
        assert code == 0, told
    return tmp_path


@pytest.fixture
def place(made_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made_once, tmp_path / "place"))


def said(folder: Path, *words: str) -> tuple[int, str]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = run(*words, catch=True)
    finally:
        os.chdir(before)
    assert done.exception is None or isinstance(done.exception, (DiscreetError, SystemExit)), done.exception
    return done.exit_code, str(done.exception or "")


def pipe(place: Path) -> Path:
    os.mkfifo(place)
    return place


def null(place: Path) -> Path:
    try:
        os.mknod(place, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        place.write_bytes(b"")
    except PermissionError:
        pytest.skip("this user may not make devices")
    return place


def linked(place: Path) -> Path:
    os.mkfifo(place.with_name(f"{place.name}-behind"))
    place.symlink_to(f"{place.name}-behind")
    return place


def listening(place: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(place))  # such a name is short
    return place


def folder(place: Path) -> Path:
    place.mkdir()
    return place


NODES = [pipe, null, linked, listening, folder]
#: Every output of every verb that is kept: {} is the place.
KEPT = {
    "synopsis.release": ("synopsis", "t.csv", *SCHEMA, "--epsilon", "1", "-o", "{}.parquet"),
    "synopsis.centers": ("synopsis", "t.csv", *SCHEMA, "--epsilon", "1", "-o", "x.parquet", "--n-clusters", "1",
        "--centers", "{}"),
    "synthesize.table": ("synthesize", "t.csv", *SCHEMA, "--epsilon", "1", "-o", "{}"),
    "synthesize.release": ("synthesize", "t.csv", *SCHEMA, "--epsilon", "1", "-o", "x.csv", "--synopsis", "{}.parquet"),
    "cluster.centers": ("cluster", "s.parquet", "-k", "1", "-o", "{}"),
    "cluster.release": ("cluster", "t.csv", *SCHEMA, "--epsilon", "1", "-k", "1", "-o", "x.csv", "--release",
        "{}.parquet"),
    "anonymize.release": ("anonymize", "t.csv", *SCHEMA, "--k", "3", "-o", "{}"),
    "mask.release": ("mask", "t.csv", *SCHEMA, "--method", "swapping", "-o", "{}"),
    "perturb.release": ("perturb", "t.csv", *SCHEMA, "--epsilon", "1", "--radius", "1", "-o", "{}"),
    "query.table": ("query", "t.csv", "SELECT COUNT(*) FROM t", *SCHEMA, "--epsilon", "1", "-o", "{}"),
    "ask.table": ("ask", "s.parquet", "age > 3", "-o", "{}"),
    "sketch.release": (*REPORTS, "-o", "{}"),
    "sketch.counts": (*REPORTS, "-o", "x.bin", "--counts", "{}"),
    "sketch.estimates": (*REPORTS, "-o", "x.bin", "--counts", "y.bin", "--estimates", "{}"),
    "aggregate.release": ("sketch", "aggregate", "r.bin", "-o", "{}"),
    "merge.release": ("sketch", "merge", "c.bin", "c.bin", "-o", "{}"),
    "estimate.estimates": ("sketch", "estimate", "c.bin", "-o", "{}"),
    "distinct.release": ("sketch", "distinct", "t.csv", "--column", "job", "--epsilon", "2", "--key", "7", "-o", "{}"),
    "overlap.answers": ("sketch", "overlap", "a.bin", "b.bin", "-o", "{}"),
    "overlap.merged": ("sketch", "overlap", "a.bin", "b.bin", "--merged", "{}"),
    "schema": ("schema", "t.csv", "-o", "{}"),
    "backup": ("collect", "backup", "{}", "--data", "."),
}  # fmt: skip
#: Every output that is a page or figures.
STREAMED = {
    "report.report": ("report", "s.parquet", "-o", "{}"),
    "compare.html": ("compare", "t.csv", "s.parquet", "-o", "{}"),
    "attack.results": ("attack", "s.parquet", "--against", "t.csv", "--control", "t.csv", "-o", "{}"),
    "plan.html": ("plan", "-n", "1000", "-d", "2", "--epsilon", "1", "--html", "{}"),
    "audit.html": ("audit", "--mechanism", "noise.discrete_laplace", "--trials", "2000", "--html", "{}"),
    "estimate.plot": ("sketch", "estimate", "c.bin", "--plot", "{}"),
    "synopsis.report": ("synopsis", "t.csv", *SCHEMA, "--epsilon", "1", "-o", "x.parquet", "--report", "{}"),
    "synopsis.guarantee": ("synopsis", "t.csv", *SCHEMA, "--epsilon", "1", "-o", "x.parquet", "--guarantee", "{}"),
}
SHARED = {"report", "guarantee"}  # of many kinds, and written by the same line for all of them


def test_every_output_of_every_job_is_tried_below() -> None:
    outputs = {(k.name, o.name): o.streams for k in KINDS.values() for o in k.outputs}
    tried = {tuple(name.split(".")): name in STREAMED for name in (*KEPT, *STREAMED) if "." in name}
    assert {k: v for k, v in outputs.items() if k in tried or k[1] not in SHARED} == tried


@pytest.mark.parametrize("made", NODES)
@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_is_refused_where_it_cannot_lie(place: Path, name: str, made: Callable[[Path], Path]) -> None:
    node = made(place / "node" if not any("{}.parquet" in w for w in KEPT[name]) else place / "node.parquet")
    before = node.lstat()
    files = set(place.iterdir())
    code, told = said(place, *(word.format("node") for word in KEPT[name]))
    assert code, told
    after = node.lstat()
    assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)
    assert set(place.iterdir()) <= files | {place / "node-behind"}, "something else was left"
    assert "regular file" in told


@pytest.mark.parametrize("made", [pipe, linked])
@pytest.mark.parametrize("name", STREAMED)
def test_a_page_goes_through_a_pipe(place: Path, name: str, made: Callable[[Path], Path]) -> None:
    node, read = made(place / "node"), []
    reader = threading.Thread(target=lambda: read.append(node.read_bytes()), daemon=True)
    reader.start()
    code, told = said(place, *(word.format("node") for word in STREAMED[name]))
    assert code == 0, told
    reader.join(20)
    assert special(node) == "pipe"
    if name.endswith(("guarantee", "results")):
        assert json.loads(read[0])["format"] == f"discreet.{'attack' if 'attack' in name else 'guarantee'}"
    else:
        assert read[0].rstrip().endswith(b"</html>")


@pytest.mark.parametrize("name", STREAMED)
def test_a_device_takes_a_page_and_stays_a_device(place: Path, name: str) -> None:
    node = null(place / "node")
    assert said(place, *(word.format("node") for word in STREAMED[name])) == (0, "")
    assert stat.S_ISCHR(node.lstat().st_mode)


@pytest.mark.parametrize("made", [listening, folder])
@pytest.mark.parametrize("name", STREAMED)
def test_a_page_is_refused_where_nothing_reads(place: Path, name: str, made: Callable[[Path], Path]) -> None:
    node = made(place / "node")
    code, told = said(place, *(word.format("node") for word in STREAMED[name]))
    assert code == 2 or told
    assert special(node) in ("socket", "folder")


def test_the_suggestion_works_when_it_is_typed(place: Path) -> None:
    pipe(place / "node.parquet")
    _, told = said(place, "synopsis", "t.csv", *SCHEMA, "--epsilon", "1", "-o", "node.parquet")
    assert told == "--output must be a regular file, and not a pipe, got 'node.parquet'; try --output synopsis.parquet"
    assert said(place, "synopsis", "t.csv", *SCHEMA, "--epsilon", "1", *told.rpartition("try ")[2].split())[0] == 0
    folder(place / "out")
    _, told = said(place, "anonymize", "t.csv", *SCHEMA, "--k", "3", "-o", "out")
    assert said(place, "anonymize", "t.csv", *SCHEMA, "--k", "3", *told.rpartition("try ")[2].split())[0] == 0
    assert (place / "out" / "release.csv").is_file()


@pytest.mark.parametrize(
    ("name", "into"), [("/dev/stdout", "file"), pytest.param("/dev/fd/1", "pipe", marks=pytest.mark.slow)]
)
def test_standard_output_is_written_to_and_its_name_stays(place: Path, name: str, into: str) -> None:
    """A name of an open file is a link that leads to the file: it must not be taken for the file."""
    if not Path(name).exists():
        pytest.skip("this system has no such name")
    folder = place / "own"  # a copy of the link, so that a fault here cannot harm the machine
    folder.mkdir()
    (folder / "stdout").symlink_to(name)
    words = [sys.executable, "-m", "discreet", "report", "s.parquet", "-o", str(folder / "stdout")]
    if into == "file":
        with (place / "page.html").open("wb") as file:
            subprocess.run(words, stdout=file, cwd=place, check=True)
        page = (place / "page.html").read_bytes()
    else:
        page = subprocess.run(words, capture_output=True, cwd=place, check=True).stdout
    assert page.lstrip().lower().startswith(b"<!doctype html")
    assert page.rstrip().endswith(b"</html>")
    assert (folder / "stdout").is_symlink()


def test_the_library_refuses_too(tmp_path: Path) -> None:
    node = pipe(tmp_path / "p.parquet")
    synopsis = dc.GridSynopsis(1.0, (0, 1), 4, random_state=1).fit([[0.5]] * 50).synopsis_
    mechanism = dc.local.DirectResponse(1.0, domain=["a", "b"])
    counts = mechanism.aggregate(mechanism.encode(["a"] * 20, rng=1))
    noisy = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=(0, 1), random_state=4)
    for write in (
        synopsis.save,
        counts.save,
        lambda path: noisy.transform_file([[0.2, 0.3]], path),
        lambda path: write_whole(path, b"x"),
    ):
        with pytest.raises(DataSourceError, match=r"is a pipe, .*name a regular file"):
            write(node)
    assert stat.S_ISFIFO(node.lstat().st_mode)
    with pytest.raises(InvalidArgument, match="regular file"):
        dc.Job("report", "s.parquet", outputs={"report": str(folder(tmp_path / "d"))}).run()


def test_a_pipe_that_comes_while_a_file_is_written_stays(tmp_path: Path) -> None:
    with NewFile(tmp_path / "p") as out:
        pipe(tmp_path / "p")
        with pytest.raises(DataSourceError, match="is a pipe"):
            out.keep()
    assert [p.name for p in tmp_path.iterdir()] == ["p"]


def test_a_link_to_a_file_is_replaced_and_the_file_stays(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("old")
    write_whole(tmp_path / "link", "new", streams=True)
    assert (tmp_path / "old").read_text() == "old"
    assert (tmp_path / "link").read_text() == "new"
    assert not (tmp_path / "link").is_symlink()


def test_no_other_line_of_the_package_puts_a_file_into_its_place() -> None:
    """Every file goes through `NewFile`, or is a temporary, a lock or a log that its own folder holds."""
    own = {"core/output/files.py", "studio/tables/uploads.py", "studio/workspace.py", "studio/screens/columns.py",
        "studio/screens/data.py", "studio/runs/supervisor.py", "engines/spark/parts.py",
        "engines/spark/table.py", "cli/prepare.py", "reporting/verify.py", "accounts/chain.py"}  # fmt: skip
    root = Path(dc.__file__).parent
    marks = ("os.replace(", ".write_bytes(", ".write_text(", '.open("w', "os.rename(", ".rename(")
    found = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if any(mark in line for mark in marks) and not line.lstrip().startswith((">>>", "..."))
    }
    assert {name for name in found if "rename_columns" not in name} <= own


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_that_leaves_early_changes_no_verdict(place: Path, more: tuple[str, ...]) -> None:
    def code(*words: Any, read: bool = False) -> int:
        reading, writing = os.pipe()
        os.close(reading)
        output = subprocess.PIPE if read else writing
        done = subprocess.run([sys.executable, *map(str, words)], stdout=output, stderr=subprocess.PIPE, check=False)
        os.close(writing)
        assert b"Exception" not in done.stderr
        return done.returncode

    ours, alone = ("-m", "discreet"), Path(__file__).parents[2] / "verifier" / "verify.py"
    table, made = (place / "t.csv", "--schema", place / "s.toml", *more), place / "n.parquet"
    assert code(*ours, "synopsis", *table, "--epsilon", "1", "-o", made) == 0
    damaged = Path(shutil.copy(made, place / "damaged.parquet"))
    with damaged.open("r+b") as file:
        file.seek(200)
        file.write(b"x")
    assert code(*ours, "verify", made, *more) == 0
    assert code(*ours, "verify", damaged, *more) == 1
    for file in (made, damaged):
        assert code(alone, file, *more) == code(alone, file, *more, read=True)
    assert code(*ours, "risk", *table, "--require", "k=2000") == 1
    assert code(*ours, "--help") == 141
