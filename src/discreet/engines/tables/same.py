"""One rule for when two values are the same. Persons and sensitive values are distinguished by it.

Files spell one person in many ways: ``7``, `` 7``, ``7.0`` and ``07``; ``é`` as one character or two. A class of k
spellings of one person hides no one. The rule:

1. *Numbers by value*, exactly, whatever their type: ``7``, ``7.0`` and ``7e0``. Text that reads as a number is one.
2. *Text* without invisible characters, then in Unicode's NFKC form (``７`` is ``7``), with ``-`` for every dash,
   trimmed, and with single blanks inside. Case and letters of different scripts stay different.
3. *Declared categories* by their text first. So a schema that declares ``07`` and ``7`` keeps them apart.
4. *Moments and times of day* in ISO 8601 without trailing zeros, and without the time if it is midnight.
5. Empty text, ``nan`` with any sign, and null are missing.

Treating ``07`` and ``7`` as one makes k and l smaller, never larger. Numeric bounds do not clamp here, or all persons
beyond a bound would be one. The key of a key is itself, so stored keys can be compared with new ones. Each value is
treated by itself, so batches, engines and other rows do not matter.
"""

import re
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Categorical, Column, category_text
from discreet.engines.tables.arrow import as_arrow
from discreet.engines.tables.encode import Encoder, arrow_kind
from discreet.engines.tables.texts import as_text

#: Characters that are not seen: those of Unicode's format class and others that it calls ignorable by default (joiners,
#: fillers, variation selectors, tags), and control characters but for those that part lines and words.
_UNSEEN = (
    r"[\p{Cf}\x{00}-\x{08}\x{0e}-\x{1f}\x{7f}-\x{84}\x{86}-\x{9f}\x{34f}\x{115f}\x{1160}\x{17b4}\x{17b5}"
    r"\x{180b}-\x{180f}\x{2060}-\x{206f}\x{3164}\x{fe00}-\x{fe0f}\x{ffa0}\x{fff0}-\x{fff8}\x{e0000}-\x{e0fff}]"
)
#: Blanks of any kind, also the empty braille cell; and dashes.
_BLANKS, _DASHES = r"[\s\p{Z}\x{85}\x{0b}\x{2800}]+", r"[\p{Pd}\x{2212}]"
_MISSING, _INFINITE = r"^(?:[+-]?(?i:nan))?$", r"^[+-]?(?i:inf|infinity)$"
_PLAIN = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$"
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
#: Numbers with longer exponents are text: computing with them takes long.
_LONGEST_EXPONENT = 1000
#: Most characters of a number that is written in plain digits.
_FEW = 36
#: A number in its shortest form, and the steps that lead there from plain digits.
_SHORTEST = r"^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]*[1-9])$"
_SHORTER = (
    (r"^\+", ""),
    (r"^(-?)\.", r"\10."),
    (r"^(-?)0+([0-9])", r"\1\2"),
    (r"(\.[0-9]*?)0+$", r"\1"),
    (r"\.$", ""),
    (r"^-0$", "0"),
)
#: Steps that write moments and times of day in one way.
_MOMENTS = (
    (
        r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:(\.[0-9]*[1-9])0*|\.0*)?"
        r"(?:(Z)|([+-][0-9]{2}):?([0-9]{2}))?$",
        r"\1 \2\3\4\5\6",
    ),
    (r"^([0-9]{2}:[0-9]{2}:[0-9]{2})(?:(\.[0-9]*[1-9])0*|\.0*)$", r"\1\2"),
    (r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$", r"\1"),
)
#: Prefix of a declared category that differs from another in its text only; no normalised text holds it.
_MARK = "\x00"


def same_key(column: pa.Array | pa.ChunkedArray, declared: Column | None = None) -> pa.Array:
    """Return a key for every value: two values are the same if their keys are equal. Missing values give null.

    Keys of whole numbers are numbers; all others are text. Only a declaration with categories matters.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    column = as_arrow(column)
    if arrow_kind(column.type) == "int" and not isinstance(declared, Categorical):
        return column
    encoded = pc.dictionary_encode(column)
    found = encoded.dictionary
    keys = _texts(as_text(found))
    if isinstance(declared, Categorical):
        keys = _categories(found, keys, declared)
    return keys.take(encoded.indices)


def person_key(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the key of every person as text; null if bytes could not be read: several people may share the rest."""
    keys = same_key(column).cast(pa.large_string())
    return pc.if_else(pc.match_substring(keys, "\ufffd"), pa.scalar(None, pa.large_string()), keys)


def same_text(values: Any) -> Any:
    """Return the keys of a NumPy array of texts; missing values give empty text."""
    keys = _texts(pa.array(values.tolist(), pa.large_string())).fill_null("")
    return np.array(keys.to_pylist(), dtype=np.str_)


def key_codes(keys: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Number keys from 0 in order of appearance; missing keys share the next number."""
    encoded = pc.dictionary_encode(keys)
    size = len(encoded.dictionary)
    return np.asarray(encoded.indices.fill_null(size).to_numpy(zero_copy_only=False), np.int64)


def _texts(texts: pa.Array) -> pa.Array:
    """Apply the rules for numbers and text to texts."""
    bare = pc.replace_substring_regex(texts, _UNSEEN, "")
    if not pc.all(pc.string_is_ascii(bare)).as_py():
        bare = pc.replace_substring_regex(pc.utf8_normalize(bare, form="NFKC"), _DASHES, "-")
    bare = pc.utf8_trim(pc.replace_substring_regex(bare, _BLANKS, " "), " ")
    bare = pc.if_else(pc.match_substring_regex(bare, _MISSING), pa.scalar(None, pa.large_string()), bare)
    for pattern, instead in _MOMENTS:
        bare = pc.replace_substring_regex(bare, pattern, instead)
    return _long(_plain(bare))


def _plain(texts: pa.Array) -> pa.Array:
    """Write numbers in few plain digits in their shortest form: all at once, without reading them."""
    plain = pc.and_(pc.match_substring_regex(texts, _PLAIN), pc.less_equal(pc.utf8_length(texts), _FEW))
    short = texts
    for pattern, instead in _SHORTER:
        short = pc.replace_substring_regex(short, pattern, instead)
    return pc.if_else(plain, short, texts)


def _long(texts: pa.Array) -> pa.Array:
    """Write the other numbers, with an exponent or with many digits, likewise: one by one, as there are few."""
    others = pc.and_(pc.match_substring_regex(texts, _NUMBER), pc.invert(pc.match_substring_regex(texts, _SHORTEST)))
    others = pc.or_(others, pc.match_substring_regex(texts, _INFINITE))
    others = pc.or_(others, pc.and_(pc.match_substring_regex(texts, _PLAIN), pc.greater(pc.utf8_length(texts), _FEW)))
    chosen = np.flatnonzero(others.fill_null(False).to_numpy(zero_copy_only=False))
    if not len(chosen):
        return texts
    written = pa.array([_shortest(text) for text in texts.take(pa.array(chosen)).to_pylist()], pa.large_string())
    return pc.replace_with_mask(texts, others.fill_null(False), written)


def _shortest(text: str) -> str:
    """Write a number exactly: in plain digits if those are few, else as whole digits and an exponent."""
    minus = "-" if text.startswith("-") else ""
    if re.match(_INFINITE, text):
        return minus + "inf"
    digits, _, power = text.lstrip("+-").lower().partition("e")
    if len(power.lstrip("+-0")) > _LONGEST_EXPONENT:
        return text
    before, _, after = digits.partition(".")
    whole, exponent = (before + after).lstrip("0"), int(power or "0") - len(after)
    if not whole:
        return "0"
    kept = whole.rstrip("0")
    exponent += len(whole) - len(kept)
    if max(len(kept) + exponent, len(kept), 2 - exponent) > _FEW:
        return f"{minus}{kept}e{exponent}"
    if exponent >= 0:
        return minus + kept + "0" * exponent
    padded = kept.rjust(1 - exponent, "0")
    return f"{minus}{padded[:exponent]}.{padded[exponent:]}"


def _categories(found: pa.Array, keys: pa.Array, declared: Categorical) -> pa.Array:
    """Return the keys of declared categories for values, found by text first and then by key.

    This is the category's own key, unless another category shares it.
    """
    texts = [category_text(c) for c in declared.categories]
    own = _texts(pa.array(texts, pa.large_string())).to_pylist()
    often = Counter(own)
    marks = [f"{_MARK}{t}" if key is None or often[key] > 1 else key for t, key in zip(texts, own, strict=True)]
    known = Encoder(declared).arrow(found)
    places = np.where(np.isnan(known), len(marks), np.nan_to_num(known)).astype(np.int64)
    shared = {key: mark for key, mark in zip(reversed(own), reversed(marks), strict=True) if key is not None}
    by_key = pc.index_in(keys, value_set=pa.array(list(shared), pa.large_string()))
    rest = pc.coalesce(pa.array(list(shared.values()), pa.large_string()).take(by_key), keys)
    return pc.coalesce(pa.array([*marks, None], pa.large_string()).take(pa.array(places)), rest)
