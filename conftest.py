"""For all tests and doctests: a meter compares every draw of a release with its ledger (`tests/support/meter.py`)."""

pytest_plugins = ["meter"]
