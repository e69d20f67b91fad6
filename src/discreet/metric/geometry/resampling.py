"""Drawing again until the point is in the box, and its cost.

The law of the result is f(z|x)/A(x), where A(x) is the probability that a noisy x is in the box. A(x) changes by a
factor of up to e^(rate D) over a distance D, so the rate is at most doubled. This is not post-processing: it uses the
raw point again, and a point in a corner takes longer. `clip` costs nothing.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.core import FloatArray, IntArray
from discreet.errors import InvalidArgument
from discreet.noise.vector import IsotropicNoise, isotropic_laplace

#: If fewer than this share of a corner's noise ends in the box, drawing would take for ever.
_LEAST_ACCEPTANCE = 1e-3


def resample(places: IntArray, scale: Fraction, corners: Sequence[FloatArray], stream: noise.Generator) -> IntArray:
    """Draw noise for every place until all are between two corners; in rounds over those that are not."""
    low, high = corners
    _check_acceptance(scale, high - low)
    found = places.copy()
    waiting = np.arange(len(places))
    while len(waiting):
        tried = np.ascontiguousarray(places[waiting])
        IsotropicNoise.draw(tried.shape[1], scale, stream).add(tried)
        inside = ((tried >= low) & (tried <= high)).all(axis=1)
        found[waiting[inside]] = tried[inside]
        waiting = waiting[~inside]
    return found


def _check_acceptance(scale: Fraction, widths: FloatArray) -> None:
    # Public draws with a fixed seed: the answer depends on the arguments alone.
    drawn = np.abs(isotropic_laplace(20_000, len(widths), scale, rng=1))
    share = float((drawn <= widths).all(axis=1).mean()) / 2 ** len(widths)
    if share < _LEAST_ACCEPTANCE:
        expected = f"another one here: noise in a corner ends in the box with a chance of {share:.1g} only"
        raise InvalidArgument("remap", "resample", expected, 'remap="clip"')
