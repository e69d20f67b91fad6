"""What one pass over rows can do: count by cell, sum, walk a tree, collect texts."""
