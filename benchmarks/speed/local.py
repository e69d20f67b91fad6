"""Local mechanisms against pure-ldp and multi-freq-ldpy, a long stream, and the puzzle's dictionary, in one run.

    python -m benchmarks.speed.local [--long] [--skip-peers]

The setting: ε = 3, 1,024 values with Zipf shares, 128 rows of 1,024 buckets. Ours draws secure noise, as a device
would, and packs the reports; the peers draw from generators that are not secure, one report at a time, and are timed on
fewer reports. All times are wall time, the best of many runs of a millisecond or few on either side, so that other load
on the machine counts little. The errors on the same values are shown too, beside what theory says.

The stream: ``--long`` aggregates 10^8 values instead of 10^7. Memory is the peak of the process, and what of it came
while the stream passed.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks._bench import save, seconds, show
from discreet.local import CountMeanSketch, FragmentPuzzle, HadamardSketch, LocalHashing

EPSILON, VALUES, ROWS, WIDTH, KEY = 3, 1024, 128, 1024, 20260101
PEERS = ("pure-ldp", "multi-freq-ldpy")
#: Reports in a timed run of a few milliseconds: ours, and a peer's.
MANY = {"Hadamard sketch": 100_000, "count-mean sketch": 5_000, "local hashing": 10_000}
FEW, FEWER = 100, 4
REPEAT = 100
#: Reports on which the errors are compared.
COMPARED = 20_000
#: What this benchmark must show: times faster than the fastest peer.
TARGETS = {
    "Hadamard sketch, encode": 100,
    "Hadamard sketch, aggregate": 150,
    "count-mean sketch, encode": 50,
    "local hashing, decode": 1000,
}
SKETCHES: dict[str, Any] = {"Hadamard sketch": HadamardSketch, "count-mean sketch": CountMeanSketch}
#: The published data of the puzzle: loan words, and a tenth of random typing (spec local-sketches, 5.1).
WORDS = {
    "cool": 0.18, "brunch": 0.14, "outfit": 0.13, "follower": 0.11, "link": 0.11, "spoiler": 0.09,
    "influencer": 0.07, "smartphone": 0.06, "feedback": 0.06, "hobby": 0.05,
}  # fmt: skip
PUBLISHED_DICTIONARY_SECONDS = 2267

#: Seconds a report, by job; root mean square errors, by sketch and by whom.
Times = dict[str, float]
Errors = dict[str, dict[str, float]]


def zipf(n: int, seed: int = 0) -> np.ndarray:
    share = np.arange(1, VALUES + 1) ** -1.1
    return np.random.default_rng(seed).choice(VALUES, n, p=share / share.sum())


def rmse(estimates: Any, held: np.ndarray) -> float:
    return float(np.sqrt(((np.asarray(estimates) - held) ** 2).mean()))


def expected_rmse(m: Any, held: np.ndarray) -> float:
    squares = held * (held - 1.0)
    return float(np.sqrt(np.mean(m.variance(int(held.sum()), held, squares.sum() - squares))))


def best(work: Callable[[], object], n: int) -> float:
    """Return the best seconds a report of ``n``."""
    return seconds(work, repeat=REPEAT) / n


def ours(errors: Errors) -> Times:
    """Time our mechanisms, and note errors and theory."""
    times: Times = {}
    everything = range(VALUES)
    compared = zipf(COMPARED, seed=1)
    held = np.bincount(compared, minlength=VALUES)
    for name, kind in SKETCHES.items():
        m, n = kind(EPSILON, ROWS, WIDTH, key=KEY), MANY[name]
        values = zipf(n)
        reports = m.encode(values)
        counts = m.aggregate(reports)
        times[f"{name}, encode"] = best(lambda: m.encode(values), n)  # noqa: B023
        times[f"{name}, aggregate"] = best(lambda: m.aggregate(reports), n)  # noqa: B023
        times[f"{name}, estimate"] = best(lambda: m.estimate(counts, everything), VALUES)  # noqa: B023
        found = m.estimate(m.aggregate(m.encode(compared)), everything)
        errors[name] = {"theory": expected_rmse(m, held), "ours": rmse(found.count, held)}
    hashing, n = LocalHashing(EPSILON, key=KEY), MANY["local hashing"]
    sent = hashing.aggregate(hashing.encode(zipf(n)))
    times["local hashing, decode"] = best(lambda: hashing.estimate(sent, everything), n)
    return times


def pure_ldp(errors: Errors) -> Times | None:
    """Time the first peer, and note its errors."""
    try:
        from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
        from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    except ImportError:
        return None
    warnings.simplefilter("ignore")  # NumPy warns at every server made
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - what the peer draws from
    times: Times = {}
    values = zipf(COMPARED, seed=1).tolist()
    for name in SKETCHES:
        signs = name.startswith("Hadamard")
        server = CMSServer(EPSILON, ROWS, WIDTH, is_hadamard=signs)
        client = CMSClient(EPSILON, server.get_hash_funcs(), WIDTH, is_hadamard=signs)
        few = values[:FEW]
        times[f"{name}, encode"] = best(lambda: [client.privatise(v) for v in few], FEW)  # noqa: B023
        reports = [client.privatise(v) for v in few]
        times[f"{name}, aggregate"] = best(lambda: [server.aggregate(r) for r in reports], FEW)  # noqa: B023
        server.reset()
        for value in values:
            server.aggregate(client.privatise(value))
        start = time.perf_counter()
        found = server.estimate_all(range(VALUES), suppress_warnings=True)
        times[f"{name}, estimate"] = (time.perf_counter() - start) / VALUES
        errors[name]["pure-ldp"] = rmse(found, np.bincount(values, minlength=VALUES))
    one = {"d": VALUES, "use_olh": True, "index_mapper": lambda value: value}
    hashing, decoder = LHClient(EPSILON, **one), LHServer(EPSILON, **one)
    sent = [hashing.privatise(v) for v in values[:FEWER]]
    times["local hashing, decode"] = best(lambda: [decoder.aggregate(r) for r in sent], FEWER)
    return times


def multi_freq() -> Times | None:
    """Time the second peer: it has no sketch, and decodes local hashing."""
    try:
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    except ImportError:
        return None
    sent = [LH_Client(v, VALUES, EPSILON) for v in zipf(FEWER, seed=1).tolist()]
    return {"local hashing, decode": best(lambda: LH_Aggregator_MI(sent, VALUES, EPSILON), FEWER)}


def peak() -> float:
    """Return the peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stream(n: int) -> dict[str, Any]:
    """Encode and aggregate a stream, a million values at a time: the same ones over and over, with fresh noise."""
    m = HadamardSketch(EPSILON, ROWS, WIDTH, key=KEY)
    m.estimate(m.aggregate(m.encode(zipf(1000))), range(VALUES))  # pays for compilation
    held = np.zeros(VALUES, np.int64)
    pool = zipf(10**6)
    encoding = 0.0

    def reports() -> Iterator[Any]:
        nonlocal encoding
        for part in range(0, n, len(pool)):
            values = pool[: n - part]
            held[:] += np.bincount(values, minlength=VALUES)
            start = time.perf_counter()
            sent = m.encode(values)
            encoding += time.perf_counter() - start
            yield sent

    before, start, worked = peak(), time.perf_counter(), time.process_time()
    counts = m.aggregate(reports())
    total, worked = time.perf_counter() - start, time.process_time() - worked
    found = m.estimate(counts, range(VALUES))
    return {
        "values": n,
        "seconds": total,
        "processor_seconds": worked,
        "of_it_encoding": encoding,
        "peak_MiB": peak(),
        "more_MiB": peak() - before,
        "state_MiB": len(counts.to_bytes()) / 2**20,
        "error_over_theory": rmse(found.count, held) / expected_rmse(m, held),
    }


def dictionary(n: int = 50_000) -> dict[str, Any]:
    """Find the words of the published study with its largest sketches."""
    rng = np.random.default_rng(3)
    words = rng.choice(list(WORDS), n, p=list(WORDS.values())).astype(object)
    for i in np.flatnonzero(rng.random(n) < 0.1):
        words[i] = "".join(map(chr, rng.integers(97, 123, rng.integers(3, 9))))
    m = FragmentPuzzle(2, 6, n_hashes=2048, width=1024, fragment_hashes=2048, fragment_width=1024, key=KEY)
    counts = m.aggregate(m.encode(words.tolist()))
    m.discover(counts)  # pays for compilation
    start, worked = time.perf_counter(), time.process_time()
    found = m.discover(counts)
    spent, worked = time.perf_counter() - start, time.process_time() - worked
    right = set(found.strings) & set(m.normalise(list(WORDS)))
    return {
        "reports": n,
        "seconds": spent,
        "processor_seconds": worked,
        "wanted": 10,
        "published": PUBLISHED_DICTIONARY_SECONDS,
        "recall": len(right) / len(WORDS),
        "precision": len(right) / max(len(found.strings), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="a stream of 10^8 values instead of 10^7")
    parser.add_argument("--skip-peers", action="store_true")
    asked = parser.parse_args()
    condition = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the start"
    flow = stream(10**8 if asked.long else 10**7)  # first, since the peak of memory is the process's
    errors: Errors = {}
    mine = ours(errors)
    peers: list[Times | None] = [] if asked.skip_peers else [pure_ldp(errors), multi_freq()]
    if None in peers:
        print("A peer is not installed and is left out: pip install -e '.[bench]'")
    pieces = dictionary()
    rows, facts = [], []
    for job, spent in mine.items():
        theirs = {name: times[job] for name, times in zip(PEERS, peers, strict=False) if times and job in times}
        ratio = min(theirs.values()) / spent if theirs else None
        shown = [theirs[name] * 1e6 if name in theirs else "" for name in PEERS]
        rows.append([job, spent * 1e9, *shown, ratio or "", TARGETS.get(job, "")])
        facts.append({"job": job, "seconds_each": {"ours": spent, **theirs}, "times_faster": ratio})
        if job in TARGETS:
            facts[-1]["wanted"] = TARGETS[job]
    title = f"ε = {EPSILON}, {VALUES} values, {ROWS} rows, width {WIDTH}; {condition}"
    show(title, ["job", "ours, ns each", *(f"{name}, µs" for name in PEERS), "times faster", "wanted"], rows)
    compared = [[name, *of.values()] for name, of in errors.items()]
    show(f"root mean square error, {COMPARED:,} reports", ["", *errors["Hadamard sketch"]], compared)
    show("a stream", list(flow), [list(flow.values())])
    show("the puzzle's dictionary, k' = 2048, m' = 1024", list(pieces), [list(pieces.values())])
    setting = {"epsilon": EPSILON, "values": VALUES, "rows": ROWS, "width": WIDTH, "condition": condition}
    results = {"results": facts, "root_mean_square_errors": errors, "stream": flow, "dictionary": pieces}
    save("local", {"setting": setting, **results}, "numpy", "numba", "xxhash", *PEERS)


if __name__ == "__main__":
    main()
