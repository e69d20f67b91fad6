from .alphabet import LETTERS as LETTERS
from .candidates import sketch_estimates as sketch_estimates
from .prefix import PrefixExtension as PrefixExtension
from .puzzle import FragmentPuzzle as FragmentPuzzle
