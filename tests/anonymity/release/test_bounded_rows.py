"""At most so many rows per person are released: chosen uniformly, alike by every engine, and again next month."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from discreet import Domain
from discreet.anonymity import DensityTree, Generalization, Mondrian, ReleaseHistory
from discreet.errors import InvalidArgument
from discreet.reporting import report_facts, report_page
from discreet.reporting.words import for_lawyers
from past_releases import Past

DOMAIN = Domain(
    {
        "who": {"role": "person"},
        "age": {"bounds": [0, 100], "kind": "integer", "role": "quasi-identifier"},
        "ill": {"categories": list("abcdef"), "role": "sensitive"},
    }
)
METHODS = (DensityTree, Mondrian, Generalization)


def visits(n: int = 60, seed: int = 0) -> pa.Table:
    """Return visits: person i has up to ten of them, some alike."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), rng.integers(1, 11, n))
    ill = np.array(list("abcdef"))[rng.integers(0, 6, len(who))]
    return pa.table({"who": [f"p{i}" for i in who], "age": (who * 7) % 90, "ill": ill})


def shown(release: Any) -> Counter[Any]:
    return Counter(zip(*release.table.to_pydict().values(), strict=True))


@pytest.mark.parametrize("method", METHODS)
def test_no_one_has_more_rows_and_k_still_counts_persons(method: Any) -> None:
    key = {"identifiers": "hash", "key": b"a secret of many bytes"}
    for most in (1, 3):
        release = method(5, domain=DOMAIN, most_rows=most).fit_transform(visits(), random_state=1, **key)
        facts = release.guarantee.parameters
        held = Counter(release.table["who"].to_pylist())
        assert max(held.values()) == most
        left = len(release) + facts["left_out_over_most_rows"] + facts["suppressed"]
        assert left == visits().num_rows
        assert release.guarantee.seeded
        groups: dict[Any, Counter[str]] = {}
        for who, age in zip(release.table["who"].to_pylist(), release.table["age"].to_pylist(), strict=True):
            groups.setdefault(age, Counter())[who] += 1
        assert min(map(len, groups.values())) >= 5
        assert facts["reached"]["largest_share"] == pytest.approx(
            max(max(g.values()) / g.total() for g in groups.values())
        )
    told = " ".join(for_lawyers(method(5, domain=DOMAIN, most_rows=1).fit_transform(visits()).guarantee))
    assert "At most 1 row per person was released" in told
    assert "most_rows" not in told
    assert "may have several rows" not in told


def test_rows_are_chosen_alike_from_every_source_and_in_every_order(tmp_path: Path) -> None:
    table = visits()
    rng = np.random.default_rng(5)
    mixed = table.take(pa.array(rng.permutation(table.num_rows)))
    pc.write_csv(mixed, tmp_path / "t.csv")
    pq.write_table(mixed, tmp_path / "t.parquet", row_group_size=50)
    spelled = mixed.set_column(0, "who", pa.array([f" {w} " for w in mixed["who"].to_pylist()]))
    for method in METHODS:
        wanted = shown(method(5, domain=DOMAIN, most_rows=2).fit_transform(table, random_state=3))
        for source in (mixed, tmp_path / "t.csv", tmp_path / "t.parquet", mixed.to_pandas(), spelled):
            assert shown(method(5, domain=DOMAIN, most_rows=2).fit_transform(source, random_state=3)) == wanted
            fitted = method(5, domain=DOMAIN, most_rows=2).fit(source)
            assert len(fitted.transform(source, random_state=3)) == wanted.total()
        assert shown(method(5, domain=DOMAIN, most_rows=2).fit_transform(table, random_state=4)) != wanted


def test_the_choice_is_uniform_also_among_equal_rows() -> None:
    """One row of ten is different from the rest, and kept as often as any: 200 persons in 10 draws, z below 4."""
    who = [f"p{i}" for i in range(200) for _ in range(10)]
    table = pa.table({"who": who, "age": [50] * 2000, "ill": (["a"] * 9 + ["b"]) * 200})
    model = DensityTree(5, domain=DOMAIN, most_rows=3)
    found = sum(model.fit_transform(table, random_state=i).table["ill"].to_pylist().count("b") for i in range(10))
    assert abs(found - 600) / np.sqrt(2000 * 0.3 * 0.7) < 4  # fails by chance once in 15,000 seeds


def test_the_same_rows_are_chosen_next_month(tmp_path: Path) -> None:
    months = []
    for month in range(3):
        with ReleaseHistory(tmp_path / "history") as history:
            release = DensityTree(5, domain=DOMAIN, most_rows=1).fit_transform(visits(), history=history)
            release.save(tmp_path / f"{month}.csv")
        months.append(shown(release))
    assert months[0] == months[1] == months[2]
    facts = release.guarantee.parameters
    assert (facts["earlier_releases"], facts["left_out_published_before"]) == (2, 0)


def test_rows_that_were_released_are_chosen_again_where_people_have_new_ones(tmp_path: Path) -> None:
    months, table = [], visits()
    more = pa.concat_tables([table, table.set_column(2, "ill", pa.array(["f"] * table.num_rows))])
    for rows in (table, more):
        with ReleaseHistory(tmp_path / "history") as history:
            release = DensityTree(5, domain=DOMAIN, most_rows=1).fit_transform(rows, history=history)
            release.save(tmp_path / f"{len(months)}.csv")
        months.append(sorted(release.table["ill"].to_pylist()))
    assert months[0] == months[1]
    assert release.guarantee.parameters["left_out_published_before"] == 0
    gap = table.set_column(0, "who", pa.array([None] * 7 + table["who"].to_pylist()[7:]))
    later = DensityTree(5, domain=DOMAIN, most_rows=1).fit_transform(gap, history=tmp_path / "new")
    assert later.guarantee.parameters["left_out_without_person"] == 7  # nobody can follow them, so they are not there


def test_rows_that_were_left_out_do_not_come_first_next_month() -> None:
    """Forty people are alone with their age, and left out. In February each has nine more rows: 1 of 10 stays."""
    who, age = [*range(45)], [*range(40), *[90] * 5]
    one = pa.table({"who": who, "age": age, "ill": ["a"] * 45})
    more = pa.table({"who": who[:40] * 9, "age": age[:40] * 9, "ill": ["b"] * 360})
    method = Generalization(5, domain=DOMAIN, most_rows=1, levels={"age": 0}, suppress=1.0)
    first = method.fit_transform(one, random_state=1)
    second = method.fit_transform(pa.concat_tables([one, more]), history=Past(first), random_state=1)
    assert first.suppressed == 40
    assert second.record.values("ill").to_pylist().count("a") < 5 + 20


def test_a_bound_without_persons_or_without_memory_is_refused(tmp_path: Path) -> None:
    ages = Domain({"age": {"bounds": [0, 100]}})
    with pytest.raises(InvalidArgument, match="most_rows can only be used with a person column"):
        DensityTree(5, domain=ages, most_rows=1).fit(visits().select(["age"]))
    fitted = DensityTree(5, domain=DOMAIN, most_rows=1).fit(visits())
    with pytest.raises(InvalidArgument, match="does not fit into memory"):
        fitted.transform_file(visits(), tmp_path / "out.csv")
    fitted._memory = 10  # type: ignore[misc]
    pc.write_csv(visits(), tmp_path / "t.csv")
    with pytest.raises(InvalidArgument, match="does not fit into memory"):
        fitted.is_large(tmp_path / "t.csv")


def test_the_page_counts_rows_beyond_the_bound_and_rows_with_blanks(tmp_path: Path) -> None:
    options = {"most_rows": 1, "suppress": 1.0, "blanks": True, "levels": {"age": 1}}
    release = Generalization(5, domain=DOMAIN, **options).fit_transform(visits())
    release.save(tmp_path / "safe.csv")
    facts = release.guarantee.parameters
    assert facts["blanked"] > 0
    page = report_page(report_facts(tmp_path / "safe.csv"))
    assert f"because their person has more than are released: {facts['left_out_over_most_rows']}." in page
    assert f"single values were blanked so that the rules hold: {facts['blanked']}." in page
