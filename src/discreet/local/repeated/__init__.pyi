from .rappor_law import RapporLaw as RapporLaw
