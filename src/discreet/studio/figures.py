"""Figures as a language writes them: filters of the templates."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from discreet.core import large_delta
from discreet.reporting import number, prose

_FIGURE = re.compile(r"(?<![\w.,])[−-]?\d[\d,]*(\.\d+)?(?![\w.,]\d)")


def written(text: str, language: str) -> str:
    """Write the figures in an English text as a language does."""
    if language != "de":
        return text
    return _FIGURE.sub(lambda found: found[0].replace(",", "\u202f").replace(".", ","), text)


@pass_context
def _written(context: Context, text: Any) -> str:
    return written(str(text), context["language"])


@pass_context
def _figure(context: Context, value: float) -> str:
    return written(number(float(value)), context["language"])


#: ``{{ 1234.5 | figure }}`` writes a number, ``{{ "1,234.5" | written }}`` one that is written already;
#: ``prose`` writes powers of ten in a sentence of a promise.
FILTERS = {"written": _written, "figure": _figure, "prose": prose, "large_delta": large_delta}
