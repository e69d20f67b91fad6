"""Prices, the draws they pay for, and the lines of a ledger."""
