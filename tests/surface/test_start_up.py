"""Modules that a command on a small table loads, and functions that the first one compiles, are counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc

COUNT = """
import atexit, sys
from numba.core import event

class Seen(event.Listener):
    def __init__(self): self.names = []
    def on_start(self, event): pass
    def on_end(self, event):
        found = event.data["dispatcher"].py_func
        self.names.append(f"{found.__module__}.{found.__qualname__}")

seen = Seen()
event.register("numba:compile", seen)
atexit.register(lambda: print("compiled", len(seen.names), *seen.names))
"""
COMMAND = "from discreet.cli import main\nmain(sys.argv[1:])\n"
#: Several commands in one process, divided by a comma, as are the names of what each compiles.
COMMANDS_IN_TURN = """
from discreet.cli import main
for words in " ".join(sys.argv[1:]).split(" , "):
    try:
        main(words.split())
    except SystemExit as end:
        assert not end.code, (words, end.code)
    seen.names.append(",")
"""
SCHEMA = """[columns]
age = {kind = "integer", bounds = [0, 120], role = "quasi-identifier"}
income = {bounds = [0, 200000], role = "quasi-identifier"}
city = {categories = ["A", "B", "C", "D", "E", "F"], role = "quasi-identifier"}
sex = {categories = ["f", "m"], role = "quasi-identifier"}
disease = {categories = ["flu", "cold", "cancer", "none"], role = "sensitive"}
"""
#: As clinics keep them: several rows per person, dates, decimal commas and marks between thousands.
STAYS = """[source]
delimiter = ";"
decimal = ","
thousands = "."
dates = ["%d.%m.%Y"]
missing = ["k.A."]

[unit]
person = "patient"
rows = 4

[columns]
patient = {role = "person"}
age = {kind = "integer", bounds = [0, 120], role = "quasi-identifier"}
admitted = {bounds = [2025-01-01, 2025-12-31], role = "quasi-identifier"}
cost = {bounds = [0, 10000], role = "quasi-identifier"}
ward = {categories = ["A", "B", "C"], role = "quasi-identifier"}
disease = {categories = ["flu", "cold", "cancer"], role = "sensitive"}
"""


def compiled(folder: Path, script: str, *arguments: str) -> list[str]:
    """Run a script in a new process with an empty cache; return the functions that were compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", COUNT + script, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1].split()[2:]


def by_command(folder: Path, verbs: str) -> list[list[str]]:
    """Run verbs on the table of a folder in one new process; return the functions that each of them compiled."""
    parts = [verb.partition(" ") for verb in verbs.split(" , ")]
    words = " , ".join(f"{name} people.csv --schema schema.toml {options}" for name, _, options in parts)
    names = " ".join(compiled(folder, COMMANDS_IN_TURN, words))
    return [found.split() for found in names.split(",")[:-1]]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Write 4,000 rows of five columns, and their schema."""
    rng, n = np.random.default_rng(1), 4000
    columns = [
        rng.integers(18, 90, n).astype(str),
        rng.gamma(2, 20_000, n).clip(0, 200_000).round().astype(int).astype(str),
        rng.choice(list("ABCDEF"), n),
        rng.choice(["f", "m"], n),
        rng.choice(["flu", "cold", "cancer", "none"], n),
    ]
    lines = ["age,income,city,sex,disease", *map(",".join, zip(*columns, strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    """Write 4,000 rows of about 1,500 persons, and their schema."""
    rng, lines = np.random.default_rng(1), ["patient;age;admitted;cost;ward;disease"]
    for _ in range(4000):
        day = f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.2025"
        cost = f"{rng.integers(0, 10)}.{rng.integers(0, 1000):03d},{rng.integers(0, 100):02d}"
        age = rng.integers(0, 99) if rng.random() < 0.95 else "k.A."
        ill = rng.choice(["flu", "cold", "cancer"])
        lines.append(f"P{rng.integers(0, 1500):05d};{age};{day};{cost};{rng.choice(list('ABC'))};{ill}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "schema.toml").write_text(STAYS, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("verbs", "most"),
    [
        ("risk , synopsis --epsilon 1 -o s.parquet", (0, 6)),
        pytest.param("anonymize --k 10 --l 2 -o safe.csv", (16,), marks=pytest.mark.slow),
        pytest.param("synthesize --epsilon 1 --delta 1e-9 -o synthetic.csv", (19,), marks=pytest.mark.slow),
    ],
)
def test_persons_dates_and_decimal_commas_compile_nothing_more(stays: Path, verbs: str, most: tuple[int, ...]) -> None:
    names = by_command(stays, verbs)
    assert all(len(found) <= limit for found, limit in zip(names, most, strict=True)), names
    assert "engines" not in str(names)


@pytest.mark.parametrize(
    ("verbs", "most"),
    [
        ("anonymize --k 10 --l 2 -o safe.csv , risk , synopsis --epsilon 1 -o s.parquet", (0, 0, 6)),
        pytest.param("cluster --epsilon 1 -k 5 -o centers.csv", (22,), marks=pytest.mark.slow),
        pytest.param("synthesize --epsilon 1 --delta 1e-9 -o synthetic.csv", (19,), marks=pytest.mark.slow),
        pytest.param("perturb --epsilon 1 --category-epsilon 1 --radius 5 -o noisy.csv", (19,), marks=pytest.mark.slow),
    ],
)
def test_a_small_table_compiles_few_functions(people: Path, verbs: str, most: tuple[int, ...]) -> None:
    names = by_command(people, verbs)
    assert all(len(found) <= limit for found, limit in zip(names, most, strict=True)), names
    assert "growth" not in str(names)


@pytest.mark.slow
def test_a_small_density_tree_compiles_hardly_anything(tmp_path: Path) -> None:
    script = """
import numpy as np, discreet as dc
X = np.random.default_rng(0).random((4000, 5))
dc.anonymity.DensityTree(10, domain=dc.Domain.box(0, [1] * 5)).fit(X).transform(X)
"""
    names = compiled(tmp_path, script)
    assert len(names) <= 20, names


@pytest.mark.slow
def test_growth_of_a_larger_table_compiles_what_its_criterion_needs(tmp_path: Path) -> None:
    script = """
import numpy as np, discreet as dc
X = np.random.default_rng(0).random((30_000, 5))
dc.anonymity.DensityTree(10, domain=dc.Domain.box(0, [1] * 5)).fit(X)
"""
    names = compiled(tmp_path, script)
    assert len(names) <= 45, names
    assert not [n for n in names if n.rsplit(".", 1)[-1] in ("is_ok", "label_gains", "widest_first", "count_values")]


#: Packages that take long to import and that no command on a small table needs.
HEAVY = {"sklearn", "pandas", "plotly", "pydantic", "polars", "duckdb", "pyspark", "starlette", "granian"}
#: Parts of SciPy, jinja2 and Numba's compiler, and the commands that need them.
PARTS = {
    "scipy.stats": (),
    "scipy.sparse": ("ask", "cluster"),
    "scipy.optimize": ("cluster",),
    "scipy.special": ("ask", "cluster", "report"),
    "scipy.linalg": ("ask", "cluster"),
    "jinja2": ("report",),
    "numba.np.arraymath": (),
}
FEW_COLUMNS = """
[columns.age]
bounds = [0, 100]
role = "quasi-identifier"

[columns.cost]
bounds = [0, 1000]
role = "quasi-identifier"

[columns.illness]
categories = ["cold", "flu", "gout"]
role = "sensitive"
"""
POINTS = "[columns.age]\nbounds = [0, 100]\n\n[columns.cost]\nbounds = [0, 1000]\n"
#: Commands, and how many modules each may load beyond NumPy, Numba and pyarrow: those of today and a few more.
COMMANDS = {
    "--help": 240,
    "synopsis people.csv --schema schema.toml --epsilon 1 -o s.parquet": 400,
    "anonymize people.csv --schema schema.toml --k 10 --l 2 -o safe.csv": 385,
    "risk people.csv --schema schema.toml": 320,
    "ask given.parquet age>50": 575,
    "perturb people.csv --schema points.toml --epsilon 2 --radius 5 -o noisy.csv": 385,
    "cluster people.csv --schema points.toml --epsilon 1 -k 2 -o centers.csv": 790,
    "synthesize people.csv --schema schema.toml --epsilon 1 --delta 1e-9 -o synthetic.parquet": 395,
    "report given.parquet -o report.html": 565,
}
#: Runs a command as the program `discreet` does, and writes the names of the modules that are loaded at its end.
COUNTING = """
import atexit, json, sys
atexit.register(lambda: open(TARGET, "w").write(json.dumps(sorted(sys.modules))))
if sys.argv[1:]:
    from discreet.cli import main
    main()
else:
    import numpy, numba, pyarrow
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    rng = np.random.default_rng(1)
    table = pa.table({
        "age": rng.integers(0, 100, 500), "cost": rng.uniform(0, 1000, 500).round(2),
        "illness": rng.choice(["cold", "flu", "gout"], 500),
    })  # fmt: skip
    pa_csv.write_csv(table, folder / "people.csv")
    (folder / "schema.toml").write_text(FEW_COLUMNS, encoding="utf-8")
    (folder / "points.toml").write_text(POINTS, encoding="utf-8")
    domain = dc.Domain({"age": (0, 100), "cost": (0, 1000)})
    dc.GridSynopsis(1.0, domain, random_state=1).fit(table.select(["age", "cost"])).synopsis_.save(
        folder / "given.parquet"
    )
    return folder


def loaded(place: Path, command: str) -> set[str]:
    """Return the modules that a command loads; without one, those of the libraries that all need."""
    target = place / "modules.json"
    target.unlink(missing_ok=True)
    program = f"TARGET = {str(target)!r}\n{COUNTING}"
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split()], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(target.read_text(encoding="utf-8")))


def _some(command: str) -> Any:
    """Return a command as a parameter; most are tried by `make test-all` alone, for each starts two processes."""
    verb = command.split()[0]
    return pytest.param(command, id=verb, marks=() if verb == "anonymize" else pytest.mark.slow)


@pytest.fixture(scope="module")
def libraries(place: Path) -> set[str]:
    """Return the modules of NumPy, Numba and pyarrow."""
    return loaded(place, "")


@pytest.mark.parametrize("command", [*map(_some, COMMANDS)])
def test_a_command_loads_few_modules_and_no_heavy_ones(place: Path, libraries: set[str], command: str) -> None:
    loaded(place, command)  # what is compiled now is loaded below
    found, verb = loaded(place, command), command.split()[0]
    assert not {name.partition(".")[0] for name in found} & HEAVY
    assert {part for part, verbs in PARTS.items() if part in found and verb not in verbs} == set()
    # Rich loads attrs where it is installed, which no dependency of ours does.
    more = {name for name in found - libraries if name.partition(".")[0] not in ("attr", "attrs")}
    assert len(more) <= COMMANDS[command]


@pytest.mark.parametrize("damaged", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["whole", "damaged"])
def test_an_error_about_options_loads_no_numbers_once_they_are_known(
    place: Path, tmp_path: Path, damaged: bool
) -> None:
    folder = tmp_path / "cache"
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    program = f"import sys\n{COMMAND.replace('main(', 'try: main(')}finally: print('numpy' in sys.modules)\n"
    words = ["synopsis", "people.csv", "--schema", "schema.toml", "-o", "s.parquet", "--epsilon", "1", "--rule", "0"]

    def loads_numpy() -> tuple[bool, str]:
        done = subprocess.run(
            [sys.executable, "-c", program, *words], cwd=place, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 2
        return done.stdout.split()[-1] == "True", done.stderr

    asked, said = loads_numpy()
    assert asked
    assert loads_numpy() == (False, said)
    [file] = (folder / "discreet").iterdir()
    kept = file.read_text(encoding="utf-8")
    for other in (kept[:-9], kept.replace(kept[:4], "0000", 1)) if damaged else ():  # cut off, or of other files
        file.write_text(other, encoding="utf-8")
        assert loads_numpy() == (True, said)
        assert file.read_text(encoding="utf-8") == kept


def test_importing_the_package_loads_no_numbers() -> None:
    program = "import sys, discreet; print(len(sys.modules), 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    count, numpy = done.stdout.split()
    assert numpy == "False"
    assert int(count) <= 110


def test_an_estimator_fits_without_scikit_learn_and_is_an_estimator_with_it() -> None:
    program = """
import sys, numpy as np, discreet as dc
model = dc.GridSynopsis(1.0, (0, 1), rule=2, random_state=1).fit(np.ones((500, 2)) / 2)
assert model.get_params()["rule"] == 2 and model.set_params(rule=3).rule == 3
assert "sklearn" not in sys.modules
from sklearn.base import BaseEstimator, clone, is_clusterer
from sklearn.utils import get_tags
assert get_tags(dc.PrivateKMeans(2, domain=(0, 1))).estimator_type == "clusterer"
assert get_tags(model).input_tags.allow_nan
assert clone(model).rule == 3 and isinstance(model, BaseEstimator)
assert "rule=3" in repr(model) and "rule" in model._repr_html_()
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, env={**os.environ})


@pytest.mark.slow
@pytest.mark.parametrize("first", ["clone(model)", "get_tags(model)", "repr(model)", "dir(model)", "model.set_output"])
def test_whatever_scikit_learn_asks_first_finds_all_of_it(first: str) -> None:
    program = f"""
import discreet as dc
model = dc.PrivateKMeans(2, domain=(0, 1))
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, clone
from sklearn.utils import get_tags
{first}
assert isinstance(model, BaseEstimator) and isinstance(model, ClusterMixin) and isinstance(model, TransformerMixin)
assert get_tags(model).estimator_type == "clusterer" and get_tags(model).transformer_tags is not None
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
def test_what_is_prepared_is_not_compiled_again(people: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(people / "cache")}
    command = [sys.executable, "-m", "discreet", "prepare", "anonymize", "risk", "--json"]
    told = json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert told["folder"] == str(people / "cache")
    assert set(told["seconds"]) == {"anonymize", "risk"}
    for verb in ("risk", "anonymize"):
        more = ("--k", "10", "-o", "safe.csv") if verb == "anonymize" else ()
        assert compiled(people, COMMAND, verb, "people.csv", "--schema", "schema.toml", *more) == []


@pytest.mark.slow
def test_what_is_prepared_covers_persons_dates_and_decimal_commas(stays: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(stays / "cache")}
    command = [sys.executable, "-m", "discreet", "prepare", "synopsis", "cluster", "anonymize"]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in told.stdout.splitlines()] == ["synopsis", "cluster", "anonymize", "Kept"]
    assert " ".join(told.stderr.split()).startswith("Compiling: up to 25 processor seconds per verb")
    assert "the first use of a method" not in told.stderr
    shared = ("people.csv", "--schema", "schema.toml")
    assert compiled(stays, COMMAND, "cluster", *shared, "--epsilon", "1", "-k", "auto", "-o", "c.csv") == []
    for more in ((), ("--history", "all.history")):
        assert (
            compiled(stays, COMMAND, "anonymize", *shared, "--k", "10", "--l", "2", *more, "-o", "a.csv", "--overwrite")
            == []
        )
    options = ("--schema", "schema.toml", "--epsilon", "1", "-o", "s.parquet")
    assert compiled(stays, COMMAND, "synopsis", "people.csv", *options) == []
    # A larger file is read by kernels.
    head, *rows = (stays / "people.csv").read_text(encoding="utf-8").splitlines()
    (stays / "many.csv").write_text("\n".join([head, *rows * 8]) + "\n", encoding="utf-8")
    assert compiled(stays, COMMAND, "synopsis", "many.csv", *options[:-1], "t.parquet") == []
