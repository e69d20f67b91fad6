"""The files of the collector's guide: what can be checked of them without a machine of their own."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import typer

from discreet.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("collector.md", "collector-operations.md"))
FILES = dict(re.findall(r"```\w+ title=\"([^\"]+)\"\n(.*?)```", PAGE, re.S))
TOP: Any = typer.main.get_command(app)
SERVE = TOP.commands["collect"].commands["serve"]


def check_line(words: list[str]) -> dict[str, Any]:
    """Read a command line as the program would, without running it."""
    assert words[:2] == ["collect", "serve"]
    return dict(SERVE.make_context("serve", words[2:]).params)


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


def test_the_container_starts_what_there_is_as_somebody_else_than_root() -> None:
    lines = [line.partition(" ") for line in FILES["Containerfile"].strip().splitlines()]
    known = {"FROM", "RUN", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}
    assert {word for word, _, _ in lines} == known
    command = json.loads(next(rest for word, _, rest in lines if word == "CMD"))
    assert command[0] == "discreet"
    settings = check_line(command[1:])
    said = {word: rest for word, _, rest in lines}
    assert str(settings["data"]) == said["VOLUME"]
    assert str(settings["port"]) == said["EXPOSE"]
    assert said["USER"] != "root"
    health = json.loads(said["HEALTHCHECK"].removeprefix("CMD "))
    compile(health[2], "health", "exec")
    assert f":{settings['port']}/ready" in health[2]


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
    for flag in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", re.sub(r"```dockerfile.*?```", "", PAGE, flags=re.S))):
        assert flag in options, flag


def _commands(group: Any) -> list[Any]:
    return [c for one in group.commands.values() for c in (_commands(one) if hasattr(one, "commands") else [one])]
