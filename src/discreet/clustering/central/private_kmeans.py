"""Private k-means through a synopsis: one release, then as much clustering as one likes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.clustering.central import auto, lift, mixed
from discreet.clustering.central.estimator import Centers
from discreet.clustering.central.of_synopsis import check_refine, cluster_synopsis
from discreet.clustering.how_many.suggest import suggest_k
from discreet.clustering.leaves.columns import left_out, no_part, select_columns
from discreet.clustering.options import COLUMNS, N_INIT, SCALE
from discreet.core import Declared, Domain, as_domain, check_fitted, checks, option
from discreet.core import options as shared
from discreet.core.budget import Price, Wanted
from discreet.engines import GridMap
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses import (
    MarginalSynopsis,
    OpenRelease,
    Synopsis,
    check_release,
    method_options,
    note_columns,
    open_for,
)
from discreet.synopses.boxes.grid import GridSettings, GridSynopsis, check_size, estimator
from discreet.synopses.boxes.tree import TreeSettings, TreeSynopsis
from discreet.synopses.boxes.tree import estimator as tree

#: Parameters of a synopsis estimator that the clusterer sets itself: those of the marginal model, of the others.
_SHARED = ("epsilon", "rho", "domain", "n_rows", "expect_rows", "check_first", "ledger", "random_state")
_OWN = ("epsilon", "rho", "delta", "domain", "n_rows", "size_share", "random_state", "ledger")


class PrivateKMeans(Declared, Centers):
    """k-means with differential privacy: a private synopsis of the table, then weighted k-means on its leaves.

    Attributes
    ----------
    cluster_centers_ : array of shape (clusters, columns)
        The private centres, on the columns of ``domain_``. May be fewer than asked for, with a `note_`.
    cluster_weights_, cluster_std_errors_ : array of shape (clusters,)
        Estimated number of rows nearest to each, and its standard error from the noise of the released counts.
    cluster_may_be_noise_ : array of shape (clusters,)
        Whether such a number is within its noise of zero: then there may be no cluster.
    synopsis_ : Synopsis
        What was released, weights as drawn. Everything else follows from it.
    guarantee_ : Guarantee
        Its promise.
    note_ : str
        Warnings about the centres; usually empty.
    cluster_categories_ : dict of arrays of shape (clusters, categories)
        With "marginals" only: the share of every category in each cluster, by column. Their commonest ones are the
        places of ``cluster_centers_`` on these columns.
    suggestion_ : KSuggestion or None
        The evidence for "auto"; None for a number that was given.

    Notes
    -----
    There is no ``labels_``, ``inertia_`` or ``n_iter_``: exact labels and the exact objective are facts about the rows
    that no budget was spent on. `predict` labels rows for the holder of the rows.

    Privacy
    -------
    Neighbours: add or remove one row. The rows are seen by the synopsis' mechanism alone (with "lift", by
    `discreet.clustering.central.lift.fit`), which spends exactly ε, or ρ. Refining and clustering are post-processing.
    If the domain declares a person as the unit, neighbours differ in all rows of one person. At most
    ``unit.rows`` of them are used, and all noise is that of ε/rows, or ρ/rows².

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(2000, 2, 3, random_state=0)
    >>> km = PrivateKMeans(3, epsilon=1.0, domain=data.domain, random_state=0).fit(data.X)
    >>> km.cluster_centers_.shape, km.guarantee_.epsilon
    ((3, 2), 1.0)
    """

    n_clusters: int | str = option(
        default=8,
        choices=("auto",),
        low=1,
        high=2**20,
        help='Number of clusters; "auto" estimates it from the released synopsis, at no further price.',
        details="If the synopsis shows no clusters, one centre is returned, and `note_` says so.",
    )
    epsilon: float = shared.EPSILON
    domain: Any = shared.DOMAIN
    synopsis: str | GridSynopsis | TreeSynopsis = option(
        default="auto",
        choices=("auto", "grid", "tree", "lift", "marginals"),
        objects=True,
        job="method",
        help="Synopsis in which the clusters are found.",
        details=(
            '"auto" chooses by the noisy number of rows, the domain, the number of clusters and the budget. "lift" is '
            "for a dozen columns or more: groups on the axes of a random projection, and their means in all columns. "
            '"marginals" lets categories take part: it clusters the rows of a `MarginalSynopsis`, with every column of '
            "the same weight, whatever `scale` and `refine` say. "
            "If you pass an estimator, only its settings are used; budget, domain, numbers of rows and clusters, and "
            "seed are those of this object."
        ),
    )
    refine: Any = option(
        default="auto",
        help="Refinement before k-means; see `cluster_synopsis`.",
        details='"auto" takes what goes with the chosen synopsis.',
    )
    n_init: int = N_INIT
    n_rows: float | None = shared.N_ROWS
    size_share: float = shared.SIZE_SHARE
    scale: str = SCALE
    random_state: Any = shared.RANDOM_STATE
    columns: Any = COLUMNS
    rho: Any = shared.RHO
    delta: Any = shared.DELTA
    expect_rows: int | None = shared.EXPECT_ROWS
    check_first: float | None = shared.CHECK_FIRST
    ledger: Any = shared.LEDGER
    max_clusters: int = option(
        default=20,
        low=1,
        help='Largest number of clusters that "auto" considers. The synopsis is built for half as many.',
    )
    center: Any = option(
        default=None,
        example=[0.5, 0.5],
        help='A public centre of the data, one number per column, for "lift"; otherwise estimated with noise.',
    )
    radius: float | None = option(
        default=None,
        above=0,
        example=1.0,
        help='A public bound on the distance from the centre, for "lift"; otherwise estimated with noise.',
        details="Rows beyond it count as at it.",
    )

    def fit(self, X: Any, y: Any = None) -> PrivateKMeans:
        """Release a synopsis, cluster it. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        self._mixed: mixed.MixedMap | None = None
        if isinstance(self.synopsis, str) and self.synopsis == "marginals":
            return self._fit_mixed(X)
        opening, choice, released = self._release(X)
        refine = self.refine
        if isinstance(refine, str) and refine == "auto" and not isinstance(self.n_clusters, str):
            refine = choice.refine
        found = cluster_synopsis(
            released,
            self.n_clusters,
            refine=refine,
            n_init=self.n_init,
            scale=self.scale,
            random_state=opening.gate.free.seed(),
            columns=opening.domain.names,
            max_clusters=self.max_clusters,
        )
        self.domain_, self._declared = opening.domain, opening.declared
        self.synopsis_ = released
        self.guarantee_ = opening.book(released.guarantee)
        self.cluster_centers_, self.cluster_weights_ = found.centers, found.weights
        self.cluster_std_errors_, self.cluster_may_be_noise_ = found.std_errors, found.may_be_noise
        said = left_out(opening.declared, opening.domain.names, fix=self.columns is None)
        doubtful = 0 if found.may_be_noise is None else int(found.may_be_noise.sum())
        noise = f"{doubtful} of {len(found.centers)} clusters may be noise" if doubtful else ""
        self.suggestion_ = found.suggestion
        self.note_ = "; ".join(filter(None, [said, found.note, noise, *released.warnings]))
        note_columns(self, X)
        return self

    def _marginals(self) -> MarginalSynopsis:
        """Return the estimator of the synopsis in which numbers and categories are clustered."""
        return MarginalSynopsis(**{name: getattr(self, name) for name in _SHARED}, delta=self.delta or 0.0)

    def _fit_mixed(self, X: Any) -> PrivateKMeans:
        """Cluster numbers and categories together (`discreet.clustering.central.mixed`)."""
        self.check()
        self.synopsis_ = released = self._marginals().fit(X).synopsis_
        self._declared = as_domain(self.domain, released.domain.names)
        self.domain_ = mixed.mixed_columns(released.domain, self.columns)
        seed, k, self.suggestion_ = int(str(released.digest)[-8:], 16), self.n_clusters, None
        if k == "auto":
            self.suggestion_ = suggest_k(released, max_clusters=self.max_clusters, random_state=seed)
            k = self.suggestion_.n_clusters or 1
        found = mixed.cluster_mixed(released, self.domain_, int(k), n_init=self.n_init, seed=seed)
        self._mixed, self.cluster_weights_, self.cluster_std_errors_, self.cluster_may_be_noise_ = found
        self.cluster_centers_, self.cluster_categories_ = self._mixed.split()
        self.guarantee_ = released.guarantee
        self.note_ = "; ".join(filter(None, [left_out(released.domain, self.domain_.names), *released.warnings]))
        note_columns(self, X)
        return self

    def _cells(self) -> Any:
        check_fitted(self)
        return self._mixed or super()._cells()

    def release(self, X: Any) -> Synopsis:
        """Release the synopsis that `fit` would cluster, and look for no clusters: other clusterers may."""
        if isinstance(self.synopsis, str) and self.synopsis == "marginals":
            return self._marginals().fit(X).synopsis_
        opening, _, released = self._release(X)
        opening.book(released.guarantee)
        return released

    def _release(self, X: Any) -> tuple[OpenRelease, auto.Choice, Synopsis]:
        named, fits, select = self._settings()
        shape = {"grid": lambda domain: _known_grid(domain, named), "gaussian": _gaussian(named)}
        if named is None:
            shape["parts"] = lambda domain: auto.parts_of(domain, self.scale)
        opening = open_for(self, X, check=fits, select=select, **shape)
        choice = named or choice_for(opening, self._planned_clusters(), self.scale)
        built = _build(choice, opening, self.scale, self.n_init)
        facts = no_part(opening.declared, opening.domain)
        return opening, choice, opening.weighed(built.replace(facts=facts) if facts else built)

    def check(self) -> None:
        """Refuse what no table could be clustered with: what `fit` refuses before it reads a row."""
        named, fits, select = self._settings()
        if named is not None and named.method == "marginals":
            columns = partial(mixed.mixed_columns, columns=self.columns)
            check_release(self, lambda domain, epsilon: None, columns, gaussian=lambda *_: True)
            self._marginals().check()
            return
        check_release(self, fits, select, gaussian=_gaussian(named))

    def _settings(self) -> tuple[auto.Choice | None, Callable[[Domain, Any], None], Callable[[Domain], Domain]]:
        """Check the settings; return the synopsis that they name, what checks its size, and what selects columns."""
        method_options(self)
        k = self._planned_clusters()
        check_refine(self.refine)
        named = _method(self.synopsis, k)
        ball = _declared(self.center, self.radius, named)
        if ball:
            named = auto.Choice("lift", {"n_clusters": k, **ball})
        return (
            named,
            lambda domain, epsilon: _check_size(domain, named, epsilon, self.n_rows, self.size_share),
            lambda domain: select_columns(domain, self.columns),
        )

    def _planned_clusters(self) -> int:
        """Return the number of clusters that the synopsis is made for: for "auto" half of the most there may be."""
        given, most = self.read_option("n_clusters"), self.read_option("max_clusters")
        return max(1, most // 2) if given == "auto" else given  # type: ignore[no-any-return]


def choice_for(opening: OpenRelease, n_clusters: int, scale: str = "none") -> auto.Choice:
    """Choose a method; what that takes of the rows is published first.

    Privacy
    -------
    Neighbours: add or remove one row. Counts of disjoint parts (`auto.parts_of`) were published in the place of the
    number of rows; if that is public, they cost `PARTS_SHARE` of what is left, or nothing if they would change nothing.
    Looking for tight clusters: `auto.finds_tight`.
    """
    n, gate, facts = opening.n_rows, opening.gate, (opening.domain, n_clusters)
    if (read := auto.parts_of(opening.domain, scale)) is not None:
        parts, spread = opening.parts, (opening.n_rows_variance or 0.0) / auto.N_PARTS
        if parts is not None:  # many parts are empty: without their noise below 0 the number of rows is known better
            n = float(np.maximum(parts, 0.0).sum())
        else:
            first, *others = (auto.choose(n, *facts, gate.left, where=where) for where in ("", *auto.LIFT_WHERE))
            if all(other == first for other in others):
                return first
            found = gate.counts("rows, in parts", lambda: read(opening.source), gate.left * auto.PARTS_SHARE)
            parts, spread = found.values, found.variance
        return auto.choose(n, *facts, gate.left, where=auto.most_rows(parts, n, spread))
    tight = gate.pure and auto.wants_probe(n, *facts, gate.left.shown) and auto.finds_tight(
        opening.source, opening.domain, n, n_clusters, gate
    )  # fmt: skip
    return auto.choose(n, *facts, gate.left, tight)


def planned(
    n_rows: float, n_axes: int, n_clusters: int, epsilon: float, delta: float, size_share: Fraction
) -> tuple[auto.Choice, Price]:
    """Return what "auto" would choose by public values alone, and what it would have left.

    Rows are taken to fill the domain: their places cost budget and are not known yet.
    """
    domain, wanted = Domain.box([0.0] * n_axes, 1.0), Wanted.read(epsilon, None, delta or None)
    gaussian = wanted.rho is not None and _gaussian(None)(domain, wanted.pure, wanted.rho)
    whole: Price = wanted.rho if gaussian and wanted.rho is not None else wanted.pure
    left = whole * (1 - size_share)
    return auto.choose(n_rows, domain, n_clusters, left), left


def _method(synopsis: Any, n_clusters: int) -> auto.Choice | None:
    """Return the method that the argument names; None for "auto"."""
    if isinstance(synopsis, str):
        return None if synopsis == "auto" else auto.Choice(synopsis, {"n_clusters": n_clusters})
    if not isinstance(synopsis, (GridSynopsis, TreeSynopsis)):
        expected = '"auto", "grid", "tree", a GridSynopsis or a TreeSynopsis'
        raise InvalidType("synopsis", type(synopsis), expected, 'synopsis="auto"')
    settings = {name: value for name, value in synopsis.get_params(deep=False).items() if name not in _OWN}
    if synopsis.ledger is not None:  # nothing would be charged to it
        expected = "left out, as the clusterer's own is charged"
        raise InvalidArgument("synopsis.ledger", synopsis.ledger, expected, "PrivateKMeans(..., ledger=ledger)")
    settings["n_clusters"] = n_clusters
    if isinstance(synopsis, TreeSynopsis):
        TreeSynopsis(**settings).settings()  # before any row is read
    return auto.Choice("grid" if isinstance(synopsis, GridSynopsis) else "tree", settings)


def _declared(center: Any, radius: Any, named: auto.Choice | None) -> dict[str, Any]:
    """Check a declared ball; return what there is of it."""
    found: dict[str, Any] = {}
    if center is not None:
        place = checks.numeric_column("center", center)
        if not len(place) or not np.isfinite(place).all():
            raise InvalidArgument("center", center, "a list of finite numbers, one per column", "center=None")
        found["center"] = place
    if radius is not None:
        found["radius"] = float(radius)
    if found and named is not None and named.method != "lift":
        name = next(iter(found))
        expected = "used with a projection, which clips rows to a ball"
        raise InvalidArgument(name, found[name], expected, 'synopsis="lift"')
    return found


def _check_size(domain: Domain, choice: auto.Choice | None, epsilon: Any, n_rows: Any, size_share: Any) -> None:
    """Refuse a method that does not fit its memory, before rows are read; "auto" takes a grid for few axes."""
    if choice is None and len(domain) > auto.FEW_AXES:
        return
    if choice is not None and choice.method == "lift":
        lift.check(domain, [name for name in ("center", "radius") if name in choice.settings])
        center = choice.settings.get("center")
        if center is not None and (
            len(center) != len(domain) or not np.array_equal(center, domain.clamp(center[None])[0])
        ):
            expected = f"{len(domain)} numbers within the declared bounds, one per column that is clustered"
            raise InvalidArgument("center", center.tolist(), expected, f"center={domain.bounds.center.tolist()}")
        return
    settings = _read(choice or auto.Choice("grid"))
    if isinstance(settings, TreeSettings):
        settings.check_fit(len(domain), epsilon, n_rows, size_share)
    else:
        check_size(domain, settings, epsilon, n_rows)


def _read(choice: auto.Choice) -> TreeSettings | GridSettings:
    return (TreeSynopsis if choice.method == "tree" else GridSynopsis)(**choice.settings).settings()


def _known_grid(domain: Domain, choice: auto.Choice | None) -> GridMap | None:
    settings = None if choice is None or choice.method == "lift" else _read(choice)
    return estimator.fixed_grid(domain, settings) if isinstance(settings, GridSettings) else None


def _gaussian(choice: auto.Choice | None) -> Any:
    """Return a rule that decides whether Gaussian noise is better for the chosen synopsis.

    "auto" weighs pure budgets, but where there are so many axes that rows are projected.
    """
    if choice is None:
        return lambda domain, pure, rho: auto.may_lift(domain) and lift.gaussian_lift(domain, pure, rho)
    if choice.method == "lift":
        return lift.gaussian_lift
    settings = _read(choice)
    return tree.gaussian_tree(settings) if isinstance(settings, TreeSettings) else estimator.gaussian_grid(settings)


def _build(choice: auto.Choice, opening: OpenRelease, scale: str, n_init: int) -> Synopsis:
    if choice.method == "lift":
        settings = dict(choice.settings)
        return lift.fit(opening, settings.pop("n_clusters"), scale=scale, n_init=n_init, **settings)
    read = _read(choice)
    return tree.build(opening, read) if isinstance(read, TreeSettings) else estimator.build(opening, read)
