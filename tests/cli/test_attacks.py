"""`discreet attack`, as the maker of a release uses it on files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from click.testing import Result

import discreet as dc
from command_line import run
from discreet.errors import DiscreetWarning, FormatError, InvalidArgument, SchemaError
from evidence_damage import independent

DOMAIN = dc.Domain({"age": (0, 100), "income": (0, 1e5)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("attack")
    rng = np.random.default_rng(1)
    for name in ("data", "others"):
        rows = DOMAIN.from_unit(rng.random((400, 2)))
        csv.write_csv(pa.table({"age": rows[:, 0], "income": rows[:, 1]}), place / f"{name}.csv")
        if name == "data":
            for label, epsilon in (("noisy", 500), ("hidden", 0.001)):
                z = dc.metric.NDLaplace(epsilon=epsilon, radius=0.1, domain=DOMAIN, random_state=1).transform(rows)
                csv.write_csv(pa.table({"age": z[:, 0], "income": z[:, 1]}), place / f"{label}.csv")
            dc.GridSynopsis(epsilon=1e6, domain=DOMAIN, rule=80, random_state=1).fit(rows).synopsis_.save(
                place / "s.parquet"
            )
    DOMAIN.to_toml(place / "schema.toml")
    return place


def attack(folder: Path, released: str, *extra: object) -> Result:
    files = ["--against", folder / "data.csv", "--control", folder / "others.csv", "--seed", 1]
    return run("attack", folder / released, *files, *extra)


def points(folder: Path, released: str, epsilon: float, *extra: object) -> Result:
    return attack(folder, released, "--schema", folder / "schema.toml", "--epsilon", epsilon, "--radius", 0.1, *extra)


def found_by(result: Result) -> dict[str, dict]:
    assert result.exit_code == 0, result.output
    facts = json.loads(result.output)
    assert facts["private"] is False
    return {each["attack"]: each for each in facts["attacks"]}


def test_points_without_a_guarantee(folder: Path) -> None:
    text = points(folder, "noisy.csv", 500, "--method", "membership").output
    for word in ("advantage", "on the control group", "baseline", "better than chance", "Not for publication"):
        assert word in text
    found = found_by(points(folder, "noisy.csv", 500, "--column", "income", "--json"))
    assert found["membership"]["advantage"] > 0.7
    assert found["reconstruction"]["on_released"]["rate"] == 1
    assert found["reconstruction"]["relative_to_prior"] < 0.01
    assert found["attribute"]["gain"] > 0.5
    hidden = found_by(points(folder, "hidden.csv", 0.001, "--method", "membership", "--json"))["membership"]
    assert hidden["advantage_interval"][0] <= 0 <= hidden["advantage_interval"][1]


def test_points_with_dates_are_attacked_by_their_days(tmp_path: Path) -> None:
    """A date is read by its declared column once; read again as a number it would be missing, and the attack blind."""
    rng = np.random.default_rng(1)
    for name in ("in", "out"):
        days = np.datetime64("2024-01-01") + rng.integers(0, 366, 200)
        rows = "\n".join(f"{x:.3f},{day}" for x, day in zip(rng.uniform(0, 100, 200), days, strict=True))
        (tmp_path / f"{name}.csv").write_text(f"cost,day\n{rows}\n")
    days = {"cost": (0, 100), "day": {"kind": "date", "bounds": ["2024-01-01", "2024-12-31"]}}
    dc.Domain(days).to_toml(tmp_path / "schema.toml")
    schema, noisy = ["--schema", tmp_path / "schema.toml"], tmp_path / "noisy.csv"
    level = ["--epsilon", 400, "--radius", 0.1]
    assert run("perturb", tmp_path / "in.csv", *schema, *level, "-o", noisy).exit_code == 0
    words = ["--against", tmp_path / "in.csv", "--control", tmp_path / "out.csv", *schema, "--seed", 1, "--json"]
    for more in ([], [*level, "--kind", "points", "--unlinked"]):
        facts = json.loads(run("attack", noisy, *words, *more).output)
        found = {(each["attack"], each.get("column")): each for each in facts["attacks"]}
        assert found["membership", None]["advantage"] > 0.8
        assert found["attribute", "day"]["relative_to_prior"] < 0.6


def test_a_synopsis_and_centres(folder: Path) -> None:
    found = found_by(attack(folder, "s.parquet", "--json"))
    assert set(found) == {"membership", "attribute"}
    assert found["membership"]["advantage"] > 0.7
    some = attack(folder, "data.csv", "--kind", "centers", "--schema", folder / "schema.toml", "--json")
    assert found_by(some)["membership"]["kind"] == "centers"


def test_what_is_missing_is_named(folder: Path) -> None:
    schema = ["--schema", folder / "schema.toml"]
    with pytest.raises(InvalidArgument, match="--epsilon must be given"):
        attack(folder, "noisy.csv", *schema, "--kind", "points")
    with pytest.raises(InvalidArgument, match="--schema must be given"):
        attack(folder, "data.csv", "--kind", "centers")
    with pytest.raises(InvalidArgument, match="--method must be one of"):
        points(folder, "noisy.csv", 500, "--method", "magic")
    with pytest.raises(InvalidArgument, match="try --method membership"):
        attack(folder, "s.parquet", "--method", "linkability")
    with pytest.raises(InvalidArgument, match="--against must be given"):
        run("attack", folder / "s.parquet")
    with pytest.raises(SchemaError, match=r"membership needs a control group \(--control\)"):
        run("attack", folder / "s.parquet", "--against", folder / "data.csv", "--method", "membership")


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Persons with several visits, codes, gaps, decimal commas; released in every way."""
    place = tmp_path_factory.mktemp("visits")
    rng = np.random.default_rng(3)
    for name in ("visits", "others"):
        who = rng.integers(0, 150, 400)
        cells = {
            "who": [f"{name}{w}" for w in who],
            "age": [str(20 + w % 60) if w % 11 else "" for w in who],
            "plz": [f"0{1000 + 37 * w % 900}" for w in who],
            "ward": [("north", "south", "east")[w % 3] for w in who],
            "cost": [f"{x:.2f}".replace(".", ",") for x in rng.gamma(3, 900, 400)],
        }
        rows = "\n".join(";".join(row) for row in zip(*cells.values(), strict=True))
        (place / f"{name}.csv").write_text(f"{';'.join(cells)}\n{rows}\n")
    (place / "schema.toml").write_text("""
[source]
delimiter = ";"
decimal = ","
[columns.who]
role = "person"
[columns.age]
bounds = [0, 120]
kind = "integer"
role = "quasi-identifier"
missing = "own"
[columns.plz]
kind = "code"
pattern = "[0-9]{5}"
role = "quasi-identifier"
[columns.ward]
categories = ["north", "south", "east"]
role = "quasi-identifier"
[columns.cost]
bounds = [0, 20000]
role = "sensitive"
""")
    return place


def test_an_anonymous_table_of_persons_is_attacked_as_it_is(visits: Path, tmp_path: Path) -> None:
    schema = ["--schema", visits / "schema.toml"]
    assert run("anonymize", visits / "visits.csv", *schema, "-k", 5, "-o", visits / "safe.csv").exit_code == 0
    listed = run("attack", visits / "safe.csv", "--list").output
    assert "an anonymous table" in listed
    assert "singling-out" in listed
    assert "best-guess" not in listed
    words = ["attack", visits / "safe.csv", "--against", visits / "visits.csv", *schema, "--seed", 1]
    result = run(*words, "--control", visits / "others.csv", "-o", tmp_path / "attack.json")
    assert result.exit_code == 0, result.output
    facts = json.loads((tmp_path / "attack.json").read_text())
    found = {each["attack"]: each for each in facts["attacks"]}
    assert set(found) == {"membership", "singling out", "linkability", "inference"}
    assert {each["targets"] for each in facts["attacks"]} == {"persons"}
    assert found["linkability"]["on_released"]["trials"] <= 150  # people, not rows
    # The exact cost of a visit is passed on, so it singles its person out; the original itself even more so.
    assert found["singling out"]["better_than_guessing"]
    with pytest.warns(DiscreetWarning, match=r"control: \d+ of its \d+ people are also in the records"):
        run(*words, "--control", visits / "visits.csv", "--method", "membership")
    texts = csv.read_csv(visits / "others.csv", parse_options=csv.ParseOptions(delimiter=";"))
    pq.write_table(texts.set_column(0, "who", pa.array(range(len(texts)))), visits / "numbered.parquet")
    assert run(*words, "--control", visits / "numbered.parquet", "--method", "membership").exit_code == 0
    alone = found_by(run(*words, "--json"))
    assert set(alone) == {"singling out", "linkability", "inference"}
    assert alone["inference"]["on_control"] is None
    page = tmp_path / "report.html"
    told = run("report", visits / "safe.csv", "--attack", tmp_path / "attack.json", "-o", page)
    assert told.exit_code == 0, told.output
    assert found["inference"]["verdict"] in page.read_text()
    assert "This page uses the raw table: keep it internal." in page.read_text()
    held = json.loads((tmp_path / "attack.json").read_text())
    for change, said in (
        ({"format_version": 2}, "upgrade discreet"), ({"format": "other"}, "not a result"), ({"attacks": [1]}, "not a"),
    ):  # fmt: skip
        (tmp_path / "changed.json").write_text(json.dumps({**held, **change}))
        with pytest.raises(FormatError, match=said):
            run("report", visits / "safe.csv", "--attack", tmp_path / "changed.json", "-o", tmp_path / "no.html")
    (visits / "safe.csv").rename(visits / "other.csv")
    (visits / "safe.csv.guarantee.json").rename(visits / "other.csv.guarantee.json")
    assert run("report", visits / "other.csv", "--attack", tmp_path / "attack.json", "-o", page).exit_code == 0
    (tmp_path / "attack.json").write_text(json.dumps({**facts, "file_sha256": "0" * 64}))
    with pytest.raises(FormatError, match="is about another file"):
        run("report", visits / "other.csv", "--attack", tmp_path / "attack.json", "-o", page)


def test_synthetic_rows_perturbed_rows_and_reports(folder: Path, visits: Path, tmp_path: Path) -> None:
    schema = ["--schema", folder / "schema.toml"]
    made, noisy, reports = tmp_path / "made.csv", tmp_path / "noisy.csv", tmp_path / "reports.bin"
    assert run("synthesize", folder / "data.csv", *schema, "--epsilon", 1, "-o", made).exit_code == 0
    words = ["--against", folder / "data.csv", "--control", folder / "others.csv", "--json"]
    for file in (made, tmp_path / "made.synopsis.parquet"):
        found = found_by(run("attack", file, *words))
        assert set(found) == {"membership", "singling out", "linkability", "inference"}
        assert found["membership"]["advantage_interval"][0] <= 0.1
    assert run("perturb", folder / "data.csv", *schema, "--epsilon", 50, "--radius", 0.1, "-o", noisy).exit_code == 0
    facts = json.loads(run("attack", noisy, *words, "--method", "membership").output)
    assert facts["attacks"][0]["advantage"] > 0.3
    assert "shuffled" in run("attack", noisy, "--list", "--control", folder / "others.csv").output
    told = ["--column", "ward"]
    plain = tmp_path / "ward.csv"
    plain.write_text("ward\n" + "\n".join(("north", "south", "east")[i % 3] for i in range(600)) + "\n")
    domain = ["--domain", "north,south,east", "--epsilon", 2]
    assert run("sketch", "encode", plain, *told, *domain, "--seed", 1, "-o", reports).exit_code == 0
    guess = found_by(run("attack", reports, "--against", plain, *told, "--json"))["best guess"]
    assert guess["better_than_guessing"]
    assert guess["on_released"]["interval"][0] <= guess["bound"]  # or epsilon is refuted
    # Missing and undeclared values become reports like any other, but there is nothing to guess. None is quoted.
    cells = [("north", "south", "east", "", "Nroth")[i % 5] for i in range(600)]
    for name, domain, values in (
        ("labels", ["--domain", "north,south,east"], cells),
        ("numbers", ["--domain-size", "3"], [{"north": "0", "south": "1", "east": "2"}.get(c, c) for c in cells]),
        ("sketch", ["--mechanism", "count-mean-sketch"], cells),
    ):
        (tmp_path / f"{name}.csv").write_text("id,ward\n" + "".join(f"{i},{c}\n" for i, c in enumerate(values)))
        made = run("sketch", "encode", tmp_path / f"{name}.csv", *told, *domain, "--epsilon", 2, "-o", reports)
        assert made.exit_code == 0, made.output
        told_of = run("attack", reports, "--against", tmp_path / f"{name}.csv", *told)
        assert "allowed by epsilon" in told_of.output
        assert f"{120 if name == 'sketch' else 240} with a missing or undeclared value" in told_of.output
        assert "Nroth" not in told_of.output
    counts = tmp_path / "counts.state"
    assert run("sketch", "aggregate", reports, "-o", counts).exit_code == 0
    assert "no report of a single person" in run("attack", counts, "--against", plain).output


def test_a_table_with_blanks_is_attacked_and_verified_like_any_other(tmp_path: Path) -> None:
    """A blank tells no attacker a value, and no attack takes it for one."""
    rng = np.random.default_rng(7)
    quasi = {"role": "quasi-identifier", "missing": "own"}
    schema = dc.Domain(
        {"age": {"bounds": [10, 42], "kind": "integer", **quasi}, "town": {"categories": list("wxyz"), **quasi},
         "sex": {"categories": ["f", "m"], **quasi}, "ill": {"categories": list("abcd"), "role": "sensitive"}}
    )  # fmt: skip
    for name in ("people", "others"):
        ages, towns = 10 + rng.geometric(0.2, 240) % 33, rng.choice(list("wxyz"), 240, p=[0.6, 0.2, 0.15, 0.05])
        sexes, ills = rng.choice(["f", "m"], 240), rng.choice(list("abcd"), 240)
        csv.write_csv(pa.table({"age": ages, "town": towns, "sex": sexes, "ill": ills}), tmp_path / f"{name}.csv")
    schema.to_toml(tmp_path / "schema.toml")
    safe, words = tmp_path / "safe.csv", ["--schema", tmp_path / "schema.toml"]
    limits = ["-k", 8, "--suppress", 0.3, "--blanks", "--method", "generalization"]
    assert run("anonymize", tmp_path / "people.csv", *words, *limits, "-o", safe).exit_code == 0
    told = json.loads((tmp_path / "safe.csv.guarantee.json").read_text(encoding="utf-8"))["parameters"]
    assert told["blanked"] > 0
    given = ["--against", tmp_path / "people.csv", "--control", tmp_path / "others.csv", *words, "--seed", 1, "--json"]
    found = found_by(run("attack", safe, *given))
    assert set(found) == {"membership", "singling out", "linkability", "inference"}
    # Nobody is alone in the printed columns, so linking them adds nothing.
    assert found["linkability"]["on_released"]["rate"] < 0.2
    assert run("verify", safe).exit_code == 0
    assert independent().verify([str(safe)]).code == 2  # cells are not checked there
