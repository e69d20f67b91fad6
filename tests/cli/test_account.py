"""The steward's way with an account: make it, release from it, look at it, find out who went back in time."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from command_line import output
from discreet.errors import BudgetExceeded, DataSourceError, FormatError, InvalidArgument, SchemaError
from small_tables import write_table


@pytest.fixture
def folder(workdir: Path) -> Path:
    schema = "[columns.age]\nbounds = [0, 120]\n[columns.cost]\nbounds = [0, 1000]\n"
    write_table(workdir, "age,cost\n" + "35,100\n61,220\n" * 1000, schema)
    output("account", "create", "p.account", "--dataset", "patients 2026", "--epsilon", "3")
    return workdir


def figures(*words: str, code: int = 0) -> Any:
    return json.loads(output(*words, "--json", code=code))


RELEASE = ("synopsis", "people.csv", "--schema", "schema.toml", "--rule", "3", "--account", "p.account")


def test_a_release_is_charged_and_its_repetition_is_free(folder: Path) -> None:
    first = figures(*RELEASE, "--epsilon", "1", "-o", "s.parquet")
    assert (first["account"]["remaining"], first["account"]["repeated"]) == (2.0, False)
    held = Path("s.parquet").read_bytes()
    again = figures(*RELEASE, "--epsilon", "1", "-o", "s.parquet")
    assert (again["account"]["remaining"], again["account"]["repeated"]) == (2.0, True)
    assert Path("s.parquet").read_bytes() == held
    assert again["digest"] == first["digest"]
    told = output(*RELEASE, "--epsilon", "1", "-o", "s.parquet")
    assert "Nothing was spent, and the data were not read again" in " ".join(told.split())
    fresh = figures(*RELEASE, "--epsilon", "1", "-o", "s.parquet", "--fresh")
    assert (fresh["account"]["remaining"], fresh["account"]["repeated"]) == (1.0, False)
    assert fresh["digest"] != first["digest"]
    # Another job, another place, or another file where it lay: that is a new release.
    for words in (("--epsilon", "0.25", "-o", "s.parquet", "--overwrite"), ("--epsilon", "0.25", "-o", "t.parquet")):
        assert not figures(*RELEASE, *words)["account"]["repeated"]
    with pytest.raises(BudgetExceeded, match=r"only 0\.5 of 3 is left"):
        output(*RELEASE, "--epsilon", "1", "-o", "u.parquet")
    assert not Path("u.parquet").exists()


def test_nothing_is_left_of_a_limit_that_was_spent_up_to_the_last_digit_shown(folder: Path) -> None:
    """The account itself stays exact: a price that was rounded down leaves a tiny rest."""
    words = (*RELEASE, "--epsilon", "2.999999999999", "-o", "s.parquet", "--report", "page.html")
    assert "epsilon 3 of 3 spent, 0 left" in " ".join(output(*words).split())
    assert "epsilon 3 of 3 spent, 0 left" in Path("page.html").read_text()
    assert "left 0." in output("account", "show", "p.account")
    assert Fraction(figures("account", "show", "p.account")["remaining"]) == Fraction(1, 10**12)


def test_a_repetition_needs_no_budget(folder: Path) -> None:
    """An account that is used up, or closed, still says: read an earlier release again."""
    rows = ("synthesize", "people.csv", "--schema", "schema.toml", "--account", "p.account", "-o", "r.csv")
    clusters = ("cluster", "people.csv", "--schema", "schema.toml", "-k", "2", "--account", "p.account", "-o", "c.csv")
    jobs = [(*RELEASE, "-o", "s.parquet"), rows, (*clusters, "--release", "t.parquet")]
    for words in jobs:
        assert not figures(*words, "--epsilon", "1")["account"]["repeated"]
    output("account", "close", "p.account")
    for words in jobs:
        assert figures(*words, "--epsilon", "1")["account"]["repeated"]
        with pytest.raises(BudgetExceeded, match="is closed"):
            output(*words, "--epsilon", "1", "--fresh")


def test_a_changed_schema_is_another_job(folder: Path) -> None:
    figures(*RELEASE, "--epsilon", "1", "-o", "s.parquet")
    Path("schema.toml").write_text("[columns.age]\nbounds = [0, 130]\n[columns.cost]\nbounds = [0, 1000]\n")
    told = figures(*RELEASE, "--epsilon", "1", "-o", "s.parquet", "--overwrite")
    assert not told["account"]["repeated"]


def test_a_seeded_run_is_charged_and_never_found_again(folder: Path) -> None:
    for left in (2.0, 1.0):
        told = figures(*RELEASE, "--epsilon", "1", "--seed", "1", "-o", "s.parquet")["account"]
        assert (told["remaining"], told["repeated"]) == (left, False)
    assert "seeded" in output("account", "show", "p.account")
    assert all(entry.task is None for entry in dc.Account("p.account").entries)


def test_clusters_of_a_table_are_charged_and_found_again(folder: Path) -> None:
    words = ("cluster", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "-k", "2", "-o", "c.csv")
    words += ("--account", "p.account", "--release", "s.parquet")
    assert figures(*words)["account"]["remaining"] == 2
    again = figures(*words)
    assert (again["account"]["repeated"], len(again["centers"])) == (True, 2)
    assert "Charged to entry 2" in output(*words, "--fresh")
    with pytest.raises(InvalidArgument, match="--account"):
        output("cluster", "s.parquet", "-k", "2", "-o", "c.csv", "--account", "p.account")


def test_a_job_file_names_its_account(folder: Path) -> None:
    job = '[job]\nkind = "synopsis"\n[data]\npath = "people.csv"\n[schema]\npath = "schema.toml"\n[parameters]\n'
    job += 'epsilon = 1\nrule = 3\naccount = "p.account"\n[outputs]\nrelease = "s.parquet"\n'
    Path("job.toml").write_text(job)
    output("run", "job.toml", "--check")
    assert dc.Account("p.account").spent == 0
    assert "Charged to entry 1" in output("run", "job.toml")
    assert "Nothing was spent" in output("run", "job.toml")
    Path("job.toml").write_text(job.replace("epsilon = 1", "epsilon = 5").replace("s.parquet", "t.parquet"))
    with pytest.raises(BudgetExceeded):
        output("run", "job.toml", "--check")


def test_the_listing_fits_a_terminal_and_says_what_was_lost(folder: Path) -> None:
    account = dc.Account("p.account")
    account.reserve("a release with a rather long name, by somebody who was interrupted", epsilon=0.5)
    output(*RELEASE, "--epsilon", "1", "-o", "s.parquet")
    shown = output("account", "show", "p.account")
    assert max(map(len, shown.splitlines())) <= 80
    for words in ("patients 2026, for one row", "not booked", "Spent epsilon 1.5 of 3; left 1.5.", account.head):
        assert words in shown
    assert "stays spent" in " ".join(shown.split())
    assert "switched off" in output("account", "annotate", "p.account", "1", "switched off")
    assert "1: switched off (" in output("account", "show", "p.account")
    assert figures("account", "show", "p.account")["entries"][0]["state"] == "reserved"


def test_a_copy_from_before_is_found_out_by_the_head_in_an_artifact(folder: Path) -> None:
    old = Path("p.account").read_bytes()
    output(*RELEASE, "--epsilon", "1", "-o", "s.parquet")
    head = dc.Synopsis.load("s.parquet").guarantee.parameters["account"]["head"]
    assert figures("account", "verify", "p.account", "--head", head)["holds"]
    assert "chain, 1 release, nothing" in output("account", "verify", "p.account")
    Path("p.account").write_bytes(old)
    assert figures("account", "verify", "p.account")["holds"]
    assert "older copy" in figures("account", "verify", "p.account", "--head", head, code=1)["why"]
    Path("p.account").write_bytes(old.replace(b'"3"', b'"9"'))
    assert "edited" in output("account", "verify", "p.account", code=1)


def test_earlier_artifacts_are_added_and_a_closed_account_is_closed(folder: Path) -> None:
    output("synopsis", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "-o", "s.parquet",
        "--guarantee", "s.json")  # fmt: skip
    assert "entry 1" in output("account", "add", "p.account", "s.parquet")
    with pytest.raises(FormatError, match="already booked"):
        output("account", "add", "p.account", "s.json")
    with pytest.raises(InvalidArgument, match="a synopsis"):
        output("account", "add", "p.account", "people.csv")
    assert "Closed" in output("account", "close", "p.account")
    with pytest.raises(BudgetExceeded, match="closed"):
        output(*RELEASE, "--epsilon", "1", "-o", "t.parquet")


def test_an_account_for_persons_refuses_rows(folder: Path) -> None:
    output("account", "create", "q.account", "--dataset", "visits", "--epsilon", "1", "--person", "user")
    with pytest.raises(SchemaError, match="one person"):
        output(*RELEASE[:-1], "q.account", "--epsilon", "1", "-o", "s.parquet")


def test_what_create_needs_is_said(folder: Path) -> None:
    for words, said in ((("--epsilon", "1"), "--dataset"), (("--dataset", "d"), "--epsilon")):
        with pytest.raises(InvalidArgument, match=f"^{said} must be given"):
            output("account", "create", "q.account", *words)


def test_the_sum_of_losses_is_shown_next_to_the_limit_with_its_condition(folder: Path) -> None:
    assert "together" not in output("account", "show", "p.account")
    for number in range(3):
        output(*RELEASE, "--epsilon", "0.5", "-o", f"s{number}.parquet")
    shown = " ".join(output("account", "show", "p.account").split())
    assert "Spent epsilon 1.5 of 3; left 1.5." in shown
    assert "at delta 1e-06, composed by " in shown
    assert "This holds only if no price was chosen after seeing an earlier release" in shown
    together = figures("account", "show", "p.account", "--delta", "0.01")["together"]
    assert together["condition"] == "This holds only if no price was chosen after seeing an earlier release"
    assert together["delta"] == 0.01
    assert 0.5 < together["epsilon"] < 1.5
    with pytest.raises(InvalidArgument, match="delta must be a number"):
        output("account", "show", "p.account", "--delta", "2")


def test_a_release_that_was_paid_for_is_not_written_over_unless_that_is_said(folder: Path) -> None:
    output(*RELEASE, "--epsilon", "1", "-o", "s.parquet")
    held = Path("s.parquet").read_bytes()
    with pytest.raises(DataSourceError, match=r"could not be made again; try --output s-2.parquet, or"):
        output(*RELEASE, "--epsilon", "0.5", "-o", "s.parquet")
    # Nor by a job that charges nothing, whatever it is for; nor by a job file.
    plain = RELEASE[:-2]
    with pytest.raises(DataSourceError, match=r"or --overwrite$"):
        output(*plain, "--epsilon", "1", "-o", "s.parquet")
    with pytest.raises(DataSourceError, match="could not be made again"):
        output("anonymize", "people.csv", "--schema", "schema.toml", "--k", "5", "-o", "s.parquet")
    with pytest.raises(DataSourceError, match="could not be made again"):
        output("cluster", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "-k", "2", "-o", "s.parquet")
    with pytest.raises(DataSourceError, match="could not be made again"):
        output(
            "synthesize",
            "people.csv",
            "--schema",
            "schema.toml",
            "--epsilon",
            "1",
            "-o",
            "x.csv",
            "--synopsis",
            "s.parquet",
        )
    job = '[job]\nkind = "synopsis"\n[data]\npath = "people.csv"\n[schema]\npath = "schema.toml"\n[parameters]\n'
    Path("job.toml").write_text(job + 'epsilon = 1\n[outputs]\nrelease = "s.parquet"\n')
    for more in ([], ["--check"]):
        with pytest.raises(DataSourceError, match=r'try release = "s-2.parquet", or overwrite = true'):
            output("run", "job.toml", *more)
    assert Path("s.parquet").read_bytes() == held
    assert figures("account", "show", "p.account")["spent"] == "1"
    # The same job is its own; and what is said plainly is done. A release without an account is no one's money.
    output(*RELEASE, "--epsilon", "1", "-o", "s.parquet", "--fresh")
    output(*plain, "--epsilon", "1", "-o", "s.parquet", "--overwrite")
    output(*plain, "--epsilon", "2", "-o", "s.parquet")
    assert Path("s.parquet").read_bytes() != held


def test_the_listing_says_what_was_released_and_a_refusal_what_was_asked_for(folder: Path) -> None:
    output(*RELEASE, "--epsilon", "1", "-o", "s.parquet")
    words = ("cluster", *RELEASE[1:4], "--account", "p.account", "--epsilon", "1", "-k", "2")
    output(*words, "-o", "c.csv", "--release", "under.parquet")
    domain = dc.Domain({"age": (0, 120), "cost": (0, 1000)})
    dc.GridSynopsis(0.25, domain, ledger=dc.Account("p.account")).fit("people.csv")
    told = [entry.what for entry in dc.Account("p.account").entries]
    assert told == ["synopsis s.parquet: age, cost", "cluster under.parquet: age, cost", "GridSynopsis: age, cost"]
    shown = output("account", "show", "p.account")
    assert max(map(len, shown.splitlines())) <= 80
    assert "synopsis" in shown
    assert "s.parquet" in shown
    assert shown.count("GridSynopsis") == 1
    assert "zCDP" not in shown  # by zCDP it would be more, and alarm
    with pytest.raises(BudgetExceeded, match=r"^'synopsis u\.parquet' needs epsilon 1 but only 0\.75"):
        output(*RELEASE, "--epsilon", "1", "-o", "u.parquet")
    with pytest.raises(BudgetExceeded, match=r"^'GridSynopsis' needs epsilon 1"):
        dc.GridSynopsis(1, domain, ledger=dc.Account("p.account")).fit("people.csv")


def test_a_signature_next_to_an_account_shows_that_it_was_cut(folder: Path) -> None:
    output("key", "create", "office.key", "--no-passphrase")
    figures(*RELEASE, "--epsilon", "1", "-o", "s.parquet")
    assert "not covered" in output("account", "verify", "p.account")
    output("account", "sign", "p.account", "--sign", "office.key")
    assert "the head signed 20" in output("account", "verify", "p.account")
    whole = Path("p.account").read_bytes()
    Path("p.account").write_bytes(whole + b'{"after":')
    assert "last line is unfinished" in output("account", "verify", "p.account")
    assert figures("account", "verify", "p.account")["unfinished_line"]
    Path("p.account").write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    assert "it was cut" in output("account", "verify", "p.account", code=1)
    output("account", "create", "q.account", "--dataset", "others", "--epsilon", "3")
    Path("q.account.signature.json").write_bytes(Path("p.account.signature.json").read_bytes())
    assert "not a signature of this" in output("account", "verify", "q.account", code=1)
