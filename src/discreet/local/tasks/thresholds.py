"""The coins of a task: every probability that a device needs, as sixteen base-256 digits.

A device computes no exponential. It reads a uniform U digit by digit and compares it with T/256^16: the first different
digit decides, and a full tie is a no. So heads have probability exactly T/256^16. A probability of telling the truth is
rounded down, one of hiding it is rounded up; both bring the reports of two values closer together. The coins are those
of the mechanism's law (`discreet.noise.reports.laws`), which prices a report by them.
"""

from discreet.errors import InvalidArgument
from discreet.local.mechanism import Mechanism
from discreet.local.numbers.mean_vectors import MeanVector
from discreet.local.numbers.means import MeanResponse
from discreet.local.numbers.square_wave import SquareWave
from discreet.local.strings.puzzle import FragmentPuzzle

#: Reports that a single device does not make by itself.
_FOR_FILES = (FragmentPuzzle, MeanResponse, MeanVector, SquareWave)


def thresholds(mechanism: Mechanism) -> dict[str, str]:
    """Return every coin's sixteen digits in hexadecimal; eight for a stored coin."""
    if isinstance(mechanism, _FOR_FILES):
        expected = "one that a single device can answer: a frequency oracle, a sketch or prefix extension"
        raise InvalidArgument("mechanism", mechanism.NAME, expected, "mechanism=plan(...).best.make(domain)")
    return {name: f"{coin.threshold:0{2 * coin.digits}x}" for name, coin in mechanism.randomiser.coins.items()}
