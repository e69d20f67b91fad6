"""Pages that can be mailed and printed."""
