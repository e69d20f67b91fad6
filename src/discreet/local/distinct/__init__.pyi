from .bitmaps import promise as promise
from .likelihood import PatternLaw as PatternLaw
from .overlap import MOST_BITMAPS as MOST_BITMAPS
