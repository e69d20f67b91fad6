"""Persons as the unit of privacy: what bounding costs, and what a promise about rows did not promise."""
