"""For all tests and doctests: the threads of a process, and a meter that compares every draw with its ledger line."""

import os

# With a process per core, threads of OpenMP and BLAS have no core to run on: they spin while they wait for each other,
# and k-means on a few hundred rows takes ten times as long. Read when the libraries are loaded, which the meter does.
if "PYTEST_XDIST_WORKER" in os.environ:
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_name, "1")

pytest_plugins = ["meter"]  # tests/support/meter.py
