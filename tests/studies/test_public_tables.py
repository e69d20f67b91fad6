"""Public tables match what was published, and errors say where to get them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from discreet import datasets
from discreet.errors import DataSourceError, InvalidArgument, InvalidType
from discreet_studies import public_tables

#: name: rows, columns, clusters, classes, as published (Skin is one row short at its source).
PUBLISHED = {
    "s1": (5000, 2, 15, 15),
    "s2": (5000, 2, 15, 15),
    "s3": (5000, 2, 15, 15),
    "s4": (5000, 2, 15, 15),
    "a1": (3000, 2, 20, 20),
    "a2": (5250, 2, 35, 35),
    "a3": (7500, 2, 50, 50),
    "unbalance": (6500, 2, 8, 8),
    "birch1": (100_000, 2, 100, 100),
    "birch2": (100_000, 2, 100, 100),
    "birch3": (100_000, 2, 100, None),
    "aggregation": (788, 2, 7, 7),
    "worms": (105_600, 2, 35, 35),
    "shuttle": (58_000, 9, 7, 7),
    "shuttle_test": (14_500, 9, 7, 7),
    "skin": (245_056, 3, 2, 2),
    "travel": (5456, 24, 5, None),
    "magic": (19_020, 10, 2, 2),
    "letter": (20_000, 16, 26, 26),
    "optdigits": (5620, 64, 10, 10),
    "satimage": (6435, 36, 6, 6),
    "texture": (5500, 40, 11, 11),
    "spambase": (4597, 57, 2, 2),
    **{f"dim{d:03}": (1024, d, 16, 16) for d in (32, 64, 128, 256)},
    **{f"g2mg_{d}_{spread}": (2048, d, 2, 2) for d in (16, 32, 64, 128) for spread in (10, 40, 70)},
    "htru2": (17_898, 8, 2, 2),
    "breast": (683, 9, 2, 2),
    "glass": (214, 9, 6, 6),
    "cardiotocography": (2126, 20, 3, 3),
    "adult": (48_842, 6, 5, 2),
    "mnist": (60_000, 784, 10, 10),
}


def load_or_skip(name: str) -> datasets.Dataset:
    if name not in public_tables.available():
        pytest.skip(f"{name} is not here: the data folder ../shared/data is not part of the repository")
    return public_tables.load(name)


def assert_inside(data: datasets.Dataset) -> None:
    rows = data.X[~np.isnan(data.X).any(axis=1)]
    assert np.array_equal(data.domain.clamp(rows), rows)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "mnist" else []) for name in PUBLISHED]
)
def test_real_tables_have_the_published_shape(name: str) -> None:
    data = load_or_skip(name)
    rows, columns, clusters, classes = PUBLISHED[name]
    assert data.X.shape == (rows, columns)
    assert data.n_clusters == clusters
    assert (None if data.labels is None else len(np.unique(data.labels))) == classes
    assert data.labels is None or (len(data.labels) == rows and data.labels.min() == 0)
    assert np.isnan(data.X).sum() == (name == "travel")
    assert_inside(data)


def test_real_tables_hold_the_published_numbers() -> None:
    assert load_or_skip("s1").X.min(axis=0).tolist() == [19835, 51121]
    assert load_or_skip("s4").X.max(axis=0).tolist() == [932954, 977215]
    adult = load_or_skip("adult")
    assert adult.X[0].tolist() == [39, 77516, 13, 2174, 0, 40]
    assert adult.domain.names[0] == "age"
    assert np.bincount(adult.labels).tolist() == [37155, 11687]
    shuttle = load_or_skip("shuttle")
    assert np.array_equal(shuttle.X[43_500:], load_or_skip("shuttle_test").X)
    assert np.bincount(load_or_skip("skin").labels).tolist() == [50858, 194198]


@pytest.fixture(autouse=True)
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide what a developer has downloaded before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_without_a_data_folder_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert public_tables.available() == []
    with pytest.raises(
        DataSourceError,
        match=r"^s1: .* is neither in a data folder nor .* By hand: fetch https://\S+/s1.data.gz and put",
    ):
        public_tables.load("s1")


def test_a_named_folder_comes_before_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    assert public_tables.available() == []
    with pytest.raises(DataSourceError, match=r"^s1: .* is neither in a data folder nor in the cache"):
        public_tables.load("s1")
    file = tmp_path / "gagolews-clustering-data-v1" / "s1.csv.gz"
    file.parent.mkdir()
    file.write_bytes(b"not compressed")
    with pytest.raises(DataSourceError, match=r"^s1: .* cannot be read"):
        public_tables.load("s1")
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    monkeypatch.setenv("DISCREET_DATA", f"~/{tmp_path.name}")
    with pytest.raises(DataSourceError, match=r"^s1: .* cannot be read"):
        public_tables.load("s1")


@pytest.mark.parametrize("nested", ["", "a/b"])
def test_the_search_goes_upward(nested: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shared" / "data" / "uci-travel-reviews"
    folder.mkdir(parents=True)
    header = ",".join(f"category_{i}" for i in range(1, 25))
    text = header + "\n" + ",".join(["1.5"] * 24) + "\n" + ",".join(["2"] * 22) + ",.26\t,\n"
    (folder / "travel_review_ratings.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / nested).mkdir(parents=True, exist_ok=True)
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.chdir(tmp_path / nested)
    assert public_tables.available() == ["travel"]
    X = public_tables.load("travel").X
    assert X[1, 22] == 0.26
    assert np.isnan(X[1, 23])


@pytest.mark.parametrize(
    ("call", "name", "kind"),
    [
        (lambda: public_tables.load("s5"), "name", InvalidArgument),
        (lambda: public_tables.load(1), "name", InvalidType),
    ],
)
def test_bad_arguments_are_named(call: object, name: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"^{name} must be"):
        call()  # type: ignore[operator]
