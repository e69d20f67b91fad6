from discreet.noise.choice import ManyRuns as ManyRuns
from discreet.noise.choice import least_price as least_price
from discreet.noise.integer import LARGEST_SCALE as LARGEST_SCALE

from .bits import flip_draw as flip_draw
from .bits import flipped_bits as flipped_bits
from .bounds import private_bounds as private_bounds
from .categories import SMALLEST_SELECTION as SMALLEST_SELECTION
from .categories import private_categories as private_categories
from .categories import selected_words as selected_words
from .gate import Gate as Gate
from .gate import Hold as Hold
from .gate import Noisy as Noisy
from .laws import COUNT as COUNT
from .laws import Law as Law
from .laws import Moves as Moves
from .laws import law_for as law_for
from .laws import reach as reach
from .privtree import PrivTreeRule as PrivTreeRule
from .privtree import PrivTreeTests as PrivTreeTests
from .sampled import drawn_classes as drawn_classes
from .sampled import sampling_delta as sampling_delta
from .sampled import sampling_epsilon as sampling_epsilon
from .sampled import sampling_price as sampling_price

# What users see. The other names are for other rooms.
__all__ = ["Gate", "law_for", "private_bounds", "private_categories", "sampling_delta", "sampling_epsilon"]
