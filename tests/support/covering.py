"""Covering arrays: few combinations of many factors in which every pair, or triple, of values occurs.

Greedy and deterministic: every new combination starts with a tuple that is not covered yet and takes, factor by factor,
the value that covers most of the others. What is impossible is reported by a predicate on partial combinations.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Combination = dict[str, Any]


def tuples(combination: Mapping[str, Any], strength: int) -> Iterator[frozenset[tuple[str, Any]]]:
    """Yield all pairs (triples, ...) of values that a combination covers."""
    return map(frozenset, combinations(combination.items(), strength))


def cover(
    factors: Mapping[str, Sequence[Any]], strength: int, possible: Callable[[Mapping[str, Any]], bool]
) -> list[Combination]:
    """Return combinations that cover every tuple of values that any possible combination has.

    ``possible`` judges partial combinations: False if no values of the other factors can help.
    """
    left: dict[frozenset[tuple[str, Any]], None] = {}
    for names in combinations(factors, strength):
        for values in product(*(factors[name] for name in names)):
            if possible(given := dict(zip(names, values, strict=True))):
                left[frozenset(given.items())] = None
    found: list[Combination] = []
    while left:
        first = next(iter(left))
        made = _complete(dict(sorted(first)), factors, left, possible)
        if made is None:  # the others rule it out, though no rule says so of it alone
            del left[first]
            continue
        found.append({name: made[name] for name in factors})
        for each in tuples(made, strength):
            left.pop(each, None)
    return found


def _complete(
    made: Combination, factors: Mapping[str, Sequence[Any]], left: Mapping[Any, None], possible: Callable[..., bool]
) -> Combination | None:
    """Fill in the other factors, each with what covers most; go back where nothing is possible."""
    name = next((name for name in factors if name not in made), None)
    if name is None:
        return made
    strength = len(next(iter(left)))
    gains = []
    for place, value in enumerate(factors[name]):
        if not possible({**made, name: value}):
            continue
        others = combinations(made.items(), strength - 1)
        gain = sum(frozenset((*other, (name, value))) in left for other in others)
        # Of equal gains, take turns: else the first values would be in almost every combination.
        gains.append((-gain, (place + len(left)) % len(factors[name]), value))
    for _, _, value in sorted(gains, key=lambda each: each[:2]):
        if done := _complete({**made, name: value}, factors, left, possible):
            return done
    return None
