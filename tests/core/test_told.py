"""Results in a notebook: the figures of `to_dict`, escaped, and a short text for plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import discreet as dc
from discreet.core import Told
from discreet.evaluation.attacks.roc import AttackResult, ScoredAttack
from discreet.evaluation.audits.result import AuditResult
from discreet.evaluation.comparison.learners import Utility
from discreet.local import plan


@dataclass(frozen=True)
class _Found(Told):
    text: str

    def to_dict(self) -> dict[str, Any]:
        return {"its_text": self.text, "interval": [0.123456, 2.0], "rates": {"on_others": 0.5}, "gone": None}


def test_figures_are_escaped_and_short() -> None:
    shown = _Found("<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "0.1235 to 2" in shown
    assert "on others 0.5" in shown
    assert "None" not in shown


def test_results_and_plans_have_html_of_a_readable_size() -> None:
    for kind in (AttackResult, ScoredAttack, AuditResult, Utility):
        assert issubclass(kind, Told)
    found = plan(epsilon=3, domain_size=64, n=1000)
    assert len(repr(found)) < 100
    assert found.best.mechanism in found._repr_html_()
    made = dc.GridSynopsis(1.0, dc.Domain({"a": (0, 1)}), random_state=1).fit(np.full((99, 1), 0.5)).synopsis_
    assert 100 < len(made.fitness()._repr_html_()) < 10_000
