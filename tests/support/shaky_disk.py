"""A disk under SQLite that can be told to fail, and that shows what would be left after a power cut.

A layer below SQLite (a VFS) passes everything on to the true one. When a file is synced, its content is copied to a
shadow folder: the shadow is what a disk holds that forgets all that was never synced. Files in a control folder switch
faults on: ``full`` and ``readonly`` make writes fail, ``slow`` makes syncs wait, ``broken`` makes them fail.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import time
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from pathlib import Path

SQLITE_FULL, SQLITE_READONLY, SQLITE_IOERR_FSYNC = 13, 8, 1034
FILES = "collected.sqlite", "collected.sqlite-wal", "collected.sqlite-shm"
_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)


class _Vfs(Structure):
    _fields_ = [
        ("version", c_int), ("size", c_int), ("longest", c_int), ("next", c_void_p), ("name", c_char_p),
        ("data", c_void_p), ("open", c_void_p), *((f"other{i}", c_void_p) for i in range(15)),
    ]  # fmt: skip


class _Methods(Structure):
    _fields_ = [
        ("version", c_int), ("close", c_void_p), ("read", c_void_p), ("write", c_void_p), ("truncate", c_void_p),
        ("sync", c_void_p), *((f"other{i}", c_void_p) for i in range(13)),
    ]  # fmt: skip


_kept: list[object] = []  # what SQLite calls must not go away


def install(place: str, data: str) -> None:
    """Put the layer under every SQLite file that is opened from now on; ``place`` holds ``shadow`` and ``control``.

    What is in ``data`` now was left by programs that closed it well: it is on the disk.
    """
    shadow, control = Path(place) / "shadow", Path(place) / "control"
    shadow.mkdir(parents=True, exist_ok=True)
    control.mkdir(exist_ok=True)
    for name in FILES[:2]:
        (shadow / name).unlink(missing_ok=True)
        if (Path(data) / name).exists():
            shutil.copyfile(Path(data) / name, shadow / name)
    library = ctypes.CDLL("libsqlite3.so.0")
    library.sqlite3_vfs_find.restype = POINTER(_Vfs)
    below = library.sqlite3_vfs_find(None)
    layer = _Vfs.from_buffer_copy(below.contents)
    layer.name, layer.next = b"shaky", None
    open_below = _OPEN(below.contents.open)
    tables: dict[int, _Methods] = {}
    names: dict[int, Path] = {}

    def opened(_: int, name: int, file: int, flags: int, out: int) -> int:
        code = open_below(ctypes.cast(below, c_void_p), name, file, flags, out)
        methods = ctypes.cast(file, POINTER(c_void_p)).contents
        if code == 0 and methods.value and name:
            if methods.value not in tables:
                tables[methods.value] = _table(_Methods.from_address(methods.value), names, shadow, control)
            ctypes.cast(file, POINTER(c_void_p))[0] = ctypes.addressof(tables[methods.value])
            names[file] = Path(os.fsdecode(ctypes.string_at(name)))
        return int(code)

    callback = _OPEN(opened)
    layer.open = ctypes.cast(callback, c_void_p)
    _kept.extend([layer, callback, open_below, library, tables])
    if library.sqlite3_vfs_register(ctypes.byref(layer), 1):
        raise OSError("SQLite took no layer")


def _table(true: _Methods, names: dict[int, Path], shadow: Path, control: Path) -> _Methods:
    """Return the calls of an open file with two of them replaced."""
    table = _Methods.from_buffer_copy(true)
    write_below, sync_below = _WRITE(true.write), _SYNC(true.sync)

    def write(file: int, data: int, size: int, offset: int) -> int:
        if (control / "full").exists():
            return SQLITE_FULL
        if (control / "readonly").exists():
            return SQLITE_READONLY
        return int(write_below(file, data, size, offset))

    def sync(file: int, flags: int) -> int:
        if (control / "broken").exists():
            return SQLITE_IOERR_FSYNC
        if (control / "slow").exists():
            time.sleep(0.25)
        code = int(sync_below(file, flags))
        if code == 0:
            name = names[file]
            copy = shadow / f".{name.name}.part"
            shutil.copyfile(name, copy)
            copy.replace(shadow / name.name)
        return code

    calls = _WRITE(write), _SYNC(sync)
    table.write, table.sync = (ctypes.cast(call, c_void_p) for call in calls)
    _kept.extend([calls, write_below, sync_below])
    return table


def after_the_cut(place: Path, data: Path) -> None:
    """Leave in the folder of a collector what a disk holds that forgot all that was never synced."""
    for name in FILES:
        (data / name).unlink(missing_ok=True)
        if (place / "shadow" / name).exists():
            shutil.copyfile(place / "shadow" / name, data / name)
