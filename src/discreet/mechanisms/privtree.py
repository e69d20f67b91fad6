"""PrivTree with integer noise: one noise scale for all depths, and a bias that grows with the depth.

Zhang, Xiao and Xie, "PrivTree" (2016), in discrete form. A node at depth i with n rows is split iff
``max(n - i δ, -δ) + Z > 0``, Z discrete Laplace of scale λ. The bias δ must be a *whole* number: with the published
real-valued δ = λ ln b rounding lets several nodes of a path share one threshold, and the promise fails.

Privacy. Neighbours: add or remove one row. Along the path of that row let y be a node's biased count with the row in, a
whole number >= -δ; nodes off the path do not change. One row more raises the log-probability of a cut by ρ(y): 1/λ for
-δ < y <= 1, ln((1+α-α^y)/(1+α-α^(y-1))) for y >= 2, and nothing at the floor y = -δ; α = e^(-1/λ). ρ falls with y, and
going up the path from the deepest node above the floor y is at least 1-δ, 1, 1+δ, 1+2δ, ..., because a parent has at
least the rows of its child and one δ less subtracted. So a path that is split everywhere loses at most

    L(λ, δ) = 2/λ + Σ_{j>=1} ρ(1 + jδ),

and the one stop that ends a path moves by 1/λ at most, the other way. Price: L(λ, δ) <= ε.

Choice of λ. The published λ = (2b-1)/((b-1) ε) uses the coarser bound L <= (2 + 1/(b-1))/λ (as α^δ <= 1/b). With b = 2
its loss is at most 0.87 ε, and 0.67 ε for large ε. `PrivTreeRule.for_budget` searches a lattice of rates for the
smallest λ with L <= ε. It relies on no rounded number: see `privtree_loss` in `discreet.core.budget`. δ is at least
λ ln b as before, so an empty region grows at most two nodes in expectation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.core import BoolArray, IntArray
from discreet.core.budget import Draw, Epsilon, privtree_loss, privtree_terms
from discreet.mechanisms.gate import Gate
from discreet.noise.stream import watch

#: Rates 1/λ are multiples of ε / RATE_STEPS.
RATE_STEPS = 2**16


@dataclass(frozen=True)
class PrivTreeRule:
    """The constants of the test: scale λ of the noise, bias δ per level."""

    scale: Fraction
    bias: int

    @classmethod
    def for_budget(cls, price: Epsilon, fan_out: int) -> PrivTreeRule:
        """Return the smallest noise whose loss is at most ε; without noise every node with rows is split.

        Bisects between the published rate, which is proven above, and ε/2, which no rate can exceed: first with the δ
        of each rate, then with the δ found. The lower end is always a proven rate.
        """
        if price.infinite:
            return cls(Fraction(0), 0)
        epsilon = Fraction(price.amount)
        scale = Fraction(2 * fan_out - 1, fan_out - 1) / epsilon
        best = cls(scale, _bias(scale, fan_out))
        low = RATE_STEPS * (fan_out - 1) // (2 * fan_out - 1)
        for fixed in (False, True):
            high = RATE_STEPS // 2 + 1
            while high - low > 1:
                middle = (low + high) // 2
                scale = RATE_STEPS / (middle * epsilon)
                rule = cls(scale, best.bias if fixed else _bias(scale, fan_out))
                low, high, best = (middle, high, rule) if rule.loss_bound() <= epsilon else (low, middle, best)
        # The published rate is proven by the coarser bound; ledger lines are checked by the sharper one.
        while best.loss_bound() > epsilon:
            scale = best.scale * (1 + Fraction(1, RATE_STEPS))
            best = cls(scale, _bias(scale, fan_out))
        return best

    def biased(self, counts: IntArray, depth: int) -> IntArray:
        """Return the biased counts, ``max(n - i δ, -δ)``."""
        return np.maximum(counts - depth * self.bias, -self.bias)

    def split_chance(self, biased: int) -> float:
        """Return the probability of a split, Pr[biased + Z > 0]."""
        return float(noise.DiscreteLaplace(self.scale).sf(1 - biased))

    def loss(self) -> float:
        """Return the worst loss over all paths, 2/λ + Σ_j ρ(1 + j δ), rounded."""
        return 2 / float(self.scale) + math.fsum(privtree_terms(self.scale, self.bias))

    def loss_bound(self) -> Fraction:
        """Return an upper bound on the worst loss, rounding included."""
        return privtree_loss(self.scale, self.bias)


class PrivTreeTests:
    """The split tests of a PrivTree: one line of the ledger for all depths.

    Privacy: see the module. Price: ε, once for a tree, or for trees below disjoint nodes that were released before.
    """

    def __init__(self, gate: Gate, label: str, price: Epsilon, fan_out: int) -> None:
        self.rule = PrivTreeRule.for_budget(price, fan_out)
        self._entry, self._stream = gate.hold(label, price)._entry, gate._book.stream
        self._draw = Draw("privtree", self.rule.scale, rows=gate._rows(Epsilon), number=0, bias=self.rule.bias)
        self._entry.draws.append(self._draw)

    def keep(self, counts: IntArray, depth: int) -> BoolArray:
        """Return which nodes at this depth are split."""
        assert self._draw.number is not None
        with watch.reason(self._stream, self._draw):
            kept = (
                self.rule.biased(counts, depth) + noise.discrete_laplace(self.rule.scale, len(counts), self._stream) > 0
            )
        self._draw = replace(self._draw, number=self._draw.number + len(counts))
        self._entry.draws[:] = [self._draw]
        return np.asarray(kept)


def _bias(scale: Fraction, fan_out: int) -> int:
    """Return max(1, ceil(λ ln b)). λ ln b is irrational, so rounding the float up keeps α^δ <= 1/b."""
    return max(1, math.ceil(float(scale) * math.log(fan_out) * (1 + 2**-50)))
