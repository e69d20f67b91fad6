"""Exact integer noise: discrete Laplace, discrete Gaussian, geometric, and their laws."""
