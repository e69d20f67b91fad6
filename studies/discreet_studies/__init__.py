"""Published experiments, run again: the figure that was printed, the one measured here, and a verdict.

A study is a `Study`: a name, the settings of a quick and of a full run, a function that measures one setting, and one
that sets the results beside the published figures. The runner does the rest: processes, a Parquet file that grows while
it runs and lets an interrupted run go on, means with intervals, a page with charts, a table in CSV.

Every study has a folder: ``study.py``, which reads first, what it measures, ``published.py`` with printed figures, and
``findings.py`` with the verdicts. ``harness`` is what they share, and ``as_published`` holds published programs with
their faults, which nothing but the studies may use.

To add one, write a folder whose ``study.py`` holds ``STUDY = Study(...)`` and name it in ``_HOMES`` below.

>>> from discreet import studies
>>> studies.load("density-trees").title
'Density trees: what k-anonymous cells cost a classifier'

From a shell: ``discreet study list``, ``discreet study run NAME --quick``, ``discreet study show NAME``.
"""

from __future__ import annotations

from importlib import import_module

from discreet.core import checks
from discreet_studies.harness.study import Estimate, Finding, Results, Study

__all__ = ["Estimate", "Finding", "Results", "Study", "load", "names"]

#: Where each study lives.
_HOMES = {
    "partition-synopsis": "discreet_studies.partition_synopsis.study",
    "optimal-grid": "discreet_studies.optimal_grid.study",
    "local-sketches": "discreet_studies.local_sketches.study",
    "nd-laplace": "discreet_studies.nd_laplace.study",
    "density-trees": "discreet_studies.density_trees.study",
    "frontier": "discreet_studies.frontier.study",
    "accuracy": "discreet_studies.accuracy.study",
    "persons": "discreet_studies.persons.study",
    "synthetic-tables": "discreet_studies.synthetic_tables.study",
    "local-kmeans": "discreet_studies.local_kmeans.study",
}


def names() -> list[str]:
    """Return the names of all studies.

    Examples
    --------
    >>> "density-trees" in names()
    True
    """
    return list(_HOMES)


def load(name: str) -> Study:
    """Return a study by its name.

    Examples
    --------
    >>> len(load("density-trees").settings(True)) < len(load("density-trees").settings(False))
    True
    """
    study: Study = import_module(_HOMES[checks.choice("name", name, names())]).STUDY
    return study
