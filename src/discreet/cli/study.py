"""The verb `study`: found by entry point, because the experiments are a package of their own.

Whoever installs ``discreet-studies`` gets its verbs (group `GROUP`, name ``study``); they are looked for when the verb
is used, so that ``discreet --help`` waits for nothing.
"""

from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from discreet.errors import MissingStudies

#: Where packages that bring verbs announce them.
GROUP = "discreet.verbs"


class StudyVerbs(TyperGroup):
    """The verbs of the installed studies, or an error that says how to install them."""

    _found: dict[str, Any] | None = None

    @property  # type: ignore[override]
    def commands(self) -> dict[str, Any]:
        """The verbs by name, loaded when they are first asked for."""
        if self._found is None:
            announced = list(entry_points(group=GROUP, name="study"))
            if not announced:
                raise MissingStudies
            verbs: Any = typer.main.get_command(announced[0].load())
            self._found = dict(verbs.commands)
        return self._found

    @commands.setter
    def commands(self, none: dict[str, Any]) -> None:
        """Take nothing: the verbs come from the entry point."""


study = typer.Typer(
    name="study",
    cls=StudyVerbs,
    help="Run published experiments again and set the figures side by side.",
    no_args_is_help=True,
)
