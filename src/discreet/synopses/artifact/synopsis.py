"""The artifact of the central model: leaves with noisy counts, the tree above them, and the promise they carry.

Whatever is done with a synopsis is post-processing: queries, marginals, invented records, pictures cost no more
privacy. It holds no rows and no raw counts. Its guarantee is sealed over everything in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import AnyArray, Domain, FloatArray, Frames, Guarantee, checks, html
from discreet.errors import FormatError, InvalidArgument, InvalidType
from discreet.synopses.artifact import file, query
from discreet.synopses.artifact import merge as _merge
from discreet.synopses.artifact.answers import Count
from discreet.synopses.artifact.empty import empty_text
from discreet.synopses.artifact.evenness import Neighbours
from discreet.synopses.artifact.lifted import Lifted
from discreet.synopses.artifact.measured import Marginals
from discreet.synopses.artifact.questions import Questions
from discreet.synopses.artifact.tables import HiddenCells, TreeTable, frozen_floats, frozen_ints

UNUSED = (
    "declared functions and impossible combinations are not kept by grids and trees: invented rows may break them, and "
    "counts do not know of them; MarginalSynopsis (discreet synthesize) keeps them"
)
#: The parts of a synopsis beside its domain and its promise.
_BOXES = ("lower", "upper", "weights", "variances", "points")
FIELDS = (*_BOXES, "total", "total_variance", "tree", "hidden", "uncut", "measured", "lifted")


class Synopsis(Questions, Frames):
    """Boxes with noisy counts, made to be published.

    Usually made by `GridSynopsis` or `TreeSynopsis`. Coordinates are those of the domain: category number i is the
    interval from i to i + 1. Both bounds are NaN on an axis where a leaf holds the missing values.

    Parameters
    ----------
    domain : Domain
        The declared columns.
    lower, upper : array of shape (leaves, columns)
        Opposite corners of the leaves.
    weights : array of shape (leaves,)
        Noisy counts as drawn, negative ones included; integers, or floats after refinement.
    variances : array of shape (leaves,)
        Noise variance of each weight.
    points : array of shape (leaves, columns), optional
        A representative of each leaf; the middles of the boxes by default.
    guarantee : Guarantee
        The promise. The synopsis keeps a copy sealed over its own content.
    total, total_variance : float, optional
        Best noisy estimate of the number of rows, and its variance; by default those of the sum of the weights.
    tree : TreeTable, optional
        The nodes above the leaves.
    hidden : HiddenCells, optional
        Says that cells of a larger grid are left out, those whose noisy count does not exceed a cutoff.
    uncut : iterable of str
        Names of the columns that were never cut: the synopsis knows nothing of how they are distributed.
    measured : Marginals, optional
        Says that the leaves are rows of a model, and what the model was made from.
    lifted : Lifted, optional
        Says that the leaves are groups on the axes of a public projection, and what was found with them.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.synopses import Synopsis
    >>> ledger = dc.Ledger(epsilon=1)
    >>> _ = ledger.spend("counts", 1, "parallel")
    >>> s = Synopsis(dc.Domain({"age": (0, 120)}), lower=[[0], [60]], upper=[[60], [120]], weights=[70, 30],
    ...              variances=[1.8, 1.8], guarantee=dc.Guarantee.from_ledger(ledger, model="central"))
    >>> s
    <Synopsis: 2 leaves of 1 column, about 100 rows, epsilon 1>
    >>> s.count(age=(0, 60)), s.count(age=(30, 60))
    (Count(70 ± 1.34), Count(35 ± 18.5: noise 0.671, evenness 18.5))
    """

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
        tree: TreeTable | None = None,
        hidden: HiddenCells | None = None,
        uncut: Iterable[str] = (),
        measured: Marginals | None = None,
        lifted: Lifted | None = None,
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
        self._domain = domain
        self._lower = frozen_floats("lower", lower, shape, gaps=True)
        self._upper = frozen_floats("upper", upper, shape, gaps=True)
        own = np.array([c.missing == "own" for c in domain])
        if not ((self._lower <= self._upper) | (np.isnan(self._lower) & np.isnan(self._upper) & own)).all():
            raise InvalidArgument(
                "upper",
                "others",
                "at least lower on every axis, or both NaN for the missing values of a column with missing='own'",
            )
        self._weights: AnyArray = (
            frozen_ints("weights", weights, shape[:1])
            if np.asarray(weights).dtype.kind in "iu"
            else frozen_floats("weights", weights, shape[:1])
        )
        self._variances = frozen_floats("variances", variances, shape[:1])
        if (self._variances < 0).any():
            raise InvalidArgument(
                "variances", float(self._variances.min()), "zero or more", "variances=np.zeros(leaves)"
            )
        if points is None:
            points = self._upper - self._lower
            points /= 2
            points += self._lower
        self._points = frozen_floats("points", points, shape, gaps=True)
        self._total = float(self._weights.sum()) if total is None else checks.finite("total", total)
        spread = self._variances.sum() if total_variance is None else total_variance
        self._total_variance = checks.finite("total_variance", float(spread))
        if self._total_variance < 0:
            raise InvalidArgument("total_variance", spread, "zero or more", "total_variance=None")
        if tree is not None and (not isinstance(tree, TreeTable) or tree.lower.shape[1] != shape[1]):
            raise InvalidType("tree", type(tree), f"a TreeTable with {shape[1]} axes", "tree=None")
        if tree is not None and not np.array_equal(np.sort(tree.leaf[tree.leaf >= 0]), np.arange(shape[0])):
            raise InvalidArgument("tree", tree, f"a tree that names each of the {shape[0]} leaves once", "tree=None")
        if hidden is not None and not isinstance(hidden, HiddenCells):
            raise InvalidType("hidden", type(hidden), "HiddenCells", "hidden=None")
        if measured is not None and not isinstance(measured, Marginals):
            raise InvalidType("measured", type(measured), "Marginals", "measured=None")
        if measured is not None and len(measured.bins) != shape[1]:
            raise InvalidArgument("measured", len(measured.bins), f"about {shape[1]} columns", "measured=None")
        if measured is not None:
            measured = measured.about(domain)
        if lifted is not None and (not isinstance(lifted, Lifted) or len(lifted.matrix) != shape[1]):
            raise InvalidType("lifted", type(lifted), f"Lifted, of {shape[1]} columns", "lifted=None")
        self._tree, self._hidden, self._measured, self._lifted = tree, hidden, measured, lifted
        named = set(uncut)
        for name in named:
            domain.position(name)
        self._uncut = tuple(n for n in domain.names if n in named)
        promise = dataclasses.replace(guarantee, domain=domain, digest=None)
        self._guarantee = promise.seal(file.payload(self))

    @property
    def domain(self) -> Domain:
        """The declared columns."""
        return self._domain

    @property
    def lower(self) -> FloatArray:
        """Lower corners of the leaves, one row per leaf."""
        return self._lower

    @property
    def upper(self) -> FloatArray:
        """Upper corners of the leaves."""
        return self._upper

    @property
    def weights(self) -> AnyArray:
        """Noisy number of rows in each leaf; may be negative."""
        return self._weights

    @property
    def variances(self) -> FloatArray:
        """Noise variance of each weight."""
        return self._variances

    @property
    def points(self) -> FloatArray:
        """A representative of each leaf; NaN on an axis where the leaf holds the missing values."""
        return self._points

    @property
    def total(self) -> float:
        """Best noisy estimate of the number of rows."""
        return self._total

    @property
    def total_variance(self) -> float:
        """Noise variance of `total`."""
        return self._total_variance

    @property
    def looks_empty(self) -> bool:
        """Whether `total` is within its noise of zero: an empty table looks so in at least 99 cases of 100."""
        return bool(empty_text(self._total, self._total_variance))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should be told before using it; mostly nothing."""
        text = empty_text(self._total, self._total_variance)
        loose = self._domain.facts and self._measured is None
        return tuple(filter(None, [text, UNUSED if loose else ""]))

    @property
    def tree(self) -> TreeTable | None:
        """The nodes above the leaves, if there are any."""
        return self._tree

    @property
    def hidden(self) -> HiddenCells | None:
        """What is known of the cells that are not listed; None if all are."""
        return self._hidden

    @property
    def measured(self) -> Marginals | None:
        """What the model whose rows are the leaves was made from; None where leaves were counted themselves."""
        return self._measured

    @property
    def lifted(self) -> Lifted | None:
        """The projection on whose axes the leaves were found, and the centres; None where leaves are boxes."""
        return self._lifted

    @property
    def unlisted(self) -> Count | None:
        """Estimated number of rows in the cells that are not listed: `total` less what is listed; None if all are.

        Noise may make it negative. Some listed cells may be empty (`HiddenCells.noise_alone`): then it is too small.
        """
        return query.unlisted(self)

    @property
    def uncut(self) -> tuple[str, ...]:
        """Columns that were never cut: nothing is known of how they are distributed."""
        return self._uncut

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, sealed over this synopsis."""
        return self._guarantee

    @property
    def digest(self) -> str:
        """The seal: changes with any change of the content or the promise."""
        return str(self._guarantee.digest)

    @cached_property
    def neighbours(self) -> Neighbours:
        """What lies beside each leaf; tells how far rows may be from lying evenly in it."""
        return Neighbours(self)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self._weights)

    def replace(self, *, note: str | None = None, **changes: Any) -> Synopsis:
        """Return a synopsis with some parts changed: post-processing, under the same promise, sealed afresh.

        Parameters
        ----------
        note : str, optional
            What was done; added to the list ``guarantee.parameters["refined"]``.
        **changes
            Any of the constructor's arguments but domain and guarantee. With new weights or variances and no new
            total, the total stays.

        Examples
        --------
        >>> import discreet as dc
        >>> from discreet.synopses import Synopsis
        >>> s = Synopsis(dc.Domain.box(0, 1), lower=[[0]], upper=[[1]], weights=[-2], variances=[1.0],
        ...              guarantee=dc.Guarantee("central"))
        >>> s.replace(weights=[0.0], note="negative counts set to zero").guarantee.parameters["refined"]
        ['negative counts set to zero']
        """
        unknown = set(changes) - set(FIELDS)
        if unknown:
            raise InvalidArgument("changes", sorted(unknown), f"among {', '.join(FIELDS)}", "weights=...")
        promise = self._guarantee
        if note is not None:
            if not isinstance(note, str) or not note:
                raise InvalidType("note", note, "a short text", 'note="projected"')
            done = [*promise.parameters.get("refined", ()), note]
            promise = dataclasses.replace(promise, parameters={**promise.parameters, "refined": done})
        parts = {name: getattr(self, name) for name in FIELDS}
        return Synopsis(self._domain, guarantee=promise, **{**parts, **changes})

    def sample(self, n: int | None = None, rng: object = None) -> pa.Table:
        """Draw invented records that follow the synopsis.

        Weights are first moved to the nearest non-negative ones with the same total. A leaf is drawn in proportion to
        them, then a place in it, evenly, also along columns that were never cut. Categories are given by name,
        missing values as null.

        Parameters
        ----------
        n : int, optional
            How many; by default about as many as the release says that the table has.
        rng : None, int or Generator
            See `discreet.noise.generator`. Repeating this draw reveals nothing: it uses the published values alone.

        Returns
        -------
        pyarrow.Table
            One column for each of the domain's.
        """
        return query.sample(self, n, rng)

    def merge(self, other: Synopsis, *, disjoint_people: bool = False) -> Synopsis:
        """Put together the synopses of two disjoint tables over the same domain.

        Parameters
        ----------
        other : Synopsis
            Its leaves are added to these; they may overlap in space. Marginal synopses are refused: add their answers.
        disjoint_people : bool
            Declare that no person has rows in both tables. Then the promise is the weaker of the two. By default both
            are about the same people, and ε adds up.

        Privacy
        -------
        Neighbours: add or remove one row, which is in one of the tables. By sequential composition the pair of releases
        costs ε₁ + ε₂ for a person who is in both. If no person is, one of the releases does not change at all: the
        price is max(ε₁, ε₂). That cannot be seen in the data, so it is recorded as an assumption.

        Examples
        --------
        >>> import discreet as dc
        >>> from discreet.synopses import Synopsis
        >>> def release(weight, price):
        ...     ledger = dc.Ledger(epsilon=price)
        ...     ledger.spend("count", price)
        ...     return Synopsis(dc.Domain.box(0, 1), lower=[[0]], upper=[[1]], weights=[weight], variances=[1.0],
        ...                     guarantee=dc.Guarantee.from_ledger(ledger, model="central"))
        >>> north, south = release(40, 0.5), release(70, 0.25)
        >>> both = north.merge(south)
        >>> both.total, both.guarantee.epsilon, north.merge(south, disjoint_people=True).guarantee.epsilon
        (110.0, 0.75, 0.5)
        """
        return _merge.merge(self, other, disjoint_people)

    def to_arrow(self) -> pa.Table:
        """Return the leaves as an Arrow table, the guarantee in its metadata.

        Columns ``NAME_from`` and ``NAME_to`` are the bounds, ``NAME_at`` the representative, then ``weight`` and
        ``variance``.
        """
        return file.leaves(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the synopsis to a Parquet file, whole or not at all.

        The rows are those of `to_arrow`; guarantee, format version and a checksum of the file are in its metadata.
        Another release that an account was charged for is not written over unless ``overwrite`` is said: its noise was
        drawn once, and it cannot be had again.
        """
        file.save(self, path, overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Synopsis:
        """Read what `save` wrote.

        Raises
        ------
        DataSourceError
            There is no such file, or it cannot be opened.
        FormatError
            It is no synopsis, is damaged, was changed after it was written, or is of a newer version.
        """
        return file.load(path)

    def plot(self, columns: Sequence[str] | str | None = None, *more: str) -> Any:
        """Draw the leaves: boxes coloured by density, representatives sized by weight.

        Parameters
        ----------
        columns, *more : pair of str, or two of them, optional
            The two columns to show; by default the first two. Leaves that cover each other in this view add up.

        Returns
        -------
        plotly.graph_objects.Figure
            The picture; ``.show()`` or ``.write_html("s.html")``.

        Raises
        ------
        MissingExtra
            Plotly is not installed.
        """
        from discreet.synopses.artifact import plot as _plot

        return _plot.draw(self, (columns, *more) if more else columns)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: arrays that come out of a pickle could be written to.
        return _restore, (self._domain, self._guarantee, {name: getattr(self, name) for name in FIELDS})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Synopsis) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def _repr_html_(self) -> str:
        facts = [f"{c.name}: {'not divided' if c.name in self._uncut else c.kind}" for c in self._domain.columns[:12]]
        more = f" and {len(self._domain) - 12} more" if len(self._domain) > 12 else ""
        told = {
            "rows": f"{self._total:,.0f} ± {np.sqrt(self._total_variance):,.3g}",
            "columns": ", ".join(facts) + more,
            "leaves" if self._measured is None else "model rows": f"{self.n_leaves:,}",
            "epsilon": html.level(self._guarantee),
            "not listed": "" if self.unlisted is None else f"{self.unlisted.value:,.0f} rows, in cells left out",
            "sealed": self.digest,
        }
        seeded = "Seeded: do not publish." if self._guarantee.seeded else ""
        return html.facts("Synopsis", {k: v for k, v in told.items() if v}, " ".join([*self.warnings, seeded]).strip())

    def __repr__(self) -> str:
        return query.described(self)


def _restore(domain: Domain, guarantee: Guarantee, parts: dict[str, Any]) -> Synopsis:
    synopsis = Synopsis(domain, guarantee=guarantee, **parts)
    if guarantee.digest is not None and guarantee.digest != synopsis.digest:
        raise FormatError("the pickled synopsis was changed: its contents do not match its seal")
    return synopsis
