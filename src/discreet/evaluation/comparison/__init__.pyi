from .compare import comparison_rows as comparison_rows
