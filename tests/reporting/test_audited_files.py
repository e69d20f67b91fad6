"""Pages about counts and about examined files say what is there, for people and not as a program would."""

from __future__ import annotations

import re
from pathlib import Path

import discreet as dc
from discreet.jobs.work.audit import examine
from discreet.reporting import write_report
from discreet.reporting.pages.audit import artifact_page, mechanism_page


def _page(thing: dc.local.Counts, folder: Path) -> str:
    (folder / "counts.bin").write_bytes(thing.to_bytes())
    write_report(folder / "counts.bin", folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


def test_counts_have_a_checksum_and_no_page_calls_it_a_seal(tmp_path: Path) -> None:
    m = dc.local.DirectResponse(1.0, ["red", "green"])
    text = _page(m.aggregate(m.encode(["red"] * 30 + ["green"] * 10)), tmp_path)
    assert "checksum intact" in text
    assert "The checksum is intact" in text
    assert not re.search(r"seal(?: is)? intact", text)


def test_estimated_people_are_whole(tmp_path: Path) -> None:
    m = dc.local.DirectResponse(1.0, ["red", "green", "blue"])
    text = _page(m.aggregate(m.encode(["red"] * 900 + ["green"] * 100)), tmp_path)
    shown = re.findall(r"([−\d.,]+) \(([-\d.,]+) to ([-\d.,]+)\)</text>", text)
    assert len(shown) == 3
    assert all("." not in part for pair in shown for part in pair)


def test_a_sketch_says_in_words_why_it_shows_no_frequencies(tmp_path: Path) -> None:
    m = dc.local.CountMeanSketch(epsilon=4, n_hashes=16, width=64, key=7)
    text = _page(m.aggregate(m.encode(["red"] * 30)), tmp_path)
    assert "a sketch does not list its values" in text
    assert "got None" not in text


def test_the_page_of_an_examined_table_holds_no_dictionary_and_asks_for_no_ledger(tmp_path: Path) -> None:
    people = dc.datasets.people(600)
    made = dc.anonymity.DensityTree(k=8, l_diversity=2, domain=people.domain).fit_transform(people.table)
    made.save(tmp_path / "safe.csv")
    facts = examine(tmp_path / "safe.csv").to_dict()
    text = artifact_page(facts)
    body = text[text.index("<body>") :]
    assert "{" not in body
    assert re.search(r"l of illness \d", body)
    assert "Not checked: ledger" not in body
    assert "none: the promise is about the table itself" in body
    assert "all 4 checks hold" in body


def test_the_page_of_a_refused_file_does_not_say_what_its_promise_is_about() -> None:
    facts = {"file": "s", "kind": "synopsis", "passed": False, "seeded": False, "epsilon": None, "digest": None,
             "checks": [{"check": "seal", "holds": False, "detail": "changed"}]}  # fmt: skip
    text = artifact_page(facts)
    assert "REFUSED" in text
    assert "none stated" in text
    assert "about the table itself" not in text


def test_a_pass_is_never_called_a_proof_and_the_bound_has_its_confidence(tmp_path: Path) -> None:
    dc.GridSynopsis(1.0, (0, 1), 2).fit([[0.5]] * 20).synopsis_.save(tmp_path / "s.parquet")
    facts = examine(tmp_path / "s.parquet").to_dict()
    assert "A pass is not a proof" in artifact_page(facts)
    assert "how it was made cannot be seen in it" in artifact_page(facts)
    assert "Bestanden ist kein Beweis" in artifact_page(facts, "de")
    assert "ist ihr nicht anzusehen" in artifact_page(facts, "de")
    found = dc.evaluation.audited_mechanism("noise.discrete_laplace").audit(400, 0.995, random_state=1)
    facts = {"mechanism": "m", "claimed": 1.0, "passed": True, "results": [("pair", r) for r in found]}
    lower = f"{found[0].epsilon_lower:.4g}"
    assert f"ε is at least {lower}, with 0.995 confidence" in mechanism_page(facts)
    assert f"the true ε is at least {lower}." in mechanism_page(facts)  # one figure, rounded in one way
    german = mechanism_page(facts, "de")
    assert f"ε ist mindestens {lower.replace('.', ',')}, mit einer Sicherheit von 0,995" in german
