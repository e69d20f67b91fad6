"""The audited mechanisms of `discreet.local`, with settings so small that every report is frequent."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from discreet import local
from discreet.core import FloatArray
from discreet.evaluation.audits.neighbours import NeighbourPair
from discreet.evaluation.registry.mechanisms import AuditedMechanism

_KEY = 7
#: A table of weights, and the values that its reports speak for.
_MORE, _LESS = 2**40, 148_802_717_568  # a ratio just below e^2
_EVEN = (_MORE + _LESS) // 2
_OWN: dict[str, Any] = {"weights": ((_MORE, _LESS, _EVEN), (_EVEN, _MORE, _LESS), (_LESS, _EVEN, _MORE))}
_CROWD, _SHUFFLE_DELTA = 40, 0.01


def entries() -> Iterator[AuditedMechanism]:
    first_last = (NeighbourPair("two values", 0, 1), NeighbourPair("a value against one that is not listed", 0, None))
    words = (NeighbourPair("two texts", "ab", "cd"), NeighbourPair("a text against a missing one", "ab", None))
    numbers = (NeighbourPair("both ends", 0.0, 1.0), NeighbourPair("an end against a missing one", 0.0, None))
    vectors = (NeighbourPair("opposite corners", (0.0, 0.0), (1.0, 1.0)),)
    sketch: dict[str, Any] = {"n_hashes": 2, "width": 4, "key": _KEY}
    fragments: dict[str, Any] = {"fragment_hashes": 2, "fragment_width": 4, "length": 2, **sketch, "width": 2}
    listed: list[tuple[str, Any, tuple[NeighbourPair, ...]]] = [
        ("DirectResponse", local.DirectResponse(2, 4), first_last),
        ("UnaryEncoding/optimised", local.UnaryEncoding(2, 4), first_last),
        ("UnaryEncoding/symmetric", local.UnaryEncoding(2, 4, "symmetric"), first_last),
        ("SubsetSelection", local.SubsetSelection(2, 5, 2), first_last),
        ("HadamardResponse", local.HadamardResponse(2, 4), first_last),
        ("ProjectiveGeometry", local.ProjectiveGeometry(2, 7, 2), first_last),
        ("LocalHashing", local.LocalHashing(2, width=3, pool=4, key=_KEY), words),
        ("CountMeanSketch", local.CountMeanSketch(2, **sketch), words),
        ("HadamardSketch", local.HadamardSketch(2, **sketch), words),
        ("HadamardSketch/skip zero", local.HadamardSketch(2, **sketch, skip_zero=True), words),
        ("BitFlip", local.BitFlip(2, 4, 2), first_last),
        ("BitFlip/one bit", local.BitFlip(2, 4, 1), first_last),
        ("OwnOracle", local.OwnOracle(2, 3, **_OWN), first_last),
        ("SquareWave", local.SquareWave(2, 0, 1, 8), numbers),
        *((f"MeanResponse/{m}", local.MeanResponse(2, 0, 1, m, 4), numbers) for m in ("hybrid", "piecewise", "duchi")),
        ("MeanVector", local.MeanVector(2, (0, 0), (1, 1), steps=4), vectors),
        ("PrefixExtension", local.PrefixExtension(2, length=2, width=3, pool=2, key=_KEY), words),
        ("FragmentPuzzle/budget", local.FragmentPuzzle(1, 1, **fragments), words),
        ("FragmentPuzzle/users", local.FragmentPuzzle(1, 2, **fragments, split="users"), words),
    ]
    for name, mechanism, pairs in listed:
        yield of_mechanism(f"local.{name}", mechanism, pairs)
    yield from _remembering(first_last, words)
    mechanism = local.DirectResponse(1, 2)
    bound = local.shuffled(mechanism, _CROWD, _SHUFFLE_DELTA)
    pairs = (NeighbourPair("everyone else holds the first value", 0, 1),)
    yield AuditedMechanism(
        "local.shuffled", partial(_crowd, mechanism), pairs, bound.epsilon, _SHUFFLE_DELTA, trials=4000
    )
    yield from _bitmaps()


def of_mechanism(name: str, mechanism: Any, pairs: tuple[NeighbourPair, ...] = ()) -> AuditedMechanism:
    """Return the audit of a local mechanism; of an own oracle, by default, for the values that are easiest to tell."""
    if not pairs:
        table = np.array(mechanism.weights, np.float64)
        worst = int((table.max(axis=0) / table.min(axis=0)).argmax())
        labels, _ = mechanism.choices.candidates(None)
        ends = labels[int(table[:, worst].argmax())], labels[int(table[:, worst].argmin())]
        pairs = (NeighbourPair("the two values that are easiest to tell apart", *ends),)
    return AuditedMechanism(
        name, partial(_reports, mechanism), pairs, float(mechanism.epsilon),
        features=ReportWords(8 * mechanism.layout.size), trials=10_000, law=partial(_law, mechanism),
    )  # fmt: skip


def _remembering(values: tuple[NeighbourPair, ...], texts: tuple[NeighbourPair, ...]) -> Iterator[AuditedMechanism]:
    """Yield mechanisms that answer from a stored response: several reports of one user with one value."""
    rappor = local.Rappor(0.5, 0.25, 0.75, bits=4, hashes=1, cohorts=2, key=_KEY)
    flip = local.BitFlip(2, 4, 2, memoised=True)
    listed: list[tuple[str, Any, int, float, tuple[NeighbourPair, ...]]] = [
        ("Rappor/one report", rappor, 1, float(rappor.epsilon), texts),
        ("Rappor/five reports", rappor, 5, rappor.epsilon_over(5), texts),
        ("BitFlip/stored", flip, 3, float(flip.epsilon), values),
    ]
    for name, mechanism, rounds, epsilon, pairs in listed:
        features = ReportWords(8 * mechanism.layout.size * rounds)
        yield AuditedMechanism(
            f"local.{name}", partial(_stored, mechanism, rounds), pairs, epsilon, features=features, trials=10_000
        )


def _bitmaps() -> Iterator[AuditedMechanism]:
    """Yield bitmaps of a holder, without and with one item or person."""
    of_items = local.DistinctSketch(1, buckets=8, levels=1, key=_KEY)
    of_persons = local.DistinctSketch(2, buckets=8, levels=1, items=2, key=_KEY)
    items = (
        NeighbourPair("no one against one item", ([],), (["ab"],)),
        NeighbourPair("an item twice, another one more", (["ab", "ab"],), (["ab", "ab", "cd"],)),
        NeighbourPair("an item against one that is missing too", (["ab"],), (["ab", None],)),
    )
    persons = (
        NeighbourPair("no one against one person", ([], []), (["ab", "cd", "ef", "gh"], ["ann"] * 4)),
        NeighbourPair("one person against two", (["ab"], ["ann"]), (["ab", "cd", "ef"], ["ann", "bob", "bob"])),
    )
    for name, mechanism, pairs, law in (
        ("DistinctSketch", of_items, items, partial(_bitmap_law, of_items)),
        ("DistinctSketch/persons", of_persons, persons, None),
    ):
        yield AuditedMechanism(
            f"local.{name}", partial(_bitmap, mechanism), pairs, float(mechanism.epsilon), batch=False,
            features=ReportWords(8), trials=500, law=law,
        )  # fmt: skip


def _bitmap(mechanism: local.DistinctSketch, held: tuple[list[Any], ...], rng: Any) -> Any:
    return mechanism.sketch(*held, rng=rng).rows[0]


def _bitmap_law(mechanism: local.DistinctSketch, held: tuple[list[Any], ...]) -> dict[str, float]:
    return _by_report(*mechanism.sketch_law(*held))


def _law(mechanism: Any, value: Any) -> dict[str, float]:
    return _by_report(*mechanism.report_law(value))


def _by_report(rows: Any, chances: Any) -> dict[str, float]:
    return {row.tobytes().hex(): float(chance) for row, chance in zip(rows, chances, strict=True)}


def _reports(mechanism: Any, value: Any, rng: Any, size: int) -> Any:
    return mechanism.encode(_repeated(value, size), rng=rng).rows


def _stored(mechanism: Any, rounds: int, value: Any, rng: Any, size: int) -> Any:
    """Return several reports of each user, with a new secret for every batch."""
    memo = local.Memo.draw(rng=rng)
    values, users = _repeated(value, size), np.arange(size)
    made = [mechanism.encode(values, users, memo=memo, rng=rng).rows for _ in range(rounds)]
    return np.concatenate(made, axis=1)


def _crowd(mechanism: Any, value: Any, rng: Any, size: int) -> Any:
    """Return the number of ones among shuffled binary reports; one of the users holds the value in question."""
    held = np.zeros((size, _CROWD), np.int64)
    held[:, 0] = value
    reports = mechanism.encode(held.ravel(), rng=rng)
    return reports.field("value").reshape(size, _CROWD).sum(axis=1)


def _repeated(value: Any, size: int) -> Any:
    return np.tile(value, (size, 1)) if isinstance(value, tuple) else [value] * size


class ReportWords:
    """Packed reports as numbers: the whole report if it fits into a double, and every bit."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        whole = ("report",) if bits <= 48 else ()
        self.names = (*whole, *(f"bit {i}" for i in range(bits)))

    def __call__(self, release: Any) -> FloatArray:
        return np.asarray(self.batch(np.asarray(release)[None])[0])

    def batch(self, releases: Any) -> FloatArray:
        rows = np.asarray(releases, np.uint8)
        bits = np.unpackbits(rows, axis=1).astype(np.float64)
        if self.bits > 48:
            return bits
        place = 256.0 ** np.arange(rows.shape[1])[::-1]
        return np.column_stack([rows @ place, bits])
