"""The same audit on mechanisms of other libraries: what they claim, and what a run shows.

    python -m studies.measures.audit [--trials 20000]

Every mechanism is run on two inputs that its documentation calls neighbours. The figure beside the claim is a lower
bound on ε at 99 % confidence: above the claim it refutes it for the release as the library returns it; at or below it,
nothing was found by that many runs, which is no proof. "bits" looks at the last bits of the doubles too. Libraries that
are not installed are left out, and their rows of an earlier run are kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import random
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.core import zcdp_to_epsilon
from discreet.evaluation import BitPatterns, audit
from studies.measures._measure import RESULTS, save, show

LIBRARIES = {
    "discreet": "discreet",
    "diffprivlib": "diffprivlib",
    "opendp": "opendp",
    "pure_ldp": "pure-ldp",
    "multi_freq_ldpy": "multi-freq-ldpy",
}
VALUES = 6


@dataclass
class Case:
    """One mechanism of a library with its claim."""

    library: str
    name: str
    mechanism: Callable[..., Any]
    data: Any
    neighbour: Any
    epsilon: float
    delta: float = 0.0
    bits: bool = False
    batch: bool = False
    trials: int | None = None
    note: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def diffprivlib() -> Iterator[Case]:
    from diffprivlib import mechanisms as m
    from diffprivlib import models, tools

    def scalar(make: Any) -> Callable[..., Any]:
        return lambda value, rng: make.randomise(value)

    one: dict[str, Any] = {"epsilon": 1.0, "sensitivity": 1}
    box: dict[str, Any] = {"lower": 0, "upper": 4}
    for bits in (False, True):
        kind = ", bits" if bits else ""
        yield Case("diffprivlib", f"Laplace{kind}", scalar(m.Laplace(**one)), 0.0, 1.0, 1.0, bits=bits)
        yield Case("diffprivlib", f"Staircase{kind}", scalar(m.Staircase(**one)), 0.0, 1.0, 1.0, bits=bits)
        snapping = m.Snapping(**one, lower=-10, upper=10)
        yield Case("diffprivlib", f"Snapping{kind}", scalar(snapping), 0.0, 1.0, 1.0, bits=bits)
        bounded = m.LaplaceBoundedDomain(**one, **box)
        yield Case("diffprivlib", f"LaplaceBoundedDomain{kind}", scalar(bounded), 0.0, 1.0, 1.0, bits=bits)
    yield Case("diffprivlib", "LaplaceTruncated", scalar(m.LaplaceTruncated(**one, **box)), 0.0, 1.0, 1.0)
    yield Case("diffprivlib", "LaplaceFolded", scalar(m.LaplaceFolded(**one, **box)), 0.0, 1.0, 1.0)
    yield Case("diffprivlib", "Geometric", scalar(m.Geometric(**one)), 0, 1, 1.0)
    yield Case("diffprivlib", "GeometricTruncated", scalar(m.GeometricTruncated(**one, **box)), 0, 1, 1.0)
    yield Case("diffprivlib", "Binary", scalar(m.Binary(epsilon=1.0, value0="0", value1="1")), "0", "1", 1.0)
    gaussian = m.GaussianAnalytic(**one, delta=0.01)
    yield Case("diffprivlib", "GaussianAnalytic", scalar(gaussian), 0.0, 1.0, 1.0, 0.01)
    discrete = m.GaussianDiscrete(**one, delta=0.01)
    yield Case("diffprivlib", "GaussianDiscrete", scalar(discrete), 0, 1, 1.0, 0.01)

    def exponential(scores: Any, rng: Any) -> int:
        return int(m.Exponential(epsilon=1.0, sensitivity=1, utility=list(scores)).randomise())

    yield Case("diffprivlib", "Exponential", exponential, (0, 1, 0, 0), (1, 0, 1, 1), 1.0, trials=4000)
    options: dict[str, Any] = {"epsilon": 1.0, "bounds": (0, 1)}
    rows = np.array([0.2, 0.4, 0.6, 0.8])
    replaced = np.array([0.2, 0.4, 0.6, 0.0])
    far = np.array([0.0, 0.4, 0.6, 0.8])
    note = "one row replaced"
    yield Case("diffprivlib", "tools.mean", lambda x, rng: float(tools.mean(x, **options)), rows, replaced, 1.0,
               trials=4000, note=note)  # fmt: skip
    yield Case("diffprivlib", "tools.median", lambda x, rng: float(tools.median(x, **options)), rows, far, 1.0,
               trials=4000, note=note)  # fmt: skip

    def centres(x: Any, rng: Any) -> Any:
        model = models.KMeans(2, epsilon=1.0, bounds=([0.0], [1.0])).fit(x[:, None])
        return np.sort(model.cluster_centers_.ravel())

    more = np.append(rows, 1.0)
    yield Case("diffprivlib", "models.KMeans", centres, rows, more, 1.0, trials=1500, note="one row added")


def opendp() -> Iterator[Case]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    whole = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    real = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    squares = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=int)

    def many(measurement: Any) -> Callable[..., Any]:
        """Noise is independent over the entries of a vector, so a vector of equal entries is a batch of releases."""
        return lambda value, rng, size: np.array(measurement([value] * size))

    laplace = dp.m.make_laplace(*whole, scale=1.0)
    yield Case("opendp", "make_laplace (integers)", many(laplace), 0, 1, laplace.map(1), batch=True)
    floats = dp.m.make_laplace(*real, scale=1.0)
    for bits in (False, True):
        name = "make_laplace (floats)" + (", bits" if bits else "")
        yield Case("opendp", name, many(floats), 0.0, 1.0, floats.map(1.0), bits=bits, batch=True)
    geometric = dp.m.make_geometric(*whole, scale=1.0)
    yield Case("opendp", "make_geometric", many(geometric), 0, 1, geometric.map(1), batch=True)
    gaussian = dp.m.make_gaussian(*squares, scale=2.0)
    claim = zcdp_to_epsilon(gaussian.map(1), 0.01)
    yield Case("opendp", "make_gaussian (integers)", many(gaussian), 0, 1, claim, 0.01, batch=True,
               note="zCDP turned into (ε, δ)")  # fmt: skip
    coin = dp.m.make_randomized_response_bool(prob=0.75)
    yield Case("opendp", "make_randomized_response_bool", lambda v, rng: coin(v), False, True, coin.map(1), trials=8000)
    letters = dp.m.make_randomized_response(categories={"A", "B", "C"}, prob=0.7)
    yield Case("opendp", "make_randomized_response", lambda v, rng: letters(v), "A", "B", letters.map(1), trials=8000)


def pure_ldp() -> Iterator[Case]:
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient
    from pure_ldp.frequency_oracles.local_hashing import LHClient
    from pure_ldp.frequency_oracles.rappor import RAPPORClient
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    def one(client: Any) -> Callable[..., Any]:
        return lambda value, rng: _plain(client.privatise(value))

    pair = (1, 2)  # values count from 1 there
    yield Case("pure_ldp", "direct encoding", one(DEClient(2.0, VALUES)), *pair, 2.0)
    yield Case("pure_ldp", "unary encoding, symmetric", one(UEClient(2.0, VALUES)), *pair, 2.0)
    yield Case("pure_ldp", "unary encoding, optimised", one(UEClient(2.0, VALUES, use_oue=True)), *pair, 2.0)
    yield Case("pure_ldp", "histogram encoding", one(HEClient(2.0, VALUES)), *pair, 2.0)
    for optimal in (False, True):
        client = LHClient(2.0, VALUES, use_olh=optimal)
        name = "local hashing" + (", optimised" if optimal else "")
        yield Case("pure_ldp", name, _bucket(client), *pair, 2.0, note="whether the bucket is that of either value")
    server = CMSServer(2.0, k=2, m=4)
    sketch = CMSClient(2.0, server.get_hash_funcs(), 4)
    yield Case("pure_ldp", "count-mean sketch", one(sketch), "ab", "cd", 2.0)
    server = CMSServer(2.0, k=2, m=4, is_hadamard=True)
    sketch = CMSClient(2.0, server.get_hash_funcs(), 4, is_hadamard=True)
    yield Case("pure_ldp", "Hadamard count-mean sketch", one(sketch), "ab", "cd", 2.0)
    response = HadamardResponseServer(2.0, VALUES)
    client = HadamardResponseClient(2.0, VALUES, response.get_hash_funcs())
    yield Case("pure_ldp", "Hadamard response", one(client), *pair, 2.0)
    hashes = [[lambda text: int(text) % 4]]
    rappor = RAPPORClient(0.5, 4, hashes, num_of_cohorts=1)
    claim = rappor.convert_f_to_eps(0.5, 1)
    yield Case("pure_ldp", "RAPPOR (permanent step)", one(rappor), *pair, claim, note="f = 0.5, one hash function")


def multi_freq_ldpy() -> Iterator[Case]:
    from multi_freq_ldpy.long_freq_est.dBitFlipPM import dBitFlipPM_Client
    from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Client
    from multi_freq_ldpy.long_freq_est.L_SUE import L_SUE_Client
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    def one(client: Any, *rest: Any) -> Callable[..., Any]:
        return lambda value, rng: _plain(client(value, *rest))

    yield Case("multi_freq_ldpy", "GRR", one(GRR_Client, VALUES, 2.0), 0, 1, 2.0)
    yield Case("multi_freq_ldpy", "UE, symmetric", one(UE_Client, VALUES, 2.0, False), 0, 1, 2.0)
    yield Case("multi_freq_ldpy", "UE, optimised", one(UE_Client, VALUES, 2.0, True), 0, 1, 2.0)
    yield Case("multi_freq_ldpy", "HE", one(HE_Client, VALUES, 2.0), 0, 1, 2.0)
    subset = one(SS_Client, VALUES, 0.5)
    yield Case("multi_freq_ldpy", "SS, as returned", subset, 0, 1, 0.5, note="an array: the order is seen")
    yield Case("multi_freq_ldpy", "SS, sorted", lambda v, rng: sorted(subset(v, rng)), 0, 1, 0.5, note="as a set")
    yield Case("multi_freq_ldpy", "dBitFlipPM", one(dBitFlipPM_Client, VALUES, VALUES, 2, 2.0), 0, 1, 2.0)
    yield Case("multi_freq_ldpy", "L-SUE (RAPPOR), one report", one(L_SUE_Client, VALUES, 2.0, 1.0), 0, 1, 1.0)
    yield Case("multi_freq_ldpy", "L-OSUE, one report", one(L_OSUE_Client, VALUES, 2.0, 1.0), 0, 1, 1.0)


def discreet() -> Iterator[Case]:
    """Ours with the same claims, for comparison."""
    from discreet.evaluation import audited_mechanisms

    names = ("noise.discrete_laplace", "noise.randomized_response", "local.UnaryEncoding/symmetric",
             "local.UnaryEncoding/optimised", "local.SubsetSelection", "local.Rappor/one report",
             "local.CountMeanSketch", "local.HadamardSketch", "local.HadamardResponse", "local.LocalHashing",
             "metric.NDLaplace/bits")  # fmt: skip
    for name in names:
        entry = audited_mechanisms()[name]
        pair = entry.pairs[0]
        yield Case("discreet", name, entry.mechanism, pair.data, pair.neighbour, entry.epsilon, entry.delta,
                   batch=entry.batch, options={"features": entry.features})  # fmt: skip


def _plain(report: Any) -> Any:
    """Return a report as nested lists of numbers."""
    if isinstance(report, (tuple, list)):
        return [_plain(part) for part in report]
    return report.tolist() if isinstance(report, np.ndarray) else report


def _bucket(client: Any) -> Callable[..., Any]:
    """A hashed report says, with its seed, which values it speaks for: all that a collector learns."""
    import xxhash

    def speaks(value: int, rng: Any) -> Any:
        bucket, seed = client.privatise(value)
        return [xxhash.xxh32(str(v), seed=seed).intdigest() % client.g == bucket for v in (0, 1, 2)]

    return speaks


def measured(case: Case, trials: int, seed: int) -> dict[str, Any]:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - some libraries draw from it
    features = BitPatterns() if case.bits else None
    begun = time.perf_counter()
    found = audit(
        case.mechanism, case.data, case.neighbour, min(trials, case.trials or trials), epsilon=case.epsilon,
        delta=case.delta, features=features, batch=case.batch, workers=1, progress=False, random_state=seed,
        **case.options,
    )  # fmt: skip
    return {
        "library": LIBRARIES[case.library],
        "mechanism": case.name,
        "claimed": float(case.epsilon),
        "delta": case.delta,
        "measured": found.epsilon_lower,
        "estimate": found.estimate if math.isfinite(found.estimate) else None,
        "exceeds_claim": not found.passed,
        "trials": found.trials,
        "event": found.event,
        "note": case.note,
        "seconds": round(time.perf_counter() - begun, 2),
    }


def earlier(present: set[str]) -> list[dict[str, Any]]:
    """Rows of libraries that are not installed here, from the run before."""
    file = RESULTS / "audit.json"
    rows = json.loads(file.read_text(encoding="utf-8")).get("rows", []) if file.exists() else []
    return [row for row in rows if row["library"] not in present]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--only", choices=list(LIBRARIES), help="one library")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of the libraries: leaks of budgets, versions
    sources = {f.__name__: f for f in (discreet, diffprivlib, opendp, pure_ldp, multi_freq_ldpy)}
    rows, present = [], set()
    for name, source in sources.items():
        if importlib.util.find_spec(name) is None or arguments.only not in (None, name):
            continue
        present.add(LIBRARIES[name])
        rows += [measured(case, arguments.trials, seed) for seed, case in enumerate(source())]
    rows += earlier(present)
    columns = ["library and mechanism", "claimed ε", "δ", "measured ε ≥", "above", "runs", "note"]
    shown = []
    for r in rows:
        above = "yes" if r["exceeds_claim"] else ""
        title = f"{r['library']}: {r['mechanism']}"
        shown.append([title, r["claimed"], r["delta"], r["measured"], above, r["trials"], r["note"]])
    show("Claimed and measured (lower bounds at 99 %)", columns, shown)
    save("audit", {"trials": arguments.trials, "rows": rows}, *LIBRARIES.values())


if __name__ == "__main__":
    main()
