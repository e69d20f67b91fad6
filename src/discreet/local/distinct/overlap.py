"""Unions, intersections and differences of several bitmaps.

One likelihood (`likelihood.py`) gives the numbers of items in exactly these bitmaps and no others, with their
covariance. An answer is a sum of such numbers.
"""

import ast
import math
from collections.abc import Mapping
from functools import cached_property
from keyword import iskeyword
from unicodedata import normalize

import numpy as np

from discreet.core import BoolArray, FloatArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.local.distinct.bitmaps import DistinctEstimate, FlippedBitmap, check_together, promise
from discreet.local.distinct.likelihood import PatternLaw

#: Of more, the patterns are as many as the bits of a level, and nothing can be told.
MOST_BITMAPS = 6
_EXPECTED = "names of bitmaps with and, or, not and brackets"


class DistinctOverlap:
    """Answer questions about the items of several bitmaps.

    Parameters
    ----------
    bitmaps : mapping of str to FlippedBitmap
        From 1 to 6 of them, made with the same buckets, levels, items and key, each with its own coins.

    Notes
    -----
    Post-processing: no cost beyond that of the bitmaps. Errors of intersections are much larger than those of unions
    and do not shrink with the intersection: look at the interval.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.local.DistinctSketch(2.0, key=7)
    >>> clinic, lab = m.sketch(range(60_000), rng=1), m.sketch(range(40_000, 90_000), rng=2)
    >>> overlap = DistinctOverlap({"clinic": clinic, "lab": lab})
    >>> for question in ("clinic and lab", "clinic or lab", "clinic and not lab"):
    ...     found = overlap.count(question)
    ...     print(question, round(found.count, -2), "+-", round(found.std_error, -2))
    clinic and lab 21000.0 +- 900.0
    clinic or lab 89400.0 +- 1300.0
    clinic and not lab 39100.0 +- 1100.0
    """

    def __init__(self, bitmaps: Mapping[str, FlippedBitmap]) -> None:
        if not isinstance(bitmaps, Mapping) or not all(isinstance(b, FlippedBitmap) for b in bitmaps.values()):
            raise InvalidType("bitmaps", type(bitmaps).__name__, "bitmaps by name", 'bitmaps={"a": a, "b": b}')
        if not 1 <= len(bitmaps) <= MOST_BITMAPS:
            expected = f"from 1 to {MOST_BITMAPS} of them"
            raise InvalidArgument("bitmaps", f"{len(bitmaps)} of them", expected, 'bitmaps={"a": a, "b": b}')
        self.names = [normalize("NFKC", str(name)) for name in bitmaps]
        self.bitmaps = list(bitmaps.values())
        if len(set(self.names)) < len(self.names):
            raise InvalidArgument("bitmaps", self.names, "under names that differ", 'bitmaps={"a": a, "b": b}')
        check_together(self.bitmaps, "bitmaps")

    @cached_property
    def _law(self) -> PatternLaw:
        parameters = self.bitmaps[0].parameters
        return PatternLaw(parameters.rates, parameters.buckets, np.array([b.model_flip for b in self.bitmaps]))

    @cached_property
    def _fitted(self) -> tuple[FloatArray, FloatArray]:
        patterns = len(self.bitmaps)
        read = sum(np.unpackbits(b.rows, axis=1).astype(np.int64) << i for i, b in enumerate(self.bitmaps))
        counts = np.stack([np.bincount(row, minlength=2**patterns) for row in np.asarray(read)]).astype(np.float64)
        atoms = self._law.fit(counts)
        return atoms, self._law.covariance(atoms)

    def count(self, question: str) -> DistinctEstimate:
        """Estimate how many items a question is true of.

        ``question`` combines names of bitmaps with ``and``, ``or``, ``not`` and brackets; other names than plain words
        are quoted: ``"'St Mary' and not 'site-b'"``. Items in none of the bitmaps are unknown, so ``not a`` counts
        items of the others that are not in ``a``.
        """
        chosen = self._holds(question).astype(np.float64)
        atoms, covariance = self._fitted
        variance = float(chosen @ covariance @ chosen) if np.all(np.isfinite(covariance)) else math.inf
        return DistinctEstimate(float(chosen @ atoms), math.sqrt(max(variance, 0.0)), promise(self.bitmaps))

    def _holds(self, question: str) -> BoolArray:
        """Return for every atom whether the question is true of it."""
        if not isinstance(question, str):
            raise InvalidType("question", type(question).__name__, _EXPECTED, f"question={_spelled(self.names[0])!r}")
        fix = f"question={' and not '.join(map(_spelled, self.names[:2]))!r}"
        try:
            tree = ast.parse(question.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InvalidArgument("question", question, _EXPECTED, fix) from None
        atoms = np.arange(1, 2 ** len(self.names))
        places = {name: (atoms >> i & 1).astype(bool) for i, name in enumerate(self.names)}

        def truth(node: ast.expr) -> BoolArray:
            if isinstance(node, ast.BoolOp):
                parts = [truth(value) for value in node.values]
                return np.asarray(np.all(parts, axis=0) if isinstance(node.op, ast.And) else np.any(parts, axis=0))
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                return ~truth(node.operand)
            name = node.id if isinstance(node, ast.Name) else getattr(node, "value", None)
            if not isinstance(name, str):
                raise InvalidArgument("question", question, _EXPECTED, fix)
            name = normalize("NFKC", name)  # as names without quotation marks are read
            if name not in places:
                near = checks.nearest(name, self.names) or self.names[0]
                expected = f"made of the names {', '.join(self.names)}"
                raise InvalidArgument("question", name, expected, f"question={_spelled(near)!r}")
            return places[name]

        return truth(tree)

    def __repr__(self) -> str:
        return f"<overlap of {', '.join(self.names)}>"


def _spelled(name: str) -> str:
    """Return a name as written in a question."""
    return name if name.isidentifier() and not iskeyword(name) else repr(name)
