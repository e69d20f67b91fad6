"""Processor instructions that Python lacks: eight or 64 bytes at a time, and wide products, as LLVM instructions."""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np

from discreet.core import inlined

_LITTLE = sys.byteorder == "little"


@cache
def _instructions() -> dict[str, Any]:
    """Return functions for kernels by name. They are made when a kernel is compiled, for they need the compiler."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    byte, wide = ir.IntType(8), ir.IntType(128)
    whole, lanes, places = ir.IntType(64), ir.VectorType(byte, 64), ir.VectorType(ir.IntType(32), 64)
    no = ir.Constant(ir.IntType(1), 0)  # for no number of bits is the count of zeros undefined

    def made(build: Callable[..., Any], result: Any, *kinds: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return build(builder, *values)

        # Numba wants to see how many there are.
        def one(typing: Any, a: Any) -> Any:
            return result(*kinds), generate

        def two(typing: Any, a: Any, b: Any) -> Any:
            return result(*kinds), generate

        return intrinsic(one if len(kinds) == 1 else two)

    def loaded(builder: Any, address: Any, kind: Any) -> Any:
        """Load something from any address."""
        return builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)

    def load_word(builder: Any, address: Any) -> Any:
        word = loaded(builder, address, whole)
        return word if _LITTLE else builder.bswap(word)

    def find(builder: Any, address: Any, letter: Any) -> Any:
        first = builder.insert_element(ir.Constant(lanes, ir.Undefined), letter, ir.Constant(places.element, 0))
        alike = builder.shuffle_vector(first, first, ir.Constant(places, [0] * 64))
        found = builder.bitcast(builder.icmp_unsigned("==", loaded(builder, address, lanes), alike), whole)
        return found if _LITTLE else builder.bitreverse(found)

    def upper(builder: Any, a: Any, b: Any) -> Any:
        product = builder.mul(builder.zext(a, wide), builder.zext(b, wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), whole)

    return {
        "byte": made(lambda builder, address: loaded(builder, address, byte), types.uint8, types.uintp),
        "word": made(load_word, types.uint64, types.uintp),
        "found": made(find, types.uint64, types.uintp, types.uint8),
        "below": made(lambda builder, word: builder.cttz(word, no), types.int64, types.uint64),
        "above": made(lambda builder, word: builder.ctlz(word, no), types.int64, types.uint64),
        "ones": made(lambda builder, word: builder.ctpop(word), types.int64, types.uint64),
        "product": made(upper, types.uint64, types.uint64, types.uint64),
    }


class _Instruction:
    """Stands for one of them. Numba asks for its type when a kernel is compiled."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        made = _instructions()[self._name]
        cpu_target.typing_context.refresh()  # they may be new to it
        return cpu_target.typing_context.resolve_value_type(made)


_NAMES = ("byte", "word", "found", "below", "above", "ones", "product")
_byte, _word, _found, _below, _above, _ones, _product = (cast(Any, _Instruction(name)) for name in _NAMES)

# Kernels keep machine code by the texts of the kernels they call; so these are kernels too, compiled into others. Bytes
# are passed by address, not as an array: an array that is handed on has its references counted, for all threads.


@inlined
def byte_at(address: Any, place: Any) -> Any:
    return _byte(np.uintp(address + place))


@inlined
def word_at(address: Any, place: Any) -> Any:
    """Return eight bytes from a place on as one word, the first the lowest."""
    return _word(np.uintp(address + place))


@inlined
def found_at(address: Any, place: Any, letter: Any) -> Any:
    """Return which of 64 bytes from a place on are some letter: one bit each, the first the lowest."""
    return _found(np.uintp(address + place), np.uint8(letter))


@inlined
def zeros_below(word: Any) -> Any:
    """Return how many zeros are below the lowest one of a word: 64 for none."""
    return _below(word)


@inlined
def zeros_above(word: Any) -> Any:
    """Return how many zeros are above the highest one of a word: 64 for none."""
    return _above(word)


@inlined
def ones_in(word: Any) -> Any:
    """Return how many bits of a word are set."""
    return _ones(word)


@inlined
def upper_product(a: Any, b: Any) -> Any:
    """Return the upper half of the product of two words; the lower one is ``a * b``."""
    return _product(a, b)
