"""Maximum likelihood for the number of items in several flipped bitmaps, from counts of bit patterns.

An item sets one bit, at level l with probability B·r_l in one of B buckets. A bit of level l is 0 in *all* bitmaps of a
set T with probability exp(-g_l U_T), g_l = -ln(1 - r_l), where U_T is the size of their union: the sum of the *atoms*
n_S over the S that meet T; n_S items are in exactly the bitmaps S. A bit of bitmap i, flipped with probability p_i,
reads 1 with probability (1-p_i) - (1-2p_i)·[it was 0], so the probability of a pattern is linear in the exp(-g_l U_T).

Bits of one level are treated as independent (Hehir, Ting and Cormode, "Sketch-Flip-Merge", ICML 2023), which is exact
for a Poisson number of items, with J, the inverse of the information, as covariance. For a *fixed* number of items the
variance of that Poisson number is subtracted: J - diag(n_S). The bias is known to first order (Cox, Snell 1968) and
subtracted. With p the probabilities of the readings of B bits at each level it is -1/2 J Σ B (grad p/p) tr(J hess p).
"""

from dataclasses import dataclass

import numpy as np

from discreet.core import FloatArray

#: Number of sizes on the grid of starting values.
_GRID = 600
_STEPS = 200
#: Smaller probabilities are lost in rounding.
_LEAST = 1e-12
#: Scoring stops when the next step would gain less than this in log-likelihood.
_GAIN = 1e-9


@dataclass(frozen=True)
class PatternLaw:
    """The probabilities of patterns of bits, one bit of every bitmap.

    ``rates`` are the r_l by level, ``buckets`` the bits of a level, ``flips`` the p_i by bitmap.
    """

    rates: FloatArray
    buckets: int
    flips: FloatArray

    @property
    def meets(self) -> FloatArray:
        """Matrix of whether the set T (a row, from the empty one) and the atom S (a column) have a bitmap in common."""
        sets = np.arange(2 ** len(self.flips))
        return ((sets[:, None] & sets[None, 1:]) > 0).astype(np.float64)

    @property
    def readings(self) -> FloatArray:
        """The matrix from the probabilities that all bits of T are 0 to those of the readings."""
        full = np.ones((1, 1))
        for flip in self.flips:  # the first bitmap is the lowest binary digit
            full = np.kron(np.array([[flip, 1 - 2 * flip], [1 - flip, 2 * flip - 1]]), full)
        return full

    def _empty(self, atoms: FloatArray) -> FloatArray:
        exponent = np.log1p(-self.rates)[:, None] * (self.meets @ atoms)
        return np.asarray(np.exp(np.minimum(exponent, 700.0)))

    def chances(self, atoms: FloatArray) -> FloatArray:
        """Return the probability of every reading (a column) at every level."""
        return np.asarray(self._empty(atoms) @ self.readings.T)

    def slopes(self, atoms: FloatArray) -> FloatArray:
        """Return the derivatives of `chances` by the atoms: levels, readings, atoms."""
        moved = np.log1p(-self.rates)[:, None, None] * self._empty(atoms)[:, :, None] * self.meets
        return np.asarray(np.einsum("rt,lts->lrs", self.readings, moved))

    def information(self, atoms: FloatArray) -> FloatArray:
        """Return the Fisher information about the atoms."""
        slopes = self.slopes(atoms)
        return np.asarray(self.buckets * np.einsum("lrs,lrt,lr->st", slopes, slopes, 1 / self._safe(atoms)))

    def _safe(self, atoms: FloatArray) -> FloatArray:
        return np.maximum(self.chances(atoms), _LEAST)

    @property
    def most(self) -> float:
        """A number of items at which all bits are set."""
        return 64 / float(self.rates.min())

    def spread(self, atoms: FloatArray) -> FloatArray:
        """Return J, the inverse of the information at non-negative atoms; infinite if nothing is known."""
        information = self.information(np.maximum(atoms, 0.0))
        scale = np.sqrt(np.diag(information))
        if not np.all(scale > 0) or not np.all(np.isfinite(scale)) or np.abs(atoms).max() >= self.most:
            return np.diag(np.full(len(atoms), np.inf))
        scaled = np.linalg.pinv(information / np.outer(scale, scale), hermitian=True)
        return np.asarray(scaled / np.outer(scale, scale))

    def covariance(self, atoms: FloatArray) -> FloatArray:
        """Return the covariance of the estimates for fixed sets of items (see above)."""
        return np.asarray(self.spread(atoms) - np.diag(np.maximum(atoms, 0.0)))

    def bias(self, atoms: FloatArray) -> FloatArray:
        """Return the bias of the maximum likelihood atoms, to first order."""
        at = np.maximum(atoms, 0.0)
        spread = self.spread(at)
        if not np.all(np.isfinite(spread)):
            return np.zeros(len(atoms))
        bent = np.einsum("ts,su,tu->t", self.meets, spread, self.meets)
        curves = (np.log1p(-self.rates) ** 2)[:, None] * (self._empty(at) * bent) @ self.readings.T
        pull = np.einsum("lrs,lr->s", self.slopes(at), curves / self._safe(at))
        found = -0.5 * self.buckets * spread @ pull
        # The first order holds if errors are small compared with the counts, or with the empty bits.
        error = np.sqrt(np.diag(spread))
        near = error < max(float(at.sum()), self.buckets) / 2
        return np.where(near, np.clip(found, -error / 2, error / 2), 0.0)

    def start(self, counts: FloatArray) -> FloatArray:
        """Return starting atoms: the size of every union by least squares, then the atoms that add up to them."""
        shares = np.linalg.solve(self.readings, counts.T / self.buckets).T  # unbiased for the chances of being empty
        sizes = np.append(0.0, np.geomspace(1.0, self.most, _GRID))
        empty = np.exp(np.log1p(-self.rates)[:, None] * sizes)
        unions = [sizes[np.argmin(((column[:, None] - empty) ** 2).sum(axis=0))] for column in shares.T[1:]]
        return np.maximum(np.linalg.solve(self.meets[1:], np.array(unions)), 0.0)

    def fit(self, counts: FloatArray) -> FloatArray:
        """Return the maximum likelihood atoms, less their bias. They may be negative; clipping would add bias."""
        atoms = self.start(counts)
        best = self._likelihood(counts, atoms)
        for _ in range(_STEPS):
            score = np.einsum("lr,lrs->s", counts / self._safe(atoms), self.slopes(atoms))
            step = np.linalg.lstsq(self.information(atoms), score, rcond=1e-14)[0]
            if not np.all(np.isfinite(step)) or score @ step < _GAIN:
                break
            for _ in range(40):
                found = self._likelihood(counts, atoms + step)
                if found > best:
                    break
                step = step / 2
            else:
                break
            atoms, best = atoms + step, found
            if np.abs(atoms).max() >= self.most:
                return np.asarray(np.clip(atoms, -self.most, self.most))
        return atoms - self.bias(atoms)

    def _likelihood(self, counts: FloatArray, atoms: FloatArray) -> float:
        chances = self.chances(atoms)
        if not np.all(np.isfinite(chances)) or np.any((chances < _LEAST) & (counts > 0)):
            return -np.inf
        return float((counts * np.log(np.where(counts > 0, chances, 1.0))).sum())
