"""The study of grid sizes: printed figures hang together, faults are where they are said to be, verdicts follow."""

from __future__ import annotations

import itertools
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.synopses import GridSynopsis
from discreet.synopses.boxes.grid.rules import rugnik_root
from discreet_studies import Results
from discreet_studies.as_published.grids import parts, release, signed_kmeans, steps
from discreet_studies.harness.runner import read_results
from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED, UNSURE
from discreet_studies.optimal_grid import study, tables
from discreet_studies.optimal_grid.findings import (
    CHOSEN,
    agreeing,
    choosing,
    chosen_arm,
    degenerate,
    findings,
    near,
    printed_ratio,
    rugnik_range,
    shown_range,
)
from discreet_studies.optimal_grid.notes import curve, notes
from discreet_studies.optimal_grid.published import CELLS, EPSILONS, RANGES, WCSS, WITHOUT_PRIVACY
from discreet_studies.optimal_grid.results import Sums

#: Numbers of cells worked out by hand from the two rules: (d, K, N), EUGkM's and RUGNIK's for the six ε.
SIZES = {
    (2, 2, 100): ([1, 1, 4, 4, 4, 9], [4, 9, 9, 16, 16, 25]),
    (2, 4, 400): ([4, 4, 9, 16, 25, 36], [25, 25, 36, 49, 81, 100]),
    (2, 8, 1600): ([16, 25, 36, 64, 100, 169], [81, 100, 144, 196, 289, 400]),
    (3, 2, 400): ([8, 8, 27, 27, 64, 64], [27, 27, 27, 64, 64, 125]),
    (3, 8, 1600): ([27, 64, 64, 125, 216, 512], [125, 125, 216, 343, 512, 729]),
}


def rows_of(cell: tuple[int, int, int], epsilon: float, numbers: dict[str, float], part: str = "grids") -> list[Any]:
    """Return two runs with the same numbers, a little apart."""
    where = {"part": part, "d": cell[0], "k": cell[1], "n": cell[2], "epsilon": epsilon}
    return [({**where, "seed": s}, {m: v * (1 + 0.001 * s) for m, v in numbers.items()}) for s in (0, 1)]


def test_table_one_to_the_last_digit() -> None:
    assert set(RANGES) == set(CELLS)
    assert all(shown_range(*cell) == printed for cell, printed in RANGES.items())
    nearest = [round(v, 3) for cell in RANGES for v in rugnik_range(cell[2], cell[0], cell[1])]
    printed = [v for ends in RANGES.values() for v in ends]
    assert sum(a != b for a, b in zip(nearest, printed, strict=True)) == 13  # ε₀ is rounded up and ε₁ down


@pytest.mark.parametrize("cell", SIZES)
def test_table_three_number_by_number(cell: tuple[int, int, int]) -> None:
    d, k, n = cell
    for rule, sizes in zip(("eugkm", "rugnik"), SIZES[cell], strict=True):
        assert [parts(rule, n, e, d, k) ** d for e in EPSILONS] == sizes


def test_more_rows_budget_or_clusters_never_make_rugniks_grid_coarser() -> None:
    for d in (1, 2, 3, 5):
        by_rows = [rugnik_root(n, 0.3, d, 4) for n in (50, 100, 1000, 10_000)]
        by_budget = [rugnik_root(500, e, d, 4) for e in EPSILONS]
        by_clusters = [rugnik_root(500, 0.3, d, k) for k in (1, 2, 4, 8, 16)]
        assert all(
            sorted(found) == found and len(set(found)) == len(found) for found in (by_rows, by_budget, by_clusters)
        )


def test_only_eugkm_has_fewer_cells_than_clusters() -> None:
    assert degenerate("rugnik") == []
    assert (2, 2, 200, 0.1) in degenerate("eugkm")
    assert (3, 8, 400, 0.1) not in degenerate("eugkm")  # eight cells for eight clusters


def test_the_printed_table_is_whole_and_says_what_is_said_of_it() -> None:
    assert len(WCSS) == 2 * 54 + 3 * 2 * 48
    assert len(WITHOUT_PRIVACY) == len(CELLS) == 18
    assert not any(method != "rugnik" and n == 100 for method, _, _, n, _ in WCSS)
    # No private figure is better than the one without privacy, and the rule's are the nearest to it.
    assert all(value > WITHOUT_PRIVACY[d, k, n] for (_, d, k, n, _), value in WCSS.items())
    lost = [key for key in WCSS if key[0] == "eugkm" and WCSS[key] < WCSS["rugnik", *key[1:]]]
    assert len(lost) == 7
    wins = {m: sum(WCSS["rugnik", *key[1:]] < v for key, v in WCSS.items() if key[0] == m) for m in ("diffprivlib",)}
    assert wins == {"diffprivlib": 96}
    assert [printed_ratio(2, e) for e in EPSILONS] == pytest.approx([2.35, 2.09, 2.03, 1.57, 1.41, 1.17], abs=0.01)
    assert [printed_ratio(3, e) for e in EPSILONS] == pytest.approx([1.58, 1.24, 1.35, 1.43, 1.16, 1.24], abs=0.01)


def test_printed_figures_that_share_a_grid_agree() -> None:
    # Where both rules come to the same number of cells, the two entries differ by chance only.
    same = [
        (WCSS["rugnik", d, k, n, e], WCSS["eugkm", d, k, n, e])
        for d, k, n in CELLS
        for e in EPSILONS
        if ("eugkm", d, k, n, e) in WCSS and parts("rugnik", n, e, d, k) == parts("eugkm", n, e, d, k)
    ]
    assert len(same) >= 3
    assert all(abs(math.log(one / other)) < 0.05 for one, other in same)


def test_centres_keep_their_distance_and_rows_their_spread() -> None:
    for d, k in ((2, 4), (3, 8)):
        centres, a = tables.packed(k, d, noise.generator(3))
        gaps = np.linalg.norm(centres[:, None] - centres[None], axis=2)[~np.eye(k, dtype=bool)]
        assert np.abs(centres).max() <= 1 - a
        assert gaps.min() >= 2 * a
    X = tables.table(2, 2, 20_000, noise.generator(5))
    halves = [X[:10_000], X[10_000:]]
    assert np.mean([half.std(axis=0) for half in halves]) == pytest.approx(tables.spread(2, 2), rel=0.03)
    again = tables.table(2, 2, 100, tables.stream_of("t", 1))
    assert (again == tables.table(2, 2, 100, tables.stream_of("t", 1))).all()
    assert (again != tables.table(2, 2, 100, tables.stream_of("t", 2))).any()


def test_the_published_grid_tells_neighbouring_tables_apart_and_the_product_does_not_look() -> None:
    # The first N at which a row more changes RUGNIK's grid.
    n = next(n for n in range(100, 2000) if parts("rugnik", n, 1.0, 2, 2) != parts("rugnik", n + 1, 1.0, 2, 2))
    X, domain = tables.table(2, 2, n + 1, noise.generator(1)), tables.box(2)
    published = [
        release(rows, domain, 2, 1.0, parts("rugnik", len(rows), 1.0, 2, 2), 0).n_leaves for rows in (X[:-1], X)
    ]
    assert published[0] != published[1]
    sizes = [parts("rugnik", n, 1.0, 2, 2) for n in range(1, 502)]
    assert steps("rugnik", 1.0, 2, 2, 500) == sum(one != other for one, other in itertools.pairwise(sizes)) > 5
    drawn = {
        GridSynopsis(1.0, domain, "rugnik", n_clusters=2, random_state=s).fit(X).synopsis_.n_leaves for s in range(12)
    }
    assert len(drawn) > 1  # the size follows a noisy number of rows


def test_one_cell_leaves_one_centre_in_the_middle() -> None:
    X = tables.table(2, 2, 200, noise.generator(2))
    released = release(X, tables.box(2), 2, 0.1, parts("eugkm", 200, 0.1, 2, 2), 0)
    assert released.points.tolist() == [[0.0, 0.0]]


@pytest.mark.slow
def test_a_run_measures_every_method_and_can_be_repeated() -> None:
    setting = {"part": "grids", "d": 2, "k": 2, "n": 100, "epsilon": 1.0, "seed": 0}
    found = study.measure(setting)
    assert found == study.measure(setting)
    assert {"rugnik", "eugkm", "ours", "rugnik, mixture", "rugnik, paid", "lloyd"} <= set(found)
    ends = study.measure({**setting, "part": "no privacy", "epsilon": 0.0})
    assert ends["no privacy"] <= min(found.values())
    assert ends["no data"] > found["ours"]


def test_a_ratio_is_of_means_and_its_interval_covers_it() -> None:
    cell = (2, 2, 100)
    rows = rows_of(cell, 0.1, {"rugnik": 2.0, "eugkm": 6.0})
    rows[1][1]["eugkm"] = 9.0
    found = Sums(Results(rows)).ratio("eugkm", "rugnik", cell, 0.1)
    assert found.mean == pytest.approx(7.5 / 2.001)
    assert found.low < found.mean < found.high
    assert Sums(Results([])).ratio("eugkm", "rugnik", cell, 0.1).runs == 0


def test_verdicts_follow_the_numbers() -> None:
    cell, e = (2, 2, 200), 0.1
    printed = {m: WCSS[m, *cell, e] for m in ("rugnik", "eugkm")}
    better = {**printed, "rugnik, paid": 1.0, "eugkm, paid": 2.0, "ours": 3.0}
    good = {
        f.figure: f for f in findings(Results(rows_of(cell, e, better))) if f.section.startswith(("Table II,", "T"))
    }
    figure = "K = 2, N = 200, ε = 0.1"
    assert good[figure].verdict == REPRODUCED
    worse = {**better, "rugnik": printed["rugnik"] * 1.3, "rugnik, paid": 2.0, "eugkm, paid": 1.0}
    rows = rows_of(cell, e, worse)
    by_section = {(f.section, f.figure): f for f in findings(Results(rows))}
    found = by_section["Table II, RUGNIK, d = 2", figure]
    assert found.verdict == NOT
    assert found.note.startswith("higher")
    paid = "The same with N paid for", "EUGkM / RUGNIK, N paid for, d = 2, ε = 0.1, in 1 of 8 settings"
    assert by_section[paid].verdict == NOT
    right = {(f.section, f.figure): f for f in findings(Results(rows_of(cell, e, better)))}
    assert right[paid].verdict == CORRECTED
    assert "exact N" in right[paid].note
    assert near(0.851, 1.0)
    assert not near(1.151, 1.0)


def test_a_mean_that_is_off_proves_nothing_while_its_interval_holds_the_printed_figure() -> None:
    cell, e = (2, 2, 200), 0.1
    rows = rows_of(cell, e, {"rugnik": WCSS["rugnik", *cell, e], "eugkm": 1.0})
    rows[0][1]["rugnik"] *= 0.2
    found = {(f.section, f.figure): f for f in findings(Results(rows))}
    assert found["Table II, RUGNIK, d = 2", "K = 2, N = 200, ε = 0.1"].verdict == UNSURE


def test_the_treatment_of_negative_counts_is_chosen_on_one_half_and_judged_on_the_other() -> None:
    rows = []
    for cell in CELLS[:2]:
        for e in EPSILONS:
            printed = WCSS["rugnik", *cell, e]
            # Signed agrees where it is chosen and nowhere else; absolute agrees everywhere else.
            near_here, off = (printed, 2 * printed) if choosing(cell, e) else (2 * printed, printed)
            rows += rows_of(cell, e, {"rugnik": 3 * printed, "eugkm": 9.0})
            rows += rows_of(cell, e, {"rugnik, signed": near_here, "rugnik, absolute": off}, "negatives")
    sums = Sums(Results(rows))
    assert chosen_arm(sums) == "signed"
    assert agreeing(sums, "rugnik", "signed", True) == (6, 6)
    assert agreeing(sums, "rugnik", "signed", False) == (0, 6)
    judged = [f for f in findings(Results(rows)) if f.section.startswith("Table II, RUGNIK") and f.verdict]
    assert [f.verdict for f in judged] == [NOT] * 6


def test_a_quick_run_takes_the_treatment_of_the_full_study_and_says_how_many_seeds_it_has() -> None:
    assert chosen_arm(Sums(read_results(study.STUDY))) == CHOSEN
    cell, e = (2, 2, 200), 0.15
    printed = WCSS["rugnik", *cell, e]
    rows = rows_of(cell, e, {"rugnik": printed, "eugkm": 9.0, "ours": 1.0})
    rows += rows_of(
        cell, e, {"rugnik, absolute": printed, "rugnik, signed": 2 * printed, "eugkm, signed": 9.0}, "negatives"
    )
    full, quick = Results(rows), Results(rows, quick=True)
    assert (chosen_arm(Sums(full)), chosen_arm(Sums(quick))) == ("zero", CHOSEN)
    measured = [f.measured.mean for f in findings(quick) if f.section == "Table II, RUGNIK, d = 2"]
    assert measured == pytest.approx([2 * printed], rel=0.01)
    text = "\n".join(notes(quick))
    assert "noisy counts, 2 seeds each. In the full study, the one that" in text
    assert "left as they are (chosen in the full study)" in text
    assert "noisy counts, 20 seeds each. The one that" in "\n".join(notes(read_results(study.STUDY)))


def test_a_printed_mean_is_over_the_settings_that_were_run_and_some_of_them_refute_nothing() -> None:
    cell, e = (2, 2, 200), 1.0
    rows = rows_of(cell, e, {"rugnik": 1.0, "eugkm": 1.0, "rugnik, paid": 1.0, "eugkm, paid": 1.0})
    by = {f.figure: f for f in findings(Results(rows)) if f.section.startswith(("What", "The same"))}
    for words in ("", ", N paid for"):
        found = by[f"EUGkM / RUGNIK{words}, d = 2, ε = 1, in 1 of 8 settings"]
        assert found.published == pytest.approx(WCSS["eugkm", *cell, e] / WCSS["rugnik", *cell, e])
        assert found.verdict == UNSURE
    whole = [r for c in CELLS for r in rows_of(c, e, {"rugnik": 1.0, "eugkm": 1.0})]
    judged = {f.figure: f for f in findings(Results(whole))}["EUGkM / RUGNIK, d = 2, ε = 1"]
    assert (judged.verdict, judged.published) == (NOT, printed_ratio(2, e))


def test_signed_weights_pull_centres_away_from_negative_cells() -> None:
    points, weights = np.array([[0.0], [1.0], [2.0]]), np.array([-1.0, 0.0, 3.0])
    assert signed_kmeans(points, np.abs(weights), 1, 0).tolist() == [[1.5]]
    assert signed_kmeans(points, weights, 1, 0).tolist() == [[2.0]]  # 3 by its weights, kept within the points
    assert signed_kmeans(points, np.array([-2.0, 0.5, 0.5]), 1, 0).tolist() == [[1.5]]  # a negative sum moves nothing


def test_notes_stand_on_what_was_run() -> None:
    cell = (2, 4, 400)
    rows = rows_of(cell, 0.25, {"rugnik": 2.0, "eugkm": 4.0, "ours": 1.5})
    rows += rows_of(cell, 0.0, {"no privacy": 1.0, "no data": 9.0}, "no privacy")
    rows += rows_of(cell, 0.25, {"none 4": 3.0, "none 6": 2.0, "mixture 4": 1.5, "mixture 6": 1.6}, "parts")
    results = Results(rows)
    found = curve(results, Sums(results), "none", cell, 0.25)
    assert [round(found[m].mean, 2) for m in (4, 6)] == [3.0, 2.0]
    text = "\n".join(notes(results))
    assert "| d = 2, K = 4, N = 400, ε = 0.25 | 3 | 6 | 6 | 2.000 | 2.000 | 4 | 1.500 | 1.600 |" in text
    assert "More rows than were tried" not in text


def test_peers_that_cannot_be_imported_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffprivlib", None)
    monkeypatch.setitem(sys.modules, "diffprivlib.models", None)
    monkeypatch.setitem(sys.modules, "clustering", None)
    assert study.absent() == ["diffprivlib", "google-clustering"]
    assert {s["part"] for s in study.settings(True)} == {"no privacy", "grids", "negatives"}


def test_googles_method_gets_the_box_and_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def cluster(k: int, data: Any, budget: Any) -> Any:
        seen.update(k=k, radius=data.radius, epsilon=budget.epsilon, delta=budget.delta)
        return SimpleNamespace(centers=np.zeros((k, 2)))

    package, given, algorithm = (ModuleType(n) for n in ("clustering", "clustering_params", "clustering_algorithm"))
    given.Data = given.DifferentialPrivacyParam = SimpleNamespace  # type: ignore[attr-defined]
    algorithm.private_lsh_clustering = cluster  # type: ignore[attr-defined]
    for name, module in {"": package, ".clustering_params": given, ".clustering_algorithm": algorithm}.items():
        monkeypatch.setitem(sys.modules, f"clustering{name}", module)
    assert "google-clustering" in {s["part"] for s in study.settings(True)}
    setting = {"part": "google-clustering", "d": 2, "k": 2, "n": 100, "epsilon": 0.4, "seed": 0}
    middle = study.measure(setting)["google-clustering"]
    assert seen == {"k": 2, "radius": math.sqrt(2), "epsilon": 0.4, "delta": 1e-6}
    assert 10 < middle < 30  # a hundred rows at their distance from the origin, over two


def test_googles_method_was_measured_wherever_a_figure_of_it_is_printed() -> None:
    sums = Sums(read_results(study.STUDY))
    for method, *cell, epsilon in WCSS:
        if method == "google-clustering":
            assert sums.estimate(method, tuple(cell), epsilon).runs == 20, (cell, epsilon)


def test_diffprivlib_is_given_the_public_box() -> None:
    pytest.importorskip("diffprivlib")
    setting = {"part": "diffprivlib", "d": 2, "k": 2, "n": 200, "epsilon": 1.0, "seed": 0}
    assert study.measure(setting) == study.measure(setting)
