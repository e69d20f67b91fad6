"""Five stewards, from a file to evidence, in a real browser; each job file gives the same release once more."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.core.guarantee import Guarantee
from discreet.core.output import promise_place
from discreet.synopses import Synopsis
from studio_story import FLAGS, Visit, axe_script, studio

pytestmark = pytest.mark.slow

SCREENS = ("data", "columns", "goal", "plan", "release", "evidence", "account")


@pytest.fixture(scope="module")
def chromium():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-all brings it")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium on the path: install Debian's package chromium")
    with api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    return axe_script(tmp_path_factory.mktemp("axe"))


@pytest.fixture
def pictures(request, tmp_path):
    """Return where pictures of screens go: the folder of --studio-pictures, or one that is thrown away."""
    folder = Path(request.config.getoption("--studio-pictures") or tmp_path / "pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest_of(file: Path) -> str:
    """Return the seal of a release."""
    beside = promise_place(file)
    sealed = Guarantee.from_json(beside.read_text()).digest if beside.is_file() else Synopsis.load(file).digest
    assert sealed is not None
    return sealed


def again(visit: Visit, folder: Path, output: str) -> str:
    """Run the downloaded job file as the command line does, and return the digest of what comes out."""
    with visit.tab.expect_download() as waited:
        visit.tab.get_by_role("link", name="job.toml").first.click()
    folder.mkdir()
    job = folder / "job.toml"
    waited.value.save_as(job)
    done = subprocess.run(
        [sys.executable, "-m", "discreet.cli", "run", str(job)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = re.search(rf'^{output} = "(.+)"$', job.read_text(), re.M)
    assert made is not None
    return digest_of(folder / made[1])


def evidence(visit: Visit, name: str, *, audit: str = "Audit") -> None:
    """Audit a release, read its report, and come to the page to sign."""
    project = visit.project
    visit.go(f"/p/{project}/evidence")
    visit.wait("#report")
    visit.fill(said_title="A release", said_owner="Ward 3", said_purpose="Planning of beds", said_date="2026-11-16")
    visit.tab.locator("#report ~ form button").first.click()
    visit.wait("#audit")
    visit.tab.get_by_role("button", name=audit).first.click()
    visit.wait(".chip.good")
    visit.check(f"{name}-evidence")
    with visit.context.expect_page() as waited:
        visit.tab.get_by_role("link", name=re.compile("report|Bericht", re.I)).first.click()
    report = waited.value
    report.wait_for_load_state("load")
    assert "A release" in report.locator("h1").inner_text()
    assert report.locator("svg").count() > 0
    assert report.evaluate("getComputedStyle(document.body).maxWidth") != "none"  # its own style was let in
    report.close()
    visit.fill(sign_name="A. Example", sign_date="2026-11-16")
    visit.tab.locator("#sign ~ form button").first.click()
    visit.wait(".to-sign")
    visit.check(f"{name}-sign")


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
        assert "all that was checked holds" in visit.tab.locator(".sentence").inner_text()
        visit.close()


def test_axe_is_there(axe):
    if axe is None:
        pytest.skip("axe-core is not to be had: name its file with DISCREET_AXE, or install npm")
    assert "axe" in axe
