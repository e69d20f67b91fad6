"""Post-processing of perturbed points."""
