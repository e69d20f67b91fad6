"""Every kind of page in a real browser: both themes, phone width, nothing logged, nothing fetched."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dc
import discreet_studies
from chromium_browser import opened
from discreet import demo
from discreet.planning import outlook
from discreet.reporting import write_report
from discreet.reporting.pages import plan
from discreet.reporting.pages.audit import mechanism_page
from discreet_studies.harness.report import html
from discreet_studies.harness.runner import read_results

pytestmark = pytest.mark.slow


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
    (folder / "plan.html").write_text(plan.plan_page(outlook(5000, 3, target_error=0.01)))
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
    with opened() as browser:
        yield browser


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


#: Words that stand on two lines though nothing in them is a place to break: no hyphen, no slash, and short enough.
BROKEN = r"""() => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (node.parentElement.closest("svg, pre, code, details:not([open])")) continue;
    for (const word of node.data.matchAll(/[^\s\/-]+/g)) {
      if (word[0].length > 40) continue;
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = [...range.getClientRects()].filter(r => r.width > 0).map(r => Math.round(r.top));
      if (new Set(lines).size > 1) found.push(word[0]);
    }
  }
  return found;
}"""


@pytest.mark.parametrize("width", [1200, 1100])
def test_no_word_is_broken_inside(browser, width, tmp_path):
    people = {"sex": ["Female", "Male"], "work": ["Self-emp-not-inc", "Federal-gov"], "job": ["Machinist", "Professor"],
              "state": ["Married", "Divorced"], "race": ["Unknown", "Whatever"], "relation": ["Husband", "Unmarried"],
              "education": ["Doctorate", "Bachelors"], "country": ["Switzerland", "Liechtenstein"]}  # fmt: skip
    people = {f"{name} {i}": names for i in (1, 2) for name, names in people.items()}  # wider than the page
    table = {name: names * 50 for name, names in people.items()} | {"age": [30, 60] * 50}
    columns = {name: {"categories": names, "role": "quasi-identifier"} for name, names in people.items()}
    domain = dc.Domain({**columns, "age": {"bounds": (0, 120), "role": "quasi-identifier"}})
    dc.anonymity.DensityTree(k=5, domain=domain).fit_transform(pa.table(table)).save(tmp_path / "safe.csv")
    owner = "data.protection@statistics.example.org"
    write_report(tmp_path / "safe.csv", tmp_path / "page.html", title="People", owner=owner, purpose="Planning")
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto((tmp_path / "page.html").as_uri())
    broken = tab.evaluate(BROKEN)
    tab.close()
    assert broken == []
