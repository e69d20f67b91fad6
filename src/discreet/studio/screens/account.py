"""The screen `account`."""

from starlette.requests import Request
from starlette.responses import Response

from discreet.studio.app import Studio


async def show(studio: Studio, request: Request) -> Response:
    """Show the screen."""
    project = studio.project(request)
    return studio.page(request, "account.html", screen="account", project=project)


ROUTES = [("/p/{project}/account", show, ["GET"])]
