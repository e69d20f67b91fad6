"""Clusters of records that carry a known noise."""
