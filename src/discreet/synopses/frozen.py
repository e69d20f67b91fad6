"""Read-only arrays: an artifact that is sealed must not change under its seal."""

import math
from typing import Any

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray
from discreet.errors import InvalidArgument, InvalidType


def frozen_floats(
    name: str, value: Any, shape: tuple[int, ...], *, gaps: bool = False, infinite: bool = False
) -> FloatArray:
    """Return a read-only float copy of an argument; NaN and infinity only where they mean something."""
    # The sum turns -0.0 into 0.0: one number has one byte form, which the seal needs.
    array: FloatArray = np.add(_numbers(name, value, shape), 0.0, dtype=np.float64, order="C")
    odd = ~np.isfinite(array) & ~(np.isnan(array) & gaps) & ~(np.isposinf(array) & infinite)
    if odd.any():
        raise InvalidArgument(name, float(array[odd][0]), "finite numbers", f"{name}=np.zeros({shape})")
    array[np.isnan(array)] = np.nan  # one NaN of the many: the seal is over bytes
    array.setflags(write=False)
    return array


def frozen_ints(name: str, value: Any, shape: tuple[int, ...]) -> IntArray:
    """Return a read-only integer copy of an argument of the given shape."""
    array = _numbers(name, value, shape)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidType(name, array.dtype.name, "an array of whole numbers", f"{name}=np.zeros({shape}, dtype=int)")
    whole = array.astype(np.int64)
    whole.setflags(write=False)
    return whole


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> AnyArray:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise InvalidType(name, array.dtype.name, "an array of numbers", f"{name}=np.zeros({shape})")
    if array.shape != shape and not (array.size == 0 and math.prod(shape) == 0 and array.ndim <= len(shape)):
        raise InvalidArgument(name, array.shape, f"an array of shape {shape}", f"{name}=np.zeros({shape})")
    return array.reshape(shape)
