"""The application: screens put together, templates, and what every page knows."""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from discreet._version import __version__
from discreet.errors import DiscreetError
from discreet.studio import words
from discreet.studio.guard import Guard
from discreet.studio.workspace import Project, Workspace

#: In the order of the steps. Each module of `screens` has ROUTES, and a handler takes (studio, request).
SCREENS = ("data", "columns", "goal", "plan", "release", "evidence", "account")
#: What is reached from every screen.
_EVERYWHERE = ("job",)
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


class Studio:
    """What the screens share: where projects are kept, how pages are drawn, who may ask.

    Parameters
    ----------
    home : path
        The folder of the projects.
    guard : Guard
        Who may ask.
    """

    def __init__(self, home: str | Path, guard: Guard) -> None:
        self.workspace = Workspace(home)
        self.guard = guard
        self._jobs: dict[str, tuple[object, tuple[str, str]]] = {}
        self._templates = Environment(
            loader=PackageLoader("discreet.studio"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        routes = [Route("/static/{name}", self._static)]
        for name in (*SCREENS, *_EVERYWHERE):
            screen = import_module(f"discreet.studio.screens.{name}")
            for path, handler, methods in screen.ROUTES:
                routes.append(Route(path, self._bound(handler), methods=methods))
        self.app = Starlette(routes=routes, exception_handlers={DiscreetError: self._refused, 404: self._absent})
        self.app.add_middleware(guard.middleware())

    def _bound(self, handler: Any) -> Any:
        async def answer(request: Request) -> Response:
            made: Response = await handler(self, request)
            return made

        return answer

    def project(self, request: Request) -> Project:
        """Return the project that an address names."""
        return self.workspace.project(request.path_params["project"])

    def page(self, request: Request, template: str, status: int = 200, **content: Any) -> HTMLResponse:
        """Draw a page.

        Every template knows: ``t`` (words of the catalogue), ``language``, ``screens``, ``screen`` (the current one or
        ""), ``project`` (or None), ``version``.
        """
        language = words.chosen(request.headers.get("accept-language", ""), request.cookies.get("language", ""))
        content = {"project": None, "screen": "", **content}
        job = self._job(content["project"]) if content["project"] is not None else ("", "")
        text = self._templates.get_template(template).render(
            t=words.speaker(language), language=language, languages=words.LANGUAGES, screens=SCREENS,
            version=__version__, path=request.url.path, job=job, **content,
        )  # fmt: skip
        return HTMLResponse(text, status_code=status)

    def _job(self, project: Project) -> tuple[str, str]:
        """Return the job file as every screen shows it; made again only when something was said since."""
        schema = project.schema_file
        said = (repr(project), schema.stat().st_mtime_ns if schema.is_file() else 0)
        if self._jobs.get(project.id, ("", ""))[0] != said:
            from discreet.studio.jobs import job_text

            self._jobs = {project.id: (said, job_text(project))}
        return self._jobs[project.id][1]

    async def _refused(self, request: Request, error: Exception) -> Response:
        """Say why something was refused; the form that was sent stays in the browser's history."""
        return self.page(request, "refused.html", status=400, message=str(error))

    async def _absent(self, request: Request, _: Exception) -> Response:
        return self.page(request, "refused.html", status=404, message="")

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        place = files("discreet.studio").joinpath("static").joinpath(name)
        if "/" in name or ".." in name or not place.is_file():
            return Response(status_code=404)
        return Response(place.read_bytes(), media_type=_TYPES.get(Path(name).suffix, "application/octet-stream"))


def seen(path: str) -> RedirectResponse:
    """Lead to the next page after a form was sent."""
    return RedirectResponse(path, status_code=303)
