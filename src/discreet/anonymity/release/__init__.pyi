from .record import META as META
from .table import Table as Table
from .table import read_table as read_table
