"""Devices and a collector that runs: what the clients of both languages send is counted once, and estimated."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from chromium_browser import opened
from collecting import Collector, collector, some_task
from discreet.collector import open_store
from discreet.collector.client_pages import starter
from discreet.local import Client, PublicFile, Task
from mixing import count, mixed_task, mixing, wait_for
from report_law import chance_of

SUPPORT = Path(__file__).parents[1] / "support"
MODULE = Path(str(files("discreet.local.tasks") / "javascript"))
COLOURS = some_task()
WORDS = some_task(dc.local.HadamardSketch(2, 64, 64, key=7), name="words", candidates=["cat", "dog"])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with collector(tmp_path_factory.mktemp("clients") / "collected", COLOURS, WORDS) as found:
        yield found


def counted(running: Collector, task: Task) -> Any:
    store = open_store(running.data)
    try:
        return sum(store.counts(task.digest).values(), start=task.mechanism.empty())
    finally:
        store.shut()


def url(running: Collector) -> str:
    return f"http://127.0.0.1:{running.port}"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve a folder as an application would its pages; give the port."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_a_device_in_python_is_counted(running: Collector, tmp_path: Path) -> None:
    pins = {"colour": COLOURS.digest, "words": WORDS.digest}
    before = [counted(running, task).n for task in (COLOURS, WORDS)]
    with Client(tmp_path / "device", url(running), pins=pins, report=2, day=4, life=100) as client:
        client.report("colour", "red")
        client.report("words", "cat")
        assert client.flush() == (2, 0, 0)
        with pytest.raises(dc.errors.BudgetExceeded):
            client.report("words", "cat")
    assert [counted(running, task).n for task in (COLOURS, WORDS)] == [n + 1 for n in before]
    assert counted(running, COLOURS).rejected == 0


def test_devices_in_node_are_counted(running: Collector) -> None:
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed: what the JavaScript client sends was NOT tested here")
    before = counted(running, COLOURS).n
    facts = {"url": url(running), "digest": COLOURS.digest, "values": ["red"] * 60 + ["blue", None]}
    script = [program, str(SUPPORT / "javascript_devices.mjs"), json.dumps(facts)]
    assert subprocess.run(script, capture_output=True, check=True, timeout=60).stdout == b"62\n"
    counts = counted(running, COLOURS)
    assert counts.n == before + 62
    red = COLOURS.mechanism.estimate(counts).count[0]
    assert abs(red - 60) < 6 * COLOURS.mechanism.variance(counts.n, 60) ** 0.5  # one in a hundred million runs


#: What the page does on a click, without the page: the lines of app.js that make its client are the ones that run.
_PAGE = """
import { readFileSync } from "node:fs";
const { Client, memoryStore } = await import(process.argv[1] + "/discreet.js");
const made = /new Client\\((\\{.*?\\n\\})\\);/s.exec(readFileSync(process.argv[1] + "/app.js", "utf8"))[1];
const client = new Client(Function("indexedDbStore", "return " + made)(memoryStore));
await client.report("answer", "red");
console.log(JSON.stringify(await client.flush()));
"""


def test_the_page_of_a_task_accepts_the_task_it_was_written_for(tmp_path: Path) -> None:
    """However many digits its budget has: a ceiling that is rounded down refuses the task for ever."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed: the page of a task was NOT tested here")
    amounts = {"1.0986123": 1, "1/3": 3, "3.3000000000000003": 3, "0.00001": 1}  # and how often a day
    tasks = [
        some_task(dc.local.DirectResponse(exact, ["red", "green", "blue"]), per_day=times * exact)
        for exact, times in ((Fraction(text), times) for text, times in amounts.items())
    ]
    with collector(tmp_path / "collected", *tasks) as running:
        for task in tasks:
            place = tmp_path / task.digest
            place.mkdir()
            (place / "package.json").write_text('{"type": "module"}')
            for name, content in starter(task, url(running)).items():
                (place / name).write_bytes(content)
            script = [program, "--input-type=module", "-e", _PAGE, str(place)]
            found = subprocess.run(script, capture_output=True, check=False, timeout=60, text=True)
            assert found.stdout == '{"sent":1,"waiting":0,"refused":0}\n', (task.epsilon, found.stderr)


@pytest.fixture
def page() -> Iterator[Any]:
    """A blank page in Chromium from a server that has the module, on another origin than the collector."""
    with serving(MODULE) as port, opened() as browser:
        tab = browser.new_context().new_page()
        tab.goto(f"http://127.0.0.1:{port}/package.json")
        yield tab


_ANSWER = """async ([url, digest]) => {
  const { Client, indexedDbStore } = await import("/discreet.min.js");
  const client = new Client({ url, pins: { colour: digest }, report: 2, day: 2, life: 2, store: indexedDbStore() });
  const tried = () => client.report("colour", "red").then(() => "done", (error) => error.reason);
  return [await tried(), await client.flush(), await tried(), await client.spent()];
}"""


@pytest.mark.slow
def test_a_browser_is_counted_and_remembers_what_it_spent(running: Collector, page: Any) -> None:
    before = counted(running, COLOURS).n
    first = page.evaluate(_ANSWER, [url(running), COLOURS.digest])
    spent = {"today": 2, "life": 2}
    assert first == ["done", {"sent": 1, "waiting": 0, "refused": 0}, "ceiling", spent]
    page.reload()
    again = page.evaluate(_ANSWER, [url(running), COLOURS.digest])
    assert again == ["ceiling", {"sent": 0, "waiting": 0, "refused": 0}, "ceiling", spent]
    assert counted(running, COLOURS).n == before + 1


@pytest.mark.slow
def test_a_browser_goes_through_the_shuffler(page: Any, tmp_path: Path) -> None:
    """X25519 and AES-GCM of WebCrypto, on an origin that the browser trusts."""
    task = mixed_task(tmp_path, batch=2)
    with mixing(tmp_path, task) as (_, shuffler):
        for _ in range(2):
            told = page.context.browser.new_context().new_page()
            told.goto(page.url)
            assert told.evaluate(_ANSWER, [url(shuffler), task.digest])[1] == {"sent": 1, "waiting": 0, "refused": 0}
        wait_for(lambda: count(tmp_path / "collected", task) == 2)


@pytest.mark.slow
def test_the_page_of_a_task_answers_it(running: Collector, page: Any, tmp_path: Path) -> None:
    for name, content in starter(COLOURS, url(running)).items():
        (tmp_path / name).write_bytes(content)
    before, logged = counted(running, COLOURS).n, []
    page = page.context.new_page()  # the first tab may still be told that its server has no icon
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    with serving(tmp_path) as port:
        page.goto(f"http://127.0.0.1:{port}/")
        for told in ("1 sent, 0 waiting, 0 refused", "Not sent"):  # the second is beyond what a day allows
            page.fill("input[name=value]", "red")
            page.click("button")
            page.wait_for_function("words => document.getElementById('told').textContent.includes(words)", arg=told)
    assert logged == []
    assert counted(running, COLOURS).n == before + 1


@pytest.mark.slow
def test_the_page_of_a_task_reads_its_labels_from_a_file(page: Any, tmp_path: Path) -> None:
    words = b"red\r\ngreen\nblue\r"
    task = some_task(dc.local.DirectResponse(20, 3), per_day=20, candidates=PublicFile.of("w.txt", words))
    with collector(tmp_path / "collected", task) as running, serving(tmp_path) as port:
        for name, content in starter(task, url(running)).items():
            (tmp_path / name).write_bytes(content)
        page = page.context.new_page()
        for there, value, told in ((False, "blue", "Not sent"), (True, "blue", "1 sent, 0 waiting, 0 refused")):
            if there:
                (tmp_path / "w.txt").write_bytes(words)
            page.goto(f"http://127.0.0.1:{port}/")
            page.fill("input[name=value]", value)
            page.click("button")
            page.wait_for_function("words => document.getElementById('told').textContent.includes(words)", arg=told)
        assert page.evaluate("[...document.getElementById('values').options].map((one) => one.value)")[:2] == [
            "red",
            "green",
        ]
        assert counted(running, task).counters["reports"].tolist() == [0, 0, 1]


_VECTORS = """async (file) => {
  const { Coins, Device, hex, unhex } = await import("/discreet.min.js");
  const unwrapped = (v) =>
    Array.isArray(v) ? v.map(unwrapped) : v?.number ? Number(v.number.replace("inf", "Infinity"))
    : v?.whole ? BigInt(v.whole) : v?.bytes ? unhex(v.bytes) : v?.units ? String.fromCharCode(...v.units) : v;
  const wrong = [];
  for (const { task, reports } of file.tasks)
    for (const { value, coins, report } of reports) {
      const made = await new Device(task).report(unwrapped(value), new Coins(unhex(coins)), unhex(file.secret));
      if (hex(made) !== report) wrong.push(task);
    }
  return wrong;
}"""


@pytest.mark.slow
def test_a_browser_makes_the_same_bytes(page: Any) -> None:
    vectors = json.loads((Path(__file__).parents[2] / "docs" / "wire-vectors.json").read_text())
    assert page.evaluate(_VECTORS, vectors) == []


_MANY = """async ([task, value, n]) => {
  const { Coins, Device, hex } = await import("/discreet.min.js");
  const device = new Device(task), coins = new Coins(), parts = [];
  for (let i = 0; i < n; i++) parts.push(hex(await device.report(value, coins)));
  return parts.join("");
}"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "m",
    [dc.local.DirectResponse(1, 7), dc.local.ProjectiveGeometry(1, 20), dc.local.HadamardSketch(2, 4, 16, key=7)],
    ids=lambda m: m.NAME,
)
def test_reports_from_a_browser_have_their_law(page: Any, m: Any) -> None:
    """100,000 reports by WebCrypto in Chromium; a false alarm in ten million runs."""
    sent = page.evaluate(_MANY, [some_task(m).to_json(), 3, 100_000])
    assert chance_of(m, 3, bytes.fromhex(sent)) > 1e-7
