"""Numbers on a device: exactly private by enumeration, the same bucket and the same bytes in every language."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidArgument
from discreet.local import Task, write_frame
from discreet.local.numbers.scales import Scale
from discreet.local.tasks.device import Device
from discreet.noise.reports.laws import within
from discreet.noise.reports.one_device import ByteCoins
from in_node import CLIENT, node

TIMES = {"opens": "2020-01-01T00:00:00Z", "closes": "2099-01-01T00:00:00Z"}
Law = dict[bytes, Fraction]


def task_of(mechanism: Any, **more: Any) -> Task:
    return Task(mechanism, name="n", per_day=200, wanted=10, minimum=1, **TIMES, **more)


class Fork(Exception):
    def __init__(self, chances: list[Fraction] | int) -> None:
        self.chances = chances


class Script:
    """Coins with given results. A draw that was not told raises."""

    def __init__(self, told: tuple[int, ...]) -> None:
        self._told = list(told)

    def _next(self, chances: Any) -> int:
        if not self._told:
            raise Fork(chances)
        return self._told.pop(0)

    def toss(self, threshold: bytes) -> bool:
        heads = Fraction(int.from_bytes(threshold, "big"), 256 ** len(threshold))
        return bool(self._next([1 - heads, heads]))

    def below(self, bound: int) -> int:
        return self._next(bound if bound > 1000 else [Fraction(1, bound)] * bound)

    def take(self, n: int) -> bytes:
        raise AssertionError


def exact_law(device: Device, value: Any, told: tuple[int, ...] = ()) -> Law:
    """Return the probability of every report. A ticket below a large number decides one comparison: two cases."""
    try:
        return {device.report(value, Script(told)): Fraction(1)}
    except Fork as fork:
        chances = fork.chances
    law: Law = defaultdict(Fraction)
    if isinstance(chances, int):
        first, last = exact_law(device, value, (*told, 0)), exact_law(device, value, (*told, chances - 1))
        low, high = 0, chances - 1  # the first ticket with the law of the last
        while low < high:
            middle = (low + high) // 2
            now = exact_law(device, value, (*told, middle))
            assert now in (first, last)
            low, high = (low, middle) if now == last else (middle + 1, high)
        parts = [(first, Fraction(low, chances)), (last, Fraction(chances - low, chances))]
    else:
        parts = [(exact_law(device, value, (*told, i)), p) for i, p in enumerate(chances) if p]
    for part, chance in parts:
        for report, own in part.items():
            law[report] += chance * own
    return dict(law)


SMALL: list[tuple[Any, list[Any]]] = [
    (dc.local.SquareWave(1, 0, 1, 5), [0, 0.3, 0.5, 0.99, 2, None]),
    (dc.local.SquareWave(2, 1, 64, 8, "log"), [0.5, 1, 3, 8, 64, "x"]),
    (dc.local.SquareWave(0.5, 0, 1, 4, reach=0), [0, 0.3, 0.99]),
    (dc.local.MeanResponse(2, 0, 1, "duchi"), [0, 0.25, 0.7, 1, math.nan]),
    (dc.local.MeanResponse(1, 0, 1, "piecewise", 3), [0, 0.25, 0.7, 1, math.inf]),
    (dc.local.MeanResponse(2, 0, 1, "hybrid", 2), [0, 0.3, 1, None]),
    (dc.local.MeanResponse(0.5, 0, 1), [0, 0.3, 1]),
    (dc.local.MeanVector(1, [0, 0], [1, 2], "hybrid", 2), [[0, 0], [1, 2], [0.3, 1.1], None]),
    (dc.local.MeanVector(5, [0, 0], [1, 2], "duchi"), [[0, 0], [1, 2], [0.3, 1.1], [1, 0]]),
]


@pytest.mark.parametrize(("m", "values"), SMALL, ids=[f"{m.NAME}-{i}" for i, (m, _) in enumerate(SMALL)])
def test_no_report_of_a_number_tells_two_apart_by_more_than_epsilon(m: Any, values: list[Any]) -> None:
    """Exact rational probabilities of every report: the ratio is at most e^epsilon, and near it at the ends."""
    device = Device(task_of(m))
    laws = [exact_law(device, value) for value in values]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = max(one[r] / two[r] for one in laws for two in laws for r in one)
    assert within(worst, m.epsilon.exact)
    assert float(worst) == pytest.approx(math.exp(float(m.epsilon)), rel=1e-6)
    if getattr(m, "n_sent", 1) > 1:
        return
    for value, law in zip(values, laws, strict=True):
        if isinstance(m, dc.local.MeanVector) and value is None:
            value = [math.nan, math.nan]
        rows, chances = m.report_law(value)
        assert {row.tobytes() for row in rows} == set(law)
        for row, expected in zip(rows, chances, strict=True):
            assert math.isclose(law[row.tobytes()], expected, rel_tol=1e-8)


def test_a_coin_too_sure_for_its_price_is_refused() -> None:
    for m, coin in (
        (dc.local.SquareWave(1, 0, 1, 5), "keep"),
        (dc.local.MeanResponse(1, 0, 1), "keep"),
        (dc.local.MeanResponse(1, 0, 1), "informed"),
        (dc.local.MeanVector(1, [0, 0], [1, 1]), "choice"),
    ):
        facts = json.loads(task_of(m).to_json())
        facts["coins"][coin] = f"{int(facts['coins'][coin], 16) + 1:032x}"
        with pytest.raises(dc.errors.FormatError, match="coins"):
            Task.from_json(json.dumps(facts, sort_keys=True, separators=(",", ":")))


def random_scale(draw: random.Random) -> tuple[float, float, bool]:
    log = draw.random() < 0.5
    low = 10 ** draw.uniform(-9, 6) if log else draw.choice([0.0, -1.5, 1e-7, 123.456, -1e9])
    return low, (low * 10 ** draw.uniform(0.5, 12) if log else low + 10 ** draw.uniform(-3, 9)), log


def test_the_bucket_of_a_column_is_the_bucket_by_whole_numbers() -> None:
    """On edges, just beside them, and anywhere: comparing doubles with rounded edges is the exact rule."""
    draw = random.Random(1)
    for turn in range(60):
        low, high, log = random_scale(draw)
        d = 2 ** draw.randint(1, 9) if log else draw.randint(2, 400)
        m = dc.local.SquareWave(1, low, high, d, "log" if log else "linear")
        edges = [e for edge in m.edges for e in (edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf))]
        values = [*edges, *(draw.uniform(low - 1, high + 1) for _ in range(50)), math.inf, -math.inf, 0.0, -0.0]
        exact = [Scale(m.low, m.high, log).bucket(value, d) for value in values]
        assert m.buckets_of(np.array(values)).tolist() == exact, turn
        assert exact[0] == 0
        assert np.all(np.diff(m.edges) > 0)
        if log:  # buckets of equal ratio, to the digits of the fixed-point numbers
            assert np.diff(np.log(m.edges)) == pytest.approx(math.log(m.high / m.low) / d, rel=1e-6)


def test_numbers_are_what_every_language_makes_of_them() -> None:
    scale = Scale(0.0, 10.0)
    values = [3, 3.0, np.float32(3), True, 10**400, -(10**400), "3", None, b"3", math.nan, [3]]
    assert [scale.bucket(v, 10) for v in values] == [3, 3, 3, 1, 9, 0, -1, -1, -1, -1, -1]
    assert [scale.place(v) / 2**30 - 1 for v in (0, 10, 5, None, 99)] == [-1, 1, 0, 0, 1]
    # Several numbers are a list of that length, or all are missing: no value is an error.
    device, coins = Device(task_of(dc.local.MeanVector(2, [0, 0], [1, 1]))), bytes(100)
    missing = device.report(None, ByteCoins(given=coins))
    for odd in (1.0, [1], [1, 1, 1], {1, 2}, "ab", np.array(1.0), np.ones((2, 2)), [[1], [1]], [None, "1"]):
        assert device.report(odd, ByteCoins(given=coins)) == missing
    assert device.report(np.ones(2), ByteCoins(given=coins)) == device.report((1, 1), ByteCoins(given=coins))


def test_random_number_tasks_give_the_same_bytes_in_javascript(tmp_path: Path) -> None:
    draw, tasks = random.Random(7), []
    for turn in range(120):
        epsilon = draw.choice([0.1, 0.61, 1, "7/3", 2, 4, 9, 30])
        budget: Any = Fraction(epsilon)
        low, high, log = random_scale(draw)
        method, steps = draw.choice(["hybrid", "piecewise", "duchi"]), draw.choice([1, 2, 7, 128, 2**20])
        d = draw.randint(1, 6)
        m = draw.choice([
            dc.local.SquareWave(budget, low, high, 2 ** draw.randint(1, 16), "log" if log else "linear"),
            dc.local.MeanResponse(budget, low, high, method, steps),
            dc.local.MeanVector(budget, [low] * d, [high + i * (high - low) for i in range(d)], method, steps),
        ])  # fmt: skip
        numbers = [low, high, draw.uniform(low, high), draw.randint(-9, 9), 2**60 + 1, 1e300, None, low + 0.1]
        values = [[draw.choice(numbers) for _ in range(d)] if m.NAME == "mean-vector" else x for x in numbers]
        device, rows = Device(task_of(m)), []
        for value in values:
            given = draw.randbytes(400)
            coins = ByteCoins(given=given)
            report = device.report(value, coins)
            rows.append({"value": value, "coins": given[: coins.used].hex(), "report": report.hex()})
        bodies, key = b"".join(bytes.fromhex(row["report"]) for row in rows), bytes(16)
        frames = {"key": key.hex(), "one": write_frame(m, bodies[: m.layout.size], key=key).hex()}
        frames["batch"] = write_frame(m, bodies, key=key).hex()
        made = device.task
        tasks.append({"task": made.to_json(), "digest": made.digest, "reports": rows, "frames": frames})
        assert Task.from_json(made.to_json()) == made, turn
    (tmp_path / "vectors").write_text(json.dumps({"secret": "00" * 32, "tasks": tasks}))
    found = json.loads(node("wire_vectors.mjs", str(tmp_path / "vectors"), str(CLIENT / "discreet.min.js")))
    assert found == {"made": 8 * 120, "wrong": []}


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (lambda: dc.local.SquareWave(1, 0, 1, 8, "log"), "low must be above 0"),
        (lambda: dc.local.SquareWave(1, 1, 1.5, 8, "log"), "at least twice low"),
        (lambda: dc.local.SquareWave(1, 1, 100, 100, "log"), "buckets=64"),
        (lambda: dc.local.SquareWave(1, 1, 100, 8, reach=9), "reach"),
        (lambda: dc.local.MeanResponse(1, 0, 1, steps=4, window=4), "window"),
        (lambda: task_of(dc.local.SquareWave(1, 0, 1), candidates=["a", "b"]), "asks for a number"),
        (lambda: task_of(dc.local.MeanVector(1, [0, 0], [1, 1]), candidates=["a", "b", "c"]), "one for each of the 2"),
    ],
)
def test_what_is_no_question_about_numbers_is_refused(made: Any, fault: str) -> None:
    with pytest.raises(InvalidArgument, match=fault):
        made()


def test_a_logarithmic_distribution_has_the_mean_and_quantiles_of_its_values() -> None:
    """50,000 log-normal values, ε = 3: seeded; five standard errors and more."""
    values = np.random.default_rng(1).lognormal(math.log(100), 1, 50_000)
    m = dc.local.SquareWave(3, 1, 60_000, 128, "log")
    found = m.estimate(m.aggregate(m.encode(values, rng=1)))
    assert found.quantile([0.25, 0.5, 0.9]) == pytest.approx(np.quantile(values, [0.25, 0.5, 0.9]), rel=0.06)
    assert found.mean == pytest.approx(values.mean(), rel=0.06)
    assert found.cdf([100.0, 0.0, 1e9]) == pytest.approx([0.5, 0, 1], abs=0.02)
    low, high = found.interval(0.95, of="quantile", q=0.5, replicates=40, rng=1)
    assert low < 100 < high
    assert found.plot().layout.xaxis.type == "log"
