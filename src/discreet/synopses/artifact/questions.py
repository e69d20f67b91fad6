"""The questions that a synopsis answers. All are post-processing: they cost no privacy, however many are asked.

``where`` restricts an answer to some rows: a mapping from columns to bounds or categories as `Questions.count`
takes it, or a question in words as `Questions.ask` takes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from discreet.core import Box
from discreet.synopses.artifact import ask, distributions, evenness, query
from discreet.synopses.artifact.answers import Count, Figure
from discreet.synopses.artifact.groups import GroupTable, Marginal

if TYPE_CHECKING:
    from discreet.synopses.artifact.synopsis import Synopsis

#: Which rows: a mapping or a question in words; None for all.
Where: TypeAlias = Box | Mapping[str, Any] | str | None


class Questions:
    """What can be asked of a synopsis."""

    def count(self, box: Box | Mapping[str, Any] | None = None, /, **columns: Any) -> Count:
        """Estimate the number of rows in a box.

        A leaf that lies partly inside counts in proportion, as if its rows lay evenly in it.

        Parameters
        ----------
        box : Box or mapping, optional
            A `Box` over all columns, or a mapping from some columns to ``(low, high)`` or a list of categories.
        **columns
            The same by name: ``count(age=(30, 60), sex=["f"])``. Columns left out are not restricted. A restricted
            column leaves out the rows whose value is missing.

        Returns
        -------
        Count
            ``value``, ``interval(0.95)``, and the two parts of ``std_error``: ``noise_error`` = sqrt(Σ f² v) over
            leaves with covered share f and noise variance v (after a refinement that ties leaves together, correlations
            between them are left out), and ``evenness_error``, what rows that lie unevenly in the leaves cut by the
            box may add, estimated from neighbouring leaves. Without restriction the answer is `total`. In a grid that
            lists survivors only (`hidden`), a restricted value is the sum over those; ``unlisted`` tells how many rows
            lie elsewhere, nobody knows where. Counts can be added and subtracted.

        Examples
        --------
        >>> import discreet as dc
        >>> from discreet.synopses import Synopsis
        >>> domain = dc.Domain({"age": (0, 100), "sex": ["f", "m"]})
        >>> s = Synopsis(domain, lower=[[0, 0], [50, 0]], upper=[[50, 2], [100, 2]], weights=[60, 40],
        ...              variances=[4.0, 4.0], guarantee=dc.Guarantee("central"))
        >>> s.count(), s.count(age=(0, 50)), s.count() - s.count(age=(0, 50))
        (Count(100 ± 2.83), Count(60 ± 2), Count(40 ± 2))
        >>> half = s.count(age=(0, 75)) - s.count(age=(25, 75))  # what both cover has no part in it
        >>> half, s.count(age=(0, 25))
        (Count(30 ± 9.78: noise 1, evenness 9.73), Count(30 ± 9.78: noise 1, evenness 9.73))
        """
        return query.answered(self._own, [query.read_query(self._own.domain, box, columns)])

    def ask(self, question: str) -> Count:
        """Estimate the number of rows that a question in words is true of.

        Parameters
        ----------
        question : str
            Comparisons of declared columns with values (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``between ... and
            ...`` with both ends, ``in (...)``, ``is missing``), put together by ``and``, ``or``, ``not`` and brackets.
            Texts and dates stand in single quotation marks, names with odd characters in back quotes. Of a
            missing value nothing is true but ``is missing``.

        Returns
        -------
        Count
            Its ``note`` says where a question is about what the schema left out (``missing = "drop"``) or moved (values
            beyond the bounds, counted at the bound). If it is about nothing else, ``noise_error`` is infinite: no
            row was counted, and how many there are is not known.

        Examples
        --------
        >>> import discreet as dc
        >>> from discreet.synopses import Synopsis
        >>> domain = dc.Domain({"age": (0, 100), "sex": ["f", "m"]})
        >>> s = Synopsis(domain, lower=[[0, 0], [50, 0]], upper=[[50, 1], [100, 1]], weights=[60, 40],
        ...              variances=[4.0, 4.0], guarantee=dc.Guarantee("central"))
        >>> s.ask("age < 50 and sex = 'f'"), s.ask("not (age < 50 or sex = 'm')")
        (Count(60 ± 2), Count(40 ± 2))
        """
        return query.answered(self._own, *ask.read(self._own.domain, question))

    def share(self, of: Where, given: Where = None) -> Figure:
        """Estimate which share of some rows are also others: of those ``given``, how many are ``of``.

        Examples
        --------
        >>> import discreet as dc
        >>> from discreet.synopses import Synopsis
        >>> s = Synopsis(dc.Domain({"age": (0, 100)}), lower=[[0], [50]], upper=[[50], [100]], weights=[60, 40],
        ...              variances=[4.0, 4.0], guarantee=dc.Guarantee("central"))
        >>> s.share("age < 50")
        Figure(0.6 ± 0.0144)
        """
        if self._not_known(of):
            return Figure(0.0, math.inf, limits=(0.0, 1.0))
        base = self._where(given)
        both = tuple((1.0, evenness.both(a, b)) for a in self._where(of) for b in base)
        found = query.added(self._own, both) / query.added(self._own, tuple((1.0, q) for q in base))
        return replace(found, limits=(0.0, 1.0))

    def marginal(self, column: str, bins: Any = None) -> Marginal:
        """Estimate the distribution of one column.

        Parameters
        ----------
        column : str
            Its name.
        bins : int or sequence of float, optional
            Number of equal bins of a numeric column, or their edges. By default the edges of the leaves themselves,
            which need no assumption inside them, or 50 equal bins where those are more than 100.

        Returns
        -------
        Marginal
            Edges (or categories), counts and standard errors; see `count` for what the errors cover.
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

        Examples
        --------
        >>> import discreet as dc
        >>> from discreet.synopses import Synopsis
        >>> domain = dc.Domain({"age": dc.Integer(0, 99), "sex": ["f", "m"]})
        >>> s = Synopsis(domain, lower=[[-0.5, 0], [-0.5, 1]], upper=[[99.5, 1], [99.5, 2]], weights=[60, 40],
        ...              variances=[4.0, 4.0], guarantee=dc.Guarantee("central"))
        >>> found = s.table("sex", "age", bins={"age": [0, 100]}).to_dict()
        >>> found["sex"], found["age_from"], found["age_to"], found["count"]
        (['f', 'm'], [0, 0], [99, 99], [60.0, 40.0])
        """
        found = distributions.table(self._own, columns, {} if bins is None else bins, self._where(where), level)
        return replace(found, noise_errors=np.full_like(found.counts, np.inf)) if self._not_known(where) else found

    def mean(self, column: str, where: Where = None) -> Figure:
        """Estimate the mean of a numeric column, as if rows lay evenly in their leaves.

        Rows whose value is missing are left out; of a column of dates the mean is in days since
        1970-01-01, of times of day in seconds since midnight.
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

    def _not_known(self, where: Where) -> bool:
        """Tell whether a question is about nothing but what the schema left out or moved to the bounds."""
        return math.isinf((self.ask(where) if isinstance(where, str) else self.count(where)).noise_error)

    @property
    def _own(self) -> Synopsis:
        return cast("Synopsis", self)

    def _where(self, where: Where) -> Sequence[evenness.Query]:
        if isinstance(where, str):
            return ask.parse(self._own.domain, where)
        return [query.read_query(self._own.domain, where, {})]
