from . import first_line as first_line
from .first_line import MISSING as MISSING
from .first_line import Doubts as Doubts
from .first_line import examine as examine
from .first_line import text_file as text_file
from .opening import ENDINGS as ENDINGS
from .opening import is_records as is_records
from .opening import is_text_table as is_text_table
from .opening import open as open
from .opening import sql as sql
from .passes.cells import CellMap as CellMap
from .passes.cells import GridMap as GridMap
from .passes.counts import CellCounts as CellCounts
from .progress import Meter as Meter
from .progress import followed as followed
from .progress import stage as stage
from .projected import projected as projected
from .source import Source as Source
from .spill import MOST_FILES as MOST_FILES
from .spill import RowFile as RowFile
from .spill import divided as divided
from .threads import WORKERS as WORKERS
from .threads import in_order as in_order
from .writer import PARQUET as PARQUET
from .writer import RowWriter as RowWriter
from .writer import WrittenTable as WrittenTable
from .writer import check_target as check_target
from .writer import write_table as write_table

# What users see. The other names are for other rooms.
__all__ = ["CellCounts", "CellMap", "GridMap", "Source", "WrittenTable", "open", "sql"]
