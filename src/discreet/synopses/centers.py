"""Clusters in many dimensions: a public projection, groups of rows on its axes, and the centres found with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from discreet.core import AnyArray, IntArray
from discreet.errors import FormatError, InvalidType, SchemaError
from discreet.noise import Generator
from discreet.synopses.synopsis import Synopsis


@dataclass(frozen=True, eq=False, repr=False)
class Lifted:
    """A projection, what was released on its axes, and the centres that were found.

    Attributes
    ----------
    matrix, origin : array of int, array of float
        The projection (columns by axes; 1024 stands for 1), drawn without a look at any row, and what is projected to
        0.
    lower, upper, points, weights, variances : arrays
        Leaves on the axes: boxes, representatives, noisy counts and their noise variances.
    groups : array of shape (groups, axes)
        Where the groups are on these axes; a row belongs to the nearest.
    centers, center_weights, center_variances : arrays
        The centres after the last step, sorted; noisy numbers of rows nearest to them, and their noise variances.
    scale : {"none", "domain"}
        The units in which distances were taken.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> kept = Lifted(one, one[0], -one, one, 0 * one, one[0], one[0], 0 * one, one, one[0], one[0], "none")
    >>> Lifted.from_dict(kept.to_dict())
    <Lifted: 1 column on 1 axis, 1 group, 1 centre>
    """

    matrix: AnyArray
    origin: AnyArray
    lower: AnyArray
    upper: AnyArray
    points: AnyArray
    weights: AnyArray
    variances: AnyArray
    groups: AnyArray
    centers: AnyArray
    center_weights: AnyArray
    center_variances: AnyArray
    scale: str

    def __post_init__(self) -> None:
        """Refuse what cannot have been released: a file may say anything."""
        for f in fields(self)[:-1]:
            kept = np.array(getattr(self, f.name), np.int64 if f.name == "matrix" else np.float64)
            kept.setflags(write=False)
            if not np.isfinite(kept).all():
                raise FormatError(f"{f.name} of a projection must be finite")
            object.__setattr__(self, f.name, kept)
        d, p = self.matrix.shape if self.matrix.ndim == 2 else (0, 0)
        n, k = len(self.weights), len(self.centers)
        wanted = {"origin": (d,), "weights": (n,), "variances": (n,), "groups": (len(self.groups), p)}
        wanted |= dict.fromkeys(("lower", "upper", "points"), (n, p))
        wanted |= {"centers": (k, d), "center_weights": (k,), "center_variances": (k,)}
        if any(getattr(self, name).shape != shape for name, shape in wanted.items()) or not d or not k:
            raise FormatError("the parts of a projection do not fit each other")
        if self.scale not in ("none", "domain"):
            raise FormatError("the scale of a projection must be none or domain")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {**{f.name: getattr(self, f.name).tolist() for f in fields(self)[:-1]}, "scale": self.scale}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Lifted:
        """Read what `to_dict` wrote."""
        p = len(facts["matrix"][0])
        tables = {name: np.reshape(facts[name], (-1, p)) for name in ("lower", "upper", "points", "groups")}
        return cls(**{f.name: tables.get(f.name, facts[f.name]) for f in fields(cls)})

    def __repr__(self) -> str:
        (d, p), g, k = self.matrix.shape, len(self.groups), len(self.centers)
        counted = [f"{d} column{'s' * (d != 1)} on {p} ax{'e' if p != 1 else 'i'}s"]
        counted += [f"{n} {word}{'s' * (n != 1)}" for n, word in ((g, "group"), (k, "centre"))]
        return f"<Lifted: {', '.join(counted)}>"


class CenterSynopsis(Synopsis):
    """Groups of rows that lie near each other after a projection, and the centres found with them.

    `PrivateKMeans` publishes it for tables of many columns. The boxes of its leaves are the whole domain, because their
    rows may lie anywhere in it; their points are noisy means in all dimensions. Parameters are those of `Synopsis`, and
    ``lifted``: the projection, the leaves on its axes and the centres.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(2000, 20, 3, random_state=0)
    >>> made = dc.PrivateKMeans(3, 2.0, data.domain, "lift", random_state=0).fit(data.X).synopsis_
    >>> made.lifted.centers.shape
    (3, 20)
    """

    parts = (*Synopsis.parts, "lifted")

    def _take(self, *, lifted: Lifted) -> None:  # type: ignore[override]
        columns = self.lower.shape[1]
        if not isinstance(lifted, Lifted) or len(lifted.matrix) != columns:
            raise InvalidType("lifted", type(lifted), f"Lifted, of {columns} columns")
        self.lifted = lifted

    def _more_facts(self) -> dict[str, Any]:
        return {"lifted": self.lifted.to_dict()}

    @staticmethod
    def _read_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
        return {"lifted": Lifted.from_dict(facts["lifted"])}

    def _count_errors(self) -> Any:
        return lambda *axes: (math.nan, False)  # a projection has no distributions of single columns

    def _choose(self, n: int, stream: Generator) -> IntArray:
        raise SchemaError(
            "rows cannot be sampled from a projection: it knows the means of groups, not how columns are distributed; "
            "try dc.MarginalSynopsis(epsilon=1.0, domain=domain).fit(data).synopsis_.sample(), a release of its own"
        )
