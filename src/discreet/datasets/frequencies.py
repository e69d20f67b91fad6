"""Frequency tables of real values, and the loan-words of a published experiment."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import IntArray, checks
from discreet.datasets.loaders import read_file

_WORDS = "the 50,000 commonest words of {} film subtitles (OpenSubtitles 2018)"
#: From name to file, column of values, column of counts (None: each row is one occurrence), and description.
_SOURCES = {
    **{
        f"words-{language}": (f"frequency-words/{language}_50k.csv.gz", "word", "count", _WORDS.format(name))
        for language, name in {"en": "English", "de": "German", "nl": "Dutch"}.items()
    },
    "emoji": (
        "emoji-sentiment/emoji_sentiment.csv.gz", "Emoji", "Occurrences",
        "emoji in 1.6 million tweets (Kralj Novak et al. 2015)",
    ),
    "kosarak": (
        "kosarak-head/kosarak_head.csv.gz", "item", None,
        "numbers of the pages clicked in the first sessions of a Hungarian news portal (Bodon 2003)",
    ),
}  # fmt: skip

#: Loan-words in Spanish with their shares; the rest of the reports are typing errors.
_LOAN_WORDS = {
    "cool": 0.18, "brunch": 0.14, "outfit": 0.13, "follower": 0.11, "link": 0.11, "spoiler": 0.09, "influencer": 0.07,
    "smartphone": 0.06, "feedback": 0.06, "hobby": 0.05,
}  # fmt: skip
_TYPING_ERRORS = 0.1
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies:
    """Values (text or whole numbers, an Arrow array) and their counts, the most frequent first.

    Examples
    --------
    >>> pets = Frequencies("pets", pa.array(["cat", "dog"]), np.array([3, 1]), "simulated")
    >>> pets.to_dict(), len(pets.draw(10, random_state=0))
    ({'cat': 3, 'dog': 1}, 10)
    """

    name: str
    values: Any
    counts: IntArray
    description: str

    def draw(self, n: int, *, random_state: int = 0) -> Any:
        """Draw the values of n users by frequency, as an Arrow column."""
        chooser = np.random.default_rng(random_state)
        places = chooser.choice(len(self.counts), size=checks.whole("n", n), p=self.counts / self.counts.sum())
        return self.values.take(pa.array(places))

    def to_dict(self) -> dict[Any, int]:
        """Return the count of every value."""
        return dict(zip(self.values.to_pylist(), self.counts.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        return f"<Frequencies {self.name}: {len(self)} values, {self.counts.sum():,} occurrences>"


def files_by_name() -> dict[str, tuple[str, ...]]:
    """Return the file of every name that `frequencies` knows."""
    return {name: (source[0],) for name, source in _SOURCES.items()}


def frequencies(name: str) -> Frequencies:
    """Read a frequency table from the data folder, or download it: see `load`.

    Parameters
    ----------
    name : {"words-en", "words-de", "words-nl", "emoji", "kosarak"}
        Words of film subtitles, emoji of tweets, or the numbers of clicked pages.

    Examples
    --------
    >>> frequencies("words-tlh")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    discreet.errors.InvalidArgument: name must be one of 'words-en', ... got 'words-tlh'; try name='words-nl'
    """
    file, column, count, description = _SOURCES[checks.choice("name", name, list(_SOURCES))]
    table = read_file(file, name)
    if count is None:
        seen = table.column(column).cast(pa.int64()).value_counts()
        values, counts = seen.field("values"), seen.field("counts").to_numpy()
    else:
        values, counts = table.column(column).combine_chunks(), table.column(count).cast(pa.int64()).to_numpy()
    order = np.argsort(-counts, kind="stable")
    return Frequencies(name, pc.take(values, pa.array(order)), counts[order].astype(np.int64), description)


def anglicisms(n: int = 50_000, *, random_state: int = 0) -> Any:
    """Draw the words that n users typed, an Arrow array: ten English loan-words, and one in ten a typing error.

    A typing error is a random text of 3 to 8 letters. The shares are those of the published experiments with the
    fragment puzzle.

    Examples
    --------
    >>> anglicisms(5, random_state=3).to_pylist()
    ['cool', 'brunch', 'influencer', 'link', 'cool']
    """
    chooser = np.random.default_rng(random_state)
    size = checks.whole("n", n)
    words = chooser.choice(np.array(list(_LOAN_WORDS), dtype="U10"), size=size, p=list(_LOAN_WORDS.values()))
    wrong = np.flatnonzero(chooser.random(size) < _TYPING_ERRORS)
    letters = _LETTERS[chooser.integers(0, len(_LETTERS), (len(wrong), 8))]
    cut = np.arange(8) < chooser.integers(3, 9, len(wrong))[:, None]
    words[wrong] = np.ascontiguousarray(np.where(cut, letters, "")).view("U8").ravel()
    return pa.array(words.tolist(), pa.large_string())
