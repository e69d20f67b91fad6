"""The methods that group records into cells: density tree, Mondrian, generalisation; drawing rows first; which k."""
