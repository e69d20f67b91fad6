"""`discreet anonymize` and `discreet risk`, as a steward with a file uses them."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from click.testing import Result

import discreet as dc
from command_line import output, run
from discreet.errors import InvalidArgument
from small_tables import write_table

QI = "age,town,job,hours"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = dc.datasets.people(1500, seed=3)
    return write_table(tmp_path, records.table, records.domain)


def anonymize(folder: Path, *extra: object, output: str = "safe.csv") -> Result:
    base = ["anonymize", folder / "people.csv", "--schema", folder / "schema.toml", "-o", folder / output]
    return run(*base, *extra)


def test_a_safe_table_with_its_promise_next_to_it(folder: Path) -> None:
    result = anonymize(folder, "--k", 10, "--l", 2)
    assert result.exit_code == 0, result.output
    assert "no row was left out" in result.output
    text = (folder / "safe.csv").read_text(encoding="utf-8")
    assert "person 0" not in text
    assert text.count("\n") == 1501
    promise = json.loads((folder / "safe.csv.guarantee.json").read_text(encoding="utf-8"))
    assert promise["parameters"]["reached"]["k"] >= 10
    checked = run("risk", folder / "safe.csv", "--qi", QI, "--sensitive", "illness", "--require", "k=10,l=2")
    assert checked.exit_code == 0, checked.output
    assert "Met" in checked.output


def test_one_row_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\nold\n" + "30\n40\n" * 5)
    (tmp_path / "schema.toml").write_text('[columns]\nage = {bounds = [0, 120], role = "quasi-identifier"}\n')
    assert "; 1 row was left out" in " ".join(anonymize(tmp_path, "--k", 5).stdout.split())


def test_the_rows_do_not_keep_their_order(folder: Path) -> None:
    anonymize(folder, "--k", 5)
    before = csv.read_csv(folder / "people.csv")["illness"].to_pylist()
    after = csv.read_csv(folder / "safe.csv")["illness"].to_pylist()
    assert sorted(before) == sorted(after)
    assert before != after


def test_a_requirement_that_fails_shows_in_the_exit_code(folder: Path) -> None:
    anonymize(folder, "--k", 5)
    result = run("risk", folder / "safe.csv", "--qi", QI, "--require", "k=500")
    assert result.exit_code == 1
    assert "Not met" in result.output
    raw = run("risk", folder / "people.csv", "--qi", QI, "--sensitive", "illness", "--json")
    assert raw.exit_code == 0
    assert json.loads(raw.output)["k"] == 1


def test_the_information_loss_is_stated_by_risk_and_on_pages(folder: Path) -> None:
    anonymize(folder, "--k", 5)
    asked = ["risk", folder / "safe.csv", "--qi", QI, "--original", folder / "people.csv"]
    assert "original rows of a group" in run(*asked).output  # the rest is wrapped
    found = json.loads(run(*asked, "--json").output)["information_loss"]
    assert 0 < found["occurring"] < found["printed"] < 1
    page = folder / "page.html"
    shown = run("report", folder / "safe.csv", "--against", folder / "people.csv", "-o", page)
    assert "original rows of a group" in shown.output
    text = page.read_text(encoding="utf-8")
    assert text.count("information loss, as printed") == 2  # with the risk, and in the part that is not private
    assert text.count("information loss, of occurring values") == 1
    facts = json.loads(
        run("report", folder / "safe.csv", "--against", folder / "people.csv", "-o", page, "--json").output
    )
    assert facts["comparison"]["information_loss"]["occurring"] == pytest.approx(found["occurring"])
    assert facts["release"]["risk"]["information_loss"]["printed"] == pytest.approx(found["printed"])
    assert facts["release"]["risk"]["information_loss"]["occurring"] is None


def test_bounds_for_programs_and_parquet(folder: Path) -> None:
    assert anonymize(folder, "--k", 10, "--bounds", output="safe.parquet").exit_code == 0
    table = pq.read_table(folder / "safe.parquet")
    assert {"age_lower", "age_upper", "job_set", "illness"} <= set(table.column_names)
    assert b"discreet.guarantee" in (table.schema.metadata or {})


def test_drawn_rows_say_that_they_are_drawn(folder: Path) -> None:
    result = anonymize(folder, "--k", 10, "--form", "sample")
    assert "The rows were drawn from a table that satisfies k = 10" in " ".join(result.output.replace("│", " ").split())


def test_identifiers_can_be_hashed(folder: Path) -> None:
    key = folder / "key"
    key.write_bytes(b"a secret of more than sixteen bytes")
    assert anonymize(folder, "--k", 10, "--hash-key", key).exit_code == 0
    names = csv.read_csv(folder / "safe.csv")["name"].to_pylist()
    assert len(set(names)) == 1500
    assert all(len(name) == 16 for name in names)


def test_a_table_that_nobody_received_is_taken_back(folder: Path) -> None:
    history = ["--history", folder / "people.history"]
    first = " ".join(anonymize(folder, "--k", 10, *history).output.split())
    assert "Coarser groups last longer: with --max-depth 5" in first
    assert f"discreet withdraw {folder / 'safe.csv'} --history {folder / 'people.history'}" in first
    with pytest.warns(dc.errors.DiscreetWarning, match="replaces a table that counts as released"):
        again = " ".join(anonymize(folder, "--k", 10, "--l", 3, *history).output.split())
    assert "who left or changed hide" not in again
    assert "Coarser groups" not in again
    done = " ".join(run("withdraw", folder / "safe.csv", *history).output.split())
    assert "The next release is checked with 1 earlier release. One of them is a table that this one replaced" in done
    assert "If there is a page about the withdrawn table, delete that too." in done
    assert not list(folder.glob("safe.csv*"))
    assert json.loads(run("withdraw", folder / "safe.csv", *history, "--json").output)["releases"] == 0
    with pytest.raises(dc.errors.InvalidArgument, match=r"TABLE must be a table of the history .*, which has: none"):
        run("withdraw", folder / "safe.csv", *history)
    anonymize(folder, "--k", 10, "--l", 3, *history)
    promise = json.loads((folder / "safe.csv.guarantee.json").read_text(encoding="utf-8"))
    assert not promise["parameters"].get("earlier_releases")
    records = dc.datasets.people(1900, seed=3)
    write_table(folder, records.table, records.domain)
    told = anonymize(folder, "--k", 10, *history, "--on-conflict", "new", output="new.csv").output
    assert "published before, because only people who were never published were asked for" in " ".join(told.split())
    assert "--on-conflict" not in told


def test_a_later_release_is_checked_with_the_history(folder: Path) -> None:
    history = ["--history", folder / "people.history"]
    first = anonymize(folder, "--k", 10, *history)
    assert first.exit_code == 0, first.output
    assert (folder / "people.history").stat().st_mode & 0o777 == 0o700
    again = anonymize(folder, "--k", 10, *history, output="again.csv")
    assert again.exit_code == 0, again.output
    promise = json.loads((folder / "again.csv.guarantee.json").read_text(encoding="utf-8"))
    assert promise["parameters"]["earlier_releases"] == 1
    assert "cells had to be merged" not in again.output  # the same cells
    other = anonymize(folder, "--k", 10, "--method", "mondrian", *history, output="other.csv")
    assert "cells had to be merged, so that the rules hold with the earlier" in " ".join(other.output.split())
    parameters = {"k": 10, "history": "people.history"}
    job = dc.Job("anonymize", "people.csv", "schema.toml", parameters, {"release": "job.csv"}, folder)
    assert dc.Job.from_toml(job.to_toml()) == job
    assert job.run().guarantee.parameters["earlier_releases"] == 3
    (folder / "people.history" / "000001.record").unlink()
    with pytest.raises(dc.errors.DataSourceError, match="cannot read"):
        anonymize(folder, "--k", 10, *history, output="third.csv")
    assert not (folder / "third.csv").exists()


def test_people_whom_nothing_names_are_not_followed(folder: Path) -> None:
    plain = dc.datasets.people(10).domain.to_dict()
    dc.Domain({n: c for n, c in plain.items() if c["role"] != "identifier"}).to_toml(folder / "schema.toml")
    with pytest.raises(dc.errors.SchemaError, match="names no identifier and no person"):
        anonymize(folder, "--k", 10, "--history", folder / "people.history")
    assert not (folder / "safe.csv").exists()


def test_groups_of_columns_are_told_and_counted_again(folder: Path) -> None:
    groups = [x for pair in ("age=a", "job=b", "town=b", "hours=a") for x in ("--columns", pair)]
    result = anonymize(folder, "--k", 5, "--method", "microaggregation", *groups)
    told = " ".join(result.output.replace("│", " ").split())
    assert "k = 5 in each of these groups of columns by itself, and not in whole rows: age, hours; job, town" in told
    again = run("audit", folder / "safe.csv", catch=True)
    assert again.exit_code == 0
    assert "k by columns [" in " ".join(again.output.split())


def test_mondrian_too(folder: Path) -> None:
    assert anonymize(folder, "--k", 10, "--method", "mondrian").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", 1], "k must be"),
        (["--k", 5000], "k"),
        (["--k", 5, "--method", "magic"], "method must be one of"),
        (["--k", 5, "--method", "mondrian", "--criterion", "cell"], "used with --method density-tree"),
        (["--k", 5, "--method", "microaggregation", "--l", 2], "used with --method density-tree or mondrian or gen"),
        (["--k", 5, "--grouping", "pca"], "used with --method microaggregation"),
        (["--k", 5, "--method", "microaggregation", "--grouping", "pca"], "categories"),
        (["--k", 5, "--method", "microaggregation", "--columns", "age=a"], "every quasi-identifier into one group"),
        (["--k", 5, "--method", "microaggregation", "--block-rows", 6], "block_rows must be|block-rows must be"),
        (["--k", 5, "--method", "microaggregation", "--bounds"], "--bounds must be left out"),
        (["--k", 5, "--method", "microaggregation", "--form", "center"], "--form must be left out"),
        (["--k", 5, "--method", "generalization", "--level", "age"], "COLUMN=VALUE"),
        (["--k", 5, "--method", "generalization", "--level", "age=x"], "COLUMN=VALUE"),
        (["--k", 5, "--method", "generalization", "--level", "age=1", "--level", "age=2"], "once per column"),
        (["--k", 5, "--method", "generalization", "--level", "zip=1"], "level must be given for quasi-identifiers"),
        (["--k", 5, "--hierarchy", "job=nowhere.csv"], "nowhere.csv"),
        (["--k", 5, "--grid", "age=many"], "grid of column 'age'"),
        (["--k", 5, "--target", "nobody"], "target must be"),
        (["--k", 5, "--person", "age"], "person must be"),
        (["--k", 5, "--suppress", 2], "suppress must be"),
        (["--k", 5, "--form", "sample", "--bounds"], "--bounds"),
        (["--k", 5, "--keep", "nobody"], "keep must be"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, arguments: list[object], message: str) -> None:
    with pytest.raises(dc.errors.DiscreetError, match=message):
        anonymize(folder, *arguments)
    assert not (folder / "safe.csv").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--method", "microaggregation"],
        ["--method", "microaggregation", "--block-rows", 100],
        ["--method", "generalization", "--suppress", 0.2, "--hierarchy", "job={folder}/jobs.csv"],
        ["--method", "generalization", "--suppress", 0.9, "--level", "age=5", "--level", "job=1", "--level", "hours=7"],
        ["--grid", "age=12", "--target", "illness", "--criterion", "cell", "--suppress", 0.01],
        ["--person", "name", "--bounds"],
    ],
)
def test_every_method_keeps_k(folder: Path, arguments: list[object]) -> None:
    jobs = dc.Domain.from_toml(folder / "schema.toml").column("job").to_dict()["categories"]
    (folder / "jobs.csv").write_text("".join(f"{job};{job[0] > 'e'};*\n" for job in jobs), encoding="utf-8")
    result = anonymize(folder, "--k", 5, *(str(a).format(folder=folder) for a in arguments))
    assert result.exit_code == 0, result.output
    shown = csv.read_csv(folder / "safe.csv")
    quasi = [name for name in shown.column_names if name not in ("illness", "name")]
    assert dc.anonymity.risk(shown, quasi).k >= 5
    promise = json.loads((folder / "safe.csv.guarantee.json").read_text(encoding="utf-8"))
    left_out = promise["parameters"]["suppressed"] + promise["parameters"]["dropped_for_missing_values"]
    assert shown.num_rows + left_out == 1500


def test_dates_and_persons_from_files(tmp_path: Path) -> None:
    schema = """
[columns.patient]
categories = ["any"]
role = "person"

[columns.born]
bounds = [1930-01-01, 2009-12-31]
role = "quasi-identifier"
"""
    (tmp_path / "schema.toml").write_text(schema, encoding="utf-8")
    lines = [f"p{i // 3},{1930 + i % 75}-0{1 + i % 9}-15" for i in range(300)]
    (tmp_path / "visits.csv").write_text("\n".join(["patient,born", *lines, "odd,yesterday"]), encoding="utf-8")
    files = ["anonymize", tmp_path / "visits.csv", "--schema", tmp_path / "schema.toml", "-o", tmp_path / "safe.csv"]
    assert run(*files, "--k", 5, "--grid", "born=month").exit_code == 0
    shown = csv.read_csv(tmp_path / "safe.csv", parse_options=csv.ParseOptions())
    assert shown.column_names == ["born"]
    assert shown.num_rows == 300
    assert all("-01" in text for text in shown["born"].to_pylist())
    promise = json.loads((tmp_path / "safe.csv.guarantee.json").read_text(encoding="utf-8"))
    assert promise["unit"] == "one person"
    assert promise["parameters"]["reached"]["k"] >= 5
    raw = run("risk", tmp_path / "visits.csv", "--qi", "born", "--person", "patient", "--json")
    assert json.loads(raw.output)["person"] == "patient"


def test_columns_without_a_role_are_refused(folder: Path) -> None:
    schema = folder / "schema.toml"
    text = schema.read_text(encoding="utf-8")
    assert 'role = "sensitive"' in text
    schema.write_text(text.replace('role = "sensitive"\n', ""), encoding="utf-8")
    with pytest.raises(dc.errors.SchemaError, match="'illness' has no role"):
        anonymize(folder, "--k", 5)
    assert anonymize(folder, "--k", 5, "--keep", "illness").exit_code == 0


def test_requirements_are_read_with_care(folder: Path) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match="name=number"):
        run("risk", folder / "people.csv", "--qi", QI, "--require", "k")
    with pytest.raises(dc.errors.InvalidArgument, match="'zip'"):
        run("risk", folder / "people.csv", "--qi", "zip")


def test_a_folder_is_not_withdrawn_and_a_table_only_once(folder: Path) -> None:
    history = ["--history", folder / "people.history"]
    for name in ("first.csv", "second.csv"):
        anonymize(folder, "--k", 10, *history, output=name)
    with pytest.raises(InvalidArgument, match="TABLE must be a table of the history"):
        run("withdraw", folder, *history)
    told = " ".join(run("withdraw", folder / "first.csv", *history).output.split())
    assert "checked with 2 earlier releases" in told, "the second was checked with it"
    assert "replaced" not in told
    with pytest.raises(InvalidArgument, match=r"which has: '[^']*second\.csv'"):
        run("withdraw", folder / "first.csv", *history)
    assert (folder / "second.csv").exists()


@pytest.mark.parametrize("lost", ["the folder", "the withdrawn table", "a table withdrawn in Python"])
def test_a_job_returns_no_earlier_table_that_its_history_does_not_count(tmp_path: Path, lost: str) -> None:
    people = dc.datasets.people(120)
    csv.write_csv(people.table, tmp_path / "people.csv")
    people.domain.to_toml(tmp_path / "schema.toml")
    account, history, safe = tmp_path / "a.account", tmp_path / "people.history", tmp_path / "safe.csv"
    output("account", "create", account, "--dataset", "people", "--epsilon", 1)
    job = ["anonymize", tmp_path / "people.csv", "--schema", tmp_path / "schema.toml", "-k", 5, "--account", account]
    job += ["--history", history, "-o", safe]
    output(*job)
    made = safe.read_bytes()
    again = [*job[:-1], tmp_path / "people.history" / ".." / "safe.csv", "--json"]
    assert json.loads(output(*again))["account"]["repeated"]
    assert safe.read_bytes() == made
    kept = tmp_path / "backup"
    kept.mkdir()
    for place in tmp_path.glob("safe.csv*"):
        shutil.copy(place, kept)
    if lost == "the folder":
        shutil.rmtree(history)
    elif lost == "the withdrawn table":
        output("withdraw", safe, "--history", history, "--account", account)
    else:
        dc.anonymity.ReleaseHistory(history).withdraw(safe)
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    before = {place: place.read_bytes() for place in tmp_path.rglob("*") if place.is_file()}
    said = r"try --output .*safe-2\.csv" if lost == "the withdrawn table" else "does not list .*restore.*try --fresh"
    with pytest.raises(dc.errors.DiscreetError, match=said):
        run(*job)
    assert {place: place.read_bytes() for place in tmp_path.rglob("*") if place.is_file()} == before
    run(*job, "--overwrite" if lost == "the withdrawn table" else "--fresh")
    assert [entry.table for entry in dc.anonymity.ReleaseHistory(history).tables] == [str(safe)]


def test_an_account_keeps_the_entry_of_a_withdrawn_table_and_says_so(tmp_path: Path) -> None:
    """`account show` and `verify` name it, and later tables are not said to be unchecked with it."""
    people = dc.datasets.people(120)
    csv.write_csv(people.table, tmp_path / "people.csv")
    people.domain.to_toml(tmp_path / "schema.toml")
    account, history = tmp_path / "a.account", ["--history", tmp_path / "people.history"]
    output("account", "create", account, "--dataset", "people", "--epsilon", 1)
    job = ["anonymize", tmp_path / "people.csv", "--schema", tmp_path / "schema.toml", "-k", 5, "--account", account]
    first = " ".join(output(*job, *history, "-o", tmp_path / "safe.csv").split())
    typed = f"discreet withdraw {tmp_path / 'safe.csv'} --history {tmp_path / 'people.history'} --account {account}"
    assert typed in first
    (tmp_path / "safe.csv.signature.json").write_text("{}")
    for name in ("safe.csv", "safe.csv.guarantee.json"):
        shutil.copy(tmp_path / name, tmp_path / f"copy{name[4:]}")
    output("account", "create", tmp_path / "other.account", "--dataset", "others", "--epsilon", 1)
    other = [*typed.split()[1:-1], tmp_path / "other.account"]
    with pytest.raises(InvalidArgument, match=r"the account 'people' that .*other\.account"):
        output(*other)
    with pytest.raises(InvalidArgument, match=r"the account 'people' that .*--account people\.account"):
        run("withdraw", tmp_path / "safe.csv", *history)
    assert (tmp_path / "safe.csv").exists()
    told = json.loads(run(*shlex.split(typed)[1:], "--json").output)
    assert not list(tmp_path.glob("safe.csv*"))
    assert told["entry"] == 1
    shown = " ".join(output("account", "show", account).split())
    assert "withdrawn (" in shown
    assert "anonymize safe.csv" in shown
    said = " ".join(output("verify", tmp_path / "copy.csv", "--account", account, code=1).split())
    assert "entry 1 of the account was withdrawn: nobody was to receive this file" in said
    output(*job, *history, "-o", tmp_path / "next.csv")
    assert "not all of them were checked together" not in " ".join(output("account", "show", account).split())
    output("verify", tmp_path / "next.csv", "--account", account)
