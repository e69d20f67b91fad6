"""Compare the independent verifier with `discreet verify` on many damaged releases, and with its page in node.

python tests/verifier/agreement.py 10000 [--seed 1] [--first 0] [--bases FOLDER] [--copies 8] [--page 0] [-o RESULT]

Releases are made once, in FOLDER. Every disagreement is printed. With -o, counts are added to a result file, so that a
long run can be made in parts.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from evidence_damage import PageProgram, compare, damaged
from evidence_releases import Base, make


def releases(folder: Path, copies: int) -> list[Base]:
    """Make releases of every kind from several tables, or find those that were made before."""
    known = folder / "bases.json"
    if not known.exists():
        found = [base for seed in range(copies) for base in make(folder / str(seed), seed=seed)]
        told = [[str(b.folder), list(b.files), b.page, b.account] for b in found]
        known.write_text(json.dumps(told), encoding="utf-8")
    told = json.loads(known.read_text(encoding="utf-8"))
    return [Base(Path(place), tuple(files), page, account) for place, files, page, account in told]


def main() -> int:
    """Make releases of every kind, damage them at random, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--bases", type=Path, default=None)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--page", type=int, default=0, help="compare the page too, in every so manieth case")
    parser.add_argument("-o", "--output", type=Path, default=None)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    bases = releases(given.bases or folder, given.copies)
    program = PageProgram() if given.page else None
    codes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    unequal = crashes = pages = 0
    try:
        for i in range(given.first, given.first + given.number):
            chance = random.Random(f"{given.seed}-{i}")
            base = chance.choice(bases)
            case = damaged(base, [b for b in bases if b.folder.parent == base.folder.parent], folder / "case", chance)
            kinds.update({done.split()[0] for done in case.done} or {"none"})
            try:
                wrong, theirs, ours = compare(case)
                codes[f"{theirs['code']} {ours['code']}"] += 1
                if program is not None and i % given.page == 0:
                    pages += 1
                    wrong += program.differences(case, theirs)
            except Exception as error:
                crashes, wrong = crashes + 1, [repr(error)]
            unequal += bool(wrong)
            if wrong:
                print(f"{given.seed}-{i} {base.folder.name} {case.done} {case.keys}: {wrong}", flush=True)
    finally:
        shutil.rmtree(folder)
        if program is not None:
            program.close()
    told = {"damaged": given.number, "pages": pages, "disagreements": unequal, "crashes": crashes}
    print(f"{told}, {len(bases)} releases; codes (independent, discreet verify): {dict(sorted(codes.items()))}")
    if given.output is not None:
        known = json.loads(given.output.read_text(encoding="utf-8")) if given.output.exists() else {}
        made = {name: known.get(name, 0) + count for name, count in told.items()}
        for name, counts in (("codes", codes), ("damages", kinds)):
            made[name] = dict(sorted((counts + Counter(known.get(name, {}))).items()))
        made |= {"releases": len(bases), "seed": given.seed}
        given.output.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    return int(unequal > 0)


if __name__ == "__main__":
    sys.exit(main())
