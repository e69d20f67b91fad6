"""Numbers from devices through a collector that runs: distributions with quantiles, means, bins in their order."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from collecting import Collector, collector, some_task
from command_line import output as call
from discreet.collector import open_store
from discreet.collector.client_pages import starter
from discreet.local import Client, Task, write_frame
from discreet.local.tasks.device import Device
from discreet.noise.reports.one_device import ByteCoins
from in_node import node

LATENCY = some_task(dc.local.SquareWave(2, 1, 60_000, 256, "log"), name="latency, ms")
MEANS = some_task(
    dc.local.MeanVector(6, [0, 0], [100, 1]), name="battery and crashes", candidates=["battery", "crashes"]
)
HEIGHT = some_task(dc.local.MeanResponse(2, 0, 250, "piecewise"), name="height")
BINS = some_task(dc.local.DirectResponse(4, ["under 10 ms", "10 to 100 ms", "more"]), name="latency in bins")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with collector(tmp_path_factory.mktemp("numbers") / "collected", LATENCY, MEANS, HEIGHT, BINS) as found:
        yield found


def by_devices(task: Task, values: Any, running: Collector) -> None:
    """Make each report as a device does, one by one, and send them in batches."""
    device, coins = Device(task), ByteCoins()
    for start in range(0, len(values), 5000):
        bodies = b"".join(device.report(value, coins) for value in values[start : start + 5000])
        assert running.post(task, write_frame(task.mechanism, bodies))[0] == 200


def in_javascript(task: Task, values: Any, running: Collector, folder: Path) -> None:
    (folder / "task").write_text(task.to_json())
    (folder / "values").write_text(json.dumps(values))
    sent = node("javascript_law.mjs", str(folder / "task"), str(folder / "values"), str(len(values)), timeout=500)
    size = task.mechanism.layout.size
    for start in range(0, len(sent), 5000 * size):
        assert running.post(task, write_frame(task.mechanism, sent[start : start + 5000 * size]))[0] == 200


def test_a_distribution_is_read_with_its_quantiles(running: Collector, tmp_path: Path) -> None:
    """30,000 devices of both languages at ε = 2; the median within five standard errors of 2.5 %."""
    values = np.random.default_rng(1).lognormal(math.log(120), 1, 30_000).tolist()
    by_devices(LATENCY, values[:20_000], running)
    in_javascript(LATENCY, values[20_000:], running, tmp_path)
    path = f"/v1/tasks/{LATENCY.digest}/estimate"
    status, facts = running.read(f"{path}?quantiles=0.5,0.99")
    assert status == 200
    assert [one["level"] for one in facts["quantiles"]] == [0.5, 0.99]
    median = facts["quantiles"][0]
    assert median["value"] == pytest.approx(120, rel=0.125)
    assert median["lower"] < median["value"] < median["upper"]
    bins = facts["histogram"]
    assert [one["from"] for one in bins[1:]] == [one["to"] for one in bins[:-1]]
    assert sum(one["share"] for one in bins) == pytest.approx(1)
    assert all(one["lower"] <= one["share"] <= one["upper"] for one in bins)
    assert [one["level"] for one in running.read(path)[1]["quantiles"]] == [0.05, 0.25, 0.5, 0.75, 0.95]
    for wrong in ("2", "x", "0.5,"):
        assert running.read(f"{path}?quantiles={wrong}")[0] == 400
    assert len(facts["periods"]) == 1
    for key in ("mean", "lower", "upper", "quantiles"):
        assert facts["periods"][0][key] == facts[key]
    for path_of_page in (f"{path}?quantiles=0.9999", f"/tasks/{LATENCY.digest}?quantiles=0.9999"):
        assert "No interval for 99.99 %" in str(running.read(path_of_page)[1])
    assert "not known" in running.read(f"/tasks/{LATENCY.digest}?quantiles=0.9999")[1]
    told = call("collect", "estimate", LATENCY.digest[:8], "--data", running.data, "--quantiles", "0.9999")
    assert "not known" in told
    assert "No interval for 99.99 %" in told
    status, page = running.read(f"/tasks/{LATENCY.digest}?quantiles=0.5,0.9")
    assert status == 200
    assert "median" in page
    assert "90 % are below" in page
    assert "Estimated distribution, with 95 % intervals" in page
    shown = call("collect", "estimate", LATENCY.digest[:8], "--data", running.data, "--quantiles", "0.5,0.9")
    assert "median" in shown
    assert "90 % are below" in shown


def test_means_are_read_by_name(running: Collector) -> None:
    """Seeded values; five standard errors and more."""
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.uniform(20, 80, 3000), rng.random(3000) < 0.1]).tolist()
    by_devices(MEANS, rows, running)
    facts = running.read(f"/v1/tasks/{MEANS.digest}/estimate")[1]
    assert facts["names"] == ["battery", "crashes"]
    error = np.array(facts["std_error"])
    assert np.all(np.abs(np.array(facts["mean"]) - np.mean(rows, axis=0)) < 5 * error)
    assert "battery" in call("collect", "estimate", MEANS.digest[:8], "--data", running.data)
    by_devices(HEIGHT, rng.normal(170, 10, 3000).tolist(), running)
    facts = running.read(f"/v1/tasks/{HEIGHT.digest}/estimate")[1]
    assert facts["lower"] < 170 < facts["upper"] or abs(facts["mean"] - 170) < 5 * facts["std_error"]
    assert ">mean<" in running.read(f"/tasks/{HEIGHT.digest}")[1]


def test_bins_listed_by_hand_keep_their_order(running: Collector) -> None:
    by_devices(BINS, ["10 to 100 ms"] * 300 + ["more"] * 100 + ["under 10 ms"] * 40, running)
    page = running.read(f"/tasks/{BINS.digest}")[1]
    table = page[page.index("<h2>Estimates") :]
    shown = call("collect", "estimate", BINS.digest[:8], "--data", running.data)
    for text in (table, shown):
        assert text.index("under 10 ms") < text.index("10 to 100 ms") < text.index("more")


def test_a_number_too_dear_for_the_application_is_refused(running: Collector, tmp_path: Path) -> None:
    pins = {"latency": LATENCY.digest}
    url = f"http://127.0.0.1:{running.port}"
    poor = Client(tmp_path / "d", url, pins=pins, report=1, day=9, life=9)
    with poor, pytest.raises(dc.errors.BudgetExceeded, match="epsilon 2 per report"):
        poor.report("latency", 12.5)
    with Client(tmp_path / "e", url, pins=pins, report=2, day=9, life=9) as client:
        client.report("latency", 12.5)
        assert client.flush().sent == 1


def test_the_page_of_a_task_about_numbers_asks_for_numbers() -> None:
    assert b'type="number"' in starter(LATENCY, "http://127.0.0.1:1")["index.html"]
    hashed = some_task(dc.local.LocalHashing(3, candidates=5), name="hashed")
    assert b'type="number"' in starter(hashed, "http://127.0.0.1:1")["index.html"]
    odd = some_task(dc.local.DirectResponse(1, 2), candidates=dc.local.PublicFile.of("a #2?.txt", b"x\ny\n"))
    assert b'fetch("./a%20%232%3F.txt")' in starter(odd, "http://127.0.0.1:1")["app.js"]
    several = starter(MEANS, "http://127.0.0.1:1")["index.html"]
    assert b'data-several="1"' in several
    assert b'type="number"' not in several
    assert "dataset.several" in (files("discreet.collector") / "templates" / "starter.js").read_text()


def test_values_found_by_a_search_are_followed_day_by_day(tmp_path: Path) -> None:
    """The search runs once, over all days; a day shows the values found."""
    task = some_task(dc.local.PrefixExtension(6, length=4, pool=64, key=7), name="words")
    with collector(tmp_path / "collected", task) as found:
        by_devices(task, ["cool"] * 1500 + ["link"] * 900, found)
        facts = found.read(f"/v1/tasks/{task.digest}/estimate")[1]
    names = [one["candidate"] for one in facts["estimates"]]
    assert names[:2] == ["cool", "link"]
    assert [one["candidate"] for one in facts["periods"][0]["estimates"]] == names


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_median_of_a_latency_is_within_three_percent(language: str, tmp_path: Path) -> None:
    """100,000 devices, ε = 2, log-normal on a log scale from 1 ms to 60 s: root mean square error over three seeds.

    `studies/measures/telemetry_numbers.py` measures 20 seeds.
    """
    errors = []
    for seed in range(3):
        task = some_task(dc.local.SquareWave(2, 1, 60_000, 256, "log"), name=f"latency {seed}")
        values = np.random.default_rng(seed).lognormal(math.log(120), 1, 100_000).tolist()
        with collector(tmp_path / str(seed), task) as found:
            if language == "python":
                by_devices(task, values, found)
            else:
                in_javascript(task, values, found, tmp_path)
            facts = found.read(f"/v1/tasks/{task.digest}/estimate?quantiles=0.5")[1]
        store = open_store(tmp_path / str(seed))
        assert sum(counts.n for counts in store.counts(task.digest).values()) == 100_000
        store.shut()
        errors.append(facts["quantiles"][0]["value"] / 120 - 1)
    assert math.sqrt(np.mean(np.square(errors))) < 0.03
