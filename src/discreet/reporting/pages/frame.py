"""The frame of every page: one template, one style sheet, three answers on the first screen."""

from functools import lru_cache
from typing import Any, NamedTuple

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined

from discreet._version import __version__
from discreet.reporting import words

RELEASED, PROMISED, WORRYING = "What was released?", "What is promised, and to whom?", "What should worry me?"


class Answer(NamedTuple):
    """One of the three answers of the first screen: a headline, and lines with a tone (, good, warn, bad or soft)."""

    question: str
    headline: str
    lines: list[tuple[str, str]]


@lru_cache(maxsize=2)
def _templates(others: BaseLoader | None) -> Environment:
    ours = PackageLoader("discreet.reporting.pages")
    made = Environment(
        loader=ours if others is None else ChoiceLoader([ours, others]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(prose=words.prose, flat=words.flat)
    return made


def render(
    template: str, title: str, kind: str, answers: list[Answer], others: BaseLoader | None = None, **content: Any
) -> str:
    """Return a page: no script, no outside file, light and dark, narrow and wide, ready to print.

    ``others`` finds templates that extend the frame.
    """
    return _templates(others).get_template(template).render(
        title=title, kind=kind, answers=answers, version=__version__, **content
    )  # fmt: skip
