"""Multiplicative noise: every number times a random factor of mean 1. Classical masking that promises nothing."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from discreet.anonymity.masking.noise_and_swapping import Noisy
from discreet.anonymity.release.table import TablePlan
from discreet.core import Date, FloatArray, Time, checks
from discreet.errors import InvalidArgument, InvalidType

KINDS = ("lognormal", "normal")


@dataclass(eq=False, repr=False)
class MultiplicativeNoise(Noisy):
    """Multiply the numbers by random factors.

    Parameters
    ----------
    spread : float, default 0.1
        Standard deviation of a factor: 0.1 moves a value by about a tenth of itself.
    kind : {"lognormal", "normal"}
        Factors that are always positive, exp(σZ - σ²/2) with σ² = ln(1 + spread²), or 1 + spread Z, which may be
        negative where the spread is large. Z is standard normal; all factors are independent and have mean 1.
    domain, sensitive, target, keep
        See `DensityTree`. Quasi-identifiers must be numbers; dates and times are not, as their zero means nothing.
    grid, clip
        See `NoiseAddition`.

    Notes
    -----
    X* = X F with E F = 1 and Var F = s². Given the table, sums and means are kept in expectation, and covariances of
    two columns too, since their factors are independent. The mean square is multiplied by 1 + s², so the variance
    becomes Var X + s² (mean of X²): more than with `NoiseAddition` for columns far from 0. `recovered` gives unbiased
    estimates of the true mean and variance. Rounding and clipping add to this; zeros stay zeros, and missing values
    stay missing.

    Privacy
    -------
    None in any formal sense: no k, no ε. Values near 0 hardly change, zeros and signs (of "lognormal") not at all, the
    order of values that differ by more than a few times the spread stays. `MaskedRelease.disclosure` and the guarantee
    state how many rows can be linked with their originals.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"pay": [0, 1000, 2000, 4000, 8000]})
    >>> method = MultiplicativeNoise(0.2, domain=dc.Domain({"pay": (0, 10_000)}), grid=1000)
    >>> method.fit_transform(people, random_state=1, order="input").table["pay"].to_pylist()
    [0, 1050, 1870, 3870, 10260]
    """

    spread: float = 0.1
    _: KW_ONLY
    kind: str = "lognormal"

    def _check(self) -> None:
        checks.positive("spread", self.spread, fix="spread=0.1")
        checks.choice("kind", self.kind, KINDS)
        super()._check()

    def _check_plan(self, plan: TablePlan) -> None:
        super()._check_plan(plan)
        for grid in plan.grids:
            if isinstance(grid.column, (Date, Time)):
                expected = "numbers with a zero that means nothing is there; dates and times have none"
                raise InvalidArgument("domain", grid.name, expected, f"NoiseAddition, or keep=[{grid.name!r}]")

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

        The mean of squares is (1 + s²) times too large on average, and the square of the mean by s²/n of the true mean
        of squares. Missing values are left out; of clipped or roughly rounded columns neither is exact.

        Examples
        --------
        >>> method = MultiplicativeNoise(0.5)
        >>> method.recovered([2.0, 4.0])
        (3.0, 0.0)
        """
        self._check()
        try:
            there = np.asarray(values, float)
        except (TypeError, ValueError):
            fix = "recovered(release.table['pay'])"
            raise InvalidType("values", values, "the published numbers of a column", fix) from None
        there = there[~np.isnan(there)]
        mean, squares = there.mean(), (there**2).mean() / (1 + float(self.spread) ** 2)
        return float(mean), float(squares - (mean**2 - float(self.spread) ** 2 * squares / len(there)))
