"""Tables of four stewards, as their programs write them, together with the truth that releases are checked against."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

WARDS = ["Chirurgie", "Innere", "Kinder, Jugend", "Neurologie"]
CODES = ["E11.9", "I10.0", "I21.4", "J18.9", "S72.0"]
TOWNS = ["01067", "01097", "01307", "04109", "04177", "10115"]
START = np.datetime64("2026-01-01")


def hospital(people: int = 400, seed: int = 5) -> pd.DataFrame:
    """Return stays of patients, one to four each: a stay costs about 650 euros per day, and no two cost the same."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.choice([1, 2, 3, 4], people, p=[0.6, 0.2, 0.1, 0.1]))
    n = len(who)
    days = np.minimum(rng.negative_binomial(1.6, 0.2, n), 40)
    begun = START + rng.integers(0, 150, n).astype("timedelta64[D]")
    person = {
        "Alter": np.clip(rng.gamma(9, 6, people), 0, 99).astype(int),
        "PLZ": rng.choice(TOWNS, people, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.05]),
        "Geschlecht": rng.choice(["w", "m"], people),
    }
    return pd.DataFrame(
        {
            "Patient": [f"P{i:05}" for i in who],
            **{name: values[who] for name, values in person.items()},
            "Aufnahme": begun,
            "Entlassung": begun + days.astype("timedelta64[D]"),
            "Station": rng.choice(WARDS, n, p=[0.3, 0.4, 0.1, 0.2]),
            "ICD": rng.choice(CODES, n),
            "Kosten": np.round(300 + 650 * days * rng.lognormal(0, 0.15, n)) + rng.permutation(n) / 10_000,
        }
    )


def german(number: float) -> str:
    """Write a number as a German text: 5.089,8312."""
    return f"{number:,.4f}".translate(str.maketrans(",.", ".,"))


def write_workbook(file: Path, stays: pd.DataFrame) -> Path:
    """Write a German workbook: a sheet of notes, a title above the header, half of the costs as text, remarks twice."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "Hinweise"
    book.active.append(["Stand: 30.06.2026"])
    sheet = book.create_sheet("Aufenthalte")
    sheet.append(["Aufenthalte 2026"])
    sheet.append([])
    sheet.append([*stays, "Bemerkung", "Bemerkung"])
    for i, row in enumerate(stays.itertuples(index=False)):
        cost = "Herr Müller zahlt bar" if i == 7 else german(row.Kosten) if i % 2 else row.Kosten
        dates = (row.Aufnahme.to_pydatetime(), row.Entlassung.to_pydatetime())
        sheet.append([row.Patient, row.Alter, row.PLZ, row.Geschlecht, *dates, row.Station, row.ICD, cost, "", "ok"])
    book.save(file)
    return file


def incomes(n: int = 4000, seed: int = 6) -> pd.DataFrame:
    """Return people of France: a code of the town, the day of birth, the kind of work and an income, some unknown."""
    rng = np.random.default_rng(seed)
    work = rng.choice(["cadre", "employé", "ouvrier", "retraité"], n, p=[0.2, 0.35, 0.25, 0.2])
    base = pd.Series(work).map({"cadre": 52_000, "employé": 27_000, "ouvrier": 25_000, "retraité": 21_000}).to_numpy()
    born = np.datetime64("1936-01-01") + (rng.beta(2, 2, n) * 25_000).astype(int).astype("timedelta64[D]")
    income = np.round(base * rng.lognormal(0, 0.25, n), 2)
    return pd.DataFrame(
        {
            "code_postal": rng.choice(["01000", "06000", "13001", "69003", "75011"], n, p=[0.1, 0.2, 0.2, 0.2, 0.3]),
            "né_le": born,
            "métier": work,
            "revenu": np.where(rng.random(n) < 0.05, np.nan, income),
        }
    )


def write_french(file: Path, people: pd.DataFrame) -> Path:
    """Write a French CSV: semicolons, 27 412,50, 31/12/1980, n.c. for what is not known, in Latin-1."""
    text = people.assign(
        né_le=people["né_le"].dt.strftime("%d/%m/%Y"),
        revenu=[
            "n.c." if np.isnan(x) else f"{x:,.2f}".translate(str.maketrans(",.", "\xa0,")) for x in people["revenu"]
        ],
    )
    text.to_csv(file, sep=";", index=False, encoding="latin-1", lineterminator="\r\n")
    return file


def survey(households: int = 1500, seed: int = 4) -> pd.DataFrame:
    """Return members of households, each with the number of people it stands for."""
    rng = np.random.default_rng(seed)
    hh = np.repeat(np.arange(households), rng.choice([1, 2, 3], households, p=[0.4, 0.4, 0.2]))
    n = len(hh)
    sex = rng.choice([1, 2], n)
    age = rng.integers(0, 100, n)
    wgt = np.round(np.minimum(np.exp(rng.normal(4, 0.5, n)) * np.where(sex == 2, 1.5, 1.0), 400), 3)
    return pd.DataFrame({"hh": hh, "sex": sex, "age": age, "region": rng.integers(1, 4, n), "wgt": wgt})


def write_survey(file: Path, table: pd.DataFrame) -> Path:
    """Write a survey for SPSS, with the labels of its codes."""
    import pyreadstat

    labels = {"sex": {1: "f", 2: "m"}, "region": {1: "north", 2: "middle", 3: "south"}}
    pyreadstat.write_sav(table, file, variable_value_labels=labels)
    return file


def months(n: int = 6, seed: int = 8) -> list[pd.DataFrame]:
    """Return the file of each month: some patients leave, some stays are corrected, new people and new stays come."""
    rng = np.random.default_rng(seed)
    stays = hospital(180, seed).drop(columns="Entlassung")
    made = [stays]
    for month in range(1, n):
        people = stays["Patient"].unique()
        gone = rng.choice(people, 2, replace=False)
        stays = stays[~stays["Patient"].isin(gone)].copy()
        changed = rng.choice(stays.index, 2, replace=False)
        stays.loc[changed, "ICD"] = rng.choice(CODES, 2)
        new = hospital(30, seed + month).drop(columns="Entlassung")
        new["Patient"] = f"M{month}" + new["Patient"]
        new["Kosten"] += 100_000 * month  # all costs stay different: they tell which row of a release is which stay
        again = stays.sample(10, random_state=month).assign(ICD=rng.choice(CODES, 10))
        again["Kosten"] += 1_000_000 * month
        stays = pd.concat([stays, new, again], ignore_index=True)
        made.append(stays)
    return made


def inside(printed: str, value: Any) -> bool:
    """Return whether a printed cell admits a value, read from its text alone."""
    if printed == "*":
        return True
    if found := re.fullmatch(r"([\[(])(.+), (.+)([\])])", str(printed)):
        low, high = found[2], found[3]
        at = str(value)[:10] if "-" in low else float(value)
        ends = (low, high) if "-" in low else (float(low), float(high))
        return ends[0] <= at < ends[1] or (found[4] == "]" and at == ends[1])
    if str(printed).endswith("*"):  # 010**, or a run such as 01*** to 03***
        low, high = (end.rstrip("*") for end in (printed.split(" to ") * 2)[:2])
        return low <= value[: len(low)] and value[: len(high)] <= high
    return str(value) in str(printed)


def cells(released: pd.DataFrame, truth: pd.DataFrame, quasi: list[str]) -> list[Any]:
    """Return the printed cell of each true row, None if it was left out; every cell holds the row's true values."""
    by_cost = {round(c, 4): i for i, c in enumerate(truth["Kosten"])}
    assert len(by_cost) == len(truth)
    found: list[Any] = [None] * len(truth)
    for row in released.to_dict("records"):
        at = by_cost.pop(round(row["Kosten"], 4))
        true = truth.iloc[at]
        assert row["ICD"] == true["ICD"]
        assert all(inside(row[name], true[name]) for name in quasi), (row, true)
        found[at] = tuple(row[name] for name in quasi)
    return found
