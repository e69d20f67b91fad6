"""The screen `evidence`."""

from starlette.requests import Request
from starlette.responses import Response

from discreet.studio.app import Studio
from discreet.studio.screens import results


async def show(studio: Studio, request: Request) -> Response:
    """Show the screen."""
    project = studio.project(request)
    return studio.page(request, "evidence.html", screen="evidence", project=project)


ROUTES = [("/p/{project}/evidence", show, ["GET"]), *results.ROUTES]
