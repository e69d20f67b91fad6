"""The nD-Laplace experiments run again."""
