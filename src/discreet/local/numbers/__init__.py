"""Numbers of a public range: means and whole distributions."""
