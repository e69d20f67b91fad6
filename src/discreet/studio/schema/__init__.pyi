from .sheet import Sheet as Sheet
from .sheet import declared as declared
from .typed import Fault as Fault

__all__ = ["Fault", "Sheet", "declared"]
