"""Partition synopses (Universidad de Chile 2024) run again."""
