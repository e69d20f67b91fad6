"""Noise that grows where few people live: people on a grid, cells of a map, the elastic metric and its mechanism."""
