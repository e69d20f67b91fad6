"""The influence of made-up reports on an estimate."""

from discreet.errors import InvalidArgument
from discreet.local.mechanism import Mechanism
from discreet.local.sketches.base import Sketch
from discreet.local.support import SupportLaw


def liars_move(mechanism: Mechanism, liars: int = 1) -> tuple[float, float]:
    """Return how far a number of made-up reports can move any estimated count, down and up.

    A report adds (1 - q)/(p - q) to an estimate if it supports the value, else -q/(p - q). For a sketch with m buckets
    both are taken less 1/m, times m/(m-1).
    """
    law = getattr(mechanism, "law", None)
    if not isinstance(law, SupportLaw):
        raise InvalidArgument("mechanism", mechanism.NAME, "a frequency oracle or a sketch")
    ends = -law.q / (law.p - law.q), (1 - law.q) / (law.p - law.q)
    if isinstance(mechanism, Sketch):
        m = mechanism.width
        ends = m / (m - 1) * (ends[0] - 1 / m), m / (m - 1) * (ends[1] - 1 / m)
    return liars * ends[0], liars * ends[1]
