"""The form of a release: output, order, and the treatment of identifiers.

A keyed hash of an identifier shows which rows belong together; only the key shows whose they are.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.core import Domain, IntArray, checks
from discreet.engines.tables import same_key
from discreet.errors import InvalidArgument


@dataclass(frozen=True)
class Delivery:
    """The form of a release, as `Partitioner.transform` and `Release.save` explain it."""

    output: str = "interval"
    random_state: Any = None
    order: str = "shuffled"
    identifiers: str = "drop"
    key: bytes | None = None
    form: str = "text"
    escape_formulas: bool = False
    csv_dialect: str = "input"
    booking: Any = None

    @property
    def book(self) -> Any:
        """What to call before the file appears; None without a reservation."""
        return None if self.booking is None else self.booking.book

    def __post_init__(self) -> None:
        checks.choice("output", self.output, ("interval", "center", "sample"))
        checks.choice("form", self.form, ("text", "bounds"))
        checks.choice("order", self.order, ("shuffled", "input"))
        checks.choice("identifiers", self.identifiers, ("drop", "hash"))


def check_key(key: Any) -> None:
    if not isinstance(key, bytes) or len(key) < 16:
        shown = None if key is None else f"{len(key)} bytes"
        expected = "at least 16 secret bytes to hash identifiers with"
        raise InvalidArgument("key", shown, expected, "key=secrets.token_bytes(32)")


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
