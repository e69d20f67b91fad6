"""Write docs/wire-vectors.json: tasks, values and coins, and the report and frame that every client makes of them.

    .venv/bin/python docs/scripts/wire_vectors.py

The coins are SHA-256 in counter mode over the number of the vector, so the file comes out the same every time.
"""

import hashlib
import json
from itertools import count
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.local import Memo, Task, write_frame
from discreet.local.tasks.device import Device
from discreet.noise.reports.one_device import ByteCoins

TARGET = Path(__file__).parents[1] / "wire-vectors.json"
SECRET = bytes(range(32))
#: A value as every reader of JSON can hold it: others are wrapped, a text that is not one as its UTF-16 units.
VALUES: list[Any] = [0, 2, "dog", "cafe\u0301", None, True, 7.0, 0.5, {"whole": "-1"}, {"bytes": "00ff"}]
VALUES += [{"units": [0xD83D, 0x20, 0x78]}]
#: Numbers too, of tasks that ask for them: bounds, edges of buckets, beyond, and several at once.
NUMBERS: list[Any] = [0, 0.001, 0.1, 2.5, 7.3, 10, 1e300, -1e-9, 5e-324, {"whole": "-1"}, True, None, "7"]
NUMBERS += [{"number": "inf"}, {"number": "-inf"}, {"number": "nan"}, [1, -0.5, 4], [None, 3, {"number": "inf"}], [1]]
WORDS = ["cat", "dog", "café", 7, "emu"]
#: Every mechanism that the planner may choose, and both sides of every rule.
MECHANISMS = [
    dc.local.DirectResponse(1, WORDS),
    dc.local.DirectResponse(2, 2),
    dc.local.DirectResponse(6, 70_000),
    dc.local.UnaryEncoding(1, WORDS),
    dc.local.UnaryEncoding(2, 11, variant="symmetric"),
    dc.local.SubsetSelection(1, WORDS),
    dc.local.SubsetSelection(2, 300),
    dc.local.SubsetSelection(5, 300, size=3),
    dc.local.LocalHashing(1, candidates=20, key=7),
    dc.local.LocalHashing(3, candidates=WORDS, key=7),
    dc.local.LocalHashing(2, pool=1000, key=2**128 - 5),
    dc.local.PrefixExtension(2, length=4, pool=256, key=7),
    dc.local.PrefixExtension(4, alphabet="éabcdefgo'07", other="o", length=5, pool=99, key=8),
    dc.local.HadamardResponse(1, WORDS),
    dc.local.HadamardResponse(3, 500),
    dc.local.ProjectiveGeometry(1, WORDS),
    dc.local.ProjectiveGeometry(2, 500),
    dc.local.ProjectiveGeometry(4, 22_000),
    dc.local.CountMeanSketch(2, 64, 20, key=7),
    dc.local.CountMeanSketch(4, 1, 16, key=8),
    dc.local.HadamardSketch(2, 1024, 1024, key=7),
    dc.local.HadamardSketch(1, 5, 16, key=7, skip_zero=True),
    dc.local.BitFlip(1, WORDS, bits=2),
    dc.local.BitFlip(2, 4, bits=4),
    dc.local.BitFlip(1, 26, bits=3, memoised=True),
    dc.local.BitFlip(1, WORDS, memoised=True),
    dc.local.Rappor(0.5, 0.5, 0.75, bits=20, hashes=2, cohorts=6, key=7),
    dc.local.Rappor("1/3", 0.75, 0.25, bits=16, hashes=1, cohorts=1, key=8),
    dc.local.OwnOracle(2, 3, ((7, 1, 4), (1, 7, 4), (4, 2, 6)), ((0,), (1,), (2,))),
    dc.local.OwnOracle(1, WORDS[:2], ((5, 2, 2**40), (2, 5, 2**40)), ((0,), (1,), ())),
    dc.local.SquareWave(2, 0, 10, 100),
    dc.local.SquareWave(1, -1.5, 1e-7, 2, reach=0),
    dc.local.SquareWave(2, 0.001, 60, 64, "log"),
    dc.local.MeanResponse(1, 0, 10),
    dc.local.MeanResponse(0.5, -1, 1),
    dc.local.MeanResponse(3, 0.1, 7.3, "piecewise", steps=5),
    dc.local.MeanResponse(2, 0, 10, "duchi"),
    dc.local.MeanVector(1, [0, -1, 0.5], [10, 1, 8]),
    dc.local.MeanVector(5, [0, -1, 0.5], [10, 1, 8], "piecewise", steps=9),
    # Labels that look like a number for "not in the list".
    dc.local.BitFlip(4, [-2, -1, 0, 1, 2], bits=4, memoised=True),
    dc.local.BitFlip(4, ["-1", "0", 1], bits=3, memoised=True),
]


def stream(name: str) -> bytes:
    """Return plenty of bytes that follow from a name."""
    return b"".join(hashlib.sha256(f"{name} {block}".encode()).digest() for block in range(64))


def unwrapped(value: Any) -> Any:
    """Return the value that JSON wraps."""
    match value:
        case {"whole": digits}:
            return int(digits)
        case {"bytes": digits}:
            return bytes.fromhex(digits)
        case {"units": units}:
            return "".join(map(chr, units))
        case {"number": text}:
            return float(text)
        case [*parts]:
            return [unwrapped(part) for part in parts]
    return value


def vectors() -> dict[str, Any]:
    """Return the content of the file."""
    numbers = count()
    tasks: list[dict[str, Any]] = []
    for mechanism in MECHANISMS:
        task = Task(
            mechanism, name=f"vector {len(tasks)}", per_day=200, wanted=1000, minimum=10,
            opens="2026-01-01T00:00:00Z", closes="2027-01-01T00:00:00Z",
        )  # fmt: skip
        device, rows = Device(task), []
        for value in NUMBERS if hasattr(mechanism, "low") else VALUES:
            name = f"vector {next(numbers)}"
            coins = ByteCoins(given=stream(name))
            report = device.report(unwrapped(value), coins, Memo(SECRET))
            drawn = stream(name)[: coins.used].hex()
            rows.append({"value": value, "coins": drawn, "report": report.hex()})
        bodies = b"".join(bytes.fromhex(row["report"]) for row in rows)
        key = stream(task.name)[:16]
        frames = {
            "key": key.hex(),
            "one": write_frame(mechanism, bodies[: mechanism.layout.size], key=key).hex(),
            "batch": write_frame(mechanism, bodies, key=key).hex(),
        }
        tasks.append({"task": task.to_json(), "digest": task.digest, "reports": rows, "frames": frames})
    return {"secret": SECRET.hex(), "tasks": tasks}


if __name__ == "__main__":
    TARGET.write_text(json.dumps(vectors(), indent=1, ensure_ascii=True) + "\n", encoding="ascii")
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")
