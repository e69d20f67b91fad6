"""k-means where every device perturbs its own row: methods at the same ε."""
