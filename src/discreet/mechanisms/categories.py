"""Private categories: select the words of a column that enough persons have.

Every person counts for *one* word: the first of theirs, in a random order of all words, that is not full at the lower
level (almost certainly released), else at the upper level (certainly released). (A greedy policy, similar to Gopi et
al. 2020, who choose weights.) Persons with few words come first. A word with n persons is released with the largest
chance π(n) that (ε, δ) allows (Desfontaines, Voss, Gipson, Mandayam 2022):

    π(0) = 0,    π(n + 1) = min(e^ε π(n) + δ,  1 - e^(-ε) (1 - π(n) - δ),  1).

So noise does not grow with the number of words of a person. All arithmetic is on whole numbers.
"""

import math
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import IntArray, Person, WordArray, checks, jit
from discreet.core.budget import Approx, Epsilon
from discreet.errors import InvalidArgument
from discreet.mechanisms.gate import Gate
from discreet.noise import PublicRandomness
from discreet.noise.choice import texts_of
from discreet.noise.hashing import fingerprint
from discreet.noise.stream import below

#: Chances are whole multiples of 2^-BITS.
BITS = 62
#: A word is full at the lower level when it is released with this chance.
_FULL = (1 << BITS) * 99 // 100
#: With smaller budgets a word would need more than a hundred thousand persons.
SMALLEST_SELECTION = Fraction(1, 10**4)
#: Larger budgets count as this one: a chance of 1 is reached at once anyway.
_LARGEST_EPSILON = 100


def private_categories(
    values: Any,
    persons: Any,
    *,
    epsilon: float,
    delta: float,
    rows: int | None = None,
    ledger: Any = None,
    rng: object = None,
) -> list[str]:
    """Select the categories of a column privately: return the words that enough persons have.

    Counts persons, not rows. At ε = 1 and δ = 1e-6 a word needs about 14 persons. A person counts for one word only, so
    at most one word per 14 persons is found.

    Parameters
    ----------
    values : list, NumPy array, Arrow array, pandas or Polars series
        One word per row: text without surrounding blanks, or whole numbers, taken as their digits. Rows with missing,
        empty or invalid text are left out.
    persons : the same, or "row"
        The person of each row; rows without a person are left out. With "row", the unit of privacy is one row.
    epsilon : float
        Budget, from 1e-4. ``math.inf`` returns every word that someone counts for, without privacy.
    delta : float
        Chance that a word is released because of one person: at most about 1/n² for n persons.
    rows : int, optional
        Most words per person, drawn at random. It bounds the work; privacy does not need it.
    ledger : Ledger or Account, optional
        Charged ``epsilon`` and ``delta`` under the label "categories", before the data are read. It must have been
        opened with a δ; an account must be one for the same unit.
    rng : None, int or Generator
        See `discreet.noise.generator`.

    Returns
    -------
    list of str
        Sorted.

    Privacy
    -------
    Neighbours: add or remove one person with all their rows. A person chooses the first place that is not full, in a
    list of places that follows from their own words and the key: in the order of a keyed hash, one place per word that
    is full at the lower level, then one per word that is full at the upper level. Persons are ordered by the number of
    their own words and a keyed hash of the person, so no one's position depends on others. Write H for the numbers of
    persons who count for each word.

    **One person changes H in one word by 1, or not at all.** Before the person who is added nothing differs, and with
    that person one word j gets 1 more, or none does. Now let H' = H + e_j before a later person q, and let q choose a
    place of word k under H. All earlier places in q's list are full under H, and more so under H'. If k is not j, q
    chooses the same under H', and the difference stays e_j. If k = j and the place is not full under H', the same.
    If k = j and the place is full under H', q chooses a later one, of a word m, or none: H + e_j stands against
    H + e_j + e_m or H + e_j, and the difference is e_m or nothing. If q finds no place under H, then none under H'.

    Words are released independently, a word with count n with chance π(n), and π(0) = 0. So the two laws differ in one
    coin, π(n) against π(n + 1). For the outcomes of a coin, (ε, δ) says π(n + 1) <= e^ε π(n) + δ and 1 - π(n) <=
    e^ε (1 - π(n + 1)) + δ; the other two inequalities hold because π rises. π is the largest solution, with e^ε rounded
    down to a rational and every π(n) to a multiple of 2^-62, which keeps both. Uniform numbers of 62 bits decide
    exactly. Price: (ε, δ).

    Examples
    --------
    >>> towns = ["Ash"] * 60 + ["Birch"] * 40 + ["Somewhere"] * 2
    >>> private_categories(towns, list(range(102)), epsilon=1.0, delta=1e-6, rng=1)
    ['Ash', 'Birch']
    >>> private_categories(towns, ["the same person"] * 102, epsilon=1.0, delta=1e-6, rng=1)
    []

    """
    budget = checks.budget("epsilon", epsilon)
    if budget < SMALLEST_SELECTION:
        raise InvalidArgument("epsilon", epsilon, f"at least {float(SMALLEST_SELECTION):g}", "epsilon=1.0")
    share = checks.slack(delta)
    most = None if rows is None else checks.whole("rows", rows, low=1)
    price = Approx(Epsilon(budget), share)
    # An account of rows refuses a promise to persons.
    by_row = isinstance(persons, str) and persons == "row"
    unit: Any = "row" if by_row else Person(getattr(ledger, "person", None) or "persons", rows=1)
    Gate.check(price, ledger=ledger, unit=unit, job="categories")
    words = texts_of("values", values)
    whose = texts_of("persons", np.arange(len(words)) if by_row else persons)
    if len(words) != len(whose):
        raise InvalidArgument("persons", "another number of them", "one person per value", "persons of the same rows")
    gate = Gate.open(price, unit=unit, random_state=rng, ledger=ledger, job="categories", artifact=False)
    found = selected_words(gate, "categories", words, whose, price, most)
    gate.settle()
    return found


def selected_words(
    gate: Gate, label: str, values: Any, persons: Any, price: Approx, rows: int | None = None
) -> list[str]:
    """Select words as a line of a gate: see `private_categories`. ``price`` is that of one person.

    A value counts for a word only if it is spelled like it, apart from plain blanks around it: rows are matched with
    declared words in the same way.
    """
    words, whose = texts_of("values", values), texts_of("persons", persons)
    words = pc.if_else(pc.equal(pc.ascii_trim_whitespace(values), words), words, None)
    chance = chances(price.epsilon.amount, price.delta)
    listed, counts = support(words, whose, levels(chance), rows, gate.free)
    with gate.stated(label, price, "selection") as stream:
        drawn = below(1 << BITS, size=len(counts), rng=stream)
    return sorted(listed.take(pa.array(np.flatnonzero(drawn < chance[counts]))).to_pylist())


@lru_cache(maxsize=64)
def chances(epsilon: checks.Exact, delta: Fraction) -> IntArray:
    """Return π(0), π(1), ... in units of 2^-62, up to the first that is 1."""
    whole = 1 << BITS
    if epsilon == math.inf:
        return np.array([0, whole])
    growth = _exponential_below(min(Fraction(epsilon), Fraction(_LARGEST_EPSILON)))
    up, down, failing, found = growth.numerator, growth.denominator, math.floor(delta * whole), [0]
    while found[-1] < whole and failing:  # if δ is below 2^-62, no word is released
        last = found[-1]
        least = -((whole - last - failing) * down // -up)  # rounded up
        found.append(min(last * up // down + failing, whole - least, whole))
    return np.array(found)


def levels(chance: IntArray) -> tuple[int, int]:
    """Return the counts at which a word is full: the lower and the upper level."""
    return int(np.searchsorted(chance, min(_FULL, int(chance[-1])))), len(chance) - 1


def support(
    words: pa.Array, persons: pa.Array, full: tuple[int, int], rows: int | None, random: PublicRandomness
) -> tuple[pa.Array, IntArray]:
    """Return the distinct words in a random order, and the number of persons who count for each."""
    kept = pc.and_(pc.is_valid(words), pc.is_valid(persons))
    words, persons = words.filter(kept).dictionary_encode(), persons.filter(kept).dictionary_encode()
    key = random.root()
    # Texts break ties of hashes, so the order of rows does not matter.
    place, listed = _ordered(words.dictionary, key)
    seat, known = _ordered(persons.dictionary, key)
    word, person = place[np.asarray(words.indices)], seat[np.asarray(persons.indices)]
    pairs = np.unique(person * np.int64(max(len(listed), 1)) + word)  # a person's words in the order of all words
    person, word = np.divmod(pairs, max(len(listed), 1))
    if rows is not None:
        person, word = _at_most(person, word, rows, fingerprint(known, 0), fingerprint(listed, 0), key)
    counts = np.zeros(len(listed), np.int64)
    starts = np.flatnonzero(np.append(True, person[1:] != person[:-1])) if len(person) else np.empty(0, np.int64)
    ends = np.append(starts[1:], len(person))
    order = np.argsort(ends - starts, kind="stable")  # persons are numbered by their hash
    _count(starts[order], ends[order], word, *full, counts)
    return listed, counts


def _ordered(texts: pa.Array, key: int) -> tuple[IntArray, pa.Array]:
    """Return the place of each text by its keyed hash, and the texts in that order."""
    table = pa.table({"hash": fingerprint(texts, key), "text": texts})
    order = np.asarray(pc.sort_indices(table, [("hash", "ascending"), ("text", "ascending")])).astype(np.int64)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place, texts.take(pa.array(order))


def _at_most(
    person: IntArray, word: IntArray, rows: int, hashes: WordArray, others: WordArray, key: int
) -> tuple[IntArray, IntArray]:
    """Keep ``rows`` words of each person, by a keyed hash of both."""
    mixed = fingerprint(hashes[person] ^ (others[word] * np.uint64(0x9E3779B97F4A7C15)), key)
    order = np.lexsort((word, mixed, person))
    first = np.searchsorted(person, person)  # persons are in order, before and after
    kept = np.sort(order[np.arange(len(order)) - first < rows])
    return person[kept], word[kept]


@jit
def _count(starts: Any, ends: Any, words: Any, lower: int, upper: int, counts: Any) -> None:  # pragma: no cover
    """Count every person for their first word below the lower level, or else below the upper one."""
    for person in range(len(starts)):
        chosen = -1
        for i in range(starts[person], ends[person]):
            if counts[words[i]] < lower:
                chosen = words[i]
                break
            if chosen < 0 and counts[words[i]] < upper:
                chosen = words[i]
        if chosen >= 0:
            counts[chosen] += 1


def _exponential_below(x: Fraction) -> Fraction:
    """Return a rational just below e^x."""
    with localcontext() as context:
        context.prec, context.rounding = 60, ROUND_FLOOR
        power = (Decimal(x.numerator) / Decimal(x.denominator)).exp()  # rounded to the nearest, half a unit off at most
        return Fraction(power) * (1 - Fraction(1, 10**55))
