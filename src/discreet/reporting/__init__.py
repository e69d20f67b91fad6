"""Reports: everything that can be said about a release, as plain data and as one page that can be mailed and printed.

>>> from discreet import reporting
>>> sorted(reporting.__all__)
['report_facts', 'report_page', 'write_report']
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.core.output import check_place, write_whole
from discreet.reporting.facts import report_facts
from discreet.reporting.pages.report import report_page

__all__ = ["report_facts", "report_page", "write_report"]


def __dir__() -> list[str]:
    return __all__


def write_report(artifact: str | Path, output: str | Path, **options: Any) -> dict[str, Any]:
    """Write the page about a released file and return its facts.

    Parameters
    ----------
    artifact : path
        What was released; see `report_facts`.
    output : path
        The page to write.
    **options
        Further arguments of `report_facts`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import discreet as dc
    >>> synopsis = dc.GridSynopsis(1.0, (0, 1), 4).fit(np.full((50, 2), 0.5)).synopsis_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     synopsis.save(Path(folder) / "s.parquet")
    ...     facts = write_report(Path(folder) / "s.parquet", Path(folder) / "report.html")
    ...     size = (Path(folder) / "report.html").stat().st_size
    >>> facts["kind"], size < 100_000
    ('synopsis', True)
    """
    check_place(output)
    facts = report_facts(artifact, **options)
    write_whole(output, report_page(facts))
    return facts
