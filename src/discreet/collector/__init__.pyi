from .client_pages import simulated_task as simulated_task
from .client_pages import starter as starter
from .reading import QUANTILES as QUANTILES
from .reading import labels_in_a_file as labels_in_a_file
from .reading import numbers_table as numbers_table
from .reading import read as read
from .reading import short as short
from .reading import shuffled_promise as shuffled_promise
from .reading import standing as standing
from .service.serve import serve as serve
from .service.settings import Settings as Settings
from .service.settings import missing_keys as missing_keys
from .service.settings import sealing_keys as sealing_keys
from .stores.base import Store as Store
from .stores.base import find_task as find_task
from .stores.base import open_store as open_store

# What users see. The other names are for other rooms.
__all__ = ["Settings", "Store", "find_task", "open_store", "read", "serve", "standing"]
