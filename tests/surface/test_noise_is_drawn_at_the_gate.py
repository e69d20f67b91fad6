"""Noise that hides data is drawn in `mechanisms` (central), in files of laws (local, metric), and nowhere else.

The import rules see modules. They do not see ``noise.discrete_laplace`` behind ``from discreet import noise``, so the
source of every file is searched for the names of samplers, and for charges by hand.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import discreet

HOME = Path(discreet.__file__).parent
#: Functions that draw noise or choices about data.
SAMPLERS = {
    "discrete_laplace", "discrete_gaussian", "max_norm_laplace", "isotropic_laplace", "exceedances", "geometric",
    "draw_geometric", "exponential", "choose_many", "joint_cuts", "median_cuts", "choose_cuts", "quantiles",
    "quantiles_from_counts", "bernoulli", "randomized_response", "coin_bytes", "toss", "pick",
}  # fmt: skip
#: Rooms whose files may draw: the source of randomness, the gate, and what has its own test (local, metric).
OPEN = ("noise", "mechanisms", "local", "metric", "datasets")
#: Single files, and why.
EXCUSED = {
    "anonymity/masking/noise.py": "noise without a formal promise: it protects no differential privacy",
    "evaluation/registry/noise.py": "the samplers themselves are audited",
}


def used(tree: ast.AST) -> set[str]:
    """Return the samplers that a file calls: as names it imported from `discreet.noise`, or as ``noise.x``."""
    imported = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet.noise")
        for alias in node.names
    }
    rooms = {name for name, real in imported.items() if real not in SAMPLERS} | {"noise"}
    rooms |= {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "discreet"
        for alias in node.names
        if alias.name == "noise"
    }
    found = {name for name in imported.values() if name in SAMPLERS}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in SAMPLERS:
            found |= {node.attr} if rooms & set(ast.unparse(node.value).split(".")) else set()
    return found


def spends(tree: ast.AST) -> bool:
    """Tell whether a file charges a ledger by hand."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("spend", "charge")
        for node in ast.walk(tree)
    )


def files(words: Iterable[str]) -> Iterator[tuple[str, ast.AST]]:
    """Yield the files in which one of the words occurs: parsing all of them would take seconds."""
    wanted = re.compile("|".join(words))
    for path in sorted(HOME.rglob("*.py")):
        if wanted.search(text := path.read_text(encoding="utf-8")):
            yield str(path.relative_to(HOME)), ast.parse(text)


def test_no_other_room_draws_noise() -> None:
    guilty = {name: names for name, tree in files(SAMPLERS) if name.split("/")[0] not in OPEN and (names := used(tree))}
    assert {name: names for name, names in guilty.items() if name not in EXCUSED} == {}
    assert set(EXCUSED) <= set(guilty), "an excuse that is not needed any more"


def test_no_other_door_offers_a_sampler() -> None:
    offered = r"^from (?:discreet)?\.*noise[\w.]* import (\w+) as"
    for stub in HOME.rglob("__init__.pyi"):
        if stub.relative_to(HOME).parts[0] != "noise":
            assert SAMPLERS.isdisjoint(re.findall(offered, stub.read_text(), re.MULTILINE)), stub


def test_no_method_charges_a_ledger_by_hand() -> None:
    allowed = ("mechanisms/", "accounts/", "core/budget/ledger.py", "local/", "metric/")
    assert [name for name, tree in files(["spend", "charge"]) if spends(tree) and not name.startswith(allowed)] == []


def test_the_search_sees_what_it_should() -> None:
    hidden = "from discreet import noise\nfrom discreet.noise.vector import isotropic as i\n"
    assert used(ast.parse(hidden + "noise.discrete_laplace(1)\ni.isotropic_laplace(1)")) == {
        "discrete_laplace",
        "isotropic_laplace",
    }
    for planted, sampler in (
        ("from discreet.noise.choice.many import joint_cuts as j", "joint_cuts"),
        ("from discreet.noise.choice import joint_cuts as j", "joint_cuts"),
        ("from discreet.noise import integer\ninteger.laplace.discrete_laplace(1)", "discrete_laplace"),
        ("from discreet import noise as n\nn.geometric(1)", "geometric"),
        ("import discreet as dc\ndc.noise.bernoulli(1)", "bernoulli"),
    ):
        assert used(ast.parse(planted)) == {sampler}
    assert spends(ast.parse("ledger.spend('a', 1)"))
