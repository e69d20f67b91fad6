"""The methods that people call: density tree, Mondrian, microaggregation, generalisation, masking."""
