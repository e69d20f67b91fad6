"""The risk of the raw table: measured by a process of its own, and only where looking at rows is allowed."""

import time
from pathlib import Path

import pytest

from support.studio_client import browser

SCHEMA = """\
[columns]
age = {kind = "integer", bounds = [0, 120], role = "quasi-identifier"}
ill = {categories = ["a", "b"], role = "sensitive"}
"""


def test_nothing_is_read_before_looking_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,ill\n" + "30,a\n" * 5)
    with browser(tmp_path / "home") as client:
        project = client.studio.workspace.create(source=str(tmp_path / "t.csv"), goal="anonymize")
        project.schema_file.write_text(SCHEMA)
        page = client.post(f"/p/{project.id}/plan/risk")
        assert "only after you have allowed looking" in page.text
        assert not (project.folder / "raw").exists()
        project.looked = True
        project.schema_file.write_text(SCHEMA.replace("quasi-identifier", "attribute"))
        project.save()
        assert "No column has the role" in client.post(f"/p/{project.id}/plan/risk").text
        assert not (project.folder / "raw").exists()


@pytest.mark.slow
def test_the_risk_of_the_raw_table_is_measured_by_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,ill\n" + "".join(f"{30 + i % 7},{'ab'[i % 2]}\n" for i in range(57)))
    with browser(tmp_path / "home") as client:
        project = client.studio.workspace.create(source=str(tmp_path / "t.csv"), goal="anonymize", looked=True)
        project.schema_file.write_text(SCHEMA)
        client.post(f"/p/{project.id}/plan/risk")
        until = time.monotonic() + 60
        while "data-refresh" in (page := client.get(f"/p/{project.id}/plan/risk").text) and time.monotonic() < until:
            time.sleep(0.2)
        assert "<b>8</b><span>rows in the smallest group" in page
        assert "belong in the record" in page
        project.looked = False
        project.save()
        assert "<b>8</b>" not in client.get(f"/p/{project.id}/plan/risk").text
