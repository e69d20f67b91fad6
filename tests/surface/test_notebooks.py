"""The tutorial notebooks run, their answers are near the truth, and their charts are still there without a network."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import chromium_browser

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"


def _questions(space: dict[str, Any]) -> None:
    assert space["shown"]["held"].sum() >= 5  # of six intervals at 95 %
    truth = space["people"].to_pandas()["age"].quantile([0.25, 0.5, 0.75])
    assert abs(space["ranks"].to_pandas()["estimate"].to_numpy() - truth.to_numpy()).max() <= 2
    hours = space["people"].to_pandas().query("age > 30").groupby("town")["hours"].mean()
    answers = space["work"].to_pandas().set_index("town")
    assert hours.between(answers["low"], answers["high"]).sum() >= 5
    assert space["ledger"].remaining == 1  # the refused question cost nothing


def _synthetic(space: dict[str, Any]) -> None:
    assert 0.8 < space["kept"] < 1.1
    low, high = space["nurses"].interval(0.95)
    assert low <= space["real"].query("job == 'nurse'")["hours"].mean() <= high
    assert tuple(space["made"]) == space["domain"].names


def _collect(space: dict[str, Any]) -> None:
    table = space["table"]
    assert table["true"].sum() == 40_000
    assert table["true"].between(table["low"], table["high"]).sum() >= 4  # of five intervals at 95 %
    assert space["share_errors"][400] == pytest.approx(10 * space["share_errors"][40_000], rel=0.05)


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "questions": _questions,
    "synthetic": _synthetic,
    "collect": _collect,
}


def test_every_notebook_is_checked() -> None:
    assert {p.stem for p in TUTORIALS.glob("*.ipynb")} == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_a_notebook_comes_near_the_truth(name: str) -> None:
    """Its code cells run in order, in this process; it is committed without what it showed."""
    pytest.importorskip("IPython", reason="IPython is not installed: pip install 'discreet[dev]'")
    cells = json.loads((TUTORIALS / f"{name}.ipynb").read_text("utf-8"))["cells"]
    code = [c for c in cells if c["cell_type"] == "code"]
    assert not any(c["outputs"] or c["execution_count"] for c in code)
    space: dict[str, Any] = {"__name__": name}
    for number, cell in enumerate(code):
        exec(compile("".join(cell["source"]), f"{name}.ipynb, code cell {number}", "exec"), space)
    CHECKS[name](space)


@pytest.mark.parametrize(("name", "says"), [("questions", "mean age"), ("synthetic", "rows"), ("collect", "none")])
def test_the_site_shows_what_a_notebook_shows_in_a_small_page(
    name: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("IPython", reason="IPython is not installed: pip install 'discreet[dev]'")
    monkeypatch.syspath_prepend(TUTORIALS.parent)
    made = importlib.import_module("notebooks").page(TUTORIALS / f"{name}.ipynb")
    cells = json.loads((TUTORIALS / f"{name}.ipynb").read_text("utf-8"))["cells"]
    assert all("".join(cell["source"]) in made for cell in cells[1:])  # the first has the title
    (chart,) = re.findall(r"<svg.*?</svg>", made)
    assert says in chart
    assert chart.count('class="bar"') >= 5
    assert f"]({name}.ipynb)" in made
    assert len(made) < 50_000


@pytest.mark.slow
def test_charts_of_notebooks_are_drawn_without_a_network(tmp_path: Path) -> None:
    """Run by Jupyter's own kernel; a page of nothing but the HTML of the outputs draws every chart and asks no one."""
    client, form = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pages, asked = [tmp_path / f"{name}.html" for name in CHECKS], []
    for file in pages:
        book = form.read(TUTORIALS / f"{file.stem}.ipynb", as_version=4)
        client.NotebookClient(book, timeout=120, kernel_name="python3").execute()
        shown = [out.data for cell in book.cells for out in cell.get("outputs", []) if "data" in out]
        pieces = [one["text/html"] for one in shown if "text/html" in one]
        file.write_text('<!doctype html><meta charset="utf-8">' + "\n".join(pieces), "utf-8")
    with chromium_browser.opened() as browser:
        for file in pages:
            page = browser.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.goto(file.as_uri())
            page.wait_for_selector(".js-plotly-plot .points path", state="attached", timeout=10_000)
            assert page.locator(".js-plotly-plot").count() == 1, file
    assert asked == [file.as_uri() for file in pages]
