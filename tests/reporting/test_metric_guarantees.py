"""Pages about perturbed tables state the level at full distance, not only at a small one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import discreet as dc
from discreet.core import at_most
from discreet.jobs.work.perturb import distances
from discreet.reporting import report_facts, report_page
from discreet.reporting.words import for_lawyers, whole_level


def promise(**more: float) -> dc.Guarantee:
    domain = dc.Domain({"x": (0, 1), "y": (0, 1), "sex": ["f", "m"], "ill": ["no", "yes"]})
    model = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=domain, category_epsilon=1, random_state=1, **more)
    table = pa.table({"x": np.zeros(3), "y": np.zeros(3), "sex": ["f"] * 3, "ill": ["no"] * 3})
    model.fit_transform(table)
    return model.guarantee_


def test_the_most_different_rows_differ_in_their_categories_too() -> None:
    guarantee = promise()
    alone = guarantee.parameters["epsilon_at_diameter"]
    assert whole_level(guarantee) == alone + 2
    assert any(f"ε = {at_most(alone + 2, 4)}" in line for line in for_lawyers(guarantee))


def test_no_comfort_is_drawn_from_the_level_at_a_small_distance() -> None:
    said = " ".join(for_lawyers(promise()))
    assert "often used in practice" not in said
    assert "strong level" not in said
    assert "almost equally" not in said
    assert "a factor of at most 54.6" in said
    assert "weak on its own" in said  # about the whole row


def test_the_terminal_says_what_categories_add() -> None:
    said = distances(promise())
    assert "within a factor 7.39" in said
    assert "differ in every category" in said
    assert "by a factor of 54.6" in said


def test_the_first_screen_worries_about_rows_far_apart(tmp_path: Path) -> None:
    model = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=dc.Domain({"x": (0, 1), "y": (0, 1)}))
    file = tmp_path / "noisy.csv"
    model.transform_file(pa.table({"x": np.zeros(3), "y": np.zeros(3)}), file)
    page = report_page(report_facts(file))
    assert "Rows that are far apart can be distinguished" in page
    assert "No violation was found" not in page
