"""Measures that only published experiments use: discretisers, errors against the truth, two published attacks."""
