"""The source of every file of the data folder, and how to convert the download: ``origins.toml``.

Addresses on GitHub name a commit, so their content stays the same. Their files were converted and compared with the
copies that the studies used, value by value. Addresses marked `unseen` could not be reached for this comparison, so the
first download is trusted (`discreet.datasets.fetching`).
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Origin:
    """Owner, licence and addresses of a file, and the format of the download."""

    source: str
    licence: str
    #: If there are several, their columns are put side by side. For OpenML: the page of the set.
    addresses: tuple[str, ...]
    #: "fields" (lines of fields), "arff" (after ``@data``), "clicks" (a line per session), "bytes" (as is), "openml".
    form: str = "fields"
    #: Between fields; a blank stands for any number of blanks.
    delimiter: str = ","
    #: Lines before the first row.
    skip: int = 0
    #: The fields to keep; all if empty.
    keep: tuple[int, ...] = ()
    #: Lines differ after the last field to keep.
    ragged: bool = False
    #: Add a first column with the row's number.
    numbered: bool = False
    #: Add a last column with the number of the block of so many rows.
    blocks: int = 0
    #: Leave out rows with missing values.
    complete: bool = False
    #: The number of the set on OpenML.
    openml: int = 0
    #: No one has compared the download with the copies that the studies used.
    unseen: bool = False


def _origins() -> Iterator[tuple[str, Origin]]:
    """Read all files; a table with ``names`` is about several."""
    held = tomllib.loads(files("discreet.datasets").joinpath("origins.toml").read_text(encoding="utf-8"))
    for file, facts in held.items():
        if number := facts.get("openml"):
            facts |= {"form": "openml", "addresses": [f"https://www.openml.org/d/{number}"], "unseen": True}
        facts = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
        names, addresses = facts.pop("names", ("",)), facts.pop("addresses")
        for name in names:
            found = tuple(address.replace("{}", name) for address in addresses)
            yield file.replace("{}", name), Origin(addresses=found, **facts)


ORIGINS = dict(_origins())
