"""The loops of the mixture fit: expected counts of all leaves, and the gradient of the squared residual.

Leaves come sorted by their interval on the first axis, in blocks that share it (``starts``, one more than blocks). Most
components are far from most leaves: where a component has no share of the interval, it skips the block.
"""

from discreet.core import FloatArray, IntArray, jit

#: A component counts as absent from a leaf where its share is smaller.
NEGLIGIBLE = 1e-13


@jit
def expected(starts: IntArray, index: IntArray, shares: FloatArray, masses: FloatArray, out: FloatArray) -> FloatArray:
    """Add to ``out`` the expected count of every leaf: Σ_k masses[k] Π_j shares[index[leaf, j], k]."""
    d = index.shape[1]
    for block in range(starts.size - 1):
        for k in range(masses.size):
            first = shares[index[starts[block], 0], k]
            if first < NEGLIGIBLE:
                continue
            for i in range(starts[block], starts[block + 1]):
                share = first
                for j in range(1, d):
                    share *= shares[index[i, j], k]
                if share >= NEGLIGIBLE:
                    out[i] += masses[k] * share
    return out


@jit
def gradient(
    starts: IntArray,
    index: IntArray,
    shares: FloatArray,
    by_mean: FloatArray,
    by_spread: FloatArray,
    masses: FloatArray,
    pull: FloatArray,
    to_mass: FloatArray,
    to_mean: FloatArray,
    to_spread: FloatArray,
) -> None:
    """Add Σ_leaf pull[leaf] d(expected count) by masses (K,), means (K, d) and log spreads (K, d) to the last three."""
    d = index.shape[1]
    for block in range(starts.size - 1):
        for k in range(masses.size):
            first = shares[index[starts[block], 0], k]
            if first < NEGLIGIBLE:
                continue
            for i in range(starts[block], starts[block + 1]):
                share = first
                for j in range(1, d):
                    share *= shares[index[i, j], k]
                if share < NEGLIGIBLE:
                    continue
                part = pull[i] * share
                to_mass[k] += part
                part *= masses[k]
                for j in range(d):
                    own = part / shares[index[i, j], k]
                    to_mean[k, j] += own * by_mean[index[i, j], k]
                    to_spread[k, j] += own * by_spread[index[i, j], k]
