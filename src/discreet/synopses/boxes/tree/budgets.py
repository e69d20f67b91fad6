"""The budget of a tree: shares for tests, splits and publication, and their portions per level.

Every path from the root to a leaf spends exactly ε: what it has not spent when it ends goes to its leaf. Portions are
rounded down to multiples of ε / 2^32, because the geometric rule is irrational.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.budget import Price
from discreet.errors import InvalidArgument, InvalidType
from discreet.mechanisms import law_for

BUDGETS = ("geometric", "uniform", "linear")
#: Portions are multiples of ε / GRAIN.
GRAIN = 2**32
_SHARES = "shares=(0.15, 0.25, 0.6)"


class OwnBudget:
    """A rule of your own that divides a share of the budget between the levels; see `TreeSynopsis`.

    Privacy
    -------
    The rule sees public numbers only. Whatever it returns, a path spends exactly ε: a leaf is published with what its
    path has left. A rule that leaves nothing for it is refused before rows are read.

    Examples
    --------
    >>> import discreet as dc
    >>> class RootFirst(OwnBudget):
    ...     def fractions(self, levels, fan_out):
    ...         return [2.0 ** -(i + 1) for i in range(levels)]
    >>> rows = dc.datasets.s_like(1, random_state=0)
    >>> tree = dc.TreeSynopsis(1.0, rows.domain, "median", budget=RootFirst(), random_state=0).fit(rows.X)
    >>> tree.guarantee_.epsilon, tree.guarantee_.parameters["budget"]
    (1.0, 'RootFirst')
    """

    def fractions(self, levels: int, fan_out: int) -> Sequence[float]:
        """Return the fraction of the share that every level gets, root first: positive, and 1 at most together."""
        raise NotImplementedError


def level_fractions(kind: str | OwnBudget, levels: int, fan_out: int) -> list[float]:
    """Return the fraction of a share that each level gets, root first.

    geometric: in proportion to F^(i/3), which minimises the summed variance of F^i counts at level i (Cormode et al.,
    2012). linear: to i + 1. uniform: the same for all.
    """
    if isinstance(kind, OwnBudget):
        given, fix = kind.fractions(levels, fan_out), "[1 / levels] * levels"
        try:
            found = [float(f) for f in given]
        except (TypeError, ValueError):
            got = type(given).__name__
            raise InvalidType("fractions", got, "a method that returns a list of numbers", f"return {fix}") from None
        if len(found) != levels or not all(0 < f < math.inf for f in found) or sum(found) > 1 + 1e-9:
            expected = f"{levels} positive numbers that add up to 1 at most"
            raise InvalidArgument("fractions", found, expected, fix)
        return found
    rules = {
        "geometric": [fan_out ** (i / 3) for i in range(levels)],
        "linear": [i + 1.0 for i in range(levels)],
        "uniform": [1.0] * levels,
    }
    weights = rules[checks.choice("budget", kind, BUDGETS)]
    return [w / sum(weights) for w in weights]


def portions(share: Fraction, kind: str | OwnBudget, levels: int, fan_out: int, price: Price) -> list[Price]:
    """Divide a share of ε between levels, rounded down to multiples of ε / 2^32 (but to one at least)."""
    units = [max(1, int(share * Fraction(f) * GRAIN)) for f in level_fractions(kind, levels, fan_out)]
    return [price * Fraction(u, GRAIN) for u in units]


@dataclass(frozen=True)
class LevelBudgets:
    """The budget of each level.

    A path spends ``whole``. ``tests`` and ``splits`` are the prices of each level that may be cut, 0 if there is none.
    """

    whole: Price
    tests: tuple[Price, ...]
    splits: tuple[Price, ...]

    @classmethod
    def make(
        cls,
        whole: Price,
        *,
        depth: int,
        first_test: int,
        shares: Sequence[Any],
        kind: str | OwnBudget,
        fan_out: int,
        paid_splits: bool | Sequence[bool] = True,
    ) -> LevelBudgets:
        """Divide a price: levels ``first_test .. depth - 1`` test, all levels split (for free unless ``paid_splits``).

        A share without use is divided between the others in proportion.
        """
        pays = [paid_splits] * depth if isinstance(paid_splits, bool) else list(paid_splits)[:depth]
        test, split, publish = read_shares(shares)
        test = test if first_test < depth else Fraction(0)
        split = split if any(pays) else Fraction(0)
        together = test + split + publish
        nothing = type(whole)(Fraction(0))
        tested = depth - first_test
        tests: list[Price] = portions(test / together, kind, tested, fan_out, whole) if test else [nothing] * tested
        paid = iter(portions(split / together, kind, sum(pays), fan_out, whole) if split else [nothing] * depth)
        splits: list[Price] = [next(paid) if pay else nothing for pay in pays]
        if not whole.infinite and sum([*tests, *splits], nothing) >= whole:
            raise InvalidArgument("shares", list(shares), "large enough for publication", _SHARES)
        return cls(whole, tuple([nothing] * first_test + tests), tuple(splits))

    @property
    def depth(self) -> int:
        """Number of levels that may be cut."""
        return len(self.tests)

    def left(self, level: int, *, tested: bool = False, split: bool = False) -> Price:
        """Return what a path that ends at a level has left: its leaf is published with it.

        Above, all levels have paid test and split; at the level itself only what is stated.
        """
        here: list[Price] = [*self.tests[level : level + 1]] * tested + [*self.splits[level : level + 1]] * split
        return self.whole - sum([*self.tests[:level], *self.splits[:level], *here], type(self.whole)(Fraction(0)))


def read_shares(shares: Sequence[Any]) -> tuple[Fraction, Fraction, Fraction]:
    """Check the three shares: tests, splits, publication, which needs a positive one."""
    exact = [checks.exact(f"shares[{i}]", s, "a number of at least 0", _SHARES) for i, s in enumerate(shares)]
    if len(exact) != 3 or min(exact) < 0 or not exact[2]:
        expected = "three numbers of at least 0 (tests, splits, publication), the last one positive"
        raise InvalidArgument("shares", [float(s) for s in exact], expected, _SHARES)
    return exact[0], exact[1], exact[2]


def auto_threshold(price: Price, fan_out: int) -> int:
    """Return the smallest whole T at which an empty node is cut with probability 1/(2F) at most.

    A node is cut iff count + noise > T. An empty region then grows two nodes in expectation at most.
    """
    return law_for(price).one.threshold(Fraction(1, 2 * fan_out))
