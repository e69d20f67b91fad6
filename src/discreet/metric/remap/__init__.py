"""What may be done to perturbed points afterwards."""
