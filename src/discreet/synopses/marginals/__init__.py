"""Marginal synopses: noisy low-order marginals of many columns, a model of all of them, and rows drawn from it."""
