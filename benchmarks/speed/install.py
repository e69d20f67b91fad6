"""Packages and megabytes of a plain install: the wheel and what it needs, in an empty environment; and of each extra.

    python -m benchmarks.speed.install

Needs uv and a package index. Bytes of files are counted, without byte code, which Python writes later.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, distributions
from pathlib import Path

from benchmarks._bench import save, show

ROOT = Path(__file__).parents[2]
SHOWN = 8
UV = [sys.executable, "-m", "uv", "--quiet"]
#: Those for users; the others are for developers.
EXTRAS = ("plot", "excel", "stats", "sql", "readers", "sign", "collector", "studio", "spark", "spark-connect")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run([*UV, "build", "--wheel", "--out-dir", place, ROOT], check=True)
        (wheel,) = place.glob("discreet-*.whl")
        found = installed(place / "plain", f"discreet @ file://{wheel}")
        extras = {}
        for extra in EXTRAS:
            more = installed(place / extra, f"discreet[{extra}] @ file://{wheel}")
            new = [name for name in more if name not in found]
            extras[extra] = {"packages": len(new), "mb": round(sum(more.values()) - sum(found.values()), 1)}
            shutil.rmtree(place / extra)
    ranked = sorted(found.items(), key=lambda item: -item[1])[:SHOWN]
    show(
        f"{len(found)} packages, {sum(found.values()):.0f} MB", ["package", "MB"], [[n, f"{s:.0f}"] for n, s in ranked]
    )
    show("extras", ["extra", "packages", "MB"], [[n, f"{e['packages']}", f"{e['mb']:g}"] for n, e in extras.items()])
    largest = {name: round(size) for name, size in ranked}
    totals = {"packages": len(found), "mb": round(sum(found.values()))}
    save("install", {**totals, "largest_mb": largest, "extras": extras})


def installed(place: Path, wanted: str) -> dict[str, float]:
    """Install into an empty environment; return the megabytes of each package."""
    subprocess.run([*UV, "venv", "--python", sys.executable, place], check=True)
    subprocess.run([*UV, "pip", "install", "--python", place, wanted], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    return {d.metadata["Name"].lower(): megabytes(d) for d in distributions(path=[str(packages)])}


def megabytes(package: Distribution) -> float:
    """Return the size of all files of a package."""
    paths = [Path(str(file.locate())) for file in package.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
