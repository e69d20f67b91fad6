"""The coins of a task: every chance a device needs, as sixteen exact base-256 digits that are rounded towards privacy.

A device then computes no exponential. It reads a uniform U digit by digit and asks whether U < T/256^16: the first
digit that differs decides, and a tie of all sixteen is a no. So heads have probability exactly T/256^16. A chance that
tells the truth is rounded down, one that hides it is rounded up; both bring the reports of two values closer together.
"""

import math
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import InvalidArgument
from discreet.local.mechanism import Mechanism
from discreet.local.oracles.direct import DirectResponse
from discreet.local.oracles.hadamard_response import HadamardResponse
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.oracles.projective import ProjectiveGeometry
from discreet.local.oracles.subset import SubsetSelection, held_chance
from discreet.local.oracles.unary import UnaryEncoding
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.repeated.rappor import Rappor
from discreet.local.sketches.count_mean import CountMeanSketch
from discreet.local.sketches.hadamard import HadamardSketch
from discreet.local.strings.prefix import PrefixExtension
from discreet.noise.reports.coins import keep_chance
from discreet.noise.stream.thresholds import Chance

#: Base-256 digits of a threshold, and of one for stored coins, which are words of 64 bits.
DIGITS, STORED = 16, 8


class Coin(NamedTuple):
    """A chance and the side it is rounded to: up if heads hide the truth, down if they tell it."""

    chance: Chance
    up: bool


def coins_of(mechanism: Mechanism) -> dict[str, Coin]:
    """Return the coins with which a device makes a report, by name.

    Examples
    --------
    >>> coins_of(DirectResponse(epsilon=1, domain=3)).keys()
    dict_keys(['keep'])
    """
    exact = getattr(mechanism, "_exact", Fraction(0))
    match mechanism:
        case DirectResponse():
            return {"keep": Coin(keep_chance(mechanism.choices.size, exact), up=False)}
        case LocalHashing():
            assert mechanism.width is not None
            return {"keep": Coin(keep_chance(mechanism.width, exact), up=False)}
        case HadamardResponse():
            assert mechanism.bits is not None
            return {"keep": Coin(keep_chance(2**mechanism.bits, exact), up=False)}
        case PrefixExtension():
            assert mechanism.width is not None
            return {"keep": Coin(keep_chance(mechanism.width, exact), up=False)}
        case UnaryEncoding():
            held, other = mechanism.chances
            return {"held": Coin(held, up=False), "other": Coin(other, up=True)}
        case SubsetSelection():
            assert mechanism.size is not None
            return {"hold": Coin(held_chance(exact, mechanism.choices.size, mechanism.size), up=False)}
        case ProjectiveGeometry():
            return {"on": Coin(mechanism.geometry.on_chance(exact), up=False)}
        case CountMeanSketch() | HadamardSketch():
            return {"flip": Coin(mechanism.flip, up=True)}
        case BitFlip():
            return {"stored" if mechanism.memoised else "flip": Coin(mechanism.flips, up=True)}
        case Rappor():
            more = mechanism.q > mechanism.p  # towards each other: down where ones are likelier, up where they are not
            chances = {"one": Coin(Chance(a=mechanism.q), up=not more), "zero": Coin(Chance(a=mechanism.p), up=more)}
            return {"stored": Coin(mechanism.law.permanent, up=True), **chances}
    expected = "one that a single device can answer: a frequency oracle, a sketch or prefix extension"
    raise InvalidArgument("mechanism", mechanism.NAME, expected, "mechanism=plan(...).best.make(domain)")


def thresholds(mechanism: Mechanism) -> dict[str, str]:
    """Return every coin's sixteen digits in hexadecimal; eight of a coin that is stored.

    Examples
    --------
    >>> thresholds(UnaryEncoding(epsilon=1, domain=3))
    {'held': '80000000000000000000000000000000', 'other': '44d9585152ea1935dae23bc7349ee58c'}
    """
    coins = coins_of(mechanism)
    return {name: rounded(*coin, STORED if name == "stored" else DIGITS).hex() for name, coin in coins.items()}


def rounded(chance: Chance, up: bool, digits: int = DIGITS) -> bytes:
    """Return the digits of a chance, rounded to the side given; a chance on the grid is left as it is."""
    unit = 1 << 8 * digits
    if chance.b == chance.d == 0 or chance.x == 0:
        value = (chance.a + chance.b) / (chance.c + chance.d) * unit
        whole = math.ceil(value) if up else math.floor(value)
    else:
        whole = int.from_bytes(chance.digits(digits), "big") + up  # not rational, hence not on the grid
    return min(whole, unit - 1).to_bytes(digits, "big")
