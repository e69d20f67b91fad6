"""Grids: their size, their empty cells, two levels."""
