"""What the Bayes remap is worth on real places: mean error in metres without a remap, clipped, and remapped.

    python -m studies.measures.metric_remap [--seeds 20] [--quick]

Gowalla: check-ins in New York. People are split in two: the check-ins of one half are the public prior (or a grid
synopsis of them, released at epsilon = 1), those of the other half are perturbed. The two halves share no person, and
the remap never sees a true point. GeoNames: places all over the world, one half the prior, the other perturbed.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import discreet as dc
from studies.measures._measure import save

METRES = 111_195.0  # of one degree of latitude
LEVELS = (math.log(2), math.log(4), 2.0, 4.0, 8.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    seeds, rows = (3, 1000) if args.quick else (args.seeds, args.rows)
    results = []
    for name, radius, unit in (("gowalla", 200.0, METRES), ("geonames", 50_000.0, METRES)):
        if name not in dc.datasets.available():
            print(f"{name}: not here")
            continue
        data = dc.datasets.load(name)
        scaling = _units(data.domain, unit)
        public, own = _halves(name, data)
        for level in LEVELS:
            errors = _errors(data.domain, public, own, level, radius, scaling, seeds, rows)
            for method, values in errors.items():
                mean, half = float(np.mean(values)), 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
                results.append(
                    {"data": name, "level": level, "radius": radius, "method": method, "mean_error": mean,
                     "interval": [mean - half, mean + half], "seeds": len(values), "rows": rows}
                )  # fmt: skip
                print(f"{name:9} level {level:5.3f} at {radius:6.0f} m  {method:16} {mean:10.1f} m  ± {half:.1f}")
    save("metric_remap", {"results": results})


def _units(domain: dc.Domain, metres: float) -> list[float]:
    """Degrees that make one metre, at the middle latitude of the box."""
    middle = math.radians(float(domain.bounds.center[0]))
    return [1 / metres, 1 / (metres * math.cos(middle))]


def _halves(name: str, data: dc.datasets.Dataset) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    if name == "gowalla":
        people = np.unique(data.labels)
        chosen = np.isin(data.labels, rng.permutation(people)[: len(people) // 2])
    else:
        chosen = rng.permutation(len(data.X)) < len(data.X) // 2
    return data.X[chosen], data.X[~chosen]


def _errors(domain, public, own, level, radius, scaling, seeds, rows):  # type: ignore[no-untyped-def]
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        people = own[np.random.default_rng(seed).permutation(len(own))[:rows]]
        synopsis = dc.GridSynopsis(1.0, domain=domain, rule=256, random_state=seed).fit(public).synopsis_
        settings = {
            "none": {}, "clip": {"remap": "clip"}, "bayes, public": {"remap": "bayes", "prior": public},
            "bayes, synopsis": {"remap": "bayes", "prior": synopsis},
        }  # fmt: skip
        for method, extra in settings.items():
            m = dc.metric.NDLaplace(
                level, radius, domain, scaling=scaling, loss="euclidean", random_state=seed, **extra
            )
            moved = m.scale(m.transform(people)) - m.scale(people)
            found.setdefault(method, []).append(float(np.linalg.norm(moved, axis=1).mean()))
    return found


if __name__ == "__main__":
    main()
