"""Local privacy: each device randomises its value; the collector only ever holds noisy counters.

>>> import discreet as dc
>>> m = dc.local.DirectResponse(epsilon=2, domain=["yes", "no"])
>>> reports = m.encode(["yes", "no", "yes"])               # on the devices
>>> counts = m.aggregate(reports)                          # at the collector: integers that add up
>>> found = m.estimate(counts)                             # found.count, found.std_error, found.interval(0.95)
>>> len(found), m.guarantee.epsilon
(2, 2.0)
"""

from discreet.local.consistency import consistent
from discreet.local.distinct.bitmaps import DistinctEstimate, FlippedBitmap
from discreet.local.distinct.overlap import DistinctOverlap
from discreet.local.distinct.plain import PlainDistinct, PlainFrequencies
from discreet.local.distinct.sketch import DistinctSketch
from discreet.local.estimates import Estimate
from discreet.local.numbers.distributions import Distribution
from discreet.local.numbers.mean_vectors import MeanVector
from discreet.local.numbers.means import MeanEstimate, MeanResponse
from discreet.local.numbers.square_wave import SquareWave
from discreet.local.oracles.direct import DirectResponse
from discreet.local.oracles.hadamard_response import HadamardResponse
from discreet.local.oracles.local_hashing import LocalHashing
from discreet.local.oracles.projective import ProjectiveGeometry
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import UnaryEncoding
from discreet.local.planning.plan import Plan, detection_limit, needed_epsilon, plan
from discreet.local.planning.shuffling import ShuffledBound, shuffled, shuffled_delta
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.repeated.memo import Memo
from discreet.local.repeated.rappor import Rappor
from discreet.local.repeated.repeats import change_visible, over_time, rappor_epsilon
from discreet.local.repeated.report_ledger import ReportLedger
from discreet.local.sketches.count_mean import CountMeanSketch
from discreet.local.sketches.hadamard import HadamardSketch
from discreet.local.strings.heavy import HeavyHitters
from discreet.local.strings.prefix import PrefixExtension
from discreet.local.strings.puzzle import FragmentPuzzle
from discreet.local.tasks.client import Client
from discreet.local.tasks.frames import Frame, frame_size, read_frame, write_frame
from discreet.local.tasks.task import PublicFile, Task
from discreet.local.wire.counts import Counts
from discreet.local.wire.reports import Reports

__all__ = [
    "BitFlip",
    "Client",
    "CountMeanSketch",
    "Counts",
    "DirectResponse",
    "DistinctEstimate",
    "DistinctOverlap",
    "DistinctSketch",
    "Distribution",
    "Estimate",
    "FlippedBitmap",
    "FragmentPuzzle",
    "Frame",
    "HadamardResponse",
    "HadamardSketch",
    "HeavyHitters",
    "LocalHashing",
    "MeanEstimate",
    "MeanResponse",
    "MeanVector",
    "Memo",
    "PlainDistinct",
    "PlainFrequencies",
    "Plan",
    "PrefixExtension",
    "ProjectiveGeometry",
    "PublicFile",
    "Rappor",
    "ReportLedger",
    "Reports",
    "ShuffledBound",
    "SquareWave",
    "SubsetSelection",
    "Task",
    "UnaryEncoding",
    "change_visible",
    "consistent",
    "detection_limit",
    "frame_size",
    "needed_epsilon",
    "over_time",
    "plan",
    "rappor_epsilon",
    "read_frame",
    "shuffled",
    "shuffled_delta",
    "write_frame",
]


def __dir__() -> list[str]:
    return __all__
