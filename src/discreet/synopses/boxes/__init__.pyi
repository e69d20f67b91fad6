from . import refine as refine
