"""Planning: what is predicted is what the mechanisms do, and the order makes sense."""

from __future__ import annotations

import inspect
import json
import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.local import DirectResponse, plan
from discreet.local.planning import plan as module
from discreet.local.sketches.count_mean import CountMeanSketch
from discreet.local.sketches.hadamard import HadamardSketch

FAMILIES = {
    "bit-flip",
    "count-mean-sketch",
    "direct-response",
    "hadamard-response",
    "hadamard-sketch",
    "local-hashing",
    "projective-geometry",
    "rappor",
    "subset-selection",
    "unary-encoding",
}


def test_every_family_is_compared_with_its_own_figures() -> None:
    found = plan(3, 1024, 10_000)
    assert {row.mechanism for row in found} == FAMILIES
    for row in found:
        m = row.make(1024, key=1)
        assert row.mechanism == m.NAME
        assert float(m.epsilon) == pytest.approx(3, rel=1e-6)
        assert m.report_bits == row.report_bits
        assert m.layout.size == row.report_bytes
        assert row.state_bytes == 8 * sum(counter.size for counter in m._zeros().values())
        assert {name: getattr(m, name) for name in row.settings} == row.settings
    # The constants of the spec, C.11: variance of a rare count over n.
    wanted = {
        "direct-response": 2.8608,
        "subset-selection": 0.21820,
        "hadamard-response": 0.22318,
        "projective-geometry": 0.22082,
        "unary-encoding": 0.22056,
        "bit-flip": 0.36971,
    }
    for name, constant in wanted.items():
        assert 10_000 * found[name].rare_error ** 2 == pytest.approx(constant, rel=5e-4)


@pytest.mark.parametrize("name", sorted(FAMILIES - {"bit-flip", "rappor"}))
def test_predicted_errors_are_met(name: str) -> None:
    """Over fresh keys; half hold one value, so skew = 0.5. Each error is a mean over forty absent values and runs."""
    d, n = 50, 2000
    row = plan(2, d, n, share=0.5, skew=0.5)[name]
    rare, held = [], []
    for seed in range(40):
        m = row.make(d, key=seed)
        counts = m.aggregate(m.encode(np.repeat([3, 7], n // 2), rng=seed))
        found = m.estimate(counts, [3, *range(9, 49)]).frequency
        held.append(found[0] - 0.5)
        rare.extend(found[1:])
    assert math.sqrt(np.mean(np.square(rare))) == pytest.approx(row.rare_error, rel=0.12)
    assert math.sqrt(np.mean(np.square(held))) == pytest.approx(row.held_error, rel=0.45)


@pytest.mark.parametrize(
    ("epsilon", "size", "n"), [(1, 3, 100), (8, 50, 10_000), (3, 1024, 10**5), (0.5, 10**6, 10**7), (4, 22_000, 1000)]
)
def test_order(epsilon: float, size: int, n: int) -> None:
    rows = plan(epsilon, size, n).rows
    assert [row.remembers for row in rows] == sorted(row.remembers for row in rows)
    least = min(row.rare_error for row in rows if not row.heavy)
    best = plan(epsilon, size, n).best
    assert best.rare_error <= 1.03 * least
    assert best.report_bits == min(
        row.report_bits for row in rows if not (row.heavy or row.remembers) and row.rare_error <= 1.03 * least
    )


def test_few_values_want_direct_response_and_many_do_not() -> None:
    assert plan(2, 4, 1000).best.mechanism == "direct-response"
    many = plan(2, 10_000, 1000)
    assert many.best.mechanism in ("projective-geometry", "hadamard-response", "local-hashing")
    assert many["direct-response"].rare_error > 5 * many.best.rare_error


def test_small_reports() -> None:
    found = plan(3, 1024, 10**5, max_bytes=2)
    assert found.best.report_bytes <= 2
    for row in found:
        assert row.fits == (row.report_bytes <= 2)
        assert ("too large" in row.notes) == (not row.fits)
    # Settings give way: fewer bits of the Hadamard response, a smaller geometry, a smaller sketch.
    assert found["hadamard-response"].settings["bits"] == 1
    assert plan(3, 1024, 10**5, max_bytes=3)["hadamard-response"].settings["bits"] == 2
    assert found["hadamard-sketch"].fits
    assert found["count-mean-sketch"].fits
    assert plan(4, 22_000, 1000, max_bytes=2)["projective-geometry"].settings["order"] < 53
    assert [row.fits for row in found if not row.remembers] == sorted(
        (row.fits for row in found if not row.remembers), reverse=True
    )
    # With a tiny report the best mechanism is bad, and its error shows it.
    tiny = plan(3, 10**6, 1000, max_bytes=1).best
    assert tiny.report_bytes == 1
    assert "collisions add" in tiny.notes


def test_target() -> None:
    found = plan(1, 1000, 100_000, target_error=0.0065)
    for row in found:
        m = row.make(1000, key=1)
        if row.mechanism in ("count-mean-sketch", "hadamard-sketch") or "pool" in row.settings:
            continue
        assert math.sqrt(m.variance(row.smallest_n, 0)) / row.smallest_n <= 0.0065
        assert math.sqrt(m.variance(row.smallest_n - 1, 0)) / (row.smallest_n - 1) > 0.0065
    # Among those that reach the target, the smallest report is first.
    reach = [row for row in found if row.rare_error <= 0.0065 and not row.remembers]
    assert list(found.rows[: len(reach)]) == sorted(reach, key=lambda row: (row.report_bytes, row.rare_error))
    # Collisions set a floor that more reports do not lower.
    floor = plan(8, 50, 10**6, max_bytes=2, target_error=1e-6)["hadamard-sketch"]
    assert floor.smallest_n is None
    assert "collisions" in floor.notes
    assert plan(1, 1000, 1000)["direct-response"].smallest_n is None


def test_relative_error_of_a_share() -> None:
    """B.5: n >= (a/(a-1)²)/(η s)² for an error of η times the share s, by symmetric flips."""
    a, eta, s = math.exp(1), 0.1, 0.02
    wanted = a / (a - 1) ** 2 / (eta * s) ** 2
    rows = [row for row in plan(2, 100, 1000, target_error=eta * s) if row.settings.get("variant") == "symmetric"]
    assert rows[0].smallest_n == math.ceil(wanted)


def test_shape_of_sketches() -> None:
    """Annex B.3 and B.4: columns and rows keep collisions at a twentieth of the noise each."""
    for epsilon, n in ((1, 10**4), (2, 10**5), (4, 10**5)):
        found = plan(epsilon, 1000, n)
        for name, kind in (("count-mean-sketch", CountMeanSketch), ("hadamard-sketch", HadamardSketch)):
            shape = found[name].settings
            assert shape["width"] & (shape["width"] - 1) == 0
            ideal = kind(epsilon, 2**20, 2**10, key=0).variance(n, 0, second_moment=0)
            assert (n * found[name].rare_error) ** 2 < 1.16 * ideal
        # Values that are spread evenly collide less: fewer rows do.
        spread = plan(epsilon, 1000, n, skew=0.001)
        assert spread["hadamard-sketch"].settings["n_hashes"] <= found["hadamard-sketch"].settings["n_hashes"] / 2
    # Bounded memory, however many report; then the plan says what collisions cost.
    huge = plan(4, 1000, 10**9)["count-mean-sketch"]
    assert huge.state_bytes <= 2**27
    assert "collisions add" in huge.notes


def test_rows_for_printing_and_tables() -> None:
    found = plan(2, 1000, 10**5, target_error=0.01)
    rows = found.to_rows()
    assert len(rows) == len(found)
    assert all(isinstance(value, str) for row in rows for value in row.values())
    assert "error, at 10 %" in rows[0]
    text = str(found)
    assert text.startswith("epsilon 2, 1,000 values, 100,000 reports; standard errors of shares\nmechanism")
    assert len(text.splitlines()) == len(found) + 2
    table = found.to_arrow()
    assert table.num_rows == len(found)
    assert table.column("mechanism").to_pylist() == [row.mechanism for row in found]
    assert json.loads(json.dumps(table.to_pylist()))[0]["mechanism"] == found.best.mechanism
    assert plan(2, 1000, 10**5).to_arrow().schema == table.schema


def test_make_wants_the_values_planned_for() -> None:
    row = plan(1, 3, 1000).best
    assert row.make(["a", "b", "c"]) == DirectResponse(1, ["a", "b", "c"])
    with pytest.raises(dc.errors.InvalidArgument, match="the 3 planned for"):
        row.make(4)
    names = [f"v{i}" for i in range(1024)]
    for row in plan(3, 1024, 1000):
        assert row.make(names, key=3).report_bits == row.report_bits


def test_the_whole_scale_of_arguments() -> None:
    for epsilon in (0.001, 0.7, 12, 200):
        for size in (2, 3, 4097, 2**20, 2**32):
            for n in (1, 10**12):
                found = plan(epsilon, size, n, max_bytes=100)
                assert all(math.isfinite(row.rare_error) and row.rare_error > 0 for row in found)
                assert found.best.fits


def test_a_plan_touches_no_data() -> None:
    assert "encode" not in inspect.getsource(module)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"domain_size": 1}, "domain_size"),
        ({"domain_size": ["a", "b"]}, "domain_size"),
        ({"n": 0}, "n must"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"target_error": 0}, "target_error"),
        ({"share": 1}, "share"),
        ({"skew": 1.5}, "skew"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        plan(**{"epsilon": 1, "domain_size": 10, "n": 100, **arguments})
    with pytest.raises(dc.errors.InvalidArgument, match="one of bit-flip, count-mean-sketch"):
        _ = plan(1, 10, 100)["nope"]
