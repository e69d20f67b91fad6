"""`discreet verify` and `--sign`, as someone who received a file and a page uses them, and as a forger tries them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import exit_code, output, printed, run
from discreet.core import Guarantee, PublicKey, Signature, SigningKey, digest_of, payload_of, promise_place
from discreet.errors import DataSourceError, FormatError, MissingExtra
from discreet.jobs.signing import write_signature
from discreet.reporting import report_facts, verify
from discreet.reporting.pages import SIGNATURE, digest, put
from discreet.reporting.pages.carried import FACTS, held, with_facts
from discreet.reporting.pages.report import report_page
from discreet.reporting.verify import _pieces
from discreet.synopses import Synopsis
from evidence_damage import independent


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed release that was charged to an account, an unsigned one, and a signed anonymous table."""
    folder = tmp_path_factory.mktemp("made")
    people = dc.datasets.people(300, seed=1)
    csv.write_csv(people.table, folder / "people.csv")
    people.domain.to_toml(folder / "schema.toml")
    SigningKey.create(folder / "office.key", "Data office", None)
    SigningKey.create(folder / "other.key", "Data office", None)
    account, key = folder / "a.account", folder / "office.key"
    output("account", "create", account, "--dataset", "people", "--epsilon", 3)
    central = [
        "synopsis",
        folder / "people.csv",
        "--schema",
        folder / "schema.toml",
        "--epsilon",
        1,
        "--columns",
        "age",
    ]
    for name, more in (("s", ["--sign", key]), ("u", [])):
        pages = ["-o", folder / f"{name}.parquet", "--report", folder / f"{name}.html", "--columns", "age"]
        output(*central, *pages, "--account", account, "--fresh", *more)
    table = ["anonymize", folder / "people.csv", "--schema", folder / "schema.toml", "-k", 5]
    output(*table, "-o", folder / "safe.csv", "--report", folder / "safe.html", "--sign", key, "--language", "de")
    output("account", "sign", account, "--sign", key)
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    """A copy, to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "here"))


def judged(folder: Path, *files: str, key: str = "office.key.pub", **more: Any) -> Any:
    keys = [PublicKey.load(folder / key)] if key else []
    paths = {name: folder / place for name, place in more.items() if name in ("page", "account")}
    return verify([folder / file for file in files], keys=keys, **paths, heads=more.get("heads", ()))


def contradictions(found: Any) -> str:
    assert found.code == 1, found.to_dict()
    return "; ".join(f"{a.about}, {a.name}: {a.detail}" for a in found.answers if a.result == "contradicted")


def rewritten(page: Path, change: Any, **facts: Any) -> None:
    """Change a page as someone would who knows its format: the digest of what it shows is made anew."""
    before = page.read_text(encoding="utf-8")
    text = change(put(before, FACTS, ""))
    told = {**json.loads(held(before, FACTS)), **facts, "shown": digest(text)}
    page.write_text(put(text, FACTS, json.dumps(told, ensure_ascii=False)), encoding="utf-8")


def test_what_was_not_touched_holds_and_names_the_signer(made: Path) -> None:
    found = judged(made, "s.parquet", page="s.html", account="a.account")
    assert found.code == 0, found.to_dict()
    told = {(a.about, a.name): a.result for a in found.answers}
    for about, check in (("s.parquet", "seal"), ("s.parquet", "ledger"), ("s.parquet", "draws"), ("s.html", "page"),
                         ("s.html", "text"), ("s.html", "key"), ("a.account", "account"),
                         ("a.account", "signature"), ("s.parquet", "account")):  # fmt: skip
        assert told[about, check] == "holds", (about, check)
    assert "1-differential privacy" in found.promises[0]["promise"]
    assert found.promises[0]["epsilon"] == "1"
    assert PublicKey.load(made / "office.key.pub").fingerprint[:16] in found.rests
    table = judged(made, "safe.csv", page="safe.html")
    assert table.code == 0, table.to_dict()
    assert any("k 5" in a.detail for a in table.answers if a.name == "recount")


def test_without_a_key_everything_works_and_says_that_it_is_not_signed(made: Path) -> None:
    assert "not signed" in (made / "u.html").read_text(encoding="utf-8")
    found = judged(made, "u.parquet", page="u.html", key="")
    assert found.code == 0
    assert "not signed" in found.rests
    assert "nothing is overspent" not in str(found.answers)
    assert any("was not given" in a.detail for a in found.answers if a.name == "account")
    assert "it is not signed by a key that you named" in contradictions(judged(made, "u.parquet", page="u.html"))


def test_the_command_answers_in_words_codes_and_json(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run("verify", made / "s.parquet", "--page", made / "s.html", "--key", made / "office.key.pub")
    assert told.exit_code == 0
    text = " ".join(told.output.split())
    assert "Verdict: holds" in text
    assert "This release satisfies 1-differential privacy" in text
    assert "rests on the owner of key" in text
    assert exit_code("verify", made / "s.parquet", "--page", made / "u.html") == 1
    assert exit_code("verify", made / "people.csv") == 2
    for wrong in (["--pgae", "x"], ["--page", made / "none.html"], []):
        words = [made / "none.parquet"] if not wrong else [made / "s.parquet", *wrong]
        assert exit_code("verify", *words) == 3
    assert exit_code("verify") == 3
    facts = json.loads(printed(capsys, "verify", made / "s.parquet", "--json"))
    assert (facts["verdict"], facts["code"]) == ("holds", 0)
    assert "Promised. This release satisfies" in " ".join(run("audit", made / "s.parquet").output.split())


def test_an_edited_page_is_named(here: Path) -> None:
    page = here / "u.html"
    text = page.read_text(encoding="utf-8")
    assert "2.72" in text
    page.write_text(text.replace("2.72", "1.11"), encoding="utf-8")
    assert "the page was edited" in contradictions(judged(here, "u.parquet", page="u.html", key=""))


@pytest.mark.parametrize("change", [
    lambda text: text.replace("2.72", "1.11"),
    lambda text: text.replace("</style>", "b { font-size: 0 } b::after { content: 'ε = 0.1' }</style>"),
    lambda text: text.replace("<main>", "<main><h2>ε = 0.1</h2>"),
], ids=["text", "style", "added"])  # fmt: skip
def test_a_page_that_shows_other_numbers_than_it_carries_is_named(here: Path, change: Any) -> None:
    rewritten(here / "u.html", change)
    found = judged(here, "u.parquet", page="u.html", key="")
    assert "written again from the file, the page shows something else" in contradictions(found)
    assert "the page was edited" not in contradictions(found)


def test_a_page_that_carries_other_facts_is_named(here: Path) -> None:
    facts = json.loads(held((here / "u.html").read_text(encoding="utf-8"), FACTS))
    rewritten(here / "u.html", lambda text: text, promise={**facts["promise"], "epsilon": 0.1})
    assert "another promise than the file: epsilon" in contradictions(judged(here, "u.parquet", page="u.html", key=""))
    rewritten(here / "u.html", lambda t: t, promise=facts["promise"], account={**facts["account"], "remaining": 2.9})
    found = judged(here, "u.parquet", page="u.html", account="a.account", key="")
    assert "another remaining than a.account had" in contradictions(found)


def test_a_page_of_another_version_is_not_checkable_without_a_signature(here: Path) -> None:
    rewritten(here / "u.html", lambda text: text.replace("2.72", "1.11"), reported_by="0.9")
    found = judged(here, "u.parquet", page="u.html", key="")
    assert found.code == 2
    assert any("written by version 0.9" in a.detail for a in found.answers if a.result == "not checkable")
    rewritten(here / "s.html", lambda text: text.replace("2.72", "1.11"), reported_by="0.9")
    assert "s.html, signature: it is not signed" in contradictions(judged(here, "s.parquet", page="s.html"))


def test_what_a_page_is_given_replaces_nothing_that_the_file_says(here: Path) -> None:
    """A page that was written from other facts, and carries them as if they were results that were attached."""
    facts = report_facts(here / "safe.csv")
    facts |= {"about": {}, "signer": None, "promise": {**facts["promise"], "plain": ["This is 0.01-private."]}}
    page = with_facts(report_page(facts, "en"), facts, "en")
    told = {**json.loads(held(page, FACTS)), "given": json.dumps({"promise": facts["promise"]})}
    told["promise"]["plain"] = report_facts(here / "safe.csv")["promise"]["plain"]
    (here / "safe.html").write_text(put(page, FACTS, json.dumps(told)), encoding="utf-8")
    (here / "safe.csv.signature.json").unlink()
    assert judged(here, "safe.csv", page="safe.html", key="").code == 2
    assert "carries no facts that this version can read" in contradictions(judged(here, "safe.csv", page="safe.html"))


def test_shades_are_compared_and_facts_of_any_form_are_refused(here: Path) -> None:
    assert _pieces('<path d="M1.04 2"/>') == _pieces('<path d="M1.01 2"/>')
    assert _pieces('<path fill-opacity="0.41"/>') != _pieces('<path fill-opacity="0.04"/>')
    before = (here / "u.html").read_bytes()
    for odd in ({"behind": 7}, {"behind": {"digest": "x"}}, {"about": {"title": 5}}, {"reported_by": [2]}):
        (here / "u.html").write_bytes(before)
        rewritten(here / "u.html", lambda text: text, **odd)
        assert judged(here, "u.parquet", page="u.html", key="").code == 2
    for name in (".guarantee.json", "safe.csv"):  # no page
        (here / name).touch()
        assert judged(here, "safe.csv", page=name, key="").code == 2


def test_a_renamed_table_needs_the_guarantee_that_was_signed(here: Path) -> None:
    """Also if it is not the first file of its release."""
    key, folder = SigningKey.load(here / "office.key"), here / "x"
    folder.mkdir()
    table, place = folder / "x.csv", promise_place(folder / "x.csv")
    shutil.copy(here / "safe.csv", table)
    named = [(p.name, digest_of(p)) for p in (here / "s.parquet", here / "safe.csv", promise_place(here / "safe.csv"))]
    write_signature(table, key, about="release", files=tuple(named), pages=())
    shutil.copy(promise_place(here / "safe.csv"), place)
    assert judged(here, "x/x.csv").code == 0
    promise = Guarantee.from_json(place.read_bytes())
    stronger = replace(promise, unit="one person").seal(table.read_bytes())
    place.write_text(stronger.to_json(indent=2) + "\n", encoding="utf-8")
    assert "it is not the guarantee that was signed" in contradictions(judged(here, "x/x.csv"))


def test_promises_that_cannot_be_counted_are_not_called_true(here: Path) -> None:
    table, place = here / "safe.csv", promise_place(here / "safe.csv")
    (here / "safe.csv.signature.json").unlink()
    promise = Guarantee.from_json(place.read_bytes())
    rules = promise.parameters["required"]

    def stated(unit: str = "one row", **facts: Any) -> Any:
        told = {name: fact for name, fact in {**promise.parameters, **facts}.items() if fact is not None}
        sealed = replace(promise, unit=unit, parameters=told).seal(table.read_bytes())
        place.write_text(sealed.to_json(indent=2) + "\n", encoding="utf-8")
        return judged(here, "safe.csv", key="")

    assert stated().code == 0
    assert stated(required=None, reached={}).code == stated(required={**rules, "delta_presence": 0.1}).code == 2
    assert "none is promised" in contradictions(stated(required={}, reached={"k": 1000}))
    assert "'required' in a form" in contradictions(stated(required={**rules, "l": {"least": 2, "kind": "new"}}))
    assert "a sentence of someone's own" in contradictions(stated("one row. It is 0.01-private"))
    odd = stated(account=None, earlier_releases="x")
    assert "'earlier_releases' in a form" in contradictions(odd)
    assert judged(here, "safe.csv", account="a.account", key="").code == 1
    assert "\x1b" not in json.dumps(stated("one row\x1b[2J").to_dict(), ensure_ascii=False)
    text = table.read_text(encoding="utf-8")
    table.write_text("\n".join(f"{line},{line}" for line in text.splitlines()), encoding="utf-8")
    assert "several columns of one name" in contradictions(stated())


def test_a_folder_holds_nothing_but_its_table(here: Path) -> None:
    folder, table = here / "t.csv", (here / "safe.csv").read_bytes()
    folder.mkdir()
    (folder / "part-0.csv").write_bytes(table)
    shutil.copy(promise_place(here / "safe.csv"), promise_place(folder))
    assert judged(here, "t.csv", key="").code == 0
    (folder / "_raw.csv").write_text("Ana\n", encoding="utf-8")
    assert "no part of the table: _raw.csv" in contradictions(judged(here, "t.csv", key=""))
    (folder / "inner").mkdir()
    assert "has a folder in it" in contradictions(judged(here, "t.csv", key=""))


def chained(path: Path, change: Any, written: Any = lambda text: text) -> None:
    """Change the lines of an account and chain them again."""
    head, made = "0" * 64, []
    for line in path.read_text(encoding="utf-8").splitlines():
        facts = change({**json.loads(line[:-65]), "after": head})
        text = written(json.dumps(facts, sort_keys=True, separators=(",", ":")))
        head = hashlib.sha256(text.encode()).hexdigest()
        made.append(f"{text} {head}\n")
    path.write_text("".join(made), encoding="utf-8")


def test_an_account_states_the_terms_of_the_file_and_each_line_in_one_way(made: Path, tmp_path: Path) -> None:
    account, safe = tmp_path / "a.account", tmp_path / "safe.csv"
    output("account", "create", account, "--dataset", "people", "--epsilon", 3)
    table = ["anonymize", made / "people.csv", "--schema", made / "schema.toml", "-k", 5]
    output(*table, "-o", safe, "--report", tmp_path / "safe.html", "--account", account)
    assert verify([safe], tmp_path / "safe.html", account).code == 0
    rewritten(tmp_path / "safe.html", lambda text: text.replace("k = 5;", "k = 50;"), account={
        **json.loads(held((tmp_path / "safe.html").read_text(encoding="utf-8"), FACTS))["account"], "price": "k = 50"
    })  # fmt: skip
    assert "another price than a.account had" in contradictions(verify([safe], tmp_path / "safe.html", account))
    good = account.read_bytes()
    chained(account, lambda f: {**f, "terms": {**f["terms"], "k": 999}} if f["kind"] == "book" else f)
    assert "other terms than the file" in contradictions(verify([safe], account=account))
    for old, new in (('"3"', '"6/2"'), ('"3"', '"\u0663"'), ('{"after"', '{ "after"'),
                     ('"asked":{', '"asked":{"x":NaN,'), ('"epsilon":', '"epsilon":"9","epsilon":')):  # fmt: skip
        account.write_bytes(good)
        chained(account, lambda facts: facts, lambda text, a=old, b=new: text.replace(a, b))
        assert "a.account, account: account: line" in contradictions(verify([safe], account=account))


def test_swapped_pages_and_files_are_named(here: Path) -> None:
    assert "page of another file: s.parquet" in contradictions(judged(here, "u.parquet", page="s.html", key=""))
    shutil.copy(here / "u.parquet", here / "s.parquet")
    said = contradictions(judged(here, "s.parquet"))
    assert "s.parquet, signature: it is not the file that was signed under this name" in said


def test_a_resealed_file_with_another_promise_is_named(here: Path) -> None:
    """The seal holds again; page, signature and account do not."""
    place = promise_place(here / "safe.csv")
    promise = Guarantee.from_json(place.read_bytes())
    weaker = {**promise.parameters, "required": {"k": 2}, "reached": {"k": 2}}
    sealed = replace(promise, parameters=weaker).seal((here / "safe.csv").read_bytes())
    place.write_text(sealed.to_json(indent=2) + "\n", encoding="utf-8")
    assert judged(here, "safe.csv", key="").code == 1
    said = contradictions(judged(here, "safe.csv", page="safe.html"))
    assert "safe.csv.guarantee.json, signature: it is not the guarantee that was signed" in said
    assert "the guarantee is not the one that was signed with this file" in said
    assert "the page states another promise than the file" in said
    (here / "safe.csv.signature.json").unlink()
    rewritten(here / "safe.html", lambda text: put(text, SIGNATURE, ""), signer=None)
    assert "another promise than the file" in contradictions(judged(here, "safe.csv", page="safe.html", key=""))
    assert "the account does not know this file" in contradictions(
        judged(here, "safe.csv", account="a.account", key="")
    )


def test_an_account_that_was_cut_back_is_named_if_a_later_head_is_given(here: Path) -> None:
    whole = (here / "a.account").read_text(encoding="utf-8").splitlines(keepends=True)
    head = f"sha256:{whole[-1].split()[-1]}"
    (here / "a.account").write_text("".join(whole[:-2]), encoding="utf-8")  # the second release never happened
    said = contradictions(judged(here, "s.parquet", account="a.account"))
    assert "the head that was signed: it was cut back" in said
    (here / "a.account.signature.json").unlink()
    assert judged(here, "s.parquet", account="a.account").code == 0
    assert "a head that you gave" in contradictions(judged(here, "s.parquet", account="a.account", heads=[head]))
    said = contradictions(judged(here, "u.parquet", page="u.html", account="a.account", key=""))
    assert "the head on the page" in said
    assert "it was cut back" in said
    (here / "a.account").write_text("".join(whole).replace('"1"', '"2"', 1), encoding="utf-8")
    assert "damaged or was edited" in contradictions(judged(here, "s.parquet", account="a.account"))


def test_a_forged_signature_is_named(here: Path) -> None:
    place = here / "s.parquet.signature.json"
    facts = json.loads(place.read_bytes())
    digest_of_u = json.loads(held((here / "u.html").read_text(encoding="utf-8"), FACTS))["file_sha256"]
    facts["statement"]["files"][0]["sha256"] = digest_of_u
    place.write_text(json.dumps(facts), encoding="utf-8")
    shutil.copy(here / "u.parquet", here / "s.parquet")
    assert "not one of this statement" in contradictions(judged(here, "s.parquet"))
    for damage in ({"format_version": 0}, {"more": 1}, {"signature": "00"}, {"format_version": True}):
        place.write_text(json.dumps({**facts, **damage}), encoding="utf-8")
        assert "the signature is damaged" in contradictions(judged(here, "s.parquet"))


def test_another_key_with_the_same_name_is_another_key(here: Path) -> None:
    """A forger signs anew with a key of the same name; names are claims."""
    mine = SigningKey.load(here / "other.key")
    place = here / "s.parquet.signature.json"
    old = Signature.from_json(place.read_bytes()).statement
    signed = mine.sign(**{n: getattr(old, n) for n in old.__dict__ if n not in ("name", "key")})
    place.write_text(json.dumps(signed.to_dict()), encoding="utf-8")
    said = contradictions(judged(here, "s.parquet"))
    assert "calls itself Data office like a key that you named, and is another key" in said
    found = judged(here, "s.parquet", key="")
    assert found.code == 0
    assert any("which is unknown: you named no key" in a.detail for a in found.answers)
    assert "who is unknown to you" in found.rests
    both = [PublicKey.load(here / name) for name in ("office.key.pub", "other.key.pub")]
    found = verify([here / "s.parquet"], keys=both)
    assert any("several of your keys are called Data office" in a.detail for a in found.answers)


def test_a_signature_that_was_taken_away_is_named(here: Path) -> None:
    (here / "s.parquet.signature.json").unlink()
    page = here / "s.html"
    assert judged(here, "s.parquet", page="s.html").code == 0  # it is in the page too
    page.write_text(put(page.read_text(encoding="utf-8"), SIGNATURE, ""), encoding="utf-8")
    assert "no such signature is here" in contradictions(judged(here, "s.parquet", page="s.html", key=""))
    assert "not signed by a key that you named" in contradictions(judged(here, "s.parquet"))


def test_an_older_release_is_not_taken_for_the_newest(here: Path) -> None:
    central = ["synopsis", here / "people.csv", "--schema", here / "schema.toml", "--epsilon", 1, "--overwrite"]
    shutil.copy(here / "s.parquet", here / "old.parquet")
    output(
        *central, "-o", here / "s.parquet", "--account", here / "a.account", "--fresh", "--sign", here / "office.key"
    )
    found = judged(here, "old.parquet", account="a.account", key="")
    assert any("a later release has the same file name: entry 3" in a.detail for a in found.answers)
    assert "not signed" in contradictions(judged(here, "old.parquet"))  # an old signature is about other bytes


def test_names_that_look_alike_are_spelled_out(here: Path) -> None:
    shutil.copy(here / "s.parquet", here / "s.p\u0430rquet")
    shutil.copy(here / "s.parquet.signature.json", here / "s.p\u0430rquet.signature.json")
    found = judged(here, "s.p\u0430rquet")
    assert any("[with U+0430]" in a.about for a in found.answers)
    assert any("it had another name then: s.parquet" in a.detail for a in found.answers)
    key = replace(PublicKey.load(here / "office.key.pub"), name="D\u0430ta\u202eoffice")
    told = verify([here / "s.parquet"], keys=[key]).to_dict()
    assert "U+0430, U+202E" in json.dumps(told, ensure_ascii=False)


def test_what_cannot_be_checked_is_said(made: Path, tmp_path: Path) -> None:
    assert judged(made, "people.csv", key="").code == 2
    shutil.copy(made / "safe.csv", tmp_path / "safe.csv")
    shutil.copy(made / "safe.html", tmp_path / "safe.html")
    found = verify([tmp_path / "safe.csv"], tmp_path / "safe.html")
    assert found.code == 2
    assert any("whose promise cannot be read" in a.detail for a in found.answers)
    (tmp_path / "page.html").write_text("<!doctype html><p>ε = 0.1</p>", encoding="utf-8")
    assert verify([made / "u.parquet"], tmp_path / "page.html").code == 2
    seeded = dc.GridSynopsis(1.0, (0, 1), 2, random_state=1).fit([[0.2], [0.7]]).synopsis_
    seeded.save(tmp_path / "seeded.parquet")
    assert "seeded" in contradictions(verify([tmp_path / "seeded.parquet"]))


def test_every_verb_that_writes_a_release_signs_it(made: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("answer\n" + "yes\nno\n" * 30, encoding="utf-8")
    table, key = ["--schema", made / "schema.toml"], ["--sign", made / "office.key"]
    noisy = ["perturb", made / "people.csv", *table, "--epsilon", 1, "--radius", 5, "--category-epsilon", 1]
    verbs = {
        "noisy.csv": [*noisy, "-o", "noisy.csv", "--report", "noisy.html"],
        "reports.bin": ["sketch", "encode", "answers.csv", "--epsilon", 1, "--domain", "yes,no", "-o", "reports.bin"],
        "syn.synopsis.parquet": ["synthesize", made / "people.csv", *table, "--epsilon", 1, "-o", "syn.csv"],
        "c.parquet": ["cluster", made / "people.csv", *table, "--epsilon", 1, "--columns", "age,hours",
                      "--n-clusters", 2, "-o", "c.csv", "--release", "c.parquet"],
        "r.html": ["report", made / "u.parquet", "-o", "r.html"],
    }  # fmt: skip
    for name, words in verbs.items():
        words = [tmp_path / w if str(w).endswith((".csv", ".bin", ".html", ".parquet")) else w for w in words]
        output(*words, *key)
        near = [*tmp_path.glob("*.signature.json")]
        assert len(near) == 1, name
        given = [made / "u.parquet", tmp_path / name] if name == "r.html" else [tmp_path / name]
        found = verify([*given, *near], keys=[PublicKey.load(made / "office.key.pub")])
        assert found.code == 0, found.to_dict()
        near[0].unlink()
    wrong = run("synopsis", made / "people.csv", *table, "--epsilon", 1, "-o", tmp_path / "x.parquet", "--report",
                "/dev/null", *key, catch=True)  # fmt: skip
    assert "a file if it is to be signed" in str(wrong.exception)


def test_rows_and_the_model_behind_them_are_checked_together(made: Path, tmp_path: Path) -> None:
    account, table = tmp_path / "a.account", ["--schema", made / "schema.toml", "--epsilon", 1]
    output("account", "create", account, "--dataset", "people", "--epsilon", 3)
    more = ["-o", tmp_path / "syn.csv", "--report", tmp_path / "syn.html", "--account", account]
    output("synthesize", made / "people.csv", *table, *more, "--sign", made / "office.key")
    (tmp_path / "answers.csv").write_text("answer\n" + "yes\nno\n" * 30, encoding="utf-8")
    sketch = ["sketch", "encode", tmp_path / "answers.csv", "--epsilon", 1, "--domain", "yes,no"]
    output(*sketch, "-o", tmp_path / "reports.bin", "--account", account)
    rows, model = tmp_path / "syn.csv", tmp_path / "syn.synopsis.parquet"
    key = [PublicKey.load(made / "office.key.pub")]
    found = verify([rows, model], tmp_path / "syn.html", account, key)
    assert found.code == 0, found.to_dict()
    for keys, code in (([], 2), (key, 0)):  # a page that a known key signed is what was signed
        alone = verify([rows], tmp_path / "syn.html", account, keys)
        assert alone.code == code, alone.to_dict()
        assert any("give syn.synopsis.parquet too" in a.detail for a in alone.answers)
    reports = verify([tmp_path / "reports.bin"], account=account)
    assert any("the account knows it as entry 2" in a.detail for a in reports.answers), reports.to_dict()


def test_private_keys_are_encrypted_or_closed_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DISCREET_KEY_PASSPHRASE", "correct horse")
    told = printed(capsys, "key", "create", tmp_path / "a.key", "--name", "Ward 3")
    assert b"ENCRYPTED" in (tmp_path / "a.key").read_bytes()
    key = SigningKey.load(tmp_path / "a.key")
    assert key.public.name == "Ward 3"
    assert key.public.fingerprint in "".join(told.split())
    assert key.public.fingerprint in printed(capsys, "key", "show", tmp_path / "a.key.pub")
    with pytest.raises(FormatError, match="passphrase is wrong"):
        SigningKey.load(tmp_path / "a.key", "battery")
    monkeypatch.delenv("DISCREET_KEY_PASSPHRASE")
    with pytest.raises(DataSourceError, match="set DISCREET_KEY_PASSPHRASE"):
        SigningKey.load(tmp_path / "a.key")
    monkeypatch.setenv("DISCREET_KEY_PASSPHRASE", "")
    assert "the passphrase is empty" in str(run("key", "create", tmp_path / "e.key", catch=True).exception)
    assert not (tmp_path / "e.key").exists()
    output("key", "create", tmp_path / "b.key", "--no-passphrase")
    assert (tmp_path / "b.key").stat().st_mode & 0o077 == 0
    (tmp_path / "b.key").chmod(0o644)
    with pytest.raises(DataSourceError, match="chmod 600"):
        SigningKey.load(tmp_path / "b.key")
    with pytest.raises(DataSourceError, match="already exists"):
        SigningKey.create(tmp_path / "b.key", "", None)


def test_without_the_extra_signatures_are_not_checkable(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    found = judged(made, "s.parquet", page="s.html", key="")
    assert found.code == 2
    assert any(re.search(r"pip install 'discreet\[sign\]'", a.detail) for a in found.answers)
    with pytest.raises(MissingExtra):
        SigningKey.load(made / "office.key")


def test_a_guarantee_is_known_by_its_signed_name_also_if_the_table_was_changed(here: Path) -> None:
    """Table and guarantee are both another's: each is named, not the table alone."""
    shutil.copy(here / "people.csv", here / "safe.csv")
    place = promise_place(here / "safe.csv")
    promise = Guarantee.from_json(place.read_bytes())
    other = replace(promise, unit="one person").seal((here / "safe.csv").read_bytes())
    place.write_text(other.to_json(indent=2) + "\n", encoding="utf-8")
    said = contradictions(judged(here, "safe.csv"))
    assert "safe.csv, signature: it is not the file that was signed under this name" in said
    assert "safe.csv.guarantee.json, signature: it is not the guarantee that was signed" in said


def test_a_promise_that_cannot_be_put_into_words_contradicts_and_does_not_crash(here: Path) -> None:
    """The rules of an anonymous table are read by pages; a forger may state them in any form."""
    table, place = here / "safe.csv", promise_place(here / "safe.csv")
    for path in here.glob("safe*.signature.json"):
        path.unlink()
    promise = Guarantee.from_json(place.read_bytes())
    told = {**promise.parameters, "suppressed": "many", "cuts_by": 7}
    sealed = replace(promise, parameters=told).seal(table.read_bytes())
    place.write_text(sealed.to_json(indent=2) + "\n", encoding="utf-8")
    rewritten(here / "safe.html", lambda text: text, digest=sealed.digest, signer=None)
    assert "the page cannot be written again" in contradictions(judged(here, "safe.csv", page="safe.html", key=""))


@pytest.mark.parametrize("reached", [0, 1, 4])
def test_a_stated_k_below_the_required_one_contradicts(here: Path, reached: int) -> None:
    table, place = here / "safe.csv", promise_place(here / "safe.csv")
    (here / "safe.csv.signature.json").unlink()
    promise = Guarantee.from_json(place.read_bytes())
    told = {**promise.parameters, "reached": {**promise.parameters["reached"], "k": reached}}
    sealed = replace(promise, parameters=told).seal(table.read_bytes())
    place.write_text(sealed.to_json(indent=2) + "\n", encoding="utf-8")
    assert f"k is stated as reached {reached}, required 5" in contradictions(judged(here, "safe.csv", key=""))


def test_a_field_that_occurs_twice_and_other_forms_of_marks_are_not_read(here: Path) -> None:
    """Else one program could read the first field, and another the second."""
    page = here / "safe.html"
    text = page.read_text(encoding="utf-8")
    for change in (('{"format"', '{"file":"x.csv","format"'), ('"safe.csv"', "&quot;safe.csv&quot;")):
        assert change[0] in text
        page.write_text(text.replace(*change, 1), encoding="utf-8")
        assert judged(here, "safe.csv", page="safe.html", key="").code == 2
        assert judged(here, "safe.csv", page="safe.html").code == 1
    place = here / "safe.csv.signature.json"
    place.write_text(place.read_text(encoding="utf-8").replace("{", '{"format": "x",', 1), encoding="utf-8")
    assert "the signature is damaged" in contradictions(judged(here, "safe.csv"))


def test_noise_that_moves_less_than_nothing_does_not_pay_for_itself(here: Path) -> None:
    facts = Synopsis.load(here / "s.parquet").guarantee.to_dict()
    line = facts["ledger"][0]
    draw = next(iter((line["parts"][0] if "parts" in line else line)["draws"]))
    moved = next(name for name in ("l1", "span", "l2_squared") if name in draw)
    for wrong in ("-1", None):
        draw[moved] = wrong
        if wrong is None:
            del draw[moved]
        with pytest.raises(FormatError, match="damaged draw"):
            Guarantee.from_dict(facts)


def test_a_head_on_a_page_counts_also_if_its_file_cannot_be_read(here: Path) -> None:
    """An account that was cut back is named whatever else is wrong."""
    account = here / "a.account"
    account.write_bytes(b"".join(account.read_bytes().splitlines(keepends=True)[:2]))
    for path in here.glob("*.signature.json"):
        path.unlink()
    (here / "s.parquet").write_bytes((here / "s.parquet").read_bytes() + b"x")
    said = contradictions(judged(here, "s.parquet", page="s.html", account="a.account", key=""))
    assert "the head on the page: it was cut back" in said


def resealed(table: Path, **stated: Any) -> None:
    """State other facts, and seal them again, as anyone can."""
    promise = Guarantee.from_json(promise_place(table).read_bytes())
    told = {**promise.parameters, **stated.pop("parameters", {})}
    told = {name: fact for name, fact in told.items() if fact is not None}
    sealed = replace(promise, parameters=told, **stated).seal(b"".join(payload_of(table)))
    promise_place(table).write_text(sealed.to_json(indent=2) + "\n", encoding="utf-8")


@pytest.fixture
def unsigned(here: Path) -> Path:
    """The anonymous table, without its signature."""
    (here / "safe.csv.signature.json").unlink()
    return here


_APART = {"least": 1, "columns": [["age"], ["town"], ["job"], ["hours"]]}


@pytest.mark.parametrize(("required", "reached", "said"), [
    ({"l": {"least": 50}}, {}, "l of illness is 1"),
    ({"t": {"most": 0.0}}, {}, "t of illness is"),
    ({"k": 200, "k_by_columns": _APART}, {}, "k is 5, required 200"),
    ({"k_by_columns": _APART, "l": {"least": 50}}, {}, "l of illness is 1"),
    ({"k_by_columns": _APART}, {"k": 50}, "a k is stated as reached"),
    ({"k_by_columns": _APART}, {"k_by_columns": _APART, "k_of_rows": 50}, "k of whole rows is 5"),
    ({"k": 5}, {"k": 5, "k_by_columns": {**_APART, "least": 250}}, "another kind of k"),
    ({"k": 5}, {"k": 5, "probabilistic_k": 900}, "another kind of k"),
])  # fmt: skip
def test_every_rule_that_a_promise_states_is_counted(
    unsigned: Path, required: dict[str, Any], reached: dict[str, Any], said: str
) -> None:
    """Also l and t without a k, and k of whole rows beside that of groups of columns."""
    resealed(unsigned / "safe.csv", parameters={"required": required, "reached": reached})
    assert said in contradictions(judged(unsigned, "safe.csv", key=""))
    resealed(unsigned / "safe.csv", parameters={"required": {"l": {"least": 1}}, "reached": {}})
    assert judged(unsigned, "safe.csv", key="").code == 0


@pytest.mark.parametrize("role", ["attribute", "target"])
def test_a_column_that_is_not_counted_is_mentioned(unsigned: Path, role: str) -> None:
    """Also if the promise lists no quasi-identifiers, so that they are those of the declaration."""
    place = promise_place(unsigned / "safe.csv")
    facts = json.loads(place.read_bytes())
    del facts["parameters"]["quasi_identifiers"]
    columns = facts["domain"]["columns"]
    columns["age"]["role"] = role
    sealed = Guarantee.from_dict({**facts, "digest": None}).seal((unsigned / "safe.csv").read_bytes())
    place.write_text(sealed.to_json(indent=2) + "\n", encoding="utf-8")
    said = contradictions(judged(unsigned, "safe.csv", key=""))
    assert "column 'age' was passed on, but the promise does not mention it" in said


@pytest.mark.parametrize("unit", ["one row\u202e", "one row\u200b", "one row\nand more"])
def test_a_unit_has_no_marks_that_are_not_seen(unsigned: Path, unit: str) -> None:
    resealed(unsigned / "safe.csv", unit=unit)
    assert "marks that are not seen" in contradictions(judged(unsigned, "safe.csv", key=""))


def test_names_from_others_do_not_turn_the_text_of_a_page(here: Path) -> None:
    facts = report_facts(here / "safe.csv") | {
        "about": {"title": "\u202eYear 12"},
        "file": "s\u2067.csv",
        "signer": None,
    }
    page = report_page(facts, "en")
    assert not {"\u202e", "\u2067"} & {*page}
    assert "\ufffdYear 12" in page


def test_what_a_page_states_for_programs_is_compared_too(here: Path) -> None:
    before = (here / "u.html").read_bytes()
    promise = json.loads(held(before.decode(), FACTS))["promise"]
    for odd, said in (({"bytes": 1}, "the file: bytes"), ({"made_by": "99"}, "made_by"), ({"kind": "rows"}, "kind"),
                      ({"promise": {**promise, "epsilon": True}}, "the file: epsilon")):  # fmt: skip
        (here / "u.html").write_bytes(before)
        rewritten(here / "u.html", lambda text: text, **odd)
        assert said in contradictions(judged(here, "u.parquet", page="u.html", key=""))
    (here / "u.html").write_bytes(before)
    rewritten(here / "u.html", lambda text: text, promise={**promise, "real_epsilon": 0.01})
    assert judged(here, "u.parquet", page="u.html", key="").code == 2
    name = "u.parquet (certified)"
    (here / "u.html").write_bytes(before)
    rewritten(here / "u.html", lambda text: text.replace("u.parquet", name), file=name)
    told = judged(here, "u.parquet", page="u.html", key="").to_dict()["checks"]
    assert any(name in check["detail"] for check in told)


def test_a_signature_next_to_a_file_is_about_it_and_one_alone_shows_nothing(here: Path) -> None:
    shutil.copy(here / "s.parquet.signature.json", here / "u.parquet.signature.json")
    said = contradictions(judged(here, "u.parquet", key=""))
    assert "u.parquet.signature.json, signature: it is not about u.parquet" in said
    assert judged(here, "s.parquet.signature.json").code == 2
    assert judged(here, "a.account.signature.json", account="a.account").code == 0


def test_a_head_needs_its_account(made: Path) -> None:
    head = (made / "a.account").read_text(encoding="utf-8").rstrip("\n")[-64:]
    assert judged(made, "u.parquet", key="", heads=[head]).code == 2
    assert judged(made, "u.parquet", key="", heads=[head], account="a.account").code == 0


@pytest.mark.parametrize("form", [{"delimiter": "ab"}, {"quote": "'"}, {"encoding": "utf-7"}, []])
def test_a_form_of_csv_that_is_unknown_is_not_guessed(unsigned: Path, form: Any) -> None:
    resealed(unsigned / "safe.csv", parameters={"csv": form})
    assert "a form of CSV that is unknown" in contradictions(judged(unsigned, "safe.csv", key=""))


def test_paths_without_a_name_and_links_to_nothing_get_an_answer(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = here / "t.csv"
    folder.mkdir()
    shutil.copy(here / "safe.csv", folder / "part-0.csv")
    shutil.copy(promise_place(here / "safe.csv"), promise_place(folder))
    monkeypatch.chdir(folder)
    assert verify([Path()]).code == 0
    with pytest.raises(DataSourceError, match="cannot read '/'"):
        verify([Path("/")])
    (folder / "_raw").symlink_to(here / "absent")
    assert "no part of the table: _raw" in contradictions(judged(here, "t.csv", key=""))


@pytest.fixture(scope="module")
def drawn(made: Path) -> Path:
    """Synthetic rows, and perturbed ones without bounds."""
    folder = made / "drawn"
    folder.mkdir()
    people = [made / "people.csv", "--schema", made / "schema.toml", "--epsilon", 1]
    output("synthesize", *people, "-o", folder / "syn.csv")
    output("perturb", *people, "--radius", 5, "--category-epsilon", 1, "-o", folder / "noisy.csv")
    return folder


@pytest.mark.parametrize("name", ["syn.csv", "noisy.csv"])
def test_cells_of_drawn_rows_are_of_their_kind(drawn: Path, tmp_path: Path, name: str) -> None:
    table = Path(shutil.copy(drawn / name, tmp_path / name))
    shutil.copy(promise_place(drawn / name), promise_place(table))
    assert verify([table]).code == 0
    rows = csv.read_csv(table)
    wrong = {"Ana Miller": False, float("nan"): False, 1e6: name == "noisy.csv"}
    for value, holds in wrong.items():
        ages = pa.array([value] * rows.num_rows)
        csv.write_csv(rows.set_column(rows.column_names.index("age"), "age", ages), table)
        resealed(table)
        assert (verify([table]).code == 0) is holds
        if not holds:
            assert f"{name}, cells: column 'age'" in contradictions(verify([table]))


def test_rows_need_a_line_that_was_used(drawn: Path, tmp_path: Path) -> None:
    table = Path(shutil.copy(drawn / "syn.csv", tmp_path / "syn.csv"))
    facts = json.loads(promise_place(drawn / "syn.csv").read_bytes())
    line = {"label": "tree", "amount": "1/100", "kind": "sequential", "unused": True}
    facts |= {"ledger": [line], "spent": "1/100", "epsilon": 0.01, "digest": None}
    sealed = Guarantee.from_dict(facts).seal(table.read_bytes())
    promise_place(table).write_text(sealed.to_json(indent=2) + "\n", encoding="utf-8")
    assert "no line of the ledger was used" in contradictions(verify([table]))


def test_parts_of_different_types_are_one_table(drawn: Path, tmp_path: Path) -> None:
    """A part may have whole numbers alone, or none: its columns are of the same kind all the same."""
    folder = tmp_path / "syn.csv"
    folder.mkdir()
    rows = csv.read_csv(drawn / "syn.csv")
    place = rows.column_names.index("age")
    for part, ages in enumerate(([30] * 40, [None] * 40)):
        csv.write_csv(rows.slice(40 * part, 40).set_column(place, "age", pa.array(ages)), folder / f"part-{part}.csv")
    csv.write_csv(rows.slice(80), folder / "part-2.csv")
    shutil.copy(promise_place(drawn / "syn.csv"), promise_place(folder))
    resealed(folder)
    assert verify([folder]).code == 0


def test_a_workbook_and_a_parquet_file_hold_their_table_alone(made: Path, tmp_path: Path) -> None:
    raw = (made / "people.csv").read_bytes()
    people = ["anonymize", made / "people.csv", "--schema", made / "schema.toml", "-k", 5]
    book, table = tmp_path / "safe.xlsx", tmp_path / "safe.parquet"
    for path in (book, table):
        output(*people, "-o", path)
        assert verify([path]).code == 0
    good = table.read_bytes()
    with zipfile.ZipFile(book, "a") as parts:
        parts.writestr("xl/worksheets/sheet2.xml", raw)
    resealed(book)
    assert "holds more than one table" in contradictions(verify([book]))
    footer = 8 + int.from_bytes(good[-8:-4], "little")
    table.write_bytes(good[:-footer] + raw + good[-footer:])
    resealed(table)
    assert "data that its rows do not show" in contradictions(verify([table]))
    table.write_bytes(good)
    kept = pq.read_table(table)
    pq.write_table(kept.replace_schema_metadata({**(kept.schema.metadata or {}), "raw": raw}), table)
    resealed(table)
    assert "data that its rows do not show" in contradictions(verify([table]))
    table.write_bytes(good)
    resealed(table, unit="one person")
    assert "another promise inside" in contradictions(verify([table]))


def test_parts_of_a_folder_keep_their_borders(made: Path, tmp_path: Path) -> None:
    """The seal is over the bytes of all parts: merged ones would have the same, and show the last alone."""
    folder = tmp_path / "safe.parquet"
    folder.mkdir()
    rows = csv.read_csv(made / "safe.csv")
    for part in (0, 1):
        pq.write_table(rows.slice(150 * part, 150), folder / f"part-{part}.parquet")
    shutil.copy(promise_place(made / "safe.csv"), promise_place(folder))
    resealed(folder)
    assert verify([folder]).code == 0
    both = b"".join(payload_of(folder))
    (folder / "part-1.parquet").unlink()
    (folder / "part-0.parquet").write_bytes(both)
    assert "data that its rows do not show" in contradictions(verify([folder]))


_AGES, _DAYS = {"bounds": [0, 1e17]}, {"bounds": ["2020-01-01", "2021-01-01"]}


@pytest.mark.parametrize(("declared", "cells", "k"), [
    (_AGES, ["5", "5.0", "7", "+7e0"], 2),
    (_AGES, ["0.10", "0.1", "7", "7"], 2),
    (_AGES, ["0.1", "0.1000000000000000055", "7", "7"], 1),
    (_AGES, ["9007199254740993.0", "9007199254740992.0", "7", "7.0"], 1),
    (_AGES, ["5", "5", "nan", "NaN"], 1),
    (_AGES, ["5", "5", "1e400", "1e401"], 1),
    (_DAYS, ["2020-01-02", "2020-01-02", "2020-02-02", "2020-02-02"], 2),
    (_DAYS, ["2020-01-02 00:00:00", "2020-01-02T00:00:00", "2020-02-02 00:00:00", "2020-02-02 00:00:00"], 1),
])  # fmt: skip
def test_cells_that_a_reader_sees_apart_are_counted_apart(
    made: Path, tmp_path: Path, declared: dict[str, Any], cells: list[str], k: int
) -> None:
    """Both verifiers count by what is written: exact numbers, else texts."""
    table = tmp_path / "safe.csv"
    table.write_text("\n".join(["age", *cells, ""]), encoding="utf-8")
    facts = json.loads(promise_place(made / "safe.csv").read_bytes())
    column = {**declared, "role": "quasi-identifier", "missing": "own"}
    rules = {"output": "interval", "quasi_identifiers": ["age"], "required": {"k": 2}, "reached": {"k": 2}, "rows": 4}
    facts |= {"digest": None, "parameters": rules, "domain": {"named": True, "columns": {"age": column}}}
    sealed = Guarantee.from_dict(facts).seal(table.read_bytes())
    promise_place(table).write_text(sealed.to_json(indent=2) + "\n", encoding="utf-8")
    found, other = verify([table]), independent().verify([str(table)])
    counted = [a["result"] for a in other.to_dict()["checks"] if a["check"] == "recount"]
    assert (found.code, counted) == ((0, ["holds"]) if k == 2 else (1, ["contradicted"]))
    if k == 1:
        assert "k is 1, required 2" in contradictions(found)


def test_a_long_table_may_have_lines_in_its_cells(made: Path, tmp_path: Path) -> None:
    """A reader of CSV takes blocks of a million bytes, and must not cut a cell in two."""
    table, jobs = tmp_path / "safe.csv", [f"first line\nsecond line of job {i}" for i in (0, 1)]
    table.write_text("job\n" + f'"{jobs[0]}"\n"{jobs[1]}"\n' * 20_000, encoding="utf-8")
    facts = json.loads(promise_place(made / "safe.csv").read_bytes())
    column = {"categories": jobs, "role": "quasi-identifier", "missing": "own"}
    rules = {"quasi_identifiers": ["job"], "required": {"k": 20_000}, "reached": {"k": 20_000}, "rows": 40_000}
    facts |= {"digest": None, "parameters": rules, "domain": {"named": True, "columns": {"job": column}}}
    sealed = Guarantee.from_dict(facts).seal(table.read_bytes())
    promise_place(table).write_text(sealed.to_json(indent=2) + "\n", encoding="utf-8")
    assert verify([table]).code == 0


def test_a_signature_of_another_key_is_not_called_missing(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = judged(made, "safe.csv", page="safe.html", key="other.key.pub")
    theirs = independent().verify([str(made / "safe.csv")], str(made / "safe.html"), keys=[str(made / "other.key.pub")])
    assert found.code == theirs.code == 1
    for told in (json.dumps(found.to_dict()), json.dumps(theirs.to_dict())):
        assert "it is signed by a key that you did not name" in told
        assert "which are signed by a key that you did not name" in told
        assert "no such signature is here" not in told
        assert "not signed" not in told
    unsigned = judged(made, "u.parquet", key="other.key.pub")
    assert "it is not signed by a key that you named" in contradictions(unsigned)
    assert independent().main([str(made / "safe.csv"), "--key", str(made / "office.key")]) == 3
    assert "name the file that ends in .pub" in capsys.readouterr().err


def test_without_cryptography_a_signature_is_not_called_missing(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = independent()
    monkeypatch.setattr(program, "Ed25519PublicKey", None)
    for keys in ([], [str(made / "office.key.pub")]):
        found = program.verify([str(made / "safe.csv")], str(made / "safe.html"), keys=keys)
        told = json.dumps(found.to_dict())
        assert found.code == 2
        assert "its signature was not checked" in told
        assert "not signed" not in told
        assert "no such signature" not in told


def test_rows_that_are_not_read_earn_no_better_verdict(made: Path, tmp_path: Path) -> None:
    """k counts persons who are not in the table: nobody can count it, in no format."""
    people = dc.datasets.people(300, seed=1).table
    people = people.append_column("who", pa.array([f"p{i // 2}" for i in range(300)]))
    csv.write_csv(people, tmp_path / "people.csv")
    schema = (made / "schema.toml").read_text(encoding="utf-8")
    (tmp_path / "s.toml").write_text(schema + '\n[columns.who]\nrole = "person"\n', encoding="utf-8")
    how = ["--schema", tmp_path / "s.toml", "-k", 4, "--l", 2, "--sign", made / "office.key"]
    for name in ("t.csv", "t.parquet"):
        table = tmp_path / name
        output("anonymize", tmp_path / "people.csv", *how, "-o", table)
        ours = verify([table], keys=[PublicKey.load(made / "office.key.pub")])
        theirs = independent().verify([str(table)], keys=[str(made / "office.key.pub")])
        assert ours.code == theirs.code == 2, name
        assert "k = 4, l = 2 (distinct" in theirs.promises[0]["promise"]
        advice = "ask its maker for the table with hashed identifiers (--hash-key), by which k is counted"
        assert advice in json.dumps(ours.to_dict())
    (tmp_path / "secret").write_text("sixteen bytes or more")
    table = tmp_path / "hashed.csv"
    output("anonymize", tmp_path / "people.csv", *how[:4], "--hash-key", tmp_path / "secret", "-o", table)
    assert verify([table]).code == 0
    unit = '\n[columns.who]\nrole = "person"\n[unit]\nperson = "who"\nrows = 2\n'
    (tmp_path / "s.toml").write_text(schema + unit, encoding="utf-8")
    output("anonymize", tmp_path / "people.csv", *how[:6], "--hash-key", tmp_path / "secret", "-o", table)
    told = str(verify([table]).to_dict())
    assert "l counts persons, and by hashed identifiers only k is counted;" in told
    assert "whom the table does not identify" not in told
    german = report_page(report_facts(table), "de")
    assert "l zählt Personen, und nach gehashten Kennungen wird nur k gezählt" in german


def test_files_that_belong_together_are_not_called_strangers(made: Path, tmp_path: Path) -> None:
    """The page of synthetic rows also describes the synopsis behind them, and one signature names both."""
    rows, model, page = tmp_path / "syn.csv", tmp_path / "syn.synopsis.parquet", tmp_path / "syn.html"
    words = ["--schema", made / "schema.toml", "--epsilon", 1, "--columns", "age", "--sign", made / "office.key"]
    output("synthesize", made / "people.csv", *words, "-o", rows, "--report", page)
    keys = [PublicKey.load(made / "office.key.pub")]
    assert verify([rows, model], page, keys=keys).code == 0
    for given in (keys, []):
        found = verify([model], page, keys=given)
        theirs = independent().verify([str(model)], str(page), keys=[str(made / "office.key.pub")] * len(given))
        assert found.code == theirs.code == 2, found.to_dict()
        for answers in (found.to_dict()["checks"], theirs.answers):
            said = next(a["detail"] for a in answers if a["check"] == "page")
            assert said.endswith("it is the page of syn.csv, which belongs to what you gave; give that file too")
    other = verify([made / "s.parquet"], page, keys=keys)
    assert "the page of another file: syn.csv" in contradictions(other)


@pytest.mark.parametrize(("name", "option"), [("s.html", "--page"), ("a.account", "--account")])
def test_a_page_or_an_account_as_the_file_is_sent_to_its_option(
    made: Path, capsys: pytest.CaptureFixture[str], name: str, option: str
) -> None:
    assert exit_code("verify", made / name) == 3
    assert f"give it with {option}" in capsys.readouterr().err
    assert independent().main([str(made / name)]) == 3
    assert f"give it with {option}" in capsys.readouterr().err


def test_an_edited_price_is_said_in_decimals(here: Path) -> None:
    rows = ["synthesize", here / "people.csv", "--schema", here / "schema.toml", "--epsilon", 1, "--delta", 1e-6]
    output(*rows, "--columns", "age", "-o", here / "syn.csv")
    place = here / "syn.csv.guarantee.json"
    stated = json.loads(place.read_text(encoding="utf-8"))
    place.write_text(json.dumps({**stated, "epsilon": 0.5}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    said = contradictions(judged(here, "syn.csv", key=""))
    assert "the guarantee does not add up: epsilon is 1, and 0.5 is stated" in said
    assert "/" not in said


def test_a_signature_is_not_called_a_page(here: Path) -> None:
    told = "".join(output("report", here / "safe.csv", "-o", here / "p.html", "--sign", here / "office.key").split())
    assert f"Page{here / 'p.html'}(openitinabrowser)" in told
    assert f"Signature{here / 'p.html.signature.json'}" in told
    assert told.count("openitinabrowser") == 1


def test_a_promise_without_its_last_line_feed_was_changed(here: Path) -> None:
    place = promise_place(here / "safe.csv")
    place.write_bytes(place.read_bytes().rstrip(b"\n"))
    assert "its layout is not the original one" in contradictions(judged(here, "safe.csv", key=""))
    assert independent().verify([str(here / "safe.csv")]).code == 1


def test_a_signature_that_was_copied_into_another_page_contradicts(here: Path) -> None:
    signed = held((here / "s.html").read_text(encoding="utf-8"), SIGNATURE)
    page = put((here / "u.html").read_text(encoding="utf-8"), SIGNATURE, signed)
    (here / "u.html").write_text(page, encoding="utf-8")
    for files in (["u.parquet"], ["s.parquet", "s.html", "u.parquet"]):
        said = contradictions(judged(here, *files, key="", page="u.html"))
        assert "u.html, signature: the signature in it is not about it" in said
        theirs = independent().verify([str(here / file) for file in files], str(here / "u.html"))
        assert any(a["about"] == "u.html" and a["result"] == "contradicted" for a in theirs.answers)


def test_a_later_format_is_not_checkable(here: Path) -> None:
    place = promise_place(here / "safe.csv")
    (here / "safe.csv.signature.json").unlink()
    place.write_text(place.read_text(encoding="utf-8").replace('"format_version": 2', '"format_version": 9'), "utf-8")
    found = judged(here, "safe.csv", key="")
    assert (found.code, "upgrade discreet" in str(found.to_dict())) == (2, True)
    assert independent().verify([str(here / "safe.csv")]).code == 2


def test_a_table_names_the_columns_of_its_groups_and_what_no_file_shows(made: Path) -> None:
    found = judged(made, "safe.csv", key="")
    assert re.search(r"Groups are formed by age, \w+", found.promises[0]["promise"])
    assert "quasi-identifiers" in found.rests
    assert "noise" not in found.rests
    assert "noise" in judged(made, "u.parquet", key="").rests
    both = judged(made, "safe.csv", "u.parquet", key="").rests
    assert "noise" in both
    assert "quasi-identifiers" in both
    theirs = independent().verify([str(made / "safe.csv")])
    assert "Groups are formed by age" in theirs.promises[0]["promise"]
    assert "quasi-identifiers" in theirs.rests


def test_noise_that_was_drawn_elsewhere_is_not_vouched_for(tmp_path: Path) -> None:
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("a count of our own", 0.5)
    promise = Guarantee.from_ledger(ledger, model="central")
    assert "drawn outside of Discreet" in str(promise)
    assert "entropy" not in str(promise)
    (tmp_path / "p.json").write_text(promise.to_json(), encoding="utf-8")
    found = judged(tmp_path, "p.json", key="")
    assert [(a.result, a.detail[:21]) for a in found.answers if a.name == "draws"] == [
        ("not checkable", "not checkable: 1 step")
    ]
    assert [a.result for a in found.answers if a.name == "seed"] == ["note"]
    theirs = independent().verify([str(tmp_path / "p.json")])
    assert (found.code, theirs.code) == (2, 2)
    assert not [a for a in theirs.answers if a["check"] == "draws"]


def test_hashed_persons_are_counted_and_nothing_else_was_promised(tmp_path: Path) -> None:
    rows = "".join(f"{i // 2},{30 + i % 4},{'ab'[i // 2 % 2]}\n" for i in range(80))
    (tmp_path / "t.csv").write_text("who,age,ill\n" + rows)
    (tmp_path / "s.toml").write_text(
        '[unit]\nperson = "who"\nrows = 2\n[columns.who]\nrole = "person"\n[columns.age]\nbounds = [0, 120]\n'
        'role = "quasi-identifier"\n[columns.ill]\ncategories = ["a", "b"]\nrole = "sensitive"\n'
    )
    (tmp_path / "hk").write_text("a secret of many letters")
    words = ["--schema", tmp_path / "s.toml", "--k", 5, "--hash-key", tmp_path / "hk"]
    for more, code in (((), 0), (("--l", 2), 2)):
        output("anonymize", tmp_path / "t.csv", *words, *more, "-o", tmp_path / "safe.csv", "--overwrite")
        found = judged(tmp_path, "safe.csv", key="")
        assert found.code == code, found.to_dict()
        counted = [
            a["result"] for a in independent().verify([str(tmp_path / "safe.csv")]).answers if a["check"] == "recount"
        ]
        assert counted == [["holds"], ["not checked"]][code // 2]
