from .law import IsotropicLaw as IsotropicLaw
