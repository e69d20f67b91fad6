"""Language and colours of pages, kept in cookies."""

from starlette.requests import Request
from starlette.responses import Response

from discreet.studio.app import THEMES, Studio, seen
from discreet.studio.guard import local
from discreet.studio.words import LANGUAGES

_YEAR = 365 * 86400


async def choose(studio: Studio, request: Request) -> Response:
    """Keep what was chosen, and go back."""
    form = await request.form()
    made = seen(local(str(form.get("back", "/"))))
    language, theme = str(form.get("language", "")), str(form.get("theme", ""))
    if language in LANGUAGES:
        made.set_cookie("language", language, max_age=_YEAR, httponly=True, samesite="strict")
    if theme in (*THEMES, "auto"):
        made.set_cookie("theme", theme.removeprefix("auto"), max_age=_YEAR, httponly=True, samesite="strict")
    return made


ROUTES = [("/settings", choose, ["POST"])]
