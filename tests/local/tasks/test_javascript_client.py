"""The client in JavaScript: for the same coins the same bytes as in Python, the same refusals, the same law."""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
import malicious_tasks
from discreet.errors import BudgetExceeded, DiscreetError, FormatError
from discreet.local import Memo, Task
from discreet.local.tasks.device import Device
from discreet.local.tasks.device_file import DeviceState
from discreet.local.wire.binary import canonical
from discreet.noise.reports.one_device import ByteCoins
from frame_reader import read_frame
from frame_server import running
from in_node import CLIENT, node
from report_law import chance_of

ROOT = Path(__file__).parents[3]
VECTORS = ROOT / "docs" / "wire-vectors.json"
sys.path.insert(0, str(ROOT / "docs" / "scripts"))


def test_the_published_vectors_are_what_the_library_makes() -> None:
    """Every mechanism that a planner may choose, from value and coins to report and frame."""
    import wire_vectors

    file = json.loads(VECTORS.read_text())
    assert file == json.loads(json.dumps(wire_vectors.vectors()))
    there = {json.loads(entry["task"])["mechanism"]["mechanism"] for entry in file["tasks"]}
    others = {"prefix-extension", "own-oracle", "square-wave", "mean-response", "mean-vector"}
    assert there == {row.mechanism for row in dc.local.plan(epsilon=2, domain_size=100, n=1000)} | others


def test_vectors_use_all_their_coins_and_no_more() -> None:
    for entry in json.loads(VECTORS.read_text())["tasks"]:
        device, row = Device(Task.from_json(entry["task"])), entry["reports"][1]
        coins = ByteCoins(given=bytes.fromhex(row["coins"]))
        assert device.report(row["value"], coins, Memo(bytes(range(32)))).hex() == row["report"]
        assert coins.used == len(row["coins"]) // 2
        assert len(read_frame(device.task.mechanism, bytes.fromhex(entry["frames"]["batch"])).rows) == len(
            entry["reports"]
        )


@pytest.mark.parametrize("module", ["discreet.js", "discreet.min.js"])
def test_the_same_coins_give_the_same_bytes_in_javascript(module: str) -> None:
    found = json.loads(node("wire_vectors.mjs", str(VECTORS), str(CLIENT / module)))
    assert found["wrong"] == []
    assert found["made"] == sum(len(entry["reports"]) for entry in json.loads(VECTORS.read_text())["tasks"]) > 200


def test_the_small_module_is_small_and_of_this_source() -> None:
    small, source = ((CLIENT / name).read_bytes() for name in ("discreet.min.js", "discreet.js"))
    assert len(small) < 26_000
    seal = small.split(b"\n", 1)[0].removeprefix(b"//").decode()
    assert seal == hashlib.sha256(source).hexdigest(), "run: node build.mjs"
    assert b"import " not in small.replace(b'import("node:fs/promises")', b"")


def make(mechanism: Any, **more: Any) -> Task:
    facts = {"name": "colour", "per_day": 2, "wanted": 100, "minimum": 1, **more}
    return Task(mechanism, opens="2020-01-01T00:00:00Z", closes="2099-01-01T00:00:00Z", **facts)


def test_a_device_in_node_keeps_its_ceilings_and_sends_the_same_again() -> None:
    first = make(dc.local.DirectResponse(1, ["red", "green", "blue"]))
    second = make(dc.local.UnaryEncoding(1, ["blue", "green", "red"]), name="hue", per_day=3)
    big = make(dc.local.DirectResponse(2, 7), name="big")
    file = dc.local.PublicFile.of("w.txt", b"cat\ndog\n")
    words = make(dc.local.DirectResponse(1, 2), name="words", candidates=file)
    more = dc.local.PublicFile.of("v.txt", b"cat\ndog\nemu\n")
    sketched = make(dc.local.HadamardSketch(1, 8, 16, key=7), name="sketched", candidates=more)
    with running() as server:
        server.tasks = {task.digest: task.to_json() for task in (first, second, big, words, sketched)}
        server.mood = ["lose", 503, 204, 204, "slow"]
        facts = {"url": server.url, "first": first.digest, "second": second.digest, "big": big.digest}
        facts |= {"words": words.digest, "sketched": sketched.digest}
        out = json.loads(node("javascript_client.mjs", json.dumps(facts)))
    assert out["reports"][:2] == ["done", "done"]
    assert out["reports"][2].startswith("ceiling: ")
    assert out["lost"] == out["later"] == {"sent": 0, "waiting": 2, "refused": 0}
    assert out["again"] == {"sent": 2, "waiting": 0, "refused": 0}
    assert out["spent"] == {"today": 2, "life": 2}
    assert out["tomorrow"] == "done"
    assert out["back"][0] == "done"  # the clock was set back: the last day goes on
    assert out["back"][1].startswith("ceiling: ")
    assert [x.split(":")[0] for x in out["life"]] == ["done", "ceiling"]
    assert out["flushed"] == {"sent": 3, "waiting": 0, "refused": 0}
    assert "asks what task" in out["second"]
    assert out["replaced"] == "done"
    assert out["big"].startswith("ceiling: ")
    assert [x.split(":")[0] for x in out["poor"]] == ["done", "ceiling", "ceiling"]
    assert [x.split(":")[0] for x in out["poorer"]] == ["ceiling", "ceiling"]
    assert out["words"] == ['task: the task of "words" needs w.txt', "done"]
    assert out["sketched"] == "done"  # what is hashed needs no list on the device
    assert out["waited"] < 800  # a report is stored while a slow network is waited for
    assert out["slow"] == {"sent": 0, "waiting": 2, "refused": 0}
    assert "not pinned" in out["unpinned"]
    assert out["parallel"].count("fulfilled") == 1  # one at a time, and each sees what the one before has spent
    assert out["life_spent"] == "7"
    assert out["mode"] == 0
    device = DeviceState.from_json(out["state"])  # Python reads what JavaScript keeps
    assert (device.life, len(device.queue), device.tasks.keys()) == ("7", 2, {first.digest, second.digest})
    posts = [body for path, _, body in server.requests if path.endswith("reports")]
    assert posts[0] == posts[1] == posts[2]
    assert sum(len(read_frame(first.mechanism, frame).rows) for frame in server.frames.values()) == 5
    allowed = {"host", "connection", "content-type", "content-length", "accept", "accept-language", "user-agent"}
    allowed |= {"sec-fetch-mode", "accept-encoding", "pragma", "cache-control"}
    assert {name.lower() for _, headers, _ in server.requests for name in headers} <= allowed


def verdicts(texts: list[str], folder: Path, module: str = "discreet.js") -> list[bool]:
    """Ask the JavaScript client which texts it takes as tasks."""
    (folder / "texts").write_text(json.dumps({"texts": texts, "words": malicious_tasks.WORDS.decode()}))
    told: list[bool] = json.loads(node("javascript_verdicts.mjs", str(CLIENT / module), str(folder / "texts")))
    return told


def taken(text: str, place: Path) -> bool:
    """Return whether the client in Python takes a text as a task."""
    pins, labels = {"q": hashlib.sha256(text.encode()).hexdigest()}, {"q": malicious_tasks.WORDS}
    limits = {"report": 200, "day": 200, "life": 200}
    client = dc.local.Client(place, "http://127.0.0.1:1", pins=pins, labels=labels, **limits)
    try:
        client.use(text)
        return True
    except DiscreetError:
        return False
    finally:
        client.close()


def test_a_task_is_answered_by_its_own_coins_only(tmp_path: Path) -> None:
    """The digest is pinned, but ceilings are about epsilon: coins must cost that, in either direction, and no less."""
    half, most, none = "8" + "0" * 31, "f" * 32, "0" * 31 + "1"
    turned: list[tuple[Any, dict[str, Any], dict[str, str]]] = [
        (dc.local.DirectResponse(1, ["no", "yes"]), {}, {"keep": none}),
        (dc.local.UnaryEncoding(1, 3), {}, {"held": none, "other": most}),
        (dc.local.SubsetSelection(1, 3, size=2), {}, {"hold": none}),
        (dc.local.BitFlip(1, 3, bits=3), {}, {"flip": most}),
        (dc.local.HadamardSketch(1, 1, 4, key=7), {}, {"flip": most}),
        (dc.local.CountMeanSketch(1, 1, 64, key=7), {}, {"flip": most}),
        (dc.local.DirectResponse(1, 2), {"memoised": True, "bits": 0}, {}),
        (dc.local.UnaryEncoding(1, 3), {"mechanism": ["unary-encoding"], "width": 2}, {"keep": half}),
        (dc.local.DirectResponse(1, 5), {"width": 2}, {}),
        (dc.local.ProjectiveGeometry(1, 9, order=3), {"order": 4}, {}),
        (dc.local.Rappor(0.5, 0.5, 0.75, hashes=2, key=1), {"hashes": 1}, {}),
        (dc.local.SubsetSelection(1, 9, size=2), {"size": 1.5}, {"hold": most}),
    ]
    good, bad = [], []
    for m, more, coins in turned:
        facts = make(m).to_dict()
        good.append(make(m).to_json())
        bad.append(
            canonical({**facts, "mechanism": {**facts["mechanism"], **more}, "coins": {**facts["coins"], **coins}})
        )
    sure = make(dc.local.Rappor(0.5, 0, 1, hashes=1, key=1), per_day=9)  # coins of chance 0 and 1 are coins
    told = verdicts([*good, sure.to_json(), *(text.decode() for text in bad)], tmp_path)
    assert told == [True] * (len(good) + 1) + [False] * len(bad)


def test_a_batch_that_no_request_holds_is_refused_in_both_languages(tmp_path: Path) -> None:
    """The largest batch depends on the size of a report; a shuffler takes no task with a larger one."""
    keys = {"collector": "a" * 64, "shuffler": "0" * 63 + "9"}
    for i, m in enumerate((dc.local.DirectResponse(1, 5), dc.local.Rappor(0.5, 0.5, 0.75, key=7))):
        most = 2**23 // (17 + m.layout.size + 48)
        good = make(m, per_day=9, shuffle=dc.local.Shuffle(batch=most, honest=2, **keys)).to_json()
        texts = [good, good.replace(f'"batch":{most}', f'"batch":{most + 1}')]
        assert [taken(text, tmp_path / f"{i}{j}") for j, text in enumerate(texts)] == [True, False]
        assert verdicts(texts, tmp_path) == verdicts(texts, tmp_path, "discreet.min.js") == [True, False]


@pytest.mark.parametrize("number", [250, pytest.param(5000, marks=pytest.mark.slow)])
def test_malicious_tasks_are_judged_alike_in_python_and_javascript(number: int, tmp_path: Path) -> None:
    texts = malicious_tasks.malicious(number, seed=number)
    mine = [taken(text, tmp_path / str(i)) for i, text in enumerate(texts)]
    for module in ("discreet.js", "discreet.min.js"):
        odd = [
            text for text, own, its in zip(texts, mine, verdicts(texts, tmp_path, module), strict=True) if own != its
        ]
        assert odd == []
    assert number // 20 < sum(mine) < number // 4  # neither client refuses, or takes, whatever comes
    honest = [task.to_json() for task in malicious_tasks.honest()]
    assert verdicts(honest, tmp_path) == [True] * len(honest)


def test_a_damaged_device_file_is_refused_in_one_sentence_and_left_alone_in_both_languages(tmp_path: Path) -> None:
    """A file that was begun anew would say that nothing was spent."""
    sound = (ROOT / "tests" / "golden" / "tasks" / "device.json").read_text(encoding="utf-8")
    facts = json.loads(sound)
    parts = [{key: value for key, value in facts.items() if key != left} for left in facts]
    odd = {"life": "-1", "today": [], "secret": "", "tasks": None, "queue": {}, "frames": None, "format": "x"}
    parts += [{**facts, name: value} for name, value in odd.items()] + [{**facts, "today": {"a": "x"}}]
    texts = ["", sound[:-9], "null", "[]", *map(json.dumps, parts)]
    later, pin = json.dumps({**facts, "version": 2}), "0" * 64
    paths = [tmp_path / f"device{number}" for number in range(len(texts) + 2)]
    for path, text in zip(paths, [*texts, later, sound], strict=True):
        path.write_text(text, encoding="utf-8")
    said: list[str] = []
    for path in paths:
        try:
            with closing(dc.local.Client(path, "http://127.0.0.1:1", pins={"q": pin}, report=1, day=1, life=1)):
                said.append("")
        except FormatError as error:
            said.append(str(error))
    told = "is damaged or not a device file: what was spent is unknown; "
    told += "delete it only if the device may start over with a new budget"
    assert said[:-2] == [f"{path} {told}" for path in paths[:-2]]
    assert "format version 2" in said[-2]
    assert said[-1] == ""
    for module in ("discreet.js", "discreet.min.js"):
        there = json.loads(node("javascript_damaged.mjs", str(CLIENT / module), pin, *map(str, paths)))
        assert there[:-2] == said[:-2]
        assert there[-2:] == [f"{paths[-2]} is of format version 2; update discreet.js", ""]
    assert [path.read_text(encoding="utf-8") for path in paths[:-1]] == [*texts, later]


def test_clients_of_one_store_share_its_ledger_and_questions_share_no_stored_response(tmp_path: Path) -> None:
    """Without locks of a browser too. What is stored follows from the device's secret and the question alone.

    A week of one device: its life pays for d + 1 = 5 stored responses, every day for its own, as in Python.
    """
    first, second = (make(dc.local.BitFlip(1, 9, bits=4, memoised=True), name=name, per_day=4) for name in "ab")
    daily = make(dc.local.BitFlip(1, 9, bits=4, memoised=True), name="c", per_day=3)
    tasks = {"first": first, "second": second, "daily": daily}
    facts = {name: task.to_json() for name, task in tasks.items()}
    facts |= {"pins": {name: task.digest for name, task in zip("abc", tasks.values(), strict=True)}}
    out = json.loads(node("javascript_store.mjs", json.dumps(facts)))
    assert (out["fulfilled"], out["spent"]) == (4, 4)
    state = DeviceState.from_json(out["state"])
    for question, task in (("a", first), ("b", second)):
        made = {body for digest, body in state.queue if digest == task.digest}
        assert made == {Device(task).report(3, ByteCoins(given=b""), state.memo(question)).hex()}
    assert len({body for _, body in state.queue}) == 2
    now, week, made = [datetime(2026, 11, 1, 12)], [], 0
    limits: dict[str, Any] = {"report": 1, "day": 3, "life": 9, "clock": lambda: now[0]}
    with dc.local.Client(tmp_path / "device", "http://127.0.0.1:1", pins={"c": daily.digest}, **limits) as one:
        one.use(daily)
        for _ in range(7):
            for value in (1, 2, 3, 4):
                with suppress(BudgetExceeded):
                    one.report("c", value)
            before, made = made, len(one._file.state.queue)
            week.append([made - before, one.spent_today, one.spent])
            now[0] += timedelta(days=1)
    assert week == out["week"] == [[3, 3, 3], *[[3, 3, 5]] * 6]


LAWS = [
    (dc.local.DirectResponse(1, 7), 200_000),
    (dc.local.UnaryEncoding(1, 7), 100_000),
    (dc.local.SubsetSelection(1, 7), 100_000),
    (dc.local.LocalHashing(1, pool=5, key=7), 100_000),
    (dc.local.HadamardResponse(2, 8), 100_000),
    (dc.local.ProjectiveGeometry(1, 20), 200_000),
    (dc.local.HadamardSketch(2, 4, 16, key=7), 100_000),
    (dc.local.CountMeanSketch(2, 2, 6, key=7), 50_000),
    (dc.local.BitFlip(1, 6, bits=2), 50_000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n"), LAWS, ids=[m.NAME for m, _ in LAWS])
def test_a_million_reports_from_node_have_their_law(m: Any, n: int, tmp_path: Path) -> None:
    """All mechanisms together: 1e6 reports, chi-square over every report that can be; a false alarm in 1e6 runs."""
    task = make(m, per_day=200)
    (tmp_path / "task").write_text(task.to_json())
    sent = node("javascript_law.mjs", str(tmp_path / "task"), "[3]", str(n), timeout=300)
    assert chance_of(m, 3, sent) > 1e-7


@pytest.mark.slow
def test_intervals_from_devices_in_node_hold_at_their_rate(tmp_path: Path) -> None:
    """200 tasks of 5,000 devices each: a 95 % interval holds the truth in at least 176 (fewer once in 40,000 runs)."""
    held = 0
    values = [0, 0, 0, 1, 1, 2, 3, 4, 5, 5]
    mechanisms: list[Any] = [
        dc.local.DirectResponse(1, 7),
        dc.local.ProjectiveGeometry(1, 20),
        dc.local.HadamardResponse(2, 20),
        dc.local.UnaryEncoding(1, 7),
    ]
    for m in mechanisms:
        (tmp_path / "task").write_text(make(m, per_day=200).to_json())
        sent = node("javascript_law.mjs", str(tmp_path / "task"), json.dumps(values), "250000", timeout=600)
        rows = np.frombuffer(sent, np.uint8).reshape(50, 5000, m.layout.size)
        for task in rows:
            low, high = m.estimate(m.aggregate(task), [0]).interval(0.95)
            held += bool(low[0] <= 1500 <= high[0])
    assert held >= 176


@pytest.mark.slow
def test_words_that_no_one_listed_are_found_from_devices_in_node(tmp_path: Path) -> None:
    m = dc.local.PrefixExtension(4, length=6, pool=512, key=7)
    (tmp_path / "task").write_text(make(m, per_day=4).to_json())
    words = ["outfit"] * 6 + ["Brunch"] * 3 + ["link", "x1", None]
    sent = node("javascript_law.mjs", str(tmp_path / "task"), json.dumps(words), "24000")
    counts = m.aggregate(np.frombuffer(sent, np.uint8).reshape(-1, m.layout.size))
    found = m.discover(counts)
    assert found.strings[:2] == ["outfit", "brunch"]
    assert "link" in found.strings
    assert counts.rejected == 0
