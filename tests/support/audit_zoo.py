"""A zoo of broken mechanisms: each claims an ε that it does not keep, in a way that has happened. For tests only.

Each animal has two neighbouring inputs on which the mistake shows and a claim that the audit must refute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dc


@dataclass(frozen=True)
class Broken:
    """A mechanism that does not keep its claim.

    ``options`` go to the audit; ``bits`` asks for the audit of bit patterns.
    """

    name: str
    mechanism: Callable[..., Any]
    data: Any
    neighbour: Any
    epsilon: float
    trials: int = 20_000
    delta: float = 0.0
    bits: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def audit(self, random_state: int = 1) -> dc.evaluation.AuditResult:
        """Audit it."""
        features = {"features": dc.evaluation.BitPatterns()} if self.bits else {}
        return dc.evaluation.audit(
            self.mechanism,
            self.data,
            self.neighbour,
            self.trials,
            epsilon=self.epsilon,
            delta=self.delta,
            random_state=random_state,
            workers=1,
            **features,
            **self.options,
        )


def float_laplace(rows: list[int], rng: Any, size: int) -> Any:
    """Inverse of the distribution function on a uniform double: bits of the result show the count (Mironov 2012)."""
    u = rng.random(size) - 0.5
    return len(rows) - np.sign(u) * np.log1p(-2 * np.abs(u))


def tree_by_raw_emptiness(values: Any, rng: Any) -> dc.Synopsis:
    """Noisy leaf counts of a binary tree that is only cut where there are rows."""
    leaves = [(0.0, 1.0)]
    for _ in range(3):
        cut = []
        for low, high in leaves:
            middle = (low + high) / 2
            occupied = ((values >= low) & (values < high)).any()
            cut += [(low, middle), (middle, high)] if occupied else [(low, high)]
        leaves = cut
    lower, upper = np.array(leaves).T
    counts = [int(((values >= a) & (values < b)).sum()) for a, b in leaves]
    noisy = np.array(counts) + dc.noise.discrete_laplace(1, size=len(leaves), rng=rng)
    return dc.synopses.BoxSynopsis(
        dc.Domain.box(0, 1),
        lower=lower[:, None],
        upper=upper[:, None],
        weights=noisy,
        variances=np.full(len(leaves), 2.0),
        guarantee=dc.Guarantee("central"),
    )


def median_among_the_data(values: Any, rng: Any, size: int) -> Any:
    """The exponential mechanism with the rows themselves as its outcomes: the range is a secret too."""
    ranked = np.sort(values)
    weights = np.exp(-0.5 * np.abs(np.arange(len(ranked)) - len(ranked) / 2))
    return rng.choice(ranked, size=size, p=weights / weights.sum())


def mean_with_bounds_of_the_data(values: Any, rng: Any, size: int) -> Any:
    """A sum clamped to the smallest and largest value, with noise for that width."""
    width = values.max() - values.min()
    return values.sum() + rng.laplace(scale=width, size=size)


def kmeans_that_splits_by_rounds_done(values: Any, rng: Any, size: int) -> Any:
    """Three rounds with ε/(rounds done), 1, 1/2 and 1/3 of it instead of thirds; counts and sums of all rounds."""
    epsilon, centres, told = 2.0, np.tile([-0.5, 0.5], (size, 1)), []
    for done in range(3):
        share = epsilon / (done + 1) / 2
        nearest = np.abs(values[None, :, None] - centres[:, None, :]).argmin(axis=2)
        for c in (0, 1):
            mine = nearest == c
            count = mine.sum(axis=1) + rng.laplace(scale=1 / share, size=size)
            total = (mine * values).sum(axis=1) + rng.laplace(scale=1 / share, size=size)
            centres[:, c] = np.clip(total / np.maximum(count, 1.0), -1, 1)
            told += [count, total]
    return np.column_stack(told)


def count_noised_at_every_look(rows: list[int], rng: Any, size: int) -> Any:
    """Noise drawn when the number is read: two readers, two draws, one price."""
    return len(rows) + dc.noise.discrete_laplace(1, size=(size, 2), rng=rng)


def rappor_that_never_turns_a_one(value: int, rng: Any, size: int) -> Any:
    """Zeros become ones with a chance, ones stay."""
    bits = rng.random((size, 8)) < 0.25
    bits[:, value] = True
    return bits


def count_mean_with_half_the_flips(value: int, rng: Any, size: int) -> Any:
    """Each of 16 signs turned with half the chance 1/(1 + e^(ε/2)), ε = 2; the row of the sketch is sent along."""
    row = rng.integers(4, size=size)
    bucket = (value * (2 * row + 3) + row) % 16
    signs = -np.ones((size, 16))
    signs[np.arange(size), bucket] = 1
    signs[rng.random((size, 16)) < 0.5 / (1 + np.e)] *= -1
    return np.column_stack([row, signs])


def bit_flip_with_fresh_indices(value: int, rng: Any, size: int) -> Any:
    """Stored answers about all 4 values, a new one of them shown in each of 16 rounds: in the end all are known."""
    held = np.arange(4) == value
    answers = held ^ (rng.random((size, 4)) < 1 / (1 + np.e))
    shown = rng.integers(4, size=(size, 16))
    return np.stack([shown, np.take_along_axis(answers, shown, axis=1)], axis=1)


def answers_by_index(batch: Any) -> Any:
    """Return what a collector of the rounds knows: the answer about each value, or nothing."""
    found = np.full((len(batch), 4), np.nan)
    for shown, answers in zip(batch[:, 0].T, batch[:, 1].T, strict=True):
        found[np.arange(len(batch)), shown] = answers
    return found


def laplace_by_false_angles(point: Any, rng: Any, size: int) -> Any:
    """Five dimensions, coordinates of a unit vector taken for angles: the last ones come out almost in clear."""
    unit = rng.normal(size=(size, 5))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    sines = np.cumprod(np.sin(unit[:, :-1]), axis=1)
    cosines = np.cos(unit[:, :-1])
    direction = np.column_stack([cosines[:, :1], sines[:, :-1] * cosines[:, 1:], sines[:, -1:]])
    return np.asarray(point)[None] + rng.gamma(5, size=(size, 1)) * direction


def laplace_with_a_uniform_polar_angle(point: Any, rng: Any, size: int) -> Any:
    """Three dimensions, polar angle uniform: noise crowds along the axis."""
    polar, turn = np.pi * rng.random(size), 2 * np.pi * rng.random(size)
    radius = rng.gamma(3, size=size)
    ring = radius * np.sin(polar)
    offsets = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), radius * np.cos(polar)])
    return np.asarray(point)[None] + offsets


def sums_clipped_column_by_column(rows: Any, rng: Any, size: int) -> Any:
    """Sums of 16 columns with noise for a ball of radius 1, of rows that were clipped to a cube instead."""
    drawn = rng.normal(size=(size, 16))
    drawn *= (rng.gamma(16, 1.0, size) / np.linalg.norm(drawn, axis=1))[:, np.newaxis]
    return drawn + np.clip(np.reshape(rows, (-1, 16)), -1, 1).sum(axis=0)


class AlongTheDiagonal:
    """Return how far the sums are in the direction of a row at the corner."""

    names = ("sum of all columns",)

    def __call__(self, sums: Any) -> Any:
        return np.array([np.sum(sums)])

    def batch(self, sums: Any) -> Any:
        return np.sum(sums, axis=1, keepdims=True)


def distances_from_the_axes(batch: Any) -> Any:
    """Return the distance of the points from the axes through the two candidates, and the position along them."""
    first, second = (np.hypot(batch[:, 0] - x, batch[:, 1]) for x in (0.0, 1.0))
    return np.column_stack([first, second, batch[:, 2], first - second])


def laplace_drawn_again(point: Any, rng: Any, size: int) -> Any:
    """Planar Laplace noise at rate 1, drawn again until the point is in the square from -1 to 1."""
    found, missing = np.empty((size, 2)), np.arange(size)
    while len(missing):
        turn = 2 * np.pi * rng.random(len(missing))
        offsets = rng.gamma(2, size=(len(missing), 1)) * np.column_stack([np.cos(turn), np.sin(turn)])
        tried = np.asarray(point)[None] + offsets
        inside = (np.abs(tried) <= 1).all(axis=1)
        found[missing[inside]] = tried[inside]
        missing = missing[~inside]
    return found


def tight_boxes(ages: Any, rng: Any) -> pa.Table:
    """A random half of the rows in groups of five, with the smallest and largest age of each group as its interval."""
    kept = np.sort(ages[rng.random(len(ages)) < 0.5])
    whole = len(kept) // 5 * 5
    groups = np.split(kept[:whole], whole // 5) if whole else []
    return pa.table({"age": [f"[{g[0]:g}, {g[-1]:g}]" for g in groups for _ in g]})


def sparse_vector_without_end(answers: Any, rng: Any, size: int) -> Any:
    """Above or below a noisy threshold, for every question, at the price of one."""
    threshold = 0.5 + rng.laplace(scale=2, size=(size, 1))
    return np.asarray(answers)[None] + rng.laplace(scale=2, size=(size, len(answers))) >= threshold


_CROWD = np.linspace(0.02, 0.45, 20)
_TWO_CLUSTERS = np.concatenate([np.linspace(-0.9, -0.4, 6), np.linspace(0.4, 0.9, 6)])
_AGES = np.array([21.0, 23, 24, 26, 28, 31, 33, 34, 36, 38, 41, 43, 44, 46, 48, 51, 53, 54, 56, 58])
_BATCH: dict[str, Any] = {"batch": True}

ZOO = [
    Broken("floating-point Laplace", float_laplace, [1], [], 1.0, bits=True, options=_BATCH),
    Broken("tree that stops on raw emptiness", tree_by_raw_emptiness, _CROWD, np.append(_CROWD, 0.8), 3.0, 1000),
    Broken(
        "median among the data",
        median_among_the_data,
        np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        np.array([1.0, 2.0, 3.25, 4.0, 5.0]),
        1.0,
        options=_BATCH,
    ),
    Broken(
        "bounds of the data",
        mean_with_bounds_of_the_data,
        np.array([0.0, 0.5, 1.0]),
        np.array([0.0, 0.5, 1.0, 50.0]),
        1.0,
        options=_BATCH,
    ),
    Broken(
        "k-means with a wrong split",
        kmeans_that_splits_by_rounds_done,
        _TWO_CLUSTERS,
        np.append(_TWO_CLUSTERS, 1.0),
        2.0,
        200_000,
        options=_BATCH,
    ),
    Broken("noise at every look", count_noised_at_every_look, [1], [], 1.0, options=_BATCH),
    Broken("RAPPOR without flips of ones", rappor_that_never_turns_a_one, 2, 5, 3.0, options=_BATCH),
    Broken("count-mean with half the flips", count_mean_with_half_the_flips, 2, 5, 2.0, 40_000, options=_BATCH),
    Broken(
        "stored bit flip with fresh indices",
        bit_flip_with_fresh_indices,
        1,
        3,
        1.0,
        options={"batch": True, "features": answers_by_index},
    ),
    Broken(
        "Laplace by false angles",
        laplace_by_false_angles,
        (0.0,) * 5,
        (0.0,) * 4 + (1.0,),
        1.0,
        options=_BATCH,
    ),
    Broken(
        "Laplace with a uniform polar angle",
        laplace_with_a_uniform_polar_angle,
        (0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0),
        1.0,
        options={"batch": True, "features": distances_from_the_axes},
    ),
    Broken(
        "sums clipped column by column",
        sums_clipped_column_by_column,
        (),
        (9.0,) * 16,
        1.0,
        options={"batch": True, "features": AlongTheDiagonal()},
    ),
    Broken("Laplace drawn again", laplace_drawn_again, (-1.0, -1.0), (0.0, 0.0), 2**0.5, 200_000, options=_BATCH),
    Broken("tight boxes", tight_boxes, _AGES, np.append(_AGES, 39.5), 1.0, 2000, delta=0.01),
    Broken(
        "sparse vector without end",
        sparse_vector_without_end,
        (0.0,) * 5 + (1.0,) * 5,
        (1.0,) * 5 + (0.0,) * 5,
        1.0,
        40_000,
        options=_BATCH,
    ),
]
