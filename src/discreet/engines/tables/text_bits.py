"""What processors do in one step and Python cannot say: eight or 64 bytes at a time, and wide products.

Written as LLVM's own instructions, which Numba compiles for every machine it runs on; what a machine has no
instruction for, LLVM spells out.
"""

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from discreet.core.jit import inlined

_BYTE, _WORD, _WIDE = ir.IntType(8), ir.IntType(64), ir.IntType(128)
_LANES = ir.VectorType(_BYTE, 64)


@intrinsic
def _load(typing: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _loaded(builder, arguments[0], _BYTE)

    return types.uint8(types.uintp), generate


@intrinsic
def _load_word(typing: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = _loaded(builder, arguments[0], _WORD)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(types.uintp), generate


@intrinsic
def _find(typing: Any, address: Any, letter: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.insert_element(ir.Constant(_LANES, ir.Undefined), arguments[1], ir.Constant(ir.IntType(32), 0))
        alike = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64))
        found = builder.icmp_unsigned("==", _loaded(builder, arguments[0], _LANES), alike)
        mask = builder.bitcast(found, _WORD)
        return mask if sys.byteorder == "little" else builder.bitreverse(mask)

    return types.uint64(types.uintp, types.uint8), generate


def _loaded(builder: Any, address: Any, kind: Any) -> Any:
    """Load something from any address."""
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)


@intrinsic
def _trailing(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def _leading(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def _ones(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def _upper(typing: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = builder.mul(*(builder.zext(x, _WIDE) for x in arguments))
        return builder.trunc(builder.lshr(wide, ir.Constant(_WIDE, 64)), _WORD)

    return types.uint64(types.uint64, types.uint64), generate


# Kernels keep machine code by the texts of the kernels they call; so these are kernels too, compiled into others. Bytes
# are told by address, not by array: an array that is handed on has its references counted, for all threads at once.


@inlined
def byte_at(address: Any, place: Any) -> Any:
    """Return one byte."""
    return _load(np.uintp(address + place))


@inlined
def word_at(address: Any, place: Any) -> Any:
    """Return eight bytes from a place on as one word, the first the lowest."""
    return _load_word(np.uintp(address + place))


@inlined
def found_at(address: Any, place: Any, letter: Any) -> Any:
    """Return which of 64 bytes from a place on are some letter: one bit each, the first the lowest."""
    return _find(np.uintp(address + place), np.uint8(letter))


@inlined
def zeros_below(word: Any) -> Any:
    """Return how many zeros are below the lowest one of a word: 64 for none."""
    return _trailing(word)


@inlined
def zeros_above(word: Any) -> Any:
    """Return how many zeros are above the highest one of a word: 64 for none."""
    return _leading(word)


@inlined
def ones_in(word: Any) -> Any:
    """Return how many bits of a word are set."""
    return _ones(word)


@inlined
def upper_product(a: Any, b: Any) -> Any:
    """Return the upper half of the product of two words; the lower one is ``a * b``."""
    return _upper(a, b)
