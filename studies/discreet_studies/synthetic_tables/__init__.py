"""Synthetic tables: what a marginal synopsis keeps of tables of many columns."""
