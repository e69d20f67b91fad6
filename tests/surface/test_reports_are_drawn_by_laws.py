"""Reports of devices and records are drawn by the law that prices them: no other file calls a sampler of reports."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "discreet"
#: The files of laws in `local` and `metric`. Those of one device draw with the thresholds of a task.
LAWS = {
    "local/oracles/laws.py",
    "local/repeated/rappor_law.py",
    "local/tasks/client.py",
    "local/tasks/device.py",
    "metric/elastic/law.py",
    "metric/geometry/laws.py",
    # Merging two bitmaps flips bits again; their law is the central mechanism's.
    "local/distinct/bitmaps.py",
}
#: What draws, by the module that has it.
SAMPLERS = {
    "discreet.noise": {"bernoulli", "randomized_response"},
    "discreet.noise.choice.tabled": {"ChanceTable"},
    "discreet.noise.reports.bases": {"independent_vectors"},
    "discreet.noise.reports.coin_bytes": {"coin_bytes"},
    "discreet.noise.reports.coins": {"bernoulli", "randomized_response", "respond", "toss"},
    "discreet.noise.reports.one_device": {"ByteCoins", "Coins"},
    "discreet.noise.reports.projective": {"projective_response"},
    "discreet.noise.reports.stored": {"flip", "fresh_subsets", "stored_below", "subsets"},
    "discreet.noise.reports.subsets": {"subsets"},
    "discreet.noise.vector.isotropic": {"IsotropicNoise", "isotropic_laplace"},
    "discreet.noise.vector.spherical": {"SphericalNoise"},
}


def samplers_of(text: str) -> set[str]:
    """Return the samplers of reports that a file imports, or calls through `discreet.noise`."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            # A door offers what the files behind it have.
            behind = {name for home, names in SAMPLERS.items() if f"{home}.".startswith(f"{module}.") for name in names}
            found |= {alias.name for alias in node.names if alias.name in behind}
            # A module as a whole: all it has is in reach.
            found |= {
                alias.name for alias in node.names if f"{module}.{alias.name}" in SAMPLERS.keys() - {"discreet.noise"}
            }
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("discreet.noise.")}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "noise":
            found |= {node.attr} & SAMPLERS["discreet.noise"]
    return found


def test_only_laws_draw_reports() -> None:
    drawing = {
        str(file.relative_to(SOURCE)): samplers_of(file.read_text(encoding="utf-8"))
        for room in ("local", "metric")
        for file in sorted((SOURCE / room).rglob("*.py"))
    }
    assert {name: sorted(found) for name, found in drawing.items() if found and name not in LAWS} == {}
    assert {name for name in LAWS if not drawing[name]} == set()  # none is listed for nothing


def test_the_list_of_samplers_is_whole() -> None:
    """Every public function or class of these rooms that takes a stream is a sampler here, or a law."""
    laws = {"Generator", "ByteCoins"}
    for module in SAMPLERS.keys() - {"discreet.noise", "discreet.noise.choice.tabled"}:
        path = SOURCE / Path(*module.split(".")[1:]).with_suffix(".py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                names = {arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)}
                if names & {"rng", "stream", "keys"} and node.name not in laws:
                    assert node.name in SAMPLERS[module], f"{module}.{node.name} draws"


def test_a_sampler_is_found_however_it_is_reached() -> None:
    for text in (
        "from discreet import noise\nnoise.randomized_response([1])",
        "from discreet.noise.reports.coin_bytes import coin_bytes",
        "from discreet.noise.reports import stored",
        "import discreet.noise.reports.coins",
        "from discreet.noise import bernoulli",
    ):
        assert samplers_of(text)
    assert not samplers_of(
        "from discreet.noise.reports.laws import Response\nfrom discreet import noise\nnoise.below(3)"
    )
