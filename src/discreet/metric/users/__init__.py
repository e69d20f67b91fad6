"""Users who report again: ledgers and trajectories."""
