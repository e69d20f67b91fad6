"""Means and distributions of numbers in a public range."""
