"""A page of somebody else in another tab of the same browser gets nothing from the studio, and changes nothing."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from chromium_browser import opened
from studio_runs import people
from studio_story import Visit, studio

pytestmark = pytest.mark.slow

_TRIES = """<!doctype html><title>evil</title><body><iframe name=inside></iframe>
<form id=open method=post action="{to}/open" target=inside><input name=path value="{table}"></form>
<form id=forget method=post action="{to}/p/{project}/forget" target=inside></form>
<script>
const tried = {{}};
async function attempt(name, work) {{
  try {{ tried[name] = String(await work()); }} catch (e) {{ tried[name] = "refused"; }}
}}
(async () => {{
  const here = "{to}/p/{project}/data";
  await attempt("read", async () => (await fetch(here, {{ credentials: "include" }})).text());
  await attempt("blind", async () => (await fetch(here, {{ mode: "no-cors", credentials: "include" }})).type);
  const body = "path=" + encodeURIComponent("{table}");
  const form = {{ method: "POST", mode: "no-cors", credentials: "include", body,
    headers: {{ "content-type": "application/x-www-form-urlencoded" }} }};
  await attempt("post", async () => (await fetch("{to}/open", form)).type);
  await attempt("script", () => new Promise((yes, no) => {{ const s = document.createElement("script");
    s.src = "{to}/static/studio.js"; s.onload = () => yes("loaded"); s.onerror = no; document.body.append(s); }}));
  await attempt("image", () => new Promise((yes, no) => {{ const s = new Image(); s.src = "{to}/static/icon.svg";
    s.onload = () => yes("loaded"); s.onerror = no; }}));
  await attempt("frame", () => new Promise((yes) => {{ const f = document.createElement("iframe"); f.src = here;
    f.onload = () => {{ try {{ yes(f.contentDocument ? "seen" : "refused"); }} catch (e) {{ yes("refused"); }} }};
    document.body.append(f); }}));
  for (const id of ["open", "forget"]) {{
    document.getElementById(id).submit();
    await new Promise(r => setTimeout(r, 800));
  }}
  document.title = "done";
}})();
</script>"""


class Evil:
    """A server on another port of this computer, which any program can start."""

    def __init__(self) -> None:
        owner, self.page = self, ""

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(owner.page.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server.server_address[1]


@pytest.fixture
def chromium():
    # evil.example leads to this computer: what an attacker's name server answers the second time.
    with opened("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser:
        yield browser


def test_a_hostile_page_reads_nothing_and_changes_nothing(chromium, tmp_path):
    table = people(tmp_path / "people.csv", 50)
    home, evil = tmp_path / "studio", Evil()
    with studio(home, str(table)) as address:
        visit = Visit(chromium, address)
        project, port = visit.project, visit.origin.rpartition(":")[2]
        before = sorted(str(p.relative_to(home)) for p in home.rglob("*"))
        # The same site as the studio is, so its cookie is sent; and a name that leads to it (DNS rebinding).
        for name, to in (
            ("127.0.0.1", visit.origin),
            ("localhost", visit.origin),
            ("127.0.0.1", f"http://evil.example:{port}"),
        ):
            evil.page = _TRIES.format(to=to, table=table, project=project)
            tab = visit.context.new_page()
            answers: dict[str, int] = {}
            tab.on("response", lambda answer, answers=answers: answers.update({answer.url: answer.status}))
            tab.goto(f"http://{name}:{evil.port}/")
            tab.wait_for_function("document.title === 'done'", timeout=30_000)
            tried = tab.evaluate("tried")
            assert tried["read"] == tried["frame"] == "refused", (name, to, tried)
            assert tried["script"] == tried["image"] == "refused", (name, to, tried)
            got = {url: status for url, status in answers.items() if f":{evil.port}" not in url}
            assert got, (name, to)
            assert set(got.values()) <= {403, 421}, (name, to, got)
            tab.close()
        rebound = visit.context.new_page()
        answer = rebound.goto(f"http://evil.example:{port}/p/{project}/data")
        assert answer.status == 421
        assert "people" not in answer.text()
        rebound.close()
        assert sorted(str(p.relative_to(home)) for p in home.rglob("*")) == before
        visit.go(f"/p/{project}/data")  # and the steward's own tab still works
        assert visit.tab.get_by_role("heading", level=1).inner_text() == "people.csv"
        visit.context.close()
    evil.server.shutdown()
    evil.server.server_close()
