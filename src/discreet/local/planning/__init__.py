"""Choice of mechanisms and settings, and amplification by shuffling."""
