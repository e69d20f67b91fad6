"""The job file that does what a project stands for: shown on every screen, downloaded, opened."""

from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from discreet.errors import SchemaError
from discreet.studio.app import Studio
from discreet.studio.jobs import job_text


async def download(studio: Studio, request: Request) -> Response:
    """Hand over the job file."""
    project = studio.project(request)
    text, lacking = await run_in_threadpool(job_text, project)
    if lacking:
        raise SchemaError(lacking)
    name = quote(f"{project.name.partition('.')[0]}.job.toml")
    return PlainTextResponse(
        text, media_type="application/toml", headers={"content-disposition": f"attachment; filename*=UTF-8''{name}"}
    )


ROUTES = [("/p/{project}/job.toml", download, ["GET"])]
