from . import ask as ask
from . import evenness as evenness
from .answers import empty_text as empty_text
from .answers import known as known
from .answers import rows_text as rows_text
from .answers import wide as wide
from .ask import column_text as column_text
from .evenness import axis_share as axis_share
