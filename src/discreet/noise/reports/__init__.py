"""What a device draws for one report: coins, subsets, numbers, stored randomness."""
