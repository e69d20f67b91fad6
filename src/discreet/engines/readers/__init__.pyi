from .columns import column_batches as column_batches
from .columns import counted_columns as counted_columns
from .columns import places_of as places_of
from .columns import read_columns as read_columns
from .tree_rows import RowCells as RowCells
