"""Sealed frames: what a shuffled task states, and the two layers of encryption around a frame.

A device seals its frame to the key of the collector, and the result to the key of the shuffler. The shuffler removes
the outer layer and sees bytes of equal length; the collector opens them after they were mixed. Each layer is HPKE
(RFC 9180, base mode: X25519, HKDF-SHA256, AES-128-GCM), by the package `cryptography`.
"""

from __future__ import annotations

import hmac
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.core import DeclaredValue, checks, option, written_amount
from discreet.errors import FormatError, InvalidArgument, MissingExtra
from discreet.local.tasks import frames

#: Bytes that one layer adds: an ephemeral key and a tag.
LAYER = 32 + 16
#: Contexts of the two layers; the digest of the task follows.
INNER, OUTER, _BATCH = b"discreet frame 1", b"discreet shuffle 1", b"discreet batch 1"
MOST_BATCH = 1 << 24
_KEYS, _DAY = ("collector", "shuffler"), 86_400
#: Clients in every language read denominators below this.
_LONGEST = 10**400


class Shuffle(DeclaredValue):
    """A shuffler between devices and collector: its batches, its assumptions and both public keys.

    Privacy
    -------
    Neighbours: one device's value replaced. Against shuffler and collector together, a report costs the local ε of the
    task. Against the collector alone, the reports of a batch are an unordered set, and amplification by shuffling
    applies (Feldman, McMillan and Talwar 2021; see `shuffled`): at ``delta``, computed from ``honest``, never from
    ``batch``. It assumes that the two do not collude, and that every batch has reports of ``honest`` devices that
    follow the protocol, one each. Nothing can check this: anyone may pose as many devices.

    Examples
    --------
    >>> shuffle = Shuffle(batch=2000, honest=1000, collector="ab" * 32, shuffler="cd" * 32)
    >>> shuffle.to_dict()["delta"]
    '1/1000000'
    """

    batch: int = option(low=2, high=10**6, example=2000, help="Fewest reports that are forwarded together.")
    honest: int = option(low=2, example=1000, help="Devices in a batch that are assumed to follow the protocol.")
    collector: str = option(help="Public key of the collector, 64 hexadecimal digits.")
    shuffler: str = option(help="Public key of the shuffler.")
    delta: Any = option(default=Fraction(1, 10**6), help="Probability that the amplified promise may fail.")
    longest_wait: int = option(
        default=_DAY, low=1, high=366 * _DAY, help="Seconds after which a batch that is still too small is deleted."
    )

    def __post_init__(self) -> None:
        values = self.read_options()
        values["delta"] = checks.probability("delta", self.delta)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.honest > self.batch:
            fix = f"honest={max(2, self.batch // 2)}"  # not all of a batch: some may be false
            raise InvalidArgument("honest", self.honest, f"at most the batch, {self.batch}", fix)
        if self.delta * self.honest >= 1 or self.delta.denominator >= _LONGEST:
            expected = f"below 1/honest, 1/{self.honest}, with at most 400 digits"
            raise InvalidArgument("delta", float(self.delta), expected, "delta=1e-6")
        for name in _KEYS:
            key = getattr(self, name)
            if len(key) != 64 or set(key) - set("0123456789abcdef"):
                fix = "the line that discreet collect key prints"
                raise InvalidArgument(name, key, "a public key: 64 hexadecimal digits", f"{name}={fix}")
        if self.collector == self.shuffler:
            raise InvalidArgument("shuffler", self.shuffler, "another key than the collector's")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with an exact δ."""
        return {name: getattr(self, name) for name in self.declared} | {"delta": str(self.delta)}

    @classmethod
    def from_dict(cls, facts: dict[str, Any] | None) -> Shuffle | None:
        """Read plain data; None gives None."""
        return None if facts is None else cls(**{**facts, "delta": written_amount(facts["delta"])})

    def seal(self, digest: str, frame: bytes) -> bytes:
        """Seal the frame of one report of a task: to the collector, then to the shuffler."""
        inner = _suite().encrypt(frame, _public(self.collector), _context(INNER, digest))
        sealed: bytes = _suite().encrypt(inner, _public(self.shuffler), _context(OUTER, digest))
        return sealed

    def usable(self, digest: str) -> bool:
        """Return whether frames can be sealed to both keys: a point of low order hides nothing."""
        try:
            return bool(self.seal(digest, b""))
        except ValueError:
            return False


def sealed_size(size: int) -> int:
    """Return the bytes of a frame with one report of so many bytes, sealed to the collector."""
    return frames.HEAD + size + LAYER


def unseal(key: Any, layer: bytes, digest: str, data: bytes) -> bytes | None:
    """Remove a layer with a private key; None if it was not sealed to that key for this task."""
    from cryptography.exceptions import InvalidTag

    try:
        found: bytes = _suite().decrypt(data, key, _context(layer, digest))
    except (InvalidTag, ValueError):  # a point of low order is a ValueError
        return None
    return found


def batch_code(own: Any, other: str, digest: str, content: bytes) -> bytes:
    """Return the code by which the collector knows a batch of the shuffler; both keys give the same one."""
    try:
        secret = own.exchange(_public(other))
    except ValueError:  # a point of low order
        raise FormatError("a key that seals nothing", reason="code") from None
    return hmac.digest(hmac.digest(secret, _context(_BATCH, digest), "sha256"), content, "sha256")


def private_key(raw: bytes | None = None) -> Any:
    """Return a private key; None makes a new one."""
    kind = _curve().X25519PrivateKey
    return kind.generate() if raw is None else kind.from_private_bytes(raw)


def _context(layer: bytes, digest: str) -> bytes:
    return layer + bytes.fromhex(digest)


def _curve() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import x25519
    except ImportError:
        raise MissingExtra("sealing reports", "sign") from None
    return x25519


@lru_cache(maxsize=64)
def _public(key: str) -> Any:
    return _curve().X25519PublicKey.from_public_bytes(bytes.fromhex(key))


@lru_cache(maxsize=1)
def _suite() -> Any:
    try:
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
    except ImportError:
        raise MissingExtra("sealing reports", "sign") from None
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
