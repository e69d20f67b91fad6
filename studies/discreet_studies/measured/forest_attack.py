"""The published membership test of perturbed clustering: a forest on cluster labels, attacked by shadow forests.

Clusters have no labels to learn, so the records are clustered first, and a classifier of the cluster labels, trained
on the perturbed members, is what is attacked (the shadow models of Shokri and others 2017). Members are shown to the
attack as their raw rows: the question is whether a person's record was used, not whether a noisy row was.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from discreet import noise
from discreet.core import FloatArray, checks
from discreet.evaluation import ScoredAttack
from discreet.evaluation.attacks import draws, records, score_blindly
from discreet_studies.measured.membership import shadow_scorer


@dataclass(frozen=True, eq=False)
class RepeatedAttack(ScoredAttack):
    """An attack run several times with fresh noise: mean advantage, and an interval over the runs.

    The curve is that of all runs together.

    Attributes
    ----------
    runs : tuple of ScoredAttack
        The single runs.

    Examples
    --------
    >>> one = ScoredAttack("a", np.array([1.0, 2.0]), np.array([0.0, 3.0]), 0.5)
    >>> RepeatedAttack("a", one.scores, one.control_scores, 0.5, runs=(one, one)).advantage
    0.5
    """

    runs: tuple[ScoredAttack, ...] = ()

    @property
    def advantage(self) -> float:
        """Mean over the runs."""
        return float(np.mean([run.advantage for run in self.runs]))

    @property
    def spread(self) -> float:
        """Standard deviation over the runs."""
        return float(np.std([run.advantage for run in self.runs], ddof=1)) if len(self.runs) > 1 else 0.0

    @property
    def advantage_interval(self) -> tuple[float, float]:
        """Student's interval over the runs; of a single run its own."""
        n = len(self.runs)
        if n < 2:
            return self.runs[0].advantage_interval
        half = float(student.ppf((1 + self.confidence) / 2, n - 1)) * self.spread / math.sqrt(n)
        return max(self.advantage - half, -1.0), min(self.advantage + half, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        advantages = [run.advantage for run in self.runs]
        return {**super().to_dict(), "advantages": advantages, "standard_deviation": self.spread}


def forest_attack(
    people: Any,
    perturb: Callable[[Any], Any] | None = None,
    *,
    n_clusters: int = 4,
    shadows: int = 3,
    repeats: int = 10,
    noisy_shadows: bool = False,
    confidence: float = 0.95,
    random_state: Any = None,
) -> RepeatedAttack:
    """Attack a forest trained on perturbed members with cluster labels, by shadow forests.

    Parameters
    ----------
    people : array of shape (n, d)
        The records. In each run a quarter is the target's, half of it members; the rest is the attacker's.
    perturb : callable, optional
        From rows to perturbed rows, such as ``transform`` of a mechanism without a seed. None is the reference without
        privacy.
    n_clusters : int, default 4
        K-means clusters that serve as labels.
    shadows : int, default 3
        Shadow forests of a run.
    repeats : int, default 10
        Runs, each with a split and noise of its own.
    noisy_shadows : bool, default False
        As published, shadow forests are trained on unperturbed records, which do not look like the target; a low
        advantage may then mean a clumsy attack. True perturbs them as well.
    confidence : float, default 0.95
        Of the intervals.
    random_state : None, int or Generator
        For everything but the noise of ``perturb``.

    Returns
    -------
    RepeatedAttack

    Notes
    -----
    A forest on cluster labels barely leaks who was in it even without noise, so this measures little; it is here to
    set published figures against. `membership_attack` on the points themselves is the stronger test.

    Examples
    --------
    >>> people = np.random.default_rng(1).random((80, 2))
    >>> found = forest_attack(people, repeats=2, random_state=1)
    >>> len(found.runs), found.control.trials
    (2, 20)
    """
    from sklearn.cluster import KMeans

    rows = records("people", people, least=16)
    clusters = checks.whole("n_clusters", n_clusters, low=2, high=len(rows) // 4)
    n_shadows, n_runs = checks.whole("shadows", shadows, low=1), checks.whole("repeats", repeats, low=1)
    level = float(checks.probability("confidence", confidence))
    stream = noise.generator(random_state)
    labeller = KMeans(clusters, n_init=4, random_state=draws.seed(stream)).fit(rows)
    target = _Forest(labeller.predict, clusters, perturb)
    rehearsal = _Forest(labeller.predict, clusters, perturb if noisy_shadows else None)
    runs = []
    for _ in range(n_runs):
        order = draws.order(len(rows), stream)
        size = len(rows) // 8
        members, others, public = rows[order[:size]], rows[order[size : 2 * size]], rows[order[2 * size :]]
        model = target.train(members.copy(), draws.seed(stream))
        scorer = shadow_scorer(model, rehearsal.train, rehearsal.look, public, n_shadows, stream)
        scores, control = score_blindly(scorer, members, others, stream)
        # The attack model's own even odds are the threshold: nobody's membership is needed to fix it.
        runs.append(ScoredAttack("one run", scores, control, 0.5, confidence=level))
    scores, control = (np.concatenate([getattr(r, side) for r in runs]) for side in ("scores", "control_scores"))
    facts = {"n_clusters": clusters, "shadows": n_shadows, "noisy_shadows": noisy_shadows}
    name = "membership, shadow forests"
    return RepeatedAttack(name, scores, control, 0.5, None, None, None, level, facts, tuple(runs))


@dataclass(frozen=True)
class _Forest:
    """Trains forests on cluster labels, and looks at one as its user can: predicted shares, and the record's label."""

    label: Callable[[Any], Any]
    n_labels: int
    perturb: Callable[[Any], Any] | None

    def train(self, rows: FloatArray, seed: int) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        shown = rows if self.perturb is None else records("perturb", self.perturb(rows), rows.shape[1])
        return RandomForestClassifier(random_state=seed).fit(shown, self.label(rows))

    def look(self, model: Any, rows: FloatArray) -> FloatArray:
        shares = np.zeros((len(rows), self.n_labels + 1))
        # A forest that never saw a label has no column for it.
        shares[:, np.asarray(model.classes_, np.int64)] = model.predict_proba(rows)
        shares[:, -1] = self.label(rows)
        return shares
