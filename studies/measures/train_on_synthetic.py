"""How good boosting and forests are when they are trained on synthetic rows, and how categories help k-means.

    python -m studies.measures.train_on_synthetic [--parts trees clusters] [--seeds 20]

**trees.** A fifth of a table is for testing; of the others at most 10,000 rows are for training. A `MarginalSynopsis`
of the training rows, told the target, with a δ of 1e-6, gives as many synthetic rows.
`HistGradientBoostingClassifier` and `RandomForestClassifier` with the settings of scikit-learn are trained on these
and on the real rows; the figure is the area under the ROC curve on the real test rows. Generated: 20,000 rows of four
numbers and two categories, of which a product of two numbers and a category decide.

**clusters.** Generated tables of 10,000 rows, three numbers and three categories of five values in four clusters. The
figure is the adjusted Rand index of the labels of all rows with the truth: by numbers alone (the default), with the
categories (``synopsis="marginals"``, without and with a δ of 1e-6), and by plain k-means on the same embedding without
privacy. Categories are those of the clusters, or the same ones shuffled, so that they say nothing.
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import adjusted_rand_score, roc_auc_score

import discreet as dc
from studies.measures._measure import RESULTS, save

EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-6
#: Training rows, at most.
MOST_ROWS = 10_000


def tables() -> dict[str, tuple[pd.DataFrame, dc.Domain]]:
    """Return tables whose last column is a target of two categories."""
    out = {}
    for name in ("adult", "magic", "htru2"):
        data = dc.datasets.load(name)
        frame = pd.DataFrame(data.X, columns=list(data.domain.names)).assign(y=data.labels)
        out[name] = frame, dc.Domain({**{c.name: c for c in data.domain}, "y": {"categories": [0, 1]}})
    rng = np.random.default_rng(5)
    X, n = rng.uniform(-1, 1, (20_000, 4)), 20_000
    town, sex = rng.choice(list("abcde"), n), rng.choice(list("fm"), n)
    chance = 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 1] - 2 * X[:, 2] - 1.5 * (town == "a") + 0.5))
    frame = pd.DataFrame({**{f"x{j}": X[:, j] for j in range(4)}, "town": town, "sex": sex})
    frame["y"] = (rng.random(n) < chance).astype(int)
    bounds = {f"x{j}": (-1.0, 1.0) for j in range(4)}
    out["generated"] = (
        frame,
        dc.Domain({**bounds, "town": list("abcde"), "sex": ["f", "m"], "y": {"categories": [0, 1]}}),
    )
    return out


def features(frame: pd.DataFrame, domain: dc.Domain) -> Any:
    """Return numbers, categories by their places."""
    parts = [
        [list(map(str, c.categories)).index(str(v)) for v in frame[c.name]]
        if c.kind == "categorical"
        else frame[c.name]
        for c in domain.columns[:-1]
    ]
    return np.column_stack([np.asarray(part, float) for part in parts])


def trees(seeds: int) -> dict[str, Any]:
    """Return areas under the ROC curve by table, ε and learner; ε "real" is training on the real rows.

    Every division into training and test rows is kept in the result file, so a stopped run goes on where it was.
    """
    scores: dict[str, Any] = _known().get("trees", {}).get("scores", {})
    known = tables()
    for seed in range(seeds):
        for name, (frame, domain) in known.items():
            if str(seed) not in scores.setdefault(name, {}):
                scores[name][str(seed)] = one(frame, domain, seed)
                print(name, seed, scores[name][str(seed)], flush=True)
                _keep("trees", {"delta": DELTA, "scores": scores, **_summary(scores)})
    return {"delta": DELTA, "scores": scores, **_summary(scores)}


def one(frame: pd.DataFrame, domain: dc.Domain, seed: int) -> dict[str, dict[str, float]]:
    """Return the areas of one division, by ε and learner."""
    order = np.random.default_rng([seed, 9]).permutation(len(frame))
    test, train = frame.iloc[order[: len(frame) // 5]], frame.iloc[order[len(frame) // 5 :][:MOST_ROWS]]
    rows = {"real": train}
    for epsilon in EPSILONS:
        made = dc.MarginalSynopsis(epsilon, domain, delta=DELTA, target="y", random_state=seed).fit(train)
        rows[f"{epsilon:g}"] = made.synopsis_.sample(len(train), rng=seed).to_pandas()
    out: dict[str, dict[str, float]] = {}
    for label, each in rows.items():
        for learner in (HistGradientBoostingClassifier(random_state=seed), RandomForestClassifier(random_state=seed)):
            learner.fit(features(each, domain), each["y"].astype(int).to_numpy())
            area = roc_auc_score(test["y"], learner.predict_proba(features(test, domain))[:, -1])
            out.setdefault(label, {})[type(learner).__name__] = round(float(area), 5)
    return out


def _summary(scores: dict[str, Any]) -> dict[str, Any]:
    """Return the number of divisions, the mean areas, and the half widths of their 95 % intervals."""
    means: dict[str, Any] = {}
    halves: dict[str, Any] = {}
    for name, each in scores.items():
        runs = list(each.values())
        for label, learners in runs[0].items():
            for learner in learners:
                values = [run[label][learner] for run in runs]
                half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
                means.setdefault(name, {}).setdefault(label, {})[learner] = float(np.mean(values))
                halves.setdefault(name, {}).setdefault(label, {})[learner] = float(half) if len(values) > 1 else None
    return {"seeds": min(len(each) for each in scores.values()), "auc": means, "half_width": halves}


def mixed(seed: int, k: int = 4, n: int = 10_000) -> tuple[pd.DataFrame, Any]:
    """Return a table of clusters in numbers and categories, and the truth."""
    rng = np.random.default_rng(seed)
    labels, places = rng.integers(k, size=n), rng.uniform(0.2, 0.8, (k, 3))
    X = np.clip(rng.normal(places[labels], 0.12), 0, 1)
    columns = {f"x{j}": X[:, j] for j in range(3)}
    for c in range(3):
        steps = np.cumsum(rng.dirichlet([0.3] * 5, k), axis=1)[labels]
        columns[f"c{c}"] = np.array(list("abcde"))[np.minimum((rng.random(n)[:, None] > steps).sum(axis=1), 4)]
    return pd.DataFrame(columns), labels


def clusters(seeds: int) -> dict[str, Any]:
    """Return adjusted Rand indices by ε and method."""
    domain = dc.Domain({**{f"x{j}": (0.0, 1.0) for j in range(3)}, **{f"c{j}": list("abcde") for j in range(3)}})
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    hows: dict[str, dict[str, Any]] = {"numbers": {}, "with categories": {"synopsis": "marginals"}}
    hows["with categories, delta"] = {"synopsis": "marginals", "delta": DELTA}
    for seed in range(seeds):
        frame, truth = mixed(seed)
        words = [f"c{j}" for j in range(3)]
        shuffled = frame.assign(**{w: np.random.default_rng([seed, 1]).permutation(frame[w]) for w in words})
        for kind, rows in {"of the clusters": frame, "unrelated": shuffled}.items():
            numbers = rows[["x0", "x1", "x2"]]
            coded = [
                pd.get_dummies(rows[w]) / np.sqrt(1 - (rows[w].value_counts(normalize=True) ** 2).sum()) for w in words
            ]
            plain = KMeans(4, n_init=10, random_state=0).fit_predict(np.hstack([numbers / numbers.std(), *coded]))
            for e in EPSILONS:
                each = found.setdefault(kind, {}).setdefault(f"{e:g}", {})
                for label, how in hows.items():
                    model = dc.PrivateKMeans(4, e, domain, random_state=seed, **how).fit(rows)
                    each.setdefault(label, []).append(float(adjusted_rand_score(truth, model.predict(rows))))
                each.setdefault("without privacy", []).append(float(adjusted_rand_score(truth, plain)))
    out = {
        kind: {e: {k: float(np.mean(v)) for k, v in each.items()} for e, each in budgets.items()}
        for kind, budgets in found.items()
    }
    print(out, flush=True)
    return {"seeds": seeds, "delta": DELTA, "rand_index": out}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["trees", "clusters"])
    parser.add_argument("--seeds", type=int, default=20)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in asked.parts:
        _keep(part, {"trees": trees, "clusters": clusters}[part](asked.seeds))


def _known() -> dict[str, Any]:
    """Return the parts of the result file."""
    path = RESULTS / "train_on_synthetic.json"
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {k: v for k, v in known.items() if k not in ("command", "machine", "versions")}


def _keep(part: str, made: dict[str, Any]) -> None:
    save("train_on_synthetic", {**_known(), part: made}, "numpy", "scikit-learn")


if __name__ == "__main__":
    main()
