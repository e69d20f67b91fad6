"""A release that would not fit its memory is refused by public values before a row is read, and any other fits."""

from __future__ import annotations

import itertools
import math
import re
import resource
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import discreet as dc
from discreet import engines
from discreet.clustering.central import private_kmeans
from discreet.core.budget.prices import Epsilon
from discreet.errors import InvalidArgument
from discreet.synopses.boxes.tree.growth import GrowingTree
from discreet.synopses.boxes.tree.partitioners import Grids
from discreet.synopses.boxes.tree.settings import PARTITIONERS

#: Small, so that the ceiling is met by tables that a test can afford. What a fit holds besides: rows, public lines.
CEILING, BESIDES = 2**24, 2**24
WIDTHS = (2, 3, 7, 16, 31, 60, 120, 200)
RULES = ("rugnik", "eugkm", "adaptive", "dpkfm", 2, 3)


def domain_of(columns: int, kind: str) -> dc.Domain:
    numeric = {"bounds": [0, 1], "missing": "own"} if kind == "gaps" else (0, 1)
    every = {"numeric": 0, "mixed": 3, "categories": 1, "gaps": 0}[kind]
    names = ["a", "b", "c", "d"]
    return dc.Domain({f"x{i}": names if every and i % every == 0 else numeric for i in range(columns)})


def rows_of(domain: dc.Domain) -> np.ndarray:
    return np.random.default_rng(0).random((300, len(domain)))


@pytest.fixture(autouse=True)
def _small_buffers(monkeypatch):
    """Rows are counted in buffers of a fixed size, 64 MiB at most, which would hide what is measured here."""
    monkeypatch.setattr("discreet.engines.passes.tally.SORT_ROWS", 2**16)
    monkeypatch.setattr("discreet.engines.passes.tally.DENSE_CELLS", 2**16)


class Touched(BaseException):
    """A row was read."""


def refused_untouched(monkeypatch: pytest.MonkeyPatch, model: Any, X: np.ndarray) -> InvalidArgument:
    """Return the refusal, sure that it came before rows were read and before budget was spent."""

    def touch(*args: Any, **kwargs: Any) -> Any:
        raise Touched

    with monkeypatch.context() as patch:
        for name in ("count", "sums", "run"):
            patch.setattr(engines.Source, name, touch)
        patch.setattr(dc.Ledger, "spend", touch)
        with pytest.raises(InvalidArgument) as error:
            model.fit(X)
    return error.value


def typed_back(model: Any, fix: str) -> Any:
    """Return the estimator with what an error suggested."""
    changes = {name: eval(value) for name, value in re.findall(r"(\w+)=(\"\w+\"|[-\w.+]+)", fix)}
    return model.set_params(**changes) if changes else dc.TreeSynopsis(model.epsilon, model.domain, random_state=0)


def fits_or_is_refused(monkeypatch: pytest.MonkeyPatch, model: Any, X: np.ndarray) -> str:
    tracemalloc.start()
    try:
        made = model.fit(X).synopsis_
        peak = tracemalloc.get_traced_memory()[1]
    except InvalidArgument:
        tracemalloc.stop()
        error = refused_untouched(monkeypatch, model, X)
        assert error.fix
        return {"fits": "refused"}.get(
            fits_or_is_refused(monkeypatch, typed_back(model, error.fix), X), "refused twice"
        )
    finally:
        tracemalloc.stop()
    assert peak <= CEILING + BESIDES, (model, made.n_leaves, peak / 2**20)
    return "fits"


def grids_of(rule: Any, kinds: Any, columns: Any, rows: Any) -> Any:
    for kind, width, n_rows, means in itertools.product(kinds, columns, rows, (False, True)):
        domain = domain_of(width, kind)
        memory = CEILING / 2**30
        yield (
            domain,
            dc.GridSynopsis(1.0, domain, rule, n_rows=n_rows, leaf_means=means, max_memory=memory, random_state=0),
        )


def trees_of(partitioner: str, kinds: Any, columns: Any, sizes: Any) -> Any:
    deep = {"max_depth": 12 if partitioner == "quantile" else 40}
    for kind, width, (n_rows, epsilon), more in itertools.product(
        kinds, columns, sizes, (deep, {"max_depth": 18, "threshold": -1e12})
    ):
        domain = domain_of(width, kind)
        memory = CEILING / 2**30
        yield (
            domain,
            dc.TreeSynopsis(epsilon, domain, partitioner, n_rows=n_rows, max_memory=memory, random_state=0, **more),
        )


@pytest.mark.parametrize("rule", RULES)
def test_a_wide_grid_fits_or_is_refused_before_rows_are_read(monkeypatch, rule):
    for domain, model in grids_of(rule, ["mixed"], (16, 200), (10**9,)):
        assert fits_or_is_refused(monkeypatch, model, rows_of(domain)) in ("fits", "refused")


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_a_wide_tree_fits_or_is_refused_before_rows_are_read(monkeypatch, partitioner):
    seen = [
        fits_or_is_refused(monkeypatch, model, rows_of(domain))
        for domain, model in trees_of(partitioner, ["mixed"], (60,), ((10**9, 20.0),))
    ]
    # Without tests nothing but the depth bounds a tree; density trees make none by default.
    expected = {"density": ["refused", "refused"], "privtree": ["fits", "fits"], "uniform": ["fits", "fits"]}
    assert seen == expected.get(partitioner, ["fits", "refused"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numeric", "mixed", "categories", "gaps"])
def test_releases_of_every_width_fit_or_are_refused_before_rows_are_read(monkeypatch, kind):
    for rule in RULES:
        for domain, model in grids_of(rule, [kind], WIDTHS, (300, 10**9)):
            assert fits_or_is_refused(monkeypatch, model, rows_of(domain)) in ("fits", "refused")
    for partitioner in PARTITIONERS:
        for domain, model in trees_of(partitioner, [kind], WIDTHS, ((300, 1.0), (10**9, 20.0))):
            assert fits_or_is_refused(monkeypatch, model, rows_of(domain)) in ("fits", "refused")


def test_fifteen_columns_of_a_census_are_too_many_for_an_adaptive_grid(monkeypatch):
    """It took 5.6 GB and went on: the categories alone make 38 million cells."""
    sizes = (9, 16, 7, 15, 6, 5, 2, 42, 2)
    domain = dc.Domain(
        {f"c{i}": [f"v{j}" for j in range(size)] for i, size in enumerate(sizes)} | {f"x{i}": (0, 1) for i in range(6)}
    )
    for rule in ("adaptive", "dpkfm"):
        error = refused_untouched(monkeypatch, dc.GridSynopsis(1.0, domain, rule), np.zeros((3, 15)))
        assert "GiB" in str(error)
        assert error.fix == 'rule="rugnik"'
    made = dc.GridSynopsis(1.0, domain, "rugnik", random_state=0).fit(np.zeros((3, 15))).synopsis_
    assert made.hidden is not None


def test_a_grid_of_more_cells_than_there_are_numbers_is_refused_with_what_works(monkeypatch):
    wide = dc.Domain.box([0] * 200, 1)
    error = refused_untouched(monkeypatch, dc.GridSynopsis(1.0, wide, 2), np.zeros((3, 200)))
    assert typed_back(dc.GridSynopsis(1.0, wide, random_state=0), error.fix).fit(np.zeros((3, 200))).synopsis_.n_leaves
    many = domain_of(40, "categories")
    for model in (dc.GridSynopsis(1.0, many), dc.GridSynopsis(1.0, many, "adaptive"), dc.GridSynopsis(1.0, many, 2)):
        assert "TreeSynopsis" in refused_untouched(monkeypatch, model, np.zeros((3, 40))).fix
    kmeans = dc.PrivateKMeans(2, domain=many, synopsis=dc.GridSynopsis())
    refused_untouched(monkeypatch, kmeans, np.zeros((3, 40)))


@pytest.mark.parametrize(
    "settings", [{"partitioner": "quantile", "n_quantiles": 31, "max_depth": 60, "budget": "uniform"}]
)
@pytest.mark.parametrize("more", [{"threshold": 5.0}, {"test_from": 30}, {"threshold": 5.0, "test_from": 30}])
def test_the_depth_that_an_error_suggests_is_accepted(monkeypatch, settings, more):
    model = dc.TreeSynopsis(1.0, (0, 1), **settings, **more, random_state=0)
    error = refused_untouched(monkeypatch, model, np.zeros((3, 2)))
    typed_back(model, error.fix).fit(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("epsilon", "settings"),
    [
        (1.0, {"partitioner": "quantile", "max_depth": 40}),
        (1.0, {"partitioner": "quantile", "max_depth": 40, "n_rows": 1000}),
        (1.0, {"partitioner": "quantile", "max_depth": 40, "n_quantiles": 31, "test_from": 3}),
        (1.0, {"partitioner": "quantile", "max_depth": 40, "test_from": 5, "n_rows": 10}),
        (1e-5, {"partitioner": "median", "max_depth": 62, "axis": "spread"}),
        (1e-5, {"partitioner": "binary", "max_depth": 62, "axis": "spread", "n_rows": 1}),
        (1e-5, {"partitioner": "binary", "max_depth": 62, "axis": "widest"}),  # noise too wide for its tests
        (1e-7, {"partitioner": "quantile", "max_depth": 2, "budget": "uniform"}),
        (1e-11, {"partitioner": "median"}),
        (1e-11, {"partitioner": "privtree"}),
        pytest.param(
            1e-9, {"partitioner": "density", "max_depth": 20}, marks=pytest.mark.slow
        ),  # fits half a million leaves
        (1e-9, {"partitioner": "binary", "axis": "spread", "n_rows": 5, "shares": (1e-4, 1, 1)}),
    ],
)
def test_a_tree_whose_cuts_cannot_be_paid_is_refused_before_rows_are_read(monkeypatch, epsilon, settings):
    """It failed in the middle, at the first level whose share of the budget was less than rounding may cost."""
    X = np.zeros((3, 2))
    model = dc.TreeSynopsis(epsilon, (0, 1), **settings, random_state=0)
    error = refused_untouched(monkeypatch, model, X)
    with pytest.raises(InvalidArgument) as without_rows:
        clone(model).set_params(domain=dc.Domain.box([0, 0], 1)).check()
    assert str(without_rows.value) == str(error)
    inside = dc.PrivateKMeans(2, epsilon, (0, 1), synopsis=model, n_rows=model.n_rows, random_state=0)
    assert str(refused_untouched(monkeypatch, inside, X)) == str(error)
    assert typed_back(model, error.fix).fit(X).guarantee_.epsilon == model.epsilon


def test_the_depth_that_is_suggested_is_the_largest_that_can_be_paid(monkeypatch):
    model = dc.TreeSynopsis(1.0, (0, 1), "quantile", max_depth=40, test_from=0, random_state=0)
    depth = int(re.search(r"max_depth=(\d+)", refused_untouched(monkeypatch, model, np.zeros((3, 2))).fix)[1])
    refused_untouched(monkeypatch, model.set_params(max_depth=depth + 1), np.zeros((3, 2)))
    model.set_params(max_depth=depth, domain=dc.Domain.box([0, 0], 1)).check()


def test_shares_that_leave_nothing_for_the_leaves_are_refused_before_rows_are_read(monkeypatch):
    class AllAtTheRoot(dc.synopses.OwnBudget):
        def fractions(self, levels, fan_out):
            return [1 - 1e-9] + [1e-12] * (levels - 1)

    model = dc.TreeSynopsis(1.0, (0, 1), budget=AllAtTheRoot(), shares=(1, 0, 1e-12), axis="widest", random_state=0)
    error = refused_untouched(monkeypatch, model, np.zeros((3, 2)))
    assert error.fix.startswith("shares=")


@pytest.mark.parametrize("kind", [dc.GridSynopsis, dc.PrivateKMeans, dc.DPLloyd])
def test_noise_too_wide_to_be_drawn_is_refused_before_rows_are_read(monkeypatch, kind):
    model = kind(epsilon=1e-12, domain=(0, 1), n_rows=10, random_state=0)
    assert refused_untouched(monkeypatch, model, np.zeros((3, 2))).fix == "epsilon=0.1"
    if "size_share" in model.get_params():
        model.set_params(epsilon=1e-6, n_rows=None, size_share=1e-9)
        assert refused_untouched(monkeypatch, model, np.zeros((3, 2))).fix == "size_share=0.03"


@pytest.mark.parametrize("n_axes", [1, 2, 7, 60, 97, 120, 200, 1000, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("publication", [0.01, 0.6, 20.0, math.inf])
def test_the_least_count_worth_a_grid_is_found_for_any_number_of_columns(n_axes, publication):
    """From about a hundred columns on it is above 2**53, where counts lie further apart than 1, and nothing ended."""
    tree = GrowingTree(dc.Domain.box([0] * n_axes, 1), 4)
    price = Epsilon(publication if math.isinf(publication) else Fraction(str(publication)))
    grids = Grids(tree, None, "widest", price)
    least = grids.least_count()
    assert least >= 0
    if 0 < least < math.inf:  # but for rounding; a box whose count is found to be worth no grid is halved
        assert grids.parts(np.array([least * (1 + 1e-9)]))[0] >= 2
        assert grids.parts(np.array([(least - 1) * (1 - 1e-9)]))[0] == 1


def test_a_tree_that_grows_beyond_its_memory_stops_and_says_where():
    X = np.random.default_rng(1).random((20_000, 6))
    for partitioner in ("privtree", "binary"):
        settings = {"domain": (0, 1), "partitioner": partitioner, "max_depth": 40, "random_state": 0, "n_rows": 100}
        free = dc.TreeSynopsis(200.0, **settings).fit(X).synopsis_
        tight = dc.TreeSynopsis(200.0, **settings, max_memory=2e-3).fit(X).synopsis_
        assert "stopped_at" not in free.guarantee.parameters
        stopped = tight.guarantee.parameters["stopped_at"]
        assert 0 < stopped == tight.tree.height < free.tree.height
        assert tight.guarantee.epsilon == 200.0
        assert tight.n_leaves < free.n_leaves


@pytest.mark.slow
def test_what_is_asked_of_a_wide_release_takes_little_more_than_the_release():
    domain = domain_of(200, "mixed")
    made = dc.TreeSynopsis(1.0, domain, n_rows=300, random_state=0).fit(rows_of(domain)).synopsis_

    def ask() -> None:
        made.count(x1=(0, 0.5))
        for name in domain.names:
            made.marginal(name)
        made.sample(1000, rng=0)

    ask()  # what is imported and compiled at the first time is not of interest
    tracemalloc.start()
    ask()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * (1000 + 3 * made.n_leaves) * 200 * 3


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "2"])
def test_the_ceiling_is_a_positive_number(value):
    for kind in (dc.GridSynopsis, dc.TreeSynopsis):
        with pytest.raises(InvalidArgument, match="max_memory"):
            kind(1.0, (0, 1), max_memory=value).fit(np.zeros((3, 2)))


def test_a_grid_inside_k_means_keeps_its_ceiling():
    choice = private_kmeans._method(dc.GridSynopsis(max_memory=0.5), 3)
    assert choice is not None
    assert choice.settings["max_memory"] == 0.5


_JOB = """
import resource
import sys
import numpy as np
import discreet as dc
columns, rule = int(sys.argv[1]), sys.argv[2]
X = np.random.default_rng(0).random((300, columns))
settings = {"n_rows": 1e12, "random_state": 0}
small = {"n_rows": 10, "random_state": 0}
def make(rows):
    if rule in ("adaptive", "rugnik"):
        return dc.GridSynopsis(1.0, (0, 1), rule, **rows)
    depth = 11 if rule == "density" else 40  # without tests, only its depth bounds a density tree
    return dc.TreeSynopsis(20.0, (0, 1), rule, max_depth=depth, **rows)
make(small).fit(X)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
made = make(settings).fit(X).synopsis_
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["adaptive", "rugnik", "binary", "density", "privtree"])
@pytest.mark.parametrize("columns", [16, 200])
def test_two_gibibytes_are_not_exceeded_by_default(rule, columns):
    """The whole process, by the operating system's measure; 5 GiB of addresses stop it where it would run away."""
    done = subprocess.run(
        [sys.executable, "-c", _JOB, str(columns), rule],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30)),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) <= 2 * 2**30 + 2**27
