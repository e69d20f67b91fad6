"""Five stewards in a real browser, from the file they have to a release; what was written is counted again.

The tables are those of the same stories at the command line; desktop, phone, dark and German are divided among them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import discreet as dc
from row_followers import Published, Row, singled_out
from steward_tables import (
    cells,
    hospital,
    incomes,
    months,
    survey,
    write_french,
    write_survey,
    write_workbook,
)
from studio_story import Visit, again, choose, declare, evidence, open_table, release, studio

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
STAYS = {
    "Patient": {"role": "person"},
    "Alter": {"role": "quasi-identifier", "kind": "integer", "low": "0", "high": "110"},
    "PLZ": {"role": "quasi-identifier", "kind": "code", "list": "[0-9]{5}"},
    "Geschlecht": {"role": "quasi-identifier", "kind": "category", "list": "w, m"},
    "Aufnahme": {"role": "quasi-identifier", "kind": "date", "low": "2026-01-01", "high": "2026-06-30"},
    "Station": {"role": "quasi-identifier", "kind": "category",
                "list": 'Chirurgie, Innere, "Kinder, Jugend", Neurologie'},
    "ICD": {"role": "sensitive", "kind": "code", "list": "[A-Z][0-9]{2}[.][0-9]"},
}  # fmt: skip


def made_by(home: Path, visit: Visit, file: str, run: int = 1) -> Path:
    """Return a file of a run."""
    return home / visit.project / "runs" / str(run) / file


def written(visit: Visit, **chosen: str) -> None:
    """Say how the file is written."""
    visit.tab.locator("details:has(#missing) > summary").click()
    for name, value in chosen.items():
        place = visit.tab.locator(f"#{name}")
        if place.evaluate("e => e.tagName") == "SELECT":
            place.select_option(value)
        else:
            place.fill(value)
    visit.tab.locator("form:has(#missing) button:not([type=button])").click()
    visit.wait("h1")


def test_a_german_workbook_with_persons(chromium, axe, pictures, tmp_path):
    stays, home = hospital(), tmp_path / "studio"
    book = write_workbook(tmp_path / "Aufenthalte.xlsx", stays)
    with studio(home) as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures, locale="de-DE")
        open_table(visit, book)
        visit.tab.locator("#sheet").select_option("Aufenthalte")
        visit.fill(skip="1")
        visit.tab.locator("form:has(#sheet) button:not([type=button])").first.click()
        visit.wait("details:has(#missing)")
        written(visit, decimal=",", thousands=".")
        visit.check("german-data")
        kinds = {**STAYS, "Entlassung": {"role": "unused"}, "Bemerkung": {"role": "unused"},
                 "Bemerkung_2": {"role": "unused"},
                 "Kosten": {"role": "sensitive", "kind": "number", "low": "0", "high": "60000"}}  # fmt: skip
        declare(visit, kinds, unit="person", rows="4")
        visit.check("german-columns")
        choose(visit, "anonymize", k="5", l="2", about_rows=str(len(stays)))
        visit.tab.locator("[name=form][value=xlsx]").check()
        release(visit, "german")
        sheet = openpyxl.load_workbook(made_by(home, visit, "release.xlsx")).active
        lines = [[cell.value for cell in line] for line in sheet.iter_rows()]
        made = pd.DataFrame(lines[1:], columns=lines[0])
        quasi = ["Alter", "PLZ", "Geschlecht", "Aufnahme", "Station"]
        blank = made["Kosten"].isna()
        assert (len(made), blank.sum()) == (len(stays), 1)  # the remark in a column of numbers is not released
        printed = cells(made[~blank], stays, quasi)
        printed[printed.index(None)] = tuple(made.loc[blank, quasi].iloc[0])
        groups = stays.groupby(pd.Series(map(str, printed)))
        promise = json.loads(made_by(home, visit, "release.xlsx.guarantee.json").read_text())["parameters"]
        assert groups["Patient"].nunique().min() == promise["reached"]["k"] >= 5
        assert groups["ICD"].nunique().min() >= 2
        evidence(visit, "german")
        visit.close()


def test_a_french_file_on_a_phone(chromium, axe, pictures, tmp_path):
    people, home = incomes(), tmp_path / "studio"
    table = write_french(tmp_path / "revenus.csv", people)
    with studio(home) as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures, color_scheme="dark", **PHONE)
        open_table(visit, table)
        written(visit, decimal=",", thousands=" ", dates="%d/%m/%Y", missing="n.c.", encoding="windows-1252")
        visit.check("french-data")
        declare(
            visit,
            {
                "code_postal": {"kind": "code", "list": "[0-9]{5}"},
                "né_le": {"kind": "date", "low": "1930-01-01", "high": "2008-12-31"},
                "métier": {"kind": "category", "list": "cadre, employé, ouvrier, retraité"},
                "revenu": {"kind": "number", "low": "0", "high": "200000", "missing": "own"},
            },
        )
        visit.check("french-columns")
        choose(visit, "synthesize", epsilon="3", about_rows="4000")
        visit.go(f"/p/{visit.project}/plan")
        visit.check("french-plan")
        visit.go(f"/p/{visit.project}/account")
        visit.fill(epsilon="4")
        visit.tab.locator('form[action$="/create"] button:not([type=button])').last.click()
        visit.wait("#budget")
        visit.go(f"/p/{visit.project}/release")
        release(visit, "french")
        visit.go(f"/p/{visit.project}/account")
        visit.check("french-account")
        assert "ε 3" in visit.tab.locator("#entry-1").inner_text() or "3" in visit.tab.locator("#entry-1").inner_text()
        rows = pd.read_csv(made_by(home, visit, "synthetic.csv"), sep=";", decimal=",", encoding="windows-1252",
                           dtype={"code_postal": str})  # fmt: skip
        assert len(rows) == pytest.approx(len(people), rel=0.06)  # five standard deviations of the noise
        assert rows["code_postal"].str.fullmatch("[0-9]{5}").all()
        for true, found in (
            (people["code_postal"].str[:2], rows["code_postal"].str[:2]),
            (people["né_le"].dt.year // 10, pd.to_datetime(rows["né_le"]).dt.year // 10),
            (people["revenu"].isna(), rows["revenu"].isna()),
        ):
            off = true.value_counts(normalize=True).sub(found.value_counts(normalize=True), fill_value=0)
            assert off.abs().max() < 0.06
        by_work = people.groupby("métier")["revenu"].mean()
        assert (rows.groupby("métier")["revenu"].mean() / by_work - 1).abs().max() < 0.3
        visit.close()


def test_a_survey_of_households_with_weights(chromium, axe, pictures, tmp_path):
    pytest.importorskip("pyreadstat")
    table, home = survey(), tmp_path / "studio"
    data = write_survey(tmp_path / "survey.sav", table)
    with studio(home) as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures)
        open_table(visit, data)
        declare(
            visit,
            {
                "hh": {"role": "person"},
                "sex": {"kind": "category", "list": "f, m"},
                "age": {"role": "unused"},
                "region": {"kind": "category", "list": "north, middle, south"},
                "wgt": {"role": "weight", "kind": "number", "low": "0", "high": "400"},
            },
            unit="household", rows="3",
        )  # fmt: skip
        visit.check("survey-columns")
        choose(visit, "synopsis", epsilon="2", about_rows=str(len(table)))
        visit.go(f"/p/{visit.project}/plan")
        visit.check("survey-plan")
        visit.go(f"/p/{visit.project}/release")
        release(visit, "survey")
        assert visit.tab.locator(".box.bad").count() == 0  # 2,724 rows stand for 212,679 people: nothing is wrong
        found = dc.Synopsis.load(made_by(home, visit, "synopsis.parquet"))
        assert "household" in found.guarantee.unit
        truth = table.groupby("region")["wgt"].sum()
        for code, name in enumerate(["north", "middle", "south"], 1):
            low, high = found.count(region=name).interval(0.9999)
            assert low <= truth[code] <= high
        evidence(visit, "survey")
        assert "household" in visit.tab.locator(".to-sign").inner_text()
        visit.close()


def test_six_monthly_files(chromium, axe, pictures, tmp_path):
    tables, home, seen = months(), tmp_path / "studio", []
    quasi = ["Alter", "PLZ", "Geschlecht", "Aufnahme", "Station"]
    with studio(home) as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures, color_scheme="dark")
        for month, stays in enumerate(tables, 1):
            data = tmp_path / f"2026-{month:02}.csv"
            stays.to_csv(data, index=False)
            open_table(visit, data)
            if month == 1:
                kinds = {**STAYS, "Kosten": {"role": "sensitive", "kind": "number", "low": "0", "high": "10000000"}}
                declare(visit, kinds, unit="person", rows="4")
                choose(visit, "anonymize", k="5", max_depth="5", about_rows="300")
            else:
                assert "2026-0" in visit.tab.locator("#dataset").inner_text()
                visit.tab.locator("#dataset button:not([type=button])").click()
                visit.wait("#dataset details:not([open])")
                visit.check(f"month-{month}-data" if month == 2 else "")
                visit.go(f"/p/{visit.project}/release")
            release(visit, f"month-{month}" if month in (2, 6) else "")
            others = visit.tab.get_by_role("link", name=re.compile(r"^2026-0\d\.csv$"))
            assert [other.inner_text() for other in others.all()] == [f"2026-{m:02}.csv" for m in range(1, month)]
            released = pd.read_csv(made_by(home, visit, "release.csv"), dtype={"PLZ": str})
            promise = json.loads(made_by(home, visit, "release.csv.guarantee.json").read_text())["parameters"]
            assert promise.get("earlier_releases", 0) == month - 1
            printed = cells(released, stays, quasi)
            out = printed.count(None)
            assert len(released) == promise["rows"] == len(stays) - out
            if month > 1:
                assert promise["left_out_published_before"] + promise["left_out_never_published"] == out
            rows = [Row(r.Patient, tuple(getattr(r, q) for q in quasi), (r.ICD, r.Kosten)) for r in stays.itertuples()]
            seen.append(Published(tuple(rows), tuple(printed), 5))
        evidence(visit, "month")
        visit.close()
    assert not list(singled_out(seen))


def test_a_colleagues_job_file(chromium, axe, pictures, tmp_path):
    stays, home = hospital(), tmp_path / "studio"
    stays.to_csv(tmp_path / "stays.csv", index=False)
    job = tmp_path / "job.toml"
    job.write_text(
        f"""
[job]
kind = "synthesize"
[data]
path = "{tmp_path / "stays.csv"}"
[schema.unit]
person = "Patient"
rows = 4
[schema.columns]
Patient = {{role = "person"}}
Alter = {{kind = "integer", bounds = [0, 110]}}
Station = {{categories = ["Chirurgie", "Innere", "Kinder, Jugend", "Neurologie"]}}
Aufnahme = {{bounds = [2026-01-01, 2026-06-30]}}
[parameters]
epsilon = 3.0
seed = 7
[outputs]
table = "rows.csv"
release = "rows.synopsis.parquet"
"""
    )
    dc.Job.from_toml(job).run()
    truth = dc.Synopsis.load(tmp_path / "rows.synopsis.parquet").digest
    with studio(home, str(job)) as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures, **PHONE)
        visit.wait("h1")
        visit.check("job-data")
        assert "stays.csv" in visit.tab.locator("h1").inner_text()
        visit.go(f"/p/{visit.project}/columns")
        visit.check("job-columns")
        assert visit.tab.locator('[name="low:Alter"]').input_value() == "0"
        visit.go(f"/p/{visit.project}/plan")
        visit.check("job-plan")
        assert visit.tab.locator("#epsilon").input_value() == "3"
        visit.go(f"/p/{visit.project}/release")
        release(visit, "job")
        assert dc.Synopsis.load(made_by(home, visit, "synthetic.synopsis.parquet")).digest == truth
        assert again(visit, tmp_path / "again", "release") == truth
        visit.close()
