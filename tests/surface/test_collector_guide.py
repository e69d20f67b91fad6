"""The files of the collector's guide: what can be checked of them without a machine of their own."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import typer

from collecting import free_port, some_task
from discreet.cli.app import app
from discreet.collector import shuffled_promise
from discreet.core import at_most

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("collector.md", "collector-operations.md", "shuffler.md")
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in NAMES)
FILES = dict(re.findall(r"```\w+ title=\"([^\"]+)\"\n(.*?)```", PAGE, re.S))
SHUFFLER = {**FILES, "": (DOCS / "shuffler.md").read_text(encoding="utf-8")}
TOP: Any = typer.main.get_command(app)
SERVE = TOP.commands["collect"].commands["serve"]


def check_line(words: list[str]) -> dict[str, Any]:
    """Read a command line as the program would, without running it."""
    assert words[:2] == ["collect", "serve"]
    typed = SERVE.make_context("serve", words[2:]).params
    return {"port": 8765, **{name[2:]: value for name, value in typed.items() if value is not None}}


def test_the_unit_starts_what_there_is_and_is_taken_by_systemd(tmp_path: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(FILES["discreet-collector.service"])
    words = shlex.split(unit["Service"]["ExecStart"])
    assert words[0].endswith("/discreet")
    assert str(check_line(words[1:])["data"]).startswith("/var/lib/" + unit["Service"]["StateDirectory"])
    if shutil.which("systemd-analyze"):
        text = FILES["discreet-collector.service"].replace(words[0], "/bin/true")
        (tmp_path / "discreet-collector.service").write_text(text)
        line = ["systemd-analyze", "verify", str(tmp_path / "discreet-collector.service")]
        told = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
        assert "discreet-collector" not in told.stderr, told.stderr


CONTAINER = [line.partition(" ") for line in FILES["deploy/Containerfile"].splitlines() if line[:1] not in ("#", " ")]


def in_container(word: str) -> str:
    """Return the rest of the last line of the container file that begins with a word."""
    return next(rest for first, _, rest in reversed(CONTAINER) if first == word)


def test_the_container_file_is_the_one_of_the_guide_and_starts_what_there_is() -> None:
    assert FILES["deploy/Containerfile"] == (DOCS.parent / "deploy" / "Containerfile").read_text(encoding="utf-8")
    entry, command = (json.loads(in_container(word)) for word in ("ENTRYPOINT", "CMD"))
    assert entry == ["discreet", "collect"]
    settings = check_line([entry[1], *command])
    assert str(settings["data"]) == in_container("VOLUME")
    assert str(settings["port"]) == in_container("EXPOSE")
    words = [word for word, _, _ in CONTAINER]
    assert words.count("USER") == 1
    assert words.index("USER") < words.index("ENTRYPOINT")
    health = json.loads(in_container("HEALTHCHECK").removeprefix("CMD "))
    compile(health[2], "health", "exec")
    assert f":{settings['port']}/ready" in health[2]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can start a process as someone else")
def test_the_command_of_the_container_runs_as_its_user(tmp_path: Path) -> None:
    """Not in a container, but as the same user, with the same command, in a folder that belongs to it."""
    user = int(in_container("USER").partition(":")[0])
    assert user > 0
    python = next((p for p in (sys.executable, "/usr/bin/python3") if _runs(p, user)), None)
    if python is None:
        pytest.skip("the interpreter is not readable by other users")
    data, port = Path(tempfile.mkdtemp(prefix="as-user-")), free_port()
    os.chown(data, user, user)
    command = [{"/data": str(data), "8765": str(port), "0.0.0.0": "127.0.0.1"}.get(word, word)
               for word in json.loads(in_container("CMD"))]  # fmt: skip
    line = [python, "-m", "discreet.cli", "collect", *command]
    running = subprocess.Popen(
        line, user=user, group=user, extra_groups=[], env=_environment(str(data)), cwd=data, stdout=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as answer:
                    assert answer.status == 200
                break
            except OSError:
                assert running.poll() is None
                time.sleep(0.1)
        assert {"collected.sqlite", "operator.token"} <= {path.name for path in data.iterdir()}
        assert {path.stat().st_uid for path in data.iterdir()} == {user}
    finally:
        running.terminate()
        running.wait(60)
        shutil.rmtree(data)


def _environment(home: str) -> dict[str, str]:
    paths = [path for path in sys.path if path and ("site-packages" in path or path.endswith("src"))]
    return {"PYTHONPATH": os.pathsep.join(paths), "HOME": home, "PATH": "/usr/bin:/bin", "NUMBA_CACHE_DIR": home}


def _runs(python: str, user: int) -> bool:
    try:
        line = [python, "-c", "import sys; sys.exit(sys.version_info[:2] != " + repr(sys.version_info[:2]) + ")"]
        done = subprocess.run(line, user=user, group=user, extra_groups=[], check=False, timeout=60, cwd="/")
    except OSError:
        return False
    return done.returncode == 0


def test_the_sealed_vector_of_the_guide_opens() -> None:
    from discreet.local import DirectResponse, Shuffle
    from discreet.local.tasks import INNER, OUTER, private_key, unseal

    vector = json.loads(SHUFFLER["vectors: sealing"])
    outer, digest = bytes.fromhex(vector["sealed to the shuffler"]), vector["task"]
    keys = {name: private_key(bytes.fromhex(vector[f"{name}, private"])) for name in ("collector", "shuffler")}
    for name, key in keys.items():
        assert key.public_key().public_bytes_raw().hex() == vector[name]
    inner = unseal(keys["shuffler"], OUTER, digest, outer)
    assert inner is not None
    assert inner.hex() == vector["sealed to the collector"]
    frame = unseal(keys["collector"], INNER, digest, inner)
    assert frame is not None
    assert frame.hex() == vector["frame"]
    task = some_task(
        DirectResponse(1, ["red", "green", "blue"]), wanted=10_000, minimum=1000,
        shuffle=Shuffle(batch=2000, honest=1000, collector=vector["collector"], shuffler=vector["shuffler"]),
    )  # fmt: skip
    assert task.digest == digest
    alone = shuffled_promise(task)["collector_alone"][0]
    assert f"ε = {at_most(alone['epsilon'], 3)} with δ = 10⁻⁶ per report" in SHUFFLER[""]


def test_the_proxy_lets_out_what_devices_need_and_nothing_else() -> None:
    text = FILES["collector.conf"]
    assert text.count("{") - text.count("{64}") == text.count("}") - text.count("{64}")
    for line in text.splitlines():
        assert not line.strip() or line.strip()[-1] in "{};", line
    pattern = re.search(r'location ~ "([^"]+)"', text)
    assert pattern is not None
    digest = "0" * 64
    for path in (f"/v1/tasks/{digest}", f"/v1/tasks/{digest}/reports"):
        assert re.search(pattern[1], path)
    for path in ("/", "/metrics", "/v1/tasks", f"/v1/tasks/{digest}/estimate", f"/tasks/{digest}", "/ready"):
        assert not re.search(pattern[1], path)
    assert "access_log off" in text
    assert 'X-Forwarded-For ""' in text


def test_every_flag_on_the_page_exists() -> None:
    options = {flag for command in _commands(TOP.commands["collect"]) for p in command.params for flag in p.opts}
    for flag in set(
        re.findall(r"(?<![\w-])--[a-z][a-z-]+", re.sub(r"```dockerfile.*?```|`podman[^`]*`", "", PAGE, flags=re.S))
    ):
        assert flag in options, flag


def _commands(group: Any) -> list[Any]:
    return [c for one in group.commands.values() for c in (_commands(one) if hasattr(one, "commands") else [one])]
