"""The screens *release* and *account*: nothing starts twice, nothing is released beyond the account."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from discreet.accounts import Account
from discreet.errors import BudgetExceeded
from discreet.jobs import Job
from discreet.studio.runs import Run, Supervisor, child, runs_of
from discreet.studio.runs.charges import charge_of
from discreet.studio.runs.run import lock
from discreet.studio.runs.supervisor import Busy
from discreet.studio.workspace import Project
from studio_client import Browser, browser

SCHEMA = '[columns.age]\nbounds = [0, 120]\nkind = "integer"\n[columns.cost]\nbounds = [0, 1000]\n'


class Here(Supervisor):
    """A supervisor whose runs are done in this process, at once: the work is the same, the border is missing."""

    started = 0

    def _launch(self, folder: Path, handle: int) -> None:
        self.started += 1
        child.main(folder)
        os.close(handle)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Browser]:
    with browser(tmp_path / "studio") as made:
        made.studio.supervisor = Here(made.studio.workspace)
        yield made


def table(client: Browser, folder: Path, **said: Any) -> Project:
    place = folder / "people.csv"
    place.write_text("age,cost\n" + "".join(f"{20 + i % 60},{i % 1000}\n" for i in range(900)), encoding="utf-8")
    said = {"goal": "synopsis", "parameters": {"epsilon": 1.0}, **said}
    project = client.studio.workspace.create(source=str(place), **said)
    project.schema_file.write_text(SCHEMA, encoding="utf-8")
    return project


def account(project: Project, folder: Path, **limits: Any) -> Account:
    made = Account.create(folder / "people.account", dataset="people", **limits)
    project.account = str(made.path)
    project.save()
    return made


def form(page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(number|key|attempt)" value="([\w-]+)"', page))


def test_a_release_is_priced_charged_listed_and_handed_out(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=1.5)
    page = client.get(f"/p/{project.id}/release")
    assert "ε = 1" in page.text
    assert "left afterwards: 0.5" in page.text
    assert not book.entries, "looking at a page charges nothing"
    done = client.post(f"/p/{project.id}/release/start", data=form(page.text))
    assert done.url.path == f"/p/{project.id}/release/1"
    assert "almost nothing about one row: ε = 1." in done.text
    assert [e.state for e in book.entries] == ["booked"]
    for address in re.findall(r'href="(/p/\w+/release/1/file/\w+)"', done.text):
        got = client.get(address)
        assert got.headers["content-disposition"].startswith("attachment")
        assert got.headers["cache-control"] == "no-store"
    told = client.get(f"/p/{project.id}/account").text
    assert "ε: 0.5 of 1.5 left" in told
    assert 'id="entry-1"' in told
    assert book.head in told


def test_nothing_is_released_beyond_the_account(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=0.5)
    page = client.get(f"/p/{project.id}/release")
    assert "needs epsilon 1 but only 0.5 of 0.5 is left" in page.text.replace("&#39;", "'")
    assert "release/start" not in page.text
    client.post(f"/p/{project.id}/release/start", data={"number": "1", "key": "0"})
    assert not runs_of(project)
    assert not book.entries
    # Somebody else spends between the page and the start: the process itself is refused, before it opens the table.
    project.parameters = {"epsilon": 0.5}
    project.save()
    asked = form(client.get(f"/p/{project.id}/release").text)
    supervisor = client.studio.supervisor
    started = supervisor.start

    def late(*given: Any) -> Run:
        book.spend("a colleague", 0.25)
        Path(project.source).unlink()
        return started(*given)

    supervisor.start = late  # type: ignore[method-assign]
    failed = client.post(f"/p/{project.id}/release/start", data=asked)
    run = runs_of(project)[0]
    assert run.state == "failed"
    assert "only 0.25 of 0.5 is left" in run.status["message"]
    assert f'href="/p/{project.id}/account"' in failed.text, "a way to where it can be mended"
    assert [e.state for e in book.entries] == ["answered"]


def test_two_tabs_that_press_start_begin_one_run(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=3)
    asked = form(client.get(f"/p/{project.id}/release").text)
    gate = threading.Barrier(2)

    def press() -> None:
        gate.wait()
        from discreet.studio.runs.offer import offer_of

        offer = offer_of(client.studio.workspace, project)
        assert offer.job is not None
        client.studio.supervisor.start(project, offer.job, int(asked["number"]))

    tabs = [threading.Thread(target=press) for _ in range(2)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    client.post(f"/p/{project.id}/release/start", data=asked)  # and a form that is sent again
    assert client.studio.supervisor.started == 1  # type: ignore[attr-defined]
    assert len(runs_of(project)) == 1
    assert len(book.entries) == 1


def test_a_page_drawn_before_the_plan_changed_starts_nothing(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    account(project, tmp_path, epsilon=3)
    asked = form(client.get(f"/p/{project.id}/release").text)
    project.parameters = {"epsilon": 2.5}
    project.save()
    told = client.post(f"/p/{project.id}/release/start", data=asked)
    assert "changed since this page was shown" in told.text
    assert not runs_of(project)


def test_a_price_without_an_account_has_to_be_meant_and_can_be_booked_later(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    asked = form(client.get(f"/p/{project.id}/release").text)
    assert "Confirm that you want no account" in client.post(f"/p/{project.id}/release/start", data=asked).text
    assert not runs_of(project)
    client.post(f"/p/{project.id}/release/start", data={**asked, "uncounted": "yes"})
    assert runs_of(project)[0].state == "done"
    made = {"dataset": "people", "epsilon": "3", "delta": ""}
    page = client.post(f"/p/{project.id}/account/create", data=made)
    assert "Released without an account" in page.text
    page = client.post(f"/p/{project.id}/account/book", data={"project": project.id, "number": "1"})
    assert "ε: 2 of 3 left" in page.text
    assert "Released without an account" not in page.text
    again = client.post(f"/p/{project.id}/account/book", data={"project": project.id, "number": "1"})
    assert "ε: 2 of 3 left" in again.text


def test_a_run_that_was_lost_before_it_booked_says_what_going_on_costs(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=2.5)
    supervisor = client.studio.supervisor
    lost = _lost(client, project, book, reserve=True)
    page = client.get(f"/p/{project.id}/release/1")
    assert "lost" in page.text
    assert "Entry 1 of the account was reserved: ε = 1 stays spent" in page.text
    assert "ε = 1.5 is left, 0.5 afterwards." in page.text
    assert "lost, stays spent" in client.get(f"/p/{project.id}/account").text
    done = client.post(f"/p/{project.id}/release/1/again", data=form(page.text))
    assert runs_of(project)[0].state == "done"
    assert "almost nothing about one row" in done.text
    client.post(f"/p/{project.id}/release/1/again", data=form(page.text))  # the other tab
    assert supervisor.started == 1  # type: ignore[attr-defined]
    assert [e.state for e in book.entries] == ["reserved", "booked"]
    assert float(book.remaining) == 0.5
    assert not list(lost.glob(".*"))
    assert not (lost / "half.csv").exists()
    client.post(f"/p/{project.id}/account/annotate", data={"entry": "1", "text": "the machine was switched off"})
    assert "the machine was switched off" in client.get(f"/p/{project.id}/account").text


def test_what_was_made_and_paid_for_is_handed_out_for_nothing(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=1)
    client.post(f"/p/{project.id}/release/start", data=form(client.get(f"/p/{project.id}/release").text))
    run = runs_of(project)[0]
    made = run.path("release").read_bytes()
    # Killed after the release was booked and saved, before its page and its last word were written.
    run.path("report").unlink()
    run.write(state="running", files={}, figures={}, promise=None, entry=None)
    page = client.get(f"/p/{project.id}/release/1")
    assert "Costs nothing" in page.text
    assert "booked as entry 1" in page.text
    client.post(f"/p/{project.id}/release/1/again", data=form(page.text))
    run = runs_of(project)[0]
    assert run.state == "done"
    assert run.path("release").read_bytes() == made
    assert run.path("report").is_file()
    assert len(book.entries) == 1
    assert float(book.remaining) == 0


def test_a_release_that_was_booked_and_never_written_is_lost_and_stays_spent(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=2)
    client.post(f"/p/{project.id}/release/start", data=form(client.get(f"/p/{project.id}/release").text))
    run = runs_of(project)[0]
    run.path("release").unlink()  # killed between the account's line and the file
    run.write(state="running", files={}, figures={}, promise=None, entry=None)
    page = client.get(f"/p/{project.id}/release/1").text
    assert "Costs nothing" not in page
    assert "ε = 1 is left, 0 afterwards." in page
    told = client.get(f"/p/{project.id}/account").text
    assert "lost, stays spent" in told
    client.post(f"/p/{project.id}/release/1/again", data=form(page))
    assert runs_of(project)[0].state == "done"
    assert [e.state for e in book.entries] == ["booked", "booked"]
    told = client.get(f"/p/{project.id}/account").text
    assert told.count("lost, stays spent") == 1
    client.post(f"/p/{project.id}/account/annotate", data={"entry": "1", "text": "the machine was switched off"})
    assert "Paid for and never released" not in client.get(f"/p/{project.id}/account").text


def test_an_account_that_cannot_be_read_stops_releases(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=2)
    book.path.write_text(book.path.read_text().replace('"people"', '"peoble"'))
    page = client.get(f"/p/{project.id}/release").text
    assert "release/start" not in page
    assert f'href="/p/{project.id}/account">Go to: Account' in page
    assert "cannot be read" in client.get(f"/p/{project.id}/account").text


def test_going_on_is_refused_where_the_account_does_not_hold_the_price(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=1.5)
    _lost(client, project, book, reserve=True)
    page = client.get(f"/p/{project.id}/release/1")
    assert "release/1/again" not in page.text
    assert "only 0.5 of 1.5 is left" in page.text
    client.post(f"/p/{project.id}/release/1/again", data={"attempt": "1"})
    assert runs_of(project)[0].state == "failed"
    assert [e.state for e in book.entries] == ["reserved"]


def _lost(client: Browser, project: Project, book: Account, *, reserve: bool) -> Path:
    """Leave a run as a process leaves it that is killed in the middle."""
    from discreet.jobs.charging import account_of
    from discreet.studio.runs.offer import offer_of

    offer = offer_of(client.studio.workspace, project)
    assert offer.job is not None
    launch = client.studio.supervisor._launch

    def killed(folder: Path, handle: int) -> None:
        run = Run.read(folder)
        run.write(state="running", started="2026-11-16T12:00:00+00:00", before=len(book.entries), pid=1, born="0")
        charged = account_of(Run.read(folder).job)  # type: ignore[arg-type]
        assert charged is not None
        if reserve:
            charged.reserve("GridSynopsis", epsilon=1)
        (folder / ".synopsis.parquet.half").write_text("half")
        (folder / "half.csv").write_text("half")
        os.close(handle)

    client.studio.supervisor._launch = killed  # type: ignore[method-assign]
    client.studio.supervisor.start(project, offer.job, offer.number)
    client.studio.supervisor._launch = launch  # type: ignore[method-assign]
    return project.runs / str(offer.number)


def test_a_table_that_is_handed_out_after_its_run_was_lost_still_counts(client: Browser, tmp_path: Path) -> None:
    from discreet.studio.runs.offer import history_of

    place = tmp_path / "visits.csv"
    place.write_text("who,age\n" + "".join(f"p{i},{20 + i % 60}\n" for i in range(400)), encoding="utf-8")
    project = client.studio.workspace.create(source=str(place), goal="anonymize", parameters={"k": 5})
    project.schema_file.write_text(
        '[columns.who]\nrole = "identifier"\n[columns.age]\nbounds = [0, 120]\nrole = "quasi-identifier"\n',
        encoding="utf-8",
    )
    book = account(project, tmp_path, epsilon=1)
    client.post(f"/p/{project.id}/release/start", data=form(client.get(f"/p/{project.id}/release").text))
    run = runs_of(project)[0]
    made = run.path("release").read_bytes()
    run.write(state="running", files={}, figures={}, promise=None, entry=None)
    page = client.get(f"/p/{project.id}/release/1").text
    client.post(f"/p/{project.id}/release/1/again", data=form(page))
    run = runs_of(project)[0]
    assert run.state == "done"
    assert run.path("release").read_bytes() == made
    assert len(book.entries) == 1
    assert [Path(entry.table) for entry in history_of(project).tables] == [run.path("release")]


@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_anonymous_tables_are_listed_and_checked_with_earlier_ones(kind: str, client: Browser, tmp_path: Path) -> None:
    place = tmp_path / "visits.csv"
    place.write_text("who,age\n" + "".join(f"p{i},{20 + i % 60}\n" for i in range(400)), encoding="utf-8")
    project = client.studio.workspace.create(source=str(place), goal="anonymize", parameters={"k": 5})
    project.schema_file.write_text(
        '[columns.who]\nrole = "identifier"\n[columns.age]\nbounds = [0, 120]\nrole = "quasi-identifier"\n',
        encoding="utf-8",
    )
    first = client.get(f"/p/{project.id}/release")
    assert "has no ε" in first.text
    assert "release history" in first.text
    client.post(f"/p/{project.id}/release/start", data={**form(first.text), "form": kind})
    run = runs_of(project)[0]
    assert run.state == "done", run.status
    assert run.files["release"].endswith(f".{kind}")
    assert not list(run.folder.rglob("*.record")), "nothing in the folder of a run says who is who"
    assert client.get(f"/p/{project.id}/release/1/file/record").status_code == 404
    assert "It is checked together with earlier releases about the same people: 1." in client.get(
        f"/p/{project.id}/release"
    ).text  # fmt: skip
    told = client.get(f"/p/{project.id}/account").text
    assert "Released without an ε" in told
    assert "yes, by its release history" in told


def test_an_account_is_closed_only_when_that_is_said_twice(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=1)
    page = client.post(f"/p/{project.id}/account/close")
    assert "Close it for good?" in page.text
    assert not book.closed
    client.post(f"/p/{project.id}/account/close", data={"sure": "yes"})
    assert book.closed
    assert "is closed" in client.get(f"/p/{project.id}/release").text


@pytest.mark.parametrize("said", [{"epsilon": "lots"}, {"epsilon": "-1"}, {"epsilon": "1", "delta": "2"}])
def test_an_account_that_cannot_be_opened_says_which_field(
    client: Browser, tmp_path: Path, said: dict[str, str]
) -> None:
    project = table(client, tmp_path)
    page = client.post(f"/p/{project.id}/account/create", data={"dataset": "people", "path": "", **said})
    assert page.status_code == 400
    assert f'href="#{list(said)[-1]}"' in page.text
    assert 'aria-invalid="true"' in page.text
    assert not list(tmp_path.glob("*.account"))


def test_the_account_of_the_same_table_is_offered_again(client: Browser, tmp_path: Path) -> None:
    account(table(client, tmp_path), tmp_path, epsilon=1)
    other = table(client, tmp_path)
    page = client.get(f"/p/{other.id}/account").text
    assert "already has an account" in page
    assert str(tmp_path / "people.account") in page


def test_the_account_verifies_and_finds_an_old_copy(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=1)
    before = book.path.read_bytes()
    book.spend("count", 0.5)
    head = book.head
    assert "The account is intact" in client.get(f"/p/{project.id}/account/verify", params={"head": head}).text
    book.path.write_bytes(before)
    assert "It does not hold" in client.get(f"/p/{project.id}/account/verify", params={"head": head}).text


def test_all_pages_are_there_in_german(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=2.5)
    _lost(client, project, book, reserve=True)
    german = {"accept-language": "de"}
    assert "bleibt ausgegeben" in client.get(f"/p/{project.id}/release/1", headers=german).text
    assert "verloren, bleibt ausgegeben" in client.get(f"/p/{project.id}/account", headers=german).text
    assert "Jetzt freigeben" in client.get(f"/p/{project.id}/release", headers=german).text


def test_the_price_of_synthetic_rows_is_told_in_the_currency_of_the_account(tmp_path: Path) -> None:
    book = Account.create(tmp_path / "r.account", dataset="people", rho=1, delta=1e-6)
    (tmp_path / "t.csv").write_text("a,b\n" + "x,1\ny,2\n" * 50)
    columns = {"a": {"categories": ["x", "y"]}, "b": {"bounds": [0, 3]}}
    given = {"epsilon": 0.8, "delta": 1e-6, "account": str(book.path)}
    job = Job("synthesize", str(tmp_path / "t.csv"), columns, given, {"table": "o.csv"}, folder=tmp_path)
    told = charge_of(job)
    assert told is not None
    job.run()
    (entry,) = Account(book.path).entries
    assert told.price == pytest.approx(float(entry.price))


@pytest.mark.parametrize("kind", ["synopsis", "cluster"])
@pytest.mark.parametrize("limit", [{"rho": 0.1, "delta": 1e-9}, {"epsilon": 3}, {"epsilon": 1.2, "delta": 1e-5}])
@pytest.mark.parametrize("budget", [{"epsilon": 1, "delta": 1e-9}, {"epsilon": 0.4}, {"rho": 0.05, "delta": 1e-9}])
def test_what_the_account_would_refuse_is_said_before(
    kind: str, limit: dict[str, float], budget: dict[str, float], tmp_path: Path
) -> None:
    """With a δ, the method decides which noise is narrower, and so what is paid."""
    book = Account.create(tmp_path / "r.account", dataset="people", **limit)
    (tmp_path / "t.csv").write_text("a,b\n" + "1,1\n2,2\n" * 50)
    columns = {"a": {"bounds": [0, 3]}, "b": {"bounds": [0, 3]}}
    output = {"synopsis": {"release": "s.parquet"}, "cluster": {"centers": "c.csv"}}[kind]
    given = {**budget, "account": str(book.path)} | ({"n_clusters": 2} if kind == "cluster" else {})
    job = Job(kind, str(tmp_path / "t.csv"), columns, given, output, folder=tmp_path)
    told = charge_of(job)
    assert told is not None
    with pytest.raises(BudgetExceeded) if told.refused else nullcontext():
        job.run()


def test_an_older_copy_of_the_account_does_not_pay_once_more(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    book = account(project, tmp_path, epsilon=2)
    older = book.path.read_bytes()
    client.post(f"/p/{project.id}/release/start", data=form(client.get(f"/p/{project.id}/release").text))
    assert len(Account(book.path).entries) == 1
    assert "Release now" in client.get(f"/p/{project.id}/release").text
    book.path.write_bytes(older)
    page = client.get(f"/p/{project.id}/release").text
    assert "does not know run 1" in page
    assert "Release now" not in page
    assert "does not know run 1" in client.get(f"/p/{project.id}/account").text
    runs_of(project)[0].write(state="failed")
    assert client.post(f"/p/{project.id}/release/1/again", data={"attempt": "1"}).status_code == 400
    assert not Account(book.path).entries


def test_a_run_that_is_just_ending_is_not_taken_for_one_that_goes_on(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path)
    folder = project.runs / "1"
    folder.mkdir(parents=True)
    run = Run.read(folder)
    run.write(state="failed")
    held = lock(folder)
    assert held is not None
    with pytest.raises(Busy, match="just ending"):
        client.studio.supervisor.again(project, run, 1)
    os.close(held)


def test_what_is_not_checked_with_other_releases_is_not_said_to_be(client: Browser, tmp_path: Path) -> None:
    project = table(client, tmp_path, goal="anonymize", parameters={"k": 5})
    said = "[columns.age]\nbounds = [0, 120]\nrole = 'quasi-identifier'\n"
    project.schema_file.write_text(said)
    assert "cannot be checked together" in client.get(f"/p/{project.id}/release").text
    project.schema_file.write_text(said + "[columns.cost]\nrole = 'identifier'\n")
    assert "cannot be checked together" not in client.get(f"/p/{project.id}/release").text


@pytest.mark.parametrize("path", ["/a\0b", "~nobody-here/t.account", "/" + "x" * 5000])
def test_a_path_that_no_account_can_have_is_refused_next_to_its_form(
    client: Browser, tmp_path: Path, path: str
) -> None:
    project = table(client, tmp_path)
    for act in ("create", "open"):
        page = client.post(f"/p/{project.id}/account/{act}", data={"dataset": "x", "epsilon": "1", "path": path})
        assert page.status_code == 400
        assert 'role="alert"' in page.text
