"""Run the fuzzers: `make fuzz SECONDS=600`, or `python tests/fuzz/run.py [TARGET ...] --seconds 600`.

Each target runs in a process of its own for so many seconds of CPU time, under libFuzzer (the package `atheris`), which
keeps mutants that reach new code in `.fuzz/`, and the slowest input; a run that was stopped takes up there. A finding
does not stop it: each is counted by where it happened, and its first input is kept in `tests/fuzz/found/`, whose files
`make test` feeds again for ever. `results.json` has the totals; the table in docs/security.md is made from it.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
RESULTS, FOUND, KEPT = HERE / "results.json", HERE / "found", HERE.parents[1] / ".fuzz"
#: Kernels are compiled by Numba, which does not read instrumented code.
_JIT = re.compile(r"^\s*@(jit|inlined|numba|overload|intrinsic|vectorize|register_jitable)", re.MULTILINE)


def where(error: BaseException) -> str:
    """Name a finding: its type, and the last place of ours that it passed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/fuzz/" not in f.filename]
    own = [f for f in frames if "/discreet/" in f.filename or "/verifier/" in f.filename] or frames[-1:]
    if not own:
        return f"{type(error).__name__} in the target itself"
    place = re.sub(r".*/(discreet|verifier)/", "", own[-1].filename)
    return f"{type(error).__name__} at {place}: {own[-1].name}"


def instrumented() -> None:
    """Import the package with libFuzzer's counters, except compiled kernels."""
    import atheris

    assert "discreet" not in sys.modules, "what is imported already is not instrumented"
    root = HERE.parents[1] / "src"
    places = {".".join(p.relative_to(root).with_suffix("").parts): p for p in (root / "discreet").rglob("*.py")}
    names = sorted(name.removesuffix(".__init__") for name in places if not name.endswith("__main__"))
    plain = [name for name, place in places.items() if _JIT.search(place.read_text(encoding="utf-8"))]
    with atheris.instrument_imports(include=["discreet"], exclude=plain), contextlib.redirect_stdout(sys.stderr):
        for name in names:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


class Fed:
    """Feeds one target, counts, and keeps findings."""

    def __init__(self, name: str, seconds: float, out: Path) -> None:
        from fuzz.targets import SECONDS, TARGETS

        self.target, self.seconds, self.out = TARGETS[name], seconds, out
        self.facts: dict[str, Any] = {"executions": 0, "cpu": 0.0, "slowest": 0.0, "findings": {}}
        if out.exists():
            self.facts = json.loads(out.read_text())
        self.limit = SECONDS
        signal.signal(signal.SIGVTALRM, self.hung)
        self.start, self.before = time.process_time(), self.facts["cpu"]

    def __call__(self, data: bytes) -> None:
        begin = time.process_time()
        self.facts["executions"] += 1
        (self.out.parent / "last").write_bytes(data)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.limit)
        try:
            self.target.feed(data)
        except Exception as error:
            self.note(where(error), data, error)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        end = time.process_time()
        if end - begin > self.facts["slowest"]:
            self.facts["slowest"] = end - begin
            (self.out.parent / "slowest").write_bytes(data)
        self.facts["cpu"] = self.before + end - self.start
        if self.facts["executions"] % 500 == 0 or self.facts["cpu"] > self.seconds:
            self.save()
        if self.facts["cpu"] > self.seconds:
            sys.stdout.flush()
            os._exit(0)

    def hung(self, *_: object) -> None:
        raise TimeoutError(f"more than {self.limit} s of CPU time")

    def note(self, kind: str, data: bytes, error: BaseException) -> None:
        """Count a finding and keep its first input."""
        first = kind not in self.facts["findings"]
        self.facts["findings"][kind] = self.facts["findings"].get(kind, 0) + 1
        if first:
            keep(self.target.name, data)
            with (self.out.parent / "traces").open("a") as out:
                traceback.print_exception(error, file=out)
            self.save()

    def save(self) -> None:
        self.facts["megabytes"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        self.out.write_text(json.dumps(self.facts))


def keep(target: str, data: bytes) -> None:
    place = FOUND / target / hashlib.sha256(data).hexdigest()[:12]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


def child(name: str, seconds: float, folder: Path) -> None:
    """Fuzz one target in this process; does not return."""
    import atheris

    from fuzz.targets import MEGABYTES

    with (folder / "log").open("wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    fed = Fed(name, seconds, folder / "facts.json")
    corpus = folder / "corpus"
    seeds = fed.target.inputs()
    if not corpus.exists():
        corpus.mkdir()
        for i, seed in enumerate(seeds):
            (corpus / f"seed{i:04}").write_bytes(seed)
    fed.target.feed(seeds[0])  # what it sets up once is not the time of an input
    fed.start = time.process_time()
    # Its clock is that on the wall: on a busy machine, a second of work takes many.
    flags = {"max_len": fed.target.longest, "timeout": 30 * fed.limit, "rss_limit_mb": MEGABYTES, "len_control": 20}
    told = [f"-{flag}={value}" for flag, value in flags.items()]
    atheris.Setup([sys.argv[0], str(corpus), *told, f"-artifact_prefix={folder}/crash-"], fed)
    atheris.Fuzz()


def fuzz(name: str, seconds: float, folder: Path) -> dict[str, Any]:
    """Fuzz one target; start again after a crash, a hang, or too much memory, which are findings."""
    from fuzz import targets

    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "facts.json"
    facts: dict[str, Any] = {}
    for _ in range(100):
        with tempfile.TemporaryDirectory(dir=targets.MEMORY, prefix="discreet-fuzz-") as place:
            targets.MEMORY = Path(place)
            if (process := os.fork()) == 0:  # what was imported is instrumented once, for all of them
                try:
                    child(name, seconds, folder)
                finally:
                    traceback.print_exc()
                    os._exit(1)
            code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            targets.MEMORY = Path(place).parent
        facts = json.loads(kept.read_text()) if kept.exists() else {}
        if code == 0:
            return facts
        text = (folder / "log").read_text(errors="replace")
        if not facts or not (folder / "last").exists():
            raise SystemExit(f"{name} does not start:\n{text[-3000:]}")
        why = re.search(r"SUMMARY: libFuzzer: ([\w-]+)", text)
        data, parsers = (folder / "last").read_bytes(), list(targets.TARGETS[name].parsers)
        kind = f"{why[1] if why else f'exit {code}'} in {parsers[data[0] % len(parsers)] if data else 'nothing'}"
        keep(name, data)
        facts["findings"][kind] = facts["findings"].get(kind, 0) + 1
        kept.write_text(json.dumps(facts))
        with (folder / "traces").open("a") as traces:
            traces.write(f"{kind}\n{text[-3000:]}\n")
    return facts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=float, default=600, help="CPU time of each target, with earlier runs")
    parser.add_argument("--again", action="store_true", help="forget earlier runs")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    instrumented()
    from fuzz.targets import TARGETS

    chosen = given.targets or list(TARGETS)
    if given.again:
        for name in chosen:
            shutil.rmtree(KEPT / name, ignore_errors=True)
    bad = 0
    for part in (0.1, 0.4, 1.0):  # in rounds, so that a run which is stopped has tried all of them
        for name in chosen:
            facts = fuzz(name, part * given.seconds, KEPT / name)
            results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            results[name] = {
                "date": f"{datetime.now(UTC):%Y-%m-%d}",
                "cpu_seconds": int(facts["cpu"]),
                "executions": facts["executions"],
                "kept_inputs": len(list((KEPT / name / "corpus").iterdir())),
                "slowest_seconds": round(facts["slowest"], 2),
                "peak_megabytes": facts["megabytes"],
                "findings": results.get(name, {}).get("findings", {}) | facts["findings"],  # of earlier runs too
            }
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
            told = f"{facts['executions']:,} inputs in {facts['cpu']:.0f} s of CPU time"
            print(f"{name}: {told}, {len(facts['findings'])} findings", flush=True)
            bad = max(bad, len(facts["findings"]))
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
