from .rappor_decoding import system as system
from .rappor_law import RapporLaw as RapporLaw
