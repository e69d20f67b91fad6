"""Compare the independent verifier with `discreet verify` on many damaged releases.

python tests/verifier/agreement.py 10000 [--seed 1] [--seconds 600]: prints every disagreement, and how many there were.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from evidence_damage import compare, damaged
from evidence_releases import make


def main() -> int:
    """Make releases of every kind, damage them at random, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    given = parser.parse_args()
    until = time.monotonic() + given.seconds
    folder = Path(tempfile.mkdtemp())
    try:
        bases = make(folder / "bases")
        codes: Counter[tuple[int, int]] = Counter()
        done = disagreements = 0
        for i in range(given.number):
            if time.monotonic() > until:
                break
            done += 1
            chance = random.Random(f"{given.seed}-{i}")
            base = chance.choice(bases)
            case = damaged(base, bases, folder / "case", chance)
            try:
                wrong, theirs, ours = compare(case)
                codes[theirs["code"], ours["code"]] += 1
            except Exception as error:
                wrong = [repr(error)]
            disagreements += bool(wrong)
            if wrong:
                print(f"{given.seed}-{i} {base.folder.name} {case.done} {case.keys}: {wrong}", flush=True)
    finally:
        shutil.rmtree(folder)
    print(f"{done} damaged copies of {len(bases)} releases, {disagreements} disagreements")
    print("verdicts (independent, discreet verify):", dict(sorted(codes.items())))
    return int(disagreements > 0)


if __name__ == "__main__":
    sys.exit(main())
