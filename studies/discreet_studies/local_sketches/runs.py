"""One run of each mechanism of the sketch experiments: users drawn, reports made, estimates scored both ways."""

from __future__ import annotations

import math
import time
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import nnls
from scipy.special import ndtri
from scipy.stats import binom

from discreet import datasets, noise
from discreet.core import FloatArray, IntArray
from discreet.local import (
    BitFlip,
    CountMeanSketch,
    Counts,
    FragmentPuzzle,
    HadamardSketch,
    Memo,
    PrefixExtension,
    Rappor,
    SubsetSelection,
)
from discreet.local.repeated import system
from discreet_studies.as_published import sketches as fault
from discreet_studies.measured.estimates import mean_error, rmse

#: Up to this many users RAPPOR makes real reports; beyond, its counters are drawn from their exact law.
REAL_REPORTS = 60_000
#: The setting of ours that RAPPOR is compared with, at equal budgets for one report and for a lifetime.
OURS = {"bits": 128, "hashes": 1, "cohorts": 64}
#: Thresholds of Table 5.11.
THRESHOLDS = (10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 250, 300, 400, 500)
#: Figures 5.9 and 5.10: so many values are the most frequent, and those with fewer users are almost absent.
FREQUENT, RARE = 5, 100
#: Shape of the puzzle as it was deployed.
_DEPLOYED = (2048, 2048, 1024)
_FINE = 2**53


@dataclass(frozen=True)
class Crowd:
    """What the users of one file hold.

    Attributes
    ----------
    values : array of int
        One a user.
    domain : list of int
        The values present, ascending: all that the published programs ask for.
    held : array
        How many hold each.
    first_seen : array of int
        The places of the domain in the order in which the file first shows them.
    """

    values: IntArray
    domain: list[int]
    held: FloatArray
    first_seen: IntArray

    @property
    def n(self) -> int:
        """Users."""
        return len(self.values)


@lru_cache(maxsize=4)
def crowd(kind: str, n: int, seed: int) -> Crowd:
    """Draw a file: exponential with scale 2, or normal with mean 12 and deviation 2, cut to whole numbers."""
    stream = noise.generator(1000 + seed)
    u = (noise.below(_FINE, size=n, rng=stream) + 0.5) / _FINE
    drawn = -2 * np.log(u) if kind == "exponential" else 12 + 2 * ndtri(u)
    values = np.floor(drawn).astype(np.int64)
    domain, first, held = np.unique(values, return_index=True, return_counts=True)
    return Crowd(values, domain.tolist(), held.astype(np.float64), np.argsort(first, kind="stable"))


def stream_of(setting: Mapping[str, Any]) -> tuple[noise.Generator, int]:
    """Return the noise and the hash key of a setting: its own, and the same every time."""
    number = zlib.crc32(repr(sorted(setting.items())).encode())
    return noise.generator(number), number


def scored(people: Crowd, found: FloatArray) -> dict[str, float]:
    """Return the error of estimates, listed like the domain, and Pearson's r rightly and the published way."""
    return errors(people, found) | {
        "span": float(people.held.max() - people.held.min()),
        "r": fault.pearson(people.held, found),
        "r_misaligned": fault.misaligned(people.held, found, people.first_seen),
    }


def errors(people: Crowd, found: FloatArray, suffix: str = "") -> dict[str, float]:
    """Return mean absolute error and root mean squared error over the values present."""
    return {f"mean_error{suffix}": mean_error(people.held, found), f"rmse{suffix}": rmse(people.held, found)}


def sketch(setting: Mapping[str, Any]) -> dict[str, float]:
    """Run a count-mean sketch, or the one with Hadamard signs: that one scaled back rightly and wrongly."""
    people = crowd(str(setting["data"]), int(setting["n"]), int(setting["seed"]))
    stream, key = stream_of(setting)
    kind = {"PCMS": CountMeanSketch, "PHCMS": HadamardSketch}[str(setting["part"])]
    m = kind(setting["epsilon"], int(setting["k"]), int(setting["m"]), key=key)
    marks = [time.perf_counter()]
    reports = m.encode(people.values, rng=stream)
    marks.append(time.perf_counter())
    counts = m.aggregate(reports)
    marks.append(time.perf_counter())
    found = m.estimate(counts, people.domain).count
    marks.append(time.perf_counter())
    spent = 1000 * np.diff(marks) / [people.n, people.n, len(people.domain)]
    numbers = dict(zip(("client", "update", "estimate"), spent.tolist(), strict=True)) | scored(people, found)
    if isinstance(m, HadamardSketch):
        numbers |= errors(people, fault.half_budget(m, found, people.n), "_half")
    return numbers


def subset(setting: Mapping[str, Any]) -> dict[str, float]:
    """Run our best oracle for a domain that is known: subset selection, at the same ε."""
    people = crowd(str(setting["data"]), int(setting["n"]), int(setting["seed"]))
    m = SubsetSelection(setting["epsilon"], people.domain)
    return errors(people, m.estimate(m.aggregate(m.encode(people.values, rng=stream_of(setting)[0]))).count)


def bit_flip(setting: Mapping[str, Any]) -> dict[str, float]:
    """Run d-bit flip. As published a single bit spends half of the budget: that is ours with half the ε."""
    people = crowd(str(setting["data"]), int(setting["n"]), int(setting["seed"]))
    bits, epsilon, (stream, _) = int(setting["d"]), float(setting["epsilon"]), stream_of(setting)
    marks = [time.perf_counter()]
    m = BitFlip(epsilon / 2 if bits == 1 else epsilon, people.domain, min(bits, len(people.domain)))
    reports = m.encode(people.values, rng=stream)
    marks.append(time.perf_counter())
    found = m.estimate(m.aggregate(reports)).count
    marks.append(time.perf_counter())
    client, server = 1000 * np.diff(marks)
    numbers = scored(people, found) | {"client": float(client) / people.n, "server": float(server)}
    theory = np.mean([m.variance(people.n, f) for f in people.held.tolist()])
    numbers["rmse_theory"] = math.sqrt(theory)
    if bits == 1:
        whole = BitFlip(epsilon, people.domain, 1)
        numbers |= errors(
            people, whole.estimate(whole.aggregate(whole.encode(people.values, rng=stream))).count, "_whole"
        )
    return numbers


def rappor(setting: Mapping[str, Any]) -> dict[str, float]:
    """Run RAPPOR with one cohort, decoded the published way; and ours, with cohorts, at the same two budgets."""
    people = crowd(str(setting["data"]), int(setting["n"]), int(setting["seed"]))
    stream, key = stream_of(setting)
    shape = {"bits": int(setting["bits"]), "hashes": int(setting["hashes"])}
    m = Rappor(setting["f"], setting["p"], setting["q"], **shape, cohorts=1, key=key)
    counts = reported(m, people, stream)
    numbers = scored(people, fault.lasso_fit(m, counts, people.domain))
    if m.hashes == 1:
        same = Crowd(np.zeros_like(people.values), [0], np.array([float(people.n)]), np.zeros(1, np.int64))
        constant = fault.lasso_fit(m, reported(m, same, stream), people.domain, constant_hash=True)
        numbers |= errors(people, constant, "_constant")
    best = Rappor.from_budget(epsilon_lifetime=m.epsilon_lifetime, epsilon_report=m.epsilon, **OURS, key=key)
    return numbers | errors(people, non_negative(best, reported(best, people, stream), people.domain), "_ours")


def rappor_values(setting: Mapping[str, Any]) -> dict[str, float]:
    """Run RAPPOR as `rappor` does and return true and estimated counts value by value, with what the figures show."""
    people = crowd(str(setting["data"]), int(setting["n"]), int(setting["seed"]))
    stream, key = stream_of(setting)
    shape = {"bits": int(setting["bits"]), "hashes": int(setting["hashes"])}
    m = Rappor(setting["f"], setting["p"], setting["q"], **shape, cohorts=1, key=key)
    published = fault.lasso_fit(m, reported(m, people, stream), people.domain)
    best = Rappor.from_budget(epsilon_lifetime=m.epsilon_lifetime, epsilon_report=m.epsilon, **OURS, key=key)
    ours = non_negative(best, reported(best, people, stream), people.domain)
    numbers = {f"true {value}": held for value, held in zip(people.domain, people.held.tolist(), strict=True)}
    for name, found in (("", published), (" ours", ours)):
        numbers |= {f"count{name} {value}": x for value, x in zip(people.domain, found.tolist(), strict=True)}
        off = np.abs(found - people.held) / people.held
        numbers[f"frequent{name}"] = float(off[np.argsort(-people.held)[:FREQUENT]].max())
        numbers[f"rare{name}"] = float(found[people.held < RARE].max())
        numbers[f"gone{name}"] = float((found < 0.5).sum())
    return numbers


def non_negative(m: Rappor, counts: Counts, candidates: list[Any]) -> FloatArray:
    """Return the best fit of RAPPOR's equations without negative counts."""
    held, ones = counts.counters["reports"], counts.counters["ones"]
    matrix, right = system(m.law, m.family, candidates, held, ones).normal()
    upper = linalg.cholesky(matrix)
    share: FloatArray = nnls(upper, linalg.solve_triangular(upper, right, trans="T"))[0][:-1]
    return counts.n * share


def reported(m: Rappor, people: Crowd, stream: noise.Generator) -> Counts:
    """Return the counters of one report per user: real ones of a small crowd, drawn from their law for a large one."""
    if people.n <= REAL_REPORTS:
        memo = Memo.draw(rng=stream)
        return m.aggregate(m.encode(people.values, users=np.arange(people.n), memo=memo, rng=stream))
    return by_law(m, people, stream)


def by_law(m: Rappor, people: Crowd, stream: noise.Generator) -> Counts:
    """Draw the counters from their law: users fall into cohorts evenly, and a bit is 1 with chance q* or p*.

    Every user reports once, so the permanent and the fresh coin of a bit are one coin; bits and users are independent.
    """
    left = people.held.astype(np.int64)
    split = np.zeros((m.cohorts, len(left)), np.int64)
    for cohort in range(m.cohorts):
        split[cohort] = _binomial(left, np.float64(1 / (m.cohorts - cohort)), stream)
        left = left - split[cohort]
    buckets = m.family.all(people.domain).reshape(m.cohorts, m.hashes, len(people.domain))
    sets = np.zeros((m.cohorts, m.bits, len(people.domain)), np.int64)
    for number in range(m.hashes):
        np.put_along_axis(sets, buckets[:, number][:, None, :], 1, axis=1)
    ones = np.einsum("cbv,cv->cb", sets, split)
    reports = split.sum(axis=1)
    sent = _binomial(ones, np.float64(m.law.q_star), stream)
    sent += _binomial(reports[:, None] - ones, np.float64(m.law.p_star), stream)
    return Counts(m, {"reports": reports, "ones": sent}, n=people.n, seeded=True)


def _binomial(n: IntArray, p: np.float64, stream: noise.Generator) -> IntArray:
    """Draw binomial numbers by their inverse law."""
    u = (noise.below(_FINE, size=n.shape, rng=stream) + 0.5) / _FINE
    return np.where(n > 0, binom.ppf(u, np.maximum(n, 1), p), 0).astype(np.int64)


def rappor_times(setting: Mapping[str, Any]) -> dict[str, float]:
    """Time real reports of RAPPOR, and score them beside counters drawn from their law."""
    people = crowd(str(setting["data"]), int(setting["n"]), int(setting["seed"]))
    stream, key = stream_of(setting)
    m = Rappor(0.5, 0.5, 0.75, int(setting["bits"]), int(setting["hashes"]), cohorts=1, key=key)
    memo, marks = Memo.draw(rng=stream), [time.perf_counter()]
    reports = m.encode(people.values, users=np.arange(people.n), memo=memo, rng=stream)
    marks.append(time.perf_counter())
    counts = m.aggregate(reports)
    found = fault.lasso_fit(m, counts, people.domain)
    marks.append(time.perf_counter())
    client, server = 1000 * np.diff(marks)
    law = fault.lasso_fit(m, by_law(m, people, stream), people.domain)
    numbers = {"client": float(client) / people.n, "server": float(server)}
    return numbers | scored(people, found) | errors(people, law, "_law")


def puzzle(setting: Mapping[str, Any]) -> dict[str, float]:
    """Run the fragment puzzle: the dictionary with the T strongest fragments, as published, and ours with its cuts."""
    words = datasets.anglicisms(int(setting["n"]), random_state=int(setting["seed"]))
    truth = Counter(words.to_pylist())
    stream, key = stream_of(setting)
    k, k2, width = int(setting["k"]), int(setting["k2"]), int(setting["m"])
    m = FragmentPuzzle(2, 6, k, width, k2, width, other="z", key=key)  # "z" adds no 28th symbol
    marks = [time.perf_counter()]
    reports = m.encode(words, rng=stream)
    marks.append(time.perf_counter())
    counts = m.aggregate(reports)
    marks.append(time.perf_counter())
    tops = THRESHOLDS if setting["part"] == "threshold" else (10,)
    parts = fault.top_fragments(m, counts, max(tops))
    numbers: dict[str, float] = {}
    for top in tops:
        texts = fault.joined(m, parts, top)
        tag = f"_{top}" if len(tops) > 1 else ""
        numbers |= _listed(texts, fault.sequence_counts(m, counts, texts), truth, tag)
    client, update = 1000 * np.diff(marks) / int(setting["n"])
    numbers |= {"client": float(client), "update": float(update)}
    if k2 <= 256 or (k, k2, width) == _DEPLOYED:  # our own search takes as long again
        start = time.perf_counter()
        ours = m.discover(counts)
        numbers |= {"dictionary": time.perf_counter() - start} | _found(ours, truth)
    return numbers


def prefix(setting: Mapping[str, Any]) -> dict[str, float]:
    """Run our best search for unknown strings, at the budget that the puzzle spends in sum."""
    words = datasets.anglicisms(int(setting["n"]), random_state=int(setting["seed"]))
    stream, key = stream_of(setting)
    m = PrefixExtension(8, pool=4096, width=256, key=key)
    return _found(m.discover(m.aggregate(m.encode(words, rng=stream))), Counter(words.to_pylist()))


def _found(ours: Any, truth: Counter[str]) -> dict[str, float]:
    texts = list(ours.strings)
    return {f"{name}_ours": value for name, value in _listed(texts, ours.estimate.count, truth, "").items()}


def _listed(texts: list[str], found: FloatArray, truth: Counter[str], tag: str) -> dict[str, float]:
    """Return the error over what was found, as published, and over what was found or is a true word; recall too."""
    error = np.abs(found - np.array([truth[t] for t in texts], np.float64))
    words = [word for word, _ in truth.most_common(10)]
    missed = [truth[word] for word in words if word not in set(texts)]
    numbers = {
        "candidates": float(len(texts)),
        "total_error": float(error.sum()),
        "recall": 1 - len(missed) / len(words),
        "union_error": (float(error.sum()) + sum(missed)) / max(len(texts) + len(missed), 1),
    }
    if texts:
        numbers["mean_error"] = float(error.mean())
        numbers["precision"] = sum(t in words for t in texts) / len(texts)
    return {f"{name}{tag}": value for name, value in numbers.items()}


def sizes(setting: Mapping[str, Any]) -> dict[str, float]:
    """Return the bits of a report: packed, and what Python objects take, a thousandfold, as bytes were called kB."""
    width = int(setting["m"])
    if setting["part"] == "PCMS-size":
        m: CountMeanSketch | HadamardSketch = CountMeanSketch(2, 1024, width, key=1)
        return {"bits": float(m.report_bits), "bits_in_memory": 8000.0 * fault.bytes_in_memory(width)}
    m = HadamardSketch(2, 1024, width, key=1)
    return {"bits": float(m.report_bits), "bits_in_memory": 8000.0 * fault.bytes_in_memory(None)}


def dense(setting: Mapping[str, Any]) -> dict[str, float]:
    """Time the published client of the Hadamard sketch, which multiplies the whole matrix."""
    return {"client": fault.dense_client(int(setting["m"]), int(setting["n"]))}
