from .columns import described as described
from .columns import place_texts as place_texts
