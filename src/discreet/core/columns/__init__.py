"""Columns: kinds, bounds, categories, dates, the unit of privacy, and public facts about them."""
