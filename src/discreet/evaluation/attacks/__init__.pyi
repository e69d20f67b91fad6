from . import draws as draws
from .laws import records as records
from .roc import score_blindly as score_blindly
from .shadow import shadow_scorer as shadow_scorer
