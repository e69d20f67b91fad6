"""Numba's compiler with its type kept: a jitted function has the signature it is written with.

Numba keeps machine code on disk and looks only at a kernel's own file to see whether it is stale, not at the files of
what is inlined into it. So when any file with jitted code has changed, the machine code of all of them is thrown away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def _drop_stale_code() -> None:
    package = Path(__file__).parent
    texts = [path.read_bytes() for path in sorted(package.rglob("*.py"))]
    digest = hashlib.sha256(b"".join(text for text in texts if b"discreet._jit import" in text)).hexdigest()
    stamp = package / "__pycache__" / "kernels.sha256"
    try:
        if stamp.is_file() and stamp.read_text() == digest:
            return
        for code in package.rglob("__pycache__/*.nb[ic]"):
            code.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest)
    except OSError:
        return  # a read-only installation: its files do not change either


_drop_stale_code()


def jit(function: F) -> F:
    """Compile a kernel on its first call, keep the machine code on disk, and run it without the interpreter's lock."""
    return cast(F, njit(function, cache=True, nogil=True))


def inlined(function: F) -> F:
    """Compile a helper into the kernels that call it."""
    return cast(F, njit(function, inline="always"))
