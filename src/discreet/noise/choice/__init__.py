"""Private choices: the exponential mechanism, quantiles, bounds."""
