"""Noise on points of a declared box."""
