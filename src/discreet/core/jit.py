"""Numba's compiler, typed: a compiled function keeps its signature.

Numba checks only a kernel's own file for changes, not the kernels it calls. So machine code is kept in the user's cache
folder, under a name that depends on the version, the text of the kernel's module and the texts of the kernels it calls.
Clones and environments with the same text share it. Nothing is written into the installation.

Compiling takes seconds, once per machine and method. The logger ``discreet.kernels`` warns once per subpackage: Python
prints it on the error stream unless a program decides otherwise. DISCREET_QUIET=1 silences it.
"""

import gc
import hashlib
import io
import logging
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.core import event

from discreet._version import __version__
from discreet.core.kernels import Kernel
from discreet.core.output.files import NewFile, cache_folder
from discreet.errors import DataSourceError

#: The name of a module with kernels, and what its machine code depends on.
_TEXTS: dict[str, str] = {}
#: Seconds of compiling before anything is said.
PATIENCE = 1.0
#: Seconds that a first job compiles if it takes that long at all: least and most in `benchmarks/results/start.json`.
EXPECTED = (2, 8)
_LINE = "discreet: compiling for this machine; the first use of a method takes about %d to %d seconds longer"


class _Compiling(event.Listener):  # type: ignore[misc]
    """Logs, once per subpackage, that compiling kernels takes long; no garbage is collected meanwhile."""

    def __init__(self) -> None:
        self._inside, self._since, self._taken = 0, 0.0, 0.0
        self._alarm: threading.Timer | None = None
        self._said: set[str] = set()
        self._counted = 0.0  # seconds since something was logged
        self._collected = True

    def on_start(self, event: Any) -> None:
        self._inside += 1
        if self._inside > 1:
            return
        self._collected = gc.isenabled()
        gc.disable()  # the compiler makes millions of objects that live on; looking at them again takes long
        self._since = time.monotonic()
        # Only our own kernels are mentioned.
        package, _, rest = event.data["dispatcher"].py_func.__module__.partition(".")
        room = rest.partition(".")[0]
        if package == "discreet" and room not in self._said:
            self._alarm = threading.Timer(max(0.0, PATIENCE - self._counted), self._say, [room])
            self._alarm.daemon = True
            self._alarm.start()

    def on_end(self, event: Any) -> None:
        self._inside -= 1
        if self._inside == 0:
            took = time.monotonic() - self._since
            self._taken, self._counted = self._taken + took, self._counted + took
            if self._collected:
                gc.enable()
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None

    def seconds(self) -> float:
        """Return how long kernels have been compiled; 0 if none is being compiled now."""
        return self._taken + time.monotonic() - self._since if self._inside else 0.0

    def _say(self, room: str) -> None:
        if room not in self._said:
            self._said.add(room)
            self._counted = self._since - time.monotonic()  # 0 from now on
            if os.environ.get("DISCREET_QUIET", "0") in ("", "0"):
                logging.getLogger("discreet.kernels").warning(_LINE, *EXPECTED, extra={"seconds": self.seconds})


event.register("numba:compile", _Compiling())


def _kernel_text(module: str, names: dict[str, Any]) -> str:
    """Return a digest of a module's text and of all kernels and constants that its kernels can reach.

    Threads may ask at once: each computes the same.
    """
    if module not in _TEXTS:
        reached, new = {module: names}, [names]
        while new:
            for home, inner in _kernel_modules(new.pop()):
                if home not in reached:
                    reached[home] = inner
                    new.append(inner)
        texts = [__version__, *map(_text, sorted(reached.items()))]
        _TEXTS[module] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return _TEXTS[module]


def _kernel_modules(names: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Find the modules whose kernels a module imports, by themselves or through the module."""
    for value in list(names.values()):
        if isinstance(value, Kernel):
            yield value.py_func.__module__, value.py_func.__globals__
        elif isinstance(value, ModuleType) and _has_kernels(value):
            yield value.__name__, vars(value)


def _has_kernels(module: ModuleType) -> bool:
    """Return whether a module has kernels; False for packages, of which processes load different parts."""
    return not hasattr(module, "__path__") and any(isinstance(each, Kernel) for each in list(vars(module).values()))


def _text(module: tuple[str, dict[str, Any]]) -> str:
    """Return a module's name, a digest of its file, and its constants: some come from modules without kernels."""
    name, names = module
    file = names.get("__file__")
    text = "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()
    constants = (f"{each}={value!r}" for each, value in sorted(names.items()) if each.isupper() and _is_plain(value))
    return "\n".join([name, text, *constants])


def _is_plain(value: Any) -> bool:
    """Return whether a constant reads the same in every process."""
    plain = isinstance(value, (int, float, str, np.generic))
    return plain or (isinstance(value, tuple) and all(map(_is_plain, value)))


def kernel_folder() -> Path:
    """Return the folder that machine code is kept in: one that Numba's NUMBA_CACHE_DIR names, or the user's cache."""
    return Path(numba.config.CACHE_DIR) if numba.config.CACHE_DIR else cache_folder()


class _Kept:
    """Machine code on disk, one file per signature and processor.

    Numba's own cache numbers its files in an index. If two processes compile at once, two signatures can get the same
    number, and then the code of one runs for the other. It also prepares the whole compiler before it looks for a file,
    which takes longer than most commands on a small table; kept code needs only the runtime that counts references. A
    file that is damaged, or of a Numba that works differently, costs time, never a result.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        text, code = _kernel_text(function.__module__, function.__globals__), function.__code__
        file = Path(code.co_filename)
        self.cache_path = str(kernel_folder() / f"kernels-{text[:24]}" / file.parent.name)
        self._name = f"{file.stem}.{function.__qualname__}-{code.co_firstlineno}"
        # Otherwise the text does not say what is computed.
        self._known = function.__closure__ is None and "__file__" in function.__globals__

    def _file(self, sig: Any, codegen: Any) -> Path:
        # The magic tuple names the processor and what it can do.
        facts = repr((numba.__version__, sys.implementation.cache_tag, sig, codegen.magic_tuple()))
        return Path(self.cache_path, f"{self._name}.{hashlib.sha256(facts.encode()).hexdigest()[:24]}.nbc")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return kept code, or None."""
        with suppress(*_UNUSABLE):
            from numba.core.compiler import CompileResult
            from numba.core.runtime import rtsys

            rtsys.initialize(target_context)
            held = self._file(sig, target_context.codegen()).read_bytes()
            if hashlib.sha256(held[32:]).digest() == held[:32]:
                of, data = _Reader(io.BytesIO(held[32:])).load()
                return CompileResult._rebuild(target_context, *data) if of == sig else None
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code if there is room."""
        with suppress(*_UNUSABLE):
            from numba.core.serialize import dumps

            if self._known and not data.library.has_dynamic_globals and not data.lifted:
                path, held = self._file(sig, data.codegen), dumps((sig, data._reduce()))
                path.parent.mkdir(parents=True, exist_ok=True)
                with NewFile(path) as out:
                    out.file.write(hashlib.sha256(held).digest() + held)
                    out.keep()

    def flush(self) -> None:
        """Forget nothing: the text of a kernel is in the name of its folder."""


class _Reader(pickle.Unpickler):
    """Reads machine code without importing the modules of Numba that it was compiled from."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a name in the file stands for."""
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """Return the constants of compiled code. Only interpreted code, which kernels have none of, reads the globals."""
    from numba.core import environment

    made = environment.lookup_environment(name)
    if made is None:
        made = environment.Environment(vars(sys.modules[module]) if module in sys.modules else {"__name__": module})
        made.consts[:] = constants
        made.env_name = name
        environment.Environment._memo[name] = made
    return made


#: Errors of a disk, of a file, and of a Numba whose inner parts have other names or arguments.
_UNUSABLE = (OSError, pickle.PickleError, EOFError, ImportError, AttributeError, TypeError, ValueError, LookupError)


def dispatcher(function: Callable[..., Any], *, within: bool) -> Any:
    """Return Numba's dispatcher of a kernel; of one that is compiled ``within`` others, without code for Python."""
    if within:
        return njit(function, nogil=True, forceinline=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)
    made = njit(function, nogil=True, no_cfunc_wrapper=True)
    with suppress(DataSourceError):  # without a home, compiled anew in every process
        made._cache = _Kept(function)
    return made
