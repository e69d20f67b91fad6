"""Releases without a price in epsilon are in the account too: it is the history of all that left."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from command_line import output
from discreet.accounts import Account
from discreet.accounts.book import Totals
from discreet.errors import BudgetExceeded, FormatError, InvalidArgument, SchemaError
from discreet.jobs import Job
from small_tables import write_table

SCHEMA = """
[columns.age]
kind = "integer"
bounds = [0, 119]
role = "quasi-identifier"
[columns.ill]
categories = ["flu", "gout"]
role = "sensitive"
[columns.cost]
bounds = [0, 1000]
role = "sensitive"
"""
ANONYMOUS = ("anonymize", "people.csv", "--schema", "schema.toml", "--k", "5", "--account", "p.account")
PERTURBED = ("perturb", "people.csv", "--schema", "schema.toml", "--epsilon", "2", "--category-epsilon", "1",
             "--account", "p.account")  # fmt: skip
LOCAL = ("sketch", "encode", "people.csv", "--column", "ill", "--domain", "flu,gout", "--epsilon", "2", "--account",
         "p.account")  # fmt: skip


@pytest.fixture
def account(workdir: Path) -> Account:
    rows = "".join(f"{i % 100},{'flu' if i % 3 else 'gout'},{i * 0.731:.3f}\n" for i in range(600))
    write_table(workdir, "age,ill,cost\n" + rows, SCHEMA)
    return Account.create("p.account", dataset="ward", epsilon=1)


def _sealed(path: str) -> str:
    return str(json.loads(Path(f"{path}.guarantee.json").read_text())["digest"])


def test_every_kind_of_release_is_listed_with_its_file_and_digest(account: Account) -> None:
    output(*ANONYMOUS, "-o", "safe.csv", "--report", "safe.html")
    output(*PERTURBED, "--radius", "0.1", "-o", "noisy.csv")
    output(*PERTURBED, "--radius", "0.2", "-o", "noisy.parquet")
    output(*LOCAL, "-o", "reports.bin")
    output("synthesize", "people.csv", "--schema", "schema.toml", "--epsilon", "0.5", "--account", "p.account", "-o",
           "rows.csv")  # fmt: skip
    reports = f"sha256:{hashlib.sha256(Path('reports.bin').read_bytes()).hexdigest()}"
    assert [entry.shown for entry in account.entries] == [
        (("safe.csv", _sealed("safe.csv")),),
        (("noisy.csv", _sealed("noisy.csv")),),
        (("noisy.parquet", _sealed("noisy.parquet")),),
        (("reports.bin", reports),),
        (("rows.synopsis.parquet", account.entries[4].digest), ("rows.csv", _sealed("rows.csv"))),
    ]
    assert [entry.model for entry in account.entries] == ["syntactic", "metric", "metric", "local", "central"]
    assert account.spent == account.remaining == 0.5
    tables, rates, reported = account.listed
    assert (tables["k"], tables["entries"]) == (6, [1])
    assert (Fraction(rates["rate"]), rates["radius"], rates["categories"]) == (20 + 10, "1/5", "2")
    assert (reported["epsilon"], reported["unit"]) == ("2", "one report of one user")
    assert account.verify() == Account("p.account").to_dict()
    assert account.together(0) == pytest.approx(0.5)  # the others are in no sum of epsilon
    shown = output("account", "show", "p.account")
    assert max(map(len, shown.splitlines())) <= 80
    for words in ("safe.csv", _sealed("rows.csv")[7:17], "k = 6", "ε 2 per report", "epsilon 30 in total", "left 0.5"):
        assert words in shown
    page = Path("safe.html").read_text()
    assert "Account of ward: entry 1, k = 6; epsilon 0 of 1 spent, 1 left after 1 release." in page
    assert "This release adds no epsilon there. What it reveals is not limited by that sum." in page
    named = json.loads(Path("safe.csv.guarantee.json").read_text())["parameters"]["account"]
    assert named["dataset"] == "ward"
    account.verify(named["head"])


@pytest.mark.parametrize("words", [(*ANONYMOUS, "-o", "x.csv"), (*PERTURBED, "--radius", "0.1", "-o", "x.csv"),
                                   (*LOCAL, "-o", "x.bin")], ids=["anonymous", "metric", "local"])  # fmt: skip
def test_the_same_job_again_is_the_same_release(words: tuple[str, ...], account: Account) -> None:
    output(*words)
    held = Path(words[-1]).read_bytes()
    assert "this is entry 1 again" in " ".join(output(*words).split())
    assert Path(words[-1]).read_bytes() == held
    output(*words, "--fresh")
    assert len(account.entries) == 2
    account.close()
    with pytest.raises(BudgetExceeded, match="closed"):  # before a row is read
        output(*words[:-1], f"other{Path(words[-1]).suffix}")
    assert not Path(f"other{Path(words[-1]).suffix}").exists()


@pytest.mark.parametrize("kind", ["anonymize", "perturb", "sketch"])
def test_a_release_is_written_down_before_rows_are_read_and_booked_before_the_file_appears(
    kind: str, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    given: dict[str, Any] = {
        "anonymize": {"k": 5}, "perturb": {"epsilon": 1, "radius": 0.1, "category_epsilon": 1},
        "sketch": {"epsilon": 1, "column": "ill", "domain": ["flu", "gout"]},
    }[kind]  # fmt: skip
    job = Job(kind, "people.csv", None if kind == "sketch" else "schema.toml", {**given, "account": "p.account"},
              {"release": "x.csv" if kind != "sketch" else "x.bin"})  # fmt: skip

    def killed(*_: object, **__: object) -> None:
        raise Killed

    from discreet.accounts import Reservation

    with monkeypatch.context() as broken:
        broken.setattr(Reservation, "book", killed)
        with pytest.raises(Killed):
            job.run()
    assert [entry.state for entry in account.entries] == ["reserved"]
    assert not job.places()["release"].exists()
    from discreet.core.output import files

    with monkeypatch.context() as broken:
        broken.setattr(files.os, "replace", killed)
        with pytest.raises(Killed):
            job.run()
    assert [entry.state for entry in account.entries] == ["reserved", "booked"]
    assert not job.places()["release"].exists()
    job.run()
    assert [entry.state for entry in account.entries] == ["reserved", "booked", "booked"]
    assert account.spent == 0


def test_anonymous_tables_that_were_not_checked_together_are_warned_of(account: Account) -> None:
    schema = Path("schema.toml").read_text() + '[columns.who]\nbounds = [0, 10000]\nrole = "identifier"\n'
    Path("schema.toml").write_text(schema)
    lines = Path("people.csv").read_text().splitlines()
    named = [f"{line},{i}" for i, line in enumerate(lines[1:])]
    Path("people.csv").write_text("\n".join([f"{lines[0]},who", *named]) + "\n")
    for name in ("one.csv", "two.csv"):
        output(*ANONYMOUS, "--history", "p.history", "-o", name)
    assert [entry.terms["earlier"] for entry in account.entries if entry.terms] == [0, 1]
    assert not account.warnings
    shown = output(*ANONYMOUS, "-o", "three.csv", "--report", "three.html")
    (said,) = account.warnings
    assert said.startswith("Entries 1, 2, 3 are anonymous tables about the same people")
    for text in (" ".join(shown.split()), " ".join(output("account", "show", "p.account").split())):
        assert said in text
    assert said in Path("three.html").read_text()


def test_a_sampled_table_that_is_saved_in_another_format_is_known_too(tmp_path: Path) -> None:
    book = Account.create(tmp_path / "s.account", dataset="s", epsilon=3, delta=1e-5)
    domain = dc.Domain({"age": dc.Integer(0, 119)})
    method = dc.anonymity.SampledGeneralization(20, 0.2, domain=domain, levels={"age": 5}, ledger=book)
    release = method.fit({"age": [i % 120 for i in range(3000)]}).release_
    for name, form in (("a.csv", "text"), ("b.parquet", "bounds"), ("b.parquet", "bounds")):
        release.save(tmp_path / name, form=form)
        (entry,) = book.entries
        assert _sealed(str(tmp_path / name)) in [digest for _, digest in entry.shown]
    assert len(entry.files) == 2
    assert float(book.spent) == pytest.approx(release.guarantee.epsilon)
    with pytest.raises(InvalidArgument, match="digest of a booked release"):
        book.add_file("sha256:0", "c.csv", "sha256:1")


def test_terms_that_no_release_has_are_refused(tmp_path: Path) -> None:
    """Damage every field of a line with terms: no reader takes it."""
    book = Account.create(tmp_path / "a", dataset="d", epsilon=1)
    noise = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=dc.Domain({"x": (0, 1)})).fit()
    held = book.reserve("perturb", promise=noise.guarantee_)
    with pytest.raises(FormatError, match="more is booked"):
        held.book(dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=dc.Domain({"x": (0, 1)})).fit().guarantee_)
    with pytest.raises(FormatError, match="another kind of release"):
        held.book(dc.Guarantee("syntactic", parameters={"required": {"k": 5}}))
    with pytest.raises(BudgetExceeded, match="without privacy"):
        book.reserve("r", promise=dc.metric.Piecewise(epsilon=float("inf"), domain=noise.domain).fit().guarantee_)
    lines = [json.loads(line[:-66]) for line in (tmp_path / "a").read_bytes().splitlines(keepends=True)]
    good = {k: v for k, v in lines[1].items() if k != "after"}
    totals = Totals()
    totals.take({k: v for k, v in lines[0].items() if k != "after"})
    totals.check(good)
    for name in good["terms"]:
        for bad in (None, -1, "x", [], {"model": "metric"}, "-1"):
            if bad == good["terms"][name] or (name in ("radius", "rate") and bad is None) or name == "unit":
                continue
            if name == "metric" and isinstance(bad, dict):
                continue
            with pytest.raises(FormatError):
                totals.check({**good, "terms": {**good["terms"], name: bad}})
    for change in ({"price": "1"}, {"delta": "1/2"}, {"terms": {}}, {"terms": {**good["terms"], "more": 1}}):
        with pytest.raises(FormatError):
            totals.check({**good, **change})
    free = {k: v for k, v in good.items() if k != "terms"}
    with pytest.raises(FormatError):  # a price of nothing needs terms
        totals.check(free)


def test_perturbed_rows_are_refused_by_an_account_of_persons_before_it_is_charged(workdir: Path) -> None:
    schema = '[columns.who]\nrole = "person"\n[columns.age]\nbounds = [0, 120]\n'
    write_table(workdir, "who,age\n" + "a,35\nb,61\n" * 50, schema)
    output("account", "create", "p.account", "--dataset", "patients", "--epsilon", "3", "--person", "who")
    before = Path("p.account").read_bytes()
    words = ("perturb", "people.csv", "--schema", "schema.toml", "--unit", "row", "--epsilon", "2", "--radius", "0.1",
             "-o", "n.csv")  # fmt: skip
    with pytest.raises(SchemaError, match=r"protects one person \(column 'who'\), the release one row"):
        output(*words, "--account", "p.account")
    assert (Path("p.account").read_bytes(), Path("n.csv").exists()) == (before, False)
    output(*words)
    with pytest.raises(SchemaError, match="protects one person"):
        output("account", "add", "p.account", "n.csv")
