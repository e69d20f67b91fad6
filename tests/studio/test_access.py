"""No one gets at the studio but the browser that the steward opened: no other page, name or computer."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.studio import guard as guards
from discreet.studio.serve import checked_host
from discreet.studio.workspace import Workspace
from support.studio_client import ORIGIN, Browser, browser

SITE = ORIGIN.removeprefix("http://")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Browser]:
    with browser(tmp_path / "home") as made:
        yield made


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Browser]:
    with browser(tmp_path / "home", signed_in=False) as made:
        made.follow_redirects = False
        yield made


def test_without_the_token_nothing_is_answered(stranger: Browser) -> None:
    for path in ("/", "/static/studio.css", "/p/abcdefabcdef/data", "/?token=", "/?token=wrong", "/data?token=wrong"):
        answer = stranger.get(path)
        assert answer.status_code == 403
        assert "<" not in answer.text
    assert stranger.post("/open", data={"path": "/etc/passwd"}).status_code == 403


def test_the_token_works_once_and_leaves_the_address(stranger: Browser) -> None:
    token = stranger.studio.guard.token
    answer = stranger.get(f"/?token={token}&next=/p/abcdefabcdef/data")
    assert (answer.status_code, answer.headers["location"]) == (303, "/p/abcdefabcdef/data")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert token not in cookie
    assert stranger.get("/").status_code == 200
    stranger.cookies.clear()
    assert stranger.get(f"/?token={token}").status_code == 403


def test_a_new_address_ends_the_old_one_and_leaves_open_browsers_alone(stranger: Browser) -> None:
    old = stranger.studio.guard.token
    new = stranger.studio.guard.renew()
    assert stranger.get(f"/?token={old}").status_code == 403
    assert stranger.get(f"/?token={new}").status_code == 303
    first = dict(stranger.cookies)
    stranger.cookies.clear()
    assert stranger.get(f"/?token={stranger.studio.guard.renew()}").status_code == 303
    assert dict(stranger.cookies) != first  # each browser has its own
    stranger.cookies.clear()
    stranger.cookies.update(first)
    assert stranger.get("/").status_code == 200


def test_a_browser_that_only_looks_ahead_does_not_use_the_token_up(stranger: Browser) -> None:
    token = stranger.studio.guard.token
    assert stranger.get(f"/?token={token}", headers={"sec-purpose": "prefetch"}).status_code == 403
    assert stranger.get(f"/?token={token}").status_code == 303


@pytest.mark.parametrize(
    "there",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/%0d%0aX: y", "/a//b"],
)
def test_the_page_after_signing_in_is_one_of_ours(stranger: Browser, there: str) -> None:
    answer = stranger.get("/", params={"token": stranger.studio.guard.token, "next": there})
    assert answer.headers["location"] == "/"
    assert stranger.post("/settings", data={"back": there}).headers["location"] == "/"


def test_a_link_from_elsewhere_with_the_token_leads_in_by_a_page_of_ours(stranger: Browser) -> None:
    token = stranger.studio.guard.token
    answer = stranger.get(f"/?token={token}&next=/p/abcdefabcdef/data", headers={"sec-fetch-site": "cross-site"})
    assert 'content="0;url=/p/abcdefabcdef/data"' in answer.text
    assert stranger.cookies


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{SITE.partition(':')[2]}", "127.0.0.1", "", "127.0.0.1:8001"]
)
def test_another_name_for_this_computer_gets_nothing(client: Browser, host: str) -> None:
    answer = client.get("/", headers={"host": host})  # what a page sees whose name was pointed here
    assert answer.status_code == 421
    assert "<" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://localhost:9999"},
        {"origin": f"https://{SITE}"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
    ],
)  # fmt: skip
def test_other_pages_get_nothing_and_change_nothing(client: Browser, headers: dict[str, str]) -> None:
    for answer in (client.get("/", headers=headers), client.post("/open", data={"path": "/"}, headers=headers)):
        assert answer.status_code == 403
    assert list(client.studio.workspace.projects()) == []


def test_one_origin_of_ours_does_not_vouch_for_another(client: Browser) -> None:
    two = [("origin", ORIGIN), ("origin", "http://evil.example")]
    del client.headers["origin"]
    assert client.post("/settings", data={"theme": "dark"}, headers=two).status_code == 403
    assert (
        client.get("/", headers=[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")]).status_code
        == 403
    )


def test_who_may_not_ask_holds_no_line_open(client: Browser) -> None:
    assert client.get("/", headers={"host": "evil.example"}).headers["connection"] == "close"
    assert "connection" not in client.get("/").headers


def test_a_form_without_an_origin_is_refused(client: Browser) -> None:
    del client.headers["origin"]
    assert client.get("/").status_code == 200
    assert client.post("/settings", data={"theme": "dark"}).status_code == 403


def test_every_answer_forbids_what_is_not_ours(client: Browser, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    project = client.studio.workspace.create(source=str(tmp_path / "t.csv"))
    for path in ("/", f"/p/{project.id}/data", "/static/studio.js", "/nowhere", f"/p/{project.id}/job.toml"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_get_never_changes_anything(client: Browser) -> None:
    for route in client.studio.app.routes:
        methods: set[str] = getattr(route, "methods", set())
        assert methods <= {"GET", "HEAD"} or methods == {"POST"}, route


def test_what_is_sent_is_bounded(client: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MOST_BODY", 1000)
    assert client.post("/open", data={"path": "x" * 2000}).status_code == 413

    def pieces() -> Iterator[bytes]:
        yield from [b"path=" + b"x" * 600] * 5

    typed = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/open", content=pieces(), headers=typed).status_code == 413  # nothing was announced
    assert client.post("/open", data={"path": "x"}, headers={"content-length": "-5"}).status_code in (400, 413)


def test_who_dawdles_is_not_waited_for() -> None:
    async def never() -> Any:
        await asyncio.sleep(60)

    received = guards._bounded({"path": "/open"}, never, patience=0.05)
    with pytest.raises(guards.HTTPException) as refused:
        asyncio.run(received())  # type: ignore[arg-type]
    assert refused.value.status_code == 408


def test_a_drip_ends_though_every_drop_is_in_time() -> None:
    async def drip() -> Any:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def read() -> None:
        received = guards._bounded({"path": "/open"}, drip, patience=0.1)
        for _ in range(100):
            await received()

    with pytest.raises(guards.HTTPException):
        asyncio.run(read())


@pytest.mark.parametrize(
    "name", ["..", "%2e%2e", "..%2f..%2fetc", "abcdefabcdef%00", "ABCDEFABCDEF", "abcdefabcde", "*", "abcdef%0aabcde"]
)
def test_names_of_projects_lead_nowhere_else(client: Browser, name: str, tmp_path: Path) -> None:
    (tmp_path / "project.json").write_text('{"source": "/etc/passwd"}')
    for page in ("data", "job.toml", "columns"):
        assert client.get(f"/p/{name}/{page}").status_code in (400, 404)


@pytest.mark.parametrize(
    "name", ["..%2fguard.py", "%2e%2e/guard.py", "..%5cguard.py", "/etc/passwd", "%2fetc%2fpasswd", ".", "%00"]
)
def test_names_of_assets_lead_nowhere_else(client: Browser, name: str) -> None:
    answer = client.get(f"/static/{name}")
    assert answer.status_code in (400, 404)


def test_links_in_the_workspace_are_not_followed(client: Browser, tmp_path: Path) -> None:
    space = client.studio.workspace
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "project.json").write_text('{"source": "/etc/passwd"}')
    os.symlink(elsewhere, space.home / "aaaaaaaaaaaa")
    (space.home / "bbbbbbbbbbbb").mkdir()
    os.symlink(elsewhere / "project.json", space.home / "bbbbbbbbbbbb" / "project.json")
    for name in ("aaaaaaaaaaaa", "bbbbbbbbbbbb"):
        assert client.get(f"/p/{name}/data").status_code == 400
    assert list(space.projects()) == []


def test_a_folder_that_others_may_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    with pytest.raises(dc.errors.DataSourceError, match="others may look into"):
        Workspace(tmp_path / "open")
    assert Workspace(tmp_path / "new").home.stat().st_mode & 0o777 == 0o700


def test_other_computers_are_let_in_only_if_it_is_said_twice() -> None:
    assert checked_host([]) == "127.0.0.1"
    assert checked_host(["192.168.1.5"] * 2) == "192.168.1.5"
    assert checked_host(["0:0:0:0:0:0:0:1"]) == "::1"  # as browsers write it in Host
    for said in (["192.168.1.5"], ["0.0.0.0"] * 2, ["::"] * 2, ["evil.example"] * 2):
        with pytest.raises(dc.errors.InvalidArgument):
            checked_host(said)


#: A process, the address it printed, and its folder.
Served = tuple[subprocess.Popen[str], str, Path]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A studio of its own process, as the command line starts it."""
    (tmp_path / "t.csv").write_text("age\n44\n")
    home = tmp_path / "home"
    command = [
        sys.executable,
        "-m",
        "discreet",
        "studio",
        str(tmp_path / "t.csv"),
        "--no-browser",
        "--folder",
        str(home),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("Open").strip()
        process.stdout.readline()
        yield process, address, home
        process.kill()


def _ask(address: str, path: str, **headers: str) -> str:
    """Return the answer of a real server to a request as it is written."""
    place = re.match(r"http://([\d.]+):(\d+)/", address)
    assert place is not None
    for _ in range(100):
        try:
            sock = socket.create_connection((place[1], int(place[2])), timeout=20)
            break
        except OSError:
            time.sleep(0.1)
    head = {"Host": f"{place[1]}:{place[2]}", "Connection": "close", **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in head.items())
    with sock:
        sock.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        got = b""
        while piece := sock.recv(65536):
            got += piece
    return got.decode()


@pytest.mark.slow
def test_the_server_itself_on_loopback_from_start_to_clean_end(served: Served) -> None:
    process, address, home = served
    path = "/" + address.split("/", 3)[3]
    assert " 421 " in _ask(address, "/", Host="evil.example").splitlines()[0]
    assert " 403 " in _ask(address, "/").splitlines()[0]
    entered = _ask(address, path)
    assert " 303 " in entered.splitlines()[0]
    cookie = re.search(r"set-cookie: ([^;]+)", entered)
    there = re.search(r"location: (\S+)", entered)
    assert cookie is not None
    assert there is not None
    assert "t.csv" in _ask(address, there[1], Cookie=cookie[1])
    assert " 403 " in _ask(address, path).splitlines()[0]
    if shutil.which("ss"):
        listening = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True, check=True).stdout
        own = [line for line in listening.splitlines() if f"pid={process.pid}," in line]
        assert own
        assert all("127.0.0.1:" in line.split()[3] for line in own)
    (project,) = [p for p in home.iterdir() if p.is_dir()]
    (project / "upload").mkdir()
    (project / "upload" / "t.csv").write_text("age\n")
    process.send_signal(signal.SIGHUP)
    assert process.stdout is not None
    again = process.stdout.readline().removeprefix("Open").strip()
    assert " 303 " in _ask(again, "/" + again.split("/", 3)[3]).splitlines()[0]
    second = [sys.executable, "-m", "discreet", "studio", "--no-browser", "--folder", str(home)]
    assert "a studio is open already" in subprocess.run(second, capture_output=True, text=True, check=False).stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert not (project / "upload").exists()
    said = process.stdout.read()
    assert "Traceback" not in said
    assert "token" not in said.replace(again, "")


def test_the_studio_goes_on_when_the_reader_of_its_output_leaves(tmp_path: Path) -> None:
    """As in ``discreet studio | head -1``: each new address finds the pipe closed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "discreet",
        "studio",
        "--no-browser",
        "--folder",
        str(tmp_path),
        "--port",
        str(port),
    ]
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, text=True) as process:
        os.close(writing)
        try:
            for _ in range(2):
                assert " 403 " in _ask(f"http://127.0.0.1:{port}/", "/").splitlines()[0]
                time.sleep(0.2)
                process.send_signal(signal.SIGHUP)  # asks for another address
            process.send_signal(signal.SIGTERM)
            assert process.communicate(timeout=20)[1] == ""
            assert process.returncode == 0
        finally:
            process.kill()


@pytest.mark.slow
def test_half_a_head_is_not_waited_for_and_http_2_is_not_spoken(
    served: tuple[subprocess.Popen[str], str, Path],
) -> None:
    _, address, _ = served
    _ask(address, "/")
    place = re.match(r"http://([\d.]+):(\d+)/", address)
    assert place is not None
    with socket.create_connection((place[1], int(place[2])), timeout=30) as sock:
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert b"HTTP/2" not in sock.recv(1000)
    with socket.create_connection((place[1], int(place[2])), timeout=30) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        began = time.monotonic()
        while sock.recv(1000):
            pass
        assert time.monotonic() - began < 20
