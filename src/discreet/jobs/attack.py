"""What the verb `attack` does, without the talking: files in, the result of an attack out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet import evaluation, metric, noise
from discreet.core import checks
from discreet.core.arrays import FloatArray
from discreet.core.domain import Categorical, Domain
from discreet.core.people import released_columns
from discreet.errors import InvalidArgument
from discreet.metric.rows import read_rows
from discreet.synopses import Synopsis

METHODS = ("membership", "reconstruction", "attribute")
KINDS = ("points", "synopsis", "centers")


def attack(
    released: Path,
    against: str,
    control: str,
    schema: Path | None,
    method: str,
    kind: str,
    settings: dict[str, Any],
    seed: int | None,
) -> evaluation.ScoredAttack:
    """Read the files and run one attack. Settings that are None are left to it."""
    method = checks.choice("--method", method, METHODS)
    kind = checks.choice("--kind", kind, KINDS)
    given = {name: value for name, value in settings.items() if value is not None}
    if method == "reconstruction" and kind != "points":
        raise InvalidArgument("--kind", kind, "points with --method reconstruction", "--kind points")
    if method == "attribute" and kind == "centers":
        raise InvalidArgument("--kind", kind, "points or synopsis with --method attribute", "--kind points")
    column = given.get("column")
    if method == "attribute" and column is None:
        raise InvalidArgument("--column", None, "the column to guess with --method attribute", "--column age")
    artifact, domain, law = _released(released, schema, kind, given)
    people, others = (_rows(name, path, domain) for name, path in (("--against", against), ("--control", control)))
    stream = noise.generator(seed)
    if "reference" in given:
        public = _rows("--reference", given["reference"], domain)
    else:
        # What the attacker knows of such people must come from somewhere: one half of the control, the other is judged.
        order = np.argsort(noise.below(2**62, size=len(others), rng=stream), kind="stable")
        others, public = others[order[: len(others) // 2]], others[order[len(others) // 2 :]]
    more: dict[str, Any] = {"metric": law, "reference": public, "random_state": stream}
    if method == "membership":
        return evaluation.membership_attack(artifact, people, others, kind=kind, **more)
    if "within" in given:
        more["within"] = given["within"]
    if method == "reconstruction":
        return evaluation.reconstruction_attack(artifact, people, estimate=given.get("estimate", "mean"), **more)
    place = domain.position(str(column))
    linked = bool(given.get("linked", True))
    return evaluation.attribute_attack(artifact, people, others, column=place, linked=linked, **more)


def _released(path: Path, schema: Path | None, kind: str, given: dict[str, Any]) -> tuple[Any, Domain, Any]:
    """Read what was released, its columns, and the mechanism whose noise is on it."""
    if kind == "synopsis":
        made = Synopsis.load(path)
        return made, made.domain, None
    if schema is None:
        raise InvalidArgument("--schema", None, f"given with --kind {kind}", "--schema schema.toml")
    declared = released_columns(Domain.from_toml(schema))  # identifiers are never released, so never attacked
    numeric = [c.name for c in declared if not isinstance(c, Categorical)]
    if not numeric:
        raise InvalidArgument("--schema", str(schema), "a schema with at least one numeric column")
    domain = declared.select(numeric)
    if kind == "centers":
        return _rows("released", path, domain), domain, None
    for name in ("epsilon", "radius"):
        if name not in given:
            raise InvalidArgument(f"--{name}", None, "given with --kind points: noise is known by it", f"--{name} 1")
    law = metric.NDLaplace(epsilon=given["epsilon"], radius=given["radius"], domain=domain)
    return _rows("released", path, domain), domain, law


def _rows(name: str, path: Any, domain: Domain) -> FloatArray:
    """Read a file's rows as coordinates. This is evaluation, of a release by its maker: gaps may be refused."""
    found = read_rows(str(path), domain)[0]
    if np.isnan(found).any():
        raise InvalidArgument(name, "a table with gaps", "a table without missing values", "leaving those rows out")
    return found
