"""Words that nobody listed: what four ways to buy them find, for persons with many words.

    python -m studies.measures.categories [--seeds 20] [--data kosarak]

Persons and words are those of Kosarak (sessions and the pages clicked) and Gowalla (users and the venues visited). All
ways are (ε, δ)-private for a person of whom at most ``rows`` words are looked at, drawn at random:

* *laplace*: counts with Laplace noise of scale rows/ε over a threshold that the words of one person pass with chance δ;
* *weighted*: a person gives 1/√m to each of m words; Gaussian noise, and δ divided between noise and threshold as is
  best (Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin 2020);
* *policy*: the same noise; a person moves the weights of their words straight towards a target above the threshold, by
  a step of length 1 (the ℓ2 descent of the same paper, target three standard deviations above);
* *ours*: `private_categories`; and without a bound on the words, which it does not need.

The rivals run in floating point, which is not exact and flatters them if anything. "Covered" is the share of all pairs
of a person and a word whose word was found. Intervals are 95 % of the mean over seeds.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable

import numba
import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from discreet.datasets import read_file
from discreet.mechanisms import private_categories
from studies.measures._measure import RESULTS, save, show

FILES = {
    "kosarak": ("kosarak-head/kosarak_head.csv.gz", "session", "item"),
    "gowalla": ("gowalla-nyc/gowalla_nyc_checkins.csv.gz", "user", "venue"),
}
DELTA = 1e-6
SETTINGS = [(1.0, 1), (1.0, 4), (1.0, 16), (0.3, 16), (3.0, 16)]
WAYS = ("laplace", "weighted", "policy", "ours", "ours, no bound")


class People:
    """The different words of every person: pairs in the order of persons, and where each person's begin."""

    def __init__(self, person: np.ndarray, word: np.ndarray, n_words: int) -> None:
        self.person, self.word, self.n_words = person, word, n_words
        self.starts = np.flatnonzero(np.append(True, person[1:] != person[:-1]))
        self.ends = np.append(self.starts[1:], len(person))
        self.sizes = self.ends - self.starts

    def bounded(self, rows: int, rng: np.random.Generator) -> People:
        order = np.lexsort((rng.random(len(self.person)), self.person))
        kept = np.arange(len(order)) - np.repeat(self.starts, self.sizes) < rows
        return People(self.person[order][kept], self.word[order][kept], self.n_words)


def load(name: str) -> People:
    file, *columns = FILES[name]
    table = read_file(file, name)
    person, word = (np.unique(np.asarray(table[c]).astype(str), return_inverse=True)[1] for c in columns)
    n_words = int(word.max()) + 1
    pairs = np.unique(person.astype(np.int64) * n_words + word)
    return People(pairs // n_words, pairs % n_words, n_words)


def gaussian(epsilon: float, rows: int) -> tuple[float, float]:
    """Return σ and the threshold with the best division of δ: the analytic curve, and words of one person only."""

    def sigma(delta: float) -> float:
        def excess(s: float) -> float:
            a, b = 1 / (2 * s), epsilon * s
            return float(norm.cdf(a - b) - math.exp(epsilon) * norm.cdf(-a - b) - delta)

        return float(brentq(excess, 1e-2, 1e4))

    def threshold(s: float, delta: float) -> float:
        t = np.arange(1, rows + 1)
        return float((1 / np.sqrt(t) + s * norm.isf(-np.expm1(np.log1p(-delta) / t))).max())

    ways = [(sigma(DELTA * share), DELTA * (1 - share)) for share in np.linspace(0.05, 0.95, 19)]
    return min(((s, threshold(s, rest)) for s, rest in ways), key=lambda way: way[1])


def laplace(people: People, epsilon: float, rows: int, rng: np.random.Generator) -> np.ndarray:
    counts = np.bincount(people.word, minlength=people.n_words)
    threshold = 1 + rows / epsilon * math.log(rows / (2 * DELTA))
    return (counts > 0) & (counts + rng.laplace(0, rows / epsilon, people.n_words) >= threshold)


def weighted(people: People, epsilon: float, rows: int, rng: np.random.Generator) -> np.ndarray:
    sigma, threshold = gaussian(epsilon, rows)
    shares = np.repeat(1 / np.sqrt(people.sizes), people.sizes)
    weights = np.bincount(people.word, shares, people.n_words)
    return (weights > 0) & (weights + rng.normal(0, sigma, people.n_words) >= threshold)


def policy(people: People, epsilon: float, rows: int, rng: np.random.Generator) -> np.ndarray:
    sigma, threshold = gaussian(epsilon, rows)
    weights = np.zeros(people.n_words)
    order = rng.permutation(len(people.starts))
    _descend(people.starts[order], people.ends[order], people.word, threshold + 3 * sigma, weights)
    return (weights > 0) & (weights + rng.normal(0, sigma, people.n_words) >= threshold)


@numba.njit(cache=False)
def _descend(starts: np.ndarray, ends: np.ndarray, words: np.ndarray, target: float, weights: np.ndarray) -> None:
    for start, end in zip(starts, ends):  # noqa: B905
        square = 0.0
        for i in range(start, end):
            square += (target - weights[words[i]]) ** 2
        step = 1.0 if square <= 1 else 1 / math.sqrt(square)
        for i in range(start, end):
            weights[words[i]] += step * (target - weights[words[i]])


def ours(people: People, epsilon: float, rows: int | None, seed: int) -> np.ndarray:
    found = private_categories(people.word, people.person, epsilon=epsilon, delta=DELTA, rows=rows, rng=seed)
    return np.isin(np.arange(people.n_words), np.array(found, np.int64))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--data", choices=sorted(FILES), help="this one only; the other's results stay")
    args = parser.parse_args()
    rivals: dict[str, Callable[..., np.ndarray]] = {"laplace": laplace, "weighted": weighted, "policy": policy}
    held = json.loads((RESULTS / "categories.json").read_text()) if args.data else {"data": {}, "results": []}
    results, facts, unbounded = [r for r in held["results"] if r["data"] != args.data], dict(held["data"]), {}
    for name in [args.data] if args.data else FILES:
        people = load(name)
        facts[name] = {"persons": len(people.starts), "words": people.n_words, "pairs": len(people.word)}
        popular = np.bincount(people.word, minlength=people.n_words) / len(people.word)
        for epsilon, rows in SETTINGS:
            found: dict[str, list[np.ndarray]] = {way: [] for way in WAYS}
            for seed in range(args.seeds):
                rng = np.random.default_rng(seed)
                some = people.bounded(rows, rng)
                for way, run in rivals.items():
                    found[way].append(run(some, epsilon, rows, rng))
                found["ours"].append(ours(people, epsilon, rows, seed))
                if (name, epsilon, seed) not in unbounded:
                    unbounded[name, epsilon, seed] = ours(people, epsilon, None, seed)
                found["ours, no bound"].append(unbounded[name, epsilon, seed])
            for way, sets in found.items():
                counts = np.array([s.sum() for s in sets])
                half = 1.96 * counts.std(ddof=1) / math.sqrt(len(counts))
                results.append(
                    {"data": name, "epsilon": epsilon, "rows": rows, "way": way, "words": float(counts.mean()),
                     "interval": [float(counts.mean() - half), float(counts.mean() + half)],
                     "covered": float(np.mean([popular[s].sum() for s in sets])), "seeds": len(counts)}
                )  # fmt: skip
    by = {(r["data"], r["epsilon"], r["rows"], r["way"]): r["words"] for r in results}
    rows = [[f"{n}, ε = {e:g}, {r} words", *(by[n, e, r, w] for w in WAYS)] for n in facts for e, r in SETTINGS]
    show("Words found", ["setting", *WAYS], rows)
    save("categories", {"delta": DELTA, "data": facts, "results": results}, "discreet", "numpy", "scipy")


if __name__ == "__main__":
    main()
