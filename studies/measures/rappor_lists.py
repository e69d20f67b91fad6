"""What RAPPOR finds in lists of candidates, at settings that google/rappor publishes, beside its own way of decoding.

    python -m studies.measures.rappor_lists [--seeds 4]

Writes results/rappor_lists.json. Two settings: that of the published report (50 values, 700,000 reports, 16 bits, 2
hashes, 64 cohorts; ten invented candidates) and the hardest of its regression tests of "small" size (100 values, a
million reports, 8 bits, 2 hashes, 128 cohorts; every tenth value is missing from the list, a thousand are invented).
Counters are drawn from their exact law. The published way is written anew from its description: non-negative least
squares with shares that add up to at most 1, of what a lasso leaves if candidates are many; five rounds, all but the
first with noise added to the counters; found is what exceeds two standard deviations over the rounds."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.linear_model import lasso_path

from discreet.local import Counts, Rappor
from studies.measures._measure import save, show

DISTRIBUTIONS = ("exp", "gauss", "unif", "zipf1", "zipf1.5")
#: Name: settings of the mechanism, values, reports, invented candidates, whether every tenth value is missing.
CASES: dict[str, tuple[dict[str, Any], int, int, int, bool]] = {
    "report": ({"f": 0.5, "p": 0.5, "q": 0.75, "bits": 16, "cohorts": 64}, 50, 700_000, 10, False),
    "over_x10": ({"f": 0.45, "p": 0.39, "q": 0.61, "bits": 8, "cohorts": 128}, 100, 1_000_000, 1000, True),
}
#: Values that the published report shows: found, and false.
PRINTED = {"exp": (16, 1), "gauss": (36, 0), "unif": (49, 1)}


def shares(name: str, size: int) -> Any:
    """Return a published distribution."""
    x, half = np.arange(1, size + 1), np.arange(-(size // 2) + 1, size // 2 + 1)
    laws = {"exp": np.exp(-5 * x / size), "gauss": np.exp(-0.5 * (6 * half / size) ** 2), "unif": np.ones(size),
            "zipf1": 1 / x, "zipf1.5": x**-1.5}  # fmt: skip
    return laws[name] / laws[name].sum()


def bits_of(m: Rappor, values: list[str]) -> Any:
    """Return which bits values set: cohort, bit, value."""
    places = m.family.all(values).reshape(m.cohorts, m.hashes, len(values))
    sets = np.zeros((m.cohorts, m.bits, len(values)))
    for number in range(m.hashes):
        np.put_along_axis(sets, places[:, number][:, None, :], 1.0, axis=1)
    return sets


def counted(m: Rappor, values: list[str], held: Any, rng: np.random.Generator) -> Counts:
    """Draw the counters from their law, given how many hold each value."""
    split = np.stack([rng.multinomial(k, np.full(m.cohorts, 1 / m.cohorts)) for k in held], axis=1)
    ones = np.rint(np.einsum("cbv,cv->cb", bits_of(m, values), split)).astype(np.int64)
    reports = split.sum(axis=1)
    noisy = rng.binomial(ones, float(m.law.q_star)) + rng.binomial(reports[:, None] - ones, float(m.law.p_star))
    return Counts(m, {"reports": reports, "ones": noisy}, n=int(reports.sum()), seeded=True)


def as_published(m: Rappor, counts: Counts, asked: list[str], rng: np.random.Generator) -> Any:
    """Return which candidates the published way of decoding reports."""
    reports, ones = counts.counters["reports"][:, None], counts.counters["ones"]
    p, q = float(m.law.p_star), float(m.law.q_star)
    share = (ones / reports - p) / m.law.gap
    one = np.clip(share, 0, 1) * (q - p) + p
    spread = np.sqrt(one * (1 - one) / reports) / m.law.gap
    design = bits_of(m, asked).reshape(-1, len(asked))
    fits = []
    for number in range(5):
        y = (share if number == 0 else share + rng.normal(0, spread)).ravel()
        columns = np.arange(len(asked))
        if len(asked) > 0.8 * len(y):
            x = design - design.mean(axis=0)
            penalties = np.abs(x.T @ (y - y.mean())).max() / len(y) * np.geomspace(1, 1e-4, 60)
            path = lasso_path(x, y - y.mean(), positive=True, alphas=penalties)[1]
            few = np.flatnonzero((path > 0).sum(axis=0) <= min(500, 0.8 * len(y)))[-1]
            columns = np.flatnonzero(path[:, few] > 0)
        weights = np.minimum(1 / spread.ravel(), 2 * np.median(1 / spread))
        weights /= weights.mean()
        fit = nnls(design[:, columns] * weights[:, None], y * weights)[0]
        if fit.sum() > 1:  # a row that holds the sum to 1
            rows = np.vstack([design[:, columns] * weights[:, None], np.full(len(columns), 1e3)])
            fit = nnls(rows, np.append(y * weights, 1e3))[0]
        fits.append(np.zeros(len(asked)))
        fits[-1][columns] = fit
    mean, error = np.mean(fits, axis=0), np.std(fits, axis=0, ddof=1)
    return mean * counts.n > 1e-6 + 2 * error * counts.n


def run(case: str, name: str, seed: int) -> dict[str, list[int]]:
    """Return how many values that somebody holds were found, and how many that nobody does, by every way."""
    settings, size, n, more, gaps = CASES[case]
    rng = np.random.default_rng([seed, n, DISTRIBUTIONS.index(name)])
    m = Rappor(**settings, key=int(rng.integers(2**60)))
    values = [f"v{i}" for i in range(1, size + 1)]
    held = rng.multinomial(n, shares(name, size))
    counts = counted(m, values, held, rng)
    listed = [(v, k) for v, k in zip(values, held, strict=True) if not (gaps and v.endswith("9"))]
    asked = [v for v, _ in listed] + [f"v{size + i}" for i in range(1, more + 1)]
    truth = np.append([k for _, k in listed], np.zeros(more))
    estimate = m.estimate(counts, asked)
    picked = {
        "any 5 %": estimate.significant(0.05).candidates,
        "share 10 %": estimate.significant(0.1, control="share").candidates,
        "share 20 %": estimate.significant(0.2, control="share").candidates,
    }
    ways = {name: np.isin(asked, found) for name, found in picked.items()}
    ways["as published"] = as_published(m, counts, asked, rng)
    return {
        way: [int((chosen & (truth > 0)).sum()), int((chosen & (truth == 0)).sum())] for way, chosen in ways.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    seeds = parser.parse_args().seeds
    start, rows = time.perf_counter(), []
    for case in CASES:
        for name in DISTRIBUTIONS:
            runs = [run(case, name, seed) for seed in range(seeds)]
            means = {way: np.mean([r[way] for r in runs], axis=0).tolist() for way in runs[0]}
            rows.append({"case": case, "distribution": name, "found": means, "printed": PRINTED.get(name)})
            if case != "report":
                rows[-1]["printed"] = None
    ways = list(rows[0]["found"])
    cells = [
        [r["case"], r["distribution"], *(f"{r['found'][w][0]:g} + {r['found'][w][1]:g}" for w in ways)] for r in rows
    ]
    show("values found + false ones", ["case", "values", *ways], cells)
    facts = {"seeds": seeds, "rows": rows, "run_seconds": time.perf_counter() - start}
    save("rappor_lists", facts, "numpy", "scipy", "scikit-learn", "discreet")


if __name__ == "__main__":
    main()
