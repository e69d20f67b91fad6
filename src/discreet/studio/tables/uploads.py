"""Files that come through the browser: streamed into a private folder, bounded, whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from discreet.errors import DataSourceError

#: Bytes of an upload, unless the studio was started with another bound.
LARGEST = 2 * 2**30
#: Bytes that stay free on the disk.
SPARE = 2**28
#: A folder of tables is uploaded as its files.
_MOST_FILES = 200


async def receive(request: Request, folder: Path, largest: int) -> list[Path]:
    """Write the files of a form into a folder, which is made for its owner alone."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or "boundary" not in {k.decode() for k in options}:
        raise DataSourceError("upload: no file came; choose one")
    room = shutil.disk_usage(folder.parent).free - SPARE
    _refuse_more(int(request.headers.get("content-length") or 0), largest, room)
    folder.mkdir(mode=0o700)
    taker = _Taker(folder)
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        undo.callback(taker.drop)
        await _feed(taker, options[b"boundary"], request.stream(), largest, room)
        if not taker.files:
            raise DataSourceError("upload: no file came; choose one")
        undo.pop_all()
    return taker.files


async def _feed(taker: _Taker, boundary: bytes, stream: AsyncIterator[bytes], largest: int, room: int) -> None:
    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": taker.begin, "on_header_field": taker.field, "on_header_value": taker.value,
            "on_header_end": taker.header, "on_headers_finished": taker.opened, "on_part_data": taker.data,
            "on_part_end": taker.close, "on_end": taker.end,
        },
    )  # fmt: skip
    total = 0
    try:
        async for chunk in stream:
            total += len(chunk)
            _refuse_more(total, largest, room)
            parser.write(chunk)
        if not taker.whole:
            raise DataSourceError("upload: it was cut off; send it again")
    except MultipartParseError:
        raise DataSourceError("upload: it is not a form; send it again") from None
    except DataSourceError:  # which is one of those below
        raise
    except OSError as error:
        raise DataSourceError(f"upload: it cannot be kept ({error.strerror}); open the file by its path") from None


def _refuse_more(size: int, largest: int, room: int) -> None:
    if size > largest:
        raise DataSourceError(
            f"upload: at most {largest / 2**30:.3g} GiB are taken through the browser; open the file by its path, "
            "which copies nothing"
        )
    if size > room:
        raise DataSourceError("upload: there is too little room on the disk; open the file by its path")


class _Taker:
    """Takes the parts of a form one after the other, and writes those that are files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: list[Path] = []
        self.whole = False
        self._file: IO[bytes] | None = None
        self._headers: dict[bytes, bytes] = {}
        self._name = self._text = b""

    def begin(self) -> None:
        self._headers = {}
        self._name = self._text = b""

    def field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def value(self, data: bytes, start: int, end: int) -> None:
        self._text += data[start:end]

    def header(self) -> None:
        self._headers[self._name.lower()] = self._text
        self._name = self._text = b""

    def opened(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        given = options.get(b"filename", b"")
        if not given:
            return
        place = self._folder / safe_name(given.decode("utf-8", "replace"))
        if len(self.files) >= _MOST_FILES:
            raise DataSourceError(f"upload: at most {_MOST_FILES} files are taken; open the folder by its path")
        if place in self.files:
            raise DataSourceError(f"upload: two files are called {place.name!r}; open the folder by its path")
        self._file = os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")
        self.files.append(place)

    def data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(memoryview(data)[start:end])

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def drop(self) -> None:
        with suppress(OSError):  # on a full disk closing fails as writing did
            self.close()

    def end(self) -> None:
        self.whole = True


def safe_name(given: str) -> str:
    """Return a plain file name: the last part of what the browser sent, without characters special to a shell."""
    last = re.split(r"[/\\]", given)[-1]
    plain = re.sub(r"[^\w .()+,=@-]", "_", last).strip().lstrip(".-~").strip()
    stem, dot, ending = plain.rpartition(".")
    short = stem[:100].encode()[:180].decode("utf-8", "ignore")  # systems count bytes
    return (short + dot + ending[:20].encode()[:40].decode("utf-8", "ignore")) or "table"
