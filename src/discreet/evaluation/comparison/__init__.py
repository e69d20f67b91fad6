"""Comparison of a synthetic table with the real one."""
