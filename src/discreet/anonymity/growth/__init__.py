"""How a partition is grown: grids, criteria, searches, the frozen tree."""
