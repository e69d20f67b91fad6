"""Exact noise on vectors: isotropic in n dimensions, on the sphere, directions."""
