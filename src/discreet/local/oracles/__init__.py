"""Frequency oracles: how many devices hold each of a declared list of values."""
