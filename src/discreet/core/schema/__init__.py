"""What a table is said to be like before anybody looks at it: the schema file, its draft, and how files are written."""
