"""Noise on places of the globe."""
