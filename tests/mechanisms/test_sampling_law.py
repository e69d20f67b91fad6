"""The (ε, δ) of sampling before k-anonymity, against the law of the mechanism enumerated in fractions."""

import itertools
import math
import time
from collections import Counter
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import noise
from discreet.anonymity import SampledGeneralization, sampling_delta, sampling_epsilon
from discreet.mechanisms.sampled import _added

Law = dict[Any, Fraction]


def class_law(n: int, k: int, beta: Fraction) -> Law:
    """Return the law of what a class of n records shows: its drawn records if there are k, else nothing."""
    law: Law = Counter()  # type: ignore[assignment]
    for j in range(n + 1):
        law[j if j >= k else 0] += math.comb(n, j) * beta**j * (1 - beta) ** (n - j)
    return dict(law)


def excess(first: Law, second: Law, factor: Fraction) -> Fraction:
    """Σ max(0, P - e^ε Q)."""
    return sum((max(Fraction(0), p - factor * second.get(y, Fraction(0))) for y, p in first.items()), Fraction(0))


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("beta", ["1/10", "3/10", "1/2", "9/10"])
def test_delta_is_that_of_the_enumerated_law(k: int, beta: str) -> None:
    chance = Fraction(beta)
    laws = [class_law(n, k, chance) for n in range(60)]
    for epsilon in (0.01, 0.1, 0.4, 1.0, 3.0):
        factor = Fraction(math.exp(epsilon))
        found = max(max(excess(p, q, factor), excess(q, p, factor)) for p, q in itertools.pairwise(laws))
        stated = sampling_delta(k, float(chance), epsilon)
        assert float(found) <= stated <= float(found) * (1 + 1e-6)


def test_delta_of_large_classes_is_never_understated() -> None:
    # The largest difference of a wide range of sizes, by SciPy's own binomial law.
    from scipy.stats import binom

    for k, beta, epsilon in ((20, 0.1, 0.05), (20, 0.02, 0.01), (50, 0.3, 0.2)):
        factor, worst = math.exp(epsilon), 0.0
        for n in range(k - 1, int(4 * k / beta), max(1, int(k / beta / 40))):
            j = np.arange(k, n + 2)
            p, q = binom.pmf(j, n + 1, beta), binom.pmf(j, n, beta)
            hidden = binom.cdf(k - 1, [n + 1, n], beta)
            worst = max(worst, np.maximum(p - factor * q, 0).sum() + max(hidden[0] - factor * hidden[1], 0))
            worst = max(worst, np.maximum(q - factor * p, 0).sum() + max(hidden[1] - factor * hidden[0], 0))
        stated = sampling_delta(k, beta, epsilon)
        assert worst <= stated * (1 + 1e-9)
        assert stated <= worst * 1.1


def test_the_published_bound_is_never_below_the_exact_one() -> None:
    for k, beta, epsilon in itertools.product((2, 5, 20), (0.05, 0.3, 0.6), (0.05, 0.4, 1.0, 2.0, 5.0)):
        if epsilon >= -math.log1p(-beta):
            # The formula of the paper, term by term.
            gamma = 1 - (1 - beta) * math.exp(-epsilon)
            sizes = range(max(math.ceil(k / gamma - 1), 1), math.ceil(k / gamma - 1) + 40)
            published = max(
                sum(math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(math.floor(gamma * n) + 1, n + 1))
                for n in sizes
            )
            assert sampling_delta(k, beta, epsilon) <= published * (1 + 1e-6)


def test_epsilon_undoes_delta_and_moves_as_it_must() -> None:
    for k, beta, delta in itertools.product((5, 20), (0.02, 0.2), (1e-5, 1e-3)):
        if beta**k > delta:
            continue
        epsilon = sampling_epsilon(k, beta, delta)
        assert sampling_delta(k, beta, epsilon) <= delta < sampling_delta(k, beta, epsilon * 0.999)
    assert sampling_epsilon(40, 0.1, 1e-6) < sampling_epsilon(20, 0.1, 1e-6) < sampling_epsilon(20, 0.2, 1e-6)
    assert sampling_delta(4, 0.5, 60.0) == pytest.approx(0.5**4)  # all of a class of k were drawn


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda: sampling_epsilon(5, 0.5, 1e-6), r"delta must be at least sample\^k \(0.0312\).*try k=21"),
        (lambda: sampling_delta(1, 0.5, 1.0), "k must be"),
        (lambda: sampling_delta(5, 1.0, 1.0), "sample must be"),
        (lambda: sampling_delta(5, 0.5, 0), "epsilon must be"),
    ],
)
def test_settings_that_give_nothing_are_refused(call: Any, wrong: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=wrong):
        call()
    sampling_epsilon(21, 0.5, 1e-6)  # what was suggested is accepted


def whole_law(ages: list[float], monkeypatch: pytest.MonkeyPatch, k: int, beta: Fraction) -> Law:
    """The law of what is released of a table, by tossing every outcome of the coins."""
    law: Law = Counter()  # type: ignore[assignment]
    usable = [a for a in ages if not math.isnan(a)]
    for coins in itertools.product((0, 1), repeat=len(usable)):
        left = list(coins)

        def scripted(p: Any, size: int, rng: Any, left: list[int] = left) -> Any:
            assert Fraction(str(p)) == beta
            return np.array([left.pop(0) for _ in range(size)])

        monkeypatch.setattr(noise, "bernoulli", scripted)
        # delta is set wide, so that small k can be looked at: the law does not depend on it
        method = SampledGeneralization(
            k, float(beta), 0.5, domain=dc.Domain({"age": (0, 4)}), grid=4, levels={"age": 1}
        )
        release = method.fit_transform(pa.table({"age": pa.array(ages, pa.float64())}))
        assert not left  # one coin for every row, and no others
        facts = {**release.guarantee.to_dict(), "digest": None}
        shown = (tuple(release.table["age"].to_pylist()), tuple(map(str, release.bounds.to_pylist())), str(facts))
        law[shown] += math.prod((beta if c else 1 - beta for c in coins), start=Fraction(1))
    return dict(law)


@pytest.mark.filterwarnings("ignore:delta:discreet.errors.DiscreetWarning")
def test_everything_that_is_released_keeps_the_stated_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    # The table, its bounds and its guarantee together, enumerated over all coins, for tables and all their neighbours.
    k, beta = 2, Fraction(3, 10)
    tables = [[], [0.5], [0.5, 1.5], [0.5, 1.5, 0.2], [0.5, 3.5, 0.2, 3.1], [0.5, 1.5, 0.2, 3.5, 3.1, math.nan]]
    for ages in tables:
        first = whole_law(ages, monkeypatch, k, beta)
        assert sum(first.values()) == 1
        for more in (1.0, 3.0, math.nan):
            second = whole_law([*ages, more], monkeypatch, k, beta)
            for epsilon in (0.2, 0.5, 1.5):
                factor, stated = Fraction(math.exp(epsilon)), sampling_delta(k, float(beta), epsilon)
                assert max(excess(first, second, factor), excess(second, first, factor)) <= stated
            if math.isnan(more):
                assert first == second


def _difference(n: int, beta: float, epsilon: float, a: int) -> Decimal:
    """β b(n, a - 1) - (e^ε - 1) P(Binomial(n, β) >= a) to 40 digits."""
    b, growth = Decimal(beta), Decimal(epsilon).exp() - 1
    ways = math.comb(n, a)
    spare = max(ways.bit_length() - 200, 0)
    chance = Decimal(ways >> spare) * Decimal(2) ** spare * b**a * (1 - b) ** (n - a)
    before, tail, j = chance * a / (n - a + 1) * (1 - b) / b, Decimal(0), a
    while chance > Decimal(10) ** -45:
        tail += chance
        chance *= (n - j) * b / ((j + 1) * (1 - b))
        j += 1
    return b * before - growth * tail


def test_delta_is_never_stated_below_the_truth_for_large_classes() -> None:
    """ln n! of a million has eight digits before the point: the chances of such classes lose as many behind it."""
    n, beta, epsilon = 1_000_000, 0.001, 0.0001
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 40, MIN_EMIN, MAX_EMAX
        edge = 1 - (1 - beta) * math.exp(-epsilon)
        sizes = np.arange(n, n + 40)
        places = np.floor(edge * (sizes + 1)).astype(int) + 1
        for size, place, stated in list(zip(sizes, places, _added(sizes, places, beta, epsilon), strict=True))[::13]:
            true = _difference(int(size), beta, epsilon, int(place))
            assert 0 < true <= Decimal(float(stated)) <= true * (1 + Decimal("1e-5"))


def test_small_samples_are_priced_quickly() -> None:
    """If ε is barely above -ln(1 - sample), classes of thousands of records are open; most are never the worst."""
    started = time.process_time()
    assert sampling_epsilon(20, 0.001, 1e-6) == pytest.approx(0.000816, rel=1e-3)
    assert time.process_time() - started < 8
