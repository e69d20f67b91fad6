"""Private k-means in many dimensions: clusters are found, whatever the table is stored in, and the release says how."""

from __future__ import annotations

import itertools
import math
import tracemalloc
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import engines
from discreet.clustering import cluster_synopsis
from discreet.clustering.central import auto, lift
from discreet.clustering.leaves.columns import distance_units
from discreet.core.budget.prices import Epsilon
from discreet.engines.passes.lattice import REACH, BallPass, Groups, Lattice
from discreet.errors import FormatError, InvalidArgument, SchemaError
from discreet.mechanisms.gate import Hold
from discreet.synopses import BoxSynopsis, Synopsis
from discreet.synopses.opening import OpenRelease
from gates import gate_of


def blobs(n: int, d: int, k: int, seed: int = 0, spread: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0.2, 0.8, (k, d))
    return np.clip(rng.normal(centers[rng.integers(k, size=n)], spread), 0, 1), centers


def cost(X: np.ndarray, centers: np.ndarray) -> float:
    return float(((X**2).sum(axis=1) + ((centers**2).sum(axis=1) - 2 * X @ centers.T).min(axis=1)).sum())


def box(d: int) -> dc.Domain:
    return dc.Domain.box([0.0] * d, 1.0)


@pytest.mark.parametrize(("d", "delta"), [(16, None), (40, None), (100, 1e-6)])
def test_clusters_are_found_that_no_box_sees(d: int, delta: float | None) -> None:
    X, centers = blobs(20_000, d, 6)
    found = dc.PrivateKMeans(6, 1.0, box(d), delta=delta, random_state=1).fit(X)
    assert found.guarantee_.parameters["method"] == "lift"
    assert cost(X, found.cluster_centers_) < 1.03 * cost(X, centers)
    gaps = np.linalg.norm(found.cluster_centers_[:, None] - centers, axis=2)
    assert sorted(gaps.argmin(axis=1)) == list(range(6))  # a centre for each
    errors = np.abs(found.cluster_weights_ - 20_000 / 6) / np.hypot(found.cluster_std_errors_, 60)
    assert errors.max() < 5
    assert not found.cluster_may_be_noise_.any()


def test_a_delta_buys_far_less_noise_in_hundreds_of_columns() -> None:
    X, centers = blobs(10_000, 200, 4)
    costs = [
        cost(X, dc.PrivateKMeans(4, 1.0, box(200), delta=d, random_state=1).fit(X).cluster_centers_) for d in (0, 1e-6)
    ]
    assert costs[1] < 1.02 * cost(X, centers) < costs[0]


@pytest.mark.parametrize(
    "budget", [{"epsilon": 0.7}, {"epsilon": 0.7, "delta": 1e-6}, {"epsilon": None, "rho": 0.02, "delta": 1e-6}]
)
@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_all_of_the_budget_is_charged_and_no_more(budget: dict[str, Any], rows: int) -> None:
    X = blobs(rows, 20, 3)[0]
    promise = dc.PrivateKMeans(3, domain=box(20), synopsis="lift", random_state=1, **budget).fit(X).guarantee_
    if "rho" in budget:
        assert promise.rho == 0.02
    elif "delta" in budget:
        assert 0.699 < promise.epsilon <= 0.7
        assert promise.delta == 1e-6
        assert promise.parameters["noise"] == "gaussian"
    else:
        assert promise.epsilon == 0.7


@pytest.mark.parametrize(
    "noise_of_lift", [pytest.param(0.0, marks=pytest.mark.slow), math.inf]
)  # means of k groups at once; lift, merge and steps
def test_weights_belong_to_their_centres(noise_of_lift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lift, "LIFT_NOISE", noise_of_lift)
    sizes = [8000, 4000, 2000, 1000]
    centers = np.random.default_rng(3).uniform(0.1, 0.9, (4, 20))
    X = np.clip(np.random.default_rng(1).normal(np.repeat(centers, sizes, axis=0), 0.02), 0, 1)
    for seed in range(3):
        found = dc.PrivateKMeans(4, 4.0, box(20), "lift", random_state=seed).fit(X)
        near = np.linalg.norm(found.cluster_centers_[:, None] - centers, axis=2).argmin(axis=1)
        assert sorted(near) == [0, 1, 2, 3]
        assert np.abs(found.cluster_weights_ - np.array(sizes)[near]).max() < 5 * found.cluster_std_errors_.max()


@pytest.mark.unmetered
def test_without_noise_it_is_the_plain_algorithm() -> None:
    X, centers = blobs(400, 30, 5)
    found = dc.PrivateKMeans(5, math.inf, box(30), synopsis="lift", random_state=1).fit(X)
    own = np.array([X[np.linalg.norm(X[:, None] - centers, axis=2).argmin(axis=1) == j].mean(axis=0) for j in range(5)])
    assert cost(X, found.cluster_centers_) < 1.002 * cost(X, own)


def test_what_is_published_is_kept_in_one_sealed_file(tmp_path: Path) -> None:
    X = blobs(5000, 25, 4)[0]
    found = dc.PrivateKMeans(4, 2.0, box(25), synopsis="lift", random_state=1).fit(X)
    found.synopsis_.save(tmp_path / "s.parquet")
    again = Synopsis.load(tmp_path / "s.parquet")
    assert again == found.synopsis_
    assert repr(again.lifted) == f"<Lifted: 25 columns on 8 axes, {again.n_leaves} groups, 4 centres>"
    assert np.array_equal(cluster_synopsis(again, 4).centers, found.cluster_centers_)
    assert np.array_equal(cluster_synopsis(again, 4).std_errors, found.cluster_std_errors_)
    fewer = cluster_synopsis(again, 2)  # of the groups' means, at no further cost
    assert fewer.centers.shape == (2, 25)
    assert cost(X, fewer.centers) < 1.3 * min(
        cost(X, dc.clustering.weighted_kmeans(X, np.ones(len(X)), 2).centers), math.inf
    )
    # A projection that does not fit its leaves is no release of ours.
    facts = again.lifted.to_dict()
    with pytest.raises(FormatError, match="do not fit"):
        type(again.lifted).from_dict({**facts, "origin": facts["origin"][1:]})
    with pytest.raises(FormatError, match="finite"):
        type(again.lifted).from_dict({**facts, "center_weights": [math.nan] * 4})


def test_the_same_release_comes_from_arrays_frames_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = blobs(3000, 18, 4)[0]
    X[5, 3], X[7, 0], X[9, 1] = np.nan, 7.0, -np.inf
    names = [f"c{j}" for j in range(18)]
    domain = dc.Domain.box([0.0] * 18, 1.0, names=names)
    frame = pd.DataFrame(X, columns=names)
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, rows in enumerate((slice(2000, 3000), slice(0, 2000))):
        pq.write_table(table.slice(rows.start, rows.stop - rows.start), folder / f"{i}.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)

    def digest(data: Any, **more: Any) -> str:
        settings = {"n_clusters": 4, "epsilon": 1.0, "domain": domain, "synopsis": "lift", "random_state": 3} | more
        return str(dc.PrivateKMeans(**settings).fit(data).synopsis_.digest)

    first = digest(X)
    assert digest(np.asfortranarray(X)) == first
    for data in (X[::-1], frame, table, tmp_path / "a.parquet", folder, tmp_path / "a.csv"):
        assert digest(data) == first
    from discreet.engines.passes import lattice

    monkeypatch.setattr(lattice, "BATCH_NUMBERS", 18 * 300)
    assert digest(X) == digest(tmp_path / "a.parquet") == first


def test_small_numbers_and_whole_ones_are_read_alike() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 16, (2000, 15))
    plain = dc.Domain.box([0.0] * 15, 15.0)
    whole = dc.Domain({f"x{j}": dc.Integer(0, 15) for j in range(15)})
    settings = {"n_clusters": 3, "epsilon": 1.0, "synopsis": "lift", "random_state": 3}
    made = [
        dc.PrivateKMeans(domain=plain, **settings).fit(X.astype(t)).synopsis_.digest
        for t in (np.uint8, np.float32, float)
    ]
    assert len(set(made)) == 1
    assert dc.PrivateKMeans(domain=whole, **settings).fit(X).cluster_centers_.shape == (3, 15)


def test_the_promise_can_be_made_to_persons() -> None:
    X = np.column_stack([np.repeat(np.arange(500.0), 4), blobs(2000, 14, 3)[0]])
    columns: dict[str, Any] = {"who": {"role": "person"}} | {f"x{j}": (0.0, 1.0) for j in range(14)}
    domain = dc.Domain(columns, unit=dc.Person("who", rows=2))
    for delta in (None, 1e-6):
        made = dc.PrivateKMeans(3, 2.0, domain, "lift", delta=delta, random_state=1).fit(X)
        assert made.guarantee_.unit.startswith("one person")
        assert 1.99 < made.guarantee_.epsilon <= 2.0


def test_columns_without_places_are_refused_before_rows_are_read() -> None:
    own = dc.Domain({"a": {"bounds": (0, 1), "missing": "own"}, "b": (0, 1)})
    for domain in (own, dc.Domain({"a": (0, 1)})):
        with pytest.raises(InvalidArgument, match=r'two or more columns of numbers.*synopsis="auto"'):
            dc.PrivateKMeans(2, 1.0, domain, "lift").check()
    # A declared ball asks for a projection too, and what is then suggested is enough.
    ball: dict[str, Any] = {"center": [0.5], "radius": 0.2}
    for given in (ball, {"center": [0.5]}, {"radius": 0.2, "synopsis": "lift"}):
        with pytest.raises(InvalidArgument, match="two or more columns") as refused:
            dc.PrivateKMeans(2, 1.0, dc.Domain({"a": (0, 1)}), **given).check()
        tried = eval(f"dict({refused.value.fix})")
        dc.PrivateKMeans(2, 1.0, dc.Domain({"a": (0, 1)}), **{**given, **tried}).check()


def test_units_of_columns_count_only_where_asked() -> None:
    """One column in thousands hides the others; shares of declared ranges do not."""
    X, centers = blobs(8000, 20, 4)
    wide = X.copy()
    wide[:, 0] = np.random.default_rng(1).uniform(0, 1, 8000)
    scaled = wide * np.array([1000.0] + [1.0] * 19)
    domain = dc.Domain.box([0.0] * 20, [1000.0] + [1.0] * 19)
    made = dc.PrivateKMeans(4, 2.0, domain, "lift", scale="domain", random_state=1).fit(scaled)
    found = made.cluster_centers_[:, 1:]
    gaps = np.linalg.norm(found[:, None] - centers[:, 1:], axis=2)
    assert sorted(gaps.argmin(axis=1)) == [0, 1, 2, 3]
    assert gaps.min(axis=1).max() < 0.2


def test_bounds_that_are_far_too_wide_cost_little() -> None:
    """The ball is bought: all noise follows from it, not from what was declared."""
    X, centers = blobs(20_000, 30, 4)
    found = dc.PrivateKMeans(4, 2.0, dc.Domain.box([0.0] * 30, 40.0), "lift", random_state=1).fit(X)
    assert cost(X, found.cluster_centers_) < 1.1 * cost(X, centers)


@pytest.mark.slow
def test_memory_stays_below_half_of_the_table() -> None:
    X = blobs(60_000, 400, 5)[0]
    model = dc.PrivateKMeans(5, 1.0, box(400), delta=1e-6, random_state=1)
    model.fit(X[:3000])  # what is compiled or cached is not the table's
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * X.nbytes


def test_few_axes_are_clustered_as_before() -> None:
    assert not auto.may_lift(box(11))
    X = blobs(2000, 6, 3)[0]
    assert isinstance(dc.PrivateKMeans(3, 1.0, box(6), random_state=1).fit(X).synopsis_, BoxSynopsis)


@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": 0.001, "delta": 1e-6},
        {"epsilon": 1e-7, "delta": 1e-6},
        {"epsilon": None, "rho": 1e-6, "delta": 1e-6},
        {"epsilon": None, "rho": 1e-13, "delta": 1e-6},
    ],
)
def test_a_small_budget_with_a_delta_is_spent_like_a_large_one(budget: dict[str, Any]) -> None:
    """Gaussian noise wider than can be drawn would fail when rows were read and the account was charged."""
    made = dc.PrivateKMeans(3, domain=box(40), synopsis="lift", random_state=1, **budget).fit(blobs(500, 40, 3)[0])
    promise = made.guarantee_
    assert promise.parameters["noise"] == "gaussian"
    assert np.isfinite(made.cluster_centers_).all()
    if "rho" in budget:
        assert promise.rho == budget["rho"]
    else:
        assert 0.99 * budget["epsilon"] < promise.epsilon <= budget["epsilon"]


def test_a_person_with_very_many_rows_can_have_a_delta() -> None:
    X = np.column_stack([np.repeat(np.arange(125.0), 4), blobs(500, 20, 3)[0]])
    columns: dict[str, Any] = {"who": {"role": "person"}} | {f"x{j}": (0.0, 1.0) for j in range(20)}
    domain = dc.Domain(columns, unit=dc.Person("who", rows=100_000))
    made = dc.PrivateKMeans(3, 1.0, domain, "lift", delta=1e-6, random_state=1).fit(X)
    assert 0.99 < made.guarantee_.epsilon <= 1.0


def test_a_narrow_column_next_to_a_wide_one_keeps_its_rows_within_the_radius() -> None:
    """Every lattice point is a whole number, so one row moves sums by no more than the radius."""
    domain = dc.Domain({"x": (-1e100, 1e100), "y": (0, 1e-100)})
    lattice = Lattice(domain, distance_units(domain, "domain"))
    job = BallPass(Groups(lattice, np.zeros((1, 2))), np.zeros((1, 2)), 2**20)
    for row in ([0.3, 0.0], [1e100, 1e-100], [-1e300, 5e-324]):
        added = job.start()
        added.add(job.prepare([np.array([value]) for value in row]))
        assert np.linalg.norm(job.result(added.result())[0, 1:].astype(float)) <= 2**20
    made = dc.PrivateKMeans(2, 1.0, domain, "lift", scale="domain", random_state=1).fit(np.full((50, 2), [0.3, 5e-101]))
    assert np.isfinite(made.cluster_centers_).all()


def test_fewer_centres_than_were_asked_for_are_those_of_the_last_step() -> None:
    """Not means of groups that were bought before it, and not the middle of the domain."""
    X = np.full((3000, 20), 0.3)
    found = dc.PrivateKMeans(3, 20.0, box(20), "lift", random_state=1).fit(X)
    known = found.synopsis_.lifted
    assert known is not None
    assert len(known.centers) < 3
    assert np.array_equal(found.cluster_centers_, known.centers)
    assert found.cluster_weights_.sum() == pytest.approx(3000, abs=100)
    assert "fewer than 3" in found.note_
    assert "divided" not in cluster_synopsis(found.synopsis_, 2 if len(known.centers) == 1 else 1).note


@pytest.mark.parametrize("d", [4, 20])  # means of cells; means of groups
def test_the_smallest_budget_buys_counts_where_means_cannot_be_drawn(d: int) -> None:
    made = dc.PrivateKMeans(3, 1e-9, box(d), "lift" if d == 20 else "auto", random_state=1).fit(blobs(300, d, 3)[0])
    assert made.guarantee_.epsilon == 1e-9
    assert np.isfinite(made.cluster_centers_).all()


def test_a_delta_does_no_harm_where_rows_are_few() -> None:
    """A projection of next to nothing but noise put centres into corners: twice the cost of the domain's middle."""
    X = blobs(600, 40, 8)[0]
    middle = cost(X, np.full((1, 40), 0.5))
    for seed in range(3):
        made = dc.PrivateKMeans(8, 0.1, box(40), delta=1e-6, random_state=seed, n_init=3).fit(X)
        assert cost(X, made.cluster_centers_) < 1.2 * middle
        assert 0.099 < made.guarantee_.epsilon <= 0.1
        assert made.guarantee_.delta == 1e-6


def overlapping(n: int, d: int, k: int, apart: float, spread: float, seed: int = 1) -> np.ndarray:
    """Few Gaussians that overlap, somewhere near the middle of far wider bounds."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    gaps = np.linalg.norm(centers[:, None] - centers, axis=2) + 1e9 * np.eye(k)
    centers *= apart * spread / gaps.min()
    middle = 0.5 + rng.uniform(-0.1, 0.1, d)
    return np.clip(middle + centers[rng.integers(k, size=n)] + rng.normal(0, spread, (n, d)), 0, 1)


@pytest.mark.parametrize(("d", "k", "n"), [(16, 2, 2000), (32, 2, 2000), (64, 5, 4000)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_few_rows_on_a_small_part_of_the_domain_are_not_missed_altogether(
    d: int, k: int, n: int, epsilon: float
) -> None:
    """One mean of all rows is what noise can leave; radii of the whole domain left two or three times its cost."""
    X = overlapping(n, d, k, 4.0, 0.05)
    mean = cost(X, X.mean(axis=0)[np.newaxis])
    made = [dc.PrivateKMeans(k, epsilon, box(d), random_state=seed, n_init=3).fit(X) for seed in range(4)]
    costs = [cost(X, found.cluster_centers_) / mean for found in made]
    assert np.mean(costs) < 1.1
    assert max(costs) < 1.4


def test_more_budget_is_not_worse_where_one_method_takes_over_from_another() -> None:
    X = overlapping(2000, 32, 2, 6.0, 0.05)
    costs = []
    for epsilon in (0.2, 0.5, 1.0, 2.0):
        made = [dc.PrivateKMeans(2, epsilon, box(32), random_state=seed, n_init=3).fit(X) for seed in range(5)]
        costs.append(np.mean([cost(X, found.cluster_centers_) for found in made]))
    assert all(more < 1.05 * less for less, more in itertools.pairwise(costs))


@pytest.mark.parametrize(
    ("middle", "spread", "method"), [(0.5, 0.04, "lift"), (0.5, 0.29, "grid"), (0.0, 0.05, "lift")]
)
def test_counts_of_parts_show_where_rows_are_at_the_price_of_their_number(
    middle: float, spread: float, method: str
) -> None:
    X = np.clip(np.abs(np.random.default_rng(0).normal(middle, spread, (3000, 40))), 0, 1)
    promise = dc.PrivateKMeans(6, 0.3, box(40), random_state=2).fit(X).guarantee_
    first = promise.ledger[0]
    assert (first.label, first.amount) == ("number of rows, in parts", Fraction(3, 10) * Fraction(3, 100))
    assert promise.parameters["method"] == method
    assert promise.epsilon == 0.3


def test_counts_of_parts_are_disjoint_and_of_all_rows_without_missing_values() -> None:
    """Adding a row adds 1 to one part: what their price rests on."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.random((200, 6)), rng.normal(0.5, 0.05, (50, 6)), rng.exponential(0.1, (90, 6))])
    X[::7, 2] = np.nan
    domain = dc.Domain.box([0.0] * 6, 1.0)
    read = auto.parts_of(domain, "none")
    assert read is not None
    whole = read(engines.open(X, domain))
    assert whole.sum() == np.isfinite(X).all(axis=1).sum()
    assert (whole > 0).all()
    for row in range(0, len(X), 13):
        apart = whole - read(engines.open(np.delete(X, row, axis=0), domain))
        assert sorted(apart) == [0, 0, 0, 1 if np.isfinite(X[row]).all() else 0]


@pytest.mark.parametrize("kind", ["person", "person, rho", "weight"])
def test_one_person_or_weighted_row_moves_the_counts_of_parts_by_no_more_than_is_paid(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the law of the noise: Σ|move|/scale is the loss in ε, Σ move²/(2 scale²) in ρ."""
    rng, n = np.random.default_rng(1), 300
    rows: dict[str, Any] = {f"x{i}": rng.choice([-1, 0, 0.05, 0.5, 0.95, 2], n) for i in range(14)}
    rows["x0"][::9] = np.nan
    rows |= {"who": np.repeat(np.arange(60), 5).astype(str), "w": rng.uniform(0, 10, n)}
    table, weight = pa.table(rows), kind == "weight"
    columns = {f"x{i}": (0, 1) for i in range(14)} | ({"w": dc.Numeric("w", 0, 10, role="weight")} if weight else {})
    domain = dc.Domain(columns) if weight else dc.Domain(columns, unit=dc.Person("who", rows=3))
    seen: list[Any] = []
    drawn = Hold.numbers

    def numbers(self: Hold, values: Any, *more: Any, **how: Any) -> Any:
        found = values() if callable(values) else values
        made = drawn(self, found, *more, **how)
        seen.append((found, made.law, Fraction(self._entry.amount)))
        return made

    monkeypatch.setattr(Hold, "numbers", numbers)
    price: dict[str, Any] = {"rho": 0.2, "delta": 1e-6} if "rho" in kind else {"epsilon": 1.0}
    for left_out in range(6):
        gone = np.arange(n) == left_out if weight else np.asarray(rows["who"]) == str(left_out)
        seen.clear()
        for each in (table, table.filter(pa.array(~gone))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", dc.errors.DiscreetWarning)
                dc.PrivateKMeans(2, domain=domain, random_state=3, **price).fit(each)
        firsts = [one for one in seen if np.shape(one[0]) == (auto.N_PARTS,)]
        (one, law, paid), (other, same, _) = firsts
        moved, scale = np.abs(one - other), Fraction(law.scale)
        loss = (moved**2).sum() / (2 * scale**2) if law.name == "gaussian" else moved.sum() / scale
        assert law == same
        assert law.name == ("gaussian" if "rho" in kind else "laplace")
        assert loss <= paid


def test_what_is_near_zero_counts_only_where_zero_is_at_the_edge() -> None:
    X = np.random.default_rng(0).normal(0, 0.1, (500, 6))
    domain = dc.Domain.box([-1.0] * 6, 1.2)  # 0 is near the middle
    read = auto.parts_of(domain, "none")
    assert read is not None
    assert read(engines.open(X, domain)).tolist() == [500, 0, 0, 0]


def test_with_a_public_number_of_rows_parts_are_paid_for_only_if_they_matter() -> None:
    X = blobs(3000, 40, 8)[0]
    few = dc.PrivateKMeans(8, 0.3, box(40), n_rows=3000, random_state=1).fit(X).guarantee_
    assert few.ledger[0].label == "rows, in parts"
    assert few.epsilon == 0.3
    many = dc.PrivateKMeans(8, 5.0, box(40), n_rows=3000, random_state=1).fit(X).guarantee_
    assert not any("parts" in line.label for line in many.ledger)
    assert many.parameters["method"] == "lift"


def test_where_most_rows_are_is_said_only_if_it_stands_out_of_the_noise() -> None:
    parts = np.array([0.0, 10.0, 10.0, 80.0])
    assert auto.most_rows(parts, 100.0, 2.0 * 20**2) == "near zero"
    assert auto.most_rows(parts, 100.0, 2.0 * 40**2) == ""
    assert auto.most_rows(parts[::-1], 100.0, 0.0) == "narrow"
    assert auto.most_rows(np.array([30.0, 30.0, 40.0, 0.0]), 100.0, 0.0) == "around middle"
    assert auto.most_rows(np.array([5.0, 5.0, 70.0, 20.0]), 100.0, 0.0) == ""


def test_with_very_few_rows_the_release_is_one_mean() -> None:
    X = blobs(300, 40, 8)[0]
    costs = []
    for seed in range(6):
        made = dc.PrivateKMeans(8, 0.3, box(40), random_state=seed).fit(X)
        assert [line.label for line in made.guarantee_.ledger] == ["number of rows, in parts", "cells"]
        assert made.synopsis_.n_leaves == 1
        costs.append(cost(X, made.cluster_centers_))
    assert np.mean(costs) < 1.25 * cost(X, X.mean(axis=0)[np.newaxis])


def test_a_quantile_with_few_rows_is_a_wrong_octave_and_not_a_place_on_the_diagonal() -> None:
    X = np.clip(np.random.default_rng(0).normal(0.5, 0.03, (500, 30)), 0, 1)
    lattice = Lattice(box(30))
    found = []
    for seed in range(40):
        release = OpenRelease(dc.engines.open(X), box(30), box(30), gate_of(Epsilon(1), seed), 500.0)
        rows = lift.OnLattice(release, lattice)
        found.append(rows.radius("radius", Groups(lattice, np.zeros((1, 30))), 0.9, 0.05, REACH) * lattice.step)
    true = float(np.quantile(np.linalg.norm(X - 0.5, axis=1), 0.75))
    assert true / 2 < np.median(found) < 2 * true
    assert np.mean(np.array(found) < 4 * true) > 0.9


def test_a_declared_ball_is_not_bought() -> None:
    X, centers = blobs(4000, 20, 3)
    settings: dict[str, Any] = {"n_clusters": 3, "epsilon": 1.0, "domain": box(20), "random_state": 1}
    radius = float(np.linalg.norm(X - 0.5, axis=1).max())
    bought = dc.PrivateKMeans(synopsis="lift", **settings).fit(X).guarantee_
    both = dc.PrivateKMeans(center=[0.5] * 20, radius=radius, **settings).fit(X)  # which takes the projection by itself
    labels = [line.label for line in both.guarantee_.ledger]
    assert {"centre", "radius", "radius around the middle"} <= {line.label for line in bought.ledger}
    assert not {"centre", "radius", "radius around the middle", "radius around zero"} & set(labels)
    assert both.guarantee_.parameters["declared"] == "center and radius"
    assert both.guarantee_.parameters["radius"] == pytest.approx(radius, rel=1e-5)
    assert both.guarantee_.epsilon == 1.0
    assert cost(X, both.cluster_centers_) < 1.02 * cost(X, centers)
    place = dc.PrivateKMeans(center=[0.5] * 20, **settings).fit(X).guarantee_
    assert "radius" in [line.label for line in place.ledger]
    assert "centre" not in [line.label for line in place.ledger]
    # Rows beyond a declared radius count as at it, and nothing of them is reported.
    small = dc.PrivateKMeans(radius=0.05, **settings).fit(X)
    assert small.guarantee_.parameters["radius"] == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"center": [0.5] * 3}, "20 numbers within the declared bounds"),
        ({"center": [2.0] * 20}, "20 numbers within the declared bounds"),
        ({"center": [math.nan] * 20}, "finite numbers"),
        ({"radius": 0.0}, "radius must be"),
        ({"radius": 1.0, "synopsis": "grid"}, r'synopsis="lift"'),
    ],
)
def test_a_ball_that_cannot_be_used_is_refused_before_rows_are_read(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        dc.PrivateKMeans(3, 1.0, box(20), **wrong).check()


def test_centres_of_whole_numbers_stay_among_them() -> None:
    """Their axis reaches half a step further, and noise did."""
    domain = dc.Domain({f"x{j}": dc.Integer(0, 15) for j in range(15)})
    for value in (0, 15):
        rows = np.full((2000, 15), value)
        for model in (
            dc.PrivateKMeans(3, 1.0, domain, "lift", random_state=1),
            dc.DPLloyd(3, 1.0, domain, random_state=1),
        ):
            made = model.fit(rows)
            assert made.cluster_centers_.min() >= 0
            assert made.cluster_centers_.max() <= 15


def test_rows_in_a_corner_are_found_there() -> None:
    """All at the longest distance there is: a quantile lies between two cells, so there are cells beyond it."""
    for seed in range(3):
        made = dc.PrivateKMeans(3, 1.0, dc.Domain.box([0.0] * 15, 15.0), "lift", random_state=seed)
        assert np.abs(made.fit(np.full((2000, 15), 15.0)).cluster_centers_ - 15).max() < 1


def test_what_a_projection_does_not_know_is_said() -> None:
    made = dc.PrivateKMeans(3, 2.0, box(15), "lift", random_state=1).fit(blobs(3000, 15, 3)[0]).synopsis_
    with pytest.raises(SchemaError, match="means of groups, not how columns are distributed"):
        made.sample(10)
    more = cluster_synopsis(made, 6)
    assert "made for 3 clusters" in more.note
    assert "made for" not in cluster_synopsis(made, 2).note


def test_groups_that_noise_draws_into_one_place_are_one_cluster() -> None:
    """Sparse rows near 0 of wide bounds: two centres in one place, of which the second had no row to be a mean of."""
    rng = np.random.default_rng(0)
    X = np.clip(rng.exponential(0.01, (2000, 40)) * (rng.random((2000, 40)) < 0.3), 0, 1)
    mean = cost(X, X.mean(axis=0)[np.newaxis])
    costs = []
    for seed in range(12):
        found = dc.PrivateKMeans(2, 0.3, box(40), random_state=seed, n_init=2).fit(X)
        assert 1 <= len(found.cluster_centers_) <= 2
        costs.append(cost(X, found.cluster_centers_) / mean)
    assert np.median(costs) < 1.2


def test_radii_that_contradict_each_other_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the rows cannot be next to the middle and next to 0: then all of the domain is the ball to begin with."""
    X = blobs(3000, 20, 2)[0]
    real = lift.OnLattice.radius

    def wrong(self: Any, label: str, *more: Any, **by: Any) -> int:
        return 100 if label.startswith("radius around") else real(self, label, *more, **by)

    monkeypatch.setattr(lift.OnLattice, "radius", wrong)
    found = dc.PrivateKMeans(2, 1.0, box(20), "lift", random_state=1).fit(X)
    assert cost(X, found.cluster_centers_) < 1.05 * cost(X, X.mean(axis=0)[np.newaxis])
