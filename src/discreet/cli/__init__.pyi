from .app import main as main
from .common import console as console
from .common import echo as echo
from .common import group as group
from .common import show_files as show_files
from .common import show_table as show_table
from .common import working as working
from .verbs import verb as verb

# What users see. The other names are for other rooms.
__all__ = ["main"]
