from . import draws as draws
from .laws import LawSpace as LawSpace
from .laws import records as records
from .pairs import log_sums as log_sums
from .roc import score_blindly as score_blindly
from .scorers import leaves as leaves
from .scorers import nearest_center as nearest_center
