"""Anyone who asks for many draws gets as many: no two reports, vectors or numbers share one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import noise
from discreet.engines.writing.shuffled import Shuffler
from discreet.noise.integer import exceedances
from discreet.noise.integer.laplace import draw_geometric
from discreet.noise.reports.bases import independent_vectors
from discreet.noise.reports.coin_bytes import coin_bytes
from discreet.noise.reports.coins import Chance, toss
from discreet.noise.reports.means import HALF, DuchiLaw, HybridLaw, PiecewiseLaw, SquareWaveLaw, square_wave
from discreet.noise.reports.projective import projective_response
from discreet.noise.reports.subsets import subsets

N = 64
SAME = np.full(N, HALF, np.int64)
DRAWS: dict[str, Callable[[Any], Any]] = {
    "square wave": lambda rng: SquareWaveLaw(Fraction(1), 64).draw(SAME, rng),
    "window": lambda rng: square_wave(Fraction(1), 64).draw(np.full(N, 3), rng),
    "two values": lambda rng: DuchiLaw(Fraction(1)).draw(SAME, rng),
    "pieces": lambda rng: PiecewiseLaw(Fraction(1), 1 << 10).draw(SAME, rng),
    "hybrid": lambda rng: HybridLaw(Fraction(1), 1 << 10).draw(SAME, rng),
    "bases": lambda rng: independent_vectors(N, bits=8, count=2, rng=rng),
    "coins": lambda rng: toss(Chance(a=Fraction(1, 2)), (N,), rng),
    "bytes of coins": lambda rng: coin_bytes(Chance(a=Fraction(1, 2)), (N, 8), rng),
    "bernoulli": lambda rng: noise.bernoulli(0.5, N, rng=rng),
    "responses": lambda rng: noise.randomized_response(np.zeros(N, int), n_values=5, epsilon=1, rng=rng),
    "subsets": lambda rng: subsets(np.zeros(N, int), n_values=9, size=3, chance=Chance(a=Fraction(1, 2)), rng=rng),
    "points": lambda rng: projective_response(
        np.zeros(N, int), order=3, length=3, chance=Chance(a=Fraction(1, 2)), rng=rng
    ),
    "places": lambda rng: noise.below(1000, size=N, rng=rng),
    "laplace": lambda rng: noise.discrete_laplace(5, size=N, rng=rng),
    "gauss": lambda rng: noise.discrete_gaussian(5, size=N, rng=rng),
    "max norm": lambda rng: noise.max_norm_laplace(5, 2, N, rng),
    "geometric": lambda rng: draw_geometric(Fraction(5), (N,), rng),
    "order": lambda rng: noise.RowOrder(rng).numbers(N),
}


@pytest.mark.parametrize("name", DRAWS)
def test_rows_alike_get_draws_of_their_own(name: str) -> None:
    """64 draws with at least two equally likely values: all alike with a chance of 2^-63, for a fixed seed never."""
    drawn = np.asarray(DRAWS[name](noise.generator(7))).reshape(N, -1)
    assert len(np.unique(drawn, axis=0)) > 1


def test_empty_cells_exceed_a_cutoff_at_places_and_by_amounts_of_their_own() -> None:
    places, values = noise.exceedances(3, 2, 2000, noise.generator(7))
    gaps = np.diff(places)
    changes = np.flatnonzero(np.append(True, gaps[1:] != gaps[:-1]))
    assert np.diff(changes).max() < 30  # a gap of one place has a chance below 1/3: so many in a row, none
    assert len(np.unique(values)) > 1
    assert places.max() < 2000


def test_hits_of_a_walk_that_goes_too_fast_are_kept_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With any rate above the true one the law stays: every hit is kept with what that leaves, by a coin of its own."""
    chance = noise.DiscreteLaplace(Fraction(3)).sf(3)
    real = exceedances.rate
    monkeypatch.setattr(exceedances, "rate", lambda epsilon, cutoff: 2 * real(epsilon, cutoff))
    places, _ = exceedances.exceedances(3, 2, 2000, noise.generator(7))
    assert abs(len(places) - 2000 * chance) < 5 * np.sqrt(2000 * chance * (1 - chance))


def test_rows_leave_in_the_order_of_numbers_of_their_own(tmp_path: Path) -> None:
    with Shuffler(tmp_path, noise.RowOrder(4)) as rows:
        for start in range(0, N, 16):
            rows.add(pa.table({"row": np.arange(start, start + 16)}))
        left = [row for table in rows.tables() for row in table["row"].to_pylist()]
    assert left == np.argsort(noise.RowOrder(4).numbers(N)).tolist()
    assert left != list(range(N))


@pytest.mark.parametrize(("n_values", "size"), [(4, 2), (9, 3), (9, 8), (300, 40)])
def test_a_subset_has_no_value_twice(n_values: int, size: int) -> None:
    drawn = subsets(np.arange(256) % n_values, n_values=n_values, size=size, chance=Chance(a=Fraction(1, 2)), rng=7)
    assert (np.diff(drawn, axis=1) > 0).all()
    assert drawn.min() == 0
    assert drawn.max() == n_values - 1
