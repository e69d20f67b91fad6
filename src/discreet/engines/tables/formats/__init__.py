"""Formats of other programs, each behind an extra of its own: workbooks, statistics packages, databases, streams."""
