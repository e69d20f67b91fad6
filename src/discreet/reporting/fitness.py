"""The fitness of a release, from the release alone: one line, and the errors of counts by pairs of columns."""

import math
from collections.abc import Mapping
from typing import Any

from discreet.core import MEAN_NOISE, Guarantee, at_most


def fitness(thing: Any, guarantee: Guarantee, clusters: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Return the line and the errors of a synopsis or a released table; None for other releases."""
    told: dict[str, Any] = {}
    if hasattr(thing, "fitness"):
        told = thing.fitness().to_dict()
    elif guarantee.model in ("metric", "local") and guarantee.domain is not None:
        from discreet import metric  # here: jobs load few modules

        told = metric.fitness_of(guarantee).to_dict()
    elif "quasi_identifiers" in guarantee.parameters and hasattr(rows := getattr(thing, "table", thing), "num_rows"):
        from discreet.anonymity.risk import fitness_of

        told = fitness_of(rows, guarantee).to_dict()
    if clusters is not None:
        told["line"] = " ".join([_sizes(clusters), *([told["line"]] if "±" in told.get("line", "") else [])])
    return told or None


def _sizes(clusters: Mapping[str, Any]) -> str:
    """Return how far the sizes of clusters are off on average, from the noise of the counts."""
    weights, errors, doubtful = (clusters.get(name) or () for name in ("weights", "weight_std_errors", "may_be_noise"))
    if not errors or not sum(weights) > 0 or not all(map(math.isfinite, errors)):
        return "How far the sizes of the clusters are off is not known."
    noise = f"; {sum(doubtful):,} of {len(weights):,} may be only noise" if any(doubtful) else ""
    return f"Sizes of clusters are good to ±{at_most(100 * MEAN_NOISE * sum(errors) / sum(weights), 2)} %{noise}."
