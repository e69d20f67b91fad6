from .bins import public_grid as public_grid
from .release import PURE_SCORES as PURE_SCORES
from .release import PURE_SINGLE as PURE_SINGLE
from .release import SCORES as SCORES
from .release import SINGLE as SINGLE
