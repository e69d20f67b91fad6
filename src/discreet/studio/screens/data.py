"""The screen `data`: what is opened."""

import os
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import DataSourceError
from discreet.studio.app import Studio, seen
from discreet.studio.jobs import opened


async def start(studio: Studio, request: Request) -> Response:
    """Show what was opened before, and the form that opens a table."""
    return studio.page(request, "start.html", projects=list(studio.workspace.projects()))


async def open_table(studio: Studio, request: Request) -> Response:
    """Open a table by its path."""
    form = await request.form()
    path = Path(str(form.get("path", ""))).expanduser()
    if not os.fspath(path) or not path.exists():
        raise DataSourceError(f"path: cannot read {str(path)!r} (no such file); check the path")
    made = await run_in_threadpool(opened, studio.workspace, str(path))
    return seen(f"/p/{made.id}/data")


async def show(studio: Studio, request: Request) -> Response:
    """Show what the header says."""
    return studio.page(request, "data.html", screen="data", project=studio.project(request))


ROUTES = [("/", start, ["GET"]), ("/open", open_table, ["POST"]), ("/p/{project}/data", show, ["GET"])]
