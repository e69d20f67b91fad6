"""Five stewards, from a file to evidence, in a real browser; each job file gives the same release once more."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

import discreet as dc
from discreet.core.budget.guarantee import Guarantee
from discreet.core.output.files import promise_place
from discreet.synopses import Synopsis
from studio_story import Visit, again, choose, declare, digest_of, evidence, open_table, release, studio
from studio_tables import adult, causes, gowalla, messy

pytestmark = pytest.mark.slow

SCREENS = ("data", "columns", "goal", "plan", "release", "evidence", "account")


def test_an_existing_artifact_to_audit_and_report(chromium, axe, pictures, tmp_path):
    patients = dc.datasets.patients(3000)
    made = dc.GridSynopsis(1.0, patients.domain, 16).fit(patients.to_arrow()).synopsis_
    file = tmp_path / "patients.parquet"
    made.save(file)
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures)
        visit.check("start")
        visit.fill(path=str(file))
        visit.press("Open", exact=True)
        if "/evidence" not in visit.tab.url:
            visit.press("evidence", role="link")
        visit.wait("#digest")
        assert visit.tab.locator("#digest").input_value() == made.digest
        visit.press("Pictures and questions", role="link")
        visit.wait("#columns ~ .pictures svg")
        visit.tab.get_by_role("link", name="The mean of").first.click()
        visit.wait(".answer.told b")
        visit.check("artifact-results")
        evidence(visit, "artifact")
        assert "It was audited: " in visit.tab.locator(".sentence").inner_text()
        visit.close()


def test_axe_is_there(axe):
    if axe is None:
        pytest.skip("axe-core is not to be had: name its file with DISCREET_AXE, or install npm")
    assert "axe" in axe


def test_adult_to_a_synthetic_table_with_evidence(chromium, axe, pictures, tmp_path):
    table, schema = adult(tmp_path)
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures)
        open_table(visit, table)
        visit.check("adult-data")
        visit.go(f"/p/{visit.project}/columns")
        visit.tab.locator("#upload").set_input_files(schema)
        visit.tab.locator("form:has(#upload) button:not([type=button])").click()
        visit.wait("b.good")
        visit.check("adult-columns")
        choose(visit, "synthesize", epsilon="1", delta="1e-9", seed="7", about_rows="8000")
        release(visit, "adult")
        made = Path(tmp_path / "studio" / visit.project / "runs" / "1" / "synthetic.synopsis.parquet")
        assert again(visit, tmp_path / "again", "release") == digest_of(made)
        evidence(visit, "adult")
        assert "must not be published" in visit.tab.locator(".to-sign").inner_text()  # it has a seed
        visit.close()


def test_a_messy_file_to_an_anonymous_table_in_german(chromium, axe, pictures, tmp_path):
    table = messy(tmp_path / "Krankenhaus 2025.csv")
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures, locale="de-DE")
        open_table(visit, table)
        assert visit.tab.locator("html").get_attribute("lang") == "de"
        visit.tab.locator("details:has(#missing) > summary").click()
        visit.fill(missing="k. A.", dates="%d.%m.%Y")
        visit.tab.locator("#decimal").select_option(",")
        visit.tab.locator("#thousands").select_option(".")
        visit.tab.locator("form:has(#missing) button:not([type=button])").click()
        visit.check("messy-data")
        declare(
            visit,
            {
                "Patientennummer": {"role": "person"},
                "Geschlecht": {"role": "quasi-identifier", "kind": "category", "list": "w, m, d"},
                "Alter": {"role": "quasi-identifier", "kind": "integer", "low": "0", "high": "110"},
                "Größe": {"role": "quasi-identifier", "kind": "number", "low": "1,2", "high": "2,2"},
                "Aufnahme": {"role": "unused"},
                "Station": {"role": "unused"},
                "Kosten": {"role": "unused"},
                "Diagnose": {"role": "sensitive", "kind": "category",
                             "list": ", ".join(sorted(causes(table)))},
            },
        )  # fmt: skip
        visit.check("messy-columns")
        choose(visit, "anonymize", k="10", about_rows="4000")
        release(visit, "messy")
        assert "mindestens k Personen" in visit.tab.locator("main").inner_text()
        made = tmp_path / "studio" / visit.project / "runs" / "1"
        first = next(p for p in made.glob("release.*") if not p.name.endswith(".json"))
        promise = Guarantee.from_json(promise_place(first).read_text())
        assert promise.parameters["reached"]["k"] >= 10
        # Rows are shuffled by what no one can repeat: the same table comes out, in another order.
        again(visit, tmp_path / "again", "release")
        repeated = tmp_path / "again" / first.name
        assert sorted(repeated.read_text().splitlines()) == sorted(first.read_text().splitlines())
        told = Guarantee.from_json(promise_place(repeated).read_text())
        assert told.parameters == promise.parameters
        evidence(visit, "messy")
        assert "Prüfungen bestanden" in visit.tab.locator(".sentence").inner_text()
        visit.close()


def test_gowalla_with_persons_to_a_map_of_noisy_counts(chromium, axe, pictures, tmp_path):
    table = gowalla(tmp_path / "checkins.csv")
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures, color_scheme="dark")
        open_table(visit, table)
        declare(
            visit,
            {
                "user": {"role": "person"},
                "lat": {"kind": "number", "low": "40.4", "high": "41.0"},
                "lon": {"kind": "number", "low": "-74.3", "high": "-73.7"},
            },
            unit="person", rows="4",
        )  # fmt: skip
        choose(visit, "synopsis", epsilon="1", seed="7", about_rows="20000")
        release(visit, "gowalla")
        assert visit.tab.locator("#pair-x").input_value() == "lon"  # a map
        assert visit.tab.locator("#pair-y").input_value() == "lat"
        made = tmp_path / "studio" / visit.project / "runs" / "1" / "synopsis.parquet"
        told = Synopsis.load(made)
        assert "person" in told.guarantee.unit
        assert again(visit, tmp_path / "again", "release") == told.digest
        visit.close()


def test_private_clusters_with_their_number_suggested(chromium, axe, pictures, tmp_path):
    points = dc.datasets.s_like(1, n=5000)
    table = tmp_path / "points.csv"
    points.to_arrow().to_pandas().to_csv(table, index=False)
    ends = {name: told["bounds"] for name, told in points.domain.to_dict().items()}
    with studio(tmp_path / "studio") as address:
        visit = Visit(chromium, address, axe=axe, pictures=pictures)
        open_table(visit, table)
        declare(visit, {n: {"kind": "number", "low": str(a), "high": str(b)} for n, (a, b) in ends.items()})
        choose(visit, "cluster", epsilon="2", n_clusters="auto", seed="7", about_rows="5000")
        release(visit, "clusters")
        shown = visit.tab.locator("main").inner_text()
        assert "elbow, which suggests" in shown
        assert "crosses: the centres that were found" in shown
        made = tmp_path / "studio" / visit.project / "runs" / "1" / "synopsis.parquet"
        assert again(visit, tmp_path / "again", "release") == digest_of(made)
        visit.close()


def test_the_tutorial_as_it_is_written(chromium, axe, request, tmp_path):
    """From a file to a signed page, step by step as docs/tutorials/studio.md says; its pictures are made here."""
    folder = Path(request.config.getoption("--studio-guide") or tmp_path / "guide")
    folder.mkdir(parents=True, exist_ok=True)
    shown_at = Path(tempfile.mkdtemp(prefix="hospital-"))  # a short path, for the pictures
    request.addfinalizer(lambda: shutil.rmtree(shown_at))
    table = shown_at / "hospital.csv"
    table.write_bytes(dc.datasets.practice("hospital")["hospital.csv"])
    with studio(tmp_path / "studio", str(table)) as address:
        visit = Visit(chromium, address, axe=axe, viewport={"width": 1280, "height": 760})

        def shown(name: str, selector: str = "") -> None:
            visit.check()
            if selector:
                place = visit.tab.locator(selector).first
                place.evaluate("e => scrollTo(0, e.getBoundingClientRect().top + scrollY - 130)")
            else:
                visit.tab.evaluate("scrollTo(0, 0)")
            visit.tab.screenshot(path=folder / f"studio-{name}.png")

        visit.tab.locator("details:has(#missing) > summary").click()
        visit.fill(missing="n/a", dates="%d.%m.%Y")
        visit.tab.locator("#decimal").select_option(",")
        visit.tab.locator("#thousands").select_option(".")
        visit.tab.locator("#encoding").select_option("latin-1")
        visit.tab.locator("form:has(#missing) button:not([type=button])").click()
        visit.wait("h1")
        shown("data")
        wards = "Chirurgie, Innere, Kinder, Neurologie, Notaufnahme"
        ills = "Bruch, Entzündung, Grippe, Herz, Krebs, Sonstiges"
        declare(
            visit,
            {
                "Patientennummer": {"role": "person"},
                "Geschlecht": {"kind": "category", "list": "w, m, d"},
                "Alter": {"kind": "integer", "low": "0", "high": "110"},
                "Größe": {"kind": "number", "low": "0.2", "high": "2.8"},
                "Aufnahme": {"kind": "date", "low": "2025-01-01", "high": "2025-12-31"},
                "Station": {"kind": "category", "list": wards},
                "Kosten": {"kind": "number", "low": "0", "high": "50000"},
                "Diagnose": {"kind": "category", "list": ills},
            },
            unit="person", rows="4",
        )  # fmt: skip
        shown("columns")
        choose(visit, "synthesize", epsilon="2", delta="1e-6", about_rows="4000")
        visit.go(f"/p/{visit.project}/plan")
        shown("plan")
        visit.go(f"/p/{visit.project}/account")
        visit.fill(epsilon="4")
        visit.tab.locator('form[action$="/create"] button:not([type=button])').last.click()
        visit.wait("#budget")
        visit.go(f"/p/{visit.project}/release")
        visit.tab.locator('form[action$="/start"] button:not([type=button])').click()
        visit.wait("h1 .chip.good", 240)
        visit.wait("#pair ~ .pictures svg", 60)
        shown("results", "#pair")
        evidence(visit, "tutorial")
        text = visit.tab.locator(".to-sign").inner_text()
        assert "It was audited: " in text
        assert "must not be published" not in text
        shown("sign")
        visit.go(f"/p/{visit.project}/evidence")
        shown("evidence")
        visit.go(f"/p/{visit.project}/account")
        assert visit.tab.locator("#entry-1").count() == 1
        visit.close()
    for picture in folder.glob("studio-*.png"):
        assert picture.stat().st_size < 200_000
