"""Public keyed hashes and the loops that count which reports support which candidates."""
