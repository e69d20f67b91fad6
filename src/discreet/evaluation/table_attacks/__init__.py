"""Attacks on released tables, and what a reader of one can take its columns for."""
