"""The position of a row reveals nothing: released rows have a uniformly random order, or the release says otherwise."""

from __future__ import annotations

import collections
import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import run
from discreet import noise
from discreet.anonymity import DensityTree, Generalization, Microaggregation, Mondrian, NoiseAddition, RankSwapping
from discreet.engines.writing import shuffled
from discreet.errors import DataSourceError, InvalidArgument
from discreet.metric import NDLaplace, Piecewise, Trajectory
from discreet.noise.stream.order import RowOrder

N = 600
DOMAIN = dc.Domain(
    {
        "age": {"bounds": [0, 100], "role": "quasi-identifier"},
        "place": {"bounds": [0, N], "role": "attribute"},
        "ill": {"categories": ["no", "yes"], "role": "sensitive"},
    }
)
METHODS: dict[str, Any] = {
    "density tree": DensityTree(k=5, domain=DOMAIN, keep=["place"]),
    "mondrian": Mondrian(k=5, domain=DOMAIN, keep=["place"]),
    "levels": Generalization(k=5, domain=DOMAIN, keep=["place"], suppress=0),
    "means": Microaggregation(k=5, domain=DOMAIN, keep=["place"]),
    "noise": NoiseAddition(0.2, domain=DOMAIN, keep=["place"]),
    "ranks": RankSwapping(0.1, domain=DOMAIN, keep=["place"]),
    "ranks in groups": RankSwapping(k=4, domain=DOMAIN, keep=["place"]),
}
FILED = ("density tree", "mondrian", "levels")


def people() -> pa.Table:
    """Rows sorted by age, as an export often is; ``place`` says where each stood."""
    rng = np.random.default_rng(1)
    ill = rng.choice(["no", "yes"], N)
    return pa.table({"age": np.sort(rng.integers(0, 100, N)), "place": np.arange(N), "ill": ill})


def mixed(places: Any) -> bool:
    """Check that all rows are there and far from their old positions, across chunks too.

    A uniform order passes but with a chance below 1e-9 (a rank correlation of 600 rows beyond 6.1 / sqrt(599)).
    """
    found = np.asarray(places)
    assert sorted(found.tolist()) == list(range(len(found)))
    return abs(float(np.corrcoef(found, np.arange(len(found)))[0, 1])) < 0.25


# The law


def test_every_order_of_a_few_rows_is_equally_likely() -> None:
    seen = collections.Counter(tuple(noise.permutation(4, rng=stream)) for stream in [noise.generator(5)] * 12_000)
    assert len(seen) == 24
    assert sum((count - 500) ** 2 / 500 for count in seen.values()) < 62  # chi-square of 23 degrees: chance 2e-5


def test_rows_with_equal_numbers_are_shuffled_among_themselves() -> None:
    order, seen = RowOrder(7), collections.Counter[tuple[int, ...]]()
    for _ in range(6000):
        found = order.sort(np.array([9, 4, 9, 1, 9]))
        assert (found[0], found[1]) == (3, 1)
        seen[tuple(found[2:].tolist())] += 1
    assert set(seen) == set(itertools.permutations([0, 2, 4]))
    assert sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 32  # five degrees: chance 6e-6


def test_numbers_that_often_coincide_still_give_a_uniform_order() -> None:
    class Coarse(RowOrder):
        bits = 1

    order, seen = Coarse(3), collections.Counter[tuple[int, ...]]()
    for _ in range(6000):
        seen[tuple(order.sort(order.numbers(3)).tolist())] += 1
    assert len(seen) == 6
    assert sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 32


@pytest.mark.parametrize("batch", [1, 37, 600])
@pytest.mark.parametrize(("rows", "size"), [(50, 1 << 26), (50, 1500), (10_000, 1 << 26), (10_000, 3000)])
def test_files_give_the_order_of_memory(
    rows: int, size: int, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffled, "_ROWS", rows)
    monkeypatch.setattr(shuffled, "_BYTES", size)
    divided = []
    original = shuffled._Files.__init__
    monkeypatch.setattr(shuffled._Files, "__init__", lambda self, *a: (divided.append(a), original(self, *a))[1])
    with shuffled.Shuffler(tmp_path, RowOrder(2)) as taken:
        for start in range(0, N, batch):
            taken.add(people().slice(start, batch))
        tables = list(taken.tables())
    assert pa.concat_tables(tables)["place"].to_pylist() == noise.permutation(N, rng=2).tolist()
    assert [t.num_rows for t in tables[:-1]] == [min(rows, N)] * (len(tables) - 1)  # boundaries tell nothing
    if size == 1500 and batch < N:
        assert len(divided) > 1  # files that are too large are divided again
    assert not list(tmp_path.iterdir())


def test_a_second_stream_moves_nothing_in_the_first() -> None:
    one, other = noise.generator(7), noise.generator(7)
    noise.second_stream(7, one).bytes(100)
    assert one.bytes(8).tolist() == other.bytes(8).tolist()
    assert noise.second_stream(7, one).bytes(8).tolist() == noise.second_stream(7, other).bytes(8).tolist()
    assert noise.second_stream(8, noise.generator(8)).bytes(8).tolist() != noise.second_stream(7, one).bytes(8).tolist()
    secure = noise.generator()
    assert noise.second_stream(None, secure) is secure
    assert noise.second_stream(np.random.default_rng(1), noise.generator(np.random.default_rng(1))).seeded


# Anonymous tables


@pytest.mark.parametrize("name", METHODS)
def test_anonymous_rows_are_shuffled_unless_the_table_stays_inside(name: str) -> None:
    method = METHODS[name]
    releases = [method.fit_transform(people()), method.fit(people()).transform(people())]
    for release in releases:
        assert mixed(release.table["place"])
        assert np.array_equal(release.rows, release.table["place"])
        assert release.guarantee.parameters["order"] == "shuffled"
        assert "order" not in " ".join(release.guarantee.assumptions)
        assert not release.guarantee.seeded
    assert releases[0].table["place"].to_pylist() != releases[1].table["place"].to_pylist()
    again = [method.transform(people(), random_state=4) for _ in range(2)]
    assert again[0].table.equals(again[1].table)
    assert again[0].guarantee.seeded  # anyone who repeats the order undoes it
    kept = method.fit_transform(people(), order="input")
    assert kept.table["place"].to_pylist() == list(range(N))
    assert kept.guarantee.parameters["order"] == "input"
    assert "in the order of the input" in str(kept.guarantee)
    with pytest.raises(InvalidArgument, match="order must be"):
        method.fit_transform(people(), order="sorted")


def test_drawn_rows_come_by_cell() -> None:
    release = METHODS["density tree"].fit_transform(people(), output="sample")
    assert release.guarantee.parameters["order"] == "by cell"


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("name", FILED)
def test_an_anonymous_file_is_shuffled(name: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffled, "_ROWS", 100)
    method = METHODS[name].fit(people())
    written = method.transform_file(people(), tmp_path / f"rows.{suffix}")
    assert written.guarantee.parameters["order"] == "shuffled"
    read: Any = pq.read_table if suffix == "parquet" else csv.read_csv
    assert mixed(read(written.path)["place"])
    if suffix == "parquet":
        facts = pq.ParquetFile(written.path).metadata
        assert {facts.row_group(i).num_rows for i in range(facts.num_row_groups)} == {100}
    kept = method.transform_file(people(), tmp_path / f"kept.{suffix}", order="input")
    assert read(kept.path)["place"].to_pylist() == list(range(N))
    assert "in the order of the input" in str(kept.guarantee)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_sorted_export_tells_no_more_than_its_classes() -> None:
    """The last row of a class in a table that came sorted by age was that of its oldest member, without exception.

    Guessing it now is guessing some member of the class: right as often as the class shares the target's value.
    """
    ills = [f"d{i}" for i in range(12)]
    domain = dc.Domain({"age": DOMAIN.column("age"), "ill": {"categories": ills, "role": "sensitive"}})
    rng = np.random.default_rng(3)
    found = expected = variance = 0.0
    for _ in range(40):
        ages, ill = np.sort(rng.integers(0, 100, 200)), rng.choice(ills, 200)
        release = DensityTree(k=5, l_diversity=3, domain=domain).fit_transform(pa.table({"age": ages, "ill": ill}))
        cells, shown = (np.array(release.table[name].to_pylist()) for name in ("age", "ill"))
        for cell in set(cells.tolist()):
            top = int(cell[1:-1].split(", ")[1]) - 1
            target = np.flatnonzero(ages == top)
            if cell.endswith(")") and len(target) == 1:
                members = shown[cells == cell]
                share = float((members == ill[target[0]]).mean())
                found += members[-1] == ill[target[0]]
                expected, variance = expected + share, variance + share * (1 - share)
    assert 60 < expected < 90  # of some 300 targets
    assert abs(found - expected) < 5 * variance**0.5  # chance 6e-7


# Perturbed tables

PLACES = dc.Domain({"x": (0, N), "kind": ["a", "b"]})


def walk() -> pa.Table:
    return pa.table({"x": np.arange(N) + 0.5, "kind": ["a", "b"] * (N // 2), "name": [f"p{i}" for i in range(N)]})


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_perturbed_file_is_shuffled_and_the_order_depends_on_no_batch(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(path: Path) -> pa.Table:
        return pq.read_table(path).replace_schema_metadata(None) if suffix == "parquet" else csv.read_csv(path)

    pq.write_table(walk(), tmp_path / "walk.parquet", row_group_size=77)
    mechanism = NDLaplace(1e6, 1, PLACES, category_epsilon=9, random_state=3)  # next to no noise
    expected = mechanism.transform(walk())
    found = mechanism.transform_file(walk(), tmp_path / f"a.{suffix}")
    one = rows(found.path)
    assert mixed(np.floor(one["x"].to_numpy()).astype(int))
    assert one.sort_by("x").equals(expected.sort_by("x").cast(one.schema))
    assert found.guarantee is not None
    assert found.guarantee.parameters["order"] == "shuffled"
    assert "the order itself is not protected" not in str(found.guarantee)
    monkeypatch.setattr(shuffled, "_ROWS", 90)
    monkeypatch.setattr(shuffled, "_BYTES", 900)
    other = mechanism.transform_file(tmp_path / "walk.parquet", tmp_path / f"b.{suffix}")
    assert rows(other.path).equals(one)
    kept = mechanism.transform_file(walk(), tmp_path / f"c.{suffix}", order="input")
    assert rows(kept.path).equals(expected.cast(one.schema))
    assert kept.guarantee is not None
    assert kept.guarantee.parameters["order"] == "input"
    assert "the order itself is not protected" in str(kept.guarantee)
    with pytest.raises(InvalidArgument, match="order must be"):
        mechanism.transform_file(walk(), tmp_path / f"d.{suffix}", order="sorted")
    assert not list(tmp_path.glob(".*"))


def test_secure_orders_differ_from_call_to_call(tmp_path: Path) -> None:
    mechanism = NDLaplace(1e6, 1, {"x": (0, N)})
    found = []
    for i in range(2):
        written = mechanism.transform_file(walk(), tmp_path / f"{i}.parquet")
        found.append(np.floor(pq.read_table(written.path)["x"].to_numpy()).astype(int))
        assert mixed(found[-1])
    assert not np.array_equal(*found)


@pytest.mark.parametrize("mechanism", [NDLaplace(1, 0.1, {"x": (0, N)}), Piecewise(1, {"x": (0, N)})])
def test_perturbed_rows_in_memory_stay_aligned_and_the_guarantee_says_so(mechanism: Any) -> None:
    mechanism.transform(walk())
    assert mechanism.guarantee_.parameters["order"] == "input"
    assert "rows come out in the order they went in: the order itself is not protected" in (
        mechanism.guarantee_.assumptions
    )


def test_what_waits_on_disk_is_released_rows_and_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffled, "_ROWS", 50)
    seen: list[bytes] = []

    def full(self: Any) -> Any:
        self._files.close()
        seen.extend(file.read_bytes() for file in Path(self._folder.name).rglob("*.arrow"))
        assert Path(self._folder.name).stat().st_mode & 0o077 == 0
        raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr(shuffled.Shuffler, "tables", full)
    tree = METHODS["density tree"].fit(people())
    for write in (NDLaplace(1, 0.1, {"x": (0, N)}).transform_file, tree.transform_file):
        seen.clear()
        with pytest.raises((OSError, DataSourceError)):
            write(walk() if write.__self__ is not tree else people(), tmp_path / "rows.parquet")
        assert len(seen) > 20
        assert not any(b"p17" in content for content in seen)
        assert not list(tmp_path.iterdir())


# Trajectories


def test_users_of_trajectories_are_shuffled() -> None:
    steps = np.repeat(np.linspace(0, 1, 200)[:, None, None], 4, axis=1).repeat(2, axis=2)
    plan = Trajectory(NDLaplace(1, 0.1, (0, 1), random_state=5), threshold=0.8, test_epsilon=0.25, budget=4)
    kept, report = plan.report(steps, order="input"), plan.report(steps)
    assert report.users.tolist() != list(range(200))
    assert sorted(report.users.tolist()) == list(range(200)) == kept.users.tolist()
    assert np.array_equal(report.places, kept.places[report.users])
    assert np.array_equal(report.fresh, kept.fresh[report.users])
    assert np.array_equal(report.draws, kept.draws[report.users])
    assert np.array_equal(report.trajectory, np.arange(200)[:, None].repeat(4, axis=1))
    assert report.guarantee.parameters["order"] == "users shuffled"
    assert "the order itself is not protected" not in str(report.guarantee)
    assert "the order itself is not protected" in str(kept.guarantee)
    fresh = Trajectory(NDLaplace(1, 0.1, (0, 1)), threshold=0.8, test_epsilon=0.25, budget=4)
    assert fresh.report(steps).users.tolist() != fresh.report(steps).users.tolist()


def test_rows_of_many_users_come_one_user_behind_the_other() -> None:
    who = np.array([f"u{i % 50:02}" for i in range(150)])
    table = pa.table({"x": np.linspace(0, 1, 150)})
    plan = Trajectory(NDLaplace(1e5, 0.1, {"x": (0, 1)}, random_state=5), threshold=1e-6, test_epsilon=1e5, budget=1e7)
    report = plan.report(table, who)
    assert np.array_equal(report.users[report.trajectory], who[report.rows])
    assert np.array_equal(report.trajectory, np.repeat(np.arange(50), 3))
    assert all(np.all(np.diff(report.rows.reshape(50, 3)) == 50, axis=1))  # each in the order of time
    assert report.users.tolist() != sorted(report.users.tolist())
    assert np.allclose(report.places["x"], np.asarray(table["x"])[report.rows], atol=1e-2)


# The command line


def test_the_command_line_shuffles(tmp_path: Path) -> None:
    csv.write_csv(walk(), tmp_path / "walk.csv")
    dc.Domain({"x": (0, N)}).to_toml(tmp_path / "schema.toml")
    start = ["perturb", str(tmp_path / "walk.csv"), "--schema", str(tmp_path / "schema.toml"), "--radius", "0.001"]
    start += ["--epsilon", "600", "-o", str(tmp_path / "noisy.csv")]
    assert run(*start, catch=True).exit_code == 0
    assert mixed(np.floor(csv.read_csv(tmp_path / "noisy.csv")["x"].to_numpy()).astype(int))
    result = run(*start, "--order", "input", catch=True)
    assert result.exit_code == 0
    assert np.all(np.diff(csv.read_csv(tmp_path / "noisy.csv")["x"].to_numpy()) > 0)
    assert "the order itself is not protected" in " ".join(result.output.split())
    assert run(*start, "--order", "sorted", catch=True).exit_code != 0


@pytest.mark.parametrize("method", [dc.anonymity.DensityTree, dc.anonymity.Mondrian, dc.anonymity.Generalization])
def test_rows_name_the_input_also_where_rows_were_left_out(method: Any) -> None:
    """Without a quasi-identifier or a person the first rows take no part, and the others keep their numbers."""
    ages, persons = [None, 5, *([10, 20, 30] * 10)], ["a", None, *(f"p{i}" for i in range(30))]
    ill = [f"v{i}" for i in range(32)]
    table = pa.table({"who": persons, "age": pa.array(ages, pa.int64()), "ill": ill})
    domain = dc.Domain(
        {
            "who": {"role": "person"},
            "age": {"kind": "integer", "bounds": [0, 40], "role": "quasi-identifier"},
            "ill": {"categories": ill, "role": "sensitive"},
        }
    )
    release = method(k=3, domain=domain).fit_transform(table)
    assert release.dropped == 2
    assert release.table["ill"].to_pylist() == [ill[row] for row in release.rows]
    assert release.bounds.num_rows == len(release)
    assert dc.anonymity.record_linkage(table, release).rows == len(release)
    with pytest.raises(dc.errors.InvalidArgument, match="whole table"):
        dc.anonymity.record_linkage(table.slice(2), release)


def test_linkage_needs_the_rows_of_the_release_itself() -> None:
    """A sample has no originals, and a stored copy does not say which they were."""
    table = people()
    copy = pickle.loads(pickle.dumps(METHODS["density tree"].fit_transform(table)))
    sample = METHODS["density tree"].fit_transform(table, output="sample")
    for release, said in ((copy, "a stored copy"), (sample, "a sample")):
        with pytest.raises(InvalidArgument, match=said):
            dc.anonymity.record_linkage(table, release)
