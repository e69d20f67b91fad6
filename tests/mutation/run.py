"""Plants every fault of `faults.py`, one at a time, runs the law tests of its room, and lists what lives.

    python tests/mutation/run.py [--room ROOM] [--only TEXT] [--again] [--output FILE]

A process per room collects the room's tests with pytest, and forks once per fault: the child puts the changed code into
the function that everybody holds, and runs tests until one fails. The test that killed a fault in the results at hand
is tried first. For faults without one, or that outlive it, the room's laws follow, then its files one by one: each test
of a file is run once as it is (it must pass), to note which functions of the library it calls; then those that call the
changed one are run, quickest killers first. What is excused in `equivalent.json` meets the first of them alone. Two
rooms run at a time. Results are kept after every fault, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import itertools
import json
import math
import os
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
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
#: A child that has worked so many times as long as its tests did without a fault, and so many seconds, hangs: noticed.
#: Its own seconds count, so that a busy machine is no hanging child; one that does nothing at all for so long sleeps.
PATIENCE, LEAST_SECONDS, ASLEEP = 4.0, 10.0, 30.0
#: More is given where kernels are compiled first.
COMPILING = 40.0
#: What a function may be wrapped in, and where it is then.
WRAPPERS: tuple[tuple[Any, str], ...] = (
    ((classmethod, staticmethod), "__func__"),
    (property, "fget"),
    (functools.cached_property, "func"),
    ((functools._lru_cache_wrapper, FunctionType), "__wrapped__"),  # scikit-learn wraps `transform` in a function
)


def function_of(fault: Fault) -> Any:
    """Return the plain function, or the jitted one, that a fault is in."""
    found: Any = importlib.import_module(f"discreet.{fault.module}")
    for part in fault.function.split("."):
        found = vars(found)[part]
    return _plain(found)


def _plain(found: Any) -> Any:
    """Return the function within a method, a property or a memory; a kernel stays a kernel."""
    for kind, inner in WRAPPERS:
        found = getattr(found, inner, found) if isinstance(found, kind) else found
    return found


def plant(fault: Fault) -> None:
    """Put a fault into the running library."""
    target, code = function_of(fault), fault.code()
    if hasattr(target, "py_func"):
        target.py_func.__code__ = _fitting(target.py_func, code)
        _compile_again(target)
    else:
        target.__code__ = _fitting(target, code)
    for thing in gc.get_objects():  # what was remembered before the fault; a proxy of what is gone has a type only
        if issubclass(type(thing), functools._lru_cache_wrapper):
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


def _modules() -> list[ModuleType]:
    """Return the modules of the library and of its tests."""
    ours = tuple(str(TOP / name) for name in ("src", "tests"))
    return [m for m in list(sys.modules.values()) if str(getattr(m, "__file__", None)).startswith(ours)]


def _uses(function: FunctionType) -> set[int]:
    """Return what a function names, of its module or of a module that it names, as identities."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    found = [function.__globals__[name] for name in names if name in function.__globals__]
    within = [vars(m)[name] for m in found if isinstance(m, ModuleType) for name in names if name in vars(m)]
    return {id(value) for value in [*found, *within]}


def _stale(changed: Any) -> dict[int, Any]:
    """Return a kernel and all that it is compiled into."""
    kernels = {id(v): v for m in _modules() for v in vars(m).values() if hasattr(v, "py_func")}
    stale, grown = {id(changed): changed}, True
    while grown:
        new = {key: k for key, k in kernels.items() if key not in stale and _uses(k.py_func) & set(stale)}
        stale, grown = stale | new, bool(new)
    return stale


def _callers(kernel: Any) -> set[str]:
    """Return the plain functions that call a kernel, or one that it is compiled into: where machine code begins."""
    stale, found = set(_stale(kernel)), set()
    for module in _modules():
        for value in list(vars(module).values()):
            for function in [value, *(vars(value).values() if isinstance(value, type) else ())]:
                function = _plain(function)
                if isinstance(function, FunctionType) and _uses(function) & stale:
                    found |= {_place(code) for code in _codes(function.__code__)}
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _place(code: CodeType) -> str:
    return f"{code.co_filename}:{code.co_qualname}"


def _compile_again(changed: Any) -> None:
    """Compile a kernel and all that it is compiled into anew, without the code kept on disk."""
    from numba import njit

    for old in _stale(changed).values():
        inline = {"inline": old.targetoptions["inline"]} if old.targetoptions.get("inline") else {}
        new = njit(nogil=True, **inline)(old.py_func)
        for m in _modules():
            for name, value in list(vars(m).items()):
                if value is old:
                    setattr(m, name, new)


def _group(nodeid: str) -> str:
    """Return the file of a test; files of laws are small and form one group."""
    file = nodeid.split("::")[0]
    return "laws" if "law" in Path(file).name else file


def _facts(fault: Fault) -> dict[str, str]:
    return {"fault": fault.name, "kind": fault.kind, "before": fault.before, "after": fault.after}


class Room:
    """A pytest plugin that runs the faults of a room instead of the tests."""

    def __init__(self, planted: list[Fault], hints: dict[str, str], wire: Any) -> None:
        self.planted, self.hints, self.wire = planted, hints, wire
        self.excused = excuses()
        self.calls: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.kills: dict[str, int] = {}
        self.sound: dict[str, bool] = {}
        self.moved: dict[str, str] = {}

    def tell(self, **facts: Any) -> None:
        self.wire.write(json.dumps(facts) + "\n")
        self.wire.flush()

    def pytest_runtestloop(self, session: Any) -> bool:
        items = {item.nodeid: item for item in session.items}
        self.moved = {nodeid.split("::", 1)[1]: nodeid for nodeid in items}
        for fault in self.planted:
            importlib.import_module(f"discreet.{fault.module}")
        left = [fault for fault in self.planted if not self._killed_again(fault, items)]
        met: set[str] = set()
        for number, (file, names) in enumerate(itertools.groupby(items, key=_group)):
            if left:
                self._watch({n: items[n] for n in names}, file)
                left, waiting = [], left
                for fault in waiting:
                    chosen = self._chosen(fault, items)
                    found = self._try(fault, items, chosen)
                    met |= {fault.name} if chosen else set()
                    if found["fate"] == "lived" and not (number == 0 and fault.name in self.excused):
                        left.append(fault)
                    else:
                        self.tell(**found)
        for fault in left:
            by = "" if fault.name in met else "no test of the room calls it"
            self.tell(**_facts(fault), fate="lived", by=by)
        return True

    def _watch(self, items: dict[str, Any], file: str) -> None:
        """Run the tests of a file as they are, and note what they call."""
        self.calls = {}
        for nodeid, item in items.items():
            passed, called, self.seconds[nodeid] = self._watched(item)
            self.calls[nodeid] = called if passed else set()
            if not passed:
                self.tell(broken=nodeid)
        self.tell(watched=file, tests=len(items), seconds=round(sum(self.seconds[n] for n in items), 1))

    def _killed_again(self, fault: Fault, items: dict[str, Any]) -> bool:
        """Try the test that killed a fault the last time, in whichever file it is now."""
        hint = self.hints.get(fault.name, "")
        hint = hint if hint in items else self.moved.get(hint.partition("::")[2], "")
        if hint not in items or not self._sound(items[hint]):
            return False
        found = self._try(fault, items, [hint])
        if found["fate"] == "killed":
            self.tell(**found)
        return bool(found["fate"] == "killed")

    def _watched(self, item: Any) -> tuple[bool, set[str], float]:
        """Run a test as it is; return whether it passed, which functions of the library it called, and how long."""
        called: set[CodeType] = set()
        add = called.add

        def watch(frame: Any, event: str, _: Any) -> None:
            add(frame.f_code)  # returns nothing, so that lines within are not watched

        start = time.process_time()
        threading.settrace(watch)  # also the threads that a test begins
        sys.settrace(watch)
        try:
            passed = _passes(item)
        finally:
            sys.settrace(None)
            threading.settrace(None)
        places = {_place(code) for code in called if "/discreet/" in code.co_filename}
        return passed, places, time.process_time() - start

    def _chosen(self, fault: Fault, items: dict[str, Any]) -> list[str]:
        """Return the tests that call the function a fault is in, quickest killers first."""
        function = function_of(fault)
        if isinstance(function, FunctionType):
            chosen = [n for n, called in self.calls.items() if _place(function.__code__) in called]
        else:  # machine code is not seen: the tests that call what calls it, and those that call it themselves
            places, stale = _callers(function), set(_stale(function))
            chosen = [n for n, called in self.calls.items() if places & called or _uses(items[n].function) & stale]
        return sorted(chosen, key=lambda n: self.seconds[n] / (1 + 4 * self.kills.get(n, 0)))

    def _sound(self, item: Any) -> bool:
        """Tell whether a test that kills passes without any fault, here and in a child; asked once per test."""
        if item.nodeid not in self.sound:
            start = time.process_time()
            passed = _passes(item)
            self.seconds.setdefault(item.nodeid, time.process_time() - start)
            limit = LEAST_SECONDS + PATIENCE * self.seconds[item.nodeid]
            again = _forked(lambda say: say("passed" if _passes(item) else "failed"), limit)
            self.sound[item.nodeid] = passed and again == ["passed", ""]
            if not self.sound[item.nodeid]:
                self.tell(broken=item.nodeid)
        return self.sound[item.nodeid]

    def _try(self, fault: Fault, items: dict[str, Any], chosen: list[str]) -> dict[str, Any]:
        """Fork, plant, run; return what became of the fault."""
        facts = _facts(fault)
        if not chosen:
            return {**facts, "fate": "lived", "by": ""}
        began = time.perf_counter()

        def work(say: Any) -> None:
            try:
                plant(fault)
            except Exception as error:
                say(f"could not be planted: {error!r}")
                return
            for name in chosen:
                say(name)
                if not _passes(items[name]):
                    return
            say("")

        compiling = 0.0 if isinstance(function_of(fault), FunctionType) else COMPILING
        limit = LEAST_SECONDS + compiling + PATIENCE * sum(self.seconds[n] for n in chosen)
        *_, by, ended = ["", *_forked(work, limit)]
        if by in items and not self._sound(items[by]):
            self.calls[by] = set()
            return self._try(fault, items, [n for n in chosen if n != by])
        self.kills[by] = self.kills.get(by, 0) + 1
        if ended and not by:
            by = f"could not be planted: {ended}"
        fate = "failed" if by.startswith("could not") else "killed" if by else "lived"
        end = {"end": ended} if ended and fate == "killed" else {}
        took = round(time.perf_counter() - began, 2)
        return {**facts, "fate": fate, "by": by, **end, "tests": len(chosen), "seconds": took}


def _forked(work: Any, seconds: float) -> list[str]:
    """Do work in a child; return the lines it says, and how it was struck down, or nothing if it ended by itself."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            with os.fdopen(write, "w") as wire:
                work(lambda line: print(line, file=wire, flush=True))
        finally:
            os._exit(0)
    os.close(write)
    data, before = b"", -1
    while True:
        if select.select([read], [], [], ASLEEP)[0]:
            part = os.read(read, 1 << 20)
            if not part:
                break
            data += part
        elif before == (before := _ticks(child)):  # it waits for a thread that did not live through the fork, say
            os.killpg(child, signal.SIGKILL)
            break
    os.close(read)
    ended = -os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    hangs = (signal.SIGXCPU, signal.SIGKILL)
    how = "" if ended <= 0 else "it does not end" if ended in hangs else f"it crashed: {signal.Signals(ended).name}"
    return [*data.decode().split("\n")[:-1], how]


def _ticks(group: int) -> int:
    """Return how long the processes of a group have worked, in ticks of the clock."""
    found = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            facts = place.read_text(errors="replace").rpartition(")")[2].split()
            found += int(facts[2] == str(group)) * (int(facts[11]) + int(facts[12]))
    return found


def _passes(item: Any) -> bool:
    from _pytest.runner import runtestprotocol
    from _pytest.warnings import catch_warnings_for_item

    item._initrequest()
    with catch_warnings_for_item(item.config, item.ihook, "runtest", item):  # its own marks, which the loop would read
        return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def run_room(room: str, planted: list[Fault], tests: list[str], hints: dict[str, str]) -> Iterator[dict[str, Any]]:
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
            pytest.main([*flags, *paths], plugins=[Room(planted, hints, wire)])
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


def excuses() -> dict[str, str]:
    """Return the faults that cannot matter, each with the reason."""
    found: dict[str, str] = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return found


def known(output: Path) -> dict[str, dict[str, Any]]:
    """Return the results at hand."""
    found: dict[str, dict[str, Any]] = json.loads(output.read_text())["faults"] if output.exists() else {}
    return found


def run(wanted: list[Fault], output: Path, processes: int, tests: list[str]) -> None:
    """Run faults, rooms side by side; results are stored as they come."""
    hints = {name: told["by"] for name, told in {**known(RESULTS), **known(output)}.items()}
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
            for told in run_room(room, rooms[room], tests, hints):
                with lock:
                    if "fault" in told:
                        store(output, known(output) | {told.pop("fault"): told})  # others may have written meanwhile
                        print(f"{told['fate']:7} {told.get('seconds', 0):6.1f}s  {told['kind']}: {told['before'][:70]}"
                              f"  <- {told['by'][-70:]}", flush=True)  # fmt: skip
                    else:
                        print(room, told, flush=True)

    threads = [threading.Thread(target=work) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def store(output: Path, kept: dict[str, dict[str, Any]]) -> None:
    """Write results, whole or not at all."""
    excused = excuses()
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
        there = {f.name: (f.before, f.after) for f in faults()}  # a line that reads otherwise now is tried anew
        kept = {n: r for n, r in known(given.output).items() if there.get(n) == (r["before"], r["after"])}
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
