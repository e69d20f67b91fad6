"""Noise that grows where few people live: the crowd, cells of a map, the elastic metric and its mechanism."""
