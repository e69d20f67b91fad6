"""Records for programs: every kind of release, against the published schema."""

import json
from pathlib import Path

import jsonschema
import pytest

import discreet as dc
from command_line import run
from discreet.errors import InvalidArgument
from evidence_releases import make

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "record.schema.json").read_text(encoding="utf-8"))
#: Choices of the Differential Privacy Deployments Registry.
VARIANTS = {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"}


def record(file: Path, *words: object) -> dict:
    place = file.with_name("record.json")
    assert run("report", file, "--format", "json", "-o", place, *words).exit_code == 0
    found = json.loads(place.read_text(encoding="utf-8"), parse_constant=lambda name: pytest.fail(name))
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    return found


def test_records_of_every_kind_of_release_keep_the_published_schema(tmp_path):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    data = dc.datasets.people(300, seed=1)
    data.domain.to_toml(tmp_path / "schema.toml")
    table, schema = tmp_path / "people.csv", ["--schema", tmp_path / "schema.toml"]
    import pyarrow.csv as csv

    csv.write_csv(data.table, table)
    made = {name: tmp_path / f"{name}.csv" for name in ("safe", "made", "noisy")}
    run("anonymize", table, *schema, "-k", 5, "-o", made["safe"])
    run("synthesize", table, *schema, "--rho", 0.1, "--delta", 1e-6, "-o", made["made"])
    run("perturb", table, *schema, "--epsilon", 2, "--radius", 0.1, "--category-epsilon", 1, "-o", made["noisy"])
    reports, counts = tmp_path / "reports.bin", tmp_path / "counts.state"
    jobs = "clerk,cook,driver,engineer,farmer,nurse,smith,teacher"
    run("sketch", "encode", table, "--column", "job", "--domain", jobs, "--epsilon", 1, "-o", reports)
    run("sketch", "aggregate", reports, "-o", counts)
    said = ["--title", "Ward 3", "--owner", "Clinic", "--purpose", "Planning", "--date", "2026-01-31"]
    kinds = {}
    for file in (*made.values(), counts, tmp_path / "made.synopsis.parquet"):
        found = record(file, *said)
        assert found["publishable"], found["checks"]
        assert found["about"]["owner"] == "Clinic"
        kinds[file.name] = found["registry"]
    assert kinds.pop("safe.csv") is None  # no differential privacy
    variants = {name: each["deployment"]["dp_variant"]["variant_name"] for name, each in kinds.items()}
    assert set(variants.values()) <= VARIANTS
    assert (variants["made.csv"], variants["noisy.csv"]) == ("Zero-concentrated DP", "Custom")
    entry = kinds["counts.state"]["deployment"]
    assert entry["deployment_model"]["model_name"] == "Local"
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 0.0}
    assert entry["basic"]["data_curators"] == ["Clinic"]
    assert kinds["made.csv"]["deployment"]["basic"]["data_product_type"] == "Synthetic data"


def test_what_nobody_said_is_null_and_a_seeded_release_is_not_publishable(tmp_path):
    synopsis = dc.GridSynopsis(1.0, (0, 1), 4, random_state=1).fit([[0.5, 0.5]] * 50).synopsis_
    synopsis.save(tmp_path / "s.parquet")
    found = record(tmp_path / "s.parquet")
    assert not found["publishable"]
    assert found["registry"]["deployment"]["basic"]["data_curators"] is None
    assert "seeded" in found["registry"]["deployment"]["implementation"]["mechanisms"]
    with pytest.raises(InvalidArgument, match="--sign must be left out with --format json"):
        run("report", tmp_path / "s.parquet", "--format", "json", "--sign", tmp_path / "s.parquet")


def test_records_of_releases_with_persons_bounds_kept_columns_and_accounts_keep_the_schema(tmp_path):
    made = make(tmp_path / "bases", ("rho", "noisy", "bounds", "kept", "persons", "sampled", "univariate", "counts"))
    assert len(made) == 8
    for base in made:
        account = ["--account", base.folder / base.account] if base.account else []
        found = record(base.folder / base.files[0], *account)
        assert found["publishable"], (base.folder.name, found["checks"])
        assert (found["account"] is None) == (base.account is None), base.folder.name
