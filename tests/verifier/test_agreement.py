"""The verifier in `verifier/`, which does not use Discreet, and `discreet verify` come to the same verdict."""

from __future__ import annotations

import ast
import json
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from chromium_browser import opened
from command_line import output, printed
from discreet import Account, Domain, GridSynopsis, Person
from discreet.anonymity import DensityTree
from discreet.core import Guarantee
from discreet.metric import NDLaplace
from discreet.reporting import verify
from evidence_damage import PLACE, Case, PageProgram, compare, damaged, given_files, independent, reseal
from evidence_releases import Base, make

VECTORS = json.loads((PLACE.parents[1] / "docs" / "evidence-vectors.json").read_text(encoding="utf-8"))
SOME = (
    "grid", "synthetic", "noisy-german", "first", "again", "missing", "german", "hashed", "kept", "reports"
)  # fmt: skip


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> list[Base]:
    return make(tmp_path_factory.mktemp("released") / "bases", SOME)


def test_it_is_one_short_file_that_needs_the_standard_library_alone() -> None:
    text = PLACE.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 995
    tree = ast.parse(text, feature_version=(3, 9))
    named = {n.module if isinstance(n, ast.ImportFrom) else a.name for n in ast.walk(tree)
             if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names}  # fmt: skip
    roots = {str(name).partition(".")[0] for name in named}
    assert roots - set(sys.stdlib_module_names) == {"cryptography"}


def test_the_vectors_of_the_page_hold() -> None:
    v = independent()
    for seal in VECTORS["seals"]:
        guarantee = v.parsed(seal["guarantee"])
        assert v.seal(guarantee, seal["payload"].encode()) == seal["digest"]
        assert v.canonical({n: x for n, x in guarantee.items() if n != "digest"}).decode() == seal["canonical"]
    for line in VECTORS["ledger"]:
        wrong: dict[str, list[str]] = {"ledger": [], "draws": []}
        v.line_cost(v.parsed(json.dumps(line["line"])), line["accounting"], wrong, [])
        assert (wrong == {"ledger": [], "draws": []}) == line["holds"], line
    for one in VECTORS["rho"]:
        assert v.epsilon_of_rho(float(Fraction(one["rho"])), one["delta"]) == pytest.approx(one["epsilon"], rel=1e-12)
    for account in VECTORS["accounts"]:
        if account["holds"]:
            found = v.Account(account["text"].encode())
            assert ("sha256:" + [*found.ends][-1], str(found.limit - found.spent)) == (account["head"], account["left"])
        else:
            with pytest.raises(v.Wrong):
                v.Account(account["text"].encode())
    for signature in VECTORS["signatures"]:
        assert v.Signature(json.dumps(signature["signature"])).bytes().hex() == signature["bytes"]
    text = VECTORS["page"]["text"]
    assert v.sha256(v.page_part(text, "signature")[1].encode()) == VECTORS["page"]["signed_digest"]


def test_the_releases_of_the_page_get_their_codes(tmp_path: Path) -> None:
    for i, release in enumerate(VECTORS["releases"]):
        folder = tmp_path / str(i)
        folder.mkdir()
        for name, text in release["files"].items():
            (folder / name).write_text(text, encoding="utf-8")
        words = [str(folder / "safe.csv"), "--key", str(folder / "office.key.pub")]
        assert independent().main(words) == release["code"]


@pytest.mark.slow
def test_both_agree_on_random_damages(bases: list[Base], tmp_path: Path) -> None:
    """The same on 10,000 cases: `python tests/verifier/agreement.py 10000`."""
    for i in range(40):
        chance = random.Random(f"suite-{i}")
        case = damaged(chance.choice(bases), bases, tmp_path / "case", chance)
        wrong, theirs, ours = compare(case)
        assert not wrong, (case.done, wrong, theirs, ours)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_page_comes_to_the_same_answers_as_the_program(bases: list[Base], tmp_path: Path) -> None:
    """Check by check, in node; a slow test does the same in a browser."""
    page = PageProgram()
    for i in range(25):
        chance = random.Random(f"page-{i}")
        case = damaged(chance.choice(bases), bases, tmp_path / "case", chance)
        given = case.given()
        theirs = independent().verify([case.path(name) for name in case.files], *given.values()).to_dict()
        assert not page.differences(case, theirs), (case.done, theirs)
    page.close()


def test_the_result_of_the_long_run_is_the_one_in_the_docs() -> None:
    """It is made by `python tests/verifier/agreement.py`, in parts."""
    found = json.loads((Path(__file__).parent / "agreement.json").read_text(encoding="utf-8"))
    assert found["disagreements"] == found["crashes"] == 0
    said = (PLACE.parents[1] / "docs" / "evidence-checks.md").read_text(encoding="utf-8")
    assert f"{found['damaged']:,} damages of {found['releases']} releases" in said
    assert f"({found['pages']:,} of them in node)" in said


_ODD = [b"", b"{}", b"  {", b"[", bytes(10), b"PAR1", b"PAR1PAR1", b"DSCL", b"DSCL\x01", b"DSCL\x01" + bytes(20),
        b"<!doctype html>", b"\xef\xbb\xbf{}", b"\xff\xfe{"]  # fmt: skip


@pytest.mark.parametrize("data", _ODD)
def test_files_that_are_nothing_at_all_are_judged_alike(bases: list[Base], tmp_path: Path, data: bytes) -> None:
    """As a release, a page, an account and a signature; nothing crashes, and both give the same code."""
    base = next(b for b in bases if b.folder.name == "kept")
    shutil.copytree(base.folder, tmp_path / "here")
    table, odd = tmp_path / "here" / "safe.csv", tmp_path / "here" / "odd"
    signature = tmp_path / "here" / "other.signature.json"
    odd.write_bytes(data)
    signature.write_bytes(data)
    cases: list[dict[str, Any]] = [{"files": [odd]}, {"page": odd}, {"account": odd}, {"files": [table, signature]}]
    for case in cases:
        files, page, account = case.get("files", [table]), case.get("page"), case.get("account")
        theirs = independent().verify([str(f) for f in files], page and str(page), account and str(account))
        ours = verify(files, page, account=account)
        unread = {c["check"] for c in theirs.answers if c["result"] == "not checked"} - {"cells", "text"}
        assert theirs.code == (ours.code if ours.code or unread else 2), (case, theirs.to_dict(), ours.to_dict())


def test_a_folder_without_a_guarantee_and_a_scale_near_nothing_are_judged_alike(tmp_path: Path) -> None:
    folder = tmp_path / "t.csv"
    folder.mkdir()
    (folder / "part-0.csv").write_text("a\n1\n", encoding="utf-8")
    assert independent().verify([str(folder)]).code == verify([folder]).code == 2
    draw = {"law": "privtree", "l1": "1", "rows": 1, "scale": "1/1" + "0" * 400, "bias": 1}
    assert independent().draw_cost(draw, "epsilon") == float("inf")


def test_what_was_not_touched_holds_or_is_called_not_checked(bases: list[Base], tmp_path: Path) -> None:
    key = str(bases[0].folder.parent / "office.key.pub")
    codes = {}
    for base in bases:
        files = [str(base.folder / name) for name in base.files]
        page, account = (name and str(base.folder / name) for name in (base.page, base.account))
        signed = any(base.folder.glob("*.signature.json"))
        found = independent().verify(files, page, account, [key] if signed else [])
        assert found.code != 1, found.to_dict()
        codes[base.folder.name] = found.code
    assert [name for name in SOME if codes[name] == 0] == [
        name for name in SOME if name not in ("noisy-german", "reports")
    ]
    assert codes["reports"] == codes["noisy-german"] == 2  # local parameters; an unsigned page


def test_a_program_of_its_own_says_what_it_found(bases: list[Base]) -> None:
    base = next(b for b in bases if b.folder.name == "missing")
    key = base.folder.parent / "office.key.pub"
    call = [sys.executable, "-I", str(PLACE), str(base.folder / "safe.csv")]
    told = subprocess.run([*call, "--key", str(key)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.startswith("Verdict: holds\nsafe.csv promises: k = 4, l = 2 (distinct); no differential")
    assert "rests on the owner of key" in told.stdout
    for wrong in (["--key", "none.pub"], ["--pgae", "x"], ["--page", "none.html"]):
        assert subprocess.run([*call, *wrong], capture_output=True, check=False).returncode == 3
    other = subprocess.run(
        [*call, "--key", str(key).replace("office", "other"), "--json"], capture_output=True, check=False
    )
    assert (other.returncode, json.loads(other.stdout)["verdict"]) == (1, "contradicted")


def test_what_holds_with_earlier_releases_is_said_not_to_be_checked(bases: list[Base]) -> None:
    said = "What holds together with earlier releases was not checked: only the private history shows it."
    for base in (b for b in bases if b.folder.name in ("first", "again")):
        table = base.folder / "safe.csv"
        for found in (independent().verify([str(table)]).rests, verify([table]).rests):
            assert (said in found) == (base.folder.name == "again"), found


def test_without_cryptography_signatures_are_not_checked(bases: list[Base], monkeypatch: pytest.MonkeyPatch) -> None:
    base = next(b for b in bases if b.folder.name == "missing")
    monkeypatch.setattr(independent(), "Ed25519PublicKey", None)
    found = independent().verify([str(base.folder / "safe.csv")])
    assert found.code == 2
    assert any("cryptography" in a["detail"] for a in found.answers if a["result"] == "not checked")


def test_a_page_whose_facts_were_broken_is_not_excused_if_a_key_is_named(bases: list[Base], tmp_path: Path) -> None:
    """Without a key it is not checkable; with one, nothing that the key signed is there."""
    base = next(b for b in bases if b.folder.name == "missing")
    page = tmp_path / "page.html"
    page.write_text((base.folder / "page.html").read_text(encoding="utf-8").replace("&quot;promise", "x", 1).replace(
        '"promise"', '"other"', 1), encoding="utf-8")  # fmt: skip
    words = ["verify", base.folder / "safe.csv", "--page", page]
    output(*words, code=2)
    output(*words, "--key", base.folder.parent / "office.key.pub", code=1)


_CHECK = """async ([given, heads]) => await verify(given.map(file => ({name: file.name,
    payload: Uint8Array.from(atob(file.data), mark => mark.charCodeAt(0))})), heads)"""


@pytest.mark.slow
def test_the_page_in_a_browser_agrees_with_the_program(bases: list[Base], tmp_path: Path) -> None:
    def results(found: dict[str, Any]) -> list[tuple[str, str, str]]:
        return sorted((c["about"], c["check"], c["result"]) for c in found["checks"])

    with opened() as browser:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(PLACE.with_suffix(".html").as_uri())
        for i in range(60):
            chance = random.Random(f"browser-{i}")
            case = damaged(chance.choice(bases), bases, tmp_path / "case", chance)
            given = case.given()
            files = [case.path(name) for name in case.files]
            theirs = independent().verify(files, *given.values()).to_dict()
            found = page.evaluate(_CHECK, [given_files(case), given["heads"]])
            assert results(found) == results(theirs), (case.done, found, theirs)
            assert (found["code"], found["promises"]) == (theirs["code"], theirs["promises"])
        assert len(asked) == 1, asked


@pytest.mark.slow
def test_a_person_chooses_files_and_reads_the_verdict(bases: list[Base]) -> None:
    base = next(b for b in bases if b.folder.name == "missing")
    places = [*base.folder.iterdir(), base.folder.parent / "office.key.pub"]
    with opened() as browser:
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 360, "height": 700}, color_scheme=scheme)
            page.goto(PLACE.with_suffix(".html").as_uri())
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.id") == "files"
            page.set_input_files("#files", [str(place) for place in places])
            page.wait_for_selector("#verdict")
            assert page.text_content("#verdict") == "Verdict: holds"
            assert "k = 4" in page.text_content("#result")
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
            page.click("#clear")
            assert page.text_content("#result") == ""
            page.set_input_files("#files", str(base.folder / "safe.csv"))
            page.wait_for_selector("#verdict.not-checked")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_row_without_a_hash_is_no_further_person(tmp_path: Path) -> None:
    """Eight persons are promised, and one of eight rows names no one: it may be of any of the seven others."""
    domain = Domain({"who": {"role": "person"}, "age": {"bounds": (0, 100), "role": "quasi-identifier"}})
    rows = pa.table({"who": [f"p{i}" for i in range(8)], "age": [30] * 8})
    release = DensityTree(8, domain=domain).fit_transform(rows, identifiers="hash", key=b"0123456789abcdef")
    whose = release.table["who"].to_pylist()
    for name, held in (("whole", whose), ("lost", [None, *whose[1:]])):
        folder = tmp_path / name
        folder.mkdir()
        replace(release, table=release.table.set_column(0, "who", pa.array(held))).save(folder / "safe.csv")
        case = Case(folder, ["safe.csv"], None, None, [], [], [])
        wrong, theirs, ours = compare(case)
        page = PageProgram()
        assert not [*wrong, *page.differences(case, theirs)]
        page.close()
        assert (theirs["code"] == 1) == (ours["code"] == 1) == (name == "lost")


def judged(base: Base, folder: Path, change: Any = None, account: str | None = None) -> tuple[int, list[str]]:
    """Change the parameters of a table, seal it again, and ask all programs."""
    return judged_whole(base, folder, change and (lambda facts: change(facts["parameters"])), account)


def judged_whole(base: Base, folder: Path, change: Any = None, account: str | None = None) -> tuple[int, list[str]]:
    """Change the guarantee of a table, seal it again, and ask all programs."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base.folder, folder)
    if change is not None:
        facts = json.loads((folder / "safe.csv.guarantee.json").read_bytes())
        change(facts)
        reseal(folder / "safe.csv.guarantee.json", facts)
        (folder / "safe.csv.signature.json").unlink(missing_ok=True)
    return agreed(Case(folder, ["safe.csv"], None, account, [], [], []))


def agreed(case: Case) -> tuple[int, list[str]]:
    """Return the code and contradictions of `discreet verify`, with which the other programs must agree."""
    wrong, theirs, ours = compare(case)
    page = PageProgram()
    wrong += page.differences(case, theirs)
    page.close()
    assert not wrong, (theirs, ours)
    assert (theirs["code"] == 1) == (ours["code"] == 1)
    return ours["code"], [check["detail"] for check in ours["checks"] if check["result"] == "contradicted"]


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@needs_node
def test_all_state_the_k_of_readers_of_all_releases(bases: list[Base], tmp_path: Path) -> None:
    """The second release of a history: k is 55 in the table, and 4 with the release before it, as its account says."""
    base = next(b for b in bases if b.folder.name == "again")
    told = json.loads((base.folder / "safe.csv.guarantee.json").read_bytes())["parameters"]
    assert told["required"]["k"] == told["reached_together"]["k"] == 4 < told["reached"]["k"]
    assert judged(base, tmp_path / "here", account="a.account") == (0, [])


@needs_node
@pytest.mark.parametrize("k", [1000, 56, 3, 0, None, "many"])
def test_the_k_of_all_releases_is_that_of_the_table_at_most(bases: list[Base], tmp_path: Path, k: Any) -> None:
    base = next(b for b in bases if b.folder.name == "again")
    code, said = judged(base, tmp_path / "here", lambda facts: facts["reached_together"].update(k=k))
    readable = isinstance(k, int)
    assert code == 1
    assert ("k with earlier releases" in said[0]) == readable, said


@needs_node
def test_a_release_with_earlier_ones_states_its_k_with_them(
    bases: list[Base], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = next(b for b in bases if b.folder.name == "again")
    code, said = judged(base, tmp_path / "here", lambda facts: facts.pop("reached_together"))
    assert (code, "'reached_together' in a form" in said[0]) == (1, True)
    told = printed(capsys, "report", tmp_path / "here" / "safe.csv", "-o", tmp_path / "page.html", code=2)
    assert " ".join(told.split()).endswith("the promise states 'reached_together' in a form that cannot be read")
    other = next(b for b in bases if b.folder.name == "kept")
    without = {"required": {}, "reached": {}, "reached_together": {"k": 5}}
    code, said = judged(other, tmp_path / "here", lambda facts: facts.update(without))
    assert (code, said) == (1, ["a k is stated as reached, and none is promised"])


@needs_node
@pytest.mark.parametrize("most", [3, 4, 1, 0, "x", None])
def test_no_hashed_person_has_more_rows_than_stated(bases: list[Base], tmp_path: Path, most: Any) -> None:
    """Every person has three rows, in the table as hashes."""
    base = next(b for b in bases if b.folder.name == "hashed")
    code, said = judged(base, tmp_path / "here", lambda facts: facts.update(most_rows=most))
    wanted = [f"one person has 3 rows, stated at most {most}"] if isinstance(most, int) and most < 3 else []
    assert said == (
        wanted if isinstance(most, int) else ["the promise states 'most_rows' in a form that cannot be read"]
    )
    assert (code == 1) == bool(said)


@needs_node
def test_an_account_knows_releases_of_its_own_unit_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone can write lines of another unit into a chain: they are charged, and the unit is not protected."""
    columns: dict[str, Any] = {"user": {"role": "person"}, "x": (0, 1)}
    domains = {"row": Domain({"x": (0, 1)}), "user": Domain(columns, unit=Person("user", rows=8))}
    domains["other"] = Domain({"other": {"role": "person"}, "x": (0, 1)}, unit=Person("other", rows=8))
    rows = pa.table({"user": ["a", "b"] * 9, "other": ["a", "b"] * 9, "x": [0.1, 0.7] * 9})
    monkeypatch.setattr(Account, "_check_unit", lambda self, unit: None)
    made, noisy = {}, NDLaplace(domain=domains["row"])
    for name in domains:
        account = Account.create(tmp_path / f"{name}.account", dataset="patients", unit=domains[name].unit, epsilon=9)
        for kind, domain in domains.items():
            file = made[name, kind] = f"{name}.{kind}.parquet"
            GridSynopsis(epsilon=1, domain=domain, rule=2, ledger=account).fit(rows).synopsis_.save(tmp_path / file)
        made[name, "noisy"] = f"{name}.csv"
        booking = account.reserve("perturb", promise=noisy.fit().guarantee_)
        noisy.transform_file(rows.select(["x"]), tmp_path / f"{name}.csv", booking=booking)
    monkeypatch.undo()
    for (name, kind), file in made.items():
        _, said = agreed(Case(tmp_path, [file], None, f"{name}.account", [], [], []))
        fits = name == kind or (name, kind) == ("row", "noisy")
        assert not said if fits else "the account 'patients' protects one" in said[0], (name, kind, said)


@needs_node
def test_a_note_about_a_withdrawal_is_none(bases: list[Base], tmp_path: Path) -> None:
    shutil.copytree(next(b for b in bases if b.folder.name == "again").folder, tmp_path / "here")
    case, account = (
        Case(tmp_path / "here", ["safe.csv"], None, "a.account", [], [], []),
        Account(tmp_path / "here" / "a.account"),
    )
    for text, code in (("withdrawn (was only the draft)", 0), ("withdrawn", 1), ("withdrawn by mistake", 1)):
        account.annotate(1, text)
        assert (agreed(case)[0], account.entries[0].withdrawn) == (code, bool(code))


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """Answers of a session: sums and counts by town, with their standard errors."""
    folder = tmp_path_factory.mktemp("asked") / "answer"
    folder.mkdir()
    rows = "".join(f"{('Ash', 'Birch')[i % 2]},{20 + i % 50}\n" for i in range(300))
    (folder.parent / "people.csv").write_text("town,age\n" + rows, encoding="utf-8")
    schema = '[columns.town]\ncategories = ["Ash", "Birch"]\n[columns.age]\nbounds = [17, 90]\nkind = "integer"\n'
    (folder.parent / "schema.toml").write_text(schema, encoding="utf-8")
    asked = "SELECT town, SUM(age), COUNT(*) FROM t GROUP BY town"
    output("query", folder.parent / "people.csv", asked, "--schema", folder.parent / "schema.toml",
           "--epsilon", 1, "-o", folder / "safe.csv")  # fmt: skip
    return Base(folder, ("safe.csv",))


def _cheaper(facts: dict[str, Any], *, moves: int = 1, scale: int = 1) -> None:
    """State a hundredth of the price, for noise on smaller counts or with a larger scale."""
    for line in facts["ledger"]:
        line["amount"] = str(Fraction(line["amount"]) / 100)
        for draw in line["draws"]:
            draw["l1"], draw["scale"] = str(Fraction(draw["l1"]) / moves), str(Fraction(draw["scale"]) * scale)
    facts["spent"] = str(Fraction(facts["spent"]) / 100)
    facts["epsilon"] = float(Fraction(facts["spent"]))


def _empty(facts: dict[str, Any]) -> None:
    facts.update(ledger=[], spent="0", epsilon=0.0)


def _selected(facts: dict[str, Any]) -> None:
    draws = [{"law": "selection", "epsilon": "1/1000"}]
    line = {"label": "count", "amount": "1/1000", "kind": "sequential", "draws": draws}
    facts.update(ledger=[line], spent="1/1000", epsilon=0.001)


_CHEAPER = [
    (_empty, "the ledger is empty"),
    (lambda facts: _cheaper(facts, moves=100), "states noise for less than one"),
    (lambda facts: _cheaper(facts, scale=100), "than any noise of the stated price"),
    (_selected, "than any noise of the stated price"),
]


@needs_node
@pytest.mark.parametrize(("change", "said"), _CHEAPER)
def test_answers_are_not_surer_than_their_price_allows(answer: Base, tmp_path: Path, change: Any, said: str) -> None:
    assert judged_whole(answer, tmp_path / "here") == (0, [])
    code, wrong = judged_whole(answer, tmp_path / "here", change)
    assert code == 1
    assert any(said in text for text in wrong), wrong


def asked(answer: Base, folder: Path, query: str, more: str = "") -> Base:
    """Ask for other figures about the rows of an answer; ``more`` is declared too."""
    source = answer.folder.parent
    folder.mkdir()
    schema = folder / "schema.toml"
    schema.write_text((source / "schema.toml").read_text(encoding="utf-8") + more, encoding="utf-8")
    output("query", source / "people.csv", query, "--schema", schema, "--epsilon", 1, "-o", folder / "safe.csv")
    return Base(folder, ("safe.csv",))


@needs_node
@pytest.mark.parametrize(
    "query",
    [
        "SELECT AVG(age) -- no count(*)\nFROM t",
        "SELECT AVG(age) /* no count(*) */\nFROM t",
        "SELECT AVG(age) /* no /* nested */ count(*) */ FROM t",
        "SELECT COUNT(DISTINCT age) FROM t",
        'SELECT "town", COUNT(`age`) AS "count(age)" FROM t GROUP BY "town" ORDER BY COUNT("age")',
    ],
)
def test_answers_as_they_are_written_hold(answer: Base, tmp_path: Path, query: str) -> None:
    """A count in a comment, or in a name, is none."""
    assert judged_whole(asked(answer, tmp_path / "asked", query), tmp_path / "here") == (0, [])


def _declared(facts: dict[str, Any]) -> None:
    facts["domain"]["columns"] |= {c.name: c.to_dict() for c in Domain({"std_error": (0, 1)})}
    facts["parameters"]["figures"].remove("std_error")


def _stated(**told: Any) -> Any:
    return lambda facts: facts["parameters"].update(told)


@needs_node
@pytest.mark.parametrize(
    ("change", "error", "code"),
    [
        (None, "0.01", 1),
        (None, "", 2),
        (lambda facts: facts["parameters"].pop("query"), "0.01", 2),
        (_stated(query=["SELECT COUNT(*) FROM t"]), "0.01", 2),
        (_stated(query="COUNT(*)"), "0.01", 1),
        (_stated(query="all rows"), "0.01", 2),
        (_stated(query='SELECT "x"."y", COUNT(*) FROM t'), "0.01", 1),
        (_stated(query="SELECT /* all */ `COUNT` (*) FROM t"), "0.01", 1),
        (_stated(query="SELECT AVG(age) /* COUNT(*) FROM t"), "0.01", 1),
        (_stated(query="SELECT AVG(age) FROM t AS 'x"), "0.01", 2),
        (_stated(weight={"column": "w", "most": 1e-4, "units": 1}), "0.01", 1),
        (_stated(weight={"column": "w", "most": 1e-4}), "0.01", 1),
        (_stated(weight={"column": "w", "most": 1e-4, "units": None}), "0.01", 1),
        (_stated(weight={"column": "w", "most": 64.5, "units": 65}), "9000", 1),
        (_declared, "0.01", 2),
        (_stated(figures=["estimate", "low", "high", "few"]), "0.01", 1),
    ],
)
def test_a_count_cannot_hide_how_sure_it_is(answer: Base, tmp_path: Path, change: Any, error: str, code: int) -> None:
    base = asked(answer, tmp_path / "asked", "SELECT COUNT(*) FROM t")
    assert judged_whole(base, tmp_path / "here") == (0, [])
    head, cells = (base.folder / "safe.csv").read_text(encoding="utf-8").splitlines()
    estimate, _, *rest = cells.split(",")
    (base.folder / "safe.csv").write_text(f"{head}\n{','.join([estimate, error, *rest])}\n", encoding="utf-8")
    assert judged_whole(base, tmp_path / "here", change or (lambda facts: None))[0] == code


@needs_node
@pytest.mark.parametrize(("bounds", "copies"), [("[0, 500]", 64), ('[0, 40]\nkind = "integer"', 40)])
def test_noise_for_weighted_rows_is_noise_for_all_their_copies(
    answer: Base, tmp_path: Path, bounds: str, copies: int
) -> None:
    source = tmp_path / "weighted"
    source.mkdir()
    shutil.copy(answer.folder.parent / "schema.toml", source)
    rows = (answer.folder.parent / "people.csv").read_text(encoding="utf-8").splitlines()
    weighted = [f"{rows[0]},w", *(f"{row},{i % 9}" for i, row in enumerate(rows[1:]))]
    (source / "people.csv").write_text("\n".join(weighted) + "\n", encoding="utf-8")
    query, more = "SELECT SUM(age), AVG(age) FROM t", f'[columns.w]\nbounds = {bounds}\nrole = "weight"\n'
    base = asked(Base(source / "answer", ()), tmp_path / "asked", query, more)

    def cheaper(facts: dict[str, Any]) -> None:
        assert facts["parameters"]["weight"]["units"] == copies
        for line in facts["ledger"]:
            for draw in line["draws"]:
                draw.update(scale=str(Fraction(draw["scale"]) / draw["rows"]), rows=1)

    assert judged_whole(base, tmp_path / "here") == (0, [])
    code, wrong = judged_whole(base, tmp_path / "here", cheaper)
    assert (code, f"noise for 1 rows, and the unit needs {copies}" in wrong[0]) == (1, True)


@needs_node
@pytest.mark.parametrize(("change", "said"), _CHEAPER)
def test_a_synopsis_is_not_surer_than_its_price_allows(tmp_path: Path, change: Any, said: str) -> None:
    """Programs that do not read its numbers see sensitivities below one and a ledger without draws."""
    made = GridSynopsis(epsilon=1, domain={"age": (0, 100)}).fit(pa.table({"age": [30.0] * 500})).synopsis_
    facts = made.guarantee.to_dict()
    change(facts)
    parts = {name: getattr(made, name) for name in made.parts}
    type(made)(made.domain, guarantee=Guarantee.from_dict(facts), **parts).save(tmp_path / "s.parquet")
    ours = verify([tmp_path / "s.parquet"])
    assert any(said in a.detail for a in ours.answers if a.result == "contradicted"), ours.answers
    seen = 1 if "ledger" in said or "less than one" in said else 2
    case = Case(tmp_path, ["s.parquet"], None, None, [], [], [])
    wrong, theirs, _ = compare(case)
    page = PageProgram()
    assert not [*wrong, *page.differences(case, theirs)]
    page.close()
    assert (ours.code, theirs["code"]) == (1, seen)


def _deleted(facts: dict[str, Any]) -> None:
    del facts["domain"]["columns"]["age"]


@needs_node
@pytest.mark.parametrize(
    ("kind", "change", "code"),
    [
        ("kept", lambda facts: facts["assumptions"].append(2), 1),
        ("kept", lambda facts: facts.update(delta=0), 1),
        ("kept", lambda facts: facts.update(accounting="rho"), 1),
        ("kept", _deleted, 1),
        ("answer", lambda facts: facts.update(delta=0), 1),
        ("answer", lambda facts: facts.update(epsilon=1), 1),
        ("answer", lambda facts: facts["assumptions"].append(False), 1),
        ("answer", lambda facts: facts["parameters"].update(figures=True), 1),
        ("answer", lambda facts: facts["parameters"].update(figures=None), 1),
        ("answer", lambda facts: facts["parameters"].update(figures=["few", 1]), 1),
        ("answer", lambda facts: facts["parameters"].update(required="k", kept=[], reached=0, quasi_identifiers=1), 0),
    ],
)
def test_forms_that_the_format_states_are_asked_for_by_all(
    bases: list[Base], answer: Base, tmp_path: Path, kind: str, change: Any, code: int
) -> None:
    base = next(b for b in [*bases, answer] if b.folder.name == kind)
    assert judged_whole(base, tmp_path / "here", change)[0] == code
