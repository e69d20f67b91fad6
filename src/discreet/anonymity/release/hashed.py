"""Identifiers by a keyed hash: rows of one person still belong together; whose they are only the key tells."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pyarrow as pa

from discreet.core.arrays import IntArray
from discreet.core.domain import Domain
from discreet.engines.tables.same import same_key
from discreet.errors import InvalidArgument


def check_key(key: Any) -> None:
    """Refuse a key that is too short to hash identifiers with."""
    if not isinstance(key, bytes) or len(key) < 16:
        shown = None if key is None else f"{len(key)} bytes"
        raise InvalidArgument(
            "key", shown, "at least 16 secret bytes to hash identifiers with", "key=secrets.token_bytes(32)"
        )


def hashed_columns(identifiers: pa.Table, rows: IntArray, key: bytes | None, domain: Domain) -> dict[str, pa.Array]:
    """Hash what is compared, not what is spelled: one mark per person."""
    if identifiers.num_columns:
        check_key(key)
    shown_columns = {}
    for name in identifiers.column_names:
        encoded = same_key(identifiers[name], domain.column(name)).dictionary_encode()
        marks = [_mark(key or b"", name, value) for value in encoded.dictionary.to_pylist()]
        hashed = pa.DictionaryArray.from_arrays(encoded.indices, pa.array(marks, pa.string())).dictionary_decode()
        shown_columns[name] = hashed.take(pa.array(rows))
    return shown_columns


def _mark(key: bytes, name: str, value: Any) -> str | None:
    if value is None:
        return None
    return hmac.new(key, f"{name}\0{value}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:16]
