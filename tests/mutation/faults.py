"""Finds the lines that a promise stands on by walking the syntax tree, and plants a fault in one of them at a time.

Sites are found by pattern, never by line number: draws of noise, prices, scales, clamps, comparisons of noisy values,
the checks of k, l and t, suppressed rows, keys, random orders, guards, coins, roundings to a lattice. A fault is named
by module, function, kind and its number among its like in that function, so that its name outlives edits elsewhere.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

SOURCE = Path(__file__).parents[2] / "src" / "discreet"

#: Where promises are made. What only reads releases (plots, studies, pages) is not here.
ROOMS = ("noise", "engines", "mechanisms", "synopses", "clustering", "models", "local", "metric", "anonymity")
LEDGERS = (
    "core.budget.ledger",
    "core.budget.prices",
    "core.budget.prices",
    "core.budget.draws",
    "core.budget.lines",
    "local.repeated.report_ledger",
    "metric.user_ledger",
)
#: Left out, each with the reason: what is worked out here from a release or from public values stays within the promise
#: whatever it does, or no promise is made yet.
AFTERWARDS = {
    "synopses.queries.counts": "draws from what was published",
    "synopses.queries.plot": "a picture",
    "synopses.queries.distributions": "answers from what was published",
    "synopses.queries.evenness": "errors of answers, from what was published",
    "synopses.boxes.refine": "post-processing",
    "synopses.marginals.differences": "post-processing",
    "synopses.marginals.mixture": "post-processing",
    "synopses.boxes.consistency": "post-processing",
    "local.repeated.rappor_lists": "estimates from reports",
    "local.distinct.likelihood": "estimates from what was published",
    "models.solving": "post-processing",
    "clustering.leaves.kmeans": "starts of a search on a synopsis",
    "clustering.central.packing": "starts that know no rows",
    "clustering.leaves.mixture": "post-processing",
    "clustering.how_many.bic": "post-processing",
    "clustering.leaves.columns": "post-processing, and what is declared",
    "clustering.noisy.mixture": "post-processing",
    "clustering.noisy.kmeans": "post-processing of perturbed points",
    "metric.plots": "a picture",
    "metric.remap.maps": "post-processing of perturbed points: it is given no others",
    "metric.remap.prior": "reads a prior, which the guarantee assumes to be public or released with its own budget",
    "metric.remap.density": "a density fitted to perturbed points or to a prior, for the maps above",
    "metric.comparison": "compares laws, draws for no release",
    "metric.elastic.cells": "cuts a map by a density that is public; the metric is checked on whatever comes out",
    "metric.elastic.people": "reads a density that is public",
    "local.strings.candidates": "estimation",
    "local.numbers.distributions": "estimation",
    "local.support": "estimation",
    "local.repeated.rappor_decoding": "estimation",
    "local.planning.plan": "sees no values",
    "local.planning.options": "sees no values",
    "anonymity.release.disclosure": "measures releases",
    "anonymity.risk.loss": "measures releases",
    "anonymity.risk.population": "measures tables, for their owner",
    "anonymity.growth.pruning": "chooses among trees that keep the rules",
    "anonymity.risk.printed": "reads published tables back, for attacks and measures",
    "engines.tables.text_kernels": "ends of loops and buffers where the text of a file is read, a record by itself",
    "anonymity.release.on_executors": "runs with Spark only; rows are compared with the others' in their own tests",
    "engines.spark.table": "runs with Spark only; counts are compared with the others' in their own tests",
    "noise.public": "seeds, orders, keys and directions, which hide nothing by themselves",
    "noise.stream.watch": "tells the tests what was drawn",
    "noise.stream.generator": "streams of audits, searches and error bars, which draw for no release",
}
#: Functions left out wherever they are, likewise.
SHOWN = {
    "__repr__": "shows what is held",
    "spending": "writes down what was spent",
    "_sort": "words for what was spent",
    "_bayes": "moves perturbed places to where the prior says they came from: post-processing",
}

ADDED = {"discrete_laplace", "discrete_gaussian", "max_norm_laplace"}
ANSWERS = {"randomized_response", "projective_response"}
PLACES = {"below"}
OTHERS = {
    "draw",
    "draw_geometric",
    "exceedances",
    "coin_bytes",
    "toss",
    "subsets",
    "fresh_subsets",
    "independent_vectors",
    "choose_many",
    "joint_cuts",
    "choose_cuts",
    "perturb",
    "resample",
}
#: One outcome each: there is nothing to draw for a second use.
CHOICES = {"exponential", "quantiles_from_counts"}
#: Draws of vectors, whose scale comes after their shape.
VECTORS = {"isotropic_laplace"}
DRAWS = ADDED | ANSWERS | PLACES | OTHERS | CHOICES | VECTORS
STREAMS = {"stream", "rng", "_stream"}
SCALES = {"_scale", "smallest_noise"}
PRICES = {"spend", "charge"}
AMOUNTS = {"epsilon": (5, 4), "scale": (4, 5), "sigma": (4, 5), "rate": (5, 4)}
#: What must be at least so much, and what at most; the change that makes each weaker.
LEAST = {"k", "l", "least", "l_diversity"}
MOST = {"t", "c", "most", "t_closeness"}
CLASS_NAMES = {"of", "classes", "cell", "cells", "own", "node"}
#: Values that a kernel compares with a threshold: what was drawn.
COINS = {"byte", "digit", "ticket", "coin", "value", "word", "point", "threshold"}
#: Refuse what a promise could not be kept with.
GUARDS = {"check_blind", "check_unit", "check_settings", "charge_rows", "_check_same", "_check_metric", "_check_kind"}
#: Functions of the local room that work on counts, long after the reports.
ESTIMATION = ("estimate", "variance", "moments", "consistent", "_whole", "quantile")
SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


@dataclass(frozen=True)
class Fault:
    """One planted fault."""

    name: str
    module: str
    function: str
    kind: str
    before: str
    after: str
    line: int
    text: str
    place: int
    change: Callable[[ast.AST], ast.AST]

    def code(self) -> CodeType:
        """Return the code of the function with the fault in it."""
        tree = ast.parse(self.text)
        here = list(ast.walk(tree))[self.place]
        tree = _replaced(tree, here, self.change(here))
        return _find(compile(ast.fix_missing_locations(tree), f"<{self.name}>", "exec"), self.function)


def _find(code: CodeType, function: str) -> CodeType:
    waiting = [code]
    while waiting:
        seen = waiting.pop()
        if seen.co_qualname == function:
            return seen
        waiting += [const for const in seen.co_consts if isinstance(const, CodeType)]
    raise LookupError(function)


def modules() -> Iterator[tuple[str, Path]]:
    """Yield the modules that promises are made in."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        if name in AFTERWARDS or name.endswith("__init__"):
            continue
        if name.split(".")[0] in ROOMS or name in LEDGERS:
            yield name, path


def faults() -> list[Fault]:
    """Return every fault that can be planted, in the order of the files."""
    return [fault for name, path in modules() for fault in faults_of(name, path.read_text(encoding="utf-8"))]


def faults_of(module: str, text: str) -> Iterator[Fault]:
    """Yield the faults of one module."""
    tree = ast.parse(text)
    places: dict[int, int] = {}
    for function, body in _functions(tree):
        if body.name in SHOWN:
            continue
        numbers: dict[str, int] = {}
        tainted = _noisy_names(body)
        for node in ast.walk(body):
            for kind, change in _changes(module, node, body, tainted):
                before, after = ast.unparse(node), ast.unparse(ast.fix_missing_locations(change(copy.deepcopy(node))))
                if before == after:
                    continue
                numbers[kind] = numbers.get(kind, 0) + 1
                name = f"{module}:{function}:{kind}:{numbers[kind]}"
                if node is body:
                    before, after = f"def {function}", kind
                line = getattr(node, "lineno", 0)
                places = places or {id(each): i for i, each in enumerate(ast.walk(tree))}
                yield Fault(
                    name, module, function, kind, before[:200], after[:200], line, text, places[id(node)], change
                )


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield top-level functions and methods; what is nested belongs to the one around it."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}", inner


def _replaced(tree: ast.Module, here: ast.AST, new: ast.AST) -> ast.Module:
    """Put a node in place of another."""

    class Change(ast.NodeTransformer):
        def visit(self, seen: ast.AST) -> ast.AST:
            return ast.copy_location(new, seen) if seen is here else self.generic_visit(seen)

    return Change().visit(tree)  # type: ignore[no-any-return]


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_draw(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or _name(node) not in DRAWS:
        return False
    given = [*node.args, *(k.value for k in node.keywords)]
    return any(_name(a) in STREAMS for a in given)


def _noisy_names(body: ast.FunctionDef) -> set[str]:
    """Names that hold noisy values: assigned from a draw, or from a name that does."""
    found: set[str] = set()
    assigned: list[tuple[set[str], set[str]]] = []  # the names of a value that draws nothing, and those it is given to
    for node in ast.walk(body):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            inner = list(ast.walk(node.value))
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {x.id for t in targets for x in ast.walk(t) if isinstance(x, ast.Name)}
            if any(_is_draw(x) for x in inner):
                found |= names
            else:
                assigned.append(({x.id for x in inner if isinstance(x, ast.Name)}, names))
    for _ in range(3):
        for value, names in assigned:
            found |= names if value & found else set()
    return found - {"self"}


def _expr(text: str, **parts: ast.expr) -> ast.expr:
    """Return an expression written as text, with expressions in place of some of its names."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(parts[node.id]) if node.id in parts else node

    return Fill().visit(ast.parse(text, mode="eval").body)  # type: ignore[no-any-return]


_ONCE = (
    "(lambda z: z[:1].repeat(len(z), axis=0) if getattr(z, 'ndim', 0) and len(z) else z[:1] * len(z) "
    "if isinstance(z, list) else tuple(p[:1].repeat(len(p), axis=0) for p in z) if isinstance(z, tuple) "
    "else z)(DRAWN)"
)


def _changes(
    module: str, node: ast.AST, body: ast.FunctionDef, tainted: set[str]
) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """Yield the faults that fit a node, each as a name and a change."""
    if isinstance(node, ast.Call):
        yield from _call_changes(module, body.name, node)
        if _is_kernel(body) and module.split(".")[0] in ("engines", "metric", "noise"):
            yield from _kernel_clamps(module, node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _compare_changes(module, node, tainted)
        if _is_kernel(body) and module.split(".")[0] == "noise":
            yield from _coin_changes(node)
    elif node is body and module.split(".")[0] == "noise":
        for argument in [*body.args.args, *body.args.kwonlyargs]:
            if argument.arg in AMOUNTS and any(a.arg in STREAMS for a in [*body.args.args, *body.args.kwonlyargs]):
                yield "less noise by parameter", _scaled_parameter(argument.arg)


def _four_fifths(node: ast.AST) -> ast.AST:
    return _expr("MADE * 4 / 5", MADE=node)  # type: ignore[arg-type]


def _scaled_parameter(name: str) -> Callable[[ast.AST], ast.AST]:
    top, bottom = AMOUNTS[name]

    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.FunctionDef)
        new = ast.parse(f"{name} = {name} * {top} / {bottom}").body[0]
        at = 1 if ast.get_docstring(node) is not None else 0
        node.body.insert(at, new)
        return node

    return change


def _call_changes(module: str, function: str, node: ast.Call) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    name, room = _name(node), module.split(".")[0]
    if _is_draw(node):
        if room == "local" and any(word in function for word in ESTIMATION):
            return
        several = name in OTHERS | ANSWERS or len(node.args) > 1 or any(k.arg == "size" for k in node.keywords)
        several = several and name not in CHOICES
        made = isinstance(node.func, ast.Attribute) and _name(node.func.value)[:1].isupper()  # a law, not values
        if name in ADDED | VECTORS or (name in PLACES and several):  # a single place is a seed for what comes after
            yield "noise removed", lambda n: _expr("DRAWN * 0", DRAWN=n)
        if name in ANSWERS and node.args:
            yield "raw value instead of noisy", lambda n: n.args[0]
        if name in ADDED and node.args:
            yield "noise scaled by 0.8", _with_argument(0, "GIVEN * 4 / 5")
        if name in VECTORS and len(node.args) > 2:
            yield "noise scaled by 0.8", _with_argument(2, "GIVEN * 4 / 5")
        if several and not made:
            yield "drawn once for two uses", lambda n: _expr(_ONCE, DRAWN=n)
        for i, keyword in enumerate(node.keywords):
            if keyword.arg == "epsilon":
                yield "noise scaled by 0.8", _with_keyword(i, "GIVEN * 5 / 4")
            elif keyword.arg in ("scale", "sigma"):
                yield "noise scaled by 0.8", _with_keyword(i, "GIVEN * 4 / 5")
    elif name in SCALES and room != "noise":
        yield "noise scaled by 0.8", _four_fifths
    elif room == "mechanisms" and (name == "root" or (name == "Law" and len(node.args) > 1)):
        # Less noise than the price buys, and a line that states as little.
        yield "noise scaled by 0.8", _with_argument(1, "GIVEN * 4 / 5") if name == "Law" else _four_fifths
    elif room == "mechanisms" and name == "rate":
        yield "noise scaled by 0.8", lambda n: _expr("MADE * 5 / 4", MADE=n)
    elif name in PRICES and isinstance(node.func, ast.Attribute):
        if len(node.args) > 1:
            halved = _with_argument(1, "GIVEN / 2")
        elif any(k.arg in ("epsilon", "rho") for k in node.keywords):
            at = next(i for i, k in enumerate(node.keywords) if k.arg in ("epsilon", "rho"))
            halved = _with_keyword(at, "GIVEN / 2")
        else:
            return
        # Charged is half of what is then used. A `charge` returns no price to use.
        twice = "CHARGED" if name == "charge" else "(lambda p: p if p is None else p * 2)(CHARGED)"
        yield "price halved", lambda n: _expr(twice, CHARGED=halved(n))
    elif name == "clip" and isinstance(node.func, ast.Attribute) and node.args:
        if room == "local" and any(word in function for word in ESTIMATION):
            return
        # Either clip(values, low, high) or values.clip(low, high).
        whole = len(node.args) == 3 or _name(node.func.value) == "np"
        yield "clamp skipped", lambda n: n.args[0] if whole else n.func.value
    elif name == "fingerprint" and len(node.args) > 1 and not _name(node.args[1]).isupper():
        yield "key ignored", _with_argument(1, "0")
    elif name == "new" and isinstance(node.func, ast.Attribute) and _name(node.func.value) == "hmac":
        yield "key ignored", _with_argument(0, "b'no key at all..'")
    elif name in ("HashFamily", "blake2b", "PRF"):
        for i, keyword in enumerate(node.keywords):
            if keyword.arg == "key":
                yield "key ignored", _with_keyword(i, "b'' if isinstance(GIVEN, bytes) else 0")
    elif name in ("minimum", "maximum") and room in ("engines", "metric") and len(node.args) == 2:
        yield "clamp skipped", lambda n: n.args[0] if not isinstance(n.args[0], ast.Constant) else n.args[1]

    elif name == "rounding_of":  # how far rounding to a lattice moves two rows apart
        yield "rounding left out", lambda n: _expr("MADE * 0", MADE=n)
    elif name == "permutation" and node.args:
        yield "order kept", lambda n: _expr("np.arange(COUNT)", COUNT=n.args[0])
    elif name == "sort" and _name(node.func.value if isinstance(node.func, ast.Attribute) else node) == "_order":
        yield "order kept", lambda n: _expr("np.arange(len(NUMBERS))", NUMBERS=n.args[0])
    elif name == "growth_rules":
        yield "decided on hidden values", lambda n: n.args[0]
    elif name in GUARDS:
        yield "check skipped", lambda n: ast.Constant(None)


def _is_kernel(body: ast.FunctionDef) -> bool:
    return any(_name(mark) in ("jit", "inlined") for mark in body.decorator_list)


def _kernel_clamps(module: str, node: ast.Call) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """In a kernel a clamp is written as min(x, most) or max(x, least)."""
    if not isinstance(node.func, ast.Name) or node.func.id not in ("min", "max") or len(node.args) != 2:
        return
    fixed = isinstance(node.args[1], ast.Constant) or _name(node.args[1]).isupper()
    if fixed or not module.startswith("noise"):  # elsewhere in kernels of noise: the ends of loops
        yield "clamp skipped", lambda n: n.args[0] if not isinstance(n.args[0], ast.Constant) else n.args[1]


def _coin_changes(node: ast.Compare) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """A coin shows heads below its threshold, not at it."""
    op, sides = type(node.ops[0]), [node.left, node.comparators[0]]
    names = [_name(side) for side in sides]
    if op in SWAPPED and len(COINS & set(names)) == 1 and not any(isinstance(side, ast.Constant) for side in sides):

        def swapped(seen: ast.AST) -> ast.AST:
            assert isinstance(seen, ast.Compare)
            seen.ops = [SWAPPED[op]()]
            return seen

        yield "coin off by one", swapped


def _with_argument(place: int, text: str) -> Callable[[ast.AST], ast.AST]:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Call)
        node.args[place] = _expr(text, GIVEN=node.args[place])
        return node

    return change


def _with_keyword(place: int, text: str) -> Callable[[ast.AST], ast.AST]:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Call)
        node.keywords[place].value = _expr(text, GIVEN=node.keywords[place].value)
        return node

    return change


def _compare_changes(
    module: str, node: ast.Compare, tainted: set[str]
) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    room, op = module.split(".")[0], type(node.ops[0])
    if op not in SWAPPED:
        return
    sides = [node.left, node.comparators[0]]

    def swapped(seen: ast.AST) -> ast.AST:
        assert isinstance(seen, ast.Compare)
        seen.ops = [SWAPPED[op]()]
        return seen

    if room == "anonymity":
        last = [_limit(side) for side in sides]
        limits = [at for at, name in enumerate(last) if name in LEAST | MOST]
        if len(limits) == 1 and not (isinstance(sides[0], ast.Constant) or _value(sides[1]) == 0):
            at = limits[0]
            least = last[at] in LEAST
            yield "rule weakened", _moved(at, "GIVEN - 1" if least else "GIVEN + 0.5")
            # The limit itself let through: x > k becomes x >= k, and its like.
            weaker = (ast.Gt, ast.LtE) if least == (at == 1) else (ast.Lt, ast.GtE)
            if op in weaker and not isinstance(sides[1], ast.Constant):
                yield "rule off by one", swapped
        elif (
            last[0] in CLASS_NAMES
            and isinstance(sides[1], ast.Constant)
            and sides[1].value == 0
            and op in (ast.GtE, ast.Lt)
        ):
            yield "suppressed row kept", _moved(1, "GIVEN - 1")
    elif module in LEDGERS:
        yield "budget off by one", swapped
    elif any(isinstance(x, ast.Name) and x.id in tainted for side in sides for x in ast.walk(side)):
        yield "comparison off by one", swapped


def _limit(side: ast.AST) -> str:
    """Return the name of a limit, also where some slack is added to it or its logarithm is taken."""
    side = side.left if isinstance(side, ast.BinOp) else side
    logs = isinstance(side, ast.Call) and _name(side) == "log" and side.args
    return _name(side.args[0] if logs else side)  # type: ignore[attr-defined]


def _value(node: ast.AST) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _moved(at: int, text: str) -> Callable[[ast.AST], ast.AST]:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Compare)
        if at == 0:
            node.left = _expr(text, GIVEN=node.left)
        else:
            node.comparators[0] = _expr(text, GIVEN=node.comparators[0])
        return node

    return change
