from .binary import BITMAP as BITMAP
from .binary import MAGIC as MAGIC
from .binary import REPORTS as REPORTS
from .binary import messages as messages
