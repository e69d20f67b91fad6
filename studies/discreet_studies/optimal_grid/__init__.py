"""The grid-size experiments (Muthukrishnan and Tandon 2026) run again."""
