"""Features together: people and their tables, the factors that are combined, and how a combination is released."""
