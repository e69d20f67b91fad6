"""Synthetic files for the tutorials, as untidy as real ones."""

import re
from collections.abc import Callable
from importlib.resources import files

import numpy as np

from discreet.core import checks

_WARDS = ("Chirurgie", "Innere", "Kinder", "Neurologie", "Notaufnahme")
_CAUSES = ("Bruch", "Entzündung", "Grippe", "Herz", "Krebs", "Sonstiges")
_APPS = (
    "mail", "maps", "camera", "music", "chat", "bank", "weather", "news", "notes", "clock", "video", "games", "health",
    "shop", "radio", "taxi", "train", "books", "chess", "paint",
)  # fmt: skip


def practice(name: str, *, seed: int = 0) -> dict[str, bytes]:
    """Generate the files of an example table, by name, each with the quirks of real ones.

    Parameters
    ----------
    name : {"hospital", "census", "phones"}
        ``hospital``: stays of patients, several each; semicolons, decimal commas, Latin-1, days as 31.12.2025, ``n/a``.
        ``census``: 15 columns in the form of the UCI table Adult; no header, a blank after each comma, ``?``, and a
        codebook. ``phones``: one app per phone, separated by tabs, with gaps and misspelt names, and the list of apps.
    seed : int
        The same seed gives the same bytes.

    Examples
    --------
    >>> files = practice("hospital")
    >>> list(files), files["hospital.csv"].decode("latin-1").splitlines()[1]
    (['hospital.csv'], 'P1000;w;56;1,75;04.12.2025;Innere;1.942,10;Entzündung')
    """
    return PRACTICE[checks.choice("name", name, tuple(PRACTICE))](np.random.default_rng(checks.whole("seed", seed)))


def _hospital(rng: np.random.Generator) -> dict[str, bytes]:
    patients = 1500
    age, tall = np.clip(rng.gamma(9, 6.2, patients), 0, 104).astype(int), rng.normal(1.7, 0.09, patients)
    sex = rng.choice(["w", "m", "d"], patients, p=[0.51, 0.47, 0.02])
    stays = np.repeat(np.arange(patients), 1 + rng.binomial(5, 0.3, patients))
    n = len(stays)
    day = np.datetime64("2025-01-01") + rng.integers(0, 365, n)
    ward = rng.choice(_WARDS, n, p=[0.28, 0.33, 0.09, 0.12, 0.18])
    cost = np.exp(rng.normal(7.6 + age[stays] / 120, 0.5, n))
    cause = np.where(age[stays] + rng.normal(0, 15, n) > 65, rng.choice(_CAUSES[3:], n), rng.choice(_CAUSES[:4], n))
    lines = ["Patientennummer;Geschlecht;Alter;Größe;Aufnahme;Station;Kosten;Diagnose"]
    for i, p in enumerate(stays):
        year, month, date = str(day[i]).split("-")
        money = f"{cost[i]:,.2f}".translate(str.maketrans(",.", ".,"))
        size = f"{tall[p]:.2f}".replace(".", ",")
        cells = [f"P{1000 + p}", sex[p], str(age[p]), size, f"{date}.{month}.{year}", ward[i], money, cause[i]]
        if rng.random() < 0.04:
            cells[rng.integers(3, 8)] = "n/a"
        lines.append(";".join(cells))
    order = rng.permutation(n) + 1
    text = "\r\n".join([lines[0], lines[1], *(lines[i] for i in order if i != 1)]) + "\r\n"
    return {"hospital.csv": text.encode("latin-1")}


def _census(rng: np.random.Generator) -> dict[str, bytes]:
    n, codebook = 3000, files("discreet.datasets").joinpath("census.names").read_bytes()
    listed = {m[1]: m[2].split(", ") for m in re.finditer(r"^([\w-]+): (.+)\.$", codebook.decode(), re.M)}
    columns: dict[str, list[str]] = {}
    age = np.clip(rng.gamma(9, 4.4, n), 17, 90).astype(int)
    school = rng.integers(1, 17, n)
    gain = np.where(rng.random(n) < 0.08, rng.integers(114, 99999, n), 0)
    rich = rng.random(n) < 1 / (1 + np.exp(-(0.04 * age + 0.35 * school - 6)))
    numbers = {
        "age": age, "fnlwgt": rng.integers(12285, 1484705, n), "education-num": school, "capital-gain": gain,
        "capital-loss": np.where((gain == 0) & (rng.random(n) < 0.05), rng.integers(155, 4356, n), 0),
        "hours-per-week": np.clip(rng.normal(40, 12, n).round(), 1, 99).astype(int),
    }  # fmt: skip
    for name, values in listed.items():
        if name in numbers:
            columns[name] = [str(v) for v in numbers[name]]
            continue
        shares = 1.0 / np.arange(1, len(values) + 1) ** 1.6
        drawn = rng.choice(values, n, p=shares / shares.sum())
        if name in ("workclass", "occupation", "native-country"):
            drawn = np.where(rng.random(n) < 0.05, "?", drawn)
        columns[name] = [str(v) for v in drawn]
    columns["class"] = np.where(rich, ">50K", "<=50K").tolist()
    rows = "\n".join(", ".join(row) for row in zip(*columns.values(), strict=True))
    return {"census.data": f"{rows}\n\n".encode(), "census.names": codebook}


def _phones(rng: np.random.Generator) -> dict[str, bytes]:
    n = 20_000
    shares = 1.0 / np.arange(1, len(_APPS) + 1)
    app = rng.choice(_APPS, n, p=shares / shares.sum()).astype(object)
    odd = rng.random(n)
    app[odd < 0.02], app[odd > 0.99] = "", "Mial"
    minutes = rng.gamma(2.0, 20.0, n).round(1)
    rows = "".join(f"{i:06x}\t{a}\t{m}\n" for i, (a, m) in enumerate(zip(app, minutes, strict=True)))
    return {"phones.tsv": f"device\tapp\tminutes\n{rows}".encode(), "apps.txt": ("\n".join(_APPS) + "\n").encode()}


#: The tables by name.
PRACTICE: dict[str, Callable[[np.random.Generator], dict[str, bytes]]] = {
    "hospital": _hospital,
    "census": _census,
    "phones": _phones,
}
