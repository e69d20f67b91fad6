"""Packages and megabytes of a plain install: the wheel and what it needs, in an empty environment.

    python -m benchmarks.speed.install

Needs uv and a package index. Bytes of files are counted, without byte code, which Python writes later.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, distributions
from pathlib import Path

from benchmarks._bench import save, show

ROOT = Path(__file__).parents[2]
SHOWN = 8


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        uv, place = [sys.executable, "-m", "uv", "--quiet"], Path(folder)
        subprocess.run([*uv, "build", "--wheel", "--out-dir", place, ROOT], check=True)
        subprocess.run([*uv, "venv", "--python", sys.executable, place / "venv"], check=True)
        (wheel,) = place.glob("discreet-*.whl")
        subprocess.run([*uv, "pip", "install", "--python", place / "venv", wheel], check=True)
        (packages,) = (place / "venv").glob("lib/python*/site-packages")
        found = {d.metadata["Name"].lower(): megabytes(d) for d in distributions(path=[str(packages)])}
    ranked = sorted(found.items(), key=lambda item: -item[1])[:SHOWN]
    show(
        f"{len(found)} packages, {sum(found.values()):.0f} MB", ["package", "MB"], [[n, f"{s:.0f}"] for n, s in ranked]
    )
    largest = {name: round(size) for name, size in ranked}
    save("install", {"packages": len(found), "mb": round(sum(found.values())), "largest_mb": largest})


def megabytes(package: Distribution) -> float:
    """Return the size of all files of a package."""
    paths = [Path(str(file.locate())) for file in package.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
