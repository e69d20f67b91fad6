"""The work of `audit`: check a released file, or run a mechanism."""

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import discreet
from discreet.core import write_whole
from discreet.errors import DiscreetError
from discreet.evaluation import (
    AuditedMechanism,
    NeighbourPair,
    audited_mechanism,
    audited_mechanisms,
    audited_tables,
    of_mechanism,
)
from discreet.jobs.job import Job, JobResult
from discreet.local import OwnOracle
from discreet.reporting import examine


def names() -> list[tuple[str, str, str]]:
    """Return every audited name with its claim and its inputs."""
    rows = []
    for name, entry in audited_mechanisms().items():
        delta = f", δ = {entry.delta:g}" if entry.delta else ""
        rows.append((name, f"ε = {entry.epsilon:.4g}{delta}", "; ".join(p.name for p in entry.pairs)))
    for name, table in audited_tables().items():
        rows.append((name, "k, l, t as required", "; ".join(table.tables)))
    return rows


def run(job: Job) -> JobResult:
    """Check a file or run a mechanism, and write the page."""
    from discreet.reporting.pages import artifact_page, mechanism_page

    files = job.places()
    if job.data is not None:
        found: Any = examine(job.place(job.data))
        facts, passed, page = found.to_dict(), found.passed, artifact_page
    else:
        facts = _run_mechanism(job)
        found, passed, page = facts, bool(facts["passed"]), mechanism_page
    if "html" in files:
        write_whole(files["html"], page(facts, job.parameters.get("language", "en")), streams=True)
    return JobResult(job, None, files, facts if job.data is not None else plain(facts), found, None, not passed)


def check(job: Job) -> None:
    """Refuse an unknown mechanism."""
    name = job.parameters.get("mechanism")
    if name is not None and name not in audited_tables():
        _entry(job)


def _entry(job: Job) -> AuditedMechanism:
    """Return the mechanism to run: a listed one, or the user's own function, as ``module:function``.

    A function takes ``(data, rng)``. Its attributes ``data`` and ``neighbour`` (or ``pairs`` of them) are its inputs,
    ``epsilon`` and ``delta`` its claim, which those of the job override.
    """
    name, given, wrong = job.parameters["mechanism"], job.parameters, job.declared.wrong
    if ":" not in name:
        return audited_mechanism(name)
    module, _, attribute = name.partition(":")
    try:
        with _from_here():
            function: Any = attrgetter(attribute)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise wrong("mechanism", name, f"a function that can be imported ({error})") from None
    except Exception as error:  # whatever the module raises
        raise wrong("mechanism", name, f"in a module that can be imported ({_place(error)})") from None
    if isinstance(function, type) and issubclass(function, OwnOracle):
        raise wrong("mechanism", name, f"one of the class, such as rating = {function.__name__}(epsilon=1, domain=5)")
    if isinstance(function, OwnOracle):
        entry = of_mechanism(name, function)
        claim = given.get("epsilon", entry.epsilon), given.get("delta", entry.delta)
        return replace(entry, epsilon=float(claim[0]), delta=float(claim[1]))
    pairs = getattr(function, "pairs", None)
    if pairs is None and hasattr(function, "data") and hasattr(function, "neighbour"):
        pairs = [(function.data, function.neighbour)]
    if not callable(function) or not pairs:
        expected = "a function mechanism(data, rng) with the attributes data and neighbour, or pairs of them"
        raise wrong("mechanism", name, expected)
    epsilon = given.get("epsilon", getattr(function, "epsilon", None))
    if epsilon is None:
        raise wrong("epsilon", None, f"given: {name} states no claim")
    listed = tuple(
        NeighbourPair(f"pair {i}" if len(pairs) > 1 else "data and neighbour", *pair) for i, pair in enumerate(pairs, 1)
    )
    delta = given.get("delta", getattr(function, "delta", 0.0))
    return AuditedMechanism(
        name, function, listed, float(epsilon), float(delta), batch=bool(getattr(function, "batch", False))
    )


def _place(error: Exception) -> str:
    """Return what a user's code raised, and where: the innermost line that is not of an installed package."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    inside = [str(Path(discreet.__file__).parent), "site-packages", sys.base_prefix, "<frozen"]
    own = [(file, line) for file, line in frames if not any(part in file for part in inside)] or frames
    said = traceback.format_exception_only(error)[-1].strip()
    return f"{said}, in {Path(own[-1][0]).name}, line {own[-1][1]}"


@contextmanager
def _from_here() -> Iterator[None]:
    """Find modules of the current folder, as ``python -m`` does."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")


def _run_mechanism(job: Job) -> dict[str, Any]:
    """Audit a mechanism on all pairs of inputs."""
    given, tables = job.parameters, audited_tables()
    name = given["mechanism"]
    if name in tables:
        failures = tables[name].check()
        return {"mechanism": name, "passed": not failures, "failures": failures, "results": []}
    entry = _entry(job)
    trials, confidence = given.get("trials", 100_000), given.get("confidence", 0.99)
    # A user's function may not be picklable.
    workers = 1 if ":" in name else None
    limits: dict[str, Any] = {"time_budget": given.get("seconds"), "workers": workers, "progress": None}
    try:
        begun = entry.audit(trials, confidence, random_state=given.get("seed"), **limits)
    except DiscreetError:
        raise
    except Exception as error:
        if ":" not in name:
            raise
        raise job.declared.wrong("mechanism", name, f"a function that runs on its inputs ({_place(error)})") from None
    exact = entry.exact()
    passed = all(bool(r.passed) for r in begun) and (exact is None or bool(exact.passed))
    return {
        "mechanism": name,
        "claimed": entry.epsilon,
        "delta": entry.delta,
        "passed": passed,
        "exact": None if exact is None else exact.to_dict(),
        "results": list(zip((pair.name for pair in entry.pairs), begun, strict=True)),
        "exact_result": exact,
    }


def plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts as data for JSON."""
    shown = {k: v for k, v in facts.items() if k not in ("results", "exact_result")}
    shown["pairs"] = [{"pair": name, **json.loads(found.to_json())} for name, found in facts["results"]]
    if shown["pairs"]:
        worst = max(shown["pairs"], key=lambda pair: pair["epsilon_lower"])
        shown["epsilon_lower"], shown["worst_pair"] = worst["epsilon_lower"], worst["pair"]
    return shown
