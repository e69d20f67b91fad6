"""Run `discreet` commands inside the test process.

Starting Python and importing the package takes a second, so tests run commands here and leave real processes to the
tests of signals, pipes and start-up time. The parser is built once: building it costs more than most commands.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import typer
from click.testing import CliRunner, Result

from discreet.cli.app import app, main


@cache
def parser() -> Any:
    """Return the parser of the whole command line."""
    return typer.main.get_command(app)


def run(*words: object, catch: bool = False, **environment: str) -> Result:
    """Run a command and return its result.

    An error is raised, unless ``catch`` asks to keep it in the result. Further keywords are environment variables:
    ``COLUMNS="80"`` sets the width of the terminal.
    """
    return CliRunner().invoke(parser(), [str(word) for word in words], env=environment, catch_exceptions=catch)


def output(*words: object, code: int = 0, **environment: str) -> str:
    """Run a command, check its exit code and return what it prints."""
    done = run(*words, **environment)
    assert done.exit_code == code, done.output
    return done.output


def exit_code(*words: object) -> int:
    """Run a command as a shell does, with errors shown as one sentence, and return its exit code."""
    try:
        main([str(word) for word in words])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def printed(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    """Run a command as a shell does, check its exit code and return what it prints, on failure its errors."""
    capsys.readouterr()
    left = exit_code(*words)
    said = capsys.readouterr()
    assert left == code, said.err
    return said.err if code else said.out
