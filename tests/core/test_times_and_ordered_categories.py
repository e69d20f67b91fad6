"""Times of day, ordered categories and categories from a public list: declared, read, asked about, written again."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.core.columns.dates import round_marks
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument, SchemaError
from discreet.synopses import Synopsis

SIZES = {"kind": "ordered", "categories": ["S", "M", "L", "XL"]}


def calls(n: int = 4000) -> tuple[dc.Domain, pa.Table]:
    """Return calls with their time and size: most before noon, most of size M."""
    rng = np.random.default_rng(5)
    seconds = np.clip(rng.normal(10 * 3600, 2 * 3600, n), 0, 86_399).astype(np.int32)
    sizes = np.array(["S", "M", "L", "XL"])[rng.choice(4, n, p=[0.2, 0.5, 0.2, 0.1])]
    domain = dc.Domain({"at": {"kind": "time"}, "size": SIZES})
    return domain, pa.table({"at": pa.array(seconds, pa.int32()).cast(pa.time32("s")), "size": sizes})


@pytest.fixture(scope="module")
def release() -> Synopsis:
    domain, table = calls()
    return dc.GridSynopsis(2.0, domain, random_state=1).fit(table).synopsis_


def test_declarations_survive_the_schema_file_and_copies() -> None:
    domain = dc.Domain({"at": dc.Time("08:00", datetime.time(18, 30), role="quasi-identifier"), "size": SIZES})
    again = dc.Domain.from_toml(domain.to_toml())
    assert again == domain == dc.Domain(domain.to_dict())
    assert 'kind = "time"' in domain.to_toml()
    assert domain.column("at").to_dict()["bounds"] == ["08:00:00", "18:30:00"]
    assert dc.Domain.from_toml('[columns]\nat = {kind = "time"}\n').column("at") == dc.Time(name="at")
    assert repr(dc.Time()) == "Time('00:00:00', '23:59:59')"
    assert domain != dc.Domain({"at": domain.column("at"), "size": ["S", "M", "L", "XL"]})
    for wrong in (("8 o'clock", "9:00"), ("18:00", "08:00"), (3, "09:00"), ("24:00", "25:00")):
        with pytest.raises(DiscreetError, match="time of day"):
            dc.Time(*wrong)


def test_times_are_read_alike_from_texts_files_and_types(tmp_path: Path) -> None:
    domain = dc.Domain({"at": dc.Time()})
    written = ["8:30", "08:30:59.9", "23:59:59", "2024-05-01T10:00:00", "noon", "25:00", ""]
    wanted = [30_600, 30_659, 86_399, 36_000, math.nan, math.nan, math.nan]

    def read(data: object) -> list[float]:
        return np.concatenate([b[0] for b in dc.engines.open(data).batches(domain)]).tolist()

    path = tmp_path / "t.csv"
    path.write_text("at\n" + "\n".join(f'"{w}"' for w in written) + "\n")
    np.testing.assert_equal(read(path), wanted)
    np.testing.assert_equal(read(pd.DataFrame({"at": written})), wanted)
    times = [datetime.time(8, 30), datetime.time(23, 59, 59), None]
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        np.testing.assert_equal(read(pa.table({"at": pa.array(times, pa.time64("us")).cast(kind, safe=False)})),
                                [30_600, 86_399, math.nan])  # fmt: skip
    np.testing.assert_equal(read(pd.DataFrame({"at": times})), [30_600, 86_399, math.nan])
    np.testing.assert_equal(
        read(pd.DataFrame({"at": pd.to_datetime(["1960-01-01 08:30:00", None])})), [30_600, math.nan]
    )
    with pytest.raises(SchemaError, match="times of day"):
        read(pa.table({"at": [1, 2]}))
    with pytest.raises(SchemaError, match="bounds"):
        dc.GridSynopsis(1.0, {"at": (0, 9)}).fit(pa.table({"at": pa.array(times, pa.time64("us"))}))


def test_times_come_out_as_times(release: Synopsis, tmp_path: Path) -> None:
    _, table = calls()
    drawn = release.sample(500, 3)
    assert drawn.schema.field("at").type == pa.time32("s")
    middle = np.mean([t.hour + t.minute / 60 for t in drawn["at"].to_pylist()])
    assert middle == pytest.approx(10, abs=0.5)
    before = release.count(at=("00:00", "11:59:59"))
    truth = sum(t < datetime.time(12) for t in table["at"].to_pylist())
    assert before.interval(0.999)[0] <= truth <= before.interval(0.999)[1]
    assert release.ask("at < '12:00'").value == pytest.approx(before.value)
    assert release.ask("at between '00:00' and '11:59:59'").value == pytest.approx(before.value)
    with pytest.raises(InvalidArgument, match="times of day such as '08:30'"):
        release.ask("at < 12")
    by = release.table("at", bins={"at": ["00:00", "12:00", "23:59:59"]}).to_dict()
    assert by["at_to"][0] == datetime.time(11, 59, 59)
    assert isinstance(release.mode("at").place[0], datetime.time)
    release.save(tmp_path / "s.parquet")
    assert Synopsis.load(tmp_path / "s.parquet").domain == release.domain
    ticks = release.marginal("at").plot().layout.xaxis
    assert list(ticks.ticktext) == ["00:00", "06:00", "12:00", "18:00"]


def test_times_are_anonymised_and_perturbed_as_times() -> None:
    domain = dc.Domain({"at": dc.Time(role="quasi-identifier"), "size": SIZES})
    _, table = calls(400)
    made = dc.anonymity.Mondrian(k=20, domain=domain, keep=["size"]).fit(table)
    assert (
        made.transform(table, output="interval").to_pandas()["at"].str.fullmatch(r"\[\d\d:\d\d:\d\d, [\d:]{8}\]").all()
    )
    assert set(made.transform(table).to_pandas()["at"].str[5:10]) <= {"0:00,"}  # steps of ten minutes, as on a clock
    for output in ("center", "sample"):
        assert isinstance(made.transform(table, output=output).to_pandas()["at"].iloc[0], datetime.time)
    domain = domain.select(["at"])
    law = dc.metric.NDLaplace(epsilon=100.0, radius=60.0, domain=domain, scaling="none", random_state=1)
    noisy = law.transform(table.select(["at"]).to_pandas())["at"].tolist()
    before, after = (
        np.sort([3600 * t.hour + 60 * t.minute + t.second for t in x]) for x in (table["at"].to_pylist(), noisy)
    )
    assert np.abs(before - after).max() < 30  # the noise has 0.6 seconds on average


def test_the_page_of_a_perturbed_table_shows_times_as_a_histogram(tmp_path: Path) -> None:
    _, table = calls(300)
    pq.write_table(table.select(["at"]), tmp_path / "t.parquet")
    law = dc.metric.NDLaplace(1.0, 600.0, dc.Domain({"at": dc.Time()}), scaling="none", random_state=1)
    law.transform_file(tmp_path / "t.parquet", tmp_path / "p.csv")
    (found,) = dc.reporting.report_facts(tmp_path / "p.csv")["release"]["marginals"]
    assert sum(found["counts"]) == 300
    assert ["12:00" in text for _, text in found["marks"]].count(True) == 1
    assert all(len(text) == 8 for text in found["labels"])


def test_ordered_categories_are_compared_and_have_quantiles(release: Synopsis) -> None:
    _, table = calls()
    sizes = table["size"].to_pylist()
    assert release.ask("size >= 'L'").value == pytest.approx(release.ask("size in ('L', 'XL')").value)
    assert release.ask("size between 'M' and 'L'").value == pytest.approx(release.count(size=["M", "L"]).value)
    assert release.ask("size < 'S'").value == 0
    assert release.ask("not size > 'M'").value == pytest.approx(release.count(size=["S", "M"]).value)
    assert release.cdf("size", "M").value == pytest.approx(np.mean([s in "SM" for s in sizes]), abs=0.03)
    middle = release.quantile("size", 0.5)
    assert (middle.category, middle.value, middle.interval(0.95)) == ("M", 1, ("M", "M"))
    assert repr(middle) == "Quantile('M')"
    assert release.quantile("size", 0.05).category == "S"
    assert release.quantile("size", 1.0).category == "XL"
    with pytest.raises(InvalidArgument, match="ordered categories have no mean"):
        release.mean("size")
    with pytest.raises(InvalidArgument, match="smaller end"):
        release.ask("size between 'L' and 'M'")
    with pytest.raises(InvalidArgument, match="among the declared"):
        release.cdf("size", "XXL")
    plain = dc.GridSynopsis(1.0, {"size": ["S", "M"]}, random_state=1).fit(table.select(["size"])).synopsis_
    with pytest.raises(InvalidArgument, match="= or in"):
        plain.ask("size >= 'M'")


def test_anonymous_tables_join_neighbours_of_ordered_categories_only() -> None:
    rng = np.random.default_rng(2)
    table = pa.table({"size": rng.choice(["S", "M", "L", "XL"], 60, p=[0.05, 0.45, 0.45, 0.05])})
    domain = dc.Domain({"size": {**SIZES, "role": "quasi-identifier"}})
    found = set(dc.anonymity.Mondrian(k=10, domain=domain).fit(table).transform(table).to_pandas()["size"])
    assert found <= {"S", "M", "L", "XL", "{S, M}", "{M, L}", "{L, XL}", "{S, M, L}", "{M, L, XL}", "*"}
    assert found & {"{S, M}", "{L, XL}"}


def test_readers_of_released_tables_know_times() -> None:
    """Else an attack would find nothing in them and call them safe."""
    from discreet.anonymity.risk.printed import as_numbers, read_stretches

    found = read_stretches(pa.chunked_array([["[08:20:00, 08:29:59]", "09:00:00 or missing"]]))
    assert found is not None
    assert (found.low.tolist(), found.high.tolist()) == ([30_000, 32_400], [30_599, 32_400])
    held = as_numbers(pa.chunked_array([pa.array([datetime.time(8, 20), None], pa.time32("s"))]))
    assert held is not None
    np.testing.assert_equal(held, [30_000, math.nan])
    np.testing.assert_equal(as_numbers(pa.chunked_array([["8:20", "09:00:00"]])), [30_000, 32_400])
    assert as_numbers(pa.chunked_array([["8:20", "noon"]])) is None


def test_a_schema_saved_elsewhere_still_knows_its_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lists", "out", "far/off"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lists" / "codes.txt").write_text("A00\nB20\n")
    monkeypatch.chdir(tmp_path)
    domain = dc.Domain({"code": dc.categories_from("lists/codes.txt")})
    assert 'categories_file = "../lists/codes.txt"' in domain.to_toml("out/s.toml")
    read = dc.Domain.from_toml("out/s.toml")
    assert read == domain
    assert '"A00"' in read.to_toml("far/off/t.toml")  # not found from there: it is written out
    (tmp_path / "lists" / "codes.txt").write_text("A00\n")
    assert dc.Domain.from_toml("far/off/t.toml") == domain
    domain.to_toml("late.toml")  # the file is another one now
    assert dc.Domain.from_toml("late.toml") == domain


def test_categories_come_from_a_public_list_next_to_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "codes.txt").write_text("\ufeff# chapters\nA00\n\n  B20 \nC34\n", encoding="utf-8")
    (folder / "s.toml").write_text('[columns]\ncode = {categories_file = "codes.txt", role = "quasi-identifier"}\n')
    monkeypatch.chdir(tmp_path)  # the list is next to the schema, not where somebody works
    domain = dc.Domain.from_toml(folder / "s.toml")
    assert domain.column("code").categories == ("A00", "B20", "C34")
    assert domain == dc.Domain({"code": {**dc.categories_from(folder / "codes.txt"), "role": "quasi-identifier"}})
    text = domain.to_toml()
    assert "A00" not in text  # short
    (folder / "again.toml").write_text(text)
    assert dc.Domain.from_toml(folder / "again.toml") == domain
    made = dc.GridSynopsis(1.0, domain, random_state=1).fit(pa.table({"code": ["A00", "C34", "Z99"]})).synopsis_
    stated = made.guarantee.to_json()
    assert domain.column("code").to_dict()["categories_digest"] in stated
    assert str(tmp_path) not in stated
    made.save(tmp_path / "x.parquet")
    (folder / "codes.txt").write_text("A00\nB20\n")  # what was released does not need it
    assert Synopsis.load(tmp_path / "x.parquet").domain == domain
    with pytest.raises(SchemaError, match="digest differs"):
        dc.Domain.from_toml(folder / "again.toml")
    (folder / "codes.txt").unlink()
    with pytest.raises(DataSourceError, match="categories_file: cannot read"):
        dc.Domain.from_toml(folder / "s.toml")
    assert pq.read_schema(tmp_path / "x.parquet") is not None


def test_bins_without_a_whole_number_are_refused() -> None:
    domain = dc.Domain({"age": dc.Integer(0, 9)})
    made = dc.GridSynopsis(1.0, domain, random_state=1).fit(pa.table({"age": [1, 2, 3]})).synopsis_
    with pytest.raises(InvalidArgument, match="a whole number between any two") as error:
        made.marginal("age", bins=[5.1, 5.2])
    assert "bins=[0, 10]" in str(error.value)
    assert len(made.marginal("age", bins=[0, 10]).counts) == 1


def test_axes_of_dates_and_times_have_round_marks() -> None:
    def days(text: str) -> int:
        return int(np.datetime64(text, "D").astype(int))

    assert [t for _, t in round_marks("date", days("1920-01-01"), days("2010-12-31"))] == [
        "1920", "1940", "1960", "1980", "2000",
    ]  # fmt: skip
    assert [t for _, t in round_marks("date", days("2024-01-15"), days("2024-06-20"))] == [
        "2024-02", "2024-03", "2024-04", "2024-05", "2024-06",
    ]  # fmt: skip
    assert next(t for _, t in round_marks("date", days("2024-01-15"), days("2024-01-18"))) == "2024-01-15"
    assert [t for _, t in round_marks("time", 28_800, 30_000)] == ["08:00", "08:05", "08:10", "08:15", "08:20"]
    for low, high in ((0, 1), (-700_000, 2_900_000), (5, 40), (0, 400), (0, 4000)):
        marks = round_marks("date", low, high)
        assert 1 <= len(marks) <= 6
        assert all(low <= place <= high for place, _ in marks)


def test_money_shares_and_words_are_read_as_declared(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("pay;share;good\n€ 1.234,50;12 %;İYİ\n1.234.567,5 €;12,5%;iyi\n€ -5;x;kötü\n", encoding="utf-8")
    source = {
        "delimiter": ";",
        "decimal": ",",
        "thousands": ".",
        "marks": ["€", "%"],
        "true": ["İYİ"],
        "false": ["kötü"],
    }
    columns = {"pay": (-1e7, 1e7), "share": (0, 100), "good": (0, 1)}
    for good in ((0, 1), [False, True]):
        domain = dc.Domain({**columns, "good": good}, source=source)
        (found,) = dc.engines.open(path, dialect=domain.source).batches(domain)
        np.testing.assert_equal(found[0], [1234.5, 1234567.5, -5])
        np.testing.assert_equal(found[1], [12, 12.5, math.nan])
        np.testing.assert_equal(found[2], [1, 1, 0] if good == (0, 1) else [1.5, 1.5, 0.5])
    with pytest.raises(SchemaError, match="among the words for true and for false"):
        dc.Dialect(true=["İYİ"], false=["iyi"])


def test_pages_mark_times_and_keep_the_order_of_categories(release: Synopsis, tmp_path: Path) -> None:
    release.save(tmp_path / "s.parquet")
    dc.reporting.write_report(tmp_path / "s.parquet", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    for mark in ("06:00", "12:00", "18:00"):
        assert f">{mark}<" in text
    places = [text.rindex(f">{size}</text>") for size in ("S", "M", "L", "XL")]
    assert places == sorted(places)  # M has the most rows, and does not come first
