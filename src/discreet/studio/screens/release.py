"""The screen `release`."""

from starlette.requests import Request
from starlette.responses import Response

from discreet.studio.app import Studio


async def show(studio: Studio, request: Request) -> Response:
    """Show the screen."""
    project = studio.project(request)
    return studio.page(request, "release.html", screen="release", project=project)


ROUTES = [("/p/{project}/release", show, ["GET"])]
