from .classes import join as join
from .report import with_promise as with_promise
