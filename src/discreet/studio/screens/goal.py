"""The screen `goal`."""

from starlette.requests import Request
from starlette.responses import Response

from discreet.studio.app import Studio


async def show(studio: Studio, request: Request) -> Response:
    """Show the screen."""
    project = studio.project(request)
    return studio.page(request, "goal.html", screen="goal", project=project)


ROUTES = [("/p/{project}/goal", show, ["GET"])]
