"""The density tree: a partition of the quasi-identifiers in which every cell keeps k, l and t.

After Ram and Gray (2011), with what publishing needs: splits are points of a public grid and are chosen
there, both sides of every cut keep the rules, the cells have public outer bounds, and every release is checked again.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from discreet.anonymity.growth.grow import GrownTree, grow_tree
from discreet.anonymity.growth.pruning import prune
from discreet.anonymity.methods import drawing
from discreet.anonymity.methods.partitioner import BuildRecords, Partitioner
from discreet.anonymity.methods.supervised import choose_growth
from discreet.anonymity.release.prepare import MERGE
from discreet.anonymity.release.table import Table, TablePlan, read_table
from discreet.anonymity.risk.rules import BLIND, Rules, stacked
from discreet.core import FloatArray, IntArray, check_fitted, option
from discreet.errors import InvalidArgument

CRITERIA = ("spread", "factor", "width", "cell")


class DensityTree(Partitioner):
    """Anonymous tables by a density estimation tree.

    Attributes
    ----------
    tree_ : Tree
        The partition: cuts on public grids.
    leaf_counts_ : ndarray of int64
        Build records by leaf, in the order of ``tree_.leaves``.
    rules_ : Rules
        The rules that every cell keeps.
    weight_, ahead_ : float, int
        If supervised: the weight of the label, from 0 to 1 (the rest is that of the common spread), and the number of
        upper levels that were split by looking ahead.

    Privacy
    -------
    In an interval table each row has the same quasi-identifiers as k - 1 others. With l and t, each such group has
    diverse sensitive values, close to those of the table. This is not differential privacy: an attacker who knows more
    than the quasi-identifiers may identify people, the table shows who takes part in it, and several releases about
    the same people can be intersected unless a release history checks them.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> domain = dc.Domain({"age": (0, 120), "ill": ["no", "yes"]})
    >>> people = {"age": [31, 33, 36, 38, 61, 64, 66, 69], "ill": ["no", "no", "yes", "no", "yes", "no", "no", "yes"]}
    >>> release = DensityTree(k=4, domain=domain, sensitive="ill").fit_transform(pa.table(people))
    >>> sorted(set(release.table.column("age").to_pylist()))
    ['[0, 50)', '[50, 120]']
    """

    _: KW_ONLY
    criterion: str = option(
        default="auto", choices=("auto", *CRITERIA), help="The measure of a good split.",
        details='"auto" groups unordered categories without a hierarchy as "merge" does, and takes "width" if there '
        'are groups, otherwise "spread". "spread": the drop in the sum of squares of all columns. "factor": the same '
        'along what the columns have in common, which keeps classes of numeric tables best. "width": the drop in the '
        'mean width of the cells, which keeps values most precise. "cell": the gain in integrated squared error, for '
        "density estimates.",
    )  # fmt: skip
    min_share: float = option(
        default=0.02, low=0, high=1, help="Smallest share of the width of a cell on either side of a split."
    )
    max_depth: int = option(default=64, low=0, high=2**31, help="Maximum depth of the tree.")
    pruning: str | None = option(
        default=None, choices=("folds",), example="folds", help="Prune by cross-validation over ten folds.",
        details="For density estimates; cells become larger than k requires.",
    )  # fmt: skip
    blind: bool = BLIND
    supervised: bool = option(
        default=False, example=True, help="Choose the splits that predict the target best.",
        details="Cross-validation on the build records sets the weight of the label against the spread. In small "
        "tables it also decides if the first splits are chosen by the splits that they allow next.",
    )  # fmt: skip
    random_state: Any = option(default=None, job="-", help="For the folds; growth itself is deterministic.")

    def density(self, data: Any) -> FloatArray:
        """Return the estimated density at every row, count/(N · volume) of its leaf. Not for publication."""
        check_fitted(self, "tree_")
        leaf = self.tree_.route(read_table(data, self.plan_).bins)
        return self._densities()[leaf]

    def score(self, data: Any, y: Any = None) -> float:
        """Return minus the integrated squared error, up to a constant: (2/n) Σ f(x_i) - ∫ f². Not for publication."""
        check_fitted(self, "tree_")
        leaves = self.tree_.leaves
        squares = float(self._densities()[leaves] @ (self.leaf_counts_ / self.leaf_counts_.sum()))
        return 2 * float(self.density(data).mean()) - squares

    def draw(self, depth: int = 4) -> str:
        """Return the tree as text: every cut, and the build records on both of its sides. Not for publication.

        Parameters
        ----------
        depth : int
            Levels to draw.

        Privacy
        -------
        A release of the same records publishes the leaves and their rows too, unless it merges cells or leaves out
        rows. It does not publish the order of the cuts. Cuts with fewer than k rows (or persons) on a side are left
        out of the drawing.

        Examples
        --------
        >>> import discreet as dc
        >>> people = dc.datasets.people(2000)
        >>> print(DensityTree(k=10, domain=people.domain).fit(people.table).draw(depth=2))
        k = 10, 154 cells; rows of the build records, for internal use
        all                                         2,000
        ├─ age [0, 50)                              1,312
        │  ├─ job {clerk, engineer, farmer, smith}    551  … 41 cells
        │  └─ job {cook, driver, nurse, teacher}      761  … 60 cells
        └─ age [50, 120]                              688
           ├─ job {clerk, engineer, farmer, smith}    280  … 22 cells
           └─ job {cook, driver, nurse, teacher}      408  … 31 cells
        """
        check_fitted(self, "tree_")
        return drawing.draw_text(self, depth)

    def plot(self, depth: int = 4) -> Any:
        """Draw the tree: boxes as high as their rows, coloured by density. Not for publication.

        Parameters and privacy are those of `draw`. Needs Plotly (the extra ``plot``). Click a box to enlarge it.
        """
        check_fitted(self, "tree_")
        return drawing.draw_figure(self, depth)

    def _densities(self) -> FloatArray:
        scale = [g.column.high - g.column.low if g.numeric else g.levels for g in self.tree_.grids]
        share = np.zeros(self.tree_.n_nodes)
        share[self.tree_.leaves] = self.leaf_counts_ / self.leaf_counts_.sum()
        found: FloatArray = share / (self.tree_.volumes() * np.prod(scale))
        return found

    def _check(self, plan: TablePlan) -> None:
        if self.blind and self.supervised:
            expected = "left out: supervised splits look at the target"
            raise InvalidArgument("blind", True, expected, "supervised=False")
        if self.supervised and plan.target is None:
            raise InvalidArgument("supervised", True, "used with a target column", 'target="label"')

    @property
    def _groups_categories(self) -> bool:
        return self.criterion == "auto" and not self.supervised

    def _criterion(self, asked: str) -> str:
        """Return the measure of splits: the one asked for, or for "auto" one that suits the columns."""
        grouped = any(name in self.hierarchies_ for name in self.plan_.quasi)
        return asked if asked != "auto" else "width" if grouped else "spread"

    @property
    def _grows_outside(self) -> bool:
        return not self.supervised and self.pruning is None

    def _too_large(self) -> InvalidArgument:
        name, plain = ("supervised", False) if self.supervised else ("pruning", None)
        expected = "left out with a table that does not fit into memory: it looks at rows again and again"
        return InvalidArgument(name, getattr(self, name), expected, f"{name}={plain}")

    def _grow(self, table: BuildRecords, tiers: Mapping[int, IntArray], rules: Rules) -> GrownTree:
        if self._grows_outside:
            return super()._grow(table, tiers, rules)
        assert isinstance(table, Table)
        settings = self._splitting(tiers) | ({"criterion": "label"} if self.supervised else {})
        codes, settings["limits"] = stacked(table.sensitive, table.n), rules.limits(table.sensitive)
        if self.supervised:
            self.weight_, self.ahead_ = choose_growth(table, codes, settings)
            settings |= {"weight": self.weight_, "ahead": self.ahead_}
        grown = grow_tree(table.bins, table.plan.grids, sensitive=codes, target=table.target, **settings)
        if self.pruning is None:
            return grown
        return prune(
            grown, table.bins, sensitive=codes, target=table.target, random_state=self.random_state, **settings
        )

    def _growth(self, tiers: Mapping[int, IntArray]) -> dict[str, Any] | None:
        return self._splitting(tiers) if self._grows_outside else None

    def _splitting(self, tiers: Mapping[int, IntArray]) -> dict[str, Any]:
        shape = {"min_share": float(self.min_share), "max_depth": self.max_depth}
        return {"criterion": self._criterion(self.criterion), **shape, "tiers": tiers}

    def _facts(self) -> dict[str, Any]:
        named, grown = {"label": "information gain on the target, with the common spread"}, self._at_fit
        return {
            "criterion": "supervised" if grown.supervised else self._criterion(grown.criterion),
            "cuts_by": {named.get(name, name): n for name, n in self.tree_.criteria().items()},
            "pruning": grown.pruning,
            **({"label_weight": self.weight_, "levels_ahead": self.ahead_} if grown.supervised else {}),
        }

    def _notes(self) -> list[str]:
        notes = []
        if self._at_fit.supervised:
            notes.append(f"the cuts were chosen by the values of column {self.plan_.target!r}, which is handed out too")
        given = self._at_fit.hierarchies or {}
        merged = [n for n in self.hierarchies_ if isinstance(given.get(n, MERGE), str)]
        if merged:
            listed = ", ".join(map(repr, merged))
            where = "an earlier release" if self._grouped_before else "the records"
            notes.append(f"categories of {listed} were grouped by how often they occur in {where}, not by meaning")
        return notes
