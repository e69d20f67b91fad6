from .declare import Kind as Kind
from .declare import WrongOption as WrongOption
from .declare import check as check
from .declare import read as read
from .declare import spoken as spoken
from .job import Job as Job
from .options import EPSILON as EPSILON
from .options import PAGE as PAGE
from .options import PAIRS as PAIRS
from .options import REPEATED as REPEATED
from .options import SEED as SEED
from .options import SHELL as SHELL
from .options import SURE as SURE
from .options import TABLE as TABLE
from .options import Option as Option
from .written import example as example
from .written import json_schema as json_schema

# What users see. The other names are for other rooms.
__all__ = ["Job"]
