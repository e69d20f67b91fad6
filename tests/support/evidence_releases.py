"""Releases of every kind, in folders, for programs that check them: signed or not, with pages and accounts."""

from __future__ import annotations

import csv
import random
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import output

TOWNS, ILLS, NOTES = ["Ash", "Birch", "Cedar"], ["none", "flu", "gout"], ["+tax", "plain", "Größe 😀"]
SCHEMA = """
[columns.name]
categories = ["any"]
role = "identifier"
{person}
[columns.age]
bounds = [0, 120]
kind = "integer"
role = "{quasi}"
missing = "{missing}"
[columns.pay]
bounds = [0, 100]
role = "{quasi}"
missing = "{missing}"
[columns.town]
categories = ["Ash", "Birch", "Cedar"]
role = "{quasi}"
missing = "{missing}"
[columns.ill]
categories = ["none", "flu", "gout"]
role = "{sensitive}"
missing = "{missing}"
[columns.stay]
bounds = [0, 30]
role = "{sensitive}"
missing = "{missing}"
[columns.since]
bounds = [2020-01-01, 2026-12-31]
role = "{sensitive}"
missing = "{missing}"
{note}{source}
"""


@dataclass(frozen=True)
class Base:
    """A folder with one release: the files that a reader gives to a checker."""

    folder: Path
    files: tuple[str, ...]
    page: str | None = None
    account: str | None = None


def _rows(missing: bool, persons: bool, seed: int) -> list[dict[str, str]]:
    chance = random.Random(20261117 + seed)
    rows = []
    for i in range(150):
        person = i // 3 if persons else i
        row = {
            "name": f"N-{i:03}",
            "who": str(77_000 + person),
            "age": str(20 + 7 * (person % 8) + chance.randrange(3)),
            "pay": f"{chance.uniform(5, 95):.1f}",
            "town": TOWNS[person % 3],
            "ill": chance.choice(ILLS),
            "stay": str(chance.randrange(8)),
            "since": f"20{chance.randrange(20, 24)}-0{chance.randrange(1, 9)}-11",
            "note": chance.choice(NOTES),
        }
        if missing and i % 10 == 0:
            row[("age", "town", "ill", "stay", "pay")[i // 10 % 5]] = ""
        rows.append(row)
    return rows


def _table(folder: Path, name: str, *, missing: bool = False, persons: bool = False, anonymous: bool = True,
           german: bool = False, keep: bool = False, seed: int = 0) -> tuple[Path, Path]:  # fmt: skip
    """Write a table and its schema."""
    rows = _rows(missing, persons, seed)
    data, schema = folder / f"{name}.csv", folder / f"{name}.toml"
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";" if german else ",")
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "pay": row["pay"].replace(".", ",") if german else row["pay"]})
    declared = SCHEMA.format(
        quasi="quasi-identifier" if anonymous else "attribute",
        sensitive="sensitive" if anonymous else "attribute",
        missing="own" if missing else "drop",
        person='[columns.who]\nbounds = [0, 100000]\nkind = "integer"\nrole = "person"' if persons else "",
        note=f"[columns.note]\ncategories = {NOTES}\n" if keep else "",
        source='[source]\ndelimiter = ";"\ndecimal = ","\n' if german else "",
    )
    schema.write_text(declared, encoding="utf-8")
    return data, schema


def make(folder: Path, only: Container[str] = (), seed: int = 0) -> list[Base]:
    """Release a small table in every way, each into a folder of its own, with the public keys in the folder above.

    ``only`` names some of them; ``seed`` is that of the table.
    """
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / "office.key"
    for name in ("office", "other"):
        output("key", "create", folder / f"{name}.key", "--name", "Data office", "--no-passphrase")
    (folder / "secret").write_text("a secret of many letters", encoding="utf-8")
    found = []

    def released(name: str, verb: str, table: dict[str, Any], *words: object, suffix: str = "csv", page: bool = True,
                 sign: bool = True, account: tuple[object, ...] = ()) -> None:  # fmt: skip
        place = folder / name
        if only and name not in only:
            return
        place.mkdir()
        data, schema = _table(folder, name, **{"seed": seed, **table})
        more: list[object] = ["--report", place / "page.html"] if page else []
        if sign:
            more += ["--sign", key]
        if account:
            output("account", "create", place / "a.account", "--dataset", "people", *account)
            more += ["--account", place / "a.account"]
        file = f"safe.{suffix}"
        output(*verb.split(), data, "--schema", schema, *words, "-o", place / file, *more)
        if account and sign:
            output("account", "sign", place / "a.account", "--sign", key)
        files = (file, "safe.synopsis.parquet") if verb == "synthesize" else (file,)
        found.append(Base(place, files, "page.html" if page else None, "a.account" if account else None))

    central, raw = {"anonymous": False}, {}
    again = ("-k", 4, "--history", folder / "history", "--on-conflict", "suppress")
    released("grid", "synopsis", central, "--epsilon", 1, "--columns", "age,pay", suffix="parquet",
             account=("--epsilon", 3))  # fmt: skip
    released("tree", "synopsis", {**central, "persons": True}, "--epsilon", 1, "--person-rows", 3, "--method", "tree",
             "--columns", "age,pay", suffix="parquet")  # fmt: skip
    released("privtree", "synopsis", central, "--epsilon", 1, "--method", "tree", "--partitioner", "privtree",
             "--columns", "age,pay", suffix="parquet", sign=False)  # fmt: skip
    released("rho", "synopsis", {**central, "missing": True}, "--rho", 0.1, "--delta", 1e-6, "--columns",
             "age,town", suffix="parquet", account=("--rho", "0.5", "--delta", 1e-5))  # fmt: skip
    released("synthetic", "synthesize", {**central, "missing": True}, "--epsilon", 1, "--columns", "age,town,ill",
             account=("--epsilon", 2))  # fmt: skip
    released("synthetic-rho", "synthesize", {**central, "german": True}, "--rho", 0.1, "--delta", 1e-6, "--columns",
             "age,pay,town", sign=False)  # fmt: skip
    released(
        "noisy", "perturb", central, "--epsilon", 1, "--radius", 0.1, "--category-epsilon", 1, account=("--epsilon", 1)
    )
    released("noisy-german", "perturb", {**central, "german": True}, "--epsilon", 1, "--radius", 0.1,
             "--category-epsilon", 1, "--remap", "clip", sign=False)  # fmt: skip
    released("cells", "anonymize", raw, "-k", 5, account=("--epsilon", 1))
    released("first", "anonymize", raw, *again, page=False)
    released("again", "anonymize", {"seed": seed + 1}, *again, account=("--epsilon", 1))
    released("missing", "anonymize", {"missing": True}, "-k", 4, "--l", 2)
    released("bounds", "anonymize", {"missing": True}, "-k", 4, "--bounds", sign=False)
    released("german", "anonymize", {"german": True}, "-k", 5, "--t", 0.6, "--csv-dialect", "excel-de")
    released("center", "anonymize", {"german": True}, "-k", 5, "--form", "center", sign=False)
    released("mondrian", "anonymize", raw, "-k", 5, "--method", "mondrian", "--l", 2, "--l-kind", "entropy")
    released("recursive", "anonymize", raw, "-k", 8, "--l", 2, "--l-kind", "recursive", "--c", 4, sign=False)
    released("ordered", "anonymize", raw, "-k", 5, "--t", 0.5, "--t-kind", "equal", page=False)
    released("means", "anonymize", raw, "-k", 4, "--method", "microaggregation", sign=False)
    released("general", "anonymize", {"missing": True}, "-k", 4, "--method", "generalization", "--suppress", 0.1)
    released("kept", "anonymize", {"keep": True}, "-k", 5, "--keep", "note", "--escape-formulas")
    released("hashed", "anonymize", {"persons": True}, "-k", 3, "--hash-key", folder / "secret")
    released("persons", "anonymize", {"persons": True}, "-k", 3)
    released("sampled", "anonymize", raw, "-k", 5, "--form", "sample")
    released("parquet", "anonymize", raw, "-k", 5, suffix="parquet")
    released("univariate", "anonymize", raw, "-k", 4, "--method", "microaggregation", "--columns", "age=a", "--columns",
             "pay=b", "--columns", "town=c", sign=False)  # fmt: skip
    for name in ("reports", "counts"):
        if only and name not in only:
            continue
        place = folder / name
        place.mkdir()
        data, _ = _table(folder, name, seed=seed)
        answers = [row.split(",")[4] for row in data.read_text(encoding="utf-8").splitlines()]
        data.write_text("\n".join(answers) + "\n", encoding="utf-8")
        file = place / "safe.bin"
        output("sketch", "encode", data, "--epsilon", 1, "--domain", ",".join(TOWNS), "-o", file, "--sign", key)
        if name == "counts":
            output("sketch", "aggregate", file, "-o", place / "counts.state")
            file.unlink()
            (place / "safe.bin.signature.json").unlink()
        found.append(Base(place, ("safe.bin" if name == "reports" else "counts.state",)))
    return found
