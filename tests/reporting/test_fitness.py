"""What a release says it is good for, from the release alone, covers what comparison with the rows shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.anonymity.risk import fitness_of, one_of_each
from discreet.core import BINS, Fitness, bin_of
from discreet.engines import open as open_table
from discreet.metric import fitness_of as fitness_of_noise
from discreet.reporting import report_facts, report_page
from discreet.reporting.language import translated

WARDS, CODES = [f"w{i}" for i in range(8)], [f"I{i:02d}" for i in range(40)]
pytestmark = pytest.mark.well_fitted
#: Runs of each method, and those that `make test` makes.
SEEDS, FEW = range(20), range(6)


def hospital(seed: int, n: int = 6000) -> tuple[pa.Table, dc.Domain]:
    """A generated table: wards depend on age, codes on wards, costs on the length of stay."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(8, 7, n), 0, 119).astype(int)
    old = rng.choice(8, n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02])
    ward = np.where(age > 65, old, 7 - old)
    code = (ward * 6 + rng.geometric(0.4, n) - 1) % 40
    stay = np.clip(rng.gamma(2, 2 + ward * 0.5), 0, 60)
    cost = np.clip(stay * 500 + rng.gamma(2, 300, n), 0, 50_000)
    made = {"age": age, "ward": [WARDS[i] for i in ward], "code": [CODES[i] for i in code], "stay": stay, "cost": cost}
    domain = dc.Domain({"age": dc.Integer(0, 120), "ward": WARDS, "code": CODES, "stay": (0, 60), "cost": (0, 50_000)})
    return pa.table(made), domain


def bins_of(table: Any, domain: dc.Domain) -> list[Any]:
    rows = np.concatenate([np.column_stack(list(b)) for b in open_table(table).batches(domain)])
    places = (np.clip(rows[:, j], c.low, np.nextafter(c.high, c.low)) for j, c in enumerate(domain))
    return [bin_of(c, x) for c, x in zip(domain, places, strict=True)]


def true_errors(real: Any, made: Any, domain: dc.Domain) -> Any:
    """Return Σ|count - truth| / rows of all columns and pairs."""
    a, b = bins_of(real, domain), bins_of(made, domain)
    found = np.zeros((len(a), len(a)))
    for i, j in np.ndindex(found.shape):
        counts = [np.bincount(x[i] * 100 + x[j], minlength=10_000) for x in (a, b)]
        found[i, j] = np.abs(counts[0] - counts[1]).sum() / len(a[0])
    return found


def of_marginals(seed: int) -> tuple[Fitness, Any]:
    table, domain = hospital(seed)
    made = dc.MarginalSynopsis(1.0, domain, delta=1e-9, random_state=seed).fit(table).synopsis_
    return made.fitness(), true_errors(table, made.sample(rng=seed), domain)


def of_grid(seed: int, epsilon: float = 1.0) -> tuple[Fitness, Any]:
    table, domain = hospital(seed)
    chosen = domain.select(["age", "cost"])
    made = dc.GridSynopsis(epsilon, chosen, random_state=seed).fit(table).synopsis_
    counts = [made.table(a, b, bins=_edges(chosen, a, b)).counts if a != b else made.marginal(a, _edges(chosen, a)[a])
              .counts for a in chosen.names for b in chosen.names]  # fmt: skip
    real, found = bins_of(table, chosen), []
    for (i, j), noisy in zip(np.ndindex(2, 2), counts, strict=True):
        truth = np.zeros(noisy.shape)
        np.add.at(truth, (real[i], real[j]) if i != j else real[i], 1)
        found.append(np.abs(truth - noisy).sum() / table.num_rows)
    return made.fitness(), np.array(found).reshape(2, 2)


def _edges(domain: dc.Domain, *names: str) -> dict[str, Any]:
    from discreet.core import even_edges

    return {name: even_edges(domain.column(name), BINS) for name in names}


def of_cells(seed: int, k: int = 10) -> tuple[Fitness, Any]:
    table, domain = hospital(seed)
    quasi = ("age", "ward", "code")
    said = {n: {**d, "role": "quasi-identifier" if n in quasi else "sensitive"} for n, d in domain.to_dict().items()}
    made = dc.anonymity.DensityTree(k=k, domain=dc.Domain(said)).fit_transform(table)
    return fitness_of(made.table, made.guarantee), true_errors(table, one_of_each(made.table, made.guarantee), domain)


def of_noise(seed: int, epsilon: float = 2.0) -> tuple[Fitness, Any]:
    table, domain = hospital(seed)
    noise = dc.metric.NDLaplace(epsilon, radius=0.05, domain=domain, category_epsilon=3.0, random_state=seed)
    made = noise.transform(table)
    return fitness_of_noise(noise.guarantee_), true_errors(table, made, domain)


@pytest.mark.parametrize("seeds", [FEW, pytest.param(SEEDS, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize(
    "release",
    [pytest.param(of_marginals, marks=pytest.mark.slow), of_grid, of_cells, of_noise],
    ids=lambda f: f.__name__,
)
def test_the_stated_error_covers_the_true_one(release: Any, seeds: range) -> None:
    """In every run, the stated mean error is above the true mean error, and of all errors nine of ten are.

    It must not be so large that it says nothing: at most four times the true mean.
    """
    held, ratios = [], []
    for seed in seeds:
        said, true = release(seed)
        upper = np.triu_indices(len(true))
        assert np.isfinite(said.errors[upper]).all()
        held.append(np.mean(said.errors[upper] >= true[upper]))
        ratios.append(float(said.errors[upper].mean() / true[upper].mean()))
    assert min(ratios) >= 1
    assert np.median(ratios) <= 4
    assert np.mean(held) >= 0.85


@pytest.mark.slow
def test_less_noise_makes_a_better_line() -> None:
    table, domain = hospital(1)
    few = domain.select(["age", "ward", "stay"])
    told = [
        dc.MarginalSynopsis(epsilon, few, delta=1e-9, random_state=1).fit(table).synopsis_.fitness()
        for epsilon in (0.02, 0.1, 1.0, 10.0)
    ]
    errors = [np.nanmean(each.errors) for each in told]
    assert errors == sorted(errors, reverse=True)
    assert "mostly noise" in str(told[0])


def test_pairs_that_were_not_measured_are_said_to_be_modelled() -> None:
    table, domain = hospital(2)
    made = dc.MarginalSynopsis(0.3, domain, random_state=2).fit(table).synopsis_
    told = made.fitness()
    for i, a in enumerate(domain.names):
        for j, b in enumerate(domain.names):
            if i != j:
                assert bool(told.assumed[i, j]) == (made.measured.says([a, b]) != "measured")


def test_a_line_names_what_is_good_noise_and_not_known() -> None:
    errors = np.array([[0.004, 0.06, np.nan], [0.06, 0.02, 0.9], [np.nan, 0.9, 0.1]])
    said = str(Fitness(("age", "ward", "ICD"), errors, errors > 2))
    assert said == (
        "Counts by age are good to ±0.4 %, by ward to ±2 %, by ICD to ±10 %, by age and ward to ±6 %; ward by ICD is "
        "mostly noise; age by ICD is not known."
    )
    exact = Fitness(("age",), np.zeros((1, 1)), np.zeros((1, 1), bool))
    assert str(exact) == "Counts by age are exact."
    none = Fitness((), np.zeros((0, 0)), np.zeros((0, 0), bool))
    assert str(none) == "Counts by columns are not known."


def test_the_largest_error_is_called_expected_because_it_is_no_bound() -> None:
    errors = np.full((7, 7), 0.2)
    errors[6, 6] = 0.33
    told = str(Fitness(tuple("abcdefg"), errors, np.zeros((7, 7), bool)))
    assert "are mostly good to ±20 % (largest expected error ±33 %), by two columns mostly to ±20 %" in told
    assert "größter erwarteter Fehler ±33 %" in translated(told, "de")


def test_columns_and_pairs_without_use_are_counted_apart() -> None:
    errors = np.full((7, 7), 0.9)
    errors[5, 5] = errors[6, 6] = 0.1
    told = str(Fitness(tuple("abcdefg"), errors, np.zeros((7, 7), bool)))
    assert told.endswith("; a, b, c and 2 more columns are mostly noise; f by g is mostly noise.")
    said = translated(told, "de", "abcdefg")
    assert "; a, b, c und 2 weitere Spalten sind größtenteils Rauschen; " in said


def test_every_page_shows_the_line_and_the_pairs(tmp_path: Path) -> None:
    table, domain = hospital(3, 1500)
    made = dc.MarginalSynopsis(1.0, domain, delta=1e-9).fit(table).synopsis_
    made.save(tmp_path / "s.parquet")
    facts = report_facts(tmp_path / "s.parquet")
    page = report_page(facts).replace("\u00a0", " ").replace("&#39;", "'")
    assert facts["fitness"]["line"] == str(made.fitness())
    assert facts["fitness"]["line"] in page
    assert "Expected errors of counts" in page
    assert facts["doubts"] == []


def test_columns_that_were_never_split_are_not_known() -> None:
    table, domain = hospital(4, 1500)
    tree = dc.TreeSynopsis(0.01, domain, max_depth=1, random_state=1).fit(table).synopsis_
    assert tree.uncut
    place = domain.position(tree.uncut[0])
    assert np.isnan(tree.fitness().errors[place]).all()
    assert "not known" in str(tree.fitness())


def test_codes_are_counted_by_prefix_and_numbers_by_declared_levels() -> None:
    rng = np.random.default_rng(1)
    known = np.array(["I21.0", "E11.9", "J18.0", "K29.7", "S72.0", "G40.3", "A09.0", "O80"])
    table = pa.table({"icd": known[rng.integers(0, 8, 1600)], "age": np.clip(rng.normal(60, 20, 1600), 0, 110).round()})
    levels = "0..17 child, 18..39 young, 40..64 middle, 65..79 old, 80+ very old"
    plain = dc.Domain({"icd": dc.Code(r"[A-Z]\d{2}(\.\d)?"), "age": dc.Integer(0, 110)})
    named = dc.Integer(0, 110, levels=levels, role="quasi-identifier")
    made = dc.MarginalSynopsis(0.2, plain, delta=1e-9, random_state=1).fit(table).synopsis_
    drawn = made.sample(1600, rng=1)
    true = true_errors(table, drawn, plain)[0, 0]
    assert true > 0.4  # by first letters: most of them never occur
    assert made.fitness().errors[0, 0] >= true
    cells = dc.anonymity.DensityTree(k=20, domain=dc.Domain({"age": named})).fit_transform(table.select(["age"]))
    assert str(fitness_of(cells.table, cells.guarantee)) == "Counts by age are exact."
    compared = dc.evaluation.compare_tables(table, drawn, domain=plain).marginals[1]
    assert compared.errors[compared.sets.index(("icd",))] == pytest.approx(true / 2)


def test_the_line_and_the_chart_round_an_error_in_one_way(tmp_path: Path) -> None:
    table, domain = hospital(1, 2000)
    made = dc.MarginalSynopsis(1.0, domain.select(["age", "ward"]), random_state=1).fit(table).synopsis_
    made.save(tmp_path / "m.parquet")
    facts = report_facts(tmp_path / "m.parquet")
    (age, _), (_, ward) = facts["fitness"]["errors"]
    page = report_page(facts)
    chart = re.search(r"<svg(?:(?!</svg>).)*errors of counts.*?</svg>", page, re.S)
    assert chart is not None
    for name, error in (("age", age), ("ward", ward)):
        shown = re.search(rf"by {name} (?:are good )?to ±([\d.]+) %", facts["fitness"]["line"])
        assert shown is not None
        assert round(100 * error) != int(shown[1])  # rounded up: the nearest number would differ
        assert f">{shown[1]} %<" in chart[0].replace("\u00a0", " ")


def test_a_table_that_is_too_coarse_says_what_helps() -> None:
    table, domain = hospital(1, 60)
    made = dc.anonymity.DensityTree(k=30, domain=domain).fit_transform(table)
    said = str(fitness_of(made.table, made.guarantee))
    assert "too coarse to use. Groups are finer with a smaller k or fewer quasi-identifiers." in said
    assert "sein. Gruppen werden feiner mit einem kleineren k" in translated(said, "de", domain.names)
    tree = str(dc.TreeSynopsis(1.0, domain, max_depth=3, random_state=1).fit(hospital(1)[0]).synopsis_.fitness())
    assert "too coarse to use. Boxes are smaller with fewer columns or a larger epsilon." in tree
    assert "sein. Zellen werden kleiner mit" in translated(tree, "de", domain.names)
    fine = dc.anonymity.DensityTree(k=2, domain=domain.select(["ward"])).fit_transform(hospital(1)[0])
    assert "finer" not in str(fitness_of(fine.table, fine.guarantee))
