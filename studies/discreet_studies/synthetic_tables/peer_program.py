"""Runs a peer on a table of codes, in the peer's own environment: imports nothing of ours.

    python peer_program.py METHOD TABLE.npz MADE.npz LIMIT

TABLE.npz holds ``codes`` (rows by columns, whole numbers from 0), ``sizes``, ``epsilon``, ``delta`` and ``seed``.
MADE.npz gets as many rows as that table has, the CPU seconds of fitting and drawing, and the megabytes beyond the
imported library. After LIMIT CPU seconds, beyond those of the import, the system ends the program (SIGXCPU).

The package ``mbi`` 2.0 has estimators of graphical models, but no mechanisms. MST and AIM are written here from their
papers (McKenna, Miklau and Sheldon 2021; McKenna, Mullins, Sheldon and Miklau 2022). Rows are neighbours by addition or
removal of one.
"""

from __future__ import annotations

import itertools
import math
import resource
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[Any, list[int], float, float, int], Any]
Columns = tuple[int, ...]
#: The largest model of AIM, in megabytes: the default of its paper.
LARGEST = 80.0


def dpmm(kind: str) -> Work:
    """Return dpmm's pipeline on codes: nothing is spent on bins."""
    import dpmm.pipelines as pipelines
    import pandas as pd

    # AIM with its defaults takes hours; with these it ends in minutes.
    fewer = {"gen_kwargs": {"rounds": 60, "n_iters": 250}, "max_model_size": 80} if kind == "AIMPipeline" else {}

    def work(codes: Any, sizes: list[int], epsilon: float, delta: float, seed: int) -> Any:
        names = [f"c{j}" for j in range(len(sizes))]
        kind_of = getattr(pipelines, kind)
        made = kind_of(epsilon=epsilon, delta=delta, n_jobs=1, disable_processing=True, **fewer)
        made.fit(pd.DataFrame(codes, columns=names), domain=dict(zip(names, sizes, strict=True)), random_state=seed)
        return made.generate(n_records=len(codes), random_state=seed)[names].to_numpy()

    return work


def smartnoise(kind: str) -> Work:
    """Return SmartNoise's synthesizer, every column categorical."""
    import pandas as pd
    from snsynth import Synthesizer

    def work(codes: Any, sizes: list[int], epsilon: float, delta: float, seed: int) -> Any:
        np.random.seed(seed)  # noqa: NPY002  the library draws from the global state
        frame = pd.DataFrame(codes, columns=[f"c{j}" for j in range(len(sizes))])
        made = Synthesizer.create(kind, epsilon=epsilon, delta=delta)
        made.fit(frame, categorical_columns=list(frame.columns))
        return np.asarray(made.sample(len(frame)))

    return work


def opendp(kind: str) -> Work:
    """Return OpenDP's contingency table with all keys public; rows are sampled, as its rounding invents dependence."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")

    def work(codes: Any, sizes: list[int], epsilon: float, delta: float, seed: int) -> Any:
        np.random.seed(seed)  # noqa: NPY002  the library draws from the global state
        frame = pl.DataFrame({f"c{j}": codes[:, j] for j in range(len(sizes))})
        rho = _rho(epsilon, delta)
        context = dp.Context.compositor(
            data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho * (1 + 1e-9))
        )
        keys = {name: list(range(size)) for name, size in zip(frame.columns, sizes, strict=True)}
        query = context.query(rho=rho).select(*frame.columns)
        table = query.contingency_table(keys=keys, algorithm=getattr(dp.mbi, kind)()).release()
        rows = table.synthesize(rows=len(codes), method="sample")
        # A key for what is not listed is added by the library; no row has it.
        return rows.fill_null(0).to_numpy()

    return work


class Graphical:
    """Noisy marginals of a table of codes, and the graphical model that the package ``mbi`` fits to them."""

    def __init__(self, codes: Any, sizes: list[int], rng: np.random.Generator) -> None:
        import mbi

        self.mbi, self.codes, self.sizes, self.rng = mbi, codes, sizes, rng
        self.domain = mbi.Domain(range(len(sizes)), sizes)
        self.measured: dict[Columns, Any] = {}
        self.model: Any = None
        self.answers: dict[Columns, Any] = {}
        self._counts: dict[Columns, Any] = {}
        self._megabytes: dict[tuple[frozenset[Columns], Columns], float] = {}

    def counts(self, columns: Columns) -> Any:
        """Return how many rows have each combination of values."""
        if columns not in self._counts:
            shape = [self.sizes[c] for c in columns]
            cells = np.ravel_multi_index(tuple(self.codes[:, c] for c in columns), shape)
            self._counts[columns] = np.bincount(cells, minlength=math.prod(shape)).astype(float)
        return self._counts[columns]

    def measure(self, columns: Columns, sigma: float) -> None:
        """Add Gaussian noise to a marginal. Of one that was measured before, keep the mean by inverse variances."""
        noisy = self.counts(columns) + self.rng.normal(0, sigma, len(self.counts(columns)))
        if before := self.measured.get(columns):
            weights = [before.stddev**-2, sigma**-2]
            noisy = np.average([before.noisy_measurement, noisy], axis=0, weights=weights)
            sigma = sum(weights) ** -0.5
        self.measured[columns] = self.mbi.LinearMeasurement(noisy, columns, sigma)

    def fit(self, steps: int, total: float | None = None) -> None:
        """Fit by mirror descent from the potentials of the last model, until the loss stands still."""
        self.model = self.mbi.estimation.MirrorDescent().estimate(
            self.domain, list(self.measured.values()), total, iters=steps, warm_start=self.model, tol=1e-6
        )
        self.answers = self._answers()

    def _answers(self) -> dict[Columns, Any]:
        """Return all columns and pairs of the model, by messages along its junction tree.

        The package can do that, too, but it compiles a program for each pair of each model, which takes a minute.
        """
        import jax

        tree, _ = self.mbi.junction_tree.make_junction_tree(self.domain, self.model.cliques)
        potentials, total = self.model.potentials.expand(list(tree.nodes)), float(self.model.total)
        with jax.disable_jit():
            beliefs = self.mbi.marginal_oracles.message_passing_stable(potentials, total)
        tables = {clique: np.asarray(beliefs[clique].datavector(flatten=False)) for clique in tree.nodes}

        @cache
        def part(clique: Columns, kept: Columns) -> Any:
            return np.einsum(tables[clique], list(clique), list(kept))

        found: dict[Columns, Any] = {}
        for one in self.domain.attributes:
            found |= _with_others(one, tree, part)
        for one, other in itertools.combinations(self.domain.attributes, 2):  # parts of the tree may be independent
            found.setdefault((one, other), np.outer(found[(one,)], found[(other,)]) / total)
        return {columns: counts.ravel() for columns, counts in found.items()}

    def missed(self, columns: Columns) -> float:
        """Return the L1 error of a marginal of the model: one row more or less changes it by at most one."""
        return float(np.abs(self.counts(columns) - self.answers[columns]).sum())

    def megabytes(self, columns: Columns) -> float:
        """Return the size of the model if a marginal were measured in addition."""
        key = frozenset(self.measured), columns
        if key not in self._megabytes:
            every = [*self.measured, columns]
            self._megabytes[key] = self.mbi.junction_tree.hypothetical_model_size(self.domain, every)
        return self._megabytes[key]

    def rows(self, number: int) -> Any:
        """Draw rows by the rounding that is the default of the package."""
        made = self.model.synthetic_data(rows=number).to_dict()
        return np.stack([made[c] for c in range(len(self.sizes))], axis=1).astype(np.int64)


def _with_others(one: int, tree: Any, part: Callable[[Columns, Columns], Any]) -> dict[Columns, Any]:
    """Return the counts of a column, and of it with each later column that the tree connects it with.

    ``part`` returns the counts of some columns of a clique.
    """

    def joint(clique: Columns, shared: Columns, passed: Any, kept: Columns) -> Any:
        """Return counts of the column with some of a clique, from its counts with what the last clique shares."""
        if one in clique:
            return part(clique, (one, *kept))
        both, whole = tuple(sorted({*shared, *kept})), part(clique, shared)
        share = np.divide(passed, whole, out=np.zeros_like(passed), where=whole > 0)
        return np.einsum(share, [one, *shared], part(clique, both), list(both), [one, *kept])

    first = next(clique for clique in tree.nodes if one in clique)
    found: dict[Columns, Any] = {(one,): joint(first, (), None, ())}
    seen, waiting = {first}, [(first, (), None)]
    while waiting:
        here = waiting.pop()
        found |= {(one, c): joint(*here, (c,)) for c in here[0] if c > one}
        for near in set(tree.neighbors(here[0])) - seen:
            seen.add(near)
            common = tuple(sorted({*here[0]} & {*near}))
            waiting.append((near, common, None if one in common else joint(*here, common)))
    return found


def mbi(kind: str) -> Work:
    """Return MST or AIM on the estimators of ``mbi``."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    import mbi  # noqa: F401  the time of the import does not count

    def work(codes: Any, sizes: list[int], epsilon: float, delta: float, seed: int) -> Any:
        np.random.seed(seed)  # noqa: NPY002  the library draws rows from the global state
        mechanism = mst if kind == "MST" else aim
        return mechanism(codes, sizes, _rho(epsilon, delta), np.random.default_rng(seed))

    return work


def mst(codes: Any, sizes: list[int], rho: float, rng: np.random.Generator, steps: int = 5000) -> Any:
    """Measure columns, select a tree of the pairs that columns explain worst, measure it: a third of rho each."""
    d, third = len(sizes), rho / 3
    sigma = math.sqrt(d / (2 * third))
    noisy = [np.bincount(codes[:, c], minlength=sizes[c]) + rng.normal(0, sigma, sizes[c]) for c in range(d)]
    total = np.average([y.sum() for y in noisy], weights=1 / np.array(sizes))
    # Values that noise hides become one value.
    groups = [_grouped(y >= 3 * sigma) for y in noisy]
    fewer = np.stack([groups[c][codes[:, c]] for c in range(d)], axis=1)
    table = Graphical(fewer, [int(group.max()) + 1 for group in groups], rng)
    whole = table.mbi.Domain(range(d), sizes)
    for c in range(d):
        own = table.mbi.LinearMeasurement(noisy[c], (c,), sigma)
        table.measured[(c,)] = own.compress({c: groups[c]}, whole)
    table.fit(steps, total)
    pairs = list(itertools.combinations(range(d), 2))
    errors = np.array([table.missed(pair) for pair in pairs])
    part, tree = list(range(d)), []
    for _ in range(d - 1):
        apart = [i for i, (a, b) in enumerate(pairs) if part[a] != part[b]]
        a, b = pairs[apart[_selected(errors[apart], math.sqrt(8 * third / (d - 1)), rng)]]
        part = [part[a] if of == part[b] else of for of in part]
        tree.append((a, b))
    for pair in tree:
        table.measure(pair, math.sqrt((d - 1) / (2 * third)))
    table.fit(steps, total)
    made = table.rows(len(codes))
    # A value that stands for several becomes any of them.
    drawn = []
    for c, group in enumerate(groups):
        order, many = np.argsort(group, kind="stable"), np.bincount(group)
        first = np.cumsum(many) - many
        drawn.append(order[first[made[:, c]] + rng.integers(0, many[made[:, c]])])
    return np.stack(drawn, axis=1)


def _grouped(seen: Any) -> Any:
    """Return new codes of values: those that were seen keep their order, all others are one."""
    return np.where(seen, np.cumsum(seen) - 1, np.sum(seen))


def aim(codes: Any, sizes: list[int], rho: float, rng: np.random.Generator, steps: int = 1000) -> Any:
    """Measure in every round the column or pair that the model misses most, as far as noise and its size let it."""
    d = len(sizes)
    table = Graphical(codes, sizes, rng)
    columns: list[Columns] = [(c,) for c in range(d)]
    pairs: list[Columns] = list(itertools.combinations(range(d), 2))
    # All pairs are the workload; the weight of a marginal is the number of columns that it shares with each of them.
    weights = {r: sum(len({*r} & {*s}) for s in pairs) for r in columns + pairs}
    cells = {r: math.prod(sizes[c] for c in r) for r in weights}
    rounds = 16 * d
    sigma, epsilon = math.sqrt(rounds / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / rounds)
    for column in columns:
        table.measure(column, sigma)
    table.fit(steps)
    spent, last = d / (2 * sigma**2), False
    while not last:
        price = epsilon**2 / 8 + 1 / (2 * sigma**2)
        if rho - spent <= 2 * price:  # no two rounds are left: this one takes all
            price, last = rho - spent, True
            sigma, epsilon = math.sqrt(1 / (2 * 0.9 * price)), math.sqrt(8 * 0.1 * price)
        spent += price
        allowed = LARGEST * spent / rho
        open_to = [r for r in weights if table.megabytes(r) <= allowed]
        bias = math.sqrt(2 / math.pi) * sigma
        scores = [weights[r] * (table.missed(r) - bias * cells[r]) for r in open_to]
        chosen = open_to[_selected(scores, epsilon / max(weights[r] for r in open_to), rng)]
        before = table.answers[chosen]
        table.measure(chosen, sigma)
        table.fit(steps)
        if np.abs(table.answers[chosen] - before).sum() <= bias * cells[chosen]:  # noise outweighs what was learnt
            sigma, epsilon = sigma / 2, epsilon * 2
    return table.rows(len(codes))


def _selected(scores: Any, epsilon: float, rng: np.random.Generator) -> int:
    """Select by the exponential mechanism, for scores of sensitivity one. It costs rho = ε² / 8."""
    return int(np.argmax(epsilon / 2 * np.asarray(scores) + rng.gumbel(size=len(scores))))


def _rho(epsilon: float, delta: float) -> float:
    """Return the zero-concentrated budget that is (ε, δ) by the optimal order (Canonne, Kamath, Steinke 2020)."""

    def reached(rho: float) -> float:
        orders = np.exp(np.linspace(math.log(1.001), math.log(1e5), 20_000))
        tail = np.log(1 / delta) + (orders - 1) * np.log1p(-1 / orders) - np.log(orders)
        return float(np.min(orders * rho + tail / (orders - 1)))

    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) <= epsilon else (low, middle)
    return low


METHODS: dict[str, Callable[[], Work]] = {
    "dpmm MST": lambda: dpmm("MSTPipeline"),
    "dpmm AIM": lambda: dpmm("AIMPipeline"),
    "dpmm PrivBayes": lambda: dpmm("PrivBayesPipeline"),
    "smartnoise MST": lambda: smartnoise("mst"),
    "opendp MST": lambda: opendp("MST"),
    "mbi MST": lambda: mbi("MST"),
    "mbi AIM": lambda: mbi("AIM"),
}


def main() -> None:
    name, source, sink, limit = sys.argv[1:]
    with np.load(source) as table:
        codes, sizes = table["codes"], [int(size) for size in table["sizes"]]
        epsilon, delta, seed = float(table["epsilon"]), float(table["delta"]), int(table["seed"])
    work = METHODS[name]()
    before, start = _peak(), time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(start + float(limit)), resource.RLIM_INFINITY))
    made = np.asarray(work(codes, sizes, epsilon, delta, seed)).astype(np.int64)
    np.savez(sink, codes=made, cpu_seconds=time.process_time() - start, megabytes=_peak() - before)


def _peak() -> float:
    """Return the peak of this process in MB. Not `getrusage`, which begins with that of the parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


if __name__ == "__main__":
    main()
