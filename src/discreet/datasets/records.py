"""Tables of people with numbers, categories and roles: a synthetic one, and UCI Adult."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.core import Domain, checks
from discreet.datasets.loaders import read_file

_TOWNS = ("Ash", "Birch", "Cedar", "Elm", "Oak", "Pine")
_JOBS = ("clerk", "cook", "driver", "engineer", "farmer", "nurse", "smith", "teacher")
_ILLS = ("none", "asthma", "diabetes", "flu", "migraine")


@dataclass(frozen=True)
class Records:
    """An Arrow table of people, and its domain: bounds or categories, and roles.

    Examples
    --------
    >>> people(100)
    <Records people: 100 rows, columns name, age, town, job, hours, illness>
    """

    name: str
    table: pa.Table
    domain: Domain

    def __repr__(self) -> str:
        return f"<Records {self.name}: {self.table.num_rows} rows, columns {', '.join(self.table.column_names)}>"


def people(n: int = 1000, *, seed: int = 0) -> Records:
    """Generate people: name, age, town, job, weekly hours, illness. Illness depends on age, hours on the job.

    Examples
    --------
    >>> people(3).table.to_pydict()["job"]
    ['teacher', 'smith', 'clerk']
    >>> people(3).domain.column("illness").role
    'sensitive'
    """
    rows, rng = checks.whole("n", n, low=1), np.random.default_rng(checks.whole("seed", seed))
    age = np.clip(rng.gamma(6.0, 7.5, rows), 0, 105).astype(np.int64)
    town = rng.choice(len(_TOWNS), rows, p=[0.35, 0.25, 0.15, 0.12, 0.08, 0.05])
    job = rng.choice(len(_JOBS), rows, p=[0.2, 0.12, 0.14, 0.1, 0.08, 0.13, 0.05, 0.18])
    hours = np.clip(np.round(rng.normal(36 + 2 * (job % 4), 6)), 0, 80).astype(np.int64)
    odds = np.stack(
        [np.full(rows, 6.0), 1 + (age < 30), 0.2 + age / 30, np.full(rows, 1.2), 0.5 + (hours > 42)], axis=1
    )
    illness = (np.cumsum(odds, axis=1) < (rng.random(rows) * odds.sum(axis=1))[:, None]).sum(axis=1)
    table = pa.table({
        "name": [f"person {i}" for i in range(rows)], "age": age, "town": [_TOWNS[i] for i in town],
        "job": [_JOBS[i] for i in job], "hours": hours, "illness": [_ILLS[i] for i in illness],
    })  # fmt: skip
    domain = Domain({
        "name": {"categories": ["any"], "role": "identifier"},
        "age": {"bounds": [0, 120], "role": "quasi-identifier"},
        "town": {"categories": list(_TOWNS), "role": "quasi-identifier"},
        "job": {"categories": list(_JOBS), "role": "quasi-identifier"},
        "hours": {"bounds": [0, 80], "role": "quasi-identifier"},
        "illness": {"categories": list(_ILLS), "role": "sensitive"},
    })  # fmt: skip
    return Records("people", table, domain)


def adult() -> Records:
    """Return UCI Adult's 30,162 complete rows with nine columns, as ARX's experiments use them; salary is sensitive.

    Raises
    ------
    DataSourceError
        If it cannot be downloaded; see `load`.

    Examples
    --------
    >>> adult().domain.column("age").role  # doctest: +SKIP
    'quasi-identifier'
    """
    raw = read_file("arx-adult/adult.csv.gz", "adult")
    columns: dict[str, object] = {}
    for name in raw.column_names:
        if name == "age":
            columns[name] = {"bounds": [0, 120], "role": "quasi-identifier"}
        else:
            # The file is public, so its own values may serve as the declared ones.
            role = "sensitive" if name.startswith("salary") else "quasi-identifier"
            columns[name] = {"categories": sorted(set(raw[name].to_pylist())), "role": role}
    ages = raw["age"].cast(pa.int64())
    table = raw.set_column(raw.column_names.index("age"), "age", ages)
    return Records("adult", table, Domain(columns))
