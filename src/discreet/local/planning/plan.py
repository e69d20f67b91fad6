"""Compare mechanisms and settings before a collection, from their formulas. No data are used.

Errors come from the mechanisms' own `variance`, sizes from their layouts.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from discreet.core import Frames, checks
from discreet.errors import InvalidArgument
from discreet.local.mechanism import Mechanism, local_budget
from discreet.local.oracles.choices import MOST_VALUES, Choices
from discreet.local.planning.options import Option, PlanGoal, options, own_option

#: More state or work than this at the collector is heavy: 4 GiB, and some hours of a core.
_HEAVY_BYTES, _HEAVY_WORK = 2**32, 10**13
#: Errors within this factor of each other count as equal; the smaller report then comes first.
_AS_GOOD = 1.03
_MOST_REPORTS = 10**15


@dataclass(frozen=True)
class PlanRow:
    """One mechanism with its settings, its errors and its costs.

    ``rare_error`` and ``held_error`` are predicted standard errors of the share of a value that no one holds, and of
    one that the plan's ``share`` of the reporters hold. Work is approximate operations, per report on the device and at
    the collector, and to estimate all values. ``smallest_n`` reports reach the target error of a rare value; None
    without a target, or if none do. ``heavy``: the collector needs more than 4 GiB or 10^13 operations. ``remembers``:
    for repeated reports of one user, with a key per user.
    """

    mechanism: str
    settings: dict[str, Any]
    rare_error: float
    held_error: float
    report_bits: int
    report_bytes: int
    client_work: int
    server_work: int
    decode_work: int
    state_bytes: int
    smallest_n: int | None
    fits: bool
    heavy: bool
    remembers: bool
    notes: str
    _option: Option = field(repr=False, compare=False)
    _size: int = field(repr=False, compare=False)

    def make(self, domain: Any, *, key: int | None = None) -> Mechanism:
        """Build the mechanism for as many values as planned; ``key`` is the public hash key, None draws one."""
        if Choices.read(domain).size != self._size:
            given = Choices.read(domain).size
            raise InvalidArgument("domain", f"{given} values", f"the {self._size} planned for", f"domain={self._size}")
        return self._option.build(domain, key)

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _COLUMNS}


_COLUMNS = tuple(name for name in PlanRow.__dataclass_fields__ if not name.startswith("_"))


@dataclass(frozen=True, repr=False)
class Plan(Frames):
    """Mechanisms, the best first.

    Without a target error, rows are sorted by `PlanRow.rare_error`; within 3 % of the best, the smallest report comes
    first. With a target, rows that reach it come first, the smallest report first. Rows that are heavy for the
    collector come after the others, then those with too large a report, then those for repeated reports.

    Attributes
    ----------
    rows : tuple of PlanRow
        The mechanisms.
    epsilon, domain_size, n, max_bytes, target_error
        The arguments of `plan`.
    share : float
        The share for which `PlanRow.held_error` is predicted.

    Examples
    --------
    >>> found = plan(epsilon=3, domain_size=1024, n=100_000, max_bytes=8)
    >>> found.best.mechanism, found.best.report_bits
    ('projective-geometry', 14)
    >>> found.to_arrow().num_rows == len(found)
    True
    """

    rows: tuple[PlanRow, ...]
    epsilon: float
    domain_size: int
    n: int
    max_bytes: int | None
    target_error: float | None
    share: float

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[PlanRow]:
        return iter(self.rows)

    def __getitem__(self, mechanism: str) -> PlanRow:
        """Return the best row of a mechanism, by name."""
        for row in self.rows:
            if row.mechanism == mechanism:
                return row
        names = sorted({row.mechanism for row in self.rows})
        raise InvalidArgument("mechanism", mechanism, f"one of {', '.join(names)}", f"plan[{names[0]!r}]")

    @property
    def best(self) -> PlanRow:
        """The first row. There is always one: a Hadamard sketch can have a report of one byte."""
        return self.rows[0]

    def to_rows(self) -> list[dict[str, str]]:
        """Return the rows as text, for printing."""
        return [
            {
                "mechanism": row.mechanism,
                "settings": ", ".join(f"{k}={v}" for k, v in row.settings.items()),
                "error, rare": f"{100 * row.rare_error:.3g} %",
                f"error, at {100 * self.share:g} %": f"{100 * row.held_error:.3g} %",
                "bits": f"{row.report_bits:,}",
                "client work": f"{row.client_work:,}",
                "server work": f"{row.server_work:,}",
                "state": _size_text(row.state_bytes),
                "smallest n": "" if row.smallest_n is None else f"{row.smallest_n:,}",
                "notes": row.notes,
            }
            for row in self.rows
        ]

    def to_arrow(self) -> pa.Table:
        """Return the plan as a table, with a column per attribute of `PlanRow`; settings as text."""
        facts = [{**row.to_dict(), "settings": str(row.settings)} for row in self.rows]
        table = pa.table({name: pa.array([f[name] for f in facts]) for name in _COLUMNS if name != "smallest_n"})
        return table.append_column("smallest_n", pa.array([f["smallest_n"] for f in facts], pa.int64()))

    def _shown(self) -> pa.Table:
        return pa.Table.from_pylist(self.to_rows())

    def __repr__(self) -> str:
        best = self.best.mechanism
        return f"<Plan: {len(self.rows)} mechanisms for {self.n:,} reports at epsilon {self.epsilon:g}; best {best}>"

    def __str__(self) -> str:
        rows = self.to_rows()
        names = list(rows[0])
        widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
        text = {name: str.ljust if name in ("mechanism", "settings", "notes") else str.rjust for name in names}
        lines = [{name: name for name in names}, *rows]
        head = f"epsilon {self.epsilon:g}, {self.domain_size:,} values, {self.n:,} reports; standard errors of shares"
        body = ["  ".join(text[name](line[name], widths[name]) for name in names).rstrip() for line in lines]
        return "\n".join([head, *body])


def plan(
    epsilon: float,
    domain_size: int,
    n: int,
    max_bytes: int | None = None,
    target_error: float | None = None,
    *,
    share: float = 0.1,
    skew: float = 1.0,
    own: Sequence[Any] = (),
) -> Plan:
    """Compare the local mechanisms for a planned collection.

    Parameters
    ----------
    epsilon : float
        Budget of one report.
    domain_size : int
        Number of values.
    n : int
        Expected reports.
    max_bytes : int, optional
        Largest report allowed.
    target_error : float, optional
        Wanted standard error of a *share*, such as 0.001.
    share : float
        The share for which errors of held values are predicted.
    skew : float
        Sum of the squared shares of all values, between 1/domain_size and 1, which determines collisions in sketches. 1
        is the worst case: all hold one value.
    own : list of classes
        Your own oracles (`OwnOracle`), to compare with the others.

    Notes
    -----
    Sketches get enough columns and rows to keep collisions at a twentieth of the noise each, within 128 MiB of state.
    Mechanisms for unknown strings are not compared: see `FragmentPuzzle` and `PrefixExtension`.

    Examples
    --------
    >>> found = plan(epsilon=1, domain_size=1000, n=100_000, max_bytes=2, target_error=0.01)
    >>> found.best.mechanism, found.best.make(1000).report_bits, found.best.smallest_n
    ('projective-geometry', 11, 37612)
    """
    budget = local_budget("epsilon", epsilon)
    size = checks.whole("domain_size", domain_size, low=2, high=MOST_VALUES)
    reports = checks.whole("n", n, low=1, high=_MOST_REPORTS)
    room = None if max_bytes is None else checks.whole("max_bytes", max_bytes, low=1)
    target = None if target_error is None else float(checks.probability("target_error", target_error))
    held = float(checks.probability("share", share))
    moment = float(checks.probability("skew", skew, closed=True))
    wish = PlanGoal(budget, size, reports, room, target, moment)
    rows = [_row(option, wish, held) for option in (*options(wish), *(own_option(kind, wish) for kind in own))]
    return Plan(tuple(_ranked(rows, wish)), budget, size, reports, room, target, held)


def _row(option: Option, wish: PlanGoal, share: float) -> PlanRow:
    n, bits = wish.n, option.mechanism.report_bits
    fits = wish.fits(option.mechanism)
    heavy = 8 * option.counters > _HEAVY_BYTES or n * option.server_work + option.decode_work > _HEAVY_WORK
    notes = [option.notes, "" if fits else "report too large", "heavy for the collector" if heavy else ""]
    return PlanRow(
        mechanism=option.mechanism.NAME,
        settings=option.settings,
        rare_error=math.sqrt(option.variance(n, 0.0, wish.skew)) / n,
        held_error=math.sqrt(option.variance(n, share, wish.skew)) / n,
        report_bits=bits,
        report_bytes=-(-bits // 8),
        client_work=option.client_work,
        server_work=option.server_work,
        decode_work=option.decode_work,
        state_bytes=8 * option.counters,
        smallest_n=None if wish.target is None else _smallest_n(option, wish.target, wish.skew),
        fits=fits,
        heavy=heavy,
        remembers=option.remembers,
        notes="; ".join(filter(None, notes)),
        _option=option,
        _size=wish.domain_size,
    )


def _smallest_n(option: Option, target: float, skew: float) -> int | None:
    """Return the smallest number of reports with the target error for a rare value, if there is one."""
    counts = range(1, _MOST_REPORTS + 1)
    place = bisect_left(counts, True, key=lambda n: option.variance(n, 0.0, skew) <= (target * n) ** 2)
    return counts[place] if place < len(counts) else None


def _ranked(rows: list[PlanRow], wish: PlanGoal) -> Iterator[PlanRow]:
    """Sort the rows: see `Plan`."""

    def usable(row: PlanRow) -> tuple[bool, bool, bool]:
        return row.remembers, not row.fits, row.heavy

    for kind in sorted({usable(row) for row in rows}):
        alike = [row for row in rows if usable(row) == kind]
        if wish.target is not None:
            good = [row for row in alike if row.rare_error <= wish.target]
            yield from sorted(good, key=lambda row: (row.report_bytes, row.rare_error))
            alike = [row for row in alike if row.rare_error > wish.target]
        alike.sort(key=lambda row: row.rare_error)
        while alike:
            near = [row for row in alike if row.rare_error <= _AS_GOOD * alike[0].rare_error]
            yield from sorted(near, key=lambda row: (row.report_bits, row.state_bytes))
            alike = alike[len(near) :]


def _size_text(size: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1024  # type: ignore[assignment]
    return f"{size:.3g} TiB"
