"""Types of arrays, named once for the whole package."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
SmallIntArray: TypeAlias = npt.NDArray[np.int32]  # places within a block of a file
WordArray: TypeAlias = npt.NDArray[np.uint64]  # random words, hashes, packed bits
AnyArray: TypeAlias = npt.NDArray[Any]
