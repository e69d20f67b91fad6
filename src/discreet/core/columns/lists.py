"""Categories too many to write into a schema: read from a public list, one to a line, and known by its digest."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from discreet.errors import DataSourceError, InvalidType, SchemaError


def categories_from(path: str | Path) -> dict[str, Any]:
    """Declare a column by a public list of categories: a UTF-8 text file with one category per line.

    Blank lines and lines that begin with ``#`` are skipped. Values outside the list are missing. Never make the list
    from the table itself. Schema files name it relative to their folder (``categories_file``). The result is a
    declaration for `Domain`; a ``role`` may be added.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dc
    >>> place = Path(tempfile.mkdtemp(), "codes.txt")
    >>> _ = place.write_text("# chapters\\nA00\\nB20\\n")
    >>> dc.Domain({"code": dc.categories_from(place)}).column("code").categories
    ('A00', 'B20')
    """
    if not isinstance(path, (str, Path)):
        raise InvalidType("path", type(path).__name__, "the path of a text file", '"codes.txt"')
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or "no such file"
        raise DataSourceError(f"categories_file: cannot read {str(path)!r} ({why}); check the path") from None
    found = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return {"categories": found, "categories_file": str(path), "categories_digest": digest(found)}


def digest(categories: Iterable[str]) -> str:
    """Return the SHA-256 of a list, one to a line."""
    return hashlib.sha256("".join(f"{c}\n" for c in categories).encode("utf-8", "surrogatepass")).hexdigest()


def beside(columns: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Read the lists that the columns of a schema file name, from its folder."""
    read = dict(columns)
    for name, declared in columns.items():
        if not isinstance(declared, Mapping) or "categories" in declared:
            continue
        if isinstance(declared.get("categories_file"), str):
            found = categories_from(folder / declared["categories_file"])
            read[name] = {"categories": found["categories"], **declared}
    return read


def short(column: Any, folder: Path | None) -> dict[str, Any]:
    """Return a column as a schema file declares it: by its list file, unless that is missing or has changed."""
    told: dict[str, Any] = column.to_dict()
    if "categories_file" not in told:
        return told
    named = Path(column.listed)
    if folder is None:
        del told["categories"]
        return {**told, "categories_file": column.listed}
    for name in (column.listed, *(() if named.is_absolute() else (os.path.relpath(named, folder),))):
        try:
            held = categories_from(folder / name)["categories_digest"]
        except DataSourceError:
            continue
        if held == told["categories_digest"]:
            del told["categories"]
            return {**told, "categories_file": Path(name).as_posix()}
    return told


def filled(name: str, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return a declaration whose list is there and is the one that was meant."""
    held = dict(declared)
    if "categories_file" in held and "categories" not in held:
        held = {**categories_from(held["categories_file"]), **held}
    wanted = held.pop("categories_digest", None)
    if wanted is not None and wanted != digest(map(_text, held.get("categories", ()))):
        raise SchemaError(
            f"the list of column {name!r} ({held.get('categories_file', 'categories')}) is not the declared one: "
            "its digest differs; take the file back as it was, or leave out categories_digest"
        )
    return held


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
