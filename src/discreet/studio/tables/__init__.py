"""Opening tables: their heads, uploads, and folders to choose from."""
