"""Files of public tables: from the data folder, else from the cache, else downloaded into the cache.

The data folder is named by ``DISCREET_DATA``, or it is ``shared/data`` in or above the working directory. A download is
compared with the copy that the studies used (``record.json``: SHA-256 of the values), or with the first download if its
source was never compared. A file that differs is not kept, and no partial download stays behind. Downloads and their
unpacked size are bounded, so a server cannot fill the disk or the memory.

If ``DISCREET_OFFLINE`` is set, no connection is opened. Errors say what to fetch by hand and where to put it.
"""

import contextlib
import hashlib
import http.client
import json
import logging
import os
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from discreet._version import __version__
from discreet.core import NewFile, cache_folder, write_whole
from discreet.datasets.forms import MOST_BYTES, content_digest, openml_table, packed, table_of, unpacked
from discreet.datasets.origins import ORIGINS, Origin
from discreet.errors import DataSourceError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LOG = logging.getLogger("discreet.datasets")
#: Seconds without a byte before a download is given up.
PATIENCE = 60.0
_BLOCK = 2**16
Progress = Callable[[int, int | None], None]


def data_folder() -> Path | None:
    """Return the data folder, if there is one."""
    named, here = os.path.expanduser(os.environ.get("DISCREET_DATA", "")), Path.cwd()
    candidates = [Path(named)] if named else [parent / "shared" / "data" for parent in (here, *here.parents)]
    return next((c for c in candidates if c.is_dir()), None)


def _cache() -> Path:
    return cache_folder() / "data"


def found_at(file: str) -> Path | None:
    """Return the path of a file in the data folder or in the cache; None if it is in neither."""
    folders = [data_folder()]
    with contextlib.suppress(DataSourceError):  # a user without a home has no cache
        folders.append(_cache())
    return next((folder / file for folder in folders if folder is not None and (folder / file).is_file()), None)


def is_here(file: str) -> bool:
    """Return whether a file can be read without a network."""
    return found_at(file) is not None


def place(file: str, name: str, progress: Progress | None = None) -> Path:
    """Return the path of a file of a set, after downloading it if needed."""
    return found_at(file) or _fetched(file, name, progress)


@cache
def record() -> dict[str, dict[str, Any]]:
    """Return columns, rows and SHA-256 of the copies that the studies used, by file."""
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("record.json").read_text(encoding="utf-8"))
    return found


def described(path: Path) -> dict[str, Any]:
    """Return columns, rows and SHA-256 of a table, or only the SHA-256 of the unpacked file."""
    if not path.name.endswith(".csv.gz"):
        return {"sha256": hashlib.sha256(unpacked(path.read_bytes())).hexdigest()}
    table = read_text_table(path)
    return {"columns": ",".join(table.column_names), "rows": table.num_rows, "sha256": content_digest(table)}


def read_text_table(path: Path) -> pa.Table:
    """Read a compressed CSV file with a header; all cells stay text."""
    names = csv.open_csv(path).schema.names
    as_text = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    return csv.read_csv(path, convert_options=as_text)


def by_hand(file: str) -> list[tuple[str, Path]]:
    """Return addresses to fetch by hand, and where to put the files."""
    origin, folder = ORIGINS[file], _cache() / "by-hand" / Path(file).parent
    if origin.form == "openml":
        return [(f"the ARFF file of {origin.addresses[0]}", folder / f"{Path(file).name.partition('.')[0]}.arff")]
    return [(address, folder / address.rpartition("/")[2]) for address in origin.addresses]


def _fetched(file: str, name: str, progress: Progress | None) -> Path:
    if file not in ORIGINS:
        raise DataSourceError(f"{name}: no file {file!r}; set DISCREET_DATA to the folder that holds it")
    origin, target = ORIGINS[file], _cache() / file
    wanted, own = by_hand(file), all(path.is_file() for _, path in by_hand(file))
    if not own and os.environ.get("DISCREET_OFFLINE"):
        raise _missing(file, name, "DISCREET_OFFLINE forbids downloading it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if own:
            payload = _payload(origin, [path.read_bytes() for _, path in wanted], file)
        elif origin.form == "openml":
            payload = packed(openml_table(origin, columns_on_record(file)))
        else:
            payload = _payload(
                origin, [download(address, target.parent, progress) for address in origin.addresses], file
            )
        # scikit-learn checks downloads from OpenML; other downloads may be cut short unnoticed.
        _keep(file, name, payload, origin, sure=origin.form == "openml" and not own)
    except DataSourceError:
        raise
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise _missing(file, name, f"it could not be fetched ({_reason(error)})") from None
    except (ValueError, pa.ArrowException, EOFError, zlib.error) as error:
        what = ", ".join(address for address, _ in wanted)
        raise DataSourceError(f"{name}: {what} is not what it was ({error}); nothing was kept") from None
    _LOG.warning(
        "%s: %s into %s, once. Source: %s. Licence: %s.",
        name, "taken from files put there by hand" if own else f"fetched from {origin.addresses[0]}", target,
        origin.source, origin.licence,
    )  # fmt: skip
    return target


def columns_on_record(file: str) -> list[str]:
    """Return the columns of the copy on record; none if it is not a table."""
    found = str(record().get(file, {}).get("columns", ""))
    return found.split(",") if found else []


def _payload(origin: Origin, raws: list[bytes], file: str) -> bytes:
    if origin.form == "bytes":
        unpacked(raws[0])  # refuses an incomplete file
        return raws[0]
    # A file of OpenML fetched by hand is ARFF, with the class as its last column.
    return packed(table_of(replace(origin, form="arff") if origin.openml else origin, raws, columns_on_record(file)))


def _keep(file: str, name: str, payload: bytes, origin: Origin, *, sure: bool) -> None:
    """Put a checked file into the cache atomically, and note its digest if none is on record.

    A file without a record that is not ``sure`` to be complete must have at least half as many rows as the copy that
    the studies used.
    """
    target, memory = _cache() / file, _cache() / "first-downloads.json"
    with NewFile(target) as out:
        out.file.write(payload)
        out.file.flush()
        assert out.temporary is not None
        facts = described(out.temporary)
        found = facts["sha256"]
        if not origin.unseen:
            _compare(file, name, found, record()[file]["sha256"], "the copy on record")
        with _alone(_cache()):
            if origin.unseen:
                seen, rows = _remembered(memory), record()[file].get("rows", 0)
                if file not in seen and not sure and 2 * facts.get("rows", 0) < rows:
                    raise ValueError(f"{facts['rows']:,} rows where {rows:,} were expected")
                _compare(file, name, found, seen.get(file, found), f"the first download, noted in {str(memory)!r}")
                write_whole(memory, json.dumps({**seen, file: found}, indent=1) + "\n")
            out.keep()


def _compare(file: str, name: str, found: str, known: str, whose: str) -> None:
    if found != known:
        raise DataSourceError(
            f"{name}: what was fetched for {file!r} differs from {whose} (SHA-256 {found[:16]}…, not {known[:16]}…); "
            "nothing was kept"
        )


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the cache against other processes, if the system can: two notes at once would lose one."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # releases the lock


def _remembered(memory: Path) -> dict[str, str]:
    """Return the digests of first downloads."""
    if not memory.is_file():
        return {}
    try:
        found = json.loads(memory.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise DataSourceError(
            f"first downloads: {str(memory)!r} is damaged; delete it, and the next downloads are trusted"
        )
    return found


def download(address: str, folder: Path, progress: Progress | None = None) -> bytes:
    """Return the complete content of an address; no file is left in the folder."""
    asked = urllib.request.Request(address, headers={"User-Agent": f"discreet/{__version__}"})
    with tempfile.TemporaryFile(dir=folder) as kept, urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        length = answer.headers.get("Content-Length")
        total = int(length) if length else None
        while block := answer.read(_BLOCK):
            kept.write(block)
            if kept.tell() > MOST_BYTES:
                raise ConnectionError(f"it does not end after {MOST_BYTES:,} bytes")
            if progress is not None:
                progress(kept.tell(), total)
        if total is not None and kept.tell() != total:
            raise ConnectionError(f"it stopped after {kept.tell():,} of {total:,} bytes")
        kept.seek(0)
        return kept.read()


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.url} answered {error.code} {error.reason}"
    return str(getattr(error, "reason", None) or error or type(error).__name__)


def _missing(file: str, name: str, why: str) -> DataSourceError:
    steps = "; ".join(f"fetch {what} and put it at {str(path)!r}" for what, path in by_hand(file))
    return DataSourceError(
        f"{name}: {file!r} is neither in a data folder nor in the cache, and {why}. By hand: {steps}. Or set "
        "DISCREET_DATA to a folder that holds it"
    )
