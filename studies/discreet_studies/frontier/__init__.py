"""On one table, what four privacy models cost the reader and what they leave to an attacker."""
