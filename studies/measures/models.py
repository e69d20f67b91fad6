"""How accurate the private models are, and how often their intervals hold the truth.

    python -m studies.measures.models [--parts coverage linear logistic pca] [--trials 1000] [--seeds 20]

**coverage.** Generated tables: 500 to 20,000 rows, one to six columns (even,
skewed, zero-inflated, heavy-tailed, a factor shared with another column, two categories), residuals even, skewed or
heavy-tailed. Bounds hold all values, so nothing is clipped. The truth is the coefficient that made the table. For
logistic regression the same features and 2,000 to 20,000 rows; for principal components the variance along each
direction of independent ones. Of these two every fourth table is tried.

**linear, logistic, pca.** Public tables (`discreet.datasets.available`) and tables of scikit-learn; a fifth of the
rows is kept for testing, drawn anew for every seed. Bounds are the public ones of the table. Peers: AdaSSP (Wang
2018, written here, with a δ of 1e-6), and diffprivlib where it is installed (without one; its principal components
did not finish on `magic` and are left out). Predictions of all are
clamped to the bounds of the target. Results go to results/models.json after every part; parts that are not run are
kept.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats
from sklearn import datasets as sk
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss

import discreet as dc
from studies.measures._measure import RESULTS, save

EPSILONS = (0.3, 1.0, 3.0, 10.0)
DELTA = 1e-6
KINDS = ("even", "skewed", "zeros", "heavy", "factor", "category")


def column(kind: str, rng: np.random.Generator, n: int, shared: Any) -> Any:
    """Return values in -1..1 of one kind."""
    if kind == "even":
        return rng.uniform(-1, 1, n)
    if kind == "skewed":
        return 2 * rng.beta(1, 4, n) - 1
    if kind == "zeros":
        return np.where(rng.random(n) < 0.6, -1.0, rng.uniform(-1, 1, n))
    if kind == "heavy":
        return 2 * np.minimum(rng.pareto(2.0, n) / 20, 1.0) - 1
    if kind == "factor":
        return 0.7 * shared + 0.3 * rng.uniform(-1, 1, n)
    return (rng.random(n) < 0.4).astype(float)


@lru_cache
def spread(kind: str) -> float:
    """Return the variance of a kind of column."""
    return float(np.var(column(kind, np.random.default_rng(0), 4_000_000, None)))


def residuals(kind: str, rng: np.random.Generator, n: int) -> Any:
    """Return residuals of mean 0 in -1..1."""
    if kind == "even":
        return rng.uniform(-1, 1, n)
    if kind == "skewed":
        return rng.beta(1, 4, n) - 0.2
    values = np.minimum(rng.pareto(2.5, n) / 10, 1.0)
    # The mean of min(Pareto/10, 1): the integral of (1 + x)^-2.5 from 0 to 10, over 10.
    return values - (1 - 11**-1.5) / 1.5 / 10


def made(rng: np.random.Generator, least: int) -> tuple[Any, Any, list[str], int]:
    """Return features, slopes, kinds and the number of rows of a generated table."""
    n, p = int(np.exp(rng.uniform(np.log(least), np.log(20_000)))), int(rng.integers(1, 7))
    shared = rng.uniform(-1, 1, n)
    kinds = [str(rng.choice(KINDS)) for _ in range(p)]
    X = np.column_stack([column(kind, rng, n, shared) for kind in kinds])
    return X, rng.normal(size=p), kinds, n


def domain_of(kinds: list[str], target: Any) -> dc.Domain:
    """Declare a generated table."""
    columns: dict[str, Any] = {
        f"x{j}": {"categories": [0, 1]} if kind == "category" else (-1.0, 1.0) for j, kind in enumerate(kinds)
    }
    return dc.Domain({**columns, "y": target})


def coverage(trials: int) -> dict[str, Any]:
    """Return the share of intervals that hold the truth, and of those without ends."""
    out: dict[str, Any] = {"trials": trials, "linear": {}, "logistic": {}, "pca": {}}
    for epsilon in EPSILONS:
        linear, logistic, pca = [], [], []
        for trial in range(trials):
            rng = np.random.default_rng([trial, 1])
            X, slopes, kinds, n = made(rng, 500)
            size = float(rng.choice([0.2, 1.0, 3.0]))
            y = 0.3 + X @ slopes + size * residuals(str(rng.choice(["even", "skewed", "heavy"])), rng, n)
            reach = 0.3 + float(np.abs(slopes).sum()) + size
            model = dc.PrivateLinearRegression(epsilon, domain_of(kinds, (-reach, reach)), random_state=trial)
            found = model.fit(np.column_stack([X, y])).coefficients()
            held = (found.low[1:] <= slopes) & (slopes <= found.high[1:])
            linear.append((held.mean(), held.all(), np.isinf(found.low[1:]).mean(), n, len(kinds)))
            if trial % 4:  # the others are slower, and only reported
                continue
            X, slopes, kinds, n = made(rng, 2000)
            slopes *= 2
            y = rng.random(n) < 1 / (1 + np.exp(-(X @ slopes)))
            classifier = dc.PrivateLogisticRegression(
                epsilon, domain_of(kinds, {"categories": [0, 1]}), random_state=trial
            )
            found = classifier.fit(np.column_stack([X, y])).coefficients()
            inside = (found.low[1:] <= slopes) & (slopes <= found.high[1:])
            logistic.append((inside.mean(), np.isinf(found.low[1:]).mean()))
            numbers = [j for j, kind in enumerate(kinds) if kind != "category"]
            if numbers:
                shown = dc.PrivatePCA(epsilon, dc.Domain.box([-1.0] * len(numbers), 1.0), random_state=trial)
                shown.fit(X[:, numbers])
                if "factor" not in kinds:  # columns are independent
                    truth = shown.components_**2 @ [spread(kinds[j]) for j in numbers]
                    gaps = np.abs(shown.explained_variance_ - truth)
                    pca.append((gaps <= 1.96 * shown.explained_variance_std_).mean())
        held = np.array([row[0] for row in linear])
        out["linear"][f"{epsilon:g}"] = {
            "covered": float(np.average(held, weights=[row[4] for row in linear])),
            "tables": float(held.mean()),
            "unbounded": float(np.mean([row[2] for row in linear])),
            "covered_where_all_are_bounded": float(np.mean([row[0] for row in linear if not row[2]])),
        }
        covered, unbounded = np.mean(logistic, axis=0).tolist()
        out["logistic"][f"{epsilon:g}"] = {"covered": covered, "unbounded": unbounded}
        out["pca"][f"{epsilon:g}"] = float(np.mean(pca))
        print(
            f"coverage at {epsilon:g}:",
            *(out[part][f"{epsilon:g}"] for part in ("linear", "logistic", "pca")),
            flush=True,
        )
    return out


def regression_tables() -> dict[str, tuple[Any, Any, Any]]:
    """Return rows, the target last, with their public bounds."""
    out = {}
    for name, target in {
        "adult": "education_num",
        "magic": "fSize",
        "htru2": "ip_std",
        "letter": "x4",
        "skin": "r",
    }.items():
        data = dc.datasets.load(name)
        order = [n for n in data.domain.names if n != target] + [target]
        axes = data.domain.select(order)
        rows = np.asarray(data.domain.clamp(data.X)[:, [data.domain.position(n) for n in order]])
        out[name] = rows, axes.low, axes.high
    found = sk.load_diabetes(return_X_y=True, scaled=False)
    rows = np.column_stack(found)
    low = np.array([18, 1, 15, 50, 80, 30, 15, 1, 2.5, 50, 20.0])
    high = np.array([85, 2, 45, 140, 320, 260, 105, 10, 6.5, 130, 350.0])
    out["diabetes"] = np.clip(rows, low, high), low, high
    return out


def adassp(Z: Any, y: Any, epsilon: float, rng: np.random.Generator) -> Any:
    """Return the coefficients of AdaSSP (Wang 2018) for features and target in -1..1, intercept first."""
    p, third, log = Z.shape[1], epsilon / 3, math.log(6 / DELTA)
    reach = math.sqrt(p)
    G, b = Z.T @ Z / p, Z.T @ y / reach
    least = max(np.linalg.eigvalsh(G)[0] + math.sqrt(log) / third * rng.normal() - log / third, 0.0)
    ridge = max(0.0, math.sqrt(p * log * math.log(2 * p * p / 0.05)) / third - least)
    noise = np.triu(rng.normal(size=(p, p)))
    G = G + math.sqrt(log) / third * (noise + np.triu(noise, 1).T)
    b = b + math.sqrt(log) / third * rng.normal(size=p)
    return np.linalg.solve(G + ridge * np.eye(p), b) / reach


def peer(name: str) -> Any:
    """Return a module of diffprivlib, or None."""
    try:
        from diffprivlib import models
    except ImportError:
        return None
    return getattr(models, name)


def divided(n: int, seed: int) -> tuple[Any, Any]:
    order = np.random.default_rng([seed, 7]).permutation(n)
    return order[n // 5 :], order[: n // 5]


def unit(rows: Any, low: Any, high: Any) -> Any:
    return np.clip((rows - (low + high) / 2) / ((high - low) / 2), -1, 1)


def mean(found: dict[str, list[float]]) -> dict[str, float]:
    return {name: float(np.mean(values)) for name, values in found.items()}


def ahead(ours: list[float], theirs: list[float]) -> list[float]:
    """Return by how much we are ahead on the same seeds, and the half width of its 95 % interval."""
    gaps = np.subtract(ours, theirs)
    return [float(gaps.mean()), float(stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / math.sqrt(len(gaps)))]


def linear(seeds: int) -> dict[str, Any]:
    """Return the mean R² on test rows, by table, ε and method."""
    out: dict[str, Any] = {"seeds": seeds, "delta": DELTA, "r2": {}, "ahead": {}}
    for name, (rows, low, high) in regression_tables().items():
        domain = dc.Domain.box(low, high)
        for epsilon in EPSILONS:
            scores: dict[str, list[float]] = {}
            for seed in range(seeds):
                train, test = (rows[part] for part in divided(len(rows), seed))
                scaled = unit(rows[divided(len(rows), seed)[0]], low, high)
                Z, Zt = (np.column_stack([np.ones(len(part)), unit(part, low, high)[:, :-1]]) for part in (train, test))
                middle, half = (low[-1] + high[-1]) / 2, (high[-1] - low[-1]) / 2

                def note(method: str, predicted: Any, test: Any = test) -> None:
                    gap = ((test[:, -1] - np.clip(predicted, low[-1], high[-1])) ** 2).sum()  # noqa: B023
                    scores.setdefault(method, []).append(1 - gap / ((test[:, -1] - test[:, -1].mean()) ** 2).sum())  # noqa: B023

                for label, more in {"discreet": {}, "discreet, delta": {"delta": DELTA}}.items():
                    model = dc.PrivateLinearRegression(epsilon, domain, random_state=seed, **more).fit(train)
                    note(label, model.predict(test[:, :-1]))
                rng = np.random.default_rng([seed, 3])
                note("AdaSSP, delta", middle + half * (Zt @ adassp(Z, scaled[:, -1], epsilon, rng)))
                if theirs := peer("LinearRegression"):
                    bounds = {"bounds_X": (low[:-1], high[:-1]), "bounds_y": (low[-1], high[-1])}
                    note("diffprivlib", theirs(epsilon=epsilon, random_state=seed, **bounds)
                         .fit(train[:, :-1], train[:, -1]).predict(test[:, :-1]))  # fmt: skip
                plain = LinearRegression().fit(train[:, :-1], train[:, -1])
                note("without privacy", plain.predict(test[:, :-1]))
            out["r2"].setdefault(name, {})[f"{epsilon:g}"] = mean(scores)
            out["ahead"].setdefault(name, {})[f"{epsilon:g}"] = {
                ours: ahead(scores[ours], scores["AdaSSP, delta"]) for ours in ("discreet", "discreet, delta")
            }
            print(f"{name} {epsilon:g} " + " ".join(f"{k} {v:.3f}" for k, v in mean(scores).items()), flush=True)
    return out


def class_tables() -> dict[str, tuple[Any, Any, Any, Any]]:
    """Return features, classes and public bounds."""
    out = {}
    for name in ("adult", "magic", "htru2", "skin", "breast"):
        data = dc.datasets.load(name)
        out[name] = np.asarray(data.domain.clamp(data.X)), data.labels, data.domain.low, data.domain.high
    rng = np.random.default_rng(4)
    X, low, high = rng.uniform(-1, 1, (20_000, 8)), -np.ones(8), np.ones(8)
    out["generated"] = X, (rng.random(20_000) < 1 / (1 + np.exp(-X @ rng.normal(0, 1.5, 8)))).astype(int), low, high
    return out


def logistic(seeds: int) -> dict[str, Any]:
    """Return mean accuracy and log-loss on test rows, by table, ε and method."""
    out: dict[str, Any] = {"seeds": seeds, "delta": DELTA, "accuracy": {}, "log_loss": {}}
    for name, (X, y, low, high) in class_tables().items():
        names = [f"x{j}" for j in range(X.shape[1])]
        bounds = dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True))
        domain = dc.Domain({**bounds, "y": {"categories": [0, 1]}})
        for epsilon in EPSILONS:
            right: dict[str, list[float]] = {}
            losses: dict[str, list[float]] = {}
            for seed in range(seeds):
                train, test = divided(len(X), seed)

                def note(method: str, chances: Any, test: Any = test) -> None:
                    right.setdefault(method, []).append(float(((chances > 0.5) == y[test]).mean()))  # noqa: B023
                    losses.setdefault(method, []).append(  # noqa: B023
                        log_loss(y[test], np.clip(chances, 1e-6, 1 - 1e-6), labels=[0, 1])  # noqa: B023
                    )

                for label, more in {"discreet": {}, "discreet, delta": {"delta": DELTA}}.items():
                    model = dc.PrivateLogisticRegression(epsilon, domain, random_state=seed, **more)
                    note(label, model.fit(X[train], y[train]).predict_proba(X[test])[:, 1])
                Z = unit(X, low, high)
                if theirs := peer("LogisticRegression"):
                    made_of = theirs(epsilon=epsilon, data_norm=math.sqrt(Z.shape[1]), random_state=seed, max_iter=200)
                    note("diffprivlib", made_of.fit(Z[train], y[train]).predict_proba(Z[test])[:, 1])
                if epsilon == EPSILONS[0]:
                    note("without privacy", LogisticRegression(C=1e4, max_iter=500).fit(Z[train], y[train])
                         .predict_proba(Z[test])[:, 1])  # fmt: skip
            out["accuracy"].setdefault(name, {})[f"{epsilon:g}"] = mean(right)
            out["log_loss"].setdefault(name, {})[f"{epsilon:g}"] = mean(losses)
            print(f"{name} {epsilon:g} " + " ".join(f"{k} {v:.3f}" for k, v in mean(right).items()), flush=True)
    return out


def pca(seeds: int, most: int = 3) -> dict[str, Any]:
    """Return the variance along the first components, over that along the best ones, by table, ε and method."""
    out: dict[str, Any] = {"seeds": seeds, "delta": DELTA, "components": most, "captured": {}}
    for name, (rows, low, high) in regression_tables().items():
        Z, k = unit(rows, low, high), min(most, rows.shape[1] - 1)
        best = PCA(k).fit(Z).explained_variance_.sum()
        cover = np.cov(Z.T)
        for epsilon in EPSILONS:
            found: dict[str, list[float]] = {}
            for seed in range(seeds):
                made_of: dict[str, Any] = {}
                for label, more in {"discreet": {}, "discreet, delta": {"delta": DELTA}}.items():
                    domain = dc.Domain.box(-np.ones(Z.shape[1]), 1.0)
                    made_of[label] = dc.PrivatePCA(epsilon, domain, n_components=k, random_state=seed, **more).fit(Z)
                for label, each in made_of.items():
                    V = each.components_
                    found.setdefault(label, []).append(float(np.trace(V @ cover @ V.T) / best))
            out["captured"].setdefault(name, {})[f"{epsilon:g}"] = mean(found)
            print(f"{name} {epsilon:g} " + " ".join(f"{k} {v:.3f}" for k, v in mean(found).items()), flush=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["coverage", "linear", "logistic", "pca"])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=20)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    work = {"linear": linear, "logistic": logistic, "pca": pca}
    for part in asked.parts:
        made_of = coverage(asked.trials) if part == "coverage" else work[part](asked.seeds)
        path = RESULTS / "models.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        kept = {k: v for k, v in known.items() if k not in ("command", "machine", "versions")}
        save("models", {**kept, part: made_of}, "numpy", "scikit-learn", "diffprivlib")


if __name__ == "__main__":
    main()
