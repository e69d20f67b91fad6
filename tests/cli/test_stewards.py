"""Five stewards at the command line, from the file they have to what they hand out, with figures counted again.

Stays have costs that occur once, so a test that holds the true table knows which row of a release is which stay.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from scipy.special import hyp2f1

import discreet as dc
from command_line import output, run
from row_followers import Published, Row, singled_out
from steward_tables import cells, hospital, incomes, months, survey, write_french, write_survey, write_workbook

pytestmark = pytest.mark.well_fitted
HOSPITAL = (
    "Patient=person:4", "Alter=0..110", "PLZ=code:[0-9]{5}", "Geschlecht=w,m", "Aufnahme=2026-01-01:2026-06-30",
    'Station=Chirurgie,Innere,"Kinder, Jugend",Neurologie', "ICD=code:[A-Z][0-9]{2}[.][0-9]",
    "Alter,PLZ,Geschlecht,Aufnahme,Station=quasi-identifier",
)  # fmt: skip


def declared(*said: str) -> list[str]:
    return [word for text in said for word in ("--declare", text)]


def plain(text: str) -> str:
    """Return what the terminal says, on one line and without frames."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def test_a_german_workbook_with_persons(tmp_path: Path) -> None:
    stays = hospital()
    book, schema = write_workbook(tmp_path / "Aufenthalte.xlsx", stays), tmp_path / "h.toml"
    refused = str(run("schema", book, catch=True).exception)
    assert "'Hinweise', 'Aufenthalte'" in refused  # the sheets are listed
    told = [*HOSPITAL, "Entlassung=2026-01-01:2026-08-31", "Kosten=0:60000", "Entlassung=quasi-identifier",
            "Kosten,ICD=sensitive", "Bemerkung,Bemerkung_2=identifier"]  # fmt: skip
    asked = ["--sheet", "Aufenthalte", "--skip", 1, "--look", 40, *declared(*told), "--rule", "Aufnahme <= Entlassung"]
    output("schema", book, *asked, "-o", schema)
    assert 'decimal = ","\nthousands = "."' in schema.read_text()
    months = ["--grid", "Aufnahme=month", "--grid", "Entlassung=month"]
    shared = [book, "--schema", schema, "--k", 5, "--l", 2, *months]
    safe = tmp_path / "sicher.xlsx"
    report = ["--report", tmp_path / "bericht.html", "--language", "de"]
    said = plain(output("anonymize", *shared, "-o", safe, *report))
    assert f"{len(stays):,} rows in" in said
    assert f"Kosten is blank in 1 of {len(stays):,} rows" in said  # a remark in a column of numbers
    assert "of Kosten that occurs once" in said
    assert "Müller" not in said

    sheet = openpyxl.load_workbook(safe).active
    lines = [[cell.value for cell in line] for line in sheet.iter_rows()]
    made = pd.DataFrame(lines[1:], columns=lines[0])
    assert list(made) == ["Alter", "PLZ", "Geschlecht", "Aufnahme", "Entlassung", "Station", "ICD", "Kosten"]
    quasi = list(made)[:6]
    blank = made["Kosten"].isna()
    assert blank.sum() == 1
    assert made.loc[~blank, "Kosten"].map(lambda c: isinstance(c, (int, float))).all()
    printed = cells(made[~blank], stays, quasi)
    assert [i for i, cell in enumerate(printed) if cell is None] == [7]
    printed[7] = tuple(made.loc[blank, quasi].iloc[0])
    groups = stays.groupby(pd.Series(map(str, printed)))
    assert groups["Patient"].nunique().min() >= 5
    assert groups["ICD"].nunique().min() >= 2
    promise = json.loads((tmp_path / "sicher.xlsx.guarantee.json").read_text())["parameters"]
    assert promise["reached"]["k"] == groups["Patient"].nunique().min()
    share = max((g["Patient"].value_counts() / len(g)).max() for _, g in groups)
    assert f"at most {100 * share:.3g} % of the rows of a group belong to one person" in said
    page = (tmp_path / "bericht.html").read_text("utf-8")
    assert '<html lang="de">' in page
    assert "Müller" not in page
    assert "All checks passed that could be made" in output("audit", safe)

    # The same for Excel in German: semicolons, decimal commas, a byte mark; and the file is read back.
    text = tmp_path / "sicher.csv"
    output("anonymize", *shared, "--csv-dialect", "excel-de", "-o", text)
    assert text.read_bytes().startswith(b"\xef\xbb\xbf")
    again = pd.read_csv(text, sep=";", decimal=",", dtype={"PLZ": str})
    assert np.allclose(np.sort(again["Kosten"].dropna()), np.sort(np.delete(stays["Kosten"].to_numpy(), 7)))
    assert "All checks passed that could be made" in output("audit", text)


def test_a_french_file_with_an_account(tmp_path: Path) -> None:
    people = incomes()
    data, schema, account = write_french(tmp_path / "revenus.csv", people), tmp_path / "f.toml", tmp_path / "f.account"
    told = ["né_le=1930-01-01:2008-12-31", "métier=cadre,employé,ouvrier,retraité", "revenu=0:200000", "revenu=own"]
    output("schema", data, "--look", 30, "--known", *declared(*told), "-o", schema)
    text = schema.read_text("utf-8")
    assert 'delimiter = ";"\ndecimal = ","\nthousands = " "\nencoding = "windows-1252"\ndates = ["%d/%m/%Y"]' in text
    assert 'code_postal = {kind = "code"' in text
    output("account", "create", account, "--dataset", "revenus", "--epsilon", 4)
    made = tmp_path / "synthétique.csv"
    said = plain(output("synthesize", data, "--schema", schema, "--epsilon", 3, "--account", account, "-o", made))
    assert "epsilon 3 of 4 spent, 1 left" in said
    assert "Good for." in said
    rows = pd.read_csv(made, sep=";", decimal=",", encoding="windows-1252", dtype={"code_postal": str})
    assert list(rows) == list(people)
    assert len(rows) == pytest.approx(len(people), rel=0.06)  # five standard deviations of the noise
    assert rows["code_postal"].str.fullmatch("[0-9]{5}").all()
    # Of about 40 shares each is off by less than 0.06: the noise of a count is about 0.01 of the rows.
    for true, found in (
        (people["code_postal"].str[:2], rows["code_postal"].str[:2]),
        (people["métier"], rows["métier"]),
        (people["né_le"].dt.year // 10, pd.to_datetime(rows["né_le"]).dt.year // 10),
        (people["revenu"].isna(), rows["revenu"].isna()),
    ):
        off = true.value_counts(normalize=True).sub(found.value_counts(normalize=True), fill_value=0)
        assert off.abs().max() < 0.06
    by_work = people.groupby("métier")["revenu"].mean()
    assert (rows.groupby("métier")["revenu"].mean() / by_work - 1).abs().max() < 0.3
    # Questions cost nothing more; their table opens in the same programs, and its intervals hold the truth.
    table = tmp_path / "table.csv"
    output("ask", tmp_path / "synthétique.synopsis.parquet", "--by", "métier", "--csv-dialect", "excel-de", "--level",
           0.9999, "-o", table)  # fmt: skip
    answers = pd.read_csv(table, sep=";", decimal=",").set_index("métier")
    for work, n in people["métier"].value_counts().items():
        assert answers.loc[work, "low"] <= n <= answers.loc[work, "high"]
    over = run("synthesize", data, "--schema", schema, "--epsilon", 2, "--account", account, "-o", tmp_path / "2.csv",
               catch=True)  # fmt: skip
    assert "BudgetExceeded" in repr(over.exception)
    assert not (tmp_path / "2.csv").exists()
    assert json.loads(output("account", "show", account, "--json"))["spent"] == "3"


def test_a_survey_of_households_with_weights(tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    table = survey()
    data, schema, made = write_survey(tmp_path / "s.sav", table), tmp_path / "s.toml", tmp_path / "s.parquet"
    told = ["hh=household:3", "sex=f,m", "age=0..99", "region=north,middle,south", "wgt=0:400", "wgt=weight",
            "sex,age,region=quasi-identifier"]  # fmt: skip
    output("schema", data, *declared(*told), "-o", schema)
    figures = json.loads(output("risk", data, "--schema", schema, "--json"))
    groups = table.groupby(["sex", "age", "region"])
    assert figures["households"]["number"] == table["hh"].nunique()
    assert figures["population"]["people"] == pytest.approx(table["wgt"].sum())
    assert figures["k"] == groups["hh"].nunique().min()
    f, total = groups["wgt"].transform("size"), groups["wgt"].transform("sum")
    risk = f / total / f * hyp2f1(1, 1, f + 1, 1 - f / total)  # Franconi and Polettini 2004
    assert figures["population"]["expected"] == pytest.approx(risk.sum(), rel=1e-6)
    found = 1 - (1 - risk).groupby(table["hh"]).prod()
    assert figures["households"]["expected"] == pytest.approx(found.sum(), rel=1e-6)
    truth = table.groupby("region")["wgt"].sum()
    output("synopsis", data, "--schema", schema, "--epsilon", 2, "--columns", "region,sex", "-o", made)
    answers = pd.DataFrame(json.loads(output("ask", made, "--by", "region", "--level", 0.9999, "--json"))["groups"])
    for code, name in enumerate(["north", "middle", "south"], 1):
        found = answers[answers["region"] == name].iloc[0]
        assert found["low"] <= truth[code] <= found["high"]
    guarantee = dc.Synopsis.load(made).guarantee
    assert "household" in guarantee.unit
    assert guarantee.epsilon == 2


def test_six_monthly_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tables = months()
    tables[0].to_csv("2026-01.csv", index=False)
    told = [*HOSPITAL, "Kosten=0:10000000", "Kosten,ICD=sensitive"]
    output("schema", "2026-01.csv", *declared(*told), "-o", "s.toml")
    quasi = ["Alter", "PLZ", "Geschlecht", "Aufnahme", "Station"]
    seen: list[Published] = []
    for month, stays in enumerate(tables, 1):
        name = f"2026-{month:02}.csv"
        stays.to_csv(name, index=False)
        output("anonymize", name, "--schema", "s.toml", "--k", 5, "--grid", "Aufnahme=month", "--max-depth", 5,
               "--history", "hospital.history", "-o", f"safe-{name}")  # fmt: skip
        promise = json.loads(Path(f"safe-{name}.guarantee.json").read_text())["parameters"]
        released = pd.read_csv(f"safe-{name}", dtype={"PLZ": str})
        printed = cells(released, stays, quasi)
        out = printed.count(None)
        assert promise["rows"] == len(released) == len(stays) - out
        assert promise.get("earlier_releases", 0) == month - 1
        if month > 1:
            assert promise["left_out_published_before"] + promise["left_out_never_published"] == out
        assert out < 0.3 * len(stays)
        rows = [Row(r.Patient, tuple(getattr(r, q) for q in quasi), (r.ICD, r.Kosten)) for r in stays.itertuples()]
        seen.append(Published(tuple(rows), tuple(printed), 5))
    assert not list(singled_out(seen))
    # The same months without a history: someone who left can be found.
    alone = []
    for month, table in enumerate(seen[:2], 1):
        name = f"2026-{month:02}.csv"
        output("anonymize", name, "--schema", "s.toml", "--k", 5, "--grid", "Aufnahme=month", "-o", f"alone-{name}")
        printed = cells(pd.read_csv(f"alone-{name}", dtype={"PLZ": str}), tables[month - 1], quasi)
        alone.append(Published(table.rows, tuple(printed), 5))
    assert any(singled_out(alone))


def test_a_colleagues_job_file(tmp_path: Path) -> None:
    """The colleague wrote a job and handed in the file; it is checked, run, and run again elsewhere."""
    job = """
[job]
kind = "synthesize"
[data]
path = "stays.csv"
[schema.unit]
person = "Patient"
rows = 4
[schema.columns]
Patient = {role = "person"}
Alter = {kind = "integer", bounds = [0, 110]}
Station = {categories = ["Chirurgie", "Innere", "Kinder, Jugend", "Neurologie"]}
Aufnahme = {bounds = [2026-01-01, 2026-06-30]}
[parameters]
epsilon = 3.0
seed = 7
title = "Stays"
[outputs]
table = "rows.csv"
release = "rows.synopsis.parquet"
report = "report.html"
"""
    stays, digests = hospital(), []
    for place in ("here", "there"):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "job.toml").write_text(job)
        (folder / "stays.csv").write_text(stays.sample(frac=1, random_state=len(place)).to_csv(index=False))
        assert "Valid: a synthesize job with 3 outputs" in output("run", folder / "job.toml", "--check")
        output("run", folder / "job.toml")
        digests.append(dc.Synopsis.load(folder / "rows.synopsis.parquet").digest)
    assert digests[0] == digests[1]  # with its seed, in any folder and order of rows
    rows = pd.read_csv(folder / "rows.csv")
    used = stays.groupby("Patient").head(4)
    low, high = dc.Synopsis.load(folder / "rows.synopsis.parquet").count().interval(0.9999)
    assert low <= len(used) <= high
    assert low <= len(rows) <= high
    share = rows["Station"].value_counts(normalize=True) - used["Station"].value_counts(normalize=True)
    assert share.abs().max() < 0.1
    page = (folder / "report.html").read_text("utf-8")
    assert "Stays" in page
    assert "Do not publish this release" in page
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(job.replace("epsilon = 3.0", "epsilon = -3.0"))
    refused = run("run", wrong, "--check", catch=True)
    assert "epsilon" in str(refused.exception)
    assert "-3" in str(refused.exception)
