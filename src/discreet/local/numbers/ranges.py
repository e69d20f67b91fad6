"""Numbers of a public range: its bounds, and how rows are read."""

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import FloatArray, Numeric, checks, option
from discreet.engines.tables import Encoder, arrow_kind
from discreet.errors import InvalidArgument, InvalidType

LOW: Any = option(
    takes="number", example=0.0, help="Lower bound. Values outside the bounds count as the nearest bound."
)
HIGH: Any = option(takes="number", example=1.0, help="Upper bound.")


def public_range(low: object, high: object) -> tuple[float, float]:
    """Check the declared bounds of a number: finite, the lower one first."""
    lower = checks.finite("low", low, fix="low=0.0")
    upper = checks.finite("high", high, fix="high=1.0")
    if not lower < upper or not np.isfinite(upper - lower):
        raise InvalidArgument("high", high, f"above low ({lower:g}), with a finite distance", f"high={lower + 1:g}")
    return lower, upper


def numbers(values: Any) -> FloatArray:
    """Read one number per row; anything else is NaN. Types may be refused, rows may not."""
    if hasattr(values, "__arrow_c_stream__") and getattr(values, "dtype", None) != np.dtype(object):
        values = pa.chunked_array(values)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        if arrow_kind(values.type) == "other":
            raise InvalidType("values", str(values.type), "a column of numbers", "values=column.cast(pa.float64())")
        return Encoder(Numeric("values", 0, 1)).arrow(values)
    return checks.numeric_column("values", values)
