"""Comparison of a synthetic table with the real one: accuracy, copies, membership."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet import engines, noise
from discreet.anonymity.risk import loss_of, loss_rows
from discreet.core import Domain, FloatArray, checks, html
from discreet.engines.readers import read_columns
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.comparison import learners, records
from discreet.evaluation.comparison.columns import read_tables
from discreet.evaluation.comparison.marginals import (
    CorrelationError,
    MarginalError,
    QueryError,
    correlation_error,
    marginal_errors,
    query_error,
)
from discreet.evaluation.comparison.marginals import triples as some_triples
from discreet.evaluation.table_attacks.columns import column_names

NOT_PRIVATE = "This comparison uses the raw rows. It is not private and must not be published with the release."


@dataclass(frozen=True, eq=False)
class TableComparison:
    """Comparison of a synthetic table with the real one. **Not private**: figures come from the raw rows.

    Attributes
    ----------
    rows, columns, left_out
        Rows of the real and of the synthetic table, the compared columns, and the others with the reason.
    marginals : dict of int to MarginalError
        Total variation, ½ Σ |share - share| over all cells, of sets of one, two and three columns.
    queries, correlations
        Errors of random range queries, and of correlations between columns of numbers.
    propensity, utility
        How well a classifier distinguishes the tables, and the quality of training on synthetic rows; or None.
    closeness, membership
        Distance to the closest real row, with a baseline (it proves nothing about privacy), and the membership attack.
    information_loss : dict or None
        Mean share of a column's values that a row leaves open: as ``printed``, and of the ``occurring`` values of the
        real rows that fit it; None if every row has single values. See `discreet.anonymity.risk`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from discreet.evaluation import compare_tables
    >>> real = pa.table({"age": [30, 30, 40, 40], "ill": ["no", "no", "yes", "yes"]})
    >>> other = pa.table({"age": [30, 30, 40, 40], "ill": ["no", "yes", "no", "yes"]})
    >>> compare_tables(real, other, random_state=1)
    <TableComparison, not private: error of columns 0.0000, pairs 0.5000>
    """

    rows: tuple[int, int]
    columns: tuple[str, ...]
    left_out: dict[str, str]
    marginals: dict[int, MarginalError]
    queries: QueryError
    correlations: CorrelationError
    propensity: learners.Propensity | None
    utility: learners.Utility | None
    closeness: records.Closeness
    membership: records.Membership | None
    information_loss: dict[str, Any] | None = None

    @property
    def pair_errors(self) -> FloatArray:
        """Errors of all pairs as a matrix; the diagonal has those of single columns."""
        d, place = len(self.columns), {name: i for i, name in enumerate(self.columns)}
        found = np.diag(self.marginals[1].errors)
        for (a, b), error in zip(self.marginals[2].sets, self.marginals[2].errors, strict=True):
            found[place[a], place[b]] = found[place[b], place[a]] = error
        return found.reshape(d, d)

    @property
    def notes(self) -> list[str]:
        """Warnings: the figures are not private, and signs of copying."""
        found = [NOT_PRIVATE]
        near = self.closeness
        if near.copied:
            found.append(
                f"{100 * near.copies.value:.1f} % of the synthetic rows are copies of real rows, compared with "
                f"{100 * near.baseline_copies.value:.1f} % of {near.baseline}."
            )
        if self.membership is not None and self.membership.refuted:
            found.append("The membership attack gets further than the claimed epsilon allows: the claim does not hold.")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data; errors of pairs by name."""
        pairs = self.marginals[2]
        return {
            "private": False,
            "notes": self.notes,
            "rows": {"real": self.rows[0], "synthetic": self.rows[1]},
            "columns": list(self.columns),
            "left_out": dict(self.left_out),
            "marginals": {str(ways): found.to_dict() for ways, found in self.marginals.items()},
            "column_errors": dict(zip(self.columns, self.marginals[1].errors.tolist(), strict=True)),
            "pair_errors": [
                {"columns": list(names), "error": error}
                for names, error in zip(pairs.sets, pairs.errors.tolist(), strict=True)
            ],
            "queries": self.queries.to_dict(),
            "correlations": self.correlations.to_dict(),
            "propensity": None if self.propensity is None else self.propensity.to_dict(),
            "utility": None if self.utility is None else self.utility.to_dict(),
            "closeness": self.closeness.to_dict(),
            "membership": None if self.membership is None else self.membership.to_dict(),
            "information_loss": self.information_loss,
        }

    def to_rows(self) -> list[tuple[str, str, str]]:
        """Return the figures as a table: measure, value, meaning."""
        return comparison_rows(self.to_dict())

    def plot(self) -> Any:
        """Draw the errors of pairs as a heat map; needs the extra 'plot'."""
        from discreet.evaluation.plots import draw_pairs

        return draw_pairs(self)

    def _repr_html_(self) -> str:
        title = f"Comparison of {self.rows[1]:,} synthetic with {self.rows[0]:,} real rows, {len(self.columns)} columns"
        return html.table(title, ["measure", "value", "meaning"], self.to_rows(), " ".join(self.notes))

    def __str__(self) -> str:
        told = [f"{name} {found.mean:.4f}" for name, found in zip(("columns", "pairs", "triples"),
                self.marginals.values(), strict=True) if len(found.errors)]  # fmt: skip
        if self.propensity is not None:
            told.append(f"distinguished with AUC {self.propensity.auc:.3f}")
        if self.utility is not None:
            u = self.utility
            told.append(f"{u.measure} {u.on_synthetic:.3f} after training on it, {u.on_real:.3f} on real rows")
        return f"<TableComparison, not private: error of {', '.join(told)}>"

    __repr__ = __str__


_WAYS = {"1": "single columns", "2": "pairs of columns", "3": "triples of columns"}


def comparison_rows(facts: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the figures of `TableComparison.to_dict` as a table: measure, value, meaning."""
    rows = []
    for ways, found in facts["marginals"].items():
        if found["sets"]:
            told = f"mean of {found['sets']:,}: share of rows that would have to move; sampling alone gives "
            told += f"{found['sampling']:.4f}"
            rows.append((f"error of {_WAYS[ways]}", f"{found['mean']:.4f}", told))
    asked = facts["queries"]
    told = f"mean of {asked['queries']:,} random range queries, as a share of rows; sampling alone gives "
    told += f"{asked['sampling']:.4f}"
    rows.append(("error of range queries", f"{asked['mean_absolute']:.4f}", told))
    told = "to the true share, or to 0.001 if that is larger"
    rows.append(("the same, relative", f"{100 * asked['mean_relative']:.1f} %", told))
    found = facts["correlations"]
    if found["worst"]:
        (a, b), before, after = (found["worst"][name] for name in ("columns", "real", "synthetic"))
        told = f"mean of {found['pairs']:,} pair{'s' * (found['pairs'] > 1)} of numbers; "
        told += f"most for {a} and {b}: {before:.2f} became {after:.2f}"
        rows.append(("change of correlations", f"{found['mean']:.4f}", told))
    if (found := facts["propensity"]) is not None:
        low, high = found["auc_interval"]
        rows.append(("distinguished by a classifier", f"{found['auc']:.3f} ({low:.3f} to {high:.3f})",
                     "AUC on unseen rows: 0.5 means not at all, 1 always"))  # fmt: skip
        rows.append(("pMSE ratio", f"{found['pmse_ratio']:.2f}", "1 if the tables cannot be distinguished"))
    if (found := facts["utility"]) is not None:
        low, high = found["loss_interval"]
        rows += [
            (f"{found['measure']} for {found['target']}, trained on synthetic rows", f"{found['on_synthetic']:.3f}",
             f"tested on {found['tested_on']:,} real rows" + ", which the release was made from" * found["seen"]),
            ("the same, trained on real rows", f"{found['on_real']:.3f}",
             f"lost: {found['loss']:.3f} ({low:.3f} to {high:.3f})"),
        ]  # fmt: skip
    found = facts["closeness"]
    told = f"median; {found['baseline_median']:.4f} for {found['baseline']}. It proves nothing about privacy"
    rows.append(("distance to the closest real row", f"{found['median']:.4f}", told))
    low, high, own, other = (
        f"{100 * share:.2f} %"
        for share in (*found["copies"]["interval"], found["copies"]["rate"], found["baseline_copies"]["rate"])
    )
    rows.append(("copies of real rows", f"{own} ({low} to {high})", f"{other} of {found['baseline']} have a duplicate"))
    if (found := facts["membership"]) is not None:
        low, high = found["attack"]["advantage_interval"]
        told = f"{found['releases']} repeated releases"
        if found["epsilon"] is not None:
            told += f"; ε = {found['epsilon']:g} allows {found['allowed_advantage']:.3f}"
        value = f"{found['attack']['advantage']:.3f} ({low:.3f} to {high:.3f})"
        rows.append(("advantage of a membership attack", value, told))
    return rows + loss_rows(facts.get("information_loss"))


def compare_tables(
    real: Any, synthetic: Any, *, domain: Domain | None = None, target: str | None = None,
    columns: Sequence[str] | None = None, holdout: Any = None, bins: int = 16, edges: str = "even",
    triples: int = 500, queries: int = 300, max_rows: int = 10_000, release: Callable[[Any, int], Any] | None = None,
    epsilon: float | None = None, delta: float = 0.0, shadows: int = 16, confidence: float = 0.95,
    random_state: Any = None,
) -> TableComparison:  # fmt: skip
    """Compare a synthetic table with the real one. Not private: for people who may see both.

    Parameters
    ----------
    real, synthetic : array, data frame, table or path
        Anything that `discreet.engines.open` reads. The real one is read as ``domain.source`` says.
    domain : Domain, optional
        Declared bounds and categories of the cells. Values beyond the bounds are clamped, other categories are missing.
        By default numbers are divided between the smallest and largest real one.
    target : str, optional
        A column to predict: trains on synthetic and on real rows and judges both on other real rows.
    columns : list of str, optional
        Columns to compare; by default all that both tables have, without identifiers and texts that name rows.
    holdout : array, data frame, table or path, optional
        Real rows that the synthetic table was *not* made from, to judge on and as the baseline of distances. By default
        a third of the real rows, which the synthetic table has seen, so its figure is slightly too good; the baseline
        is then the distance of real rows to each other.
    bins : int, default 16
        Cells of a column of numbers; missing values have their own.
    edges : {"even", "quantiles"}
        Cells of equal width, as is usually published, or with about equally many real rows.
    triples : int, default 500
        Sets of three columns, drawn at random if there are more; sets of more than 10,000 cells are left out.
    queries : int, default 300
        Number of random range queries.
    max_rows : int, default 10,000
        Rows of each table for the classifier that distinguishes them; 0 leaves it out.
    release : callable, optional
        ``release(rows, seed)`` makes a synthetic table from an Arrow table, for the membership attack. It is called
        ``shadows`` times.
    epsilon, delta : float, optional
        The claim about the release.
    shadows : int, default 16
        Releases of the membership attack, each of a random half of the rows.
    confidence : float, default 0.95
        Confidence of the intervals.
    random_state : None, int or Generator
        Seed.

    Examples
    --------
    >>> import discreet as dc
    >>> people = dc.datasets.people(120, seed=1).table.drop(["name"])
    >>> found = compare_tables(people, people, random_state=1)
    >>> found.marginals[2].mean, found.closeness.copied
    (0.0, True)
    >>> other = dc.datasets.people(120, seed=2).table
    >>> compare_tables(people, other, random_state=1).closeness.copied
    False
    """
    if domain is not None and not isinstance(domain, Domain):
        raise InvalidType("domain", type(domain).__name__, "a Domain", 'domain=Domain({"age": (0, 120)})')
    chosen = None if columns is None else column_names("columns", columns)
    rule = checks.choice("edges", edges, ("even", "quantiles"))
    n_bins, most = checks.whole("bins", bins, low=2), checks.whole("max_rows", max_rows)
    n_triples, n_queries = checks.whole("triples", triples), checks.whole("queries", queries, low=1)
    level, stream = float(checks.probability("confidence", confidence)), noise.generator(random_state, "random_state")
    claim = _claim(release, epsilon, delta)
    n_shadows = checks.whole("shadows", shadows, low=4)
    written = None if domain is None else domain.source
    tables = {"real": engines.open(real, dialect=written), "synthetic": engines.open(synthetic)}
    if holdout is not None:
        tables["holdout"] = engines.open(holdout, dialect=written)
    held, rows = read_tables(tables, domain, chosen)
    raw, made, kept = rows[0], rows[1], rows[2] if len(rows) > 2 else None
    if target is not None and target not in held.names:
        near = checks.nearest(target, held.names) or held.names[-1]
        raise InvalidArgument("target", target, "a column that is compared", f"target={near!r}")
    again = np.asarray(noise.below(len(raw), size=len(made), rng=stream))
    cuts = held.edges(raw, n_bins, rule)
    (cells, sizes), (other, _) = held.cells(raw, cuts), held.cells(made, cuts)
    sizes = np.maximum(sizes, 1 + np.maximum(cells.max(axis=1), other.max(axis=1)))
    d = len(held.names)
    sets: dict[int, Sequence[Any]] = {1: [(j,) for j in range(d)], 2: list(combinations(range(d), 2)),
            3: some_triples(sizes, n_triples, stream)}  # fmt: skip
    numeric = held.numeric
    return TableComparison(
        (len(raw), len(made)),
        held.names,
        held.left_out,
        {k: marginal_errors(held.names, cells, other, cells[:, again], sizes, s) for k, s in sets.items()},
        query_error(raw, made, raw[again], numeric, n_queries, stream),
        correlation_error(np.array(held.names)[numeric].tolist(), raw[:, numeric], made[:, numeric]),
        learners.propensity(raw, made, numeric, most, level, stream),
        None if target is None else learners.utility(
            target, held.names.index(target), raw, made, kept, numeric, level, stream),
        records.closeness(held, raw, made, kept, level, stream),
        None if release is None else records.membership(
            held, read_columns(tables["real"], held.names), raw, cuts, release, claim, n_shadows, level, stream),
        printed_loss(synthetic, tables["real"], held.names, domain),
    )  # fmt: skip


def printed_loss(released: Any, real: Any, names: Sequence[str], domain: Domain | None) -> dict[str, Any] | None:
    """Return the information loss of cells; None for a table of single values.

    With roles, of the quasi-identifiers: an attacker knows these, and they make the groups.
    """
    known = [n for n in names if domain is None or domain.column(n).role == "quasi-identifier"] or list(names)
    found = loss_of(released, known)
    return loss_of(released, known, real) if found is not None and found["printed"] else None


def _claim(release: Any, epsilon: Any, delta: Any) -> tuple[float | None, float]:
    if release is not None and not callable(release):
        raise InvalidType("release", release, "release(rows, seed), which makes a table", "release=make")
    if release is None and epsilon is not None:
        raise InvalidArgument("release", None, "given with epsilon: a claim is tested on releases", "release=make")
    level = None if epsilon is None else float(checks.positive("epsilon", epsilon))
    return level, float(checks.probability("delta", delta, closed=True))
