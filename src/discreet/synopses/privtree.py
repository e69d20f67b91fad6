"""PrivTree with integer noise: one noise scale for all depths, and a bias that grows with the depth.

Zhang, Xiao and Xie, "PrivTree" (2016), in the discrete form of spec partition-synopsis 9.6. A node at depth i with n
rows is cut iff ``max(n - i δ, -δ) + Z > 0``, Z discrete Laplace of scale λ. The bias δ must be a *whole* number: with
the published real-valued δ = λ ln b rounding lets several nodes of a path share one threshold, and the promise fails.

Privacy. Along the path of one row let y be a node's biased count with the row in, a whole number >= -δ. One row more
changes the log-probability of a cut by ρ(y): 1/λ for -δ < y <= 1, ln((1+α-α^y)/(1+α-α^(y-1))) for y >= 2, and nothing
at the floor y = -δ; α = e^(-1/λ). ρ falls with y, and going up the path from the deepest node above the floor y is at
least 1-δ, 1, 1+δ, 1+2δ, ... So the loss is at most 2/λ + Σ_j ρ(1 + jδ) <= (2 + 1/(b-1))/λ, because α^δ <= 1/b.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet._checks import Exact
from discreet.engines._kernels import IntArray
from discreet.noise import DiscreteLaplace


@dataclass(frozen=True)
class PrivTreeRule:
    """The constants of the test: scale λ of the noise, bias δ per level.

    Examples
    --------
    >>> rule = PrivTreeRule.for_budget(Fraction(1), fan_out=2)
    >>> rule.scale, rule.bias, round(rule.loss(), 3)
    (Fraction(3, 1), 3, 0.778)
    """

    scale: Fraction
    bias: int

    @classmethod
    def for_budget(cls, epsilon: Exact, fan_out: int) -> PrivTreeRule:
        """Return λ = (2b-1)/((b-1) ε) and δ = max(1, ceil(λ ln b)); without noise every node with rows is cut."""
        if isinstance(epsilon, float):
            return cls(Fraction(0), 0)
        scale = Fraction(2 * fan_out - 1, fan_out - 1) / epsilon
        # λ ln b is irrational, so rounding the float up keeps α^δ <= 1/b.
        return cls(scale, max(1, math.ceil(float(scale) * math.log(fan_out) * (1 + 2**-50))))

    def biased(self, counts: IntArray, depth: int) -> IntArray:
        """Return ``max(n - i δ, -δ)``: what noise is added to."""
        return np.maximum(counts - depth * self.bias, -self.bias)

    def split_chance(self, biased: int) -> float:
        """Return the probability of a cut, Pr[biased + Z > 0]."""
        return float(DiscreteLaplace(self.scale).sf(1 - biased))

    def loss(self) -> float:
        """Return the exact worst loss over all paths: 2/λ + Σ_j ρ(1 + j δ)."""
        alpha = DiscreteLaplace(self.scale).alpha
        total, j = 2 / float(self.scale), 1
        while (
            step := math.log1p(alpha ** (j * self.bias) * (1 - alpha) / (1 + alpha - alpha ** (j * self.bias)))
        ) > 1e-17:
            total += step
            j += 1
        return total
