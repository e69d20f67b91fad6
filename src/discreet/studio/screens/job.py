"""The job file that does what a project stands for: shown on every screen, downloaded, opened."""

from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from discreet.errors import SchemaError
from discreet.studio.app import Studio
from discreet.studio.runs.offer import next_job


async def download(studio: Studio, request: Request) -> Response:
    """Hand over the job file."""
    project = studio.project(request)
    made = await run_in_threadpool(next_job, project)
    if made.lacking:
        raise SchemaError(made.lacking)
    return attached(made.text, f"{project.name.partition('.')[0]}.job.toml")


def attached(text: str, name: str) -> Response:
    """Hand over the text of a job file."""
    there = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return PlainTextResponse(text, media_type="application/toml", headers=there)


ROUTES = [("/p/{project}/job.toml", download, ["GET"])]
