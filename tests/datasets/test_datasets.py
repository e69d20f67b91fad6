"""Synthetic tables are the same everywhere and inside their domain; real ones match what was published."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from discreet import datasets
from discreet.errors import DataSourceError, InvalidArgument, InvalidType

GENERATED = {
    "patients": lambda seed: datasets.patients(2000, random_state=seed),
    "mixture": lambda seed: datasets.mixture(500, 4, 6, random_state=seed),
    "wide mixture": lambda seed: datasets.mixture(300, 30, 3, separation=2, random_state=seed),
    "one Gaussian": lambda seed: datasets.mixture(100, 1, 1, random_state=seed),
    "like S1": lambda seed: datasets.s_like(1, random_state=seed),
    "like S4": lambda seed: datasets.s_like(4, n=700, random_state=seed),
}

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
    if name not in datasets.available():
        pytest.skip(f"{name} is not here: the data folder ../shared/data is not part of the repository")
    return datasets.load(name)


def assert_inside(data: datasets.Dataset) -> None:
    rows = data.X[~np.isnan(data.X).any(axis=1)]
    assert np.array_equal(data.domain.clamp(rows), rows)


@pytest.mark.parametrize("name", GENERATED)
def test_generators_repeat_and_stay_inside_their_domain(name: str) -> None:
    data, again, other = GENERATED[name](3), GENERATED[name](3), GENERATED[name](4)
    assert np.array_equal(data.X, again.X)
    assert not np.array_equal(data.X, other.X)
    assert_inside(data)
    assert data.X.shape == (len(data.labels), len(data.domain))
    assert data.labels.dtype == np.int64
    assert data.labels.min() >= 0
    assert data.labels.max() < data.n_clusters


@pytest.mark.parametrize("name", ["patients", "mixture", "like S1"])
def test_the_true_clusters_can_be_found(name: str) -> None:
    """Rows lie nearest to the mean of their own cluster, but for the overlap (at most a tenth)."""
    data = GENERATED[name](0)
    U = data.domain.to_unit(data.X)
    means = np.array([U[data.labels == c].mean(axis=0) for c in range(data.n_clusters)])
    nearest = np.linalg.norm(U[:, None] - means, axis=2).argmin(axis=1)
    assert (nearest == data.labels).mean() > 0.9


def test_patients_are_the_table_of_the_demonstration() -> None:
    data = datasets.patients()
    sizes = np.bincount(data.labels)
    assert len(data) == 10_000
    assert len(sizes) == data.n_clusters == 15
    assert sizes.max() > 5 * sizes.min()
    assert data.to_arrow().to_pydict()["age"] == data.X[:, 0].tolist()


def test_separation_is_the_distance_of_the_nearest_centres_in_deviations() -> None:
    close, apart = (datasets.mixture(20_000, 2, 3, separation=s) for s in (10, 40))
    spread = [data.X[data.labels == 0].std() for data in (close, apart)]
    means = np.array([apart.X[apart.labels == c].mean(axis=0) for c in range(3)])
    gap = min(np.linalg.norm(means[a] - means[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    within = apart.X[apart.labels == 0].std(axis=0).mean()
    assert spread[0] >= spread[1]
    assert gap / within == pytest.approx(40, rel=0.05)


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
    assert datasets.available() == []
    with pytest.raises(
        DataSourceError,
        match=r"^s1: .* is neither in a data folder nor .* By hand: fetch https://\S+/s1.data.gz and put",
    ):
        datasets.load("s1")


def test_a_named_folder_comes_before_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    assert datasets.available() == []
    with pytest.raises(DataSourceError, match=r"^s1: .* is neither in a data folder nor in the cache"):
        datasets.load("s1")
    file = tmp_path / "gagolews-clustering-data-v1" / "s1.csv.gz"
    file.parent.mkdir()
    file.write_bytes(b"not compressed")
    with pytest.raises(DataSourceError, match=r"^s1: .* cannot be read"):
        datasets.load("s1")
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    monkeypatch.setenv("DISCREET_DATA", f"~/{tmp_path.name}")
    with pytest.raises(DataSourceError, match=r"^s1: .* cannot be read"):
        datasets.load("s1")


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
    assert datasets.available() == ["travel"]
    X = datasets.load("travel").X
    assert X[1, 22] == 0.26
    assert np.isnan(X[1, 23])


@pytest.mark.parametrize(
    ("call", "name", "kind"),
    [
        (lambda: datasets.patients(0), "n", InvalidArgument),
        (lambda: datasets.patients(10.0), "n", InvalidType),
        (lambda: datasets.patients(random_state=None), "random_state", InvalidType),
        (lambda: datasets.mixture(10, 0, 2), "n_columns", InvalidArgument),
        (lambda: datasets.mixture(10, 2, 0), "n_clusters", InvalidArgument),
        (lambda: datasets.mixture(10, 2, 2, separation=0), "separation", InvalidArgument),
        (lambda: datasets.s_like(5), "level", InvalidArgument),
        (lambda: datasets.load("s5"), "name", InvalidArgument),
        (lambda: datasets.load(1), "name", InvalidType),
    ],
)
def test_bad_arguments_are_named(call: object, name: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"^{name} must be"):
        call()  # type: ignore[operator]
