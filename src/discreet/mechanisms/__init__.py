"""The gate: publish counts, sums, choices and quantiles. One call draws the noise and charges the ledger."""

from discreet.mechanisms.gate import Gate, Hold, Noisy
from discreet.mechanisms.laws import COUNT, Law, Moves, Price, law_for, reach
from discreet.mechanisms.privtree import PrivTreeRule, PrivTreeTests
from discreet.noise.choice.many import ManyRuns, least_price
from discreet.noise.integer.laplace import LARGEST_SCALE
from discreet.noise.integer.max_norm import smallest_scale

__all__ = [
    "COUNT",
    "LARGEST_SCALE",
    "Gate",
    "Hold",
    "Law",
    "ManyRuns",
    "Moves",
    "Noisy",
    "Price",
    "PrivTreeRule",
    "PrivTreeTests",
    "law_for",
    "least_price",
    "reach",
    "smallest_scale",
]
