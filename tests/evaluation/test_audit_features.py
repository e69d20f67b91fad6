"""Features that an audit computes from a release: numbers near the differing record, bits, tables, words."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dc
from discreet.evaluation.audits import release_features as _features

audit = dc.evaluation.audit


def leaf(value: float) -> dc.Synopsis:
    return dc.synopses.BoxSynopsis(
        dc.Domain({"age": (0, 100), "sex": ["f", "m"]}),
        lower=[[0, 0], [50, 0]],
        upper=[[50, 2], [100, 2]],
        weights=[value, 3.0],
        variances=[1.0, 1.0],
        guarantee=dc.Guarantee("central"),
    )


def test_a_synopsis_is_looked_at_where_the_differing_record_lies() -> None:
    people = [{"age": 20.0, "sex": "m"}, {"age": 70.0, "sex": "f"}]
    data, neighbour = pa.Table.from_pylist(people), pa.Table.from_pylist(people[:1])
    features = _features.features_for(leaf(5.0), data, neighbour)
    values = dict(zip(features.names, features(leaf(5.0)), strict=True))
    assert values["weight at differing record 0"] == 3.0
    assert values["lower edge of age at differing record 0"] == 50.0
    assert values["total"] == 8.0


def test_reports_and_counts_are_looked_at_bit_by_bit() -> None:
    m = dc.local.DirectResponse(epsilon=1, domain=4)

    def report(value: int, rng: Any) -> Any:
        return m.encode([value], rng=rng)

    def counts(value: int, rng: Any) -> Any:
        return m.aggregate(m.encode([value, 1], rng=rng))

    for mechanism in (report, counts):
        found = audit(mechanism, 0, 3, 3000, epsilon=1, random_state=1)
        assert 0.4 < found.epsilon_lower <= 1


def test_centres_and_points_are_looked_at_near_the_differing_record() -> None:
    class Fitted:
        cluster_centers_ = np.array([[0.0, 0.0], [3.0, 4.0]])

    data = np.array([[1.0, 1.0], [3.0, 3.0]])
    for release in (Fitted(), Fitted.cluster_centers_):
        features = _features.features_for(release, data, data[:1])
        values = dict(zip(features.names, features(release), strict=True))
        assert values["distance to differing record 0"] == 1.0
    points = _features.features_for(Fitted.cluster_centers_, data, data[:1])
    batch = np.stack([Fitted.cluster_centers_, Fitted.cluster_centers_ + 1])
    assert np.array_equal(points.batch(batch), np.array([points(b) for b in batch]))


def test_tables_of_all_kinds_are_read() -> None:
    frame = pd.DataFrame({"age": ["[20, 30)", "[30, 39.5]"], "n": [1, 2]})
    data, neighbour = pa.table({"age": [39.5, 21.0]}), pa.table({"age": [21.0]})
    for release in (frame, pa.table(frame.to_dict("list"))):
        features = _features.features_for(release, data, neighbour)
        values = dict(zip(features.names, features(release), strict=True))
        assert values["rows"] == 2
        assert values["largest of age"] == 39.5
        assert values["entries of age equal to differing record 0"] == 1


@pytest.mark.parametrize(
    "release", [3, 2.5, True, "word", b"w", None, [1, None, "x"], {"a": 1, "b": [2]}, {1, 2}, np.zeros((2, 3)), ()]
)
def test_plain_releases_become_numbers(release: Any) -> None:
    features = _features.features_for(release, 0, 1)
    first, again = features(release), features(release)
    assert len(first) == len(features.names)
    assert np.array_equal(first, again, equal_nan=True)


def test_batches_and_single_releases_have_the_same_features() -> None:
    batch = np.arange(12.0).reshape(4, 3)
    features = _features.NumberFeatures(batch[0])
    assert np.array_equal(features.batch(batch), np.array([features(row) for row in batch]), equal_nan=True)
    assert np.array_equal(features.batch(list(batch)), features.batch(batch), equal_nan=True)


def test_words_and_releases_of_varying_length_can_be_audited() -> None:
    def word(bit: int, rng: Any) -> str:
        return ["no", "yes"][bit ^ int(rng.random() < 0.1)]

    def run(n: int, rng: Any) -> list[int]:
        return [1] * int(n + rng.geometric(0.5))

    assert audit(word, 0, 1, 2000, epsilon=1, random_state=1).passed is False
    assert audit(run, 0, 1, 2000, epsilon=1, random_state=1).event.startswith(("length", "sum"))


def test_wide_releases_are_thinned_out_without_losing_the_leak() -> None:
    def wide(place: int, rng: Any, size: int) -> Any:
        table = rng.integers(0, 2, size=(size, 500))
        table[:, 300] = (rng.random(size) < 0.9) == bool(place)
        return table

    found = audit(wide, 0, 1, 4000, epsilon=1, batch=True, random_state=1)
    assert found.passed is False
    assert len(found.features) == 64


def test_differing_records_are_found_in_every_kind_of_input() -> None:
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    assert _features.differing(table, table.slice(0, 1)) == ([{"a": 2, "b": "y"}], [])
    assert _features.differing(table.to_pandas(), table.slice(0, 1).to_pandas()) == ([{"a": 2, "b": "y"}], [])
    assert _features.differing(np.array([1.0, 1.0]), np.array([1.0])) == ([1.0], [])
    assert _features.differing(object(), object()) == ([], [])


def test_exact_noise_shows_nothing_in_its_bits() -> None:
    def exact(rows: Any, rng: Any, size: int) -> Any:
        return (len(rows) * 16 + dc.noise.discrete_laplace(16, size=size, rng=rng)) / 16

    bits = dc.evaluation.BitPatterns()
    found = dc.evaluation.audit(exact, [1], [], 20_000, epsilon=1, features=bits, batch=True, random_state=1)
    assert found.passed
    assert found.epsilon_lower > 0.7


def test_the_bits_of_a_double_are_read_exactly() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(size=200), [0.0, 1.0, -0.5, 5e-324, 3 * 2.0**-1060, 1e300, np.nan]])
    table = dc.evaluation.BitPatterns().batch(values)
    for x, row in zip(values, table, strict=True):
        if not np.isfinite(x) or x == 0:
            continue
        ratio = Fraction(x)
        last = (ratio.numerator & -ratio.numerator).bit_length() - 1 - (ratio.denominator.bit_length() - 1)
        assert row[2] == last
        assert row[3] == math.floor(math.log2(abs(ratio.numerator)) - math.log2(ratio.denominator))
    assert np.isnan(table[-1]).all()
