"""The experiments with local sketches (Requena 2024) run again."""
