"""Two tables beside each other: what of the real one is in the synthetic one."""
