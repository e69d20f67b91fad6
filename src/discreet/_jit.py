"""Numba's compiler with its type kept: a jitted function has the signature it is written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile a kernel on its first call, keep the machine code on disk, and run it without the interpreter's lock."""
    return cast(F, njit(function, cache=True, nogil=True))


def inlined(function: F) -> F:
    """Compile a helper into the kernels that call it."""
    return cast(F, njit(function, inline="always"))
