from .writer import declared_type as declared_type
from .writer import declared_values as declared_values
from .writer import table_writer as table_writer
