"""Codes in synopses: counted by prefix, drawn as valid codes, and never by what the rows hold."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import InvalidArgument
from discreet.synopses.marginals.bins import levels, public_grid
from replay import replay

LISTED = [f"{a:02d}{b:03d}" for a in (1, 4, 80) for b in range(0, 1000, 25)]


def _rows(n: int = 3000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    zips = np.array(LISTED)[np.minimum(rng.geometric(0.03, n), len(LISTED)) - 1]
    mine = rng.choice(["A00", "A00.1", "E11.9", "Z99", "none"], n)
    return pa.table({"zip": zips, "icd": mine, "age": rng.integers(0, 100, n), "who": [f"p{i // 3}" for i in range(n)]})


def _domain(**more: object) -> dc.Domain:
    return dc.Domain(
        {
            "zip": dc.Code(categories=LISTED),
            "icd": {"pattern": r"[A-Z]\d{2}(\.\d)?", "missing": "own"},
            "age": dc.Integer(0, 120),
        },
        **more,
    )


@pytest.mark.parametrize("method", [dc.MarginalSynopsis, dc.GridSynopsis, dc.TreeSynopsis])
@pytest.mark.parametrize("unit", [None, dc.Person("who", rows=3)])
@pytest.mark.usefixtures("few_steps")
def test_drawn_rows_hold_valid_codes_only(method: type, unit: object, tmp_path: Path) -> None:
    made = method(1.0, _domain(unit=unit), random_state=3).fit(_rows()).synopsis_
    made.save(tmp_path / "s.parquet")
    drawn = dc.Synopsis.load(tmp_path / "s.parquet").sample(4000, rng=1)
    assert set(drawn["zip"].to_pylist()) <= set(LISTED)
    icd = [code.encode() for code in drawn["icd"].to_pylist() if code is not None]
    assert len(icd) > 1000
    assert np.isfinite(made.domain.column("icd").codes.numbers(pa.array(icd, pa.large_binary()))).all()
    assert len(set(drawn["zip"].to_pylist())) > 10


def test_answers_by_prefix_are_near_the_truth_and_honest() -> None:
    rows = _rows(20_000)
    made = dc.MarginalSynopsis(2.0, _domain(), random_state=3).fit(rows).synopsis_
    zips = np.array(rows["zip"].to_pylist())
    # "none" is no code: such rows have a cell of their own.
    for prefix in ("0", "01", "010", "04", "80"):
        found, truth = made.count(zip=f"{prefix}*"), int(np.char.startswith(zips, prefix).sum())
        assert abs(found.value - truth) <= 5 * found.std_error + 1, prefix
        assert made.ask(f"zip = '{prefix}*'").value == found.value
    one = made.count(zip=LISTED[0])  # below what was counted: the rows of a prefix may all have one code
    assert abs(one.value - int((zips == LISTED[0]).sum())) <= 5 * one.std_error
    icd = made.count(icd="A00*")
    assert abs(icd.value - int(np.isin(rows["icd"].to_pylist(), ["A00", "A00.1"]).sum())) <= 5 * icd.std_error
    shown = made.marginal("zip", 3)
    assert shown.categories == ("01***", "04***", "80***")
    assert abs(shown.counts.sum() - 20_000) < 1000
    assert made.table("zip", "age", bins={"zip": 4, "age": 2}).to_arrow()["zip"].to_pylist()[0] == "01***"


@pytest.mark.usefixtures("few_steps")
def test_questions_that_codes_cannot_answer_say_what_to_ask() -> None:
    made = dc.MarginalSynopsis(1.0, _domain(), random_state=3).fit(_rows()).synopsis_
    for ask in (lambda: made.mean("zip"), lambda: made.quantile("icd", 0.5), lambda: made.cdf("zip", "01*")):
        with pytest.raises(InvalidArgument, match=r"codes have no order.*mode"):
            ask()
    with pytest.raises(InvalidArgument, match=r"beginning of one with a star.*try zip='0\*'"):
        made.count(zip="99")
    for wrong in ("zip like '01%'", "zip < '01'", "zip between '0' and '1'", "zip = '99*'"):
        with pytest.raises(InvalidArgument) as refused:
            made.ask(wrong)
        assert made.ask(refused.value.fix.removeprefix('question="').removesuffix('"')).value >= 0


def test_the_grid_follows_from_the_declaration_alone() -> None:
    domain = dc.Domain({"zip": dc.Code(r"\d{5}", missing="own"), "list": dc.Code(categories=LISTED)})
    grid = public_grid(domain)
    assert grid.sizes == (1000 + 1, len(LISTED))
    starts = grid.boxes(0)[0]
    found = levels(domain.column("zip"), 1001, starts)
    assert [int(of[-1]) + 1 for of in found] == [1001, 101, 11]  # the last is that of missing values
    assert all((np.diff(of) >= 0).all() for of in found)


def test_facts_about_codes_hold_in_drawn_rows() -> None:
    domain = _domain(impossible=[{"zip": ["80*"], "age": (0, 49)}])
    made = dc.MarginalSynopsis(3.0, domain, random_state=1).fit(_rows()).synopsis_
    assert "zip = 80***" in domain.facts.sentences[0]
    assert dc.Domain.from_toml(domain.to_toml() + "\n") == domain
    drawn = made.sample(3000, rng=2).to_pylist()
    assert not any(row["zip"][:2] == "80" and row["age"] < 50 for row in drawn)


@pytest.mark.parametrize("method", [dc.MarginalSynopsis, dc.GridSynopsis, dc.TreeSynopsis])
@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.usefixtures("few_steps")
def test_neighbours_differ_by_no_more_than_is_promised(method: type, persons: bool) -> None:
    rows, unit = _rows(60), dc.Person("who", rows=2) if persons else None
    other = rows.slice(3) if persons else rows.slice(1)

    def release(table: pa.Table) -> tuple[object, object]:
        made = method(1.0, _domain(unit=unit), random_state=5).fit(table).synopsis_
        return [made.weights, made.lower, made.upper, made.digest], made.guarantee

    replay(release, rows, other)
    replay(release, other, rows)


@pytest.mark.parametrize("method", [dc.MarginalSynopsis, dc.GridSynopsis, dc.TreeSynopsis])
def test_intervals_hold_for_codes_that_rows_have(method: type) -> None:
    """Few codes of a pattern occur: a counted group may have all of its rows in the prefix that is asked for."""
    known = np.array(["I21.0", "I50.1", "E11.9", "J18.0", "K29.7", "S72.0", "K35.8", "S82.1", "G40.3", "A09.0", "O80"])
    domain = dc.Domain({"icd": dc.Code(r"[A-Z]\d{2}(\.\d)?"), "ward": ["a", "b", "c"]}, unit=dc.Person("who", rows=4))
    held: dict[int, list[bool]] = {1: [], 2: [], 3: []}
    for seed in range(8 if method is dc.MarginalSynopsis else 20):  # a fit of marginals takes longest
        rng = np.random.default_rng(seed)
        icd, ward = known[rng.integers(0, 11, 1600)], rng.integers(0, 3, 1600)
        table = pa.table({"icd": icd, "ward": np.array(["a", "b", "c"])[ward], "who": np.arange(1600) * 2 // 3})
        more = {"delta": 1e-9} if method is dc.MarginalSynopsis else {}
        made = method(1.0, domain, random_state=seed, **more).fit(table).synopsis_
        for length, inside in held.items():
            for prefix in {code[:length] for code in known}:
                low, high = made.count(icd=f"{prefix}*").interval(0.95)
                inside.append(low <= np.char.startswith(icd, prefix).sum() <= high)
    assert all(np.mean(inside) >= 0.9 for inside in held.values())
