"""The verb `study`: published experiments, from the package ``discreet-studies``.

That package announces its verbs as an entry point (group `GROUP`, name ``study``). They are loaded when used.
"""

from typing import Any

import typer

from discreet.cli.common import Group, app, group
from discreet.errors import MissingStudies

#: The entry points of packages with verbs.
GROUP = "discreet.verbs"


class StudyVerbs(Group):
    """The verbs of the installed studies, or an error that says how to install them."""

    _found: dict[str, Any] | None = None

    @property  # type: ignore[override]
    def commands(self) -> dict[str, Any]:
        """Return the verbs by name; loaded on first use."""
        if self._found is None:
            from importlib.metadata import entry_points

            announced = list(entry_points(group=GROUP, name="study"))
            if not announced:
                raise MissingStudies
            verbs: Any = typer.main.get_command(announced[0].load())
            self._found = dict(verbs.commands)
        return self._found

    @commands.setter
    def commands(self, none: dict[str, Any]) -> None:
        """Ignore: the verbs come from the entry point."""


study = group("study", "Rerun published experiments, and compare the results.", app, cls=StudyVerbs)
