"""Numba's compiler, typed: a compiled function keeps its signature.

Numba checks only a kernel's own file for changes, not the kernels it calls. So machine code is kept in the user's cache
folder, under a name that depends on the version, the text of the kernel's module and the texts of the kernels it calls.
Clones and environments with the same text share it. Nothing is written into the installation.

Compiling takes seconds, once per machine. The logger ``discreet.kernels`` reports it once, as a warning: Python prints
it on the error stream unless a program decides otherwise. DISCREET_QUIET=1 silences it.
"""

import gc
import hashlib
import logging
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba import njit
from numba.core import caching, environment, event
from numba.core.runtime import rtsys

from discreet._version import __version__
from discreet.core.kernels import Kernel
from discreet.core.output.files import cache_folder
from discreet.errors import DataSourceError

#: The name of a module with kernels, and what its machine code depends on.
_TEXTS: dict[str, str] = {}


#: Seconds of compiling before anything is said.
PATIENCE = 1.0
#: Seconds that compiling takes on a usual machine, by room of the kernel; `benchmarks/speed/start.py` measures them.
_EXPECTED = {"anonymity": 10}
_EXPECTED_ELSEWHERE = 5


class _Compiling(event.Listener):  # type: ignore[misc]
    """Logs once that kernels are being compiled, if that takes long in total; no garbage is collected meanwhile."""

    def __init__(self) -> None:
        self._inside, self._since, self._taken = 0, 0.0, 0.0
        self._alarm: threading.Timer | None = None
        self._said = False
        self._collected = True

    def on_start(self, event: Any) -> None:
        self._inside += 1
        if self._inside == 1:  # the compiler makes millions of objects that live on; looking at them again takes long
            self._collected = gc.isenabled()
            gc.disable()
        package, room = (*event.data["dispatcher"].py_func.__module__.split("."), "")[:2]
        if self._inside == 1 and not self._said and package == "discreet":  # not the kernels of others
            self._since = time.monotonic()
            expected = _EXPECTED.get(room, _EXPECTED_ELSEWHERE)
            self._alarm = threading.Timer(max(0.0, PATIENCE - self._taken), self._say, [expected])
            self._alarm.daemon = True
            self._alarm.start()

    def on_end(self, event: Any) -> None:
        self._inside -= 1
        if self._inside == 0 and self._collected:
            gc.enable()
        if self._inside == 0 and self._alarm is not None:
            self._alarm.cancel()
            self._taken += time.monotonic() - self._since
            self._alarm = None

    def _say(self, expected: int) -> None:
        if not self._said:
            self._said = True
            if os.environ.get("DISCREET_QUIET", "0") in ("", "0"):
                told = "discreet: compiling for this machine, once; about %d seconds"
                logging.getLogger("discreet.kernels").warning(told, expected)


event.register("numba:compile", _Compiling())


def _kernel_text(module: str, names: dict[str, Any]) -> str:
    """Return a digest of a module's text and of the kernels and constants it has imported."""
    if module not in _TEXTS:
        _TEXTS[module] = module  # for modules that call each other's kernels
        texts = [__version__, module]
        file = names.get("__file__")
        if file is not None:
            texts.append(hashlib.sha256(Path(file).read_bytes()).hexdigest())
        for name, value in sorted(names.items()):
            if isinstance(value, Kernel):
                home = value.py_func.__module__
                texts += [_kernel_text(home, value.py_func.__globals__)] * (home != module)
            elif isinstance(value, ModuleType) and value.__name__.endswith("kernels"):
                texts.append(_kernel_text(value.__name__, vars(value)))
            elif isinstance(value, (int, float, tuple)) and name.isupper():
                texts.append(f"{name}={value!r}")
        _TEXTS[module] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return _TEXTS[module]


def kernel_folder() -> Path:
    """Return the folder that machine code is kept in: one that Numba's NUMBA_CACHE_DIR names, or the user's cache."""
    return Path(numba.config.CACHE_DIR) if numba.config.CACHE_DIR else cache_folder()


class _Folder:
    """The folder of a kernel's machine code, in the words of Numba: a locator."""

    def __init__(self, function: Callable[..., Any]) -> None:
        text = _kernel_text(function.__module__, function.__globals__)
        self._py_file = function.__code__.co_filename
        self._line = function.__code__.co_firstlineno
        self._path = str(kernel_folder() / f"kernels-{text[:24]}" / Path(self._py_file).parent.name)

    def get_cache_path(self) -> str:
        """Return the folder, which depends on the texts of kernels, not on the path of their file."""
        return self._path

    def get_source_stamp(self) -> str:
        """Return nothing new: the folder has the text in its name."""
        return ""

    def get_disambiguator(self) -> str:
        """Return the line, because functions in a file may share a name."""
        return str(self._line)

    def ensure_cache_path(self) -> None:
        """Make the folder, when there is something to keep."""
        os.makedirs(self._path, exist_ok=True)


class _Entry(caching.CompileResultCacheImpl):  # type: ignore[misc]
    """The names of a kernel's files."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Folder(function)
        name = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))


class _Reader(pickle.Unpickler):
    """Reads machine code without importing the modules of Numba that it was compiled from."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a name in the file stands for."""
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """Return the constants of compiled code. Only interpreted code, which kernels have none of, reads the globals."""
    made = environment.lookup_environment(name)
    if made is None:
        made = environment.Environment(vars(sys.modules[module]) if module in sys.modules else {"__name__": module})
        made.consts[:] = constants
        made.env_name = name
        environment.Environment._memo[name] = made
    return made


class _Files(caching.IndexDataCacheFile):  # type: ignore[misc]
    """The files of a kernel."""

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            return _Reader(file).load()


class _Kept(caching.FunctionCache):  # type: ignore[misc]
    """Machine code on disk.

    Numba's own cache prepares the whole compiler before it looks for a file, which takes longer than most commands on a
    small table. Kept code needs only the runtime that counts references. A disk that cannot be read or written costs
    time, never a result.
    """

    _impl_class = _Entry

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return kept code, or None."""
        try:
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code if there is room."""
        with suppress(OSError):
            self._save_overload(sig, data)


def dispatcher(function: Callable[..., Any], *, within: bool) -> Any:
    """Return Numba's dispatcher of a kernel; of one that is compiled ``within`` others, without code for Python."""
    if within:
        return njit(function, nogil=True, forceinline=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)
    made = njit(function, nogil=True, no_cfunc_wrapper=True)
    with suppress(DataSourceError):  # without a home, compiled anew in every process
        made._cache = _Kept(function)
    return made
