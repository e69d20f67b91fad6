"""Decorators of kernels. Numba is imported when a kernel is first called: a command without kernels does not wait."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Kernel(partial[Any]):
    """A function to be compiled. Numba takes it for its dispatcher, which is made on first use.

    A partial function, because calling another one through it takes 10 ns. One that is compiled ``within`` kernels has
    no machine code for Python, which would be half the work; called from Python, its text runs.
    """

    py_func: Callable[..., Any]
    within: bool
    dispatcher: Any

    def __new__(cls, function: Callable[..., Any], *, within: bool) -> Kernel:
        def first(*given: Any, **named: Any) -> Any:
            self.__setstate__((self.dispatcher, (), {}, vars(self)))
            return self.dispatcher(*given, **named)

        self = super().__new__(cls, function if within else first)
        update_wrapper(self, function)
        self.py_func, self.within = function, within
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by protocols
            raise AttributeError(name)
        if name != "dispatcher":
            return getattr(self.dispatcher, name)
        from discreet.core.jit import dispatcher

        # Threads may get here together: all take the same.
        return vars(self).setdefault("dispatcher", dispatcher(self.py_func, within=self.within))

    def __reduce__(self) -> Any:
        return self.py_func.__qualname__


def jit(function: F) -> F:
    """Compile a kernel on its first call, keep the machine code on disk, and run it without the interpreter's lock."""
    return cast(F, Kernel(function, within=False))


def inlined(function: F) -> F:
    """Compile a helper into the kernels that call it."""
    return cast(F, Kernel(function, within=True))


#: Steps of a kernel that the interpreter takes in less time than compiling the kernel needs.
FEW_STEPS = 1 << 14


def few(kernel: Callable[..., Any], steps: int) -> bool:
    """Return whether a kernel is to take few steps and was not called yet, so that doing without it takes less time."""
    return steps <= FEW_STEPS and not (isinstance(kernel, Kernel) and "dispatcher" in vars(kernel))


def quickly(kernel: F, steps: int) -> F:
    """Return a kernel that calls no other, or its Python text if it is to take few steps and was not called yet."""
    return cast(F, getattr(kernel, "py_func", kernel)) if few(kernel, steps) else kernel
