from .declared import declared_type as declared_type
from .declared import declared_values as declared_values
