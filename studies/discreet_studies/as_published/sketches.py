"""The faults of the published sketch experiments, each as a switch: for the study alone, never for a release.

Every function takes what a correct mechanism gave, or its counters, and does with it what the published programs did.
With a switch on, the printed figure should come out; the study sets both beside each other.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.linalg import hadamard
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from discreet import noise
from discreet.core import FloatArray, IntArray
from discreet.local import Counts, FragmentPuzzle, HadamardSketch, Rappor
from discreet.local.repeated import RapporLaw
from discreet.local.strings import sketch_estimates

#: Sizes whose files were called normal and held exponential values, by the published files and their fingerprints.
WRONG_DATA = (2_500, 60_000, 350_000, 1_000_000, 2_400_000)
#: Sizes whose files certainly held normal values.
NORMAL_DATA = (15_000, 200_000)
#: Values of the hash that tells which fragments belong together.
_HASHES = 256
#: Penalty of the published regression.
_PENALTY = 0.1
#: A hash function of the published kind: a prime below ten million, and three coefficients.
_PRIME, _TERMS = 9_999_991, (1_234_567, 7_654_321, 3_141_593)


def half_budget(m: HadamardSketch, right: FloatArray, n: int) -> FloatArray:
    """Return what estimates become when signs randomised with ε are scaled back with the constant of ε/2.

    The sums of signs grow by ρ = coth(ε/4)/coth(ε/2), the correction n/m does not: ρf + (ρ - 1)n/(m - 1).

    Examples
    --------
    >>> m = HadamardSketch(2, 16, 64, key=1)
    >>> half_budget(m, np.array([0.0, 6300.0]), 6300).round().tolist()
    [65.0, 10448.0]
    """
    ratio = half_budget_ratio(float(m.epsilon))
    return np.asarray(ratio * right + (ratio - 1) * n / (m.width - 1))


def half_budget_ratio(epsilon: float) -> float:
    """Return ρ, by which the wrong constant stretches every estimate.

    Examples
    --------
    >>> [round(half_budget_ratio(e), 2) for e in (0.05, 2, 4, 8)]
    [2.0, 1.65, 1.27, 1.04]
    """
    return math.tanh(epsilon / 2) / math.tanh(epsilon / 4)


def misaligned(held: FloatArray, found: FloatArray, first_seen: IntArray) -> float:
    """Return Pearson's r of counts sorted by value and estimates in the order in which values first appear.

    Examples
    --------
    >>> held = np.array([3.0, 2.0, 1.0])
    >>> round(misaligned(held, held, np.array([0, 1, 2])), 6), round(misaligned(held, held, np.array([2, 1, 0])), 6)
    (1.0, -1.0)
    """
    return pearson(held, found[first_seen])


def pearson(one: FloatArray, other: FloatArray) -> float:
    """Return Pearson's r, 0 where one of the two does not vary."""
    a, b = one - one.mean(), other - other.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 0 else 0.0


def root_of_share(mse: float, span: float) -> float:
    """Return √(MSE/range), which was printed as RMSE/range.

    Examples
    --------
    >>> round(root_of_share(35351.40, 19650), 2), round(math.sqrt(35351.40) / 19650, 4)
    (1.34, 0.0096)
    """
    return math.sqrt(mse / span)


def decimal_epsilon(law: RapporLaw) -> float:
    """Return the cost of a report with logarithms to the base 10.

    Examples
    --------
    >>> from fractions import Fraction
    >>> law = RapporLaw(Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), bits=128, hashes=8)
    >>> round(decimal_epsilon(law), 2), round(law.cost(1), 2)
    (3.55, 8.17)
    """
    q, p = float(law.q_star), float(law.p_star)
    return law.hashes * abs(math.log10(q * (1 - p) / (p * (1 - q))))


def bytes_in_memory(width: int | None) -> int:
    """Return the bytes of a report as Python objects, printed as kilobytes: a vector and a row, or three scalars.

    Examples
    --------
    >>> bytes_in_memory(64), bytes_in_memory(None)
    (652, 88)
    """
    if width is None:
        return sys.getsizeof(np.int64(1)) + sys.getsizeof(1) + sys.getsizeof(2)
    return sys.getsizeof(np.zeros(width, np.int64)) + sys.getsizeof(1)


def lasso_fit(m: Rappor, counts: Counts, candidates: list[Any], *, constant_hash: bool = False) -> FloatArray:
    """Decode the reports of a single cohort by one regression: penalty 0.1, no negative counts, a free intercept.

    The counts of a bit are scaled back with p instead of p*; the intercept takes up the difference. With
    ``constant_hash`` every candidate sets the same bit, as one hash function of degree 0 does: the columns are equal,
    and the first gets everybody.
    """
    n = counts.n
    scaled = (counts.counters["ones"][0] - float(m.p) * n) / float((1 - m.f) * (m.q - m.p))
    design = np.zeros((m.bits, len(candidates)))
    if constant_hash:
        design[m.family.all(candidates[:1])[:, 0]] = 1.0
    else:
        buckets = m.family.all(candidates)
        design[buckets, np.arange(len(candidates))] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # sixteen equations for more unknowns never settle
        fitted = Lasso(alpha=_PENALTY, positive=True, max_iter=10_000).fit(design, scaled)
    return np.asarray(fitted.coef_, np.float64)


def top_fragments(m: FragmentPuzzle, counts: Counts, most: int) -> list[tuple[IntArray, IntArray]]:
    """Return the strongest pairs of hash and fragment at every position, strongest first, whatever their error."""
    size = m.words.size
    keys = np.arange(_HASHES * size**2)
    ones, reports = counts.counters["fragment_ones"], counts.counters["fragment_reports"]
    found, _, _ = sketch_estimates(m.fragment.row_law, m.fragment.family, ones, reports, keys)
    parts = []
    for estimates in found:
        best = np.argpartition(-estimates, most)[:most]
        best = best[np.argsort(-estimates[best], kind="stable")]
        group, pair = np.divmod(keys[best], size**2)
        parts.append((group, pair))
    return parts


def joined(m: FragmentPuzzle, parts: list[tuple[IntArray, IntArray]], top: int) -> list[str]:
    """Return every way to put fragments of one hash value together, whether or not the string has that hash."""
    size, letters = m.words.size, " " + m.alphabet
    found: list[str] = []
    cut = [(group[:top], pair[:top]) for group, pair in parts]
    for value in range(_HASHES):
        lists = [pair[group == value] for group, pair in cut]
        if not all(len(own) for own in lists):
            continue
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*lists, indexing="ij")], axis=1)
        for row in grid.tolist():
            text = "".join(letters[pair // size] + letters[pair % size] for pair in row)
            found.append(text.rstrip())
    return found


def sequence_counts(m: FragmentPuzzle, counts: Counts, texts: list[str]) -> FloatArray:
    """Estimate whole strings from the sketch of sequences."""
    if not texts:
        return np.zeros(0)
    ones, reports = counts.counters["sequence_ones"], counts.counters["sequence_reports"]
    column = pa.array(texts, pa.large_string())
    sketch = m.sequence
    found, _, _ = sketch_estimates(sketch.row_law, sketch.family, ones[None], reports[None], column)
    return np.asarray(found[0])


def dense_client(width: int, reports: int) -> float:
    """Return the milliseconds a report takes when the client multiplies the whole Hadamard matrix with a vector."""
    matrix = np.asarray(hadamard(width), np.float64)
    indices, coins = (noise.below(bound, size=reports, rng=1).tolist() for bound in (width, 2))
    start = time.perf_counter()
    for user, (index, coin) in enumerate(zip(indices, coins, strict=True)):
        vector = np.zeros(width)
        vector[(_TERMS[0] * user**2 + _TERMS[1] * user + _TERMS[2]) % _PRIME % width] = 1.0
        sign = (matrix @ vector)[index]
        _ = sign if coin else -sign
    return 1000 * (time.perf_counter() - start) / reports
