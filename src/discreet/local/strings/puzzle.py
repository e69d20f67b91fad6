"""The sequence fragment puzzle: find frequent unlisted strings by joining fragments.

Apple Differential Privacy Team, "Learning with Privacy at Scale" (2017). Every device sends two count-mean reports: one
of its whole string, and one of a two-character fragment with an 8-bit hash of the string. The collector finds frequent
(hash, fragment) pairs at every position, joins those of one hash, drops strings with another hash, and estimates the
rest in the sketch of whole strings.
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, Budget, FloatArray, IntArray, checks, option
from discreet.errors import InvalidArgument
from discreet.local.estimates import Estimate, family_wise
from discreet.local.mechanism import KEY, REPORT_EPSILON, Mechanism, adds_up, rows_within
from discreet.local.sketches.count_mean import CountMeanSketch
from discreet.local.strings import candidates as search
from discreet.local.strings.alphabet import ALPHABET, LENGTH, OTHER, Alphabet, Symbols
from discreet.local.strings.heavy import HeavyHitters, Stage
from discreet.local.support import asked
from discreet.local.wire.bits import Layout, Rows, bits_for
from discreet.local.wire.counts import Counts
from discreet.noise import Generator
from discreet.noise.reports import Together

#: Values of the hash that fragments of one string share.
_HASHES = 256
_FRAGMENT = 2
#: With more symbols the 256 S² fragments of a position are too many to look up.
_MOST_SYMBOLS = 128
#: Numbers of the keys derived from the public one.
_SEQUENCE, _PIECE, _TOGETHER = 0, 1, 2


class FragmentPuzzle(Mechanism):
    """Find the frequent strings among texts, without a list of candidates.

    Notes
    -----
    With S symbols (the end of a text and ``other`` included), a fragment of the symbols c₁, c₂ in a string with hash w
    is sketched as the whole number w S² + c₁ S + c₂. The hash w is the lowest byte of the keyed fingerprint of the
    normalised text. The keys of the two sketches and of w are derived: number i has as its low and high half the
    fingerprints of the whole numbers 2i and 2i + 1 under ``key``.

    Privacy
    -------
    Neighbours: any two values of one user. The position does not depend on the string. The two reports are independent
    count-mean reports of functions of the string, with ratios of at most e^ε and e^ε′; together at most e^(ε+ε′),
    reached by two strings that differ in both buckets. Cost: ε + ε′ per user, the sum in `epsilon`. With
    ``split="users"`` a report is one of the two, chosen independently of the string: max(ε, ε′).

    Examples
    --------
    >>> m = FragmentPuzzle(2, 6, n_hashes=256, width=64, fragment_hashes=256, fragment_width=64, length=6, key=7)
    >>> words = ["outfit"] * 6000 + ["brunch"] * 3000 + ["link"] * 2000
    >>> found = m.discover(m.aggregate(m.encode(words, rng=1)))
    >>> found.strings, m.epsilon
    (['outfit', 'brunch', 'link'], 8.0)
    >>> [(line.label, float(line.amount)) for line in m.guarantee.ledger]
    [('the whole string', 2.0), ('a fragment and the hash of the string', 6.0)]
    """

    NAME = "fragment-puzzle"

    epsilon_sequence: float = replace(REPORT_EPSILON, help="Budget of the report of the whole string.")
    epsilon_fragment: float = replace(REPORT_EPSILON, help="Budget of the report of a fragment.")
    n_hashes: int = option(default=2048, low=1, high=2**16, help="Rows of the sketch of whole strings.")
    width: int = option(default=1024, low=2, high=2**16, help="Buckets per row of the sketch of whole strings.")
    fragment_hashes: int = option(default=2048, low=1, high=2**16, help="Rows of the sketches of fragments.")
    fragment_width: int = option(default=1024, low=2, high=2**16, help="Buckets per row of the sketches of fragments.")
    alphabet: str = ALPHABET
    length: int = replace(LENGTH, help="Length of texts, an even number of characters; longer ones are cut.")
    other: str = OTHER
    split: str = option(
        default="budget", choices=("budget", "users"), help="Divide the budget, or the users, between the two reports.",
        details=(
            '"budget": every user sends both reports and pays for both, as published. "users": every user sends one of '
            "the two, drawn at random, and pays at most for the costlier one."
        ),
    )  # fmt: skip
    key: Any = KEY

    def __post_init__(self) -> None:
        super().__post_init__()
        words = Alphabet.read(self.alphabet, self.length, self.other)
        if words.length % _FRAGMENT:
            raise InvalidArgument("length", words.length, "an even number", f"length={words.length + 1}")
        if words.size > _MOST_SYMBOLS:
            expected = f"at most {_MOST_SYMBOLS - 2} characters"
            raise InvalidArgument("alphabet", f"{len(words.characters)} characters", expected, "PrefixExtension(...)")
        self._set(alphabet=words.characters)

    @property
    def epsilon(self) -> Budget:
        """Cost per user: the sum of both budgets, or the larger if every user sends one report."""
        return Budget(self.randomiser.epsilon)

    @cached_property
    def randomiser(self) -> Together:
        """The law of both reports, or of one of them."""
        parts = {"the whole string": self.sequence, "a fragment and the hash of the string": self.fragment}
        chosen = "" if self.split == "budget" else "one of two reports, drawn at random"
        return Together(tuple((label, sketch.randomiser) for label, sketch in parts.items()), chosen)

    @cached_property
    def words(self) -> Alphabet:
        """The code that turns texts into symbols."""
        return Alphabet(self.alphabet, self.length, self.other)

    @cached_property
    def sequence(self) -> CountMeanSketch:
        """The sketch of whole strings."""
        return CountMeanSketch(self.epsilon_sequence, self.n_hashes, self.width, self._derived(_SEQUENCE))

    @cached_property
    def fragment(self) -> CountMeanSketch:
        """The sketch of fragments, with the same hash functions at every position."""
        return CountMeanSketch(self.epsilon_fragment, self.fragment_hashes, self.fragment_width, self._derived(_PIECE))

    @property
    def positions(self) -> int:
        """Number of positions of a fragment."""
        return self.length // _FRAGMENT

    def _derived(self, number: int) -> int:
        low, high = noise.fingerprint(np.array([2 * number, 2 * number + 1]), self.key).tolist()
        return int(low) | int(high) << 64

    @cached_property
    def layout(self) -> Layout:
        """The packed reports of the two sketches, then the position; or one of the two, then which."""
        one, two = 8 * self.sequence.layout.size, 8 * self.fragment.layout.size
        if self.split == "budget":
            return Layout((("sequence", one), ("fragment", two), ("position", bits_for(self.positions))))
        return Layout((("report", max(one, two)), ("part", bits_for(self.positions + 1))))

    def _pieces(self, symbols: Symbols) -> tuple[IntArray, IntArray]:
        """Return the hash of every string, and its fragments, one column per position."""
        together = noise.fingerprint(self.words.column(symbols), self._derived(_TOGETHER)) & np.uint64(_HASHES - 1)
        pairs = symbols.astype(np.int64).reshape(len(symbols), self.positions, _FRAGMENT)
        return together.astype(np.int64), pairs[:, :, 0] * self.words.size + pairs[:, :, 1]

    def _keys(self, symbols: Symbols, position: IntArray) -> IntArray:
        together, pairs = self._pieces(symbols)
        return together * self.words.size**2 + pairs[np.arange(len(symbols)), position]

    def _encode(self, values: Any, stream: Generator) -> Rows:
        symbols = self.words.symbols(values)
        position = noise.below(self.positions, size=len(symbols), rng=stream)
        if self.split == "budget":
            whole = self.sequence._encode(self.words.column(symbols), stream)
            piece = self.fragment._encode(self._keys(symbols, position), stream)
            return self.layout.pack(sequence=whole, fragment=piece, position=position)
        part = np.where(noise.below(2, size=len(symbols), rng=stream) == 1, self.positions, position)
        rows = np.zeros((len(symbols), self.layout.place("part")[0] // 8), np.uint8)
        mine, others = np.flatnonzero(part == self.positions), np.flatnonzero(part < self.positions)
        whole = self.sequence._encode(self.words.column(symbols[mine]), stream)
        piece = self.fragment._encode(self._keys(symbols[others], part[others]), stream)
        rows[mine, : whole.shape[1]] = whole
        rows[others, : piece.shape[1]] = piece
        return self.layout.pack(report=rows, part=part)

    def _zeros(self) -> dict[str, IntArray]:
        whole, piece = self.sequence._zeros(), self.fragment._zeros()
        return {
            **{f"sequence_{name}": zeros for name, zeros in whole.items()},
            **{f"fragment_{name}": np.zeros((self.positions, *zeros.shape), np.int64) for name, zeros in piece.items()},
        }

    def _split(self, rows: Rows) -> tuple[BoolArray, Rows, BoolArray, Rows, IntArray]:
        """Return which reports have a whole string, these, which have a fragment, these, and the position of all."""
        cut = self.sequence.layout.size
        if self.split == "budget":
            position, every = self.layout.unpack(rows, "position"), np.ones(len(rows), np.bool_)
            return every, rows[:, :cut], every, rows[:, cut : cut + self.fragment.layout.size], position
        part, body = self.layout.unpack(rows, "part"), rows[:, : self.layout.place("part")[0] // 8]
        sent = part == self.positions
        return sent, body[sent], ~sent, body[~sent], part

    def possible(self, rows: Rows) -> BoolArray:
        """Return which packed reports are valid: both parts are, or the one that was sent."""
        sent, whole, kept, piece, position = self._split(rows)
        good = self.layout.padded(rows) & (~kept | (position < self.positions))
        good[sent] &= _possible(self.sequence, whole)
        good[kept] &= _possible(self.fragment, piece)
        return good

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        _, whole, kept, piece, position = self._split(rows)
        whole, piece = whole[:, : self.sequence.layout.size], piece[:, : self.fragment.layout.size]
        self.sequence._add(_view(counters, "sequence"), np.ascontiguousarray(whole))
        for place in range(self.positions):
            mine = np.ascontiguousarray(piece[position[kept] == place])
            self.fragment._add(_view(counters, "fragment", place), mine)

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        sent = [counters[f"{part}_reports"] for part in ("sequence", "fragment")]
        ones = [counters[f"{part}_ones"] for part in ("sequence", "fragment")]
        rows = all(rows_within(o.reshape(-1, o.shape[-1]), r.reshape(-1)) for o, r in zip(ones, sent, strict=True))
        if self.split == "budget":
            return rows and all(adds_up(r, n) for r in sent)
        return rows and adds_up(np.concatenate([r.reshape(-1) for r in sent]), n)

    def _sequences(self, counts: Counts, symbols: Symbols) -> tuple[FloatArray, FloatArray, float, int]:
        """Estimate whole strings: counts and errors among all, the error of an absent one, and the reports used."""
        ones, reports = counts.counters["sequence_ones"], counts.counters["sequence_reports"]
        n = int(reports.sum())
        sketch, column = self.sequence, self.words.column(symbols)
        tables = ones[None], reports[None]
        count, variance, sigma = search.sketch_estimates(sketch.row_law, sketch.family, *tables, column)
        scale = counts.n / n if n else 0.0
        return *search.scaled_up(count[0], variance[0], n, counts.n), float(sigma[0]) * scale, n

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        labels = asked(candidates)
        count, error, _, _ = self._sequences(counts, self.words.symbols(labels))
        return Estimate(labels, count, error, counts.n, counts.guarantee)

    def discover(
        self, counts: Counts, *, z_fragment: float = 3.0, z_sequence: float = 4.0, cap: int = 16, most: int = 2**24
    ) -> HeavyHitters:
        """Find the frequent strings.

        Parameters
        ----------
        counts : Counts
            The result of `aggregate`.
        z_fragment : float, default 3
            Keep the pairs of hash and fragment whose estimate exceeds so many standard errors of an absent one.
        z_sequence : float, default 4
            Accept a string if its estimate exceeds so many standard errors, or more if needed to accept any absent
            candidate with probability 0.05 at most.
        cap : int, default 16
            Most fragments that are kept per position and hash.
        most : int, default 2**24
            Most strings that are joined; the cap is lowered if needed.
        """
        self._own(counts)
        z_piece = float(checks.positive("z_fragment", z_fragment))
        z_whole = float(checks.positive("z_sequence", z_sequence))
        limit, wanted = checks.whole("cap", cap, low=1), checks.whole("most", most, low=1)
        parts, stages = self._fragments(counts, z_piece, limit)
        fewer = search.affordable([group for group, _ in parts], _HASHES, limit, wanted)
        if fewer < limit:
            marks = [search.strongest(group, fewer) for group, _ in parts]
            parts = [(group[mark], own[mark]) for (group, own), mark in zip(parts, marks, strict=True)]
        symbols, joined = self._joined(parts)
        count, error, sigma, reports = self._sequences(counts, symbols)
        z = max(z_whole, family_wise(0.05, len(symbols)))
        places, _ = search.cut(count, sigma, z, len(symbols))
        used = float(self.epsilon_sequence), reports, len(symbols), len(places)
        label = f"whole strings, {joined:,} put together and {len(symbols):,} with the right hash"
        stages.append(Stage(label, *used, z=z, sigma=sigma, capped=fewer < limit))
        labels = self.words.texts(symbols[places])
        tried = len(symbols)
        estimate = Estimate(labels, count[places], error[places], counts.n, counts.guarantee, tried=tried)
        stopped = "" if labels else "no string is significant; more reports or a larger ε are needed"
        return HeavyHitters(estimate, tuple(stages), self, stopped)

    def _fragments(self, counts: Counts, z: float, cap: int) -> tuple[list[tuple[IntArray, Symbols]], list[Stage]]:
        """Find the frequent pairs of hash and fragment at every position, strongest first."""
        size, sketch = self.words.size, self.fragment
        first, second = np.divmod(np.arange(size**2), size)
        pairs = np.flatnonzero((first > 0) | (second == 0))  # nothing follows the end of a text
        keys = (np.arange(_HASHES)[:, None] * size**2 + pairs).ravel()
        ones, reports = counts.counters["fragment_ones"], counts.counters["fragment_reports"]
        count, _, sigma = search.sketch_estimates(sketch.row_law, sketch.family, ones, reports, keys)
        parts, stages = [], []
        for place in range(self.positions):
            n = int(reports[place].sum())
            passed, _ = search.cut(count[place], float(sigma[place]), z, len(keys))
            group, pair = np.divmod(keys[passed], size**2)
            mark = search.strongest(group, cap)
            symbols = np.column_stack(np.divmod(pair[mark], size)).astype(np.uint16)
            parts.append((group[mark], symbols))
            start = place * _FRAGMENT + 1
            label = f"fragments at characters {start} and {start + 1}"
            used = float(self.epsilon_fragment), n, len(keys), int(mark.sum())
            scaled = float(sigma[place]) * (counts.n / n if n else 0.0)
            stages.append(Stage(label, *used, z=z, sigma=scaled, capped=not mark.all()))
        return parts, stages

    def _joined(self, parts: list[tuple[IntArray, Symbols]]) -> tuple[Symbols, int]:
        """Join fragments of one hash; keep the strings that have this hash."""
        found, joined = [np.zeros((0, self.length), np.uint16)], 0
        for group, symbols in search.joins(parts, _HASHES):
            joined += len(group)
            together, _ = self._pieces(symbols)
            found.append(symbols[together == group])
        return np.concatenate(found), joined

    def normalise(self, values: Any) -> list[str]:
        """Return texts in the form that reports use."""
        return self.words.texts(self.words.symbols(values))

    def variance(self, n: int, f: Any = 0, second_moment: Any = None) -> Any:
        """Return the variance of the estimated count of a string that ``f`` of ``n`` reporters hold.

        ``second_moment`` as in `CountMeanSketch.variance`. With ``split="users"`` it assumes that exactly half of the
        reports are of whole strings.
        """
        if self.split == "budget":
            return self.sequence.variance(n, f, second_moment)
        moment = None if second_moment is None else np.asarray(second_moment) / 4
        share = np.clip(np.asarray(f) / max(n, 1), 0, 1)
        return 4 * self.sequence.variance(n / 2, np.asarray(f) / 2, moment) + n * share * (1 - share)  # type: ignore[arg-type]

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        symbols = self.words.symbols([value])
        whole, chances = self.sequence.report_law(self.words.texts(symbols)[0])
        pieces = [self.fragment.report_law(int(self._keys(symbols, np.array([p]))[0])) for p in range(self.positions)]
        rows, laws = [], []
        for place, (piece, chance) in enumerate(pieces):
            if self.split == "users":
                rows.append(self._alone(piece, place))
                laws.append(chance / (2 * self.positions))
                continue
            self._listable("width", len(whole) * len(piece) * self.positions)
            one, two = np.repeat(np.arange(len(whole)), len(piece)), np.tile(np.arange(len(piece)), len(whole))
            position = np.full(len(one), place)
            rows.append(self.layout.pack(sequence=whole[one], fragment=piece[two], position=position))
            laws.append(chances[one] * chance[two] / self.positions)
        if self.split == "users":
            rows.append(self._alone(whole, self.positions))
            laws.append(chances / 2)
        return np.concatenate(rows), np.concatenate(laws)

    def _alone(self, reports: Rows, part: int) -> Rows:
        body = np.zeros((len(reports), self.layout.place("part")[0] // 8), np.uint8)
        body[:, : reports.shape[1]] = reports
        return self.layout.pack(report=body, part=np.full(len(reports), part))


def _possible(sketch: CountMeanSketch, rows: Rows) -> BoolArray:
    """Return which packed reports are valid, with only zeros after them."""
    size = sketch.layout.size
    return np.asarray(sketch.possible(np.ascontiguousarray(rows[:, :size])) & ~rows[:, size:].any(axis=1))


def _view(counters: dict[str, IntArray], part: str, place: int | None = None) -> dict[str, IntArray]:
    """Return the counters of one sketch, to be added to in place."""
    return {
        name.removeprefix(f"{part}_"): array if place is None else array[place]
        for name, array in counters.items()
        if name.startswith(f"{part}_")
    }
