"""The attack on reports of a local mechanism: guess the value behind each."""

import math
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import checks
from discreet.errors import InvalidArgument
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.roc import AttackResult, Rate


def best_guess(
    reports: Any, values: Any, candidates: Any, *, attacks: int = 2000, confidence: float = 0.95,
    random_state: Any = None,
) -> AttackResult:  # fmt: skip
    """Guess the value behind each report: the candidate that this report alone makes most frequent.

    Parameters
    ----------
    reports : Reports
        Reports of a mechanism that estimates frequencies.
    values : list
        The values behind them, in their order. People whose value is not a candidate, or missing, are left out; the
        facts say how many (``left_out``).
    candidates : list
        The values that people may have, which are public.
    attacks, confidence, random_state
        See `singling_out`; ``attacks`` are reports.

    Notes
    -----
    The baseline always guesses the most frequent value, which m of the people have. No attack on one report can exceed
    m e^ε/(m e^ε + 1 - m): by Bayes' rule, a report multiplies the odds of a value by at most e^ε. The facts name this
    ``bound``. A result above it, beyond its interval, refutes ε.

    Examples
    --------
    >>> import discreet as dc
    >>> mechanism = dc.local.DirectResponse(epsilon=2, domain=["cat", "dog", "emu"])
    >>> truth = ["cat", "dog", "emu"] * 400
    >>> found = best_guess(mechanism.encode(truth, rng=1), truth, ["cat", "dog", "emu"], random_state=1)
    >>> found.attack.interval[0] < found.facts["bound"] and found.better_than_guessing
    True
    """
    level, stream = float(checks.probability("confidence", confidence)), noise.generator(random_state, "random_state")
    most = checks.whole("attacks", attacks, low=1)
    if len(reports) != len(values) or not len(values):
        expected = f"the {len(reports):,} values behind the reports, in their order"
        raise InvalidArgument("values", f"{len(values):,} values", expected, "values=people")
    truth, labels = np.array([str(v) for v in values]), np.array([str(c) for c in candidates])
    known = np.flatnonzero(np.isin(truth, labels) & np.array([v is not None for v in values]))
    if not len(known):
        raise InvalidArgument("candidates", f"{len(labels):,} values", "values that people have", "candidates=people")
    kinds, counts = np.unique(truth[known], return_counts=True)
    chosen = known[draws.order(len(known), stream)[:most]]
    right = 0
    for place in chosen:
        one = reports.mechanism.aggregate(reports[[place]])
        counted = np.asarray(reports.mechanism.estimate(one, candidates).count)
        tied = np.flatnonzero(counted >= counted.max() - 1e-9)
        right += labels[tied[noise.below(len(tied), size=1, rng=stream)[0]]] == truth[place]
    share, level_of = counts.max() / len(known), math.exp(min(float(reports.mechanism.epsilon), 700))
    facts = {"bound": share * level_of / (share * level_of + 1 - share), "left_out": len(truth) - len(known)}
    blind = Rate(int((truth[chosen] == kinds[counts.argmax()]).sum()), len(chosen), level)
    return AttackResult("best guess", Rate(int(right), len(chosen), level), None, blind, level, facts)
