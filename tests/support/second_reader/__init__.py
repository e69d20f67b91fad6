"""A second reader of releases: it holds what was published and the words next to it, and nothing of the package.

`making` makes random releases of every room by their number. `reading` reads their bytes and sentences again and
returns what is false, not known, or cannot be; it imports nothing of Discreet, so what both agree on was written down
twice.
"""
