"""Clustering after metric privacy: the law is used, nothing raw is, and it beats k-means that ignores the noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import gamma
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

import discreet as dc
from discreet.clustering import DenoisingKMeans
from discreet.clustering.noisy import _kernels, deconvolution
from discreet.clustering.noisy.mixture import FORMS, Components, NoisyRecords, width_nodes
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation import nicv
from discreet.metric import IsotropicLaw
from noisy_clusters import four_clusters, laplace


class PerColumn:
    """Independent Laplace noise on every column, with its own scale: a product law."""

    def __init__(self, scales):
        self.scales = np.asarray(scales)

    def log_density(self, offsets):
        return -(np.abs(offsets) / self.scales).sum(axis=-1)


# The law


@pytest.mark.parametrize("d", [1, 2, 3, 7, 20])
def test_the_width_mixture_is_the_isotropic_laplace_law(d):
    rate = 3.0
    nodes, logs = width_nodes(d, rate)
    lengths = gamma(d).ppf(np.linspace(0.005, 0.99, 50)) / rate
    gaussians = logs - d / 2 * np.log(2 * np.pi * nodes) - lengths[:, None] ** 2 / (2 * nodes)
    front = d * math.log(rate) + gammaln(d / 2) - math.log(2) - d / 2 * math.log(math.pi) - gammaln(d)
    assert np.logaddexp.reduce(gaussians, axis=1) == pytest.approx(front - rate * lengths, abs=0.01)


def test_the_round_kernel_agrees_with_the_general_one():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(50, 3))
    records = NoisyRecords(z, 2.0, None)
    c = Components.round(np.array([0.3, 0.7]), rng.normal(size=(2, 3)), 0.2)
    precision, table = records._tables(c)
    whole = _kernels.sums(z, c.means, c.axes, precision, table, records.nodes)
    fast = _kernels.round_sums(z, c.means, np.full(2, 0.2), table, records.nodes)
    for a, b in zip(whole[:3], fast[:3], strict=True):
        assert b == pytest.approx(a, rel=1e-4, abs=1e-4)
    assert np.trace(whole[4], axis1=1, axis2=2) == pytest.approx(fast[4], rel=1e-3)


@pytest.mark.parametrize("form", FORMS)
def test_climbing_raises_the_likelihood_and_finds_the_clusters(form):
    rng = np.random.default_rng(1)
    centers, _, X = four_clusters(2000, 2, rng)
    records = NoisyRecords(X + laplace(rng, 2000, 2, 20), 20.0, (np.zeros(2), np.ones(2)))
    start = Components.round(np.full(4, 0.25), centers + 0.08 * rng.standard_normal((4, 2)), 0.01)
    fitted = records.climb(start, form, 60)
    assert fitted.score > records.climb(start, form, 1).score
    assert np.abs(fitted.means - centers).max() < 0.03
    assert np.sqrt(fitted.variances) == pytest.approx(np.full((4, 2), 0.05), abs=0.03)


# Deconvolution


def test_em_on_a_grid_raises_the_likelihood_at_every_step():
    rng = np.random.default_rng(2)
    z = rng.random((200, 2)) + laplace(rng, 200, 2, 5)
    f = deconvolution.densities(z, deconvolution.grid(np.zeros(2), np.ones(2), 9), IsotropicLaw(2, 5.0).log_density)
    likelihoods = [np.log(f @ deconvolution.weights_by_em(f, np.ones(200), steps)).sum() for steps in range(1, 30)]
    assert (np.diff(likelihoods) >= -1e-9).all()


def test_gathering_keeps_the_number_and_the_mean_of_records():
    z = np.random.default_rng(3).normal(size=(20_000, 2))
    cells, counts = deconvolution.gathered(z, 1000)
    assert len(cells) <= 1000
    assert counts.sum() == 20_000
    assert counts @ cells / 20_000 == pytest.approx(z.mean(axis=0))


# The estimator


@pytest.mark.parametrize(
    ("d", "rate", "n", "least"),
    [
        (2, 8.0, 500, 0.1),
        pytest.param(7, 9.0, 700, 0.05, marks=pytest.mark.slow),
        pytest.param(20, 18.0, 700, 0.005, marks=pytest.mark.slow),
    ],
)
def test_it_beats_k_means_of_the_noisy_records(d, rate, n, least):
    """Mean log ratio of the costs over 3 draws; each draw's gain was positive when the bounds were set."""
    gains = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        _, _, X = four_clusters(n, d, rng)
        Z = X + laplace(rng, n, d, rate)
        aware = DenoisingKMeans(4, rate, domain=(0, 1)).fit(Z).cluster_centers_
        plain = KMeans(4, n_init=10, random_state=0).fit(Z).cluster_centers_
        gains.append(math.log(nicv(X, plain) / nicv(X, aware)))
    assert np.mean(gains) > least


def test_without_noise_it_is_k_means():
    rng = np.random.default_rng(0)
    _, _, X = four_clusters(500, 2, rng)
    Z = X + laplace(rng, 500, 2, 1e4)
    aware = DenoisingKMeans(4, 1e4, method="clusters").fit(Z)
    best = KMeans(4, n_init=10, random_state=0).fit(X)
    assert nicv(X, aware.cluster_centers_) == pytest.approx(best.inertia_ / 500, rel=1e-3)
    assert adjusted_rand_score(aware.labels_, best.labels_) == 1.0
    assert aware.weights_ == pytest.approx(np.bincount(aware.labels_) / 500, abs=0.005)


def test_noisy_records_are_labelled_better_than_by_the_nearest_centre_of_k_means():
    rng = np.random.default_rng(5)
    _, labels, X = four_clusters(2000, 2, rng)
    Z = X + laplace(rng, 2000, 2, 10)
    aware = DenoisingKMeans(4, 10.0, domain=(0, 1)).fit(Z)
    plain = KMeans(4, n_init=10, random_state=0).fit(Z)
    assert adjusted_rand_score(labels, aware.labels_) >= adjusted_rand_score(labels, plain.labels_) - 0.01
    assert (aware.predict(Z) == aware.labels_).all()
    assert adjusted_rand_score(labels, aware.predict(X, noisy=False)) == 1.0


@pytest.mark.slow
def test_a_product_law_is_deconvolved_in_few_and_in_many_columns():
    for d, scales, least in ((2, [0.05, 0.3], 0.5), (6, [0.05] * 3 + [0.3] * 3, 0.03)):
        gains = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            _, _, X = four_clusters(800, d, rng)
            Z = X + rng.laplace(size=X.shape) * scales
            aware = DenoisingKMeans(4, PerColumn(scales), domain=(0, 1)).fit(Z)
            assert aware.method_ == "places"
            plain = KMeans(4, n_init=10, random_state=0).fit(Z).cluster_centers_
            gains.append(math.log(nicv(X, plain) / nicv(X, aware.cluster_centers_)))
        assert np.mean(gains) > least, d


def test_units_of_the_columns_do_not_matter_under_scale_domain():
    rng = np.random.default_rng(6)
    _, _, X = four_clusters(300, 2, rng)
    Z = X + laplace(rng, 300, 2, 10)
    widths = np.array([1000.0, 0.01])
    domain = dc.Domain({"a": (0, 1000), "b": (0, 0.01)})
    one = DenoisingKMeans(4, 10.0, domain=(0, 1)).fit(Z)
    other = DenoisingKMeans(4, 10.0, domain=domain, scale="domain").fit(Z * widths)
    assert other.cluster_centers_ / widths == pytest.approx(one.cluster_centers_, abs=1e-6)


def test_it_is_a_function_of_noisy_records_and_public_facts():
    """Same noisy records, same answer; and no argument through which a raw record could come."""
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(200, 2))
    a, b = (DenoisingKMeans(3, 2.0, domain=(-3, 3)).fit(Z.copy()) for _ in range(2))
    assert (a.cluster_centers_ == b.cluster_centers_).all()
    assert set(a.get_params()) == {"n_clusters", "law", "domain", "scale", "method", "n_init", "random_state"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_it_is_a_scikit_learn_clusterer():
    for result in check_estimator(DenoisingKMeans(3, 2.0, n_init=0), on_skip=None, on_fail="raise"):
        assert result["status"] in ("passed", "skipped")
    assert clone(DenoisingKMeans(4, IsotropicLaw(2, 3.0))).law == IsotropicLaw(2, 3.0)


def test_one_cluster_few_records_and_equal_records():
    assert DenoisingKMeans(1, 1.0).fit([[0.0, 1.0], [2.0, 1.0]]).cluster_centers_.shape == (1, 2)
    same = DenoisingKMeans(2, 5.0, domain=(0, 1)).fit(np.full((20, 2), 0.5))
    assert np.isfinite(same.cluster_centers_).all()
    far = DenoisingKMeans(2, 1e-3, domain=(0, 1)).fit(np.random.default_rng(0).normal(size=(50, 2)) * 1e4)
    assert ((far.cluster_centers_ >= 0) & (far.cluster_centers_ <= 1)).all()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"law": -1.0}, "law"),
        ({"law": "laplace"}, "law"),
        ({"law": IsotropicLaw(3, 1.0)}, "law"),
        ({"law": PerColumn([1, 1]), "method": "clusters"}, "method"),
        ({"scale": "domain"}, "domain"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"domain": dc.Domain.box([0, 0, 0], [1, 1, 1])}, "domain"),
    ],
)
def test_wrong_arguments_are_named(arguments, name):
    with pytest.raises((InvalidArgument, InvalidType, dc.errors.SchemaError), match=name):
        DenoisingKMeans(**{"n_clusters": 2, "law": 1.0, **arguments}).fit(np.zeros((5, 2)))


# Other algorithms


def test_the_criterion_finds_the_number_of_clusters_behind_noise_that_hides_the_gaps():
    rng = np.random.default_rng(4)
    places = np.array([[0.2, 0.2], [0.8, 0.3], [0.3, 0.8], [0.7, 0.8]])
    X = places[np.arange(800) % 4] + 0.05 * rng.normal(size=(800, 2))
    Z = dc.metric.NDLaplace(12.0, 1.0, (0, 1), random_state=3).transform(X)
    fits = {k: DenoisingKMeans(k, 12.0, domain=(0, 1), method="clusters").fit(Z).bic_ for k in range(1, 7)}
    assert min(fits, key=fits.get) == 4
    assert math.isnan(DenoisingKMeans(2, 12.0, domain=(0, 1), method="places").fit(Z).bic_)
