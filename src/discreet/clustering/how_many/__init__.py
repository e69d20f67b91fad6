"""The number of clusters that a synopsis shows. Post-processing."""
