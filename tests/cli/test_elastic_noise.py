"""`discreet perturb --method elastic`: a public density in, noise that follows it out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from command_line import run
from discreet.errors import DiscreetError

DOMAIN = dc.Domain({"x": (0, 10), "y": (0, 10)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("elastic")
    rng = np.random.default_rng(1)
    rows = rng.uniform(0, 10, (50, 2))
    made.joinpath("homes.csv").write_text("x,y\n" + "\n".join(f"{a:.3f},{b:.3f}" for a, b in rows) + "\n")
    made.joinpath("people.csv").write_text("y,x,weight\n2,3,900\n8,7,80\n5,5,20\n")
    DOMAIN.to_toml(made / "schema.toml")
    public = rng.normal(3, 1, (3000, 2)).clip(0, 10)
    dc.GridSynopsis(1.0, DOMAIN, 16, random_state=1).fit(public).synopsis_.save(made / "public.parquet")
    return made


@pytest.mark.parametrize("density", ["people.csv", "public.parquet"])
def test_a_table_is_perturbed_with_a_density_from_a_file(folder: Path, density: str) -> None:
    target = folder / f"noisy-{density}.csv"
    found = run(
        "perturb", folder / "homes.csv", "--schema", folder / "schema.toml", "--epsilon", 1, "--method", "elastic",
        "--density", folder / density, "--min-people", 50, "--cells", 64, "-o", target,
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "50 people or more" in " ".join(found.output.split())
    promise = json.loads(Path(f"{target}.guarantee.json").read_text())
    facts = promise["parameters"]
    assert (facts["mechanism"], facts["min_people"]) == ("ElasticLaplace", 50)
    assert facts["density"]["origin"] == ("public places" if density.endswith("csv") else "a released synopsis")
    if density == "people.csv":
        assert facts["density"]["people"] == pytest.approx(1000)
    assert len(target.read_text().splitlines()) == 51
    checked = run("audit", target)
    assert checked.exit_code == 0, checked.output


def test_without_a_density_the_option_is_named(folder: Path) -> None:
    given = ("--epsilon", 1, "--method", "elastic", "-o", folder / "none.csv")
    with pytest.raises(DiscreetError, match="--density must be a public file of where people live"):
        run("perturb", folder / "homes.csv", "--schema", folder / "schema.toml", *given)
    assert not (folder / "none.csv").exists()


def test_a_raster_of_numbers_stands_for_its_squares_and_a_column_of_numbers_is_not_passed_over(folder: Path) -> None:
    rows = [f"{x},{y},{900 if x < 4 and y < 4 else 4}" for x in np.arange(0.5, 10) for y in np.arange(0.5, 10)]
    job = ("perturb", folder / "homes.csv", "--schema", folder / "schema.toml", "--epsilon", 1, "--method", "elastic")
    job += ("--min-people", 50, "--cells", 64, "-o", folder / "raster.csv", "--density", folder / "census.csv")
    folder.joinpath("census.csv").write_text("x,y,residents\n" + "\n".join(rows) + "\n")
    with pytest.raises(DiscreetError, match="has no column 'weight', the people of a place; call 'residents' so"):
        run(*job)
    folder.joinpath("census.csv").write_text("x,y,weight\n" + "\n".join(rows) + "\n")
    assert run(*job).exit_code == 0
    facts = json.loads((folder / "raster.csv.guarantee.json").read_text())["parameters"]["density"]
    assert (facts["origin"], facts["people"]) == ("a public raster", pytest.approx(16 * 900 + 84 * 4))
