"""Attacks on a released table: singling out, linkability, inference.

European data protection asks these three questions about an anonymous table (Article 29 Working Party, opinion
05/2014). Each attack is run on people whose records were released and on a control group whose records were not
(Giomi et al. 2023). What works on both is knowledge about people in general. The attacker sees the released table and
knows what the attack says about a target; never which row is whose. Do not publish results: they use raw records.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet import noise
from discreet.anonymity.risk import Sets, Stretches
from discreet.core import Domain, IntArray, checks, inlined, jit
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.roc import AttackResult, Rate, ScoredAttack, split
from discreet.evaluation.table_attacks.columns import Column, ColumnSpace, Predicates, column_names, read


def singling_out(
    released: Any, original: Any, control: Any, *, columns: Sequence[str] | None = None, attacks: int = 2000,
    domain: Domain | None = None, person: str | None = None, confidence: float = 0.95, random_state: Any = None,
) -> AttackResult:  # fmt: skip
    """Make predicates from released rows and count those that are true of exactly one person.

    Parameters
    ----------
    released : Release, array, data frame, table or path
        The released table.
    original : array, data frame, table or path
        The records it was made from.
    control : array, data frame, table or path, or None
        Records of similar people that were not in it, at least as many as in the original; with fewer, the risk is
        too large. Without any, the risk is compared with the baseline, and includes knowledge about people in general.
    columns : list of str, optional
        The columns of the predicates; by default all that the three tables have.
    attacks : int, default 2000
        Released rows to try, drawn at random.
    domain : Domain, optional
        The declared columns. By default those of the guarantee; without one, as the values look. Numbers are clamped to
        their bounds, and undeclared categories are missing.
    person : str, optional
        Column of the original and the control that says whose row it is. A description must then fit the rows of one
        person only, and attacks on people use one row of each, drawn at random.
    confidence : float, default 0.95
        Confidence of the intervals.
    random_state : None, int or Generator
        Seed.

    Notes
    -----
    For each row, the conditions of its columns are joined in random order until the row is unique among the released
    ones. The attack succeeds if exactly one original satisfies them. A single number, such as a mean, means "nearer to
    this than to any other number of the column". A missing value fits cells that are missing or may be. The baseline
    takes the condition of each column from another row.

    Examples
    --------
    >>> import discreet as dc
    >>> people, others = dc.datasets.people(600, seed=1).table, dc.datasets.people(600, seed=2).table
    >>> singling_out(people, people, others, random_state=1).risk > 0.9
    True
    """
    chosen = None if columns is None else column_names("columns", columns)
    n_attacks, level, stream = _settings(attacks, confidence, random_state)
    tables = read(released, original, control, chosen, domain, person)
    found, owners = tables.columns, tables.owners
    tests = Predicates.of(found)
    codes = np.stack([column.released.code for column in found])
    targets = _some(codes.shape[1], n_attacks, stream)
    orders = np.argsort(noise.below(2**62, size=(len(targets), len(found)), rng=stream), axis=1)
    used = unique_predicates(codes, targets, orders)
    mixed = noise.below(codes.shape[1], size=(len(found), len(targets)), rng=stream)
    some = _some(tests.control.shape[1], tests.original.shape[1], stream)
    rows = np.broadcast_to(targets, (len(found), len(targets)))

    def hits(people: Any, whose: IntArray, sources: IntArray) -> Rate:
        conditions = np.take_along_axis(codes, sources, axis=1)
        first, last, gap = (
            np.ascontiguousarray(np.stack([part[j][conditions[j]] for j in range(len(found))], axis=1))
            for part in (tests.first, tests.last, tests.gap)
        )
        numeric = np.array([column.numeric for column in found])
        counts = count_up_to_two(people, whose, numeric, used, first, last, gap, tests.sets)
        return Rate(int((counts[used.any(axis=1)] == 1).sum()), len(targets), level)

    inside, outside = (tests.original, owners["original"]), (tests.control[:, some], owners["control"][some])
    other = None if control is None else hits(*outside, rows)
    return AttackResult("singling out", hits(*inside, rows), other, hits(*inside, mixed), level)


def linkability(
    released: Any, original: Any, control: Any, *, columns: tuple[Sequence[str], Sequence[str]], attacks: int = 2000,
    domain: Domain | None = None, person: str | None = None, confidence: float = 0.95, random_state: Any = None,
) -> AttackResult:  # fmt: skip
    """Link two halves of a person's record, known from two sources, through the released table.

    Parameters
    ----------
    released, original, control, attacks, domain, person, confidence, random_state
        See `singling_out`; ``attacks`` are people.
    columns : pair of lists of str
        What is known from each of the two sources. No column is in both.

    Notes
    -----
    For each half the attack takes the nearest released row, ties at random. The halves are linked if both are the same
    row. The distance is the mean over all values that the cells admit; numbers on the scale of their released range,
    categories 0 or 1. The baseline takes two rows at random.

    Examples
    --------
    >>> import discreet as dc
    >>> people, others = dc.datasets.people(600, seed=1).table, dc.datasets.people(600, seed=2).table
    >>> halves = (["age", "town"], ["job", "hours"])
    >>> copied = linkability(people, people, others, columns=halves, random_state=1)
    >>> copied.attack.value > copied.control.value
    True
    """
    if not isinstance(columns, (tuple, list)) or len(columns) != 2 or isinstance(columns[0], str):
        raise InvalidType("columns", columns, "two lists of column names", 'columns=(["age"], ["job"])')
    halves = [column_names("columns", half) for half in columns]
    both = [name for name in halves[0] if name in halves[1]]
    if both:
        raise InvalidArgument("columns", both[0], "in one of the two lists only", 'columns=(["age"], ["job"])')
    n_attacks, level, stream = _settings(attacks, confidence, random_state)
    tables = read(released, original, control, [*halves[0], *halves[1]], domain, person)
    found = tables.columns
    spaces = [ColumnSpace.of(found[: len(halves[0])]), ColumnSpace.of(found[len(halves[0]) :])]

    def linked(side: str) -> Rate:
        targets = tables.targets(side, n_attacks, stream)
        nearest = []
        for space in spaces:
            people = np.ascontiguousarray(getattr(space, side)[:, targets])
            ties = noise.below(2**62, size=len(targets), rng=stream)
            nearest.append(space.rows[nearest_rows(people, *space.combinations, ties)])
        return Rate(int((nearest[0] == nearest[1]).sum()), len(targets), level)

    attack, other = linked("original"), None if control is None else linked("control")
    blind = noise.below(len(spaces[0].rows), size=(2, attack.trials), rng=stream)
    baseline = Rate(int((blind[0] == blind[1]).sum()), attack.trials, level)
    return AttackResult("linkability", attack, other, baseline, level)


def inference(
    released: Any, original: Any, control: Any, *, secret: str, known: Sequence[str], tolerance: float = 0.05,
    attacks: int = 2000, domain: Domain | None = None, person: str | None = None, confidence: float = 0.95,
    random_state: Any = None,
) -> AttackResult:  # fmt: skip
    """Guess a column of a person of whom some others are known.

    Parameters
    ----------
    released, original, control, attacks, domain, person, confidence, random_state
        See `singling_out`; ``attacks`` are people who have a value to be guessed.
    secret : str
        The column to guess.
    known : list of str
        What is known of the target.
    tolerance : float, default 0.05
        A guessed number is right within this share of the column's original range.

    Notes
    -----
    The guess is the most frequent category, or the median, over all nearest released rows (see `linkability`). The
    baseline takes the value of a random released row.

    Examples
    --------
    >>> import discreet as dc
    >>> people, others = dc.datasets.people(600, seed=1).table, dc.datasets.people(600, seed=2).table
    >>> known = ["age", "town", "job", "hours"]
    >>> copied = inference(people, people, others, secret="illness", known=known, random_state=1)
    >>> copied.attack.value > copied.control.value
    True
    """
    if not isinstance(secret, str):
        raise InvalidType("secret", secret, "a column name", 'secret="illness"')
    names = column_names("known", known)
    if secret in names:
        raise InvalidArgument("known", secret, "columns other than the secret one", "leaving it out")
    near = float(checks.probability("tolerance", tolerance, closed=True))
    n_attacks, level, stream = _settings(attacks, confidence, random_state)
    tables = read(released, original, control, [*names, secret], domain, person)
    found = tables.columns
    space, hidden = ColumnSpace.of(found[:-1]), found[-1]
    truth = {"original": hidden.original, "control": hidden.control}
    there = hidden.original[~hidden.missing(hidden.original)]
    limit = near * float(there.max() - there.min()) * (1 + 1e-9) if hidden.numeric and len(there) else 0.0

    def right(side: str, blind: bool = False) -> Rate:
        targets = tables.targets(side, n_attacks, stream, ~hidden.missing(truth[side]))
        people = np.ascontiguousarray(getattr(space, side)[:, targets])
        guess = _blind(hidden, len(targets), stream) if blind else _guess(space, hidden, people, stream)
        return Rate(int((np.abs(guess - truth[side][targets]) <= limit).sum()), len(targets), level)

    other = None if control is None else right("control")
    return AttackResult("inference", right("original"), other, right("original", blind=True), level)


def nearest_record(
    released: Any, original: Any, control: Any, *, columns: Sequence[str] | None = None, attacks: int = 2000,
    domain: Domain | None = None, person: str | None = None, confidence: float = 0.95, random_state: Any = None,
) -> ScoredAttack:  # fmt: skip
    """Tell people in the release from others by how near the nearest released row is.

    Parameters
    ----------
    released, original, control, columns, attacks, domain, person, confidence, random_state
        See `singling_out`; ``attacks`` are people on each side, and a control is needed.

    Notes
    -----
    The distance is that of `linkability`. An attack that knows how the release was made can do better.

    Examples
    --------
    >>> import discreet as dc
    >>> people, others = dc.datasets.people(600, seed=1).table, dc.datasets.people(600, seed=2).table
    >>> nearest_record(people, people, others, random_state=1).advantage > 0.5
    True
    """
    chosen = None if columns is None else column_names("columns", columns)
    n_attacks, level, stream = _settings(attacks, confidence, random_state)
    tables = read(released, original, control, chosen, domain, person)
    space = ColumnSpace.of(tables.columns)

    def near(side: str) -> Any:
        targets = tables.targets(side, n_attacks, stream)
        return -nearest_distances(np.ascontiguousarray(getattr(space, side)[:, targets]), *space.combinations)

    return split("membership", near("original"), near("control"), stream, confidence=level, facts={"kind": "table"})


def _guess(space: ColumnSpace, hidden: Column, people: Any, stream: noise.Generator) -> Any:
    released = hidden.released
    if isinstance(released, Stretches):
        return guess_numbers(people, *space.combinations, released.center[released.code[space.rows]])
    starts, members = _members(released)
    draws = noise.below(2**62, size=people.shape[1], rng=stream)
    secret = released.code[space.rows]
    labels = max(hidden.n_labels, 1)
    return guess_labels(people, *space.combinations, secret, starts, members, labels, draws)


def _blind(hidden: Column, size: int, stream: noise.Generator) -> Any:
    released = hidden.released
    code = released.code[noise.below(len(released.code), size=size, rng=stream)]
    if isinstance(released, Stretches):
        return released.center[code]
    starts, members = _members(released)
    held = starts[code + 1] - starts[code]
    place = (noise.below(2**30, size=size, rng=stream) * held) >> 30
    chosen = np.append(members, -1)[np.minimum(starts[code] + place, len(members))]
    return np.where(held > 0, chosen, np.nan)


def _members(released: Sets) -> tuple[IntArray, IntArray]:
    rows, members = np.nonzero(released.members[:, :-1])
    return np.searchsorted(rows, np.arange(len(released.members) + 1)), members


def _some(n: int, most: int, stream: noise.Generator) -> IntArray:
    return np.arange(n) if n <= most else draws.order(n, stream)[:most]


def _settings(attacks: Any, confidence: Any, random_state: Any) -> tuple[int, float, noise.Generator]:
    level = float(checks.probability("confidence", confidence))
    return checks.whole("attacks", attacks, low=1), level, noise.generator(random_state, "random_state")


# Columns are rows of one matrix. In an original row a category is its number, a missing one the number of categories; a
# missing number is NaN.


@jit
def unique_predicates(codes: Any, targets: Any, orders: Any) -> Any:
    """Add the columns of each target in its order until the released row is unique; return the columns, or none."""
    d, n = codes.shape
    used = np.zeros((targets.size, d), np.bool_)
    alive = np.empty(n, np.int64)
    for p in range(targets.size):
        target = targets[p]
        left = n
        for step in range(d):
            j = orders[p, step]
            value = codes[j, target]
            found = 0
            for i in range(left):
                row = i if step == 0 else alive[i]
                if codes[j, row] == value:
                    alive[found] = row
                    found += 1
            left = found
            used[p, j] = True
            if left == 1:
                break
        if left > 1:
            used[p, :] = False
    return used


@jit
def count_up_to_two(
    values: Any, owners: Any, numeric: Any, used: Any, first: Any, last: Any, gap: Any, sets: Any
) -> Any:
    """Count the people with a row that satisfies each predicate, up to 2; ``owners`` says whose each row is.

    ``values`` are ranks among the ends of conditions (numeric) or category numbers, -1 for missing. A numeric
    condition is ``first <= value <= last``, or missing if ``gap``. For a category, ``first`` is its row in ``sets``.
    """
    d, n = values.shape
    counts = np.zeros(used.shape[0], np.int64)
    found = owners[0] if n else 0
    for p in range(used.shape[0]):
        for i in range(n):
            fits = True
            for j in range(d):
                if not used[p, j]:
                    continue
                value = values[j, i]
                if value < 0:
                    fits = gap[p, j]
                elif numeric[j]:
                    fits = first[p, j] <= value <= last[p, j]
                else:
                    fits = sets[first[p, j] + value]
                if not fits:
                    break
            if fits and counts[p] == 0:
                counts[p], found = 1, owners[i]
            elif fits and owners[i] != found:
                counts[p] = 2
                break
    return counts


@inlined
def _distance(values: Any, t: int, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, c: int, best: float) -> Any:
    """Return the mean distance of target ``t`` from all that released combination ``c`` admits; stop above ``best``.

    For an interval a..b that is ((x - a)² + (b - x)²)/(2 (b - a)) inside and the distance to its middle outside; for a
    set, 1 minus the chance of the category.
    """
    total = 0.0
    for j in range(values.shape[0]):
        x = values[j, t]
        if not numeric[j]:
            total += sets[int(low[j, c]) + int(x)]
        elif np.isnan(x):
            total += gaps[j, c]
        else:
            a, b = low[j, c], high[j, c]
            if np.isnan(a):
                total += 1.0
            elif x <= a or x >= b:
                total += abs(x - (a + b) / 2.0)
            else:
                total += ((x - a) * (x - a) + (b - x) * (b - x)) / (2.0 * (b - a))
        if total > best:
            return total
    return total


@jit
def nearest_rows(values: Any, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, starts: Any, draws: Any) -> Any:
    """Return for each target a nearest released row, equally near ones with equal chance.

    Combination c of released values is that of the places ``starts[c]..starts[c + 1] - 1``; a place is returned.
    """
    tied = np.empty(starts.size - 1, np.int64)
    found = np.empty(values.shape[1], np.int64)
    for t in range(values.shape[1]):
        ties = _nearest(values, t, numeric, low, high, gaps, sets, tied)
        rows = 0
        for i in range(ties):
            rows += starts[tied[i] + 1] - starts[tied[i]]
        chosen = min(int(draws[t] / 2.0**62 * rows), rows - 1)
        for i in range(ties):
            size = starts[tied[i] + 1] - starts[tied[i]]
            if chosen < size:
                found[t] = starts[tied[i]] + chosen
                break
            chosen -= size
    return found


@jit
def nearest_distances(values: Any, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, starts: Any) -> Any:
    tied = np.empty(starts.size - 1, np.int64)
    found = np.empty(values.shape[1])
    for t in range(values.shape[1]):
        _nearest(values, t, numeric, low, high, gaps, sets, tied)
        found[t] = _distance(values, t, numeric, low, high, gaps, sets, tied[0], np.inf)
    return found


@jit
def _nearest(values: Any, t: int, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, tied: Any) -> int:
    best, ties = np.inf, 0
    for c in range(low.shape[1]):
        limit = best + 1e-12
        far = _distance(values, t, numeric, low, high, gaps, sets, c, limit)
        if far < best - 1e-12:
            best, ties = far, 0
        if far <= best + 1e-12:
            tied[ties] = c
            ties += 1
    return ties


@jit
def guess_numbers(
    values: Any, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, starts: Any, secret: Any
) -> Any:
    """Return for each target the median of the secret over the nearest released rows; NaN if none has one."""
    tied = np.empty(starts.size - 1, np.int64)
    held = np.empty(secret.size)
    found = np.empty(values.shape[1])
    for t in range(values.shape[1]):
        ties = _nearest(values, t, numeric, low, high, gaps, sets, tied)
        size = 0
        for i in range(ties):
            for row in range(starts[tied[i]], starts[tied[i] + 1]):
                if not np.isnan(secret[row]):
                    held[size] = secret[row]
                    size += 1
        found[t] = np.median(held[:size]) if size else np.nan
    return found


@jit
def guess_labels(
    values: Any, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, starts: Any, secret: Any,
    member_starts: Any, members: Any, n_labels: int, draws: Any,
) -> Any:  # fmt: skip
    """Return for each target the most likely category of the secret over the nearest released rows; ties at random."""
    tied = np.empty(starts.size - 1, np.int64)
    weight = np.empty(n_labels)
    found = np.empty(values.shape[1], np.int64)
    for t in range(values.shape[1]):
        ties = _nearest(values, t, numeric, low, high, gaps, sets, tied)
        weight[:] = 0.0
        for i in range(ties):
            for row in range(starts[tied[i]], starts[tied[i] + 1]):
                a, b = member_starts[secret[row]], member_starts[secret[row] + 1]
                for m in range(a, b):
                    weight[members[m]] += 1.0 / (b - a)
        top = weight.max()
        equal = 0
        for v in range(n_labels):
            equal += weight[v] >= top - 1e-9
        chosen = min(int(draws[t] / 2.0**62 * equal), equal - 1)
        for v in range(n_labels):
            if weight[v] >= top - 1e-9:
                if chosen == 0:
                    found[t] = v
                    break
                chosen -= 1
    return found
