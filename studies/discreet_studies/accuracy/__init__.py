"""How accurate private k-means is: ours and the peers under one protocol."""
