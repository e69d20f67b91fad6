"""Scalings, lattices, and the laws of noise on them."""
