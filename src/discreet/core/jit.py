"""Numba's compiler, typed: a compiled function keeps its signature.

Numba checks only a kernel's own file for changes, not the kernels it calls. So machine code is kept in the user's cache
folder, under a name that depends on the version, the text of the kernel's module and the texts of the kernels it calls.
Clones and environments with the same text share it. Nothing is written into the installation.

Compiling takes seconds, once per machine. The logger ``discreet.kernels`` reports it.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import njit
from numba.core import caching, event

from discreet._version import __version__
from discreet.core.output.files import cache_folder

F = TypeVar("F", bound=Callable[..., Any])

#: The name of a module with kernels, and what its machine code depends on.
_TEXTS: dict[str, str] = {}


#: Seconds of compiling before anything is said.
PATIENCE = 2.0


class _Compiling(event.Listener):  # type: ignore[misc]
    """Logs once that kernels are being compiled, if that takes long in total."""

    def __init__(self) -> None:
        self._inside, self._since, self._taken = 0, 0.0, 0.0
        self._alarm: threading.Timer | None = None
        self._said = False

    def on_start(self, event: Any) -> None:
        self._inside += 1
        if self._inside == 1 and not self._said:
            self._since = time.monotonic()
            self._alarm = threading.Timer(max(0.0, PATIENCE - self._taken), self._say)
            self._alarm.daemon = True
            self._alarm.start()

    def on_end(self, event: Any) -> None:
        self._inside -= 1
        if self._inside == 0 and self._alarm is not None:
            self._alarm.cancel()
            self._taken += time.monotonic() - self._since
            self._alarm = None

    def _say(self) -> None:
        if not self._said:
            self._said = True
            logging.getLogger("discreet.kernels").info("preparing fast code for this machine, once")


event.register("numba:compile", _Compiling())


def _kernel_text(module: str, names: dict[str, Any]) -> str:
    """Return a digest of a module's text and of the kernels and constants it has imported so far."""
    if module not in _TEXTS:
        texts = [__version__, module]
        file = names.get("__file__")
        if file is not None:
            texts.append(hashlib.sha256(Path(file).read_bytes()).hexdigest())
        for name, value in sorted(names.items()):
            home = getattr(getattr(value, "py_func", None), "__module__", None)
            if home is not None and home != module:
                texts.append(_TEXTS.get(home, home))
            elif isinstance(value, (int, float, tuple)) and name.isupper():
                texts.append(f"{name}={value!r}")
        _TEXTS[module] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return _TEXTS[module]


if hasattr(caching, "UserProvidedCacheLocator"):

    class AnyPlace(caching.UserProvidedCacheLocator):  # type: ignore[misc]
        """Lets Numba name a kernel's folder by the texts of the kernels, not by the path of its file."""

        @classmethod
        def get_suitable_cache_subpath(cls, py_file: str) -> str:
            """Return the part of the folder's name that Numba would make unlike for each place of the file."""
            return Path(py_file).parent.name


def jit(function: F) -> F:
    """Compile a kernel on its first call, keep the machine code on disk, and run it without the interpreter's lock."""
    return _compiled(function, within=False)


def jit_within(function: F) -> F:
    """Compile a short kernel that others call often with many arrays: its code becomes part of theirs."""
    return _compiled(function, within=True)


def _compiled(function: F, within: bool) -> F:
    given, locators = numba.config.CACHE_DIR, getattr(numba.config, "CACHE_LOCATOR_CLASSES", "")
    # Numba chooses the place when a function is decorated, so other packages' kernels stay where they were.
    try:
        if not given:
            text = _kernel_text(function.__module__, function.__globals__)
            numba.config.CACHE_DIR = str(cache_folder() / f"kernels-{text[:24]}")
            if "AnyPlace" in globals():
                numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.AnyPlace"
        return cast(F, njit(function, cache=True, nogil=True, forceinline=within, no_cfunc_wrapper=True))
    except (RuntimeError, OSError):
        # No folder can be written to: compiled anew in every process.
        return cast(F, njit(function, nogil=True, forceinline=within, no_cfunc_wrapper=True))
    finally:
        numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES = given, locators


def inlined(function: F) -> F:
    """Compile a helper into the kernels that call it."""
    _kernel_text(function.__module__, function.__globals__)
    return cast(F, njit(function, nogil=True, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True))
