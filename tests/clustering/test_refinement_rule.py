"""One rule for what is done to noisy counts before they are clustered, anyone who asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.cli.app import main
from discreet.clustering import cluster_synopsis
from discreet.clustering.central import auto, of_synopsis
from discreet.evaluation import nicv
from discreet.jobs.kinds import KINDS


def refined(found: Any) -> list[str]:
    return [step.split(":")[0] for step in found.synopsis.guarantee.parameters.get("refined", [])]


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_no_mixture_is_fitted_on_a_coarse_grid(parts: int) -> None:
    data = dc.datasets.mixture(10_000, 2, 5, separation=6, random_state=parts)
    made = dc.GridSynopsis(0.5, data.domain, parts, random_state=0).fit(data.X).synopsis_
    assert refined(cluster_synopsis(made, 5)) == ["project"]


def test_on_three_by_three_cells_the_default_is_as_good_as_the_cells_themselves() -> None:
    errors: dict[str, list[float]] = {"auto": [], "project": [], "mixture": []}
    for seed in range(4):
        data = dc.datasets.mixture(10_000, 2, 5, separation=6, random_state=seed)
        made = dc.GridSynopsis(0.5, data.domain, 3, random_state=seed).fit(data.X).synopsis_
        for steps, found in errors.items():
            found.append(nicv(data.X, cluster_synopsis(made, 5, refine=steps).centers))
    assert errors["auto"] == errors["project"]
    ratio = np.exp(np.mean(np.log(errors["mixture"])) - np.mean(np.log(errors["auto"])))
    assert ratio > 1.3


@pytest.mark.parametrize(
    ("n", "d", "k", "epsilon", "separation"),
    [
        (3000, 2, 4, 1.0, 4),
        (3000, 2, 4, 0.05, 4),  # drowned in noise
        (1500, 3, 4, 0.3, 4),  # few parts to an axis
        (20_000, 2, 4, 1.0, 60),  # tight
        (3000, 5, 3, 0.2, 6),  # many axes, a coarse grid of means
        (60_000, 5, 3, 1.0, 6),  # many axes, a tree
    ],
)
def test_a_release_made_for_clusters_is_refined_alike_by_anyone_who_clusters_it(
    n: int, d: int, k: int, epsilon: float, separation: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = dc.datasets.mixture(n, d, k, separation=separation, random_state=2)
    seen: list[Any] = []
    choose = auto.choose
    monkeypatch.setattr(auto, "choose", lambda *facts, **more: seen.append(choose(*facts, **more)) or seen[-1])
    model = dc.PrivateKMeans(k, epsilon=epsilon, domain=data.domain, random_state=5).fit(data.X)
    assert auto.refinement_for(model.synopsis_, k) == seen[0].refine


def test_a_tree_uses_the_counts_above_its_leaves_whatever_comes_next() -> None:
    data = dc.datasets.mixture(10_000, 2, 5, random_state=1)
    for depth, epsilon, last in ((3, 1.0, "project"), (8, 0.5, "checked"), (8, 2.0, "threshold")):
        made = dc.TreeSynopsis(epsilon, data.domain, "binary", max_depth=depth, random_state=0).fit(data.X).synopsis_
        assert auto.refinement_for(made, 5) == ("consistent", last)


def test_a_list_of_survivors_is_thresholded() -> None:
    data = dc.datasets.mixture(3000, 2, 3, random_state=1)
    made = dc.GridSynopsis(1.0, data.domain, 2000, random_state=0).fit(data.X).synopsis_
    assert made.hidden is not None
    assert auto.refinement_for(made, 3) == ("threshold",)


def test_none_by_name_is_none() -> None:
    data = dc.datasets.mixture(3000, 2, 3, random_state=1)
    made = dc.GridSynopsis(1.0, data.domain, 9, random_state=0).fit(data.X).synopsis_
    named, plain = cluster_synopsis(made, 3, refine="none"), cluster_synopsis(made, 3, refine=None)
    assert refined(named) == []
    assert np.array_equal(named.centers, plain.centers)


def test_the_command_line_and_job_files_take_the_same_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(KINDS["cluster"].option("refine").choices) == set(of_synopsis.NAMES)

    def shell(*args: object) -> int:
        with pytest.raises(SystemExit) as left:
            main([str(a) for a in args])
        return int(left.value.code or 0)

    data = dc.datasets.mixture(5000, 2, 4, separation=6, random_state=1)
    made = dc.GridSynopsis(1.0, data.domain, 3, random_state=0).fit(data.X).synopsis_
    made.save(tmp_path / "s.parquet")
    for steps in ("auto", "project", "mixture", "none"):
        assert shell("cluster", tmp_path / "s.parquet", "-k", 4, "--refine", steps, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert told["centers"] == cluster_synopsis(made, 4, refine=steps).centers.tolist()
        outputs = {"centers": f"{steps}.csv"}
        job = dc.Job("cluster", "s.parquet", None, {"n_clusters": 4, "refine": steps}, outputs, tmp_path)
        job.run()
        rows = (tmp_path / f"{steps}.csv").read_text().splitlines()[1:]
        assert np.allclose([[float(v) for v in row.split(",")][:2] for row in rows], told["centers"])
    assert shell("cluster", tmp_path / "s.parquet", "-k", 4, "--refine", "magic") == 2
    assert "--refine must be" in " ".join(capsys.readouterr().err.split())


def test_a_mixture_that_went_astray_is_not_believed() -> None:
    """Unequal clusters in strong noise: some fits are twice as bad as the counts; those are seen, and dropped."""
    data = dc.datasets.patients()
    errors: dict[str, list[float]] = {"mixture": [], "checked": [], "project": []}
    for seed in range(6):
        made = dc.GridSynopsis(0.05, data.domain, "rugnik", n_clusters=15, random_state=seed).fit(data.X).synopsis_
        for steps, found in errors.items():
            found.append(dc.evaluation.nicv(data.X, dc.clustering.cluster_synopsis(made, 15, refine=steps).centers))
    assert np.mean(errors["checked"]) < 0.9 * np.mean(errors["mixture"])
    assert np.mean(errors["checked"]) < 1.05 * np.mean(errors["project"])
    assert max(errors["checked"]) < max(errors["mixture"])
