from .frontier import enforce as enforce
from .hierarchy import MISSING as MISSING
from .hierarchy import OR_MISSING as OR_MISSING
from .hierarchy import printed_category as printed_category
