"""Noise addition and multiplicative noise: classical masking without a formal promise."""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.anonymity.growth.grid import Grid
from discreet.anonymity.masking.masker import Masker, deviations, on_grid, refuse_columns, whole_points
from discreet.anonymity.release.release import number_array
from discreet.anonymity.release.table import Table, TablePlan
from discreet.core import Date, FloatArray, Time, option
from discreet.errors import InvalidType

#: Steps of the public lattice across the declared interval on which noise is drawn.
FINE_STEPS = 2**30
#: A standard normal number is a discrete Gaussian number of this scale, divided by it.
_UNIT = 2**20


class Noisy(Masker):
    """The base of noise: numbers only, published on a lattice or a grid, clipped or not."""

    _: KW_ONLY
    grid: Any = option(
        default=None, help="Publish the nearest points of this grid: a number of steps, or points; also by column.",
        details="None publishes points of a lattice of 2^30 steps of the declared interval.",
    )  # fmt: skip
    clip: bool = option(
        default=False, example=True, help="Move published values into the declared interval.",
        details="It avoids impossible values and shifts the mean.",
    )  # fmt: skip

    def _check_plan(self, plan: TablePlan) -> None:
        super()._check_plan(plan)
        wrong = [grid.name for grid in plan.grids if not grid.numeric]
        refuse_columns(wrong, "numbers in all quasi-identifiers: noise needs them", "RankSwapping")

    def _change(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        width = np.array([[g.column.high - g.column.low] for g in table.plan.grids])
        unit = before / width
        noisy, facts = self._noisy(unit, noise.discrete_gaussian(_UNIT, size=unit.shape, rng=stream) / _UNIT)
        fine = np.rint(noisy * FINE_STEPS) / FINE_STEPS * width
        if self.clip:
            low = np.array([[g.column.low] for g in table.plan.grids])
            fine = np.clip(fine, low, low + width)
        return fine, {**facts, "clip": bool(self.clip)}

    def _noisy(self, unit: FloatArray, normal: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        """Return values with noise, both over the declared widths, from standard normal numbers; and the settings."""
        raise NotImplementedError

    def _written(self, grid: Grid, values: FloatArray) -> pa.Array:
        rounded = self.grid is not None and (not isinstance(self.grid, Mapping) or grid.name in self.grid)
        if not rounded:
            return number_array(grid, values, False)
        low, high = grid.edges[0], grid.edges[-1]
        outside = (values < low) | (values > high)  # the grid ends at the bounds; clip=True is for keeping to them
        step = (high - low) / grid.levels
        beyond = low + np.rint((values - low) / step) * step
        return number_array(
            grid, np.where(outside, beyond, on_grid(grid, values)), whole_points(grid) and step % 1 == 0
        )


class NoiseAddition(Noisy):
    """Add normal noise to the numbers.

    Notes
    -----
    X* = X + E with rows of E drawn from N(0, α diag(σ²)) or N(0, α Σ). Means are kept in expectation. The variance is
    multiplied by 1 + α, and with correlated noise the whole covariance matrix. Missing values stay missing.

    Privacy
    -------
    No formal guarantee: no k, no ε. Noise in proportion to the spread of a column hides neither outliers nor unique
    rows. `MaskedRelease.disclosure` and the guarantee state how many rows can be linked with their originals by
    distance, and how many values lie within 5 % of the ranks of the true ones.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"age": [31, 33, 36, 60, 64, 66, 69]})
    >>> method = NoiseAddition(0.5, domain=dc.Domain({"age": (0, 120)}), grid=120)
    >>> release = method.fit_transform(people, random_state=1)
    >>> release.table["age"].to_pylist()
    [37, 41, 48, 59, 82, 33, 79]
    >>> release.guarantee.parameters["reached"]["k"] is None
    True
    """

    alpha: float = option(
        default=0.1, above=0, help="Variance of the noise as a share of that of the column; 0.1 to 0.5 are usual."
    )
    _: KW_ONLY
    kind: str = option(
        default="uncorrelated", choices=("uncorrelated", "correlated"),
        help="Independent noise per column, or noise with alpha times the covariance of the columns.",
    )  # fmt: skip

    def _noisy(self, unit: FloatArray, normal: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        root = _root(unit, self.kind) * np.sqrt(float(self.alpha))
        return unit + root @ normal, {"alpha": float(self.alpha), "kind": self.kind}


class MultiplicativeNoise(Noisy):
    """Multiply the numbers by random factors.

    Notes
    -----
    X* = X F with E F = 1 and Var F = s²; all factors are independent. Lognormal factors are exp(σZ - σ²/2) with
    σ² = ln(1 + s²), normal ones 1 + s Z, with Z standard normal. Sums, means and covariances of two columns are kept in
    expectation, and the mean square is multiplied by 1 + s². Zeros stay zeros, and missing values stay missing.

    Privacy
    -------
    No formal guarantee: no k, no ε. Values near 0 hardly change, zeros and signs (with "lognormal") not at all. Values
    that differ by more than a few times the spread keep their order. `MaskedRelease.disclosure` and the guarantee
    state how many rows can be linked with their originals.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"pay": [0, 1000, 2000, 4000, 8000]})
    >>> method = MultiplicativeNoise(0.2, domain=dc.Domain({"pay": (0, 10_000)}), grid=1000)
    >>> method.fit_transform(people, random_state=1, order="input").table["pay"].to_pylist()
    [0, 1050, 1870, 3870, 10260]
    """

    spread: float = option(
        default=0.1, above=0, help="Standard deviation of a factor: 0.1 moves a value by about a tenth of itself."
    )
    _: KW_ONLY
    kind: str = option(
        default="lognormal", choices=("lognormal", "normal"), help="Law of the factors, which have mean 1.",
        details="Lognormal factors are always positive; normal ones may be negative where the spread is large.",
    )  # fmt: skip

    def _check_plan(self, plan: TablePlan) -> None:
        super()._check_plan(plan)
        wrong = [grid.name for grid in plan.grids if isinstance(grid.column, (Date, Time))]
        refuse_columns(wrong, "numbers with a meaningful zero; dates and times have none", "NoiseAddition")

    def _noisy(self, unit: FloatArray, normal: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        spread = float(self.spread)
        if self.kind == "normal":
            factors = 1 + spread * normal
        else:
            variance = np.log1p(spread**2)
            factors = np.exp(np.sqrt(variance) * normal - variance / 2)
        return unit * factors, {"spread": spread, "kind": self.kind}

    def recovered(self, values: Any) -> tuple[float, float]:
        """Return unbiased estimates of the mean and the variance that a published column had before the noise.

        Missing values are ignored. For clipped or coarsely rounded columns the estimates are not exact.

        Examples
        --------
        >>> method = MultiplicativeNoise(0.5)
        >>> method.recovered([2.0, 4.0])
        (3.0, 0.0)
        """
        self.read_option("spread")
        try:
            there = np.asarray(values, float)
        except (TypeError, ValueError):
            fix = "recovered(release.table['pay'])"
            raise InvalidType("values", values, "the published numbers of a column", fix) from None
        there = there[~np.isnan(there)]
        # The mean of squares is 1 + s² times too large on average, the square of the mean by s²/n of the true one.
        mean, squares = there.mean(), (there**2).mean() / (1 + float(self.spread) ** 2)
        return float(mean), float(squares - (mean**2 - float(self.spread) ** 2 * squares / len(there)))


def _root(unit: FloatArray, kind: str) -> FloatArray:
    """Return a matrix A with A Aᵀ the covariance of the columns, over rows without a gap; or its diagonal."""
    if kind == "uncorrelated":
        return np.diag(deviations(unit))
    whole = unit[:, ~np.isnan(unit).any(axis=0)]
    if whole.shape[1] < 2:
        return np.zeros((len(unit), len(unit)))
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(whole, ddof=0)))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
