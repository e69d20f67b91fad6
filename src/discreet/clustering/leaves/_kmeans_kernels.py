"""The loops of weighted k-means: seeding, Lloyd's steps, and the costs of swapping centres.

All take the points row by row and non-negative weights. Random numbers come in as arguments, so the same seed gives
the same centres on every machine. "Nearest" ties go to the centre with the lower number.
"""

import numpy as np

from discreet.core import AnyArray, BoolArray, FloatArray, IntArray, inlined, jit


@inlined
def _squared(a: FloatArray, i: int, b: FloatArray, j: int) -> float:
    total = 0.0
    for axis in range(a.shape[1]):
        gap = a[i, axis] - b[j, axis]
        total += gap * gap
    return total


@inlined
def _copy(a: AnyArray, b: AnyArray) -> None:
    # Slices would be assigned with a check of shapes, which takes seconds to compile.
    for i in range(a.shape[0]):
        b[i] = a[i]


@jit
def assign(points: FloatArray, centers: FloatArray, labels: IntArray, near: FloatArray) -> None:
    """Find every point's nearest centre and the squared distance to it."""
    for i in range(points.shape[0]):
        best, label = np.inf, 0
        for j in range(centers.shape[0]):
            distance = _squared(points, i, centers, j)
            if distance < best:
                best, label = distance, j
        near[i], labels[i] = best, label


@jit
def reassign(
    points: FloatArray, centers: FloatArray, moved: BoolArray, which: IntArray, labels: IntArray, near: FloatArray
) -> None:
    """Bring the nearest centres up to date after some of them moved; ``which`` is room for their numbers.

    A point whose own centre stayed, or came nearer, can only change to a centre that moved: all others are as far as
    they were. The result is that of `assign` (up to ties), at the price of the centres that moved.
    """
    n_moved = 0
    for j in range(centers.shape[0]):
        if moved[j]:
            which[n_moved] = j
            n_moved += 1
    for i in range(points.shape[0]):
        label, best = labels[i], near[i]
        if moved[label]:
            best = _squared(points, i, centers, label)
            if best > near[i]:
                for j in range(centers.shape[0]):
                    distance = _squared(points, i, centers, j)
                    if distance < best:
                        best, label = distance, j
                near[i], labels[i] = best, label
                continue
        for m in range(n_moved):
            distance = _squared(points, i, centers, which[m])
            if distance < best:
                best, label = distance, which[m]
        near[i], labels[i] = best, label


@jit
def second_nearest(points: FloatArray, centers: FloatArray, labels: IntArray, second: FloatArray) -> None:
    """Find the squared distance to the nearest centre that is not the point's own."""
    for i in range(points.shape[0]):
        best = np.inf
        for j in range(centers.shape[0]):
            if j != labels[i]:
                distance = _squared(points, i, centers, j)
                if distance < best:
                    best = distance
        second[i] = best


@inlined
def weighted_sum(weights: FloatArray, near: FloatArray) -> float:
    """Return the k-means cost of an assignment."""
    total = 0.0
    for i in range(weights.size):
        total += weights[i] * near[i]
    return total


def lloyd(
    points: FloatArray, weights: FloatArray, centers: FloatArray, labels: IntArray, near: FloatArray, steps: int
) -> float:
    """Run at most ``steps`` steps of Lloyd's algorithm from an up-to-date assignment; return the cost.

    A centre without weight stays where it is.
    """
    k, room = len(centers), (np.empty(centers.shape), np.empty(len(centers)))  # made here: compiling it takes longer
    return _lloyd(points, weights, centers, labels, near, steps, *room, np.empty(k, np.bool_), np.empty(k, np.int64))


@jit
def _lloyd(
    points: FloatArray,
    weights: FloatArray,
    centers: FloatArray,
    labels: IntArray,
    near: FloatArray,
    steps: int,
    sums: FloatArray,
    masses: FloatArray,
    moved: BoolArray,
    which: IntArray,
) -> float:
    k, d = centers.shape
    for _ in range(steps):
        for j in range(k):
            masses[j] = 0.0
            for axis in range(d):
                sums[j, axis] = 0.0
        for i in range(points.shape[0]):
            label, weight = labels[i], weights[i]
            masses[label] += weight
            for axis in range(d):
                sums[label, axis] += weight * points[i, axis]
        any_moved = False
        for j in range(k):
            moved[j] = False
            if masses[j] > 0.0:
                for axis in range(d):
                    place = sums[j, axis] / masses[j]
                    if place != centers[j, axis]:
                        centers[j, axis] = place
                        moved[j] = True
            any_moved = any_moved or moved[j]
        if not any_moved:
            break
        reassign(points, centers, moved, which, labels, near)
    return weighted_sum(weights, near)


@inlined
def _pick(cumulative: FloatArray, uniform: float) -> int:
    """Return the first place whose running sum is above a share of the total, or the last place."""
    goal, low, high = uniform * cumulative[-1], 0, cumulative.size - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > goal:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def _accumulate(weights: FloatArray, near: FloatArray, cumulative: FloatArray) -> None:
    total = 0.0
    for i in range(weights.size):
        total += weights[i] * near[i]
        cumulative[i] = total


def seed_centers(points: FloatArray, weights: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Choose starting centres: k-means++ that takes the best of several candidates at each step.

    ``uniforms`` has one row a centre and one column a candidate.
    """
    centers = np.empty((len(uniforms), points.shape[1]))
    _seed(points, weights, uniforms, centers, *np.empty((5, len(points))))
    return centers


@jit
def _seed(
    points: FloatArray,
    weights: FloatArray,
    uniforms: FloatArray,
    centers: FloatArray,
    near: FloatArray,
    trial: FloatArray,
    best: FloatArray,
    cumulative: FloatArray,
    ones: FloatArray,
) -> None:
    n, (k, n_candidates) = points.shape[0], uniforms.shape
    for i in range(n):
        near[i], ones[i] = np.inf, 1.0
    for j in range(k):
        _accumulate(weights, near if j else ones, cumulative)
        if cumulative[-1] <= 0.0:  # every point is a centre already
            _accumulate(weights, ones, cumulative)
        best_cost = np.inf
        for c in range(n_candidates if j else 1):
            chosen = _pick(cumulative, uniforms[j, c])
            cost = 0.0
            for i in range(n):
                trial[i] = min(near[i], _squared(points, i, points, chosen))
                cost += weights[i] * trial[i]
            if cost < best_cost:
                best_cost = cost
                _copy(points[chosen], centers[j])
                _copy(trial, best)
        _copy(best, near)


@jit
def best_to_remove(
    points: FloatArray,
    weights: FloatArray,
    labels: IntArray,
    near: FloatArray,
    second: FloatArray,
    chosen: int,
    extra: FloatArray,
) -> int:
    """Return the centre whose removal costs least once a centre sits at point ``chosen``.

    Points of a removed centre go to the new one or to their second nearest; those that the new one takes over anyway
    lose nothing. (Which centre goes does not matter for what the new one saves elsewhere.)
    """
    for j in range(extra.size):
        extra[j] = 0.0
    for i in range(points.shape[0]):
        refuge = min(_squared(points, i, points, chosen), second[i])
        if refuge > near[i]:
            extra[labels[i]] += weights[i] * (refuge - near[i])
    least = 0
    for j in range(extra.size):
        if extra[j] < extra[least]:
            least = j
    return least
