"""Attacks on tables: singling out, linkability, inference."""
