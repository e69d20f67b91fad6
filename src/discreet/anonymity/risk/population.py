"""The risk of a sample with population weights, and of households.

*Individual risk.* A class with f rows of the sample has F people in the population, and an attacker who knows that
someone is in the population picks the right one with probability 1/F. Given f, F is negative binomial: f successes of
probability p, estimated by f/F̂ with F̂ the sum of the weights of the class (Benedetti and Franconi 1998). So

    r = E[1/F | f] = p ∫₀¹ s^(f-1)/(p + (1 - p) s) ds = (p/f) ₂F₁(1, 1; f + 1; 1 - p):

p/(1 - p) ln(1/p) for f = 1, p/(1 - p)² (1 - p + p ln p) for f = 2, and 1/f if p = 1. μ-Argus (Franconi and Polettini
2004) and sdcMicro (Templ, Kowarik and Meindl 2015) use it and approximate it for f > 2. *Global risk*: the sum of r
over rows is the number expected to be re-identified (same sources). *Households*: at least one member is found with
probability 1 - ∏ (1 - rᵢ) (same source as sdcMicro), with rᵢ = 1/f where there are no weights.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import FloatArray, IntArray, Numeric, later
from discreet.core.schema import Dialect
from discreet.engines.tables import Encoder

special = later("scipy.special")


def individual_risk(f: Any, p: Any) -> FloatArray:
    """Return E[1/F] for classes with f rows that are sampled with probability p.

    Examples
    --------
    >>> individual_risk([1, 2, 5], [0.01, 0.01, 1.0]).round(4).tolist()
    [0.0465, 0.0096, 0.2]
    """
    f, p = np.asarray(f, np.float64), np.clip(np.asarray(p, np.float64), 1e-12, 1.0)
    term, series = np.ones_like(p * f), np.ones_like(p * f)
    for k in range(1, 41):  # k! / ((f + 1) ... (f + k)) q^k: enough for f above 20, where SciPy's may be no number
        term = term * k * (1.0 - p) / (f + k)
        series += term
    return np.asarray(p / f * np.where(f > 20, series, special.hyp2f1(1.0, 1.0, np.minimum(f, 20.0) + 1.0, 1.0 - p)))


def sampled_share(values: pa.Array, codes: IntArray, counts: IntArray, classes: IntArray, dialect: Dialect) -> Any:
    """Return p of each entry's class, and the sum of weights. A row without one stands for itself; p is at most 1."""
    read = Encoder(Numeric("weight", 0.0, 1e100), dialect).arrow(values)
    weights = np.append(np.where(np.isnan(read), 1.0, np.fmax(read, 0.0)), 1.0)[codes]  # -1, missing, picks the last
    rows, people = (np.bincount(classes, part) for part in (counts, counts * weights))
    return (rows / np.maximum(rows, people))[classes], float(people.sum())


def summary(risks: FloatArray, counts: IntArray, threshold: float) -> dict[str, float]:
    """Return the largest and the mean risk, the expected number found, and the share above a threshold."""
    n, expected = int(counts.sum()), float(risks @ counts)
    above = float(counts[risks > threshold].sum() / n)
    return {"number": n, "max": float(risks.max()), "mean": expected / n, "expected": expected, "share": above}


def household_risk(risks: FloatArray, counts: IntArray, households: IntArray, threshold: float) -> dict[str, float]:
    """Return the same of households; a row without one is a household of its own."""
    alone, some = households < 0, households[households >= 0]
    with np.errstate(divide="ignore"):
        missed = np.bincount(some, (np.log1p(-np.minimum(risks, 1.0)) * counts)[~alone])
    found = -np.expm1(missed[np.bincount(some) > 0])
    each = np.append(np.ones(len(found), np.int64), counts[alone])
    return summary(np.append(found, risks[alone]), each, threshold)


def estimate_rows(name: str, of: str, told: dict[str, Any], threshold: str) -> list[tuple[str, str, str]]:
    one = f"chance to find one of about {told.get('people', 0):,.0f} people by the weights, worst group"
    one = one if "people" in told else "chance that at least one member is found, worst household"
    return [
        (f"{name}, worst", f"{100 * told['max']:.3g} %", one),
        (f"{name}, mean", f"{100 * told['mean']:.3g} %", f"the same, mean over {told['number']:,} {of}"),
        (f"{name}, at risk", f"{100 * told['share']:.3g} %", f"{of} whose chance is above {threshold}"),
        (f"{name}, global", f"{told['expected']:,.3g}", f"expected number of {of} found, if all are looked for"),
    ]
