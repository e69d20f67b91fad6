"""Trees grown level by level from counts alone."""
