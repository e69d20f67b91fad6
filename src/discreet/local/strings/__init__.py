"""Frequent strings that nobody listed."""
