"""What devices that lie can do to an estimate: nobody can tell them from noise, so their number is the bound."""

from discreet.errors import InvalidArgument
from discreet.local.mechanism import Mechanism
from discreet.local.oracles.laws import SupportLaw
from discreet.local.sketches.base import Sketch


def liars_move(mechanism: Mechanism, liars: int = 1) -> tuple[float, float]:
    """Return how far reports that somebody made up can move any estimated count, down and up.

    An estimate adds up what every report says about a value: (1 - q)/(p - q) if it supports it, -q/(p - q) if not. Of a
    sketch with m buckets both are taken less 1/m, times m/(m-1). Nobody can send more than one of the two per report.

    Parameters
    ----------
    mechanism : Mechanism
        A frequency oracle or a sketch.
    liars : int
        How many made-up reports; a device that repeats itself under new keys counts every time.

    Examples
    --------
    >>> from discreet.local import DirectResponse
    >>> low, high = liars_move(DirectResponse(epsilon=1, domain=3), liars=100)
    >>> round(low), round(high)
    (-58, 216)
    """
    law = getattr(mechanism, "law", None)
    if not isinstance(law, SupportLaw):
        raise InvalidArgument("mechanism", mechanism.NAME, "a frequency oracle or a sketch")
    ends = -law.q / (law.p - law.q), (1 - law.q) / (law.p - law.q)
    if isinstance(mechanism, Sketch):
        m = mechanism.width
        ends = m / (m - 1) * (ends[0] - 1 / m), m / (m - 1) * (ends[1] - 1 / m)
    return liars * ends[0], liars * ends[1]
