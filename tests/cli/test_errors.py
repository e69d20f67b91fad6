"""Bad command lines and job files: one paragraph, the right exit code, no traceback, and no file left behind."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from discreet.cli import app

SCHEMA = """
[columns.age]
bounds = [0, 120]
role = "quasi-identifier"

[columns.cost]
bounds = [0, 100]
role = "sensitive"
"""
#: Beginnings that many lines share; all of them alone are fine.
SHORT = {
    "SYNOPSIS": "synopsis people.csv --schema schema.toml --epsilon 1 -o x.parquet",
    "ANONYMIZE": "anonymize people.csv --schema schema.toml --k 5 -o a.csv",
    "PERTURB": "perturb people.csv --schema schema.toml --epsilon 1 --radius 0.1 -o p.csv",
    "ATTACK": "attack people.csv --against people.csv --control people.csv",
    "ENCODE": "sketch encode words.txt --epsilon 1 --domain labels.txt",
}
BAD = """
demo --epsilon 0 --output d
demo --epsilon -1 --output d
demo --epsilon nan --output d
demo --epsilon x --output d
demo --output people.csv
demo --output people.csv/sub
demo --seed -1 --output d
demo --seed x --output d
demo --nope
nope
--nope
schema nothere.csv
schema people.csv -o nofolder/schema.toml
schema people.csv -o schema.toml
schema empty.csv
schema junk.parquet
schema people.xyz
schema .
schema
synopsis people.csv
synopsis people.csv --schema schema.toml --epsilon 1
synopsis people.csv --schema schema.toml -o x.parquet
synopsis nothere.csv --schema schema.toml --epsilon 1 -o x.parquet
synopsis people.csv --schema nothere.toml --epsilon 1 -o x.parquet
synopsis people.csv --schema bad.toml --epsilon 1 -o x.parquet
synopsis people.csv --schema half.toml --epsilon 1 -o x.parquet
synopsis people.csv --schema nul.toml --epsilon 1 -o x.parquet
synopsis people.csv --schema latin.toml --epsilon 1 -o x.parquet
synopsis people.csv --schema people.csv --epsilon 1 -o x.parquet
synopsis people.csv --schema . --epsilon 1 -o x.parquet
synopsis people.csv --schema schema.toml --epsilon 0 -o x.parquet
synopsis people.csv --schema schema.toml --epsilon -2 -o x.parquet
synopsis people.csv --schema schema.toml --epsilon nan -o x.parquet
synopsis people.csv --schema schema.toml --epsilon one -o x.parquet
synopsis people.csv --schema schema.toml --epsilon 1 -o nofolder/x.parquet
synopsis people.csv --schema schema.toml --epsilon 1 -o .
SYNOPSIS --method forest
SYNOPSIS --rule nope
SYNOPSIS --rule 0
SYNOPSIS --rule 99999999999999999999
SYNOPSIS --rule ²
SYNOPSIS --method tree --rule rugnik
SYNOPSIS --partitioner median
SYNOPSIS --method tree --partitioner nope
SYNOPSIS --method tree --max-depth -1
SYNOPSIS --method tree --max-depth 1000000
SYNOPSIS --max-depth 4
SYNOPSIS --n-clusters 0
SYNOPSIS --rows -5
SYNOPSIS --seed -5
synopsis empty.csv --schema schema.toml --epsilon 1 -o x.parquet
synopsis words.txt --schema schema.toml --epsilon 1 -o x.parquet
synopsis junk.parquet --schema schema.toml --epsilon 1 -o x.parquet
synopsis bin.csv --schema schema.toml --epsilon 1 -o x.parquet
synopsis *.nope --schema schema.toml --epsilon 1 -o x.parquet
cluster nothere.parquet -k 3
cluster junk.parquet -k 3
cluster people.csv -k 3
cluster . -k 3
cluster s.parquet
cluster s.parquet -k 0
cluster s.parquet -k -3
cluster s.parquet -k two
cluster s.parquet -k 3 -o nofolder/c.csv
cluster s.parquet -k 3 -o .
anonymize people.csv --schema schema.toml -o a.csv
anonymize people.csv --schema schema.toml --k 0 -o a.csv
anonymize people.csv --schema schema.toml --k 10000 -o a.csv
anonymize people.csv --schema schema.toml --k 5 -o nofolder/a.csv
ANONYMIZE --method nope
ANONYMIZE --l 0
ANONYMIZE --l-kind nope
ANONYMIZE --l 2 --l-kind nope
ANONYMIZE --t -1
ANONYMIZE --criterion nope
ANONYMIZE --mode strict
ANONYMIZE --method mondrian --mode nope
ANONYMIZE --level age=1
ANONYMIZE --method generalization --level age
ANONYMIZE --method generalization --level age=x
ANONYMIZE --method generalization --level nope=1
ANONYMIZE --hierarchy age=nothere.csv
ANONYMIZE --grid age=0
ANONYMIZE --grid age=month
ANONYMIZE --target nope
ANONYMIZE --person nope
ANONYMIZE --suppress 2
ANONYMIZE --form nope
ANONYMIZE --form sample --bounds
ANONYMIZE --method microaggregation --form center
ANONYMIZE --keep nope
ANONYMIZE --hash-key nothere
risk nothere.csv --qi age
risk people.csv
risk people.csv --qi nope
risk people.csv --qi ,
risk people.csv --qi age --sensitive nope
risk people.csv --qi age --require k
risk people.csv --qi age --require k=x
risk people.csv --qi age --require nope=3
risk people.csv --qi age --missing nope
risk people.csv --qi age --population nothere.csv
risk people.csv --qi age --person nope
perturb people.csv --schema schema.toml --epsilon 1 -o p.csv
perturb people.csv --schema schema.toml --epsilon 0 --radius 0.1 -o p.csv
perturb people.csv --schema schema.toml --epsilon 1 --radius 0 -o p.csv
perturb people.csv --schema schema.toml --epsilon 1 --radius -1 -o p.csv
perturb people.csv --schema schema.toml --epsilon 1 --radius nan -o p.csv
perturb people.csv --schema schema.toml --epsilon 1 --radius 0.1 -o nofolder/p.csv
PERTURB --method nope
PERTURB --method duchi
PERTURB --sphere --method duchi
perturb people.csv --schema schema.toml --epsilon 1 --radius 100 --sphere -o p.csv
PERTURB --remap nope
PERTURB --remap bayes
PERTURB --remap bayes --prior nothere.csv
PERTURB --remap bayes --prior words.txt
PERTURB --scaling x,y
PERTURB --scaling 0,0
PERTURB --step 0
PERTURB --category-epsilon -1
perturb nothere.csv --schema schema.toml --epsilon 1 --radius 0.1 -o p.csv
attack nothere.csv --against people.csv --control people.csv --schema schema.toml --epsilon 1 --radius 0.1
attack people.csv --against nothere.csv --control people.csv --schema schema.toml --epsilon 1 --radius 0.1
attack people.csv --against people.csv --control nothere.csv --schema schema.toml --epsilon 1 --radius 0.1
ATTACK --epsilon 1 --radius 0.1
ATTACK --schema schema.toml --epsilon 0 --radius 0.1
ATTACK --method nope
ATTACK --kind nope
ATTACK --schema schema.toml --epsilon 1 --radius 0.1 --method attribute --column nope
attack s.parquet --against people.csv --control people.csv --kind synopsis --method reconstruction
ATTACK --kind synopsis
report nothere.parquet -o r.html
report people.csv -o r.html
report junk.parquet -o r.html
report s.parquet -o nofolder/r.html
report s.parquet -o r.html --against nothere.csv
report s.parquet -o r.html --attack nothere.json
report s.parquet -o r.html --attack words.txt
report c.bin -o r.html --candidates empty.txt
report bad.toml -o r.html
sketch nope
sketch encode nothere.txt --epsilon 1 --domain labels.txt -o x.bin
sketch encode words.txt --epsilon 1 -o x.bin
sketch encode words.txt --domain labels.txt -o x.bin
sketch encode words.txt --epsilon -1 --domain labels.txt -o x.bin
sketch encode words.txt --epsilon 1 --domain nothere.txt -o x.bin
sketch encode words.txt --epsilon 1 --domain empty.txt -o x.bin
sketch encode words.txt --epsilon 1 --domain-size 1 -o x.bin
sketch encode words.txt --epsilon 1 --domain-size -1 -o x.bin
sketch encode words.txt -m nope --epsilon 1 -o x.bin
sketch encode words.txt -m hadamard-sketch --epsilon 1 --set nope=1 -o x.bin
sketch encode words.txt -m hadamard-sketch --epsilon 1 --set width -o x.bin
sketch encode words.txt -m hadamard-sketch --epsilon 1 --set width=x -o x.bin
sketch encode words.txt -m direct-response --epsilon 1 -o x.bin
sketch encode words.txt -m direct-response --epsilon 1 --domain labels.txt --key 3 -o x.bin
sketch encode people.csv --epsilon 1 --domain labels.txt -o x.bin
sketch encode people.csv --column nope --epsilon 1 --domain labels.txt -o x.bin
ENCODE --users u -o x.bin
ENCODE --secret nothere -o x.bin
ENCODE -o nofolder/x.bin
ENCODE --reports 0 -o x.bin
sketch aggregate junk.bin -o x.bin
sketch aggregate nothere.bin -o x.bin
sketch aggregate empty.txt -o x.bin
sketch aggregate c.bin -o x.bin
sketch aggregate -o x.bin
sketch merge junk.bin -o x.bin
sketch merge r.bin -o x.bin
sketch merge c.bin -o nofolder/x.bin
sketch estimate junk.bin
sketch estimate r.bin
sketch estimate nothere.bin
sketch estimate c.bin --candidates nothere.txt
sketch estimate c.bin --consistency nope
sketch estimate c.bin --top 0
sketch estimate c.bin --top -4
sketch estimate c.bin -o nofolder/e.csv
sketch estimate c.bin --plot nofolder/e.html
sketch plan --epsilon 0 --domain-size 10 --reports 10
sketch plan --epsilon 1 --domain-size 1 --reports 10
sketch plan --epsilon 1 --domain-size 10 --reports 0
sketch plan --epsilon 1 --domain-size 10 --reports 10 --max-bytes 0
sketch plan --epsilon 1 --domain-size 10 --reports 10 --target-error 2
sketch plan --epsilon 0.0005 --domain-size 10 --reports 10
study nope
study run nope
study show nope
study run density-trees --processes 0 --quick --out people.csv
study show
plan
plan -n 0 -d 2
plan -n 10 -d 0
plan -n 10 -d 2 --epsilon 0
plan -n 10 -d 2 --epsilon nan
plan -n 10 -d 2 --epsilon 1e9
plan -n 10 -d 2 --k 11
plan -n 10 -d 2 --k 0
plan -n 10 -d 2 --values 1
plan -n 10 -d 2 --radius 0
plan -n 10 -d 2 --target-error 0
plan -n 100 -d 2 --n-clusters 0
plan -n 100 -d 2 --html nofolder/p.html
plan -n ten -d 2
run
run nothere.toml
run .
run bad.toml
run schema.toml
run nul.toml
run latin.toml
run --example nope
run --example synopsis --check
run schema.toml --example synopsis"""
LINES = [line for line in BAD.strip().splitlines() if line]
#: Part of the message that some of them must give.
WORDS = {
    "demo --seed -1 --output d": "--seed must be a whole number",
    "SYNOPSIS --rows -5": "--rows must be a public number",
    "SYNOPSIS --method tree --max-depth -1": "try --max-depth 1",
    "SYNOPSIS --rule ²": "--rule must be one of",
    "ANONYMIZE --l 0": "--l must be",
    "ANONYMIZE --form nope": "--form must be one of 'interval', 'center', 'sample', got 'nope'; try --form interval",
    "ATTACK --kind nope": "try --kind table",
    "sketch plan --epsilon 1 --domain-size 10 --reports 0": "--reports must be",
    "sketch estimate c.bin --consistency nope": "--consistency must be one of",
    "plan -n 10 -d 0": "--columns must be",
    "plan -n 10 -d 2 --k 11": "--k must be at most the number of rows (10), got 11; try --k 10",
    "run --example nope": "synopsis, synthesize, cluster, anonymize, mask, perturb, sketch",
    "run schema.toml": "schema.toml has no key 'columns'",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with good files and bad ones, and what good runs make of them."""
    place = tmp_path_factory.mktemp("shell")
    pa_csv.write_csv(dc.datasets.patients(n=400).to_arrow(), place / "people.csv")
    texts = {
        "schema.toml": SCHEMA,
        "words.txt": "cat\ndog\n" * 50,
        "labels.txt": "cat\ndog\n",
        "empty.txt": "",
        "empty.csv": "",
        "junk.parquet": "junk",
        "junk.bin": "junk",
        "bad.toml": "[columns",
        "half.toml": "[columns.age]\n",
        "nul.toml": "\0",
        "secret.txt": "0123456789abcdef",
    }
    for name, text in texts.items():
        (place / name).write_text(text)
    (place / "bin.csv").write_bytes(bytes(range(256)) * 10)
    (place / "latin.toml").write_bytes("[columns.größe]".encode("latin-1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for line in (
            "synopsis people.csv --schema schema.toml --epsilon 1 -o s.parquet",
            "sketch encode words.txt --epsilon 2 --domain labels.txt -o r.bin",
            "sketch aggregate r.bin -o c.bin",
        ):
            assert code_of(line) == 0
    return place


def code_of(line: str) -> int:
    with pytest.raises(SystemExit) as left:
        app.main(line.split())
    return int(left.value.code or 0)


def check_refused(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a line that must be refused; return what it said."""
    before = listing(folder)
    capsys.readouterr()
    assert code_of(line) == 2
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert listing(folder) == before
    said = err.strip()
    if not said.startswith("Usage:"):
        said = re.sub(r"^density-trees .*\n", "", said).strip()  # a bar of progress
        assert said.startswith("Error: ")
        assert "\n" not in said
        assert "{" not in said.split(", got ")[0]
    assert 20 < len(said) < 1000
    return said


def listing(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b"" for p in folder.rglob("*")}


@pytest.mark.parametrize("line", LINES)
def test_a_bad_line_is_one_paragraph_and_leaves_nothing(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    typed = line
    for short, long in SHORT.items():
        typed = re.sub(rf"^{short}\b", long, typed)
    assert WORDS.get(line, "") in check_refused(typed, folder, capsys)


def test_there_are_enough_cases_and_each_word_is_looked_for() -> None:
    assert len(LINES) + len(JOBS) > 250
    assert len(set(LINES)) == len(LINES)
    assert set(WORDS) <= set(LINES)


GOOD = {
    "synopsis": """
[job]
kind = "synopsis"
[data]
path = "people.csv"
[schema]
path = "schema.toml"
[parameters]
epsilon = 1
[outputs]
release = "x.parquet"
""",
    "cluster": """
[job]
kind = "cluster"
[data]
path = "people.csv"
[schema]
path = "schema.toml"
[parameters]
epsilon = 1
n_clusters = 3
[outputs]
centers = "c.csv"
""",
    "anonymize": """
[job]
kind = "anonymize"
[data]
path = "people.csv"
[schema]
path = "schema.toml"
[parameters]
k = 5
[outputs]
release = "a.csv"
""",
    "perturb": """
[job]
kind = "perturb"
[data]
path = "people.csv"
[schema]
path = "schema.toml"
[parameters]
epsilon = 1
radius = 0.1
[outputs]
release = "p.csv"
""",
    "sketch": """
[job]
kind = "sketch"
[data]
path = "words.txt"
[parameters]
epsilon = 1
domain = ["cat", "dog"]
[outputs]
release = "x.bin"
""",
}
#: Kind, what is replaced, by what, and words of the message.
JOBS = [
    ("synopsis", "epsilon = 1", "epsilom = 1", "[parameters] has no key 'epsilom'; did you mean 'epsilon'?"),
    ("synopsis", "epsilon = 1", "", "[parameters] epsilon must be given"),
    ("synopsis", "epsilon = 1", 'epsilon = "1"', "[parameters] epsilon must be a positive finite number"),
    ("synopsis", "epsilon = 1", "epsilon = true", "[parameters] epsilon must be a positive finite number"),
    ("synopsis", "epsilon = 1", "epsilon = 0", "epsilon must be a positive finite number"),
    ("synopsis", "epsilon = 1", "epsilon = -1", "epsilon must be a positive finite number"),
    ("synopsis", "epsilon = 1", "epsilon = nan", "epsilon must be a positive finite number"),
    ("synopsis", "epsilon = 1", "epsilon = [1]", "[parameters] epsilon must be a positive finite number"),
    ("synopsis", "epsilon = 1", "epsilon = 1\nepsilon = 2", "is not valid TOML"),
    ("synopsis", "epsilon = 1", "epsilon = 1\nk = 5", "[parameters] has no key 'k'"),
    ("synopsis", "epsilon = 1", 'epsilon = 1\nmethod = "gird"', 'try method = "grid"'),
    ("synopsis", "epsilon = 1", "epsilon = 1\nmethod = 3", "[parameters] method must be one of 'grid', 'tree'"),
    ("synopsis", "epsilon = 1", 'epsilon = 1\nmethod = ""', "[parameters] method must be one of 'grid', 'tree'"),
    ("synopsis", "epsilon = 1", 'epsilon = 1\nrule = "nope"', "rule must be one of 'rugnik'"),
    ("synopsis", "epsilon = 1", "epsilon = 1\nrule = 1.5", "[parameters] rule must be one of"),
    ("synopsis", "epsilon = 1", "epsilon = 1\nrule = 0", "or a whole number of at least 1"),
    ("synopsis", "epsilon = 1", "epsilon = 1\nmax_depth = 4", 'max_depth can only be used with method = "tree"'),
    (
        "synopsis",
        "epsilon = 1",
        'epsilon = 1\nmethod = "tree"\nrule = "eugkm"',
        'rule can only be used with method = "grid"',
    ),
    (
        "synopsis",
        "epsilon = 1",
        'epsilon = 1\nmethod = "tree"\nmax_depth = 99',
        "max_depth must be 'auto' or a whole number",
    ),
    ("synopsis", "epsilon = 1", "epsilon = 1\nn_clusters = 0", "n_clusters must be a whole number from 1"),
    ("synopsis", "epsilon = 1", "epsilon = 1\nrows = -3", "rows must be a public number"),
    ("synopsis", "epsilon = 1", "epsilon = 1\nseed = -3", "must be a whole number"),
    ("synopsis", "epsilon = 1", "epsilon = 1\nseed = 1.5", "[parameters] seed must be a whole number"),
    ("synopsis", 'kind = "synopsis"', "", "[job] kind must be given"),
    ("synopsis", 'kind = "synopsis"', 'kind = "sinopsis"', 'try kind = "synopsis"'),
    ("synopsis", 'kind = "synopsis"', "kind = 1", "[job] kind must be a text"),
    ("synopsis", 'kind = "synopsis"', 'kind = "synopsis"\nname = "x"', "[job] has no key 'name'"),
    ("synopsis", "[job]", "[jobs]", "has no key 'jobs'; did you mean 'job'?"),
    ("synopsis", "[outputs]", "[output]", "did you mean 'outputs'?"),
    ("synopsis", "[parameters]", "[params]", "did you mean 'parameters'?"),
    ("synopsis", "[data]", "[[data]]", "[data] must be a section"),
    ("synopsis", 'path = "people.csv"', "", "[data] path must be given"),
    ("synopsis", 'path = "people.csv"', "path = 3", "[data] path must be a path"),
    ("synopsis", 'path = "people.csv"', 'file = "people.csv"', "[data] has no key 'file'"),
    ("synopsis", 'path = "people.csv"', 'path = "nothere.csv"', "no file matches"),
    ("synopsis", 'path = "people.csv"', 'path = "empty.csv"', "has no header"),
    ("synopsis", 'path = "schema.toml"', 'path = "nothere.toml"', "schema: cannot read"),
    ("synopsis", 'path = "schema.toml"', 'path = "bad.toml"', "is not valid TOML"),
    ("synopsis", 'path = "schema.toml"', 'path = "half.toml"', "must declare either 'bounds' or 'categories'"),
    ("synopsis", 'path = "schema.toml"', "path = []", "[schema] path must be a path"),
    ("synopsis", 'path = "schema.toml"', "columns = 3", "[schema] columns must be one table"),
    ("synopsis", 'path = "schema.toml"', "columns.age.bounds = [9, 1]", "age"),
    ("synopsis", 'path = "schema.toml"', "columns.age.bond = [1, 9]", "did you mean 'bounds'"),
    ("synopsis", 'path = "schema.toml"', 'columns.age = "x"', "age"),
    ("synopsis", 'path = "schema.toml"', "columns.nope.bounds = [1, 9]", "has no column 'nope'"),
    ("synopsis", 'path = "schema.toml"', 'path = "s"\ncolumns.age.bounds = [1, 9]', "either a path or columns"),
    ("synopsis", '[schema]\npath = "schema.toml"', "", "[schema] must be given"),
    ("synopsis", '[schema]\npath = "schema.toml"', "[schema]", "either a path or columns"),
    ("synopsis", 'release = "x.parquet"', "", "[outputs] release must be given"),
    ("synopsis", 'release = "x.parquet"', 'relase = "x.parquet"', "did you mean 'release'?"),
    ("synopsis", 'release = "x.parquet"', "release = 5", "[outputs] release must be a path"),
    ("synopsis", 'release = "x.parquet"', 'release = "nofolder/x.parquet"', "output: cannot write"),
    ("synopsis", 'release = "x.parquet"', 'release = "people.csv"', "another file than [data] path"),
    ("synopsis", 'release = "x.parquet"', 'release = "./schema.toml"', "another file than [schema] path"),
    ("synopsis", 'release = "x.parquet"', 'release = "x"\nreport = "x"', "another file than [outputs] release"),
    ("synopsis", 'release = "x.parquet"', 'release = "x"\ncenters = "y"', "n_clusters must be given for the output"),
    ("synopsis", 'release = "x.parquet"', 'release = "x"\nreport = "no/r.html"', "output: cannot write"),
    ("cluster", "n_clusters = 3", "", "[parameters] n_clusters must be given"),
    ("cluster", "n_clusters = 3", "n_clusters = 0", "a whole number from 1"),
    ("cluster", "n_clusters = 3", 'n_clusters = "3"', "[parameters] n_clusters must be 'auto' or a whole number"),
    ("cluster", "epsilon = 1", "", "[parameters] epsilon must be given with a schema"),
    ("cluster", '[schema]\npath = "schema.toml"', "", "epsilon can only be used with a schema"),
    ("cluster", "n_clusters = 3", 'n_clusters = 3\nmethod = "forest"', "'auto', 'grid', 'tree'"),
    ("cluster", 'centers = "c.csv"', 'release = "s2.parquet"', "[outputs] centers must be given"),
    ("cluster", 'centers = "c.csv"', 'centers = "c.csv"\nreport = "r.html"', "[outputs] release must be given"),
    ("anonymize", "k = 5", "", "[parameters] k must be given"),
    ("anonymize", "k = 5", "k = 1", "k must be a whole number of at least 2"),
    ("anonymize", "k = 5", "k = 5000", "k must be at most the number of records"),
    ("anonymize", "k = 5", "k = 5\nl = 0", "must be a number of at least 1"),
    ("anonymize", "k = 5", 'k = 5\nl_kind = "nope"', "'distinct', 'entropy', 'recursive'"),
    ("anonymize", "k = 5", "k = 5\nt = -3", "must be a number from 0 to 1"),
    ("anonymize", "k = 5", "k = 5\nlevel = 3", "[parameters] level must be COLUMN=VALUE"),
    ("anonymize", "k = 5", "k = 5\nlevel = { age = 1 }", "level can only be used with"),
    ("anonymize", "k = 5", 'k = 5\nmethod = "generalization"\nlevel = { age = "x" }', "level must be COLUMN=VALUE"),
    ("anonymize", "k = 5", 'k = 5\nhierarchy = { age = "nothere.csv" }', "cannot be read"),
    ("anonymize", "k = 5", "k = 5\ngrid = { age = 0 }", "must be a whole number from 1"),
    ("anonymize", "k = 5", 'k = 5\nkeep = "age"', "[parameters] keep must be a list"),
    ("anonymize", "k = 5", 'k = 5\nkeep = ["nope"]', "keep must be a declared column"),
    ("anonymize", "k = 5", 'k = 5\ntarget = "nope"', "target must be a declared column"),
    ("anonymize", "k = 5", 'k = 5\nform = "round"', "'interval', 'center', 'sample'"),
    ("anonymize", "k = 5", 'k = 5\nform = "sample"\nbounds = true', "bounds can only be used with"),
    ("anonymize", "k = 5", "k = 5\nbounds = 1", "[parameters] bounds must be true or false"),
    ("anonymize", "k = 5", 'k = 5\nhash_key = "nothere"', "cannot read"),
    ("anonymize", "k = 5", "k = 5\nepsilon = 1", "[parameters] has no key 'epsilon'"),
    ("anonymize", "k = 5", "k = 5\nseed = 1", "[parameters] has no key 'seed'"),
    ("anonymize", 'release = "a.csv"', 'release = "a.csv"\nguarantee = "a.csv.guarantee.json"', "another file than"),
    ("perturb", "radius = 0.1", "", "radius must be given: the distance"),
    ("perturb", "radius = 0.1", "radius = 0", "radius must be a positive finite number"),
    ("perturb", "radius = 0.1", "radios = 0.1", "did you mean 'radius'?"),
    ("perturb", "radius = 0.1", 'radius = 0.1\nmethod = "duchi"', "radius can only be used with"),
    ("perturb", "radius = 0.1", 'radius = 0.1\nmethod = "nd_laplace"', 'try method = "nd-laplace"'),
    ("perturb", "radius = 0.1", 'radius = 0.1\nremap = "nope"', "remap must be one of"),
    ("perturb", "radius = 0.1", 'radius = 0.1\nremap = "bayes"\nprior = "nothere.csv"', "no file matches"),
    ("perturb", "radius = 0.1", "radius = 0.1\nscaling = [1, -1]", "scaling must be"),
    ("perturb", "radius = 0.1", 'radius = 0.1\nscaling = "x,y"', "scaling must be box, none, or units"),
    ("perturb", "radius = 0.1", "radius = 0.1\nstep = 0", "step must be a positive finite number"),
    ("sketch", "epsilon = 1", "", "epsilon must be given for an automatic choice"),
    ("sketch", 'domain = ["cat", "dog"]', "", "domain must be given for an automatic choice"),
    ("sketch", 'domain = ["cat", "dog"]', "domain = []", "[parameters] domain must be a list"),
    ("sketch", 'domain = ["cat", "dog"]', 'domain = "empty.txt"', "has no values"),
    ("sketch", 'domain = ["cat", "dog"]', 'domain = "nothere.txt"', "cannot read"),
    ("sketch", "epsilon = 1", 'epsilon = 1\nmechanism = "nope"', "mechanism must be 'auto', a file, or one of"),
    (
        "sketch",
        "epsilon = 1",
        'epsilon = 1\nmechanism = "direct-response"\nset = { nope = 1 }',
        "set must be name=value",
    ),
    (
        "sketch",
        'domain = ["cat", "dog"]',
        'mechanism = "hadamard-sketch"\nset = { rows = 3 }',
        "a name of hadamard-sketch: n_hashes, width",
    ),
    ("sketch", "epsilon = 1", "epsilon = 1\ncandidates = 3", "[parameters] candidates must be a list"),
    ("sketch", "epsilon = 1", 'epsilon = 1\nsecret = "secret.txt"', "does not remember answers"),
    ("sketch", "epsilon = 1", 'epsilon = 1\nusers = "u"', "column must be given together with 'users'"),
    ("sketch", "[parameters]", "[schema]\npath = 's.toml'\n[parameters]", "[schema] must be left out of a sketch"),
    ("sketch", 'release = "x.bin"', 'release = "x.bin"\nestimates = "e.csv"', "[outputs] counts must be given"),
    ("sketch", 'path = "words.txt"', 'path = "nothere.txt"', "cannot read"),
    ("sketch", 'path = "words.txt"', 'path = "people.csv"', "column"),
]
#: Faults that are in the data, which a check does not open.
IN_DATA = (
    "no file matches",
    "has no header",
    "has no column 'nope'",
    "k must be at most the number of records",
    "column",
)


@pytest.mark.parametrize(("kind", "old", "new", "words"), JOBS)
def test_a_bad_job_file_is_refused_before_anything_is_written(
    kind: str, old: str, new: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in GOOD[kind]
    job = folder / "job.toml"
    job.write_text(GOOD[kind].replace(old, new, 1))
    said = check_refused(f"run {job}", folder, capsys)
    assert words in said
    if not (words in IN_DATA or ("nothere" in new and old.startswith("path") and "schema" not in old)):
        assert words in check_refused(f"run {job} --check", folder, capsys)


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("synopsis people.csv --schema schema.toml --epsilon 1 -o people.csv", "try --output other-people.parquet"),
        ("anonymize people.csv --schema schema.toml --k 5 -o people.csv", "try --output other-people.csv"),
        ("anonymize people.csv --schema schema.toml --k 10000 -o a.csv", "try --k 10"),
        ("synopsis people.csv --schema people.csv --epsilon 1 -o x.parquet", "'discreet schema' drafts one"),
        ("cluster s.parquet -k many", "try --k auto"),
    ],
)
def test_what_is_suggested_can_be_typed_back(
    line: str, fix: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert fix in " ".join(check_refused(line, folder, capsys).split())


@pytest.mark.parametrize("kind", GOOD)
def test_the_jobs_that_are_spoilt_above_are_good_themselves(kind: str, folder: Path) -> None:
    (folder / "job.toml").write_text(GOOD[kind])
    before = listing(folder)
    assert code_of(f"run {folder / 'job.toml'} --check") == 0
    assert listing(folder) == before


def test_a_full_disk_and_lack_of_memory_are_told_plainly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error, words in ((OSError(28, "No space left on device"), "No space left"), (MemoryError(), "memory")):

        def fail(*args: object, wrong: BaseException = error, **more: object) -> None:
            raise wrong

        monkeypatch.setattr(app, "_command", lambda wrong=fail: wrong)
        with pytest.raises(SystemExit) as left:
            app.main(["demo"])
        assert left.value.code == 2
        assert words in capsys.readouterr().err
