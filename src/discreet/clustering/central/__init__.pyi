from . import auto as auto
from . import lift as lift
from .packing import pack as pack
from .private_kmeans import planned as planned
