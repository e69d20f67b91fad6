"""Errors for a shell: an argument is named as the option that was typed, and so is its fix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from discreet.errors import DiscreetError, InvalidArgument

#: What an argument of a program is called on the command line, where more than dashes differ; by verb where need be.
_NAMES = {
    "rng": "seed",
    "n_rows": "rows",
    "l_diversity": "l",
    "t_closeness": "t",
    "levels": "level",
    "hierarchies": "hierarchy",
    "how": "consistency",
    "clusters": "n_clusters",
    "d": "columns",
    "random_state": "seed",
}
_NAMES_OF = {
    "anonymize": {"output": "form"},
    "plan": {"n": "rows"},
    "sketch": {"n": "reports"},
}


def in_words_of_a_shell(error: DiscreetError, command: Any, args: Sequence[str]) -> str:
    """Return the message of an error, with options in place of arguments.

    Examples
    --------
    >>> import typer
    >>> app = typer.Typer()
    >>> @app.command()
    ... def release(epsilon: float, max_depth: int = 3) -> None: ...
    >>> wrong = InvalidArgument("max_depth", -1, "a whole number", "max_depth=1")
    >>> in_words_of_a_shell(wrong, typer.main.get_command(app), ["1", "--max-depth", "-1"])
    '--max-depth must be a whole number, got -1; try --max-depth 1'
    """
    if not isinstance(error, InvalidArgument):
        return str(error)
    names = {**_NAMES, **_NAMES_OF.get(args[0] if args else "", {})}
    for word in args:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
    option = error.name if error.name.startswith("--") else f"--{names.get(error.name, error.name).replace('_', '-')}"
    if option not in {text for parameter in command.params for text in parameter.opts}:
        return str(error)
    fix = re.sub(rf"^{re.escape(error.name)}='?([^\s']+)'?", rf"{option} \1", error.fix)
    return str(InvalidArgument(option, error.value, error.expected.replace("math.inf", "inf"), fix))
