"""Items as 64-bit words, and which of them are missing: what all counts of different items begin with."""

from typing import Any

import numpy as np

from discreet import noise
from discreet.core.arrays import BoolArray, WordArray
from discreet.errors import InvalidArgument, InvalidType


def item_words(items: Any, key: int, name: str = "items") -> tuple[WordArray, BoolArray]:
    """Return the fingerprint of every item, and whether it is missing.

    Parameters
    ----------
    items : list, range, array, Arrow array or series
        Whole numbers, text or bytes.
    key : int
        Public key of the hash.
    name : str
        What the caller calls them, for errors.

    Examples
    --------
    >>> item_words(["ann", None, "ann"], 7)[1].tolist()
    [False, True, False]
    >>> item_words(3.5, 7)
    Traceback (most recent call last):
    ...
    discreet.errors.InvalidType: items must be a list or column of whole numbers, text or bytes, got 'float'; try
    items=[item]
    """
    if isinstance(items, range):
        items = np.arange(items.start, items.stop, items.step)
    if isinstance(items, (set, frozenset, dict)):
        raise InvalidType(name, type(items).__name__, "a list or column", f"{name}=list({name})")
    try:
        words = noise.fingerprint(items, key)
    except InvalidType as error:
        fix = error.fix.replace("values=[value]", f"{name}=[item]")
        if str(error.value) in ("float64", "double") and hasattr(items, "astype"):
            # Numbers of items with gaps are what pandas makes fractions of.
            fix = f"{name}={name}.astype({'Int64' if hasattr(items, 'index') else 'int64'!r})"
        raise InvalidType(name, error.value, error.expected, fix) from None
    except InvalidArgument as error:
        raise InvalidArgument(name, error.value, error.expected, error.fix.replace("values", name)) from None
    return words, words == noise.fingerprint([None], key)[0]
