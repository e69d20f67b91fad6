"""The memory of a client: all stored responses follow from one secret, so nothing else is kept.

The construction, for a client in another language (numbers are little-endian):

1. *User word.* u = the keyed fingerprint (see `discreet.noise.fingerprint`) of the user key, under the first 16 bytes
   of HMAC-SHA256(secret, "discreet users"). On a device there is one user.
2. *Personal key.* P = HMAC-SHA256(secret, SHA-256(context) ‖ u). The context names the mechanism and the parameters
   that determine what is stored, so two collections never share randomness.
3. *Public choices* (a cohort, an index set) are read from SipHash-2-4 words under P[16:32]
   (`discreet.noise.reports.stored`). They do not depend on a value and never change.
4. *Stored responses.* For a value with the word v: R = HMAC-SHA256(P[0:16], v). Its coins are SipHash-2-4 words under
   R[0:16], each compared with a 64-bit threshold; R[16:24] is a label that identifies the response on the device.

The promise holds against attackers without the secret who cannot break these pseudo-random functions. A new secret
means new stored responses, hence a new lifetime budget. The secret must never leave the device.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import AnyArray
from discreet.errors import InvalidArgument, InvalidType
from discreet.local.wire import binary
from discreet.noise import Generator
from discreet.noise.hashing import Words
from discreet.noise.reports import Keys

#: The one user of a device's memo.
DEVICE = "device"
_SHORTEST = 16
#: What pandas writes where there is nothing.
_MISSING = ("NAType", "NaTType")
_INNER, _OUTER = bytes(x ^ 0x36 for x in range(256)), bytes(x ^ 0x5C for x in range(256))
_BLOCK = 64
#: Version of the construction; stored responses of two versions must not be mixed.
_VERSION = 1


@dataclass(frozen=True, repr=False)
class Memo:
    """The secret that determines a client's stored responses.

    On a device: draw one at installation, store ``memo.secret`` safely, and rebuild the memo from it before every
    report. In a simulation, one memo stands for all devices, which ``users`` identifies.

    Parameters
    ----------
    secret : bytes
        At least 16 bytes; 32 are usual.
    seeded : bool
        True if the secret can be repeated. Reports made with it are marked as such.

    Examples
    --------
    >>> memo = Memo.draw()                                       # once, on the device
    >>> Memo(memo.secret) == memo                                # later
    True
    >>> Memo.draw(rng=7)                                         # for an experiment
    <seeded memo>
    """

    secret: bytes
    seeded: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.secret, bytes):
            raise InvalidType("secret", type(self.secret).__name__, "bytes", "secret=Memo.draw().secret")
        if len(self.secret) < _SHORTEST:
            size = f"{len(self.secret)} bytes"
            raise InvalidArgument("secret", size, f"at least {_SHORTEST} bytes", "secret=Memo.draw().secret")

    @classmethod
    def draw(cls, rng: object = None) -> Memo:
        """Draw a secret from the operating system's entropy or, for experiments, from a seed."""
        stream = noise.generator(rng)
        return cls(stream.bytes(32).tobytes(), seeded=stream.seeded)

    def __repr__(self) -> str:
        return "<seeded memo>" if self.seeded else "<memo>"  # never the secret

    @cached_property
    def _user_key(self) -> int:
        return int.from_bytes(hmac.digest(self.secret, b"discreet users", "sha256")[:16], "little")

    def users(self, users: Any, stream: Generator) -> Words:
        """Return the word of every user. A user without a key gets a random word.

        A key of a type without a fingerprint is refused: as missing, it would be a new lifetime in every call.
        """
        _keys(users)
        words = noise.fingerprint(users, self._user_key)
        missing = words == noise.fingerprint([None], self._user_key)[0]
        if missing.any():
            words[missing] = stream.bytes(8 * int(missing.sum())).view(np.uint64)
        return words

    def personal(self, context: bytes, users: Words) -> Keys:
        """Return the personal key of every user, 32 bytes per row."""
        different, place = np.unique(users, return_inverse=True)
        inner = hashlib.sha256(_pad(self.secret, _INNER) + hashlib.sha256(context).digest())
        outer = hashlib.sha256(_pad(self.secret, _OUTER))
        found = []
        for message in _messages(different):
            first, second = inner.copy(), outer.copy()
            first.update(message)
            second.update(first.digest())
            found.append(second.digest())
        return _rows(found)[place]


def _keys(users: Any) -> None:
    """Refuse lists of keys that are neither whole numbers, text, bytes nor missing."""
    if isinstance(users, np.ndarray) and users.dtype.kind == "O":
        users = users.tolist()
    elif getattr(users, "dtype", None) == np.dtype(object):
        users = list(users)
    if not isinstance(users, (list, tuple)):
        return
    for kind in set(map(type, users)) - {int, str, bytes, type(None)}:
        odd = not issubclass(kind, (Integral, np.bool_, str, bytes, bytearray)) and kind.__name__ not in _MISSING
        if odd and not (issubclass(kind, (float, np.floating)) and all(u != u for u in users if type(u) is kind)):
            expected = "whole numbers, text or bytes, which are the same key next time"
            raise InvalidType("users", kind.__name__, expected, "users=[str(u) for u in ids]")


def stored(personal: Keys, words: Words) -> Keys:
    """Return R of every row: HMAC-SHA256 under the personal key's first half, 32 bytes per row."""
    keys = personal[:, :16].tobytes()
    sha = hashlib.sha256
    found = []
    for start, message in zip(range(0, len(keys), 16), _messages(words), strict=True):
        key = keys[start : start + 16].ljust(_BLOCK, b"\0")
        found.append(sha(key.translate(_OUTER) + sha(key.translate(_INNER) + message).digest()).digest())
    return _rows(found)


def labels(responses: Keys) -> Words:
    """Return the label of every stored response: equal numbers, equal response. For the device only."""
    return np.ascontiguousarray(responses[:, 16:24]).view("<u8")[:, 0].astype(np.uint64)


def context(name: str, parameters: dict[str, Any]) -> bytes:
    """Return what identifies a collection."""
    return binary.canonical({"stored": name, "version": _VERSION, **parameters})


def need(users: Any, memo: Any) -> Memo:
    """Refuse to encode without users and a memo."""
    if users is None:
        expected = "a key per user: this mechanism repeats what it once said for a user"
        raise InvalidArgument("users", None, expected, "users=['this device']")
    if not isinstance(memo, Memo):
        expected = "the client's Memo, else every call would be a new lifetime"
        raise InvalidType("memo", type(memo).__name__, expected, "memo=Memo.draw(), kept and used again")
    return memo


def same_length(users: Words, words: AnyArray) -> None:
    """Refuse columns of different lengths."""
    if len(users) != len(words):
        raise InvalidArgument("users", f"{len(users)} keys", "one key per value", "users=ids")


def _pad(key: bytes, table: bytes) -> bytes:
    """Return a key in the form that HMAC takes."""
    short = hashlib.sha256(key).digest() if len(key) > _BLOCK else key
    return short.ljust(_BLOCK, b"\0").translate(table)


def _messages(words: Words) -> list[bytes]:
    return [word.to_bytes(8, "little") for word in words.tolist()]


def _rows(digests: list[bytes]) -> Keys:
    return np.frombuffer(b"".join(digests), np.uint8).reshape(len(digests), 32)
