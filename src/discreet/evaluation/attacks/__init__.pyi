from . import draws as draws
from .laws import LawSpace as LawSpace
from .laws import records as records
from .membership import leaves as leaves
from .membership import nearest_center as nearest_center
from .pairs import log_sums as log_sums
from .roc import score_blindly as score_blindly
