"""The questions that a synopsis answers. All are post-processing: they cost no privacy, however many are asked.

``where`` restricts an answer to some rows: a mapping from columns to bounds or categories as `Questions.count`
takes it, or a question in words as `Questions.ask` takes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from discreet.core import Box, Fitness, FloatArray, IntArray
from discreet.synopses.queries import ask, counts, distributions, evenness, fitness
from discreet.synopses.queries.answers import Count, Figure
from discreet.synopses.queries.groups import GroupTable, Marginal

if TYPE_CHECKING:
    from discreet.synopses.synopsis import Synopsis

#: Which rows: a mapping or a question in words; None for all.
Where: TypeAlias = Box | Mapping[str, Any] | str | None


class Questions:
    """Questions that every synopsis answers."""

    def count(self, box: Box | Mapping[str, Any] | None = None, /, **columns: Any) -> Count:
        """Estimate the number of rows in a box.

        A leaf that lies partly inside counts in proportion, as if its rows lay evenly in it.

        Parameters
        ----------
        box : Box or mapping, optional
            A `Box` over all columns, or a mapping from some columns to ``(low, high)`` or a list of categories.
        **columns
            The same by name: ``count(age=(30, 60), sex=["f"])``. A restricted column leaves out rows without a value.

        Returns
        -------
        Count
            ``value``, ``interval(0.95)`` and the two parts of ``std_error``: the noise, and what rows that lie unevenly
            in the leaves cut by the box may add. In a grid that lists survivors only (`hidden`), ``unlisted`` is the
            number of rows in other cells, at unknown places. Counts can be added and subtracted.
        """
        return counts.answered(self._own, [counts.read_query(self._own.domain, box, columns)])

    def ask(self, question: str) -> Count:
        """Estimate the number of rows that a question in words is true of.

        Parameters
        ----------
        question : str
            Comparisons of columns with values (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``between ... and ...``
            with both ends, ``in (...)``, ``is missing``), put together by ``and``, ``or``, ``not`` and brackets. Write
            texts and dates in single quotation marks, names with odd characters in back quotes. Truth values need no
            marks: ``smoker = true``.

        Returns
        -------
        Count
            Values beyond the declared bounds count as the bound, and rows that the schema leaves out are not counted.
            ``note`` says so if the question asks for such rows. If it asks for nothing else, the answer is not known:
            ``noise_error`` is infinite.
        """
        return counts.answered(self._own, *ask.read(self._own.domain, question))

    def share(self, of: Where, given: Where = None) -> Figure:
        """Estimate which share of some rows are also others: of those ``given``, how many are ``of``."""
        if self._not_known(of):
            return Figure(0.0, math.inf, limits=(0.0, 1.0))
        base = self._where(given)
        both = tuple((1.0, evenness.both(a, b)) for a in self._where(of) for b in base)
        found = self._added(both) / self._added(tuple((1.0, q) for q in base))
        return replace(found, limits=(0.0, 1.0))

    def marginal(self, column: str, bins: Any = None) -> Marginal:
        """Estimate the distribution of one column.

        Parameters
        ----------
        column : str
            Its name.
        bins : int or sequence of float, optional
            Number of equal bins of a numeric column, or their edges. By default the edges of the leaves, or 50 equal
            bins.
        """
        return distributions.marginal(self._own, column, bins)

    def table(
        self, *columns: str, bins: Mapping[str, Any] | None = None, where: Where = None, level: float = 0.95
    ) -> GroupTable:
        """Count by one, two or three columns.

        Parameters
        ----------
        *columns : str
            What to group by.
        bins : mapping, optional
            From numeric columns to a number of equal bins or their edges; by default as in `marginal`.
        where : mapping or str, optional
            Which rows.
        level : float, default 0.95
            Of the intervals of its rows.
        """
        found = distributions.table(self._own, columns, {} if bins is None else bins, self._where(where), level)
        return replace(found, noise_errors=np.full_like(found.counts, np.inf)) if self._not_known(where) else found

    def mean(self, column: str, where: Where = None) -> Figure:
        """Estimate the mean of a numeric column over rows that have a value, as if rows lay evenly in their leaves.

        Dates are in days since 1970-01-01, times of day in seconds since midnight.
        """
        return distributions.mean(self._own, column, self._where(where))

    def cdf(self, column: str, at: Any, where: Where = None) -> Figure:
        """Estimate the share of rows whose value is at most ``at``, among rows that have one."""
        return distributions.cdf(self._own, column, at, self._where(where))

    def quantile(self, column: str, share: float = 0.5, where: Where = None) -> distributions.Quantile:
        """Estimate the value below which a share of the rows lies; 0.5 is the median."""
        return distributions.quantile(self._own, column, share, self._where(where))

    def mode(self, column: str, bins: Any = None, where: Where = None) -> distributions.Mode:
        """Find the category or the stretch where rows lie most densely, and its rivals within the errors."""
        return distributions.mode(self._own, column, bins, self._where(where))

    def fitness(self) -> Fitness:
        """Return how far counts by one and two columns are off on average; as a text, it is one line."""
        coarse = ("too coarse to use", "Boxes are smaller with fewer columns or a larger epsilon.")
        more = () if self._own.tree is None else coarse
        return Fitness.measure(self._own.domain.names, self._count_errors(), *more)

    def _count_errors(self) -> Callable[..., tuple[float, bool]]:
        """Return a function from columns to the error of their counts, and if it is only that of a model."""
        return fitness.of_boxes(self._own)

    def _not_known(self, where: Where) -> bool:
        """Return whether a question is about nothing but what the schema left out or moved to the bounds."""
        return math.isinf((self.ask(where) if isinstance(where, str) else self.count(where)).noise_error)

    def _added(self, terms: evenness.Terms) -> Count:
        """Answer a sum of questions."""
        return counts.added(self._own, terms)

    # What kinds of synopses answer differently. Boxes assume that rows are uniform inside a leaf.

    @cached_property
    def neighbours(self) -> evenness.Neighbours:
        """The leaves next to each leaf; they show how far rows may be from uniform inside it."""
        return evenness.Neighbours(self._own)

    def _answer_variances(
        self,
        terms: evenness.Terms,
        covered: list[FloatArray],
        whole: FloatArray,
        leaves: IntArray | None = None,
        everything: float = 0.0,
    ) -> tuple[float, float]:
        """Return the variances that noise and assumptions give to a sum of questions.

        ``whole`` is the share of each leaf that the sum covers, including ``everything`` of all leaves, about which
        nothing is assumed.
        """
        return evenness.variances(self._own, terms, covered, whole, leaves)

    def _mean_errors(
        self, axis: int, terms: evenness.Terms, n: FloatArray, first: FloatArray, second: FloatArray, middle: float
    ) -> tuple[float, float]:
        """Return the standard deviations that noise and assumptions give to a sum of values; see `evenness`."""
        return evenness.mean_errors(self._own, axis, terms, n, first, second, middle)

    def _impossible(self, query: evenness.Query) -> bool:
        """Return whether a question is only about what is declared not to occur."""
        return False

    def _note(self, terms: evenness.Terms) -> str:
        """State how the columns of a question are known together, where a reader needs it."""
        return ""

    @property
    def _own(self) -> Synopsis:
        return cast("Synopsis", self)

    def _where(self, where: Where) -> Sequence[evenness.Query]:
        if isinstance(where, str):
            return ask.parse(self._own.domain, where)
        return [counts.read_query(self._own.domain, where, {})]
