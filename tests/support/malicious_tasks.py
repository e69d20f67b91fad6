"""Tasks that a malicious collector might serve: honest ones, and thousands made from them by changing things."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from typing import Any

import discreet as dc
from discreet.errors import DiscreetError
from discreet.local import PublicFile, Task
from discreet.local.mechanism import mechanism_from_dict
from discreet.local.tasks.task import thresholds

WORDS = b"cat\ndog\nemu\n"
_TIMES = {"opens": "2020-01-01T00:00:00Z", "closes": "2099-01-01T00:00:00Z"}
_THIRD: Any = Fraction(1, 3)
#: What a field may be replaced with: every type, limits of sizes, budgets in odd spellings, times that are none.
_ODD: list[Any] = [
    None, True, False, 0, 1, 2, 3, 7, -1, 0.5, 1.0, 1.5, 4, 21, 63, 64, 65, 255, 256, 4096, 4097, 65535, 65536, 65537,
    2**20, 2**20 + 1, 2**29, 2**29 + 1, 2**30, 2**31, 2**32, 2**32 + 1, 2**53, 2**53 - 1, -(2**53), 2**64, 10**400,
    10**15, 10**15 + 1, 1e300, 59, 60, 366 * 86400, 366 * 86400 + 1, "", " ", "0", "1", "1.0", "01", "2/2", "1/0",
    "0/1", "1/2", "3/2", "2", "200", "201", "1/1000000", "1/1000001", "-1", "+1", "1e0", "١",
    "1" + "0" * 399 + "/" + "7" * 398, "1/" + "3" * 400, "1/" + "3" * 401,
    "100" + "1" * 398 + "/" + "1" + "0" * 398, "inf", "nan", "a", "A",
    "?", "ab",
    "é", "e\u0301", "\u00a0", "\u200b", "\n", "\x7f", "\u2028", "𝒳", "x" * 100, "x" * 101, "letters", "digits",
    "optimised", "symmetric", "constructor", "__proto__", "toString", "direct-response", "unary-encoding", "rappor",
    "bit-flip",
    "2020-01-01", "2020-02-30T00:00:00Z", "2020-01-01T24:00:00Z", "2020-01-01T00:00:60Z", "0000-01-01T00:00:00Z",
    "0999-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2099-01-01T00:00:00z", "2100-01-01T00:00:00Z", "f" * 32, "F" * 32,
    "0" * 32, "0" * 31 + "1", "8" + "0" * 31, "7" * 31, "8" + "0" * 15, "f" * 16, "0" * 64, "g" * 32, [], [1], [1, 2],
    [2, 1], ["a"], ["a", "b"], ["a", "a"], [1, "1"], [True, 2], ["é", "e\u0301"], ["a", None], [[1], [2]], ["a", 2**53],
    list(range(9)), ["", "b"], ["𝒳", "x"], {}, {"a": 1}, {"file": "w.txt", "sha256": "0" * 64},
    {"file": "", "sha256": ""},
    [[3, 1], [1, 3]], [[0], [1]], [[1, 0], []], [[3, 1, 4], [1, 3, 4], [4, 4, 0]], [[99, 1, 1], [1, 99, 1], [1, 1, 99]],
    [[2**48, 1, 1], [1, 2**48, 1], [1, 1, 2**48]], [[2.0, 1], [1, 2]], [[True, 1], [1, True]], [[0], [1], [2]],
    "0.5", "-0", "-1.5", ".5", "1.50", "1e3", "0.1000000000000000055511151231257827", "0.10000000000000001", "NaN",
    "Infinity", "linear", "log", "hybrid", "piecewise", "duchi", "square-wave", "mean-response", ["0", "1"], ["1", "0"],
    ["0", "-0"], ["0", 1], "0x10", "1_0", "1 ", "999999999999999999999", "1000000000000000000000", "0.000000001",
    {"mechanism": "direct-response"}, [20, 20, 10], [1] * 50, ["direct-response"], ["unary-encoding"], [32], "a" * 32,
]  # fmt: skip


def honest() -> list[Task]:
    """At least two tasks of every mechanism that a task may ask for, budgets small and large, odd and even."""
    local = dc.local
    words = PublicFile.of("words.txt", WORDS)
    mechanisms: list[tuple[Any, Any]] = [
        (local.DirectResponse(1, 5), None),
        (local.DirectResponse(_THIRD, ["red", "green"]), None),
        (local.DirectResponse(200, 2), ["no", "yes"]),
        (local.DirectResponse(2, 3), words),
        (local.UnaryEncoding(1, 5), None),
        (local.UnaryEncoding(0.7, ["a", "b", 3], "symmetric"), None),
        (local.UnaryEncoding(100, 3, "symmetric"), None),
        (local.SubsetSelection(1, 9), None),
        (local.SubsetSelection(3, ["a", "b", "c"], 2), None),
        (local.LocalHashing(1, pool=9, key=7), None),
        (local.LocalHashing(2, width=16, candidates=["x", "y"], key=7), None),
        (local.LocalHashing(2, width=2**32, pool=1, key=7), ["x", "y"]),
        (local.PrefixExtension(1, pool=9, key=7), None),
        (local.PrefixExtension(4, alphabet="abé", length=3, other="b", pool=64, key=7), None),
        (local.HadamardResponse(1, 9), None),
        (local.HadamardResponse(3, 40, 3), None),
        (local.ProjectiveGeometry(1, 9), None),
        (local.ProjectiveGeometry(2, ["a", "b", "c", "d"], 5), None),
        (local.HadamardSketch(1, 8, 16, key=7), words),
        (local.HadamardSketch(0.001, 8, 16, key=7, skip_zero=True), None),
        (local.CountMeanSketch(1, 8, 16, key=7), ["a", 2]),
        (local.CountMeanSketch(6, 1, 2, key=7), None),
        (local.BitFlip(1, 9), None),
        (local.BitFlip(1, ["a", "b"], bits=2), None),
        (local.BitFlip(1, 9, bits=2, memoised=True), None),
        (local.BitFlip(0.5, 9, bits=1, memoised=True), None),
        (local.Rappor(0.5, 0.5, 0.75, key=1), None),
        (local.Rappor("1/3", "2/3", "1/7", bits=3, hashes=2, key=1), None),
        (local.Rappor(0.5, 0, 1, hashes=1, key=1), None),
        (local.Rappor.from_budget(epsilon_lifetime=4, epsilon_report=1.5, key=1), None),
        (local.Rappor(0, 0.25, 0.5, bits=2, hashes=3, key=1), None),
        (local.OwnOracle(2, 3, ((7, 1, 4), (1, 7, 4), (4, 2, 6)), ((0,), (1,), (2,))), ["a", "b", "c"]),
        (local.OwnOracle(1, ["a", "b"], ((5, 2, 2**40), (2, 5, 2**40)), ((0,), (1,), ())), None),
        (local.SquareWave(1, 0, 10, 100), None),
        (local.SquareWave(_THIRD, -1.5e-7, 1e21, 2, reach=1), None),
        (local.SquareWave(2, 0.001, 60, 64, "log"), None),
        (local.MeanResponse(0.61, 0, 1), None),
        (local.MeanResponse(3, -1, 0.5, steps=9, window=0), None),
        (local.MeanResponse(200, 0, 1, "piecewise"), None),
        (local.MeanVector(1, [0, -1], [1, 5]), ["a", 2]),
        (local.MeanVector(8, [0, -1, 2.5, 1e-5], [1, 5, 3, 1e16]), None),
        (local.MeanVector(2, [0], [1], "duchi"), None),
    ]
    found = []
    for m, named in mechanisms:
        day = min(max(2 * m.epsilon.exact, 1), 200)
        facts: dict[str, Any] = {"name": "q", "wanted": 10, "minimum": 1, **_TIMES}
        found.append(Task(m, per_day=day, candidates=named, **facts))
        if len(found) % 9 == 1:
            mixed = local.Shuffle(batch=3 * len(found), honest=2, collector="a" * 64, shuffler="0" * 63 + "9")
            found.append(Task(m, per_day=day, candidates=named, shuffle=mixed, **facts))
    return found


def malicious(number: int, seed: int) -> list[str]:
    """Return so many texts, the same for a seed: all honest tasks, tricks with coins, and random changes of either."""
    draw, texts = random.Random(seed), [task.to_json() for task in honest()]
    base = [json.loads(text) for text in texts]
    for facts in base:
        texts += [_text(x) for x in _coins(facts)]
    draw.shuffle(texts)
    texts = texts[: number // 2]
    while len(texts) < number:
        facts = copy.deepcopy(draw.choice(base))
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            _change(facts, draw, base)
        if draw.random() < 0.5:
            _pay(facts)
        texts.append(_written(facts, draw))
    return texts


def _coins(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the task with its coins turned round, one step off, certain, of another length, or with one too many."""
    found = []
    for name, digits in facts["coins"].items():
        value, unit = int(digits, 16), 16 ** len(digits)
        others = [
            unit - value,
            unit - 1,
            0,
            1,
            value + 1,
            value - 1,
            unit // 2,
            value * 999 // 1000,
            value * 1001 // 1000,
        ]
        changed: list[Any] = [f"{x:0{len(digits)}x}" for x in others if 0 <= x < unit]
        changed += [digits.upper(), digits[:-1], digits + "0", " " + digits[1:], None, value, [digits]]
        found += [{**facts, "coins": {**facts["coins"], name: x}} for x in changed]
        found.append({**facts, "coins": {k: v for k, v in facts["coins"].items() if k != name}})
        found.append(
            {**facts, "coins": {k: f"{16 ** len(v) - int(v, 16):0{len(v)}x}" for k, v in facts["coins"].items()}}
        )
    found.append({**facts, "coins": {**facts["coins"], "extra": "8" + "0" * 31}})
    # Free reports: the fields of a memoised d-bit flip in another mechanism.
    found.append({**facts, "mechanism": {**facts["mechanism"], "memoised": True, "bits": 0}})
    found.append({**facts, "mechanism": {**facts["mechanism"], "mechanism": [facts["mechanism"]["mechanism"]]}})
    return found


def _change(facts: dict[str, Any], draw: random.Random, base: list[dict[str, Any]]) -> None:
    inner = [facts["mechanism"]] * 3 + [facts["coins"]] + [facts.get("shuffle")] * 3
    part = draw.choice([facts, facts, *inner])
    if not isinstance(part, dict) or not part:
        return
    name, other = draw.choice(sorted(part)), draw.choice(base)
    how = draw.randrange(8)
    if how == 0:
        del part[name]
    elif how == 1:
        part[draw.choice(["extra", "memoised", "bits", "domain", "width", "hashes", "__proto__"])] = copy.deepcopy(
            draw.choice(_ODD)
        )
    elif how == 2:
        facts[draw.choice(["mechanism", "coins"])] = copy.deepcopy(draw.choice([other["mechanism"], other["coins"]]))
    elif how == 3 and isinstance(part[name], (int, float)) and not isinstance(part[name], bool):
        part[name] = draw.choice([part[name] + 1, part[name] - 1, 2 * part[name], -part[name], str(part[name])])
    elif how == 4:
        facts["epsilon"] = draw.choice([x for x in _ODD if isinstance(x, str)])
        if draw.random() < 0.7 and isinstance(facts["mechanism"], dict) and "epsilon" in facts["mechanism"]:
            facts["mechanism"]["epsilon"] = facts["epsilon"]
    elif how == 5 and name in other:
        part[name] = copy.deepcopy(other[name])
    else:
        part[name] = copy.deepcopy(draw.choice(_ODD))
    if not isinstance(facts.get("mechanism"), dict) or not isinstance(facts.get("coins"), dict):
        facts.setdefault("mechanism", {})
        facts.setdefault("coins", {})


def _pay(facts: dict[str, Any]) -> None:
    """Write the coins and the price that belong to the mechanism as it is now, if it is one."""
    try:
        m = mechanism_from_dict(facts["mechanism"])
        facts["coins"], facts["epsilon"] = thresholds(m), str(m.epsilon.exact)  # type: ignore[attr-defined]
    except DiscreetError:
        pass


def _text(facts: dict[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _written(facts: dict[str, Any], draw: random.Random) -> str:
    """Write a task the one way, or now and then another one."""
    text = _text(facts)
    how = draw.randrange(40)
    if how == 0:
        return json.dumps(facts)
    if how == 1:
        return text[:-1] + ',"name":"q"}'
    if how == 2:
        place = draw.randrange(len(text))
        return text[:place] + draw.choice('0x"{}[],: ') + text[place + 1 :]
    return text + " " if how == 3 else text
