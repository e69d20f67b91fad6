"""Invented tables of many columns, to tune marginal synopses on: none is modelled on a particular real table.

Seven families. ``hidden``: columns of mixed kinds that depend on four hidden numbers, with rare categories and heaps of
zeros. ``causes``: every column depends on up to three earlier ones, and some repeat others in fewer words. ``written``:
numbers as people write them (ages, favourite values, amounts that most have none of, caps, long tails) beside words. In
the first two a target depends on six columns and on one interaction; in the third on all columns, one by one.
``classes``: 24 columns that depend on hidden classes alone. ``parity``: a column that is the sum of two others modulo
its size, beside a chain. ``ranks``: binned numbers that nearly determine each other, beside words.
``articles``: a word of many values that nearly fixes several numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from discreet import Domain, Integer

ROWS, MORE = 30_000, 10_000


def table(name: str) -> tuple[pd.DataFrame, pd.DataFrame, Domain]:
    """Return rows to release, more rows to test on, and the declared columns, the target last; ``causes 3`` is one."""
    family, _, seed = name.partition(" ")
    frame, domain = FAMILIES[family](int(seed))
    return frame.iloc[:ROWS], frame.iloc[ROWS:].reset_index(drop=True), domain


def _coded(columns: list[Any], sizes: list[int], ordered: list[bool]) -> tuple[pd.DataFrame, Domain]:
    names = [f"c{j}" for j in range(len(sizes))]
    kinds = zip(names, sizes, ordered, strict=True)
    domain = Domain({n: Integer(0, size - 1) if o else {"categories": list(range(size))} for n, size, o in kinds})
    return pd.DataFrame(np.stack(columns).astype(np.int64).T, columns=names), domain


def _chance(score: Any, steep: float) -> Any:
    """A quarter of the rows, about, reach the target."""
    return 1 / (1 + np.exp(-steep * (score - np.quantile(score, 0.75))))


def _ranks(value: Any) -> Any:
    return np.argsort(np.argsort(value)) / len(value)


def hidden(seed: int) -> tuple[pd.DataFrame, Domain]:
    """Columns that depend on four hidden numbers."""
    rng = np.random.default_rng(1000 + seed)
    total, width = ROWS + MORE, 12 + seed
    behind = rng.normal(size=(total, 4))
    columns: list[Any] = []
    sizes: list[int] = []
    ordered: list[bool] = []
    for _ in range(width - 1):
        weights = rng.normal(size=4) * (rng.random(4) < 0.5) * 1.3
        if rng.random() < 0.45:
            size = 16
            value = behind @ weights + np.sin(behind[:, rng.integers(4)] * 2) * rng.random()
            value = value + rng.normal(size=total) * rng.uniform(0.3, 1.2)
            rank = _ranks(value) ** (power := rng.choice([1.0, 1.0, 3.0, 8.0]))
            rank = np.where(rank < 0.6, 0, rank) if power == 8 else rank
            columns.append(np.minimum((rank * size).astype(int), size - 1))
        else:
            size = int(rng.choice([2, 3, 5, 7, 9, 14, 16, 25, 40]))
            base = -np.log(np.arange(1, size + 1)) * rng.uniform(0.3, 2)
            pull = rng.normal(size=(4, size)) * (weights != 0)[:, None] * rng.uniform(0.3, 1.0)
            columns.append(rng.permutation(size)[(base + behind @ pull + rng.gumbel(size=(total, size))).argmax(1)])
        sizes.append(size)
        ordered.append(size == 16)
    score = behind[:, 0] * 0.8
    for j in rng.choice(width - 1, 6, replace=False):
        score += (rng.normal(size=sizes[j]) * 0.7)[columns[j]]
    a, b = rng.choice(width - 1, 2, replace=False)
    score += (rng.normal(size=(sizes[a], sizes[b])) * 0.7)[columns[a], columns[b]]
    return _coded([*columns, rng.random(total) < _chance(score, 1.5)], [*sizes, 2], [*ordered, False])


def causes(seed: int) -> tuple[pd.DataFrame, Domain]:
    """Every column depends on up to three earlier ones; some are functions of another."""
    rng = np.random.default_rng(5000 + seed)
    total, width = ROWS + MORE, 10 + int(rng.integers(6))
    columns: list[Any] = []
    sizes: list[int] = []
    ordered: list[bool] = []

    def effect(j: int, size: int, strength: float) -> Any:
        made = rng.normal(size=(sizes[j], size)) * strength
        return np.cumsum(made, 0) / np.sqrt(np.arange(1, sizes[j] + 1))[:, None] if ordered[j] else made

    while len(columns) < width - 1:
        j = len(columns)
        parents = rng.choice(j, min(j, int(rng.integers(0, 4))), replace=False) if j else []
        kind = rng.random()
        if kind < 0.1 and j and sizes[p := int(rng.integers(j))] > 4:
            size = int(rng.integers(3, sizes[p] + 1))
            columns.append(rng.integers(0, size, sizes[p])[columns[p]])
            ordered.append(False)
        elif kind < 0.45:
            size = int(rng.choice([16, 16, 16, 32]))
            value = rng.normal(size=total)
            for p in parents:
                value = value + (effect(p, 1, 1.0)[:, 0] * rng.uniform(0.3, 1.5))[columns[p]]
            rank, shape = _ranks(value), rng.integers(4)
            if shape == 1:
                rank = rank ** rng.choice([2.0, 4.0])
            elif shape == 2:
                rank = np.where(rank < rng.uniform(0.6, 0.95), 0, rank**8)
            elif shape == 3:
                rank = 0.5 + np.sign(rank - 0.5) * np.abs(2 * rank - 1) ** 3 / 2
            columns.append(np.minimum((rank * size).astype(int), size - 1))
            ordered.append(True)
        else:
            size = int(rng.choice([2, 2, 3, 5, 6, 8, 9, 15, 16, 40]))
            wish = -np.log(np.arange(1, size + 1)) * rng.uniform(0.3, 2.5) + rng.gumbel(size=(total, size))
            for p in parents:
                wish = wish + effect(p, size, rng.uniform(0.2, 1.8))[columns[p]]
            columns.append(rng.permutation(size)[wish.argmax(1)])
            ordered.append(False)
        sizes.append(size)
    score = np.zeros(total)
    for j in rng.choice(width - 1, 6, replace=False):
        score += (effect(j, 1, 1.0)[:, 0] * 0.7)[columns[j]]
    a, b = rng.choice(width - 1, 2, replace=False)
    score += (rng.normal(size=(sizes[a], sizes[b])) * 0.7)[columns[a], columns[b]]
    return _coded([*columns, rng.random(total) < _chance(score, 1.5)], [*sizes, 2], [*ordered, False])


def written(seed: int) -> tuple[pd.DataFrame, Domain]:
    """Numbers as people write them, not binned, beside words."""
    rng = np.random.default_rng(9000 + seed)
    total = ROWS + MORE
    behind = rng.normal(size=(total, 3))
    made: dict[str, Any] = {}
    kinds: dict[str, Any] = {}
    score = np.zeros(total)

    def mixed() -> Any:
        weights = rng.normal(size=3) * (rng.random(3) < 0.6)
        return behind @ weights + rng.normal(size=total) * rng.uniform(0.5, 1.2)

    for i in range(2):  # ages, of which the middle ones are unlike both ends
        low, high = int(rng.integers(0, 20)), int(rng.integers(70, 110))
        x = np.clip(np.round(low + (high - low) * _ranks(mixed()) ** rng.uniform(1, 2.2)), low, high)
        made[f"age{i}"], kinds[f"age{i}"] = x, Integer(low, high)
        score -= rng.choice([-1, 1]) * 4 * ((x - low) / (high - low) - rng.uniform(0.3, 0.6)) ** 2 * rng.uniform(1, 3)
    for i in range(2):  # hours, with a favourite and round numbers
        x = np.clip(np.round(40 + 12 * mixed()), 1, 99)
        x = np.where(rng.random(total) < 0.3, np.round(x / 5) * 5, x)
        x = np.clip(np.where(rng.random(total) < 0.45, 40, x), 1, 99)
        made[f"hours{i}"], kinds[f"hours{i}"] = x, Integer(1, 99)
        score += rng.uniform(0.02, 0.05) * (x - 40)
    for i in range(2):  # amounts: most have none, the others often one of sixty, some the cap
        high, none = int(rng.choice([4500, 20000, 99999])), rng.uniform(0.8, 0.96)
        rank = _ranks(mixed() + 0.5 * rng.normal(size=total))
        spots = np.unique(np.round(np.exp(rng.normal(np.log(high / 15), 0.9, size=60))))
        spots = spots[spots < high]
        often = rng.choice(spots, size=total, p=rng.dirichlet(np.full(len(spots), 0.4)))
        level = np.clip((rank - none) / (1 - none), 0, 1)
        smooth = np.exp(np.log(high / 15) + 0.9 * (2 * level - 1) + 0.3 * rng.normal(size=total))
        x = np.where(rng.random(total) < 0.7, often, np.minimum(np.round(smooth), high))
        x = np.where(rank < none, 0, np.where(rng.random(total) < 0.05, high, x))
        made[f"amount{i}"], kinds[f"amount{i}"] = x, Integer(0, high)
        cut = np.quantile(x[x > 0], rng.uniform(0.3, 0.6))
        meaning = pd.Series(rng.normal(size=len(spots)) * 2, spots)
        score += (x > 0) * (np.where(x > cut, 3.0, -1.0) + meaning.reindex(x).fillna(0).to_numpy())
    x = np.exp(12 + 0.5 * rng.normal(size=total) + 0.1 * behind[:, 0])
    made["weight"], kinds["weight"] = np.clip(np.round(x), 0, 1_500_000), Integer(0, 1_500_000)
    for i in range(5):
        size = int(rng.choice([2, 3, 5, 7, 9, 15]))
        wish = -np.log(np.arange(1, size + 1)) * rng.uniform(0.3, 2) + rng.gumbel(size=(total, size))
        wish += behind @ (rng.normal(size=(3, size)) * rng.uniform(0.3, 1))
        word = rng.permutation(size)[wish.argmax(1)]
        made[f"word{i}"], kinds[f"word{i}"] = word, list(range(size))
        score += (rng.normal(size=size) * 0.8)[word]
    made["target"], kinds["target"] = rng.random(total) < _chance(score + 0.5 * behind[:, 0], 1.2), [0, 1]
    return pd.DataFrame(made).astype(np.int64), Domain(kinds)


def classes(seed: int) -> tuple[pd.DataFrame, Domain]:
    """Columns that are independent given a hidden class."""
    rng = np.random.default_rng(13_000 + seed)
    total, many, width = ROWS + MORE, int(rng.integers(3, 12)), 24
    which = rng.choice(many, total, p=rng.dirichlet(np.full(many, 3.0)))
    sizes = [*rng.integers(2, 9, width - 1).tolist(), 2]
    columns = []
    for size in sizes:
        ends = np.cumsum(rng.dirichlet(np.full(size, rng.uniform(0.5, 3.0)), many), axis=1)
        columns.append(np.minimum((rng.random(total)[:, None] > ends[which]).sum(axis=1), size - 1))
    return _coded(columns, sizes, [False] * width)


def parity(seed: int) -> tuple[pd.DataFrame, Domain]:
    """A column that is the sum of two others modulo its size, and a chain of columns."""
    rng = np.random.default_rng(17_000 + seed)
    total, size, width = ROWS + MORE, 2 + seed % 4, 6 + seed % 5
    columns = [rng.integers(0, size, total) for _ in range(2)]
    columns.append((columns[0] + columns[1]) % size)
    while len(columns) < width:
        columns.append(
            np.where(rng.random(total) < 0.6, columns[-1] if len(columns) > 3 else 0, rng.integers(0, size, total))
        )
    columns.append(np.where(rng.random(total) < 0.3, columns[2] > 0, rng.random(total) < 0.3))
    return _coded(columns, [*[size] * width, 2], [False] * (width + 1))


def ranks(seed: int) -> tuple[pd.DataFrame, Domain]:
    """Sizes, prices and weights of the same things, in 16 bins, and words about them."""
    rng = np.random.default_rng(19_000 + seed)
    total = ROWS + MORE
    words = [rng.choice(size, total, p=rng.dirichlet(np.full(size, 2.0))) for size in (5, 7, 8)]
    main = rng.normal(size=total) + 0.2 * (words[2] - 4) * rng.uniform(0, 1)
    columns, sizes = list(words), [5, 7, 8]
    for blur in (0.02, 0.02, 0.05, 0.2, rng.uniform(0.3, 1.0)):
        value = main + blur * rng.normal(size=total) + 0.1 * rng.normal() * words[int(rng.integers(3))]
        columns.append(np.minimum((_ranks(value) ** rng.uniform(1, 3) * 16).astype(int), 15))
        sizes.append(16)
    columns.append(rng.random(total) < _chance(main + 0.3 * words[1], 1.5))
    return _coded(columns, [*sizes, 2], [False] * 3 + [True] * 5 + [False])


def articles(seed: int) -> tuple[pd.DataFrame, Domain]:
    """Sales of articles: an article nearly fixes its price, weight and maker."""
    rng = np.random.default_rng(23_000 + seed)
    total, many = ROWS + MORE, int(rng.integers(40, 130))
    article = rng.choice(many, total, p=rng.dirichlet(np.full(many, rng.uniform(0.5, 2.0))))
    prices = np.round(np.exp(rng.normal(6, 0.9, size=(many, 3)))).clip(1, 5000)
    prices[:, 1:] = np.where(rng.random((many, 2)) < 0.5, prices[:, :1], np.round(prices[:, :1] * (0.8, 0.9)))
    price = prices[np.arange(many)[article], rng.choice(3, total, p=(0.7, 0.2, 0.1))]
    weight = (np.sqrt(price) * np.exp(0.4 * rng.normal(size=many))[article] * (1 + 0.05 * rng.normal(size=total))).clip(
        0, 400
    )
    maker = np.where(rng.random(total) < 0.9, rng.integers(0, 12, many)[article], rng.integers(0, 12, total))
    hour = (12 + 4 * rng.normal(size=many)[article] + 3 * rng.normal(size=total)).clip(0, 23)
    late = (rng.gamma(1.2, 20, total) + hour - 30).clip(-30, 600)
    region, pieces = rng.choice(6, total, p=rng.dirichlet(np.full(6, 2.0))), rng.geometric(0.4, total).clip(1, 20)
    score = rng.normal(size=many)[article] + 0.05 * late + 0.3 * rng.normal(size=6)[region] + 0.1 * hour
    made = {"article": article, "price": price, "weight": weight, "maker": maker, "hour": hour, "late": late}
    made |= {"region": region, "pieces": pieces, "target": rng.random(total) < _chance(score, 1.2)}
    sizes = {"article": many, "maker": 12, "region": 6, "target": 2}
    ends = {"price": (0, 5000), "weight": (0, 400), "hour": (0, 23), "late": (-30, 600), "pieces": (1, 20)}
    kinds = {c: {"categories": list(range(sizes[c]))} if c in sizes else Integer(*ends[c]) for c in made}
    return pd.DataFrame(made).astype(np.int64), Domain(kinds)


FAMILIES = {
    "hidden": hidden, "causes": causes, "written": written, "classes": classes, "parity": parity, "ranks": ranks,
    "articles": articles,
}  # fmt: skip
