"""The artifact of the central model: places with noisy counts, and the promise that they carry.

Everything done with a synopsis is post-processing: queries, marginals, synthetic rows and plots cost no more privacy.
It holds no rows and no raw counts. Its guarantee is sealed over everything in it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from discreet.core import CAUSES, AnyArray, Domain, FloatArray, Frames, Guarantee, IntArray, checks, doubts, html
from discreet.errors import FormatError, InvalidArgument, InvalidType
from discreet.noise import Generator
from discreet.synopses import file
from discreet.synopses.frozen import frozen_floats, frozen_ints
from discreet.synopses.queries.answers import Count, empty_text, rows_text
from discreet.synopses.queries.counts import sample
from discreet.synopses.queries.questions import Questions


class Synopsis(Questions, Frames):
    """A private release: leaves with noisy counts. Ask it, sample from it, save it.

    This is what all synopses have in common. `BoxSynopsis` holds the cells of a grid or the leaves of a tree,
    `ModelSynopsis` the rows of a model of many columns, `CenterSynopsis` groups of rows found in many dimensions.
    `Synopsis.load` returns the right one. Coordinates are those of the domain: category number i is the interval from i
    to i + 1. Both bounds are NaN on an axis where a leaf holds the missing values.

    Parameters
    ----------
    domain : Domain
        The declared columns.
    lower, upper : array of shape (leaves, columns)
        Opposite corners of the leaves.
    weights : array of shape (leaves,)
        Noisy counts as drawn, including negative ones; integers, or floats after refinement.
    variances : array of shape (leaves,)
        Noise variance of each weight.
    points : array of shape (leaves, columns), optional
        A representative of each leaf; the middles of the boxes by default.
    guarantee : Guarantee
        The promise. The synopsis keeps a copy sealed over its own content.
    total, total_variance : float, optional
        Best noisy estimate of the number of rows, and its variance; by default those of the sum of the weights.
    uncut : iterable of str
        Names of the columns that were never split: nothing is known about their distribution.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(2000, 2, 3, random_state=0)
    >>> made = dc.GridSynopsis(1.0, data.domain, 8, random_state=0).fit(data.X).synopsis_
    >>> isinstance(made, Synopsis), made.guarantee.epsilon, made.sample(5, rng=0).num_rows
    (True, 1.0, 5)
    """

    #: Arguments of the constructor, without the domain and the guarantee.
    parts: ClassVar[tuple[str, ...]] = (
        "lower", "upper", "weights", "variances", "points", "total", "total_variance", "uncut",
    )  # fmt: skip
    #: Whether the leaves are rows of a model, whose error is then part of every answer.
    modelled: ClassVar[bool] = False
    #: The name of one leaf, and of several.
    leaf_names: ClassVar[tuple[str, str]] = ("leaf", "leaves")
    #: Of a `BoxSynopsis`: the nodes above the leaves, and a description of the cells that are not listed.
    tree: Any = None
    hidden: Any = None

    domain: Domain
    lower: FloatArray
    upper: FloatArray
    weights: AnyArray
    variances: FloatArray
    points: FloatArray
    total: float
    total_variance: float
    uncut: tuple[str, ...]
    guarantee: Guarantee

    def __init__(
        self,
        domain: Domain,
        *,
        lower: Any,
        upper: Any,
        weights: Any,
        variances: Any,
        points: Any = None,
        guarantee: Guarantee,
        total: float | None = None,
        total_variance: float | None = None,
        uncut: Iterable[str] = (),
        **own: Any,
    ) -> None:
        if not isinstance(domain, Domain):
            raise InvalidType("domain", type(domain), "a Domain", 'domain=Domain({"age": (0, 120)})')
        if not isinstance(guarantee, Guarantee):
            raise InvalidType(
                "guarantee", type(guarantee), "a Guarantee", 'Guarantee.from_ledger(ledger, model="central")'
            )
        if guarantee.domain not in (None, domain):
            raise InvalidArgument(
                "guarantee", guarantee.domain, "about the same domain as the synopsis", "domain=domain"
            )
        if len(np.shape(weights)) != 1:
            raise InvalidArgument("weights", np.shape(weights), "one-dimensional", "weights=np.zeros(leaves)")
        shape = (len(weights), len(domain))
        self.domain = domain
        self.lower = frozen_floats("lower", lower, shape, gaps=True)
        self.upper = frozen_floats("upper", upper, shape, gaps=True)
        gaps = np.array([c.missing == "own" for c in domain])
        if not ((self.lower <= self.upper) | (np.isnan(self.lower) & np.isnan(self.upper) & gaps)).all():
            raise InvalidArgument(
                "upper",
                "others",
                "at least lower on every axis, or both NaN for the missing values of a column with missing='own'",
            )
        self.weights = (
            frozen_ints("weights", weights, shape[:1])
            if np.asarray(weights).dtype.kind in "iu"
            else frozen_floats("weights", weights, shape[:1])
        )
        self.variances = frozen_floats("variances", variances, shape[:1])
        if (self.variances < 0).any():
            raise InvalidArgument(
                "variances", float(self.variances.min()), "zero or more", "variances=np.zeros(leaves)"
            )
        if points is None:
            points = self.upper - self.lower
            points /= 2
            points += self.lower
        self.points = frozen_floats("points", points, shape, gaps=True)
        self.total = float(self.weights.sum()) if total is None else checks.finite("total", total)
        spread = self.variances.sum() if total_variance is None else total_variance
        self.total_variance = checks.finite("total_variance", float(spread))
        if self.total_variance < 0:
            raise InvalidArgument("total_variance", spread, "zero or more", "total_variance=None")
        self._take(**own)
        named = set(uncut)
        for name in named:
            domain.position(name)
        self.uncut = tuple(n for n in domain.names if n in named)
        promise = dataclasses.replace(guarantee, domain=domain, digest=None)
        self.guarantee = promise.seal(file.payload(self))

    def __setattr__(self, name: str, value: Any) -> None:
        if "guarantee" in self.__dict__:
            raise AttributeError(f"{name} cannot be set: a synopsis is sealed; see replace()")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        """Say what can be asked, for a name that a synopsis does not have."""
        if name.startswith("_") or hasattr(type(self), name):
            return object.__getattribute__(self, name)
        said = "a synopsis has count, share, mean, quantile, cdf, mode, marginal, table, ask, sample and plot"
        if name == "sum":
            said = 'a synopsis has no sums; multiply a count by a mean: s.count().value * s.mean("income").value'
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: {said}", name=name, obj=self)

    def _take(self, **own: Any) -> None:
        """Check and keep the arguments that only this kind of synopsis has."""
        raise NotImplementedError

    @property
    def looks_empty(self) -> bool:
        """True if `total` is within its noise of zero. An empty table looks so in at least 99 of 100 releases."""
        return bool(empty_text(self.total, self.total_variance))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes that a reader should see before using it; usually none."""
        return tuple(filter(None, [empty_text(self.total, self.total_variance)]))

    @property
    def doubts(self) -> tuple[str, ...]:
        """What looks wrong about the table, by noisy numbers: far from the expected rows, or many missing values."""
        own = [c.name for c in self.domain if c.missing == "own" and c.name not in self.uncut]
        gaps = {name: self.marginal(name).missing for name in own}
        missing = {name: (each.value, each.std_error**2) for name, each in gaps.items() if each is not None}
        facts = self.guarantee.parameters  # weighted rows are people: no number of rows to compare with
        expected = None if "weight" in facts else facts.get("expected_rows")
        found = doubts(self.total, self.total_variance, expected, missing, self.domain.unit)
        return (*found, CAUSES) if found else ()

    @property
    def unlisted(self) -> Count | None:
        """Estimated number of rows in cells that are not listed; None if all cells are listed."""
        return None

    @property
    def digest(self) -> str:
        """The seal. It changes with any change of the content or the promise."""
        return str(self.guarantee.digest)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.weights)

    @cached_property
    def has_means(self) -> bool:
        """True if the representatives are more than the middles of the boxes."""
        middles = (self.upper - self.lower) / 2 + self.lower
        return not np.array_equal(self.points, middles, equal_nan=True)

    def replace(self, *, note: str | None = None, facts: Mapping[str, Any] | None = None, **changes: Any) -> Self:
        """Return a synopsis with some parts changed: post-processing, under the same promise, sealed again.

        Parameters
        ----------
        note : str, optional
            A description of the change, added to the list ``guarantee.parameters["refined"]``.
        facts : mapping, optional
            Further parameters to state in the guarantee.
        **changes
            Any of the constructor's arguments except domain and guarantee. With new weights and no new total, the total
            stays.
        """
        unknown = set(changes) - set(self.parts)
        if unknown:
            raise InvalidArgument("changes", sorted(unknown), f"among {', '.join(self.parts)}", "weights=...")
        stated = {**self.guarantee.parameters, **(facts or {})}
        if note is not None:
            if not isinstance(note, str) or not note:
                raise InvalidType("note", note, "a short text", 'note="projected"')
            stated["refined"] = [*stated.get("refined", ()), note]
        promise = dataclasses.replace(self.guarantee, parameters=stated)
        return type(self)(self.domain, guarantee=promise, **{**self._content(), **changes})

    def _content(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.parts}

    def sample(self, n: int | None = None, rng: object = None) -> pa.Table:
        """Draw synthetic rows that follow the synopsis.

        Weights are first moved to the nearest non-negative ones with the same total. A leaf is drawn in proportion to
        them, then a place in it, uniformly. Categories are given by name, missing values as null.

        Parameters
        ----------
        n : int, optional
            Number of rows; by default the estimated number of rows of the table.
        rng : None, int or Generator
            See `discreet.noise.generator`. Repeating a draw reveals nothing: it uses published values only.
        """
        return sample(self, n, rng)

    def _choose(self, n: int, stream: Generator) -> IntArray:
        """Choose the leaves of n synthetic rows."""
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """Return the leaves as an Arrow table, with the guarantee in its metadata.

        Columns ``NAME_from`` and ``NAME_to`` are the bounds, ``NAME_at`` the representative, then ``weight`` and
        ``variance``.
        """
        return file.leaves(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the synopsis to a Parquet file (``.parquet`` or ``.pq``), completely or not at all.

        The rows are those of `to_arrow`; guarantee, format version and a checksum of the file are in its metadata. A
        different release that was charged to an account is overwritten only with ``overwrite=True``: its noise was
        drawn once and cannot be drawn again.
        """
        file.save(self, path, overwrite)

    @staticmethod
    def load(path: str | Path) -> Any:
        """Read what `save` wrote, as a `BoxSynopsis`, `ModelSynopsis` or `CenterSynopsis`.

        Raises `DataSourceError` if the file cannot be opened, `FormatError` if it is damaged, was changed, or is not a
        synopsis.
        """
        return file.load(path)

    def _more_facts(self) -> dict[str, Any]:
        """Return what a file says about this kind of synopsis alone."""
        return {}

    @staticmethod
    def _read_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
        """Read what `_more_facts` wrote, as arguments of the constructor."""
        return {}

    def plot(self, columns: Sequence[str] | str | None = None, *more: str) -> Any:
        """Draw the leaves: boxes coloured by density, representatives sized by weight.

        Parameters
        ----------
        columns, *more : pair of str, or two of them, optional
            The columns to show, one or two; by default the first two. Leaves that overlap in this view add up.

        Returns
        -------
        plotly.graph_objects.Figure
            The picture; ``.show()`` or ``.write_html("s.html")``. Needs Plotly (the extra ``plot``).
        """
        from discreet.synopses.queries import plot

        return plot.draw(self, (columns, *more) if more else columns)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: arrays that come out of a pickle could be written to.
        return _restore, (type(self), self.domain, self.guarantee, self._content())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Synopsis) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def _repr_html_(self) -> str:
        facts = [f"{c.name}: {'not divided' if c.name in self.uncut else c.kind}" for c in self.domain.columns[:12]]
        more = f" and {len(self.domain) - 12} more" if len(self.domain) > 12 else ""
        told = {
            "rows": f"{self.total:,.0f} ± {np.sqrt(self.total_variance):,.3g}",
            "columns": ", ".join(facts) + more,
            self.leaf_names[1]: f"{self.n_leaves:,}",
            "epsilon": html.level(self.guarantee),
            "not listed": "" if self.unlisted is None else f"{self.unlisted.value:,.0f} rows, in cells left out",
            "sealed": self.digest,
        }
        seeded = "Seeded: do not publish." if self.guarantee.seeded else ""
        return html.facts("Synopsis", {k: v for k, v in told.items() if v}, " ".join([*self.warnings, seeded]).strip())

    def __repr__(self) -> str:
        d, epsilon = len(self.domain), self.guarantee.epsilon
        facts = [f"{self.n_leaves:,} {self.leaf_names[self.n_leaves != 1]} of {d} column{'s' * (d > 1)}"]
        if self.hidden is not None:
            facts[0] += f" (survivors of {self.hidden.n_cells:,} cells)"
        facts.append(rows_text(self.total, "weight" in self.guarantee.parameters))
        if (elsewhere := self.unlisted) is not None:
            facts[-1] += f" of which {elsewhere.value:,.0f} ± {elsewhere.std_error:,.0f} in cells that are not listed"
        if epsilon is not None:
            facts.append("NO privacy" if math.isinf(epsilon) else f"epsilon {html.level(self.guarantee)}")
        if self.looks_empty:
            facts.append("LOOKS EMPTY: the number of rows is within its noise of zero")
        if self.guarantee.seeded:
            facts.append("SEEDED: do not publish")
        return f"<Synopsis: {', '.join(facts)}>"


def _restore(kind: type[Synopsis], domain: Domain, guarantee: Guarantee, parts: dict[str, Any]) -> Synopsis:
    synopsis = kind(domain, guarantee=guarantee, **parts)
    if guarantee.digest is not None and guarantee.digest != synopsis.digest:
        raise FormatError("the pickled synopsis was changed: its contents do not match its seal")
    return synopsis
