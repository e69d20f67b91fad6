"""The jitted loop under `coin_bytes.py`: eight coins from two random bytes by a table."""

from typing import Any

import numpy as np

from discreet.core import inlined, jit
from discreet.noise.stream.kernels import FINISHED, MORE_BYTES, MORE_DIGITS


@inlined
def _compare(
    first: Any, last: Any, digits: Any, buffer: Any, position: int
) -> tuple[int, int, int]:  # pragma: no cover
    """Find the pattern that two digits leave open: read on until one is left. Return it, the place after, a state."""
    lead = (int(buffer[position]) << 8) | int(buffer[position + 1])
    low, high, after = int(first[lead]), int(last[lead]), position + 2
    for place in range(2, digits.shape[1]):
        if after >= buffer.shape[0]:
            return 0, position, MORE_BYTES
        digit = buffer[after]
        after += 1
        # The chances that still tie are in order, hence so are their next digits.
        while low < high and digits[low + 1, place] < digit:
            low += 1
        while low < high and digits[high, place] > digit:
            high -= 1
        if low == high:
            return low, after, FINISHED
    return 0, position, MORE_DIGITS


@jit
def coin_bytes(
    settled: Any, first: Any, last: Any, digits: Any, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    """Draw patterns of eight coins by inversion; see `coin_bytes.py` for the tables.

    ``settled[t]`` is the pattern of the two leading digits t, or -1 where they do not decide it: then it is one of
    ``first[t]..last[t]``, and row b of ``digits`` holds the digits of the chance of a pattern below b.
    """
    while done < out.shape[0]:
        # The common case: one pattern after the other up to the first that is open. Unsigned places are twice as fast:
        # Numba need not look whether they count from the end.
        room = min(out.shape[0] - done, (buffer.shape[0] - position) // 2)
        source, target = buffer[position : position + 2 * room], out[done : done + room]
        i, stop = np.uint64(0), np.uint64(room)
        while i < stop:
            pattern = settled[(np.uint64(source[i + i]) << np.uint64(8)) | np.uint64(source[i + i + np.uint64(1)])]
            if pattern < 0:
                break
            target[i] = np.uint8(pattern)
            i += np.uint64(1)
        done += int(i)
        position += 2 * int(i)
        if done == out.shape[0]:
            break
        if position + 2 > buffer.shape[0]:
            return position, done, MORE_BYTES
        found, position, state = _compare(first, last, digits, buffer, position)
        if state != FINISHED:
            return position, done, state
        out[done] = found
        done += 1
    return position, done, FINISHED
