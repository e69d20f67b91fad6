"""Evidence: a report under a policy of its own, audits and attacks on demand, a page to sign, a digest to publish."""

import base64
import hashlib
import re
import shutil
import time
from pathlib import Path

import pytest

from discreet.core import SigningKey
from discreet.jobs import Job
from discreet.reporting import verdict, verify
from discreet.studio.checks import Check, attack_job, attackable, checks_of, owner
from discreet.studio.released import collect, kept_facts, release_of
from discreet.studio.runs.offer import history_of
from discreet.studio.runs.run import Run, blank
from discreet.studio.screens.evidence import audits_now
from discreet.studio.words import speaker
from discreet.studio.workspace import Workspace
from discreet.synopses import Synopsis
from studio_client import browser
from studio_runs import COLUMNS, QUASI, every_kind, finished, people, released

PLANE = {name: COLUMNS[name] for name in ("x", "y")}


def test_a_report_allows_its_own_style_by_digest_and_nothing_else(grid):
    home, project = grid
    with browser(home) as client:
        page = client.get(f"/p/{project.id}/evidence/1/report")
        file = client.get(f"/p/{project.id}/evidence/1/report.html")
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    style = page.text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy["default-src"] == "'none'"
    assert policy["style-src"] == f"'sha256-{digest}'"
    assert "script-src" not in policy
    assert "<script" not in page.text
    assert "style=" not in page.text  # no digest would allow it
    assert page.headers["cache-control"] == "no-store"
    assert file.headers["content-disposition"] == 'attachment; filename="s.parquet.report.html"'
    assert file.text == page.text


def test_what_is_said_about_a_release_stands_in_its_report_and_on_the_page_to_sign(grid):
    home, project = grid
    here = f"/p/{project.id}/evidence/1"
    said = {"title": "Beds <2026>", "owner": "Ward 3", "purpose": "Planning", "date": "2026-01-31"}
    with browser(home) as client:
        client.post(f"{here}/about", data=said)
        page = client.post(f"{here}/about", data={"name": "A. Example", "date": "2026-02-01", "then": "sign"})
        report = client.get(f"{here}/report").text
    assert page.url.path.endswith("/sign")
    digest = Synopsis.load(release_of(project, "1").file).digest
    for text in ("Beds &lt;2026&gt;", "Ward 3", "A. Example", "2026-02-01", digest, "ε = 1", "must not be published"):
        assert text in page.text
    assert "Beds &lt;2026&gt;" in report
    assert "Beds <2026>" not in report + page.text


def test_the_digest_to_publish_is_the_seal_of_the_file(grid):
    home, project = grid
    with browser(home) as client:
        text = client.get(f"/p/{project.id}/evidence").text
    assert f'value="{Synopsis.load(release_of(project, "1").file).digest}"' in text
    assert "discreet audit s.parquet" in text
    assert "The noise was seeded" in text


def test_a_project_that_begins_with_a_release_has_evidence_at_once(grid, tmp_path):
    _, project = grid
    file = shutil.copy(release_of(project, "1").file, tmp_path / "theirs.parquet")
    made = Workspace(tmp_path / "studio").create(artifact=str(file))
    collect(release_of(made, ""))
    with browser(tmp_path / "studio", language="de") as client:
        page = client.get(f"/p/{made.id}/evidence")
        shown = client.get(f"/p/{made.id}/results/0")
    assert "Das Siegel ist unversehrt" in page.text
    assert shown.text.count("<svg") == 3


def test_a_changed_table_is_not_believed(tmp_path):
    project = released(tmp_path, "anonymize", {"k": 10}, {"release": "safe.csv"}, QUASI)
    file = release_of(project, "1").file
    file.write_text(file.read_text().replace("low", "high", 1))
    collect(release_of(project, "1"))
    with browser(tmp_path / "studio") as client:
        text = client.get(f"/p/{project.id}/evidence").text
    assert "The seal is broken" in text
    assert "Nothing that can be relied on" in text


@pytest.fixture(scope="module")
def passing_on(tmp_path_factory):
    """Return a table whose column x, in which nearly no one is like another, is passed on as it is; audited."""
    home = tmp_path_factory.mktemp("kept")
    columns = {**QUASI, "x": {"bounds": [0, 10]}}
    project = released(home, "anonymize", {"k": 10, "keep": ["x"]}, {"release": "safe.csv"}, columns)
    release = release_of(project, "1")
    collect(release)
    release.folder.mkdir(exist_ok=True)
    finished(owner(project, release), Job("audit", str(release.file)))
    return home / "studio", project


@pytest.mark.parametrize("language", ["en", "de"])
def test_columns_passed_on_are_warned_of_before_and_after(passing_on, language):
    home, project = passing_on
    told = {
        "en": ("Released unchanged: x", "100 % of the rows are unique", "No violation was found", "holds, but weigh"),
        "de": (
            "Unverändert freigegeben: x",
            "100 % der Zeilen sind einmalig",
            "Kein Verstoß gefunden",
            "hält, aber abwägen",
        ),
    }
    raw = {"en": "are released unchanged: x", "de": "werden unverändert freigegeben: x"}[language]
    names, unique, nothing, weigh = told[language]
    with browser(home, language=language) as client:
        evidence, results, plan, release = (
            client.get(f"/p/{project.id}/{page}").text for page in ("evidence", "results/1", "plan", "release")
        )
    for page in (evidence, results):
        assert names in page
        assert unique in page
    assert nothing not in evidence
    assert 'class="answer warn"' in evidence
    assert weigh in evidence
    reveal = {"en": "groups that reveal their income", "de": "Gruppen, die ihren Wert in income verraten"}
    assert reveal[language] in evidence  # as the report says it
    assert raw in plan
    assert raw in release


def test_the_sentence_to_sign_counts_what_was_left_to_judge(passing_on, monkeypatch):
    home, project = passing_on
    found = checks_of(project, release_of(project, "1"))[0].figures
    open_check = {"check": "recount", "holds": None, "detail": "not checkable: k counts persons"}
    held = sum(c["holds"] is True for c in found["checks"])
    with browser(home) as client:
        evidence = client.get(f"/p/{project.id}/evidence").text
        assert "does not apply" in evidence  # a table without a budget has no ledger, and that is nothing to judge
        assert "for you to judge" not in evidence
        more = {**found, "checks": [*found["checks"], open_check]}
        monkeypatch.setattr(Check, "figures", property(lambda self: more))
        page = client.get(f"/p/{project.id}/evidence/1/sign").text
        evidence = client.get(f"/p/{project.id}/evidence").text
    assert f"{held} checks passed, 1 were left for me to judge" in page
    assert "all that was checked holds" not in page
    assert "1 for you to judge" in evidence
    assert "k counts persons" in page  # what was left is on the page that is signed
    assert "this promise has no privacy budget" not in page
    assert "at least 10 rows" in page
    assert "100 % of the rows are unique" in page
    assert page.index("The promise holds if:") < page.index("an attacker knows nothing of a person from column x")


def test_a_table_of_one_group_names_the_releases_it_was_checked_with_until_they_are_said_to_be_inside(tmp_path):
    rows = "".join(f"p{i},{20 + i % 60},{i * 37 % 101},{i}\n" for i in range(200)) + "p200,30,50,\n"
    table = tmp_path / "t.csv"
    table.write_text(f"who,age,size,cost\n{rows}")
    columns = {
        "who": {"categories": [f"p{i}" for i in range(201)], "role": "person"},
        "age": {"bounds": [20, 80], "kind": "integer", "role": "quasi-identifier"},
        "cost": {"bounds": [0, 199], "role": "sensitive"},
    }
    other = {**columns, "size": {"bounds": [0, 101], "kind": "integer", "role": "quasi-identifier"}}
    del other["age"]
    project = Workspace(tmp_path / "studio").create(source=str(table), goal="anonymize", parameters={"k": 5})
    given = {"k": 5, "history": str(history_of(project).folder)}
    first = finished(project, Job("anonymize", str(table), columns, given, {"release": "safe.csv"}))
    # Any split by size would single people out by their age.
    job = Job("anonymize", str(table), other, given, {"release": "safe.csv"})
    project.schema_file.write_text(job.schema.to_toml())
    finished(project, job)
    for number in ("1", "2"):
        collect(release_of(project, number))
    here = f"/p/{project.id}"
    with browser(tmp_path / "studio") as client:
        fine, coarse = client.get(f"{here}/results/1").text, client.get(f"{here}/results/2").text
        evidence, plan = client.get(f"{here}/evidence?run=2").text, client.get(f"{here}/plan").text
        release = client.get(f"{here}/release").text
    assert "form one group" not in fine
    assert "hecked together" not in fine
    for page in (coarse, evidence):
        assert "All 201 rows form one group" in page
        assert f'<a href="{here}/release/1">Run 1</a>' in page
    assert 'class="answer bad"' in evidence
    assert "Everyone hides among 201 persons" in evidence
    assert "Among how many persons does everybody hide?" in plan
    assert "Everyone hides among k persons" in release
    assert "checked together with the earlier releases about the same people" in release
    assert ",199\n" in (first / "safe.csv").read_text()  # as declared,
    assert len((first / "safe.csv").read_text().splitlines()) == 202  # and without a value
    tables = [str(project.runs / n / "safe.csv") for n in ("1", "2")]
    history = history_of(project)
    with browser(tmp_path / "studio") as client:
        client.post(f"{here}/release/1/never")  # not ticked
        assert (first / "safe.csv").exists()
        assert [entry.table for entry in history.entries] == tables
        page = client.post(f"{here}/release/1/never", data={"sure": "yes"}).text
        assert "as never handed out; the table was deleted" in page
        assert client.get(f"{here}/release/1/file/release").status_code == 404
        assert not (first / "safe.csv").exists()
        assert [entry.table for entry in history.entries] == tables  # the second was checked with it and counts
        client.post(f"{here}/release/2/never", data={"sure": "yes"})
        assert history.entries == []
        release = client.get(f"{here}/release").text
    assert release.count("never handed out") == 2
    assert "No earlier release about these people is known here" in release


def test_a_first_table_is_not_said_to_be_checked_with_others(tmp_path):
    (tmp_path / "t.csv").write_text("who,age\n")
    project = Workspace(tmp_path / "studio").create(
        source=str(tmp_path / "t.csv"), goal="anonymize", parameters={"k": 5}
    )
    columns = {
        "who": {"categories": ["a", "b"], "role": "identifier"},
        "age": {"bounds": [20, 80], "role": "quasi-identifier"},
    }
    project.schema_file.write_text(
        Job("anonymize", "t.csv", columns, {"k": 5}, {"release": "safe.csv"}).schema.to_toml()
    )
    with browser(tmp_path / "studio") as client:
        page = client.get(f"/p/{project.id}/release").text
    assert "No earlier release about these people is known here" in page
    assert "Everyone hides among k rows" in page


def test_an_audit_speaks_for_the_file_it_read_and_for_no_other():
    def audit(number, file, digest, passed=True):
        run = Run(
            Path(str(number)),
            {**blank(), "state": "done", "figures": {"file": file, "digest": digest, "passed": passed}},
        )
        return Check(run, "audit")

    seals = [("rows.csv", "sha256:a"), ("s.parquet", "sha256:b")]
    rows, model = audit(1, "rows.csv", "sha256:a"), audit(2, "s.parquet", "sha256:b")
    assert audits_now([], seals)[1] == "not_audited"
    assert audits_now([rows], seals)[1] == "partly"
    assert audits_now([model, rows], seals)[1] == "audited"
    assert (
        audits_now([model, audit(3, "rows.csv", "sha256:old")], seals)[1] == "partly"
    )  # of a file that was there before
    assert audits_now([audit(4, "rows.csv", "sha256:a", passed=False), model], seals)[1] == "refused"


def test_a_damaged_release_is_refused_in_words_and_can_be_audited(grid, tmp_path, monkeypatch):
    _, project = grid
    data = bytearray(release_of(project, "1").file.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "theirs.parquet").write_bytes(data)
    made = Workspace(tmp_path / "studio").create(artifact=str(tmp_path / "theirs.parquet"))

    def in_place(project, release):
        return collect(release)  # a process of its own takes seconds

    monkeypatch.setattr("discreet.studio.released._collected", in_place)
    with browser(tmp_path / "studio") as client:
        page = client.get(f"/p/{made.id}/evidence")
        assert page.status_code == 200
        assert "theirs.parquet is not reliable" in page.text
        assert f'action="/p/{made.id}/evidence/0/audit"' in page.text
        assert "data-refresh" not in page.text
        (tmp_path / "theirs.parquet").unlink()
        assert "Nothing was released here yet" in client.get(f"/p/{made.id}/evidence").text


def test_an_attack_says_next_to_the_field_what_it_lacks_and_reads_nothing_before(grid):
    home, project = grid
    with browser(home) as client:
        page = client.post(
            f"/p/{project.id}/evidence/1/attack", data={"method": "attribute", "against": "/absent.csv", "control": ""}
        )
    assert page.status_code == 400
    for name in ("sure", "against", "control"):
        assert f'aria-describedby="wrong-{name}"' in page.text
        assert f'id="wrong-{name}"' in page.text
    assert 'value="/absent.csv"' in page.text
    assert not (release_of(project, "1").folder / "runs").exists()


def test_attacks_are_offered_by_what_was_released(grid):
    _, project = grid
    release = release_of(project, "1")
    facts = kept_facts(release)
    assert attackable(facts) == ("membership", "attribute")
    job = attack_job(project, release, facts, {"method": "membership", "against": "/a.csv", "control": "/b.csv"})
    assert job.parameters == {"method": "membership", "against": "/a.csv", "control": "/b.csv"}
    assert attackable({**facts, "kind": "anonymous table"}) == ()


def test_without_a_release_there_is_nothing_to_show(tmp_path):
    project = Workspace(tmp_path / "studio").create(source="people.csv")
    with browser(tmp_path / "studio") as client:
        assert "Nothing was released here yet" in client.get(f"/p/{project.id}/evidence").text
        assert client.get(f"/p/{project.id}/evidence/1/report").status_code == 400


def _ended(client, address: str) -> str:
    for _ in range(120):
        text = client.get(address).text
        if "data-refresh" not in text:
            return text
        time.sleep(0.5)
    raise AssertionError("it did not end")


@pytest.mark.slow
def test_audits_risks_and_attacks_are_made_by_processes_of_their_own_and_stand_in_the_report(tmp_path):
    for kind, project in every_kind(tmp_path).items():
        release = release_of(project, "1")
        others = people(tmp_path / kind / "others.csv", 400, seed=2)
        here = f"/p/{project.id}/evidence/1"
        with browser(tmp_path / kind / "studio") as client:
            client.post(f"{here}/audit", data={"file": release.file.name})
            text = _ended(client, f"/p/{project.id}/evidence")
            assert re.search(r'chip good">holds', text), kind
            if kind == "anonymize":
                client.post(f"{here}/risk")
                text = _ended(client, f"/p/{project.id}/evidence")
                assert "The person who is easiest to find" in text
            elif kind == "sketch":
                assert f'{here}/attack"' not in text
                continue
            else:
                given = {"method": "membership", "against": project.source, "control": str(others), "sure": "yes"}
                client.post(f"{here}/attack", data=given)
                text = _ended(client, f"/p/{project.id}/evidence")
                assert "on people not in it" in text, kind
                assert "whisker" in text, kind
            report = client.get(f"{here}/report").text
            client.studio.supervisor.close()
        assert "<h2>Audits</h2>" in report, kind
        assert "<h2>Attacks</h2>" in report, kind


#: Words of English sentences that no German page has.
_ENGLISH = re.compile(r"\b(the|is|are|and|with|must|try|that|this|which|from|by)\b")


@pytest.mark.slow  # the pages of releases in German are those of reporting/test_languages.py
def test_a_german_studio_speaks_german_on_every_screen(tmp_path):
    """Data, columns, goal, plan, release, results, evidence, report and signature, for every goal."""
    left = set()
    for kind, project in every_kind(tmp_path).items():
        release = release_of(project, "1")
        collect(release)
        release.folder.mkdir(exist_ok=True)
        finished(owner(project, release), Job("audit", str(release.file)))
        if kind == "anonymize":
            finished(owner(project, release), Job("risk", str(release.file)))
        here = ("data", "columns", "goal", "plan", "account", "release", "release/1", "results/1", "evidence",
                "evidence/1/sign", "evidence/1/report")  # fmt: skip
        with browser(project.folder.parent, language="de") as client:
            for place in here:
                page = client.get(f"/p/{project.id}/{place}").text
                for tag in ("style", "script", "code", "pre", "textarea", "tbody", "td"):
                    marked = "" if tag[0] != "t" or tag == "textarea" else '[^>]* translate="no"'
                    page = re.sub(rf"<{tag}{marked}.*?</{tag}>", "", page, flags=re.S)
                left |= {(kind, place, text) for text in re.findall(r">([^<>]+)<", page) if _ENGLISH.search(text)}
    # Examples of questions are written in the language of questions.
    assert not {each for each in left if " between " not in each[2]}


@pytest.mark.parametrize("language", ["en", pytest.param("de", marks=pytest.mark.slow)])
def test_the_report_of_every_release_is_signed_by_the_key_of_the_studio_and_can_be_verified(tmp_path, language):
    """Written again from the file, the page shows the same; the signature in it covers file, guarantee and page."""
    key = SigningKey.create(tmp_path / "office.key", "Data office", None)
    for kind, project in every_kind(tmp_path).items():
        release = release_of(project, "1")
        files = [release.file, *([release.files["table"]] if "table" in release.files else [])]
        collect(release)
        with browser(project.folder.parent, language) as client:
            told = {}
            for signer in (None, key):
                client.studio.key = signer
                page = tmp_path / f"{kind}-{signer is None}.html"
                page.write_text(client.get(f"/p/{project.id}/evidence/1/report.html").text, encoding="utf-8")
                known = [] if signer is None else [key.public]
                told[signer] = verify(files, page, keys=known)
        for signer, found in told.items():
            wrong = [a for a in found.answers if a.result == "contradicted" and a.name != "seed"]
            assert not wrong, (kind, wrong)
            text = [a.result for a in found.answers if a.name == "text"]
            assert text == ["holds"], (kind, found.to_dict())
            signed = [a.about for a in found.answers if a.name == "signature" and a.result == "holds"]
            assert len(signed) == (0 if signer is None else len(files) + 1), (kind, signed)


def test_every_check_of_a_release_has_a_name_on_the_page():
    """A finding without one would be shown as a fault of the studio."""
    named = re.findall(r'found\.add\(\s*"(\w+)"', Path(verdict.__file__).read_text(encoding="utf-8"))
    assert {"cells", "draws", "promise", "seal"} <= set(named)
    for language in ("en", "de"):
        assert all(speaker(language)(f"evidence.check_{name}") for name in named)
