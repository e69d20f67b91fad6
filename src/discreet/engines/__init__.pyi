from . import first_line as first_line
from .first_line import MISSING as MISSING
from .first_line import Doubts as Doubts
from .first_line import examine as examine
from .first_line import text_file as text_file
from .gather import gather as gather
from .gather import units_of as units_of
from .opening import ENDINGS as ENDINGS
from .opening import WORKBOOKS as WORKBOOKS
from .opening import is_records as is_records
from .opening import open as open
from .opening import sql as sql
from .passes.cells import CellMap as CellMap
from .passes.cells import GridMap as GridMap
from .passes.tally import CellCounts as CellCounts
from .readers.projected import projected as projected
from .source import Source as Source
from .texts import texts as texts
from .writing.spill import MOST_FILES as MOST_FILES
from .writing.spill import RowFile as RowFile
from .writing.spill import divided as divided
from .writing.writer import PARQUET as PARQUET
from .writing.writer import RowWriter as RowWriter
from .writing.writer import WrittenTable as WrittenTable
from .writing.writer import check_table_ending as check_table_ending
from .writing.writer import check_target as check_target
from .writing.writer import write_table as write_table

# What users see. The other names are for other rooms.
__all__ = ["CellCounts", "CellMap", "GridMap", "Source", "WrittenTable", "open", "sql"]
