"""Values written by their declaration: the columns that an anonymous table passes on.

A column is read as coordinates on its declared axis (`discreet.engines.tables.encode`) and written from these. So only
declared values leave: a name in a number column or an undeclared category is missing, a number beyond its bounds is the
bound, and all spellings of a value are written alike.
"""

import numpy as np
import pyarrow as pa

from discreet.core import Categorical, Column, Date, FloatArray, Integer, Time, category_text, date_array, time_array


def declared_type(column: Column) -> pa.DataType:
    """Return the Arrow type of the values of a declared column: it depends on the declaration alone."""
    if isinstance(column, Categorical):
        kinds = set(map(type, column.categories))
        return pa.bool_() if kinds == {bool} else pa.int64() if kinds == {int} else pa.large_string()
    if isinstance(column, (Date, Time)):
        return pa.large_string()
    return pa.int64() if isinstance(column, Integer) else pa.float64()


def declared_values(column: Column, coordinates: FloatArray) -> pa.Array:
    """Write coordinates of a declared column as its values; missing ones as null."""
    missing, kind = np.isnan(coordinates), declared_type(column)
    if isinstance(column, Categorical):
        plain = column.categories if kind != pa.large_string() else [category_text(c) for c in column.categories]
        places = np.where(missing, 0, coordinates).astype(np.int64)
        return pa.array(plain, kind).take(pa.array(places, mask=missing))
    inside = np.clip(coordinates, column.low, column.high)
    if isinstance(column, (Date, Time)):
        return (date_array if isinstance(column, Date) else time_array)(inside).cast(kind)
    # Adding 0.0 takes the sign off -0.0: equal numbers that are counted as one value are written alike.
    return pa.array(np.where(missing, 0.0, inside) + 0.0, mask=missing).cast(kind)
