"""Rows that were suppressed are in no release, whatever its form."""

from __future__ import annotations

import discreet as dc


def test_a_sample_is_drawn_from_the_rows_that_were_kept() -> None:
    people = dc.datasets.people(300)
    domain = people.domain.select(["age", "town", "hours", "illness"])
    rows = people.table.select(list(domain.names))
    model = dc.anonymity.Generalization(k=5, domain=domain).fit(rows)
    shown, drawn = (model.transform(rows, output=output) for output in ("interval", "sample"))
    assert shown.suppressed > 0
    assert len(shown) == len(drawn) == 300 - shown.suppressed
