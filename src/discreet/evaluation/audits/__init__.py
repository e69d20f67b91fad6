"""Audits of mechanisms: lower bounds on ε from runs, and exact laws."""
