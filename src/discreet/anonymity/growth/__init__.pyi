from .frontier import enforce as enforce
