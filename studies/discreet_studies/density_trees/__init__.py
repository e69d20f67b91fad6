"""The density-tree experiments (Pors 2018) run again."""
