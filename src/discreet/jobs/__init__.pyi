from . import choosing as choosing
from .charging import repeated as repeated
from .charging import task_of as task_of
from .declare import Kind as Kind
from .declare import WrongOption as WrongOption
from .declare import check as check
from .declare import edges_of as edges_of
from .declare import must_give as must_give
from .declare import read as read
from .declare import spoken as spoken
from .job import Job as Job
from .options import ACCOUNT as ACCOUNT
from .options import EPSILON as EPSILON
from .options import FILE as FILE
from .options import PAGE as PAGE
from .options import REPEATED as REPEATED
from .options import SCHEMA as SCHEMA
from .options import SEED as SEED
from .options import SHELL as SHELL
from .options import SIGN as SIGN
from .options import SURE as SURE
from .options import TABLE as TABLE
from .options import YES_REALLY as YES_REALLY
from .options import declared as declared
from .options import option as option
from .options import output as output
from .signing import signed_page as signed_page
from .signing import write_signature as write_signature
from .written import example as example
from .written import json_schema as json_schema

# What users see. The other names are for other rooms.
__all__ = ["Job"]
