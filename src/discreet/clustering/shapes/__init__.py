"""Clusters that k-means cannot find, on the leaves of a synopsis: by density, hierarchy, touch and covariance."""
