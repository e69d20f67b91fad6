from .distinct.bitmaps import DistinctEstimate as DistinctEstimate
from .distinct.bitmaps import FlippedBitmap as FlippedBitmap
from .distinct.overlap import DistinctOverlap as DistinctOverlap
from .distinct.sketch import DistinctSketch as DistinctSketch
from .estimates import Estimate as Estimate
from .estimates import consistent as consistent
from .mechanism import Mechanism as Mechanism
from .mechanism import mechanisms as mechanisms
from .numbers.distributions import Distribution as Distribution
from .numbers.mean_vectors import MeanVector as MeanVector
from .numbers.means import MeanEstimate as MeanEstimate
from .numbers.means import MeanResponse as MeanResponse
from .numbers.square_wave import SquareWave as SquareWave
from .oracles.direct import DirectResponse as DirectResponse
from .oracles.hadamard_response import HadamardResponse as HadamardResponse
from .oracles.local_hashing import LocalHashing as LocalHashing
from .oracles.own import OwnOracle as OwnOracle
from .oracles.projective import ProjectiveGeometry as ProjectiveGeometry
from .oracles.subset import SubsetSelection as SubsetSelection
from .oracles.unary import UnaryEncoding as UnaryEncoding
from .planning.numbers import plan_numbers as plan_numbers
from .planning.plan import Plan as Plan
from .planning.plan import plan as plan
from .planning.shuffling import ShuffledBound as ShuffledBound
from .planning.shuffling import shuffled as shuffled
from .repeated.bit_flip import BitFlip as BitFlip
from .repeated.memo import Memo as Memo
from .repeated.rappor import Rappor as Rappor
from .repeated.report_ledger import ReportLedger as ReportLedger
from .sketches.count_mean import CountMeanSketch as CountMeanSketch
from .sketches.hadamard import HadamardSketch as HadamardSketch
from .strings.heavy import HeavyHitters as HeavyHitters
from .strings.prefix import PrefixExtension as PrefixExtension
from .strings.puzzle import FragmentPuzzle as FragmentPuzzle
from .support import liars_move as liars_move
from .tasks.client import Client as Client
from .tasks.frames import write_frame as write_frame
from .tasks.sealing import Shuffle as Shuffle
from .tasks.task import PublicFile as PublicFile
from .tasks.task import Task as Task
from .wire.counts import Counts as Counts
from .wire.reports import Reports as Reports

# What users see. The other names are for other rooms.
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
    "HadamardResponse",
    "HadamardSketch",
    "HeavyHitters",
    "LocalHashing",
    "MeanEstimate",
    "MeanResponse",
    "MeanVector",
    "Memo",
    "OwnOracle",
    "Plan",
    "PrefixExtension",
    "ProjectiveGeometry",
    "PublicFile",
    "Rappor",
    "ReportLedger",
    "Reports",
    "Shuffle",
    "ShuffledBound",
    "SquareWave",
    "SubsetSelection",
    "Task",
    "UnaryEncoding",
    "consistent",
    "plan",
    "plan_numbers",
    "shuffled",
    "write_frame",
]
