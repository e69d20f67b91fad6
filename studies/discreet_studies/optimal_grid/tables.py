"""Invented tables in the manner of Su et al. (2016): round clusters of equal size, packed into the box [-1, 1]^d.

The publication says only that its tables were made as Su et al. made theirs. What is here was inferred from it: centres
that keep a distance a from the walls and 2a from each other, a as large as a few tries can find. The spread of the
clusters follows from the row of Table II without privacy, which no private method had a part in; that row is therefore
no test of anything.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from discreet import noise
from discreet.core import Domain, FloatArray
from discreet_studies.optimal_grid.published import WITHOUT_PRIVACY

#: Half the side of the box.
RADIUS = 1.0
#: Places tried in a batch, and batches that may fail; a is right if that many failed before all centres were placed.
_TRIES, _BATCHES, _FEWEST, _MOST = 10, 20, 3, 16
#: Steps of the search before it begins again: chance may lead it astray.
_STEPS = 30
_KEY = 0x6772_6964


def box(d: int) -> Domain:
    """Return the public box of the experiments.

    Examples
    --------
    >>> box(2).low.tolist(), box(2).high.tolist()
    ([-1.0, -1.0], [1.0, 1.0])
    """
    return Domain.box([-RADIUS] * d, [RADIUS] * d)


def stream_of(*parts: object) -> noise.Generator:
    """Return the stream that belongs to a list of names and numbers, whatever was drawn before.

    Examples
    --------
    >>> stream_of("table", 2, 7).bytes(3).tolist() == stream_of("table", 2, 7).bytes(3).tolist()
    True
    """
    return noise.generator(int(noise.fingerprint(["/".join(map(str, parts))], _KEY)[0]))


def packed(k: int, d: int, stream: noise.Generator) -> tuple[FloatArray, float]:
    """Return k centres and the distance a that they keep: a from the walls, 2a from each other.

    a is found by halving (0, √d): smaller if nearly all batches of tries fail, larger if hardly one does.

    Examples
    --------
    >>> centres, a = packed(4, 2, noise.generator(1))
    >>> bool((abs(centres) <= 1 - a).all()), 0.2 < a < 0.5
    (True, True)
    """
    while True:
        low, high = 0.0, math.sqrt(d) * RADIUS
        for _ in range(_STEPS):
            a = (low + high) / 2
            failed, centres = _place(k, d, a, stream)
            if centres is None or failed > _MOST:
                high = a
            elif failed < _FEWEST:
                low = a
            else:
                return centres, a


def table(d: int, k: int, n: int, stream: noise.Generator) -> FloatArray:
    """Return n rows, equally many in each of k clusters, clamped to the box.

    Examples
    --------
    >>> table(3, 4, 400, noise.generator(0)).shape
    (400, 3)
    """
    centres, _ = packed(k, d, stream)
    rows = np.repeat(centres, -(-n // k), axis=0)[:n]
    found: FloatArray = np.clip(rows + spread(d, k) * ndtri(_uniforms((n, d), stream)), -RADIUS, RADIUS)
    return found


def spread(d: int, k: int) -> float:
    """Return the standard deviation of a cluster that the printed sums of squares without privacy imply.

    The best centres of n rows leave (n - k) d σ² of their squares; the printed figure is that over k.

    Examples
    --------
    >>> round(spread(2, 2), 3), round(spread(3, 8), 3)
    (0.112, 0.079)
    """
    found = [k * wcss / (d * (n - k)) for (dd, kk, n), wcss in WITHOUT_PRIVACY.items() if (dd, kk) == (d, k)]
    return math.sqrt(sum(found) / len(found))


def _place(k: int, d: int, a: float, stream: noise.Generator) -> tuple[int, FloatArray | None]:
    """Place centre after centre, each in the first good place of a batch; return how many batches had none.

    Places are drawn from the whole box, so that those too near a wall use up tries as well. After too many batches
    without a good place there are no centres.
    """
    centres: FloatArray = np.empty((0, d))
    for failed, places in enumerate(RADIUS * (2 * _uniforms((_BATCHES + k, _TRIES, d), stream) - 1)):
        gaps = np.linalg.norm(places[:, None] - centres[None], axis=2).min(axis=1, initial=math.inf)
        good = np.flatnonzero((gaps >= 2 * a) & (np.abs(places).max(axis=1) <= RADIUS - a))
        if good.size:
            centres = np.vstack([centres, places[good[0]]])
        if len(centres) == k:
            return failed + 1 - k, centres
        if failed + 1 - len(centres) >= _BATCHES:
            break
    return _BATCHES, None


def _uniforms(shape: tuple[int, ...], stream: noise.Generator) -> FloatArray:
    """Draw from the open unit interval."""
    drawn: FloatArray = (noise.below(2**52, shape, stream) + 0.5) / 2.0**52
    return drawn
