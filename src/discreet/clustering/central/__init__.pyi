from . import auto as auto
from . import lift as lift
from .columns import described as described
from .columns import place_texts as place_texts
from .packing import pack as pack
from .private_kmeans import planned as planned
