"""Read a release from its bytes, count it again and compare it with its guarantee."""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import json
import math
import re
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from second_reader.reading import Case, Objections, seal

#: A share of the standard deviations of a rank correlation that a random order exceeds once in 10^8 releases.
_SORTED = 5.8


def check(case: Case) -> Objections:
    """Read the bytes by their kind."""
    from second_reader.released_tables import anonymous_table

    yield from {"synopsis": _synopsis, "centers": _centers, "moments": _moments,
                "reports": _local, "counts": _local, "noisy": _noisy,
                "table": anonymous_table}[case.made.kind](case)  # fmt: skip


def ends(column: dict[str, Any]) -> tuple[float, float]:
    """The axis of a column; a date is its day since 1970, a category its number."""
    if "categories" in column:
        return 0.0, float(len(column["categories"]))
    low, high = column["bounds"]
    if isinstance(low, str):
        return tuple(float(np.datetime64(x, "D").astype(int)) for x in (low, high))  # type: ignore[return-value]
    return float(low), float(high)


def sealed(case: Case, *pieces: bytes) -> Objections:
    if seal(case.promise, *pieces) != case.promise["digest"]:
        yield "the seal is not that of these bytes and this promise"


# ---- synopses


def _synopsis(case: Case) -> Objections:
    data = case.made.payload
    mark = data.rfind(b"discreet-file-sha256:") + 21
    if data[mark : mark + 64] != hashlib.sha256(data[:mark] + b"0" * 64 + data[mark + 64 :]).hexdigest().encode():
        yield "the checksum of the file is wrong"
        return
    file = pq.ParquetFile(io.BytesIO(data))
    table, metadata = file.read(), file.metadata.metadata
    facts = json.loads(metadata[b"discreet.synopsis"])
    if json.loads(metadata[b"discreet.guarantee"]) != case.promise:
        yield "the file carries another promise"
    names = list(case.columns)
    arrays = {end: _matrix(table, names, tail) for end, tail in (("lower", "from"), ("upper", "to"), ("points", "at"))}
    arrays |= {"weights": table["weight"].to_numpy(), "variances": table["variance"].to_numpy()}
    expected = [f"{n}_{e}" for n in names for e in ("from", "to")] + [f"{n}_at" for n in names] + ["weight", "variance"]
    if table.column_names not in (expected, [*expected, "tree"]):
        yield f"undeclared columns: {table.column_names}"
    everything = {**arrays, **_nodes(table, names)}
    layout = {name: [x.dtype.kind, *x.shape] for name, x in everything.items()}
    head = json.dumps({**facts, "arrays": layout}, sort_keys=True, separators=(",", ":")).encode()
    raw = [np.ascontiguousarray(x).tobytes() for x in everything.values()]
    yield from sealed(case, len(head).to_bytes(8, "big") + head, *raw)
    yield from _leaves(case, facts, arrays)
    if "clusters" in case.made.extra:
        yield from _clusters(case, case.made.extra["clusters"], facts["hidden"], arrays)
    warned = [s for s in case.made.said if "cannot be told from zero" in s]
    total, error = facts["total"], math.sqrt(facts["total_variance"])
    if bool(warned) != (total <= math.log(50) / math.sqrt(2) * error):
        yield f"whether {total} rows, give or take {error}, may be none is told wrongly"
    if warned:
        shown = re.search(r"about ([\d,]+) rows?, standard error ([\d.,]+)\)", warned[0])
        said = [float(x.replace(",", "")) for x in shown.groups()] if shown else [math.nan] * 2
        if abs(said[0] - max(total, 0)) > 0.5 or abs(said[1] - error) > 0.051:
            yield f"the warning says {said}, the file {total} and {error}"


def _matrix(table: Any, names: list[str], tail: str) -> Any:
    return np.column_stack([table[f"{n}_{tail}"].to_numpy() for n in names])


def _nodes(table: Any, names: list[str]) -> dict[str, Any]:
    if "tree" not in table.column_names:
        return {}
    nodes = table["tree"].combine_chunks()[0].values
    flat = pa.Table.from_arrays(nodes.flatten(), names=[f.name for f in nodes.type])
    found = {f"tree.{n}": flat[n].to_numpy() for n in ("parent", "depth", "leaf", "axis")}
    found |= {"tree.lower": _matrix(flat, names, "from"), "tree.upper": _matrix(flat, names, "to")}
    return found | {f"tree.{n}": flat[n].to_numpy() for n in ("estimate", "variance", "threshold")}


def _clusters(case: Case, found: dict[str, Any], hidden: Any, arrays: dict[str, Any]) -> Objections:
    """Check statements about clusters: a standard error is that of the counts of the leaves nearest to a centre."""
    axes = [list(case.columns).index(name) for name in found["columns"]]
    centers, said = np.array(found["centers"]), np.array(found["std_errors"])
    low, high = np.array([ends(c) for c in case.columns.values()]).T[:, axes]
    if (centers < low - 1e-9 * (high - low)).any() or (centers > high + 1e-9 * (high - low)).any():
        yield "a centre lies outside the declared domain"
    if not len(centers) == len(said) == len(found["weights"]) == len(found["may_be_noise"]):
        yield "not every centre has a weight, its error and whether it may be noise"
        return
    points = arrays["points"][:, axes]
    placed = np.isfinite(points).all(axis=1)
    gaps = np.linalg.norm(points[placed, np.newaxis] - centers, axis=2)
    two = np.sort(gaps, axis=1)[:, :2]
    if not placed.any() or (two.shape[1] == 2 and (two[:, 1] - two[:, 0] <= 1e-9 * two[:, 1]).any()):
        return  # which centre a leaf in the middle between two belongs to is not told
    owner = gaps.argmin(axis=1)
    errors = np.sqrt(np.bincount(owner, arrays["variances"][placed], len(centers)))
    if not np.allclose(said, errors, rtol=1e-9, atol=1e-9):
        yield f"standard errors {said} of the weights of clusters, which are {errors}"
    drawn = np.bincount(owner, arrays["weights"][placed], len(centers))
    if hidden is None:
        least = np.minimum(found["weights"], drawn)
        doubtful = (least <= math.log(50) / math.sqrt(2) * errors) & (errors > 0)
        if (doubtful & ~np.array(found["may_be_noise"])).any():  # refined counts, which are in no file, may add doubts
            yield f"clusters of {least} rows, give or take {errors}, may be noise: {found['may_be_noise']}"


def _leaves(case: Case, stored: dict[str, Any], arrays: dict[str, Any]) -> Objections:
    facts, lower, upper, points = case.facts, arrays["lower"], arrays["upper"], arrays["points"]
    low, high = np.array([ends(c) for c in case.columns.values()]).T
    slack = 1e-9 * (high - low)
    if (lower < low - slack).any() or (upper > high + slack).any() or (upper < lower).any():
        yield "a leaf lies outside the declared domain"
    if (points < lower - slack).any() or (points > upper + slack).any():
        yield "a representative lies outside its leaf"
    for name in stored["uncut"]:
        j = list(case.columns).index(name)
        if (lower[:, j] > low[j] + slack[j]).any() or (upper[:, j] < high[j] - slack[j]).any():
            yield f"{name} is called uncut, and was cut"
    hidden, weights = stored["hidden"], arrays["weights"]
    if hidden is None:
        volume = np.prod((upper - lower) / (high - low), axis=1).sum()
        if abs(volume - 1) > 1e-6:
            yield f"the leaves cover {volume} of the domain"
        if facts.get("method") == "grid" and facts["n_cells"] != len(lower):
            yield f"{len(lower)} cells, not {facts['n_cells']}"
    elif (weights <= hidden["cutoff"]).any():
        yield "a listed cell lies below the cutoff"
    if facts.get("method") == "grid" and any(line["label"] == "cells" for line in case.promise["ledger"]):
        # What is missing has a part of its own where the schema says so.
        own = [c["missing"] == "own" for c in case.columns.values()]
        if facts["n_cells"] != math.prod(p + o for p, o in zip(facts["parts"], own, strict=True)):
            yield f"{facts['parts']} parts are not {facts['n_cells']} cells"
        price = next(line["amount"] for line in case.promise["ledger"] if line["label"] == "cells")
        if not facts["leaf_means"] and price != "inf" and case.promise["accounting"] == "epsilon":
            # Discrete Laplace noise of scale 1/ε: what a count that moves by one needs; a person moves it by rows.
            moves = re.search(r"at most ([\d,]+) used", case.promise["unit"])
            level = float(Fraction(price)) / (int(moves[1].replace(",", "")) if moves else 1)
            law = 2 * math.exp(-level) / math.expm1(-level) ** 2
            if not np.allclose(arrays["variances"], law, rtol=1e-9):
                yield f"noise of variance {arrays['variances'][:1]} where ε = {price} asks for {law}"
            if (weights != np.rint(weights)).any():
                yield "a noisy count is not a whole number"


# ---- centres of DPLloyd


def _centers(case: Case) -> Objections:
    centers = np.frombuffer(case.made.payload).reshape(-1, len(case.columns))
    low, high = np.array([ends(c) for c in case.columns.values()]).T
    # Where a synopsis has fewer cells than clusters were asked for, there are fewer centres.
    if not 1 <= len(centers) <= case.facts["n_clusters"]:
        yield f"{len(centers)} centres, not {case.facts['n_clusters']}"
    if (centers < low - 1e-9).any() or (centers > high + 1e-9).any():
        yield "a centre lies outside the domain"
    steps = [line for line in case.promise["ledger"] if line["label"].startswith("iteration")]
    if len(steps) != case.facts["iterations"]:
        yield f"{len(steps)} iterations were paid, {case.facts['iterations']} are stated"
    yield from sealed(case, case.made.payload)


# ---- moments of models


def _moments(case: Case) -> Objections:
    values = np.frombuffer(case.made.payload)
    levels = [len(c.get("categories", ())) for c in case.columns.values()]
    terms = [max(n - 1, 0) if n else 1 for n in levels]
    squares = sum(not n for n in levels)
    pairs = (sum(terms) ** 2 - sum(t * t for t in terms)) // 2
    if len(values) != 1 + sum(terms) + squares + pairs:
        yield f"{len(values)} sums of products of {len(levels)} columns were published"
    if case.facts["features"] != sum(terms):
        yield f"{case.facts['features']} features are stated, {sum(terms)} follow from the columns"
    if (values * 2**20 != np.rint(values * 2**20)).any():
        yield "a noisy sum is not a whole number of its steps"
    lines = [line["label"] for line in case.promise["ledger"] if line["label"] not in ("rows per person",)]
    if lines != ["moments"]:
        yield f"{lines} were paid, not the moments alone"
    yield from sealed(case, case.made.payload)


# ---- local reports and counts


def _local(case: Case) -> Objections:
    data, facts = case.made.payload, case.facts
    if data[:4] != b"DSCL" or hashlib.sha256(data[:-32]).digest() != data[-32:]:
        yield "the message is damaged"
    length = int.from_bytes(data[8:12], "little")
    header, rest = json.loads(data[12 : 12 + length]), data[12 + length : -32]
    n, body = int.from_bytes(rest[:8], "little"), rest[16:]
    if header != facts:
        yield "the message was made with other parameters than the promise states"
        return
    if bool(data[6] & 1) != case.promise["seeded"]:
        yield "the message and the promise disagree on whether the noise was seeded"
    if case.promise["model"] != "local":
        yield "reports are made in the local model"
    epsilon = _local_epsilon(facts)
    if epsilon is not None and abs(case.epsilon - epsilon) > 1e-9 * max(epsilon, 1):
        yield f"the parameters cost {epsilon}, not {case.epsilon}"
    if case.made.kind == "counts":
        yield from _counters(case, n, np.frombuffer(body, "<i8")[1:])
    elif n and len(body) % n:
        yield "reports are not of one length"


def _local_epsilon(facts: dict[str, Any]) -> float | None:
    """ε from the law that the parameters state: the largest ratio of the chances of a report."""
    if facts["mechanism"] == "rappor":
        f, p, q = (float(Fraction(str(facts[name]))) for name in ("f", "p", "q"))
        mixed = f / 2 * (p + q)
        one, zero = mixed + (1 - f) * q, mixed + (1 - f) * p
        return float(facts["hashes"] * math.log(one * (1 - zero) / (zero * (1 - one))))
    if facts["mechanism"] == "fragment-puzzle":
        both = [Fraction(facts["epsilon_sequence"]), Fraction(facts["epsilon_fragment"])]
        return float(sum(both) if facts["split"] == "budget" else max(both))
    return float(Fraction(facts["epsilon"]))


def _counters(case: Case, n: int, counters: Any) -> Objections:
    facts, found = case.facts, case.made.extra.get("estimates")
    name = facts["mechanism"]
    if name in ("direct-response", "projective-geometry", "square-wave", "mean-response") and counters.sum() != n:
        yield f"{counters.sum()} reports counted, {n} stated"
    if not found:
        return
    d, e = len(counters), math.exp(case.epsilon)
    if name == "direct-response":
        p, q = e / (e + d - 1), 1 / (e + d - 1)
    elif facts["variant"] == "symmetric":
        p, q = math.sqrt(e) / (math.sqrt(e) + 1), 1 / (math.sqrt(e) + 1)
    else:
        p, q = 0.5, 1 / (e + 1)
    if found["n"] != n or not np.allclose(found["counts"], (counters - n * q) / (p - q), rtol=1e-6, atol=1e-6):
        yield "the estimates do not follow from the counts and the stated law"


# ---- perturbed tables


def read_table(case: Case) -> Any:
    buffer, form = io.BytesIO(case.made.payload), case.facts.get("csv", {})
    if case.made.suffix == ".parquet":
        return pq.read_table(buffer)
    if case.made.suffix == ".xlsx":
        buffer = _sheet(buffer)
    options = pa_csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
        decimal_point=form.get("decimal", "."),
    )  # fmt: skip
    parsed = pa_csv.ParseOptions(delimiter=form.get("delimiter", ","))
    table = pa_csv.read_csv(buffer, parse_options=parsed, convert_options=options)
    if bool(form.get("bom")) != case.made.payload.startswith(b"\xef\xbb\xbf"):
        raise AssertionError("the file is not marked as its promise says")
    return table


def _sheet(file: io.BytesIO) -> io.BytesIO:
    """The cells of a workbook as CSV; no cell may hold a formula."""
    text = io.StringIO()
    for row in openpyxl.load_workbook(file).active.iter_rows():
        assert all(cell.data_type != "f" for cell in row)
        values = [v.date().isoformat() if isinstance(v := cell.value, datetime.datetime) else v for cell in row]
        csv.writer(text).writerow(values)
    return io.BytesIO(text.getvalue().encode())


def _numbers(column: Any) -> Any:
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.date32()).cast(pa.int32())
    return column.cast(pa.float64()).to_numpy()


def escaped(case: Case, text: str) -> str:
    """A text as it is written: where the promise says so, with an apostrophe before what a spreadsheet would run."""
    return "'" + text if case.facts.get("formulas") == "escaped" and text[:1] in ("=", "+", "-", "@") else text


def no_metadata(table: Any) -> Objections:
    """Nothing of the input's form travels with a table."""
    for key in table.schema.metadata or {}:
        if key not in (b"discreet.guarantee", b"ARROW:schema"):
            yield f"the file carries metadata {key!r}"


def _noisy(case: Case) -> Objections:
    facts, table = case.facts, read_table(case)
    yield from sealed(case, case.made.payload)
    yield from no_metadata(table)
    if table.column_names != list(case.columns):
        yield f"columns {table.column_names} are released, {list(case.columns)} declared"
        return
    if table.num_rows != case.made.rows:
        yield f"{table.num_rows} rows of {case.made.rows}"
    for name, column in case.columns.items():
        if not table.num_rows:
            continue
        if "categories" in column:
            said = {escaped(case, str(c)) for c in column["categories"]}
            odd = set(map(str, table[name].to_pylist())) - said
            if odd:
                yield f"{name} holds {odd}, which is not declared"
            continue
        values, (low, high) = _numbers(table[name]), ends(column)
        inside = facts.get("remap") in ("clip", "resample") or (facts.get("remap") == "grid" and "step" in facts)
        if inside and facts["scaling"]["kind"] == "box" and (values < low - 1).any() | (values > high + 1).any():
            yield f"{name} leaves its bounds"
        if not np.isfinite(values).all() and facts.get("attributes") != "sample":
            yield f"{name} holds what is no number"
    if facts.get("attributes") == "sample" and table.num_rows:
        numeric = [name for name, c in case.columns.items() if "categories" not in c]
        # What was not drawn to be reported is missing, or is in the middle of its column.
        held = np.array([_numbers(table[name]) for name in numeric])
        middle = np.array([sum(ends(case.columns[name])) / 2 for name in numeric])[:, np.newaxis]
        if ((np.isfinite(held) & ~np.isclose(held, middle, rtol=1e-12)).sum(axis=0) > facts["reported"]).any():
            yield f"a row tells more than {facts['reported']} numbers"
    yield from _rates(case)
    yield from _lattice_places(case, table)
    yield from _walks(case)
    first = case.made.sorted_by
    if first and "bounds" in case.columns[first] and "point_epsilon" not in facts and table.num_rows >= 30:
        yield from in_random_order(case, _numbers(table[first]))


def in_random_order(case: Case, values: Any) -> Objections:
    """Input rows rise in this column; shuffled ones must not, beyond chance. Equal values share a rank."""
    _, place, often = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(often) - (often - 1) / 2)[place]
    if case.facts["order"] not in ("shuffled", "users shuffled") or ranks.std() == 0:
        return
    sign = np.corrcoef(ranks, np.arange(len(ranks)))[0, 1] * math.sqrt(len(ranks) - 1)
    if sign > _SORTED:
        yield f"the rows are called shuffled, and rise by {sign:.1f} standard deviations"


def _rates(case: Case) -> Objections:
    """Rate, noise rate and levels against ε, the radius and what rounding adds to a distance."""
    facts, lines = case.facts, case.promise["ledger"]
    own = [line for line in lines if not line["label"].startswith("category of ")]
    level = float(sum(Fraction(line["amount"]) for line in own)) if "inf" not in str(own) else math.inf
    for name, amount in facts.get("category_epsilon", {}).items():
        if (f"category of '{name}'", amount) not in [(line["label"], line["amount"]) for line in lines]:
            yield f"the budget of category {name} is not in the ledger"
    if "epsilon_each" in facts and own:
        if facts["epsilon_each"] != "inf" and Fraction(facts["epsilon_each"]) * facts["reported"] != Fraction(
            own[0]["amount"]
        ):
            yield "the numbers that are reported do not cost what is said"
        if own[0]["label"] != f"{facts['reported']} of {facts['dimension']} numbers, equal parts":
            yield "the ledger names other numbers than the parameters"
    if "cap_chance" in facts and facts["cap_chance"] < 1 - 1e-12:
        chance, share = facts["cap_chance"], facts["cap_share"]
        if chance / share * (1 - share) / (1 - chance) > math.exp(level) * (1 + 1e-6):
            yield "the cap tells more than ε"
    if facts.get("radius") is None or facts["noise_rate"] == "inf":
        return
    radius, rounding, noise = facts["radius"], facts["rounding"], facts["noise_rate"]
    if facts["mechanism"].startswith("Trajectory"):
        point = float(Fraction(facts["point_epsilon"]))
        if noise * radius > point:
            yield "a fresh place costs more than is said"
        return
    times = 2 if facts.get("remap") == "resample" else 1
    # Exactly at the radius the level is ε, with what rounding adds; a slightly weaker noise would be a false promise.
    if not math.isclose(noise * times * (radius + rounding), level, rel_tol=1e-9):
        yield f"the noise gives {noise * times * (radius + rounding)} at the radius, not {level}"
    if not math.isclose(facts["rate"] * radius, level, rel_tol=1e-9):
        yield "rate times radius is not ε"
    if not math.isclose(facts["epsilon_at_diameter"], noise * times * (facts["diameter"] + rounding), rel_tol=1e-9):
        yield "the level at the diameter does not follow from the rate"
    if facts["scaling"]["kind"] == "box":
        least = facts["step"] * math.sqrt(facts["dimension"])
        if rounding < least:
            yield f"rounding moves rows apart by up to {least}, more than c = {rounding}"
    near = re.search(r"(?:distance|places) ([\d.]+(?:e[+-]?\d+)?)", case.promise["neighbours"])
    if not near or not radius * (1 - 1e-5) <= float(near[1].rstrip(".")) <= radius:
        yield f"the neighbours are {case.promise['neighbours']!r}, the radius is {radius}"


def _lattice_places(case: Case, table: Any) -> Objections:
    facts = case.facts
    if facts.get("remap", "none") != "none" or facts.get("scaling", {}).get("kind") != "box" or not table.num_rows:
        return
    numeric = [name for name, c in case.columns.items() if "categories" not in c]
    for name, unit in zip(numeric, facts["scaling"]["units"], strict=True):
        if isinstance(case.columns[name]["bounds"][0], str):
            continue  # dates are written to the day
        places = (_numbers(table[name]) - ends(case.columns[name])[0]) / unit / facts["step"]
        if (np.abs(places - np.rint(places)) > 1e-3 + 1e-9 * np.abs(places)).any():
            yield f"{name} holds values beside the stated lattice"


def _walks(case: Case) -> Objections:
    known, facts = case.made.extra, case.facts
    if "trajectory" not in known:
        return
    test, point = Fraction(facts["test_epsilon"]), Fraction(facts["point_epsilon"])
    cost: dict[int, Fraction] = defaultdict(Fraction)
    for whose, fresh, tested in zip(known["trajectory"], known["fresh"], known["tested"], strict=True):
        cost[whose] += fresh * point + tested * test
    if max(cost.values()) > Fraction(case.promise["spent"]):
        yield f"a trajectory cost {max(cost.values())}"
    if facts["order"] == "users shuffled" and known["trajectory"] != sorted(known["trajectory"]):
        yield "users are not one behind the other"
