"""What elastic noise costs and whom it hides, beside noise of one radius: check-ins in New York.

    python -m studies.measures.metric_elastic [--people 3000] [--synopses 3]

Writes results/metric_elastic.json and docs/images/elastic.svg. People are split in two. The check-ins of one half are
the public density, or a grid synopsis of them released at epsilon = 1; those of the other half are perturbed. A crowd
is 500 public check-ins, the level ln 4. `NDLaplace` has one radius for all: that which 95 % of the densest quarter need
for a crowd, or 95 % of all. Errors are expectations by the laws, so only the synopses are drawn. Who has a crowd is
counted in the public check-ins themselves.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import discreet as dc
from discreet_studies.harness.chart import Chart, Line, Panel, printed
from studies.measures._measure import save
from studies.measures.metric_remap import METRES, _halves, _units

LEVEL, CROWD, CELLS = math.log(4), 500, 1024
TARGET = Path(__file__).parents[2] / "docs" / "images" / "elastic.svg"
CITY, EVERYBODY = "NDLaplace, radius for the densest quarter", "NDLaplace, radius for 95 % of people"
PUBLIC, RELEASED = "ElasticLaplace, public places", "ElasticLaplace, synopsis at ε = 1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=3000)
    parser.add_argument("--synopses", type=int, default=3)
    args = parser.parse_args()
    data = dc.datasets.load("gowalla")
    units = _units(data.domain, METRES)
    public, own = _halves("gowalla", data)
    people = own[np.random.default_rng(0).permutation(len(own))[: args.people]]
    tree = cKDTree(public / units)
    need = tree.query(people / units, k=CROWD)[0][:, -1]
    tenth = np.minimum(np.argsort(np.argsort(need)) * 10 // len(need), 9)
    results = []
    for name, radius in ((CITY, np.quantile(need[need <= np.quantile(need, 0.25)], 0.95)),
                         (EVERYBODY, np.quantile(need, 0.95))):  # fmt: skip
        law = dc.metric.NDLaplace(LEVEL, float(radius), data.domain, scaling=units).law
        crowds = tree.query_ball_point(people / units, float(radius), return_length=True)
        results.append(_facts(name, np.full(len(people), law.expected_error), crowds, tenth))
    for name, density in [(PUBLIC, (public, np.ones(len(public)))), *_released(data.domain, public, args.synopses)]:
        results.append(_elastic(name, data.domain, units, density, public, people, tenth))
    facts = {"level": LEVEL, "min_people": CROWD, "cells": CELLS, "public": len(public), "people": len(people)}
    save("metric_elastic", {**facts, "results": results})
    _draw(results)


def _released(domain: dc.Domain, public: np.ndarray, n: int) -> list[tuple[str, Any]]:
    made = (dc.GridSynopsis(1.0, domain, 256, random_state=seed).fit(public).synopsis_ for seed in range(n))
    return [(RELEASED, synopsis) for synopsis in made]


def _facts(name: str, errors: np.ndarray, crowds: np.ndarray, tenth: np.ndarray, **more: Any) -> dict[str, Any]:
    """Return mean error and share with a crowd: of all, and by tenths of people from the densest places on."""
    hidden, of_most = crowds >= CROWD, float(np.quantile(crowds, 0.05))
    print(f"{name:42} {errors.mean():8.0f} m, {100 * hidden.mean():5.1f} % hidden, 95 % in {of_most:.0f}", more)
    by = {kind: [float(x[tenth == t].mean()) for t in range(10)] for kind, x in (("error", errors), ("hidden", hidden))}
    return {"mechanism": name, "mean_error": float(errors.mean()), "hidden": float(hidden.mean()), "tenths": by,
            "crowd_of_95_percent": of_most, **more}  # fmt: skip


def _elastic(
    name: str, domain: dc.Domain, units: Any, density: Any, public: np.ndarray, people: np.ndarray, tenth: np.ndarray
) -> dict[str, Any]:
    noise = dc.metric.ElasticLaplace(LEVEL, CROWD, domain, density=density, scaling=units, cells=CELLS, random_state=1)
    start = time.process_time()
    law = noise.law
    made, cells = time.process_time() - start, len(law.lower)
    apart = law.distance(np.repeat(law.places, cells, axis=0), np.tile(law.places, (cells, 1))).reshape(cells, cells)
    crowds = (apart <= LEVEL) @ np.bincount(law.cells(public), minlength=cells)
    noise.transform(people)
    start = time.process_time()
    noise.transform(np.resize(people, (1_000_000, 2)))
    more = {
        "seconds_to_make": made, "nanoseconds_per_row": 1e3 * (time.process_time() - start),
        "least_crowd": int(crowds.min()), "farthest": law.largest,
    }  # fmt: skip
    return _facts(name, law.expected_error(people), crowds[law.cells(people)], tenth, **more)


def _draw(results: list[dict[str, Any]]) -> None:
    shares = [(20.0 * t, str(20 * t)) for t in range(6)]
    panels = []
    for kind, title, factor in (("error", "mean error in metres", 1), ("hidden", "share with a crowd, %", 100)):
        lines = []
        for look, name in enumerate((CITY, EVERYBODY, PUBLIC, RELEASED)):
            held = np.mean([r["tenths"][kind] for r in results if r["mechanism"] == name], axis=0)
            marks = printed((10 * t + 5.0, factor * float(value)) for t, value in enumerate(held))
            lines.append(Line(name, marks, look))
        low_high = None if kind == "error" else (-2.0, 102.0)
        x = "people in percent, those in the densest places first"
        panels.append(Panel(x, title, lines, log_y=kind == "error", across=shares, x_range=(0, 100), y_range=low_high))
    chart = Chart("Check-ins in New York, level ln 4: noise that follows the crowd, and noise of one radius", panels)
    for target, columns in ((TARGET, 2), (TARGET.with_name("elastic-narrow.svg"), 1)):
        target.write_text(chart.image(columns), encoding="utf-8")


if __name__ == "__main__":
    main()
