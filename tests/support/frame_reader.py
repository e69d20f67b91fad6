"""Read a whole frame as a collector does: split it, then check its reports."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from discreet.local.tasks.frames import impossible, split_frame


class Frame(NamedTuple):
    """The key, and one packed report per row."""

    key: bytes
    rows: Any


def read_frame(mechanism: Any, data: bytes) -> Frame:
    key, n, body = split_frame(mechanism.layout.size, data)
    rows = np.frombuffer(body, np.uint8).reshape(n, mechanism.layout.size)
    possible = mechanism.possible(rows)
    if not possible.all():
        raise impossible(possible)
    return Frame(key, rows)
