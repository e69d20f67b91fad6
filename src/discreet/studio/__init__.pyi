from .app import Studio as Studio
from .jobs import opened as opened
from .serve import checked_host as checked_host
from .serve import serve as serve
from .workspace import Workspace as Workspace
from .workspace import default_home as default_home

# What users see. The other names are for other rooms.
__all__ = ["Studio", "serve"]
