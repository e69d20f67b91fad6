"""Dates in anonymous tables: cut on public grids, published as dates, linked and ordered as days."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.anonymity import (
    DensityTree,
    Microaggregation,
    NoiseAddition,
    RankSwapping,
    record_linkage,
)
from discreet.anonymity.growth.grid import date_edges
from discreet.core.domain import Date, Domain
from discreet.errors import InvalidArgument
from recurring_people import DOMAIN, people, qi


@pytest.mark.parametrize(
    ("steps", "edges"),
    [
        ("year", ["1999-11-15", "2000-01-01", "2001-01-01", "2001-02-01"]),
        (["2000-02-29"], ["1999-11-15", "2000-02-29", "2001-02-01"]),
        (
            [datetime.date(2000, 1, 1), np.datetime64("2000-02-01")],
            ["1999-11-15", "2000-01-01", "2000-02-01", "2001-02-01"],
        ),
        (2, ["1999-11-15", "2000-06-24", "2001-02-01"]),
    ],
)
def test_grids_of_dates(steps: Any, edges: list[str]) -> None:
    column = Date("born", "1999-11-15", datetime.date(2001, 2, 1))
    found = date_edges(column, steps)
    assert [str(np.datetime64(int(e), "D")) for e in found] == edges
    assert len(date_edges(column, "day")) == 445
    assert len(date_edges(column, None)) == 16  # months: days would be more than 256 steps


@pytest.mark.parametrize("steps", ["week", 0, 10**6, ["2000-02-30"], ["2002-01-01"], ["2000-02-01", "2000-01-01"], 1.5])
def test_bad_grids_of_dates_are_refused(steps: Any) -> None:
    with pytest.raises(InvalidArgument, match="grid of column 'born'"):
        date_edges(Date("born", "1999-11-15", "2001-02-01"), steps)


def test_dates_in_every_output() -> None:
    table = people(300, 1)
    method = DensityTree(5, domain=DOMAIN, grid={"born": "month"})
    texts = method.fit_transform(table).table["born"].to_pylist()
    ends = {end for text in texts if text != "missing" for end in text.split(" or ")[0][1:-1].split(", ")}
    assert ends - {"1930-01-01", "2009-12-31"}
    assert all(end.endswith("-01") or end == "2009-12-31" for end in ends)  # on the public grid of months
    center = method.fit_transform(table, output="center").table["born"]
    drawn = method.fit_transform(table, output="sample", random_state=1).table["born"]
    assert center.type == drawn.type == pa.date32()
    plain = DOMAIN.select(["born", "x"])
    mean = Microaggregation(5, domain=plain).fit_transform(table)
    swapped = RankSwapping(domain=plain).fit_transform(table, random_state=1)
    noisy = NoiseAddition(0.1, domain=plain).fit_transform(table, random_state=1)
    for release in (mean, swapped, noisy):
        assert release.table["born"].type == pa.date32()
    assert Counter(swapped.table["born"].to_pylist()) == Counter(
        None if d is None else min(max(d, datetime.date(1930, 1, 1)), datetime.date(2009, 12, 31))
        for d in table["born"].to_pylist()
    )


def test_disclosure_reads_dates_and_intervals_of_dates() -> None:
    domain = Domain({"born": ("1950-01-01", "1999-12-31")})
    table = pa.table({"born": [datetime.date(1950 + i, 3, 1) for i in range(40)]})
    release = DensityTree(4, domain=domain).fit_transform(table)
    assert record_linkage(table, release).share <= 1 / 4 + 1e-9
    assert record_linkage(table, table).share == 1.0


def test_sensitive_dates_are_ordered() -> None:
    domain = Domain({"x": qi(bounds=[0, 1]), "seen": {"bounds": ["2020-01-01", "2020-12-31"], "role": "sensitive"}})
    table = pa.table({"x": [0.1] * 4, "seen": ["2020-02-01", "2020-10-01", "2020-02-01T10:00", None]})
    release = DensityTree(2, 2, domain=domain).fit_transform(table)
    assert release.guarantee.parameters["reached"]["t_kind"] == {"seen": "ordered"}
    assert release.guarantee.parameters["reached"]["l"] == {"seen": 3.0}  # the day counts, not the hour
