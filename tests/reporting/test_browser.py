"""Every kind of page in a real browser: both themes, phone width, nothing logged, nothing fetched."""

from __future__ import annotations

import shutil

import pytest

import discreet as dc
import discreet_studies
from discreet import demo
from discreet.planning import outlook
from discreet.reporting import write_report
from discreet.reporting.pages import plan
from discreet.reporting.pages.audit import mechanism_page
from discreet_studies.harness.report import html
from discreet_studies.harness.runner import read_results

pytestmark = pytest.mark.slow

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    patients, people = dc.datasets.patients(2000), dc.datasets.people(600)
    dc.GridSynopsis(1.0, patients.domain, 16).fit(patients.to_arrow()).synopsis_.save(folder / "s.parquet")
    dc.anonymity.DensityTree(k=8, domain=people.domain).fit_transform(people.table).save(folder / "safe.csv")
    made = []
    for name in ("s.parquet", "safe.csv"):
        write_report(folder / name, folder / f"{name}.html")
        made.append(folder / f"{name}.html")
    people.table.to_pandas().to_csv(folder / "people.csv", index=False)
    declared = people.domain.select([name for name in people.domain.names if name != "name"])
    dc.GridSynopsis(2.0, declared, 2).fit(people.table).synopsis_.save(folder / "p.parquet")
    write_report(folder / "p.parquet", folder / "compared.html", against=folder / "people.csv", target="illness")
    made.append(folder / "compared.html")
    demo.run(folder / "demo")
    made.append(folder / "demo" / "picture.html")
    (folder / "plan.html").write_text(plan.page(outlook(5000, 3, target_error=0.01)))
    found = dc.evaluation.audited_mechanism("noise.discrete_laplace").audit(4000, 0.99, random_state=1)
    facts = {"mechanism": "m", "claimed": 1.0, "passed": True, "results": [("pair", r) for r in found]}
    (folder / "audit.html").write_text(mechanism_page(facts))
    study = discreet_studies.load("frontier")
    (folder / "study.html").write_text(html(study, read_results(study)))
    local = dc.local.DirectResponse(1.0, ["red", "green", "blue"])
    local.aggregate(local.encode(["red"] * 300 + ["green"] * 100)).save(folder / "counts.bin")
    write_report(folder / "counts.bin", folder / "counts.html")
    made += [folder / f"{name}.html" for name in ("plan", "audit", "study", "counts")]
    return made


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-all brings it")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium on the path: install Debian's package chromium")
    with api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_the_report_in_a_browser(browser, pages, theme, width, tmp_path):
    for page in pages:
        context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900}, offline=True)
        tab = context.new_page()
        said, asked = [], []
        tab.on("console", lambda message, said=said: said.append(message.text))
        tab.on("pageerror", lambda error, said=said: said.append(str(error)))
        tab.on("request", lambda request, asked=asked: asked.append(request.url))
        tab.goto(page.as_uri())
        assert said == []
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert len([url for url in asked if url.startswith("file:")]) == 1
        # Nothing sticks out sideways: wide tables scroll by themselves.
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        paper, ink = tab.evaluate(
            "(() => { const s = getComputedStyle(document.body); return [s.backgroundColor, s.color] })()"
        )
        assert (paper == "rgb(255, 255, 255)") == (theme == "light")
        assert paper != ink
        assert tab.locator("svg").count() >= 1
        assert tab.locator("h2").first.is_visible()
        tab.screenshot(path=tmp_path / "page.png", full_page=True)
        context.close()
