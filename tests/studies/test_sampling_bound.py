"""The published bound of sampling before k-anonymity, as the study computes it."""

from __future__ import annotations

import itertools
import math

import pytest

from discreet.anonymity import sampling_delta
from studies.measures.sampling import published_delta


def test_the_published_bound_is_the_formula_of_the_paper_and_above_the_exact_delta() -> None:
    for k, beta, epsilon in itertools.product((2, 5, 20), (0.05, 0.3), (0.4, 1.0, 2.0)):
        gamma = 1 - (1 - beta) * math.exp(-epsilon)
        first = max(math.ceil(k / gamma - 1), 1)
        plain = max(
            sum(math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(math.floor(gamma * n) + 1, n + 1))
            for n in range(first, first + 40)
        )
        assert published_delta(k, beta, epsilon) == pytest.approx(plain, rel=1e-6)
        assert sampling_delta(k, beta, epsilon) <= published_delta(k, beta, epsilon) * (1 + 1e-6)
