"""Saved partial sums, so that a long pass over files goes on after a crash.

What is saved are **raw counts, as sensitive as the rows**: the folder is for whoever may read the rows, files in it can
be read by their owner alone, and it is to be deleted when the release is done. Nothing of it is ever published.

A file belongs to one pass: its name is a digest of what the pass asks (the cells, the declared columns) and of the
files it reads (paths, sizes, times of change). A pass that asks anything else, or finds a file changed, does not find
it and begins anew. So a grid, or a tree whose cuts are public, goes on where it was; a tree whose cuts were bought with
noise goes on only if the same noise was drawn, that is with a seed.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core import Domain, NewFile
from discreet.engines.passes.tally import KeyedNumbers, Pass
from discreet.errors import DataSourceError, InvalidArgument

_FORM = b"discreet checkpoint 1\n"
#: Seconds between two savings.
EVERY = 10.0


class Checkpoint:
    """A folder for saved passes.

    Parameters
    ----------
    folder : str or Path
        Is made if it is not there, open to its owner alone.
    every : float, default 10
        Seconds between two savings.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     Checkpoint(Path(place) / "state").clear()
    """

    def __init__(self, folder: str | Path, every: float = EVERY) -> None:
        self.folder, self.every = Path(folder).expanduser(), every
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DataSourceError(f"checkpoint: cannot make {str(folder)!r} ({error.strerror}); check it") from None

    def of(self, job: Pass, sources: Sequence[tuple[object, ...]]) -> SavedPass:
        """Return the place of one pass."""
        digest = hashlib.sha256()
        _describe(digest, [job, sources])
        return SavedPass(self.folder / f"{digest.hexdigest()[:40]}.pass", job.width, self.every)

    def clear(self) -> None:
        """Delete what was saved; the folder too, if nothing else is in it."""
        for path in self.folder.glob("*.pass*"):
            path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()


class SavedPass:
    """The file of one pass: which units are done, and what they gave."""

    def __init__(self, path: Path, width: int, every: float) -> None:
        self.path, self.every = path, every
        self._width = width

    def load(self) -> tuple[set[int], KeyedNumbers | None]:
        """Return what is there; nothing, if there is no file."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return set(), None
        except OSError as error:
            raise DataSourceError(f"checkpoint: cannot read {str(self.path)!r} ({error.strerror})") from None
        form, mark, body = data[: len(_FORM)], data[len(_FORM) : len(_FORM) + 32], data[len(_FORM) + 32 :]
        if form != _FORM or hashlib.sha256(body).digest() != mark:
            raise DataSourceError(f"checkpoint: {str(self.path)!r} is damaged; delete it to begin anew")
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            done, keys, values = arrays["done"], arrays["keys"], arrays["values"]
        if values.shape != (self._width, len(keys)):
            raise DataSourceError(f"checkpoint: {str(self.path)!r} is damaged; delete it to begin anew")
        return set(done.tolist()), KeyedNumbers(keys, values)

    def save(self, done: set[int], total: KeyedNumbers) -> None:
        """Write the file whole or not at all, and to the disk before the old one is given up."""
        body = io.BytesIO()
        np.savez(body, done=np.array(sorted(done), np.int64), keys=total.keys, values=total.values)
        data = body.getvalue()
        try:
            with NewFile(self.path, private=True, durable=True) as out:
                out.file.write(_FORM + hashlib.sha256(data).digest() + data)
                out.keep()
        except OSError as error:
            raise DataSourceError(f"checkpoint: cannot write {str(self.path)!r} ({error.strerror})") from None


def _describe(digest: Any, thing: object) -> None:
    """Feed a public object to a digest: its kind, then what it consists of."""
    digest.update(type(thing).__name__.encode() + b"\0")
    if isinstance(thing, Domain):
        _describe(digest, json.dumps([thing.named, thing.to_dict()]))
    elif isinstance(thing, np.ndarray):
        digest.update(f"{thing.dtype.str}{thing.shape}".encode() + np.ascontiguousarray(thing).tobytes())
    elif is_dataclass(thing):
        for field in fields(thing):
            _describe(digest, getattr(thing, field.name))
    elif isinstance(thing, (list, tuple)):
        digest.update(len(thing).to_bytes(8, "little"))
        for part in thing:
            _describe(digest, part)
    elif thing is None or isinstance(thing, (str, int, float, np.integer)):
        text = repr(thing.item() if isinstance(thing, np.integer) else thing).encode()
        digest.update(len(text).to_bytes(8, "little") + text)
    else:
        raise InvalidArgument("checkpoint", type(thing).__name__, "used with the cell maps of this library", "no other")
