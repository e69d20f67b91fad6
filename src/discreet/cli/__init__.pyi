from .app import main as main
from .common import Json as Json
from .common import console as console
from .common import epilog as epilog
from .common import show_table as show_table
from .common import working as working

# What users see. The other names are for other rooms.
__all__ = ["main"]
