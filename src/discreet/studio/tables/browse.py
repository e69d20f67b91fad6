"""A plain list of folders and tables, so that no path need be typed: below where the studio was started, and home."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from discreet.engines import ENDINGS
from discreet.errors import DataSourceError

_OTHERS = (".toml", ".bin")
#: Entries that are listed at most.
_MOST = 400


@dataclass(frozen=True)
class Listing:
    """The content of a folder: folders, and files that the studio can open."""

    folder: Path
    above: Path | None
    folders: tuple[Path, ...]
    files: tuple[tuple[Path, int], ...]
    more: bool


def listing(folder: str | Path, roots: Iterable[Path]) -> Listing:
    """List a folder below one of the roots; links are followed, and may not lead out of them."""
    try:
        place = Path(folder).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        raise DataSourceError(f"folder: cannot list {str(folder)[:200]!r} (no such folder); check the path") from None
    allowed = [root.resolve() for root in roots]
    if not any(place.is_relative_to(root) for root in allowed):
        raise DataSourceError(
            f"folder: {str(folder)!r} is not below a folder that may be listed; type the path of the table"
        )
    folders, files = [], []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.name.startswith((".", "~$")) or entry.name.encode("utf-8", "replace").decode() != entry.name:
                    continue  # what is hidden, and a name that no page can say
                target = Path(entry.path).resolve()
                if not any(target.is_relative_to(root) for root in allowed):
                    continue
                if entry.is_dir():
                    folders.append(place / entry.name)
                elif entry.is_file() and entry.name.lower().endswith((*ENDINGS, *_OTHERS)):
                    files.append((place / entry.name, entry.stat().st_size))
    except OSError as error:
        raise DataSourceError(f"folder: cannot list {str(folder)!r} ({error.strerror}); check the path") from None
    above = place.parent if any(place.parent.is_relative_to(root) for root in allowed) else None
    ordered = sorted(folders, key=lambda p: p.name.casefold())
    tables = sorted(files, key=lambda f: f[0].name.casefold())
    more = len(ordered) > _MOST or len(tables) > _MOST
    return Listing(place, above, tuple(ordered[:_MOST]), tuple(tables[:_MOST]), more)
