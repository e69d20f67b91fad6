"""What travels: reports, counts, and their one binary form."""
