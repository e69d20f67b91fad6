"""Write the page about a release."""

import datetime
import json
from pathlib import Path
from typing import Any

from discreet.core import check_place, checks, write_whole
from discreet.errors import InvalidType
from discreet.reporting.facts import report_facts
from discreet.reporting.pages.carried import OPTIONS, with_facts
from discreet.reporting.pages.report import report_page
from discreet.reporting.record import release_record
from discreet.reporting.verdict import Findings


def write_report(
    artifact: str | Path,
    output: str | Path,
    *,
    title: str | None = None,
    owner: str | None = None,
    purpose: str | None = None,
    date: str | datetime.date | None = None,
    language: str = "en",
    signer: str | None = None,
    format: str = "html",
    **options: Any,
) -> dict[str, Any]:
    """Write the page about a released file and return its facts.

    Parameters
    ----------
    artifact : path
        What was released; see `report_facts`.
    output : path
        The page to write.
    title, owner, purpose : str, optional
        Name of the release, who is responsible, and what it is for. Missing ones are shown as "not stated".
    date : str or date, optional
        Date of the release. Without it, the page shows the day on which it was made.
    language : str, default "en"
        Language of the page; "de" is German. The facts stay in English.
    signer : str, optional
        Fingerprint of the key that will sign the page. Without it, the page says that it is not signed.
    format : {"html", "json"}
        A page for people, or a record for programs (docs/records.md).
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
    ...     facts = write_report(Path(folder) / "s.parquet", Path(folder) / "report.html", owner="Ward 3")
    ...     size = (Path(folder) / "report.html").stat().st_size
    >>> facts["kind"], facts["about"]["owner"], size < 100_000
    ('synopsis', 'Ward 3', True)
    """
    said = {"title": title, "owner": owner, "purpose": purpose, "date": date}
    for name, value in said.items():
        if value is not None and not isinstance(value, (str, datetime.date) if name == "date" else str):
            raise InvalidType(name, value, "text", f'{name}="2026-01-31"' if name == "date" else f'{name}="..."')
    form = checks.choice("format", format, ("html", "json"))
    check_place(output, streams=True)
    facts = report_facts(artifact, **options)
    facts["about"] = {name: None if value is None else str(value) for name, value in said.items()}
    facts["about"]["page_made"] = datetime.date.today().isoformat()
    facts["signer"] = signer
    if form == "json":
        text = json.dumps(release_record(facts), indent=2, ensure_ascii=False, default=str)
        write_whole(output, f"{text}\n", streams=True)
        return facts
    again = {name: options[name] for name in OPTIONS if options.get(name) is not None}
    write_whole(output, with_facts(report_page(facts, language), facts, language, **again), streams=True)
    return facts


def page_again(artifact: Findings, carried: dict[str, Any], behind: Findings | None) -> tuple[str, str]:
    """Return a page as it was first written, without what it carries, and the kind of its artifact."""
    given = json.loads(carried["given"])
    known = {name: given.pop(name) for name in OPTIONS if name in given}
    facts = report_facts(artifact, account=carried["account"], behind=behind, **known)
    facts |= {**given, **{name: carried[name] for name in ("file", "about", "signer")}}
    return report_page(facts, carried["language"]), facts["kind"]
