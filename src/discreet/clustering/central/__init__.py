"""Private k-means through a synopsis, the interactive method, and the choice between them."""
