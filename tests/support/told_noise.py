"""Noise that sees what it is added to, and sets the sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Told(np.ndarray):
    """A substitute for the noise of a sampler: ``answer`` gets the raw numbers and returns the noisy ones."""

    answer: Callable[[Any], Any]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **more: Any) -> Any:
        assert (ufunc, method) == (np.add, "__call__"), "noise is added, and nothing else is done with it"
        (raw,) = (np.asarray(x) for x in inputs if not isinstance(x, Told))
        return np.asarray(self.answer(raw))


def told(size: Any, answer: Callable[[Any], Any]) -> Told:
    """Return noise of a size whose sum with anything is what ``answer`` makes of it."""
    made = np.zeros(size, np.int64).view(Told)
    made.answer = answer
    return made
