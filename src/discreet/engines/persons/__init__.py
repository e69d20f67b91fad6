"""The rows of each person, bounded: who a row belongs to, and which of their rows are used."""
