"""Processor instructions that Python lacks: eight or 64 bytes at a time, and wide products, as LLVM instructions."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from discreet.core import inlined

_BYTE, _WORD, _WIDE = ir.IntType(8), ir.IntType(64), ir.IntType(128)
_LANES, _PLACES = ir.VectorType(_BYTE, 64), ir.VectorType(ir.IntType(32), 64)
_LITTLE = sys.byteorder == "little"
_NO = ir.Constant(ir.IntType(1), 0)  # for no number of bits is the count of zeros undefined


def _instruction(build: Callable[..., Any], result: Any, *kinds: Any) -> Any:
    """Make a function for kernels of what builds its instructions, and the types it gives and takes."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return build(builder, *values)

    # Numba wants to see how many there are.
    def one(typing: Any, a: Any) -> Any:
        return result(*kinds), generate

    def two(typing: Any, a: Any, b: Any) -> Any:
        return result(*kinds), generate

    return intrinsic(one if len(kinds) == 1 else two)


def _loaded(builder: Any, address: Any, kind: Any) -> Any:
    """Load something from any address."""
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)


def _load_word(builder: Any, address: Any) -> Any:
    word = _loaded(builder, address, _WORD)
    return word if _LITTLE else builder.bswap(word)


def _find(builder: Any, address: Any, letter: Any) -> Any:
    first = builder.insert_element(ir.Constant(_LANES, ir.Undefined), letter, ir.Constant(_PLACES.element, 0))
    alike = builder.shuffle_vector(first, first, ir.Constant(_PLACES, [0] * 64))
    found = builder.bitcast(builder.icmp_unsigned("==", _loaded(builder, address, _LANES), alike), _WORD)
    return found if _LITTLE else builder.bitreverse(found)


def _upper(builder: Any, a: Any, b: Any) -> Any:
    wide = builder.mul(builder.zext(a, _WIDE), builder.zext(b, _WIDE))
    return builder.trunc(builder.lshr(wide, ir.Constant(_WIDE, 64)), _WORD)


_byte = _instruction(lambda builder, address: _loaded(builder, address, _BYTE), types.uint8, types.uintp)
_word = _instruction(_load_word, types.uint64, types.uintp)
_found = _instruction(_find, types.uint64, types.uintp, types.uint8)
_below = _instruction(lambda builder, word: builder.cttz(word, _NO), types.int64, types.uint64)
_above = _instruction(lambda builder, word: builder.ctlz(word, _NO), types.int64, types.uint64)
_ones = _instruction(lambda builder, word: builder.ctpop(word), types.int64, types.uint64)
_product = _instruction(_upper, types.uint64, types.uint64, types.uint64)

# Kernels keep machine code by the texts of the kernels they call; so these are kernels too, compiled into others. Bytes
# are passed by address, not as an array: an array that is handed on has its references counted, for all threads.


@inlined
def byte_at(address: Any, place: Any) -> Any:
    """Return one byte."""
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
