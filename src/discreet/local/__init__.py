"""Local privacy: each device randomises its value; the collector only ever holds noisy counters.

>>> import discreet as dc
>>> m = dc.local.DirectResponse(epsilon=2, domain=["yes", "no"])
>>> reports = m.encode(["yes", "no", "yes"])               # on the devices
>>> counts = m.aggregate(reports)                          # at the collector: integers that add up
>>> found = m.estimate(counts)                             # found.count, found.std_error, found.interval(0.95)
>>> len(found), m.guarantee.epsilon
(2, 2.0)
"""

from discreet.local._memo import Memo
from discreet.local._report_ledger import ReportLedger
from discreet.local.bit_flip import BitFlip
from discreet.local.consistency import consistent
from discreet.local.count_mean import CountMeanSketch
from discreet.local.counts import Counts
from discreet.local.direct import DirectResponse
from discreet.local.distributions import Distribution
from discreet.local.estimates import Estimate
from discreet.local.hadamard_response import HadamardResponse
from discreet.local.hadamard_sketch import HadamardSketch
from discreet.local.heavy import HeavyHitters
from discreet.local.local_hashing import LocalHashing
from discreet.local.mean_vectors import MeanVector
from discreet.local.means import MeanEstimate, MeanResponse
from discreet.local.planning import Plan, detection_limit, needed_epsilon, plan
from discreet.local.prefix import PrefixExtension
from discreet.local.projective import ProjectiveGeometry
from discreet.local.puzzle import FragmentPuzzle
from discreet.local.rappor import Rappor
from discreet.local.repeats import change_visible, over_time, rappor_epsilon
from discreet.local.reports import Reports
from discreet.local.shuffling import ShuffledBound, shuffled, shuffled_delta
from discreet.local.square_wave import SquareWave
from discreet.local.subset import SubsetSelection
from discreet.local.unary import UnaryEncoding

__all__ = [
    "BitFlip",
    "CountMeanSketch",
    "Counts",
    "DirectResponse",
    "Distribution",
    "Estimate",
    "FragmentPuzzle",
    "HadamardResponse",
    "HadamardSketch",
    "HeavyHitters",
    "LocalHashing",
    "MeanEstimate",
    "MeanResponse",
    "MeanVector",
    "Memo",
    "Plan",
    "PrefixExtension",
    "ProjectiveGeometry",
    "Rappor",
    "ReportLedger",
    "Reports",
    "ShuffledBound",
    "SquareWave",
    "SubsetSelection",
    "UnaryEncoding",
    "change_visible",
    "consistent",
    "detection_limit",
    "needed_epsilon",
    "over_time",
    "plan",
    "rappor_epsilon",
    "shuffled",
    "shuffled_delta",
]
