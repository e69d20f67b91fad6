"""Prefix extension: find frequent unlisted strings, bit by bit.

Every user belongs to one of a few groups and reports a prefix of the value's bits, longer from group to group, through
local hashing with the whole ε. The collector extends the frequent prefixes of one group by all bits that can follow and
estimates those in the next (Wang, Li, Jha, "Locally differentially private heavy hitter identification", 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.core import FloatArray, IntArray, checks, option
from discreet.errors import FormatError, InvalidArgument, InvalidType
from discreet.local.estimates import Estimate
from discreet.local.mechanism import KEY, REPORT_EPSILON, Mechanism, adds_up, count_places
from discreet.local.oracles.local_hashing import LocalHashing, best_width
from discreet.local.strings import candidates as search
from discreet.local.strings.alphabet import ALPHABET, LENGTH, OTHER, Alphabet, Bits, TextCode, WholeCode
from discreet.local.strings.heavy import HeavyHitters, Stage
from discreet.local.support import MOST_CELLS, asked
from discreet.local.wire.bits import Layout, Rows, bits_for
from discreet.local.wire.counts import Counts
from discreet.noise import Generator
from discreet.noise.reports import Response

#: Hash functions to draw from where there is no pool: enough that no two reports need to share one, and few enough that
#: a report is one number of 62 bits, with up to 64 groups and 2^16 buckets.
_FUNCTIONS = 2**40
_MOST_GROUPS, _WIDEST, _LONGEST_STEP = 64, 2**16, 20
#: Beyond this budget the best width is more than the widest.
_LARGEST_BEST = 11.0


class PrefixExtension(Mechanism):
    """Find the frequent values among texts or whole numbers, without a list of candidates.

    Notes
    -----
    Two things differ from the published search. A text shorter than ``length`` is known as soon as a prefix holds its
    end; the reports of that group and all later ones then estimate it together. And the cut on prefixes is mild, since
    whole values must be significant among all that were tested.

    Privacy
    -------
    Neighbours: any two values of one user. Group and hash function do not depend on the value. Given them, the bucket
    of the prefix goes through direct response: ratio at most e^ε, and exactly that if the prefixes have different
    buckets. Cost: ε per report.

    Examples
    --------
    >>> m = PrefixExtension(epsilon=4, length=6, key=7)
    >>> words = ["outfit"] * 6000 + ["brunch"] * 3000 + ["link"] * 2000
    >>> counts = m.aggregate(m.encode(words, rng=1))
    >>> found = m.discover(counts)
    >>> found.strings
    ['outfit', 'brunch', 'link']
    >>> m.steps, m.report_bits
    ((10, 10, 10), 48)
    """

    NAME = "prefix-extension"

    epsilon: float = REPORT_EPSILON
    alphabet: str | None = ALPHABET
    length: int | None = LENGTH
    other: str | None = OTHER
    bits: int | None = option(
        default=None, low=1, high=62, help="Collect whole numbers 0 to 2**bits - 1 instead of text.",
        details="A number outside is replaced by a random one.",
    )  # fmt: skip
    steps: tuple[int, ...] | None = option(
        default=None, help="How many bits each group adds; they add up to all bits of a value.",
        details=(
            "By default whole characters, up to 12 bits. Fewer and longer steps find more and take longer: a step of s "
            "bits tests 2^s times the prefixes kept."
        ),
    )  # fmt: skip
    width: int | None = option(
        default=None, low=2, high=_WIDEST, help="Number of buckets of a hash.", details="None: about e^ε + 1, the best."
    )
    pool: int | None = option(
        default=None, low=1, help="Number of hash functions that the reports share.",
        details=(
            "The collector then keeps a fixed number of counters and decodes in a fixed time. Collisions add a small "
            "error that more reports do not lower. None keeps the reports, 8 bytes each."
        ),
    )  # fmt: skip
    key: Any = KEY

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits is None:
            words = Alphabet.read(self.alphabet, self.length, self.other)
            self._set(alphabet=words.characters, length=words.length, other=words.other)
        else:
            self._set(alphabet=None, length=None, other=None)
        self._set(steps=_read_steps(self.steps, self.code), width=self.oracle.width, pool=self.oracle.pool)
        if not 2 <= self.oracle.width <= _WIDEST:
            raise InvalidArgument("width", self.width, f"a whole number from 2 to {_WIDEST}", f"width={_WIDEST}")
        if self.pool is not None and self.pool * self.oracle.width * len(self.prefixes) > MOST_CELLS:
            most = MOST_CELLS // (self.oracle.width * len(self.prefixes))
            raise InvalidArgument("pool", self.pool, f"at most {most} for these groups and buckets", f"pool={most}")

    @cached_property
    def code(self) -> TextCode | WholeCode:
        """The code that turns values into bits."""
        if self.bits is not None:
            return WholeCode(self.bits)
        return TextCode(Alphabet.read(self.alphabet, self.length, self.other))

    @cached_property
    def prefixes(self) -> tuple[int, ...]:
        """Bits of the prefix that each group reports."""
        return tuple(int(x) for x in np.cumsum(self.steps or ()))

    @cached_property
    def oracle(self) -> LocalHashing:
        """The local hashing of prefixes."""
        width = best_width(min(float(self.epsilon), _LARGEST_BEST)) if self.width is None else self.width
        return LocalHashing(self.epsilon, width, pool=self.pool, key=self.key)

    @property
    def randomiser(self) -> Response:
        return self.oracle.randomiser

    @property
    def _ends(self) -> tuple[int, int, int]:
        """Numbers of groups, hash functions and buckets."""
        return len(self.prefixes), self.functions, self.oracle.width

    @property
    def functions(self) -> int:
        """Number of hash functions to draw from."""
        return _FUNCTIONS if self.pool is None else self.pool

    def bucket(self, value: Any, group: int, function: int) -> int:
        """Return the bucket of the prefix of a text that a group reports."""
        prefix = self.code.prefix(self.code.read([value]), self.prefixes[group])
        return int(self.oracle.family(_hashable(prefix, group), function)[0])

    @cached_property
    def layout(self) -> Layout:
        """Group, number of the hash function, bucket."""
        return Layout(tuple((name, bits_for(end)) for name, end in self._limits.items()))

    def _encode(self, values: Any, stream: Generator) -> Rows:
        read = self.code.read(values, stream)
        groups, functions, _ = self._ends
        group = noise.below(groups, size=len(read), rng=stream)
        function = noise.below(functions, size=len(read), rng=stream)
        truth = np.empty(len(read), np.int64)
        for i, bits in enumerate(self.prefixes):
            mine = np.flatnonzero(group == i)
            truth[mine] = self.oracle.family(_hashable(self.code.prefix(read[mine], bits), i), function[mine])
        return self.layout.pack(group=group, function=function, bucket=self.randomiser.draw(truth, stream))

    @property
    def _limits(self) -> dict[str, int]:
        return dict(zip(("group", "function", "bucket"), self._ends, strict=True))

    @property
    def _counters(self) -> Any:
        return 0 if self.pool is None else self._ends

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        numbers = np.ravel_multi_index([self.layout.unpack(rows, name) for name in self._limits], self._ends)
        if self.pool is None:
            counters.update(self._merge(counters, {"reports": np.sort(numbers)}))
        else:
            count_places(counters["reports"].reshape(-1), numbers)

    def _merge(self, one: dict[str, IntArray], two: dict[str, IntArray]) -> dict[str, IntArray]:
        if self.pool is not None:
            return super()._merge(one, two)
        # Reports are kept in order, so that a state does not show who came when; two ordered runs are merged.
        return {"reports": np.sort(np.concatenate([one["reports"], two["reports"]]), kind="stable")}

    def _unpack_counters(self, numbers: IntArray, n: int) -> dict[str, IntArray]:
        if self.pool is not None:
            return super()._unpack_counters(numbers, n)
        ordered = len(numbers) == n and not (numbers[1:] < numbers[:-1]).any()
        if not ordered or (n and not 0 <= numbers[0] <= numbers[-1] < math.prod(self._ends)):
            raise FormatError("a state damaged: its reports are not those of this mechanism, or not in order")
        return {"reports": numbers}

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return self.pool is None or adds_up(counters["reports"], n)

    def _group(self, counts: Counts, group: int, prefixes: Bits) -> _PrefixCounts:
        """Estimate how many of a group's reporters have each prefix."""
        oracle, reports, column = self.oracle, counts.counters["reports"], _hashable(prefixes, group)
        if self.pool is None:
            _, functions, width = self._ends
            first, last = np.searchsorted(reports, [i * functions * width for i in (group, group + 1)])
            function, bucket = np.divmod(reports[first:last] - group * functions * width, width)
            support = oracle.family.support(column, function, bucket)
            return _PrefixCounts(np.asarray(oracle.law.estimate(support, len(bucket)), np.float64), len(bucket), 0.0)
        tables = reports[group : group + 1]
        sums = tables.sum(axis=2)
        sketch = oracle._rows, oracle.family, tables, sums
        moment = search.second_moment(oracle._rows, tables[0], sums[0])
        return _PrefixCounts(search.sketch_estimates(*sketch, column)[0][0], int(sums.sum()), moment)

    def _variance(self, found: _PrefixCounts, held: Any) -> Any:
        """Return the variance of a group's estimate of a prefix that ``held`` of its reporters have."""
        others = np.clip(found.moment - held * (held - 1), 0, float(found.n) ** 2)
        return self.oracle.variance(found.n, held, others)

    def _whole(self, counts: Counts, values: Bits) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Estimate whole values: counts and standard errors among all, the error of an absent one, the reports used.

        A text that ends early is estimated from all groups whose prefix holds its end.
        """
        first = np.searchsorted(self.prefixes, self.code.needed(values))
        count, reports = np.zeros(len(values)), np.zeros(len(values))
        found: list[tuple[Any, _PrefixCounts]] = []
        for group, bits in enumerate(self.prefixes):
            told = np.flatnonzero(first <= group)
            if len(told):
                part = self._group(counts, group, values[told, :bits])
                found.append((told, part))
                count[told] += part.count
                reports[told] += part.n
        share = np.clip(count / np.maximum(reports, 1), 0, 1)
        spread, absent = np.zeros(len(values)), np.zeros(len(values))
        for told, part in found:
            spread[told] += self._variance(part, share[told] * part.n)
            absent[told] += self._variance(part, 0.0)
        scale = counts.n / np.maximum(reports, 1)
        return *search.scaled_up(count, spread, reports, counts.n), np.sqrt(absent) * scale, reports

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        labels = asked(candidates)
        count, error, _, _ = self._whole(counts, self.code.prefix(self.code.read(labels), self.code.bits))
        return Estimate(labels, count, error, counts.n, counts.guarantee)

    def discover(
        self, counts: Counts, *, keep: int = 64, z_prefix: float | None = 3.0, level: float | None = 0.05
    ) -> HeavyHitters:
        """Find the frequent values.

        Parameters
        ----------
        counts : Counts
            The result of `aggregate`.
        keep : int, default 64
            Most prefixes that are kept per group.
        z_prefix : float or None, default 3
            Keep the prefixes whose estimate exceeds so many standard errors of an absent one. None keeps the largest.
        level : float or None, default 0.05
            Return only significant values: any absent one is among them with at most about this probability. None
            returns everything kept, some of it noise.

        Returns
        -------
        HeavyHitters
            Its `note` says if no prefix or value was significant.
        """
        self._own(counts)
        most = checks.whole("keep", keep, low=1)
        z_cut = None if z_prefix is None else float(checks.positive("z_prefix", z_prefix))
        chance = None if level is None else float(checks.probability("level", level))
        values, tried, stages = self._search(counts, most, z_cut)
        count, error, absent, reports = self._whole(counts, values)
        law = self.oracle.law  # the support of an absent value has the skewness of a binomial law
        skewness = (1 - 2 * law.q) / np.sqrt(np.maximum(reports, 1) * law.other)
        z = np.zeros(len(values)) if chance is None else search.significant_z(chance, tried, skewness)
        passed = np.flatnonzero(count > z * absent) if chance is not None else np.arange(len(values))
        order = passed[np.argsort(-count[passed], kind="stable")]
        stopped = ""
        if not len(values):
            stopped = f"stopped: no significant candidate for {stages[-1].label}; more reports or a larger ε are needed"
        elif not len(order):
            stopped = "no value is significant; more reports or a larger ε are needed"
        # Texts that end early are known from more reports and need less; what is written down is for the longest.
        last = int(np.argmax(z * absent)) if len(values) and chance is not None else None
        least, sigma = (None, 0.0) if last is None else (float(z[last]), float(absent[last]))
        used = float(self.epsilon), counts.n, len(values), len(order)
        stages.append(Stage("whole values", *used, z=least, sigma=sigma, capped=False))
        found = self.code.values(values[order]), count[order], error[order]
        ends = None
        if chance is not None:
            ends = search.selected_interval(count[order], error[order], (z * absent)[order], counts.n)
        estimate = Estimate(*found, counts.n, counts.guarantee, tried=tried, _ends=ends)
        return HeavyHitters(estimate, tuple(stages), self, stopped)

    def _search(self, counts: Counts, most: int, z: float | None) -> tuple[Bits, int, list[Stage]]:
        """Extend prefixes from group to group; return whole values, and the number tested."""
        kept, complete, tried_whole, stages = np.zeros((1, 0), np.uint8), [], 0, []
        for group, step in enumerate(self.steps or ()):
            tried = search.extended(kept, step)
            tried = tried[self.code.possible(tried)]
            found = self._group(counts, group, tried)
            sigma = math.sqrt(self._variance(found, 0.0))
            places, capped = search.cut(found.count, sigma, z, most)
            kept = tried[places]
            label = f"the first {self.prefixes[group]} of {self.code.bits} bits"
            used = float(self.epsilon), found.n, len(tried), len(kept)
            scaled = sigma * counts.n / max(found.n, 1)
            stages.append(Stage(label, *used, z=z, sigma=scaled, capped=capped))
            tried_whole += int(self.code.whole(tried).sum())
            ended = self.code.whole(kept)
            complete.append(np.pad(kept[ended], ((0, 0), (0, self.code.bits - kept.shape[1]))))
            kept = kept[~ended]
            if not len(kept):
                break
        return np.concatenate(complete), tried_whole, stages

    def normalise(self, values: Any) -> list[Any]:
        """Return values in the form that reports use."""
        return self.code.values(self.code.prefix(self.code.read(values), self.code.bits))

    def variance(self, n: int, f: Any = 0) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` reporters hold.

        For a value that only the last group determines, with groups of equal size; a text that ends early has less.
        Collisions of a pool are not included.
        """
        groups, share = len(self.prefixes), np.clip(np.asarray(f) / max(n, 1), 0, 1)
        return groups * self.oracle.law.variance(n, f) + (groups - 1) * n * share * (1 - share)

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        groups, functions, width = self._ends
        self._listable("pool", groups * functions * width)
        group, function, bucket = (x.ravel() for x in np.indices(self._ends))
        read, law = self.code.read([value]), self.oracle.row_law
        chances = np.full(self._ends, law.q / (groups * functions))
        for i, bits in enumerate(self.prefixes):
            true = self.oracle.family.all(_hashable(self.code.prefix(read, bits), i))[:, 0]
            chances[i, np.arange(functions), true] = law.p / (groups * functions)
        return self.layout.pack(group=group, function=function, bucket=bucket), chances.ravel()


@dataclass(frozen=True)
class _PrefixCounts:
    """Estimated counts of prefixes within a group of n reporters, and Σ f(f-1) over its prefixes."""

    count: FloatArray
    n: int
    moment: float


def _hashable(prefixes: Bits, group: int) -> pa.Array:
    """Return the input of the hash: the prefix packed into bytes, first bit highest, then the group's number."""
    packed = np.packbits(prefixes, axis=1)
    rows = np.hstack([packed, np.full((len(packed), 1), group, np.uint8)])
    return pa.Array.from_buffers(pa.binary(rows.shape[1]), len(rows), [None, pa.py_buffer(rows)])


def _read_steps(steps: Any, code: TextCode | WholeCode) -> tuple[int, ...]:
    if steps is not None and not isinstance(steps, (list, tuple)):
        raise InvalidType("steps", steps, "a list of numbers of bits", f"steps={code.steps()}")
    read = code.steps() if steps is None else steps
    read = tuple(checks.whole(f"steps[{i}]", s, low=1, high=_LONGEST_STEP) for i, s in enumerate(read))
    if sum(read) != code.bits:
        raise InvalidArgument("steps", read, f"adding up to the {code.bits} bits of a value", f"steps={code.steps()}")
    if len(read) > _MOST_GROUPS:
        raise InvalidArgument("steps", f"{len(read)} steps", f"at most {_MOST_GROUPS}", "a shorter length")
    return read
