from . import draws as draws
