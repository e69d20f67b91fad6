"""Plants every fault of `faults.py`, one at a time, runs the law tests of its room, and lists what lives.

    python tests/mutation/run.py [--room ROOM] [--only TEXT] [--again] [--output FILE]

A process per room collects the room's tests with pytest, runs each once as it is (it must pass) and notes which
functions of the library it calls. Then, warm, it forks once per fault: the child puts the changed code into the
function that everybody holds, and runs the tests that call it, quickest killers first, until one fails. Two rooms run
at a time. Results are kept after every fault, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

# Pools of threads do not live through a fork; what runs in one thread has none.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
HERE = Path(__file__).parent
TOP = HERE.parents[1]
sys.path[:0] = [str(TOP / name) for name in ("tests", "tests/support", "src", "studies")]

import pytest  # noqa: E402

from mutation.faults import Fault, faults  # noqa: E402
from mutation.rooms import ROOMS, room_of  # noqa: E402

RESULTS, EQUIVALENT = HERE / "results.json", HERE / "equivalent.json"
#: A child that has not ended after so many times its tests' quiet time, and so many seconds, hangs: noticed.
PATIENCE, LEAST_SECONDS = 4.0, 60.0


def function_of(fault: Fault) -> Any:
    """Return the plain function, or the jitted one, that a fault is in."""
    found: Any = importlib.import_module(f"discreet.{fault.module}")
    for part in fault.function.split("."):
        found = vars(found)[part]
    for inner in ("__func__", "fget", "func", "__wrapped__"):
        if not hasattr(found, "py_func"):  # a kernel is changed as a kernel
            found = getattr(found, inner, found)
    return found


def plant(fault: Fault) -> None:
    """Put a fault into the running library."""
    target, code = function_of(fault), fault.code()
    if hasattr(target, "py_func"):
        target.py_func.__code__ = _fitting(target.py_func, code)
        _compile_again(target)
    else:
        target.__code__ = _fitting(target, code)
    for thing in gc.get_objects():  # what was remembered before the fault
        if isinstance(thing, functools._lru_cache_wrapper):
            if str(thing.__module__).startswith("discreet"):
                thing.cache_clear()
        elif str(type(thing).__module__).startswith("discreet") and hasattr(thing, "__dict__"):
            for name in [n for n in vars(thing) if isinstance(_declared(type(thing), n), functools.cached_property)]:
                vars(thing).pop(name)


def _declared(kind: type, name: str) -> Any:
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _fitting(function: FunctionType, code: CodeType) -> CodeType:
    assert function.__code__.co_freevars == code.co_freevars, "a fault may not change what a function closes over"
    return code


def _compile_again(changed: Any) -> None:
    """Compile a kernel and all that it is compiled into anew, without the code kept on disk."""
    from numba import njit

    rooms = [m for name, m in list(sys.modules.items()) if name.startswith("discreet") and m is not None]
    kernels = {id(v): v for m in rooms for v in vars(m).values() if hasattr(v, "py_func")}
    stale, grown = {id(changed)}, True
    while grown:
        grown = False
        for key, kernel in kernels.items():
            uses = {id(kernel.py_func.__globals__.get(name)) for name in kernel.py_func.__code__.co_names}
            if key not in stale and uses & stale:
                stale.add(key)
                grown = True
    for key in stale:
        old = kernels[key]
        inline = {"inline": old.targetoptions["inline"]} if old.targetoptions.get("inline") else {}
        new = njit(nogil=True, **inline)(old.py_func)
        for m in rooms:
            for name, value in list(vars(m).items()):
                if value is old:
                    setattr(m, name, new)


class Room:
    """A pytest plugin that runs the faults of a room instead of the tests."""

    def __init__(self, planted: list[Fault], wire: Any) -> None:
        self.planted, self.wire = planted, wire
        self.calls: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.kills: dict[str, int] = {}
        self.sound: dict[str, bool] = {}

    def tell(self, **facts: Any) -> None:
        self.wire.write(json.dumps(facts) + "\n")
        self.wire.flush()

    def pytest_runtestloop(self, session: Any) -> bool:
        items = {item.nodeid: item for item in session.items}
        for fault in self.planted:
            importlib.import_module(f"discreet.{fault.module}")
        for nodeid, item in items.items():
            start = time.perf_counter()
            passed, called = self._watched(item)
            self.seconds[nodeid], self.calls[nodeid] = time.perf_counter() - start, called if passed else set()
            if not passed:
                self.tell(broken=nodeid)
        self.tell(ready=len(self.seconds), seconds=round(sum(self.seconds.values()), 1))
        for fault in self.planted:
            self.tell(**self._try(fault, items))
        return True

    def _watched(self, item: Any) -> tuple[bool, set[str]]:
        """Run a test as it is; return whether it passed and which functions of the library it called."""
        called: set[CodeType] = set()
        add = called.add

        def watch(frame: Any, event: str, _: Any) -> None:
            add(frame.f_code)  # returns nothing, so that lines within are not watched

        sys.settrace(watch)
        try:
            passed = _passes(item)
        finally:
            sys.settrace(None)
        return passed, {f"{c.co_filename}:{c.co_qualname}" for c in called if "/discreet/" in c.co_filename}

    def _chosen(self, fault: Fault) -> list[str]:
        function = function_of(fault)
        plain = function if isinstance(function, FunctionType) else function.py_func
        place = f"{plain.__code__.co_filename}:{plain.__code__.co_qualname}"
        if plain is function:
            chosen = [n for n, called in self.calls.items() if place in called]
        else:  # machine code is not seen: tests that call into files that import it
            home = Path(plain.__code__.co_filename).stem
            users = {str(p) for p in Path(plain.__code__.co_filename).parent.glob("*.py") if home in p.read_text()}
            chosen = [n for n, called in self.calls.items() if any(c.rsplit(":", 1)[0] in users for c in called)]
        return sorted(chosen, key=lambda n: self.seconds[n] / (1 + 4 * self.kills.get(n, 0)))

    def _sound(self, item: Any) -> bool:
        """Tell whether a test that killed passes in a fork without any fault; asked once per test."""
        if item.nodeid not in self.sound:
            limit = max(LEAST_SECONDS, PATIENCE * self.seconds[item.nodeid])
            said = _forked(lambda say: say("passed" if _passes(item) else "failed"), limit)
            self.sound[item.nodeid] = said == ["passed"]
        return self.sound[item.nodeid]

    def _try(self, fault: Fault, items: dict[str, Any]) -> dict[str, Any]:
        """Fork, plant, run; return what became of the fault."""
        chosen = self._chosen(fault)
        facts = {"fault": fault.name, "kind": fault.kind, "before": fault.before, "after": fault.after}
        if not chosen:
            return {**facts, "fate": "lived", "by": "no test of the room calls it"}
        began = time.perf_counter()

        def work(say: Any) -> None:
            try:
                plant(fault)
            except Exception as error:
                say(f"could not be planted: {error!r}")
                return
            say(next((n for n in chosen if not _passes(items[n])), ""))

        limit = max(LEAST_SECONDS, PATIENCE * sum(self.seconds[n] for n in chosen))
        by = _forked(work, limit)[0]
        if by in items and not self._sound(items[by]):
            self.calls[by] = set()
            self.tell(broken=by)
            return self._try(fault, items)
        self.kills[by] = self.kills.get(by, 0) + 1
        fate = "failed" if by.startswith("could not") else "killed" if by else "lived"
        return {**facts, "fate": fate, "by": by, "tests": len(chosen), "seconds": round(time.perf_counter() - began, 2)}


def _forked(work: Any, seconds: float) -> list[str]:
    """Do work in a child; return the lines it says before it ends, or that it does not end or was struck down."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            with os.fdopen(write, "w") as wire:
                work(lambda line: print(line, file=wire, flush=True))
        finally:
            os._exit(0)
    os.close(write)
    end, data = time.monotonic() + seconds, b""
    while select.select([read], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(read, 1 << 20)
        if not part:
            break
        data += part
    else:
        os.killpg(child, signal.SIGKILL)
        data = data or b"it does not end\n"
    os.close(read)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not data:
        data = f"the interpreter crashed: {signal.Signals(-ended).name if ended < 0 else ended}\n".encode()
    return data.decode().split("\n")[:-1]


def _passes(item: Any) -> bool:
    from _pytest.runner import runtestprotocol

    item._initrequest()
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def run_room(room: str, planted: list[Fault], tests: list[str]) -> Iterator[dict[str, Any]]:
    """Yield what a room's process tells."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        log = os.open(HERE / f".{room}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        with os.fdopen(write, "w") as wire:
            paths = [str(HERE.parent / name) for name in tests or ROOMS[room][1]]
            flags = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "-m", "not slow"]
            pytest.main([*flags, *paths], plugins=[Room(planted, wire)])
            print("null", file=wire, flush=True)  # another room's process may hold this pipe open: its end is said
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as wire:
        for line in wire:
            told = json.loads(line)
            if told is None:
                break
            yield told
    os.waitpid(child, 0)


def run(wanted: list[Fault], output: Path, processes: int, tests: list[str]) -> dict[str, dict[str, Any]]:
    """Run faults, rooms side by side; results are stored as they come."""
    import threading

    kept: dict[str, dict[str, Any]] = json.loads(output.read_text())["faults"] if output.exists() else {}
    rooms: dict[str, list[Fault]] = {}
    for fault in wanted:
        rooms.setdefault(room_of(fault.module), []).append(fault)
    lock, waiting = threading.Lock(), [room for room in ROOMS if room in rooms]

    def work() -> None:
        while True:
            with lock:
                if not waiting:
                    return
                room = waiting.pop(0)
            for told in run_room(room, rooms[room], tests):
                with lock:
                    if "fault" in told:
                        kept[told.pop("fault")] = told
                        store(output, kept)
                        print(f"{told['fate']:7} {told.get('seconds', 0):6.1f}s  {told['kind']}: {told['before'][:70]}"
                              f"  <- {told['by'][-70:]}", flush=True)  # fmt: skip
                    else:
                        print(room, told, flush=True)

    threads = [threading.Thread(target=work) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return kept


def store(output: Path, kept: dict[str, dict[str, Any]]) -> None:
    """Write results, whole or not at all."""
    excused = json.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else {}
    lived = sorted(n for n, r in kept.items() if r["fate"] != "killed" and n not in excused)
    facts = {
        "planted": len(kept),
        "killed": sum(r["fate"] == "killed" for r in kept.values()),
        "equivalent": sum(r["fate"] != "killed" and n in excused for n, r in kept.items()),
        "lived": lived,
        "faults": {n: {k: v for k, v in r.items() if k not in ("seconds", "tests")} for n, r in sorted(kept.items())},
    }
    part = output.with_suffix(".part")
    part.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(output)


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; 1 if a fault lives that is not excused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", choices=sorted(ROOMS), help="faults of this room only")
    parser.add_argument("--only", default="", help="faults whose name has this text only")
    parser.add_argument("--again", action="store_true", help="also those that have a result")
    parser.add_argument("--lived", action="store_true", help="those that lived, again")
    parser.add_argument("--tests", nargs="*", default=[], help="these files under tests/ instead of the room's own")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    planted = [f for f in faults() if given.only in f.name and given.room in (None, room_of(f.module))]
    if given.output.exists():
        kept = json.loads(given.output.read_text())["faults"]
        names = {f.name for f in faults()}
        kept = {n: r for n, r in kept.items() if n in names}
        store(given.output, kept)
        if given.lived:
            planted = [f for f in planted if kept.get(f.name, {}).get("fate") != "killed"]
        elif not given.again:
            planted = [f for f in planted if f.name not in kept]
    began = time.perf_counter()
    run(planted, given.output, given.processes, given.tests)
    facts = json.loads(given.output.read_text())
    print(f"{facts['planted']} planted, {facts['killed']} killed, {facts['equivalent']} equivalent, "
          f"{len(facts['lived'])} lived, {time.perf_counter() - began:.0f} s")  # fmt: skip
    for name in facts["lived"]:
        print("lives:", name, "|", facts["faults"][name]["before"], "->", facts["faults"][name]["after"])
    return 1 if facts["lived"] else 0


if __name__ == "__main__":
    sys.exit(main())
