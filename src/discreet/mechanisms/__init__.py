"""The gate: publish counts, sums, choices and quantiles. One call draws the noise and charges the ledger."""

from discreet.mechanisms.bits import flip_draw, flipped_bits
from discreet.mechanisms.bounds import private_bounds
from discreet.mechanisms.categories import private_categories
from discreet.mechanisms.gate import Gate, Hold, Noisy
from discreet.mechanisms.laws import COUNT, Law, Moves, law_for, reach
from discreet.mechanisms.privtree import PrivTreeRule, PrivTreeTests
from discreet.mechanisms.sampled import drawn_classes, sampling_delta, sampling_epsilon, sampling_price
from discreet.noise.choice.many import ManyRuns, least_price
from discreet.noise.integer.laplace import LARGEST_SCALE

__all__ = [
    "COUNT",
    "LARGEST_SCALE",
    "Gate",
    "Hold",
    "Law",
    "ManyRuns",
    "Moves",
    "Noisy",
    "PrivTreeRule",
    "PrivTreeTests",
    "drawn_classes",
    "flip_draw",
    "flipped_bits",
    "law_for",
    "least_price",
    "private_bounds",
    "private_categories",
    "reach",
    "sampling_delta",
    "sampling_epsilon",
    "sampling_price",
]


def __dir__() -> list[str]:
    return __all__
