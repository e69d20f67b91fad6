"""`compare` gives true figures of every kind of release; a misread table is reported in red, everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from command_line import output, printed, run

ROWS = "".join(f"{20 + i % 60},w{i % 4},{100 + 13 * (i % 50)}.5\n" for i in range(1200))
COLUMNS = {"age": (0, 120), "ward": ["w0", "w1", "w2", "w3"], "cost": (0, 1000)}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,ward,cost\n" + ROWS)
    commas = "".join(f'{a},{w},"{c.replace(".", ",")}"\n' for a, w, c in (r.split(",") for r in ROWS.split()))
    (tmp_path / "commas.csv").write_text("age,ward,cost\n" + commas)
    domain = dc.Domain(COLUMNS)
    (tmp_path / "s.toml").write_text(domain.to_toml())
    roles = {"age": "quasi-identifier", "ward": "quasi-identifier", "cost": "sensitive"}
    declared = {name: {**said, "role": roles[name]} for name, said in domain.to_dict().items()}
    (tmp_path / "a.toml").write_text(dc.Domain(declared).to_toml())
    return tmp_path


@pytest.mark.parametrize(("words", "file"), [
    (("synthesize", "t.csv", "--schema", "s.toml", "--epsilon", 5, "--delta", 1e-9, "-o", "syn.csv"), "syn.csv"),
    (("synopsis", "t.csv", "--schema", "s.toml", "--epsilon", 5, "-o", "s.parquet"), "s.parquet"),
    (("anonymize", "t.csv", "--schema", "a.toml", "--k", 9, "-o", "safe.csv"), "safe.csv"),
    (("perturb", "t.csv", "--schema", "s.toml", "--epsilon", 9, "--radius", 0.05, "--category-epsilon", 4, "-o",
      "noisy.csv"), "noisy.csv"),
], ids=["synthetic", "synopsis", "anonymous", "perturbed"])  # fmt: skip
def test_true_figures_of_every_kind_are_not_for_publication(
    place: Path, capsys: pytest.CaptureFixture[str], words: tuple[object, ...], file: str
) -> None:
    assert "Good for. " in printed(capsys, *words)
    told = printed(capsys, "compare", "t.csv", file, "-o", "inside.html")
    assert "Not for publication" in told
    assert "error of pairs of" in told
    assert "Do not publish it with the release" in (place / "inside.html").read_text()
    found = json.loads(printed(capsys, "compare", "t.csv", file, "--json"))["comparison"]
    assert found["private"] is False
    assert set(found["together"]["column_errors"]) == set(COLUMNS)  # also columns that print intervals
    assert not list(place.glob("report.html"))


def test_a_misread_table_is_reported_in_the_terminal_and_on_the_page(place: Path) -> None:
    words = ("--schema", "s.toml", "--epsilon", 1, "--expect-rows", 1200, "--report", "r.html", "-o")
    told = output("synthesize", "commas.csv", *words, "bad.csv")
    assert "but 1,200 were expected" in told
    assert "decimal and thousands marks" in told
    page = (place / "r.html").read_text()
    assert "The table may have been misread" in page
    assert "but 1,200 were expected" in page
    assert "were expected" not in output("synthesize", "t.csv", *words, "good.csv")


def test_a_check_stops_the_job_and_the_account_keeps_its_price(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output("account", "create", "a.account", "--dataset", "patients", "--epsilon", 3)
    words = ("--schema", "s.toml", "--epsilon", 1, "--check-first", 0.2, "--account", "a.account", "-o")
    told = printed(capsys, "synopsis", "commas.csv", *words, "bad.parquet", code=2)
    assert "the check stopped the release" in told
    assert "This cost epsilon 0.2, which stays spent" in told
    assert not (place / "bad.parquet").exists()
    assert float(dc.Account("a.account").spent) == 0.2
    output("synopsis", "t.csv", *words, "good.parquet", "--report", "r.html")
    assert float(dc.Account("a.account").spent) == 1.2
    assert "1.2 of 3 spent, 1.8 left after 2 releases." in (place / "r.html").read_text()


def test_the_studio_hands_its_guess_of_the_rows_to_the_job(tmp_path: Path) -> None:
    from discreet.studio.jobs import job_of
    from discreet.studio.workspace import Workspace

    project = Workspace(tmp_path / "home").create()
    (tmp_path / "t.csv").write_text("age,ward,cost\n" + ROWS)
    project.source, project.goal, project.planned = str(tmp_path / "t.csv"), "synopsis", {"rows": 8000}
    project.schema_file.write_text(dc.Domain(COLUMNS).to_toml())
    project.parameters = {"epsilon": 1.0}
    assert job_of(project).parameters["expect_rows"] == 8000


def test_a_release_without_rows_is_compared(place: Path) -> None:
    """Noise can leave no synthetic row at all: nothing is compared, and nothing fails."""
    words = ("--schema", "s.toml", "--epsilon", 0.01, "--seed", 1, "-o", "none.csv")
    (place / "few.csv").write_text("age,ward,cost\n" + ROWS[: ROWS.index("\n") + 1])
    with pytest.warns(dc.errors.DiscreetWarning, match="cannot be told from zero"):
        output("synthesize", "few.csv", *words)
    assert (place / "none.csv").read_text().count("\n") == 1
    told = json.loads(run("compare", "few.csv", "none.csv", "--json").stdout)["comparison"]
    assert {each["reason"] for each in told["left_out"]} == {"the release has no value for it"}


def test_a_comparison_in_the_wrong_order_says_the_order(place: Path) -> None:
    output("anonymize", "t.csv", "--schema", "a.toml", "--k", 9, "-o", "safe.csv")
    output("synopsis", "t.csv", "--schema", "s.toml", "--epsilon", 5, "-o", "s.parquet")
    for release in ("safe.csv", "s.parquet"):
        with pytest.raises(dc.errors.FormatError, match="give the real table first, then the release"):
            run("compare", release, "t.csv")


def test_dates_and_times_are_compared_and_what_is_left_out_is_named(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"2025-{1 + i % 12:02}-{1 + i % 28:02},2025-01-01 {i % 24:02}:00:00,w{i % 4}\n" for i in range(1200)]
    (place / "days.csv").write_text("came,called,ward\n" + "".join(rows))
    (place / "d.toml").write_text(
        "[columns]\ncame = {bounds = [2025-01-01, 2025-12-31]}\n"
        "called = {bounds = [2025-01-01T00:00:00, 2025-01-02T00:00:00]}\n"
        'ward = {categories = ["w0", "w1", "w2", "w3"]}\n'
    )
    words = ("synthesize", "days.csv", "--schema", "d.toml", "--epsilon", 50, "--yes-really", "--delta", 1e-9)
    printed(capsys, *words, "--seed", 1, "-o", "syn.csv")
    found = json.loads(printed(capsys, "compare", "days.csv", "syn.csv", "--json"))["comparison"]
    assert not found["left_out"]
    assert {c["column"]: c["total_variation"] < 0.1 for c in found["columns"]} == dict.fromkeys(
        ("came", "called", "ward"), True
    )
    (place / "fewer.csv").write_text("came,called\n" + "".join(row.rpartition(",")[0] + "\n" for row in rows))
    told = printed(capsys, "compare", "fewer.csv", "syn.csv")
    assert "mean of 2" in told
    assert "Left out. ward: is not in the raw table." in told
