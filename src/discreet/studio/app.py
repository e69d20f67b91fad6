"""The application: screens put together, templates, and what every page knows."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from importlib import import_module
from importlib.resources import files
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from discreet._version import __version__
from discreet.core import Domain, SigningKey
from discreet.errors import DiscreetError
from discreet.studio import checks, words
from discreet.studio.guard import Guard, local
from discreet.studio.jobs import Handed
from discreet.studio.released import Later, unforeseen
from discreet.studio.runs import Supervisor, runs_of
from discreet.studio.runs.offer import history_of, next_job
from discreet.studio.tables.uploads import LARGEST
from discreet.studio.workspace import Project, Workspace

#: In the order of the steps.
SCREENS = ("data", "columns", "goal", "plan", "release", "evidence", "account")
#: Those of a release that was opened instead of a table.
_OF_RELEASES = ("data", "release", "evidence")
#: As the computer has it, or always light or dark.
THEMES = ("", "light", "dark")
#: Fields of a form: six per column.
_MOST_FIELDS = 40_000
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


#: Addresses with their handlers, which modules of `screens` add when they are imported.
_ANSWERED: list[tuple[str, Any, str]] = []
_Handler = TypeVar("_Handler", bound=Callable[..., Any])


def answers(path: str, method: str = "GET") -> Callable[[_Handler], _Handler]:
    """Make a function of a `Visit` the handler of an address."""

    def made(handler: _Handler) -> _Handler:
        _ANSWERED.append((path, handler, method))
        return handler

    return made


class Studio:
    """Parts that the screens share: projects, templates, access.

    Parameters
    ----------
    home : path
        The folder of the projects.
    guard : Guard
        Who may ask.
    largest : int
        Bytes of an upload.
    roots : sequence of Path
        Folders below which the start page lists tables; the current one and the user's own by default.
    key : SigningKey, optional
        Signs every report that is handed out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     studio = Studio(Path(folder) / "studio", Guard(["127.0.0.1:8000"]))
    ...     list(studio.workspace.projects())  # ``studio.app`` is an application of Starlette
    []
    """

    def __init__(
        self, home: str | Path, guard: Guard, *, largest: int = LARGEST, roots: Sequence[Path] = (),
        key: SigningKey | None = None,
    ) -> None:  # fmt: skip
        self.workspace = Workspace(home)
        self.guard = guard
        self.largest, self.key = largest, key
        self.roots = tuple(roots) or tuple(dict.fromkeys((Path.cwd(), Path.home())))
        self.supervisor = Supervisor(self.workspace)
        #: Whether faults of the program are raised, as tests want it, instead of shown without what they quote.
        self.raises = False
        # Read once: no name that somebody asks for becomes a path.
        held = files("discreet.studio").joinpath("static").iterdir()
        self._assets = {place.name: place.read_bytes() for place in held if Path(place.name).suffix in _TYPES}
        self._jobs: dict[str, tuple[object, Handed]] = {}
        self._templates = Environment(
            # Its own first: both have a frame; the pictures of reports are shown as there.
            loader=ChoiceLoader([PackageLoader("discreet.studio"), PackageLoader("discreet.reporting.pages")]),
            autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self._templates.filters.update(words.FILTERS)
        self._templates.tests["left_open"] = checks.left_open
        self.later = Later()
        routes = [Route("/static/{name}", self._static), Route("/settings", self._settings, methods=["POST"])]
        for name in (*SCREENS, "results", "risk"):
            import_module(f"discreet.studio.screens.{name}")
        routes += [Route(path, self._bound(handler), methods=[method]) for path, handler, method in _ANSWERED]
        told: dict[Any, Any] = {DiscreetError: self._refused, 404: self._absent, HTTPException: self._declined}
        self.app = Starlette(routes=routes, exception_handlers=told)
        self.app.add_middleware(guard.middleware())

    def _bound(self, handler: Any) -> Any:
        async def answer(request: Request) -> Response:
            made: Response
            try:
                if iscoroutinefunction(handler):  # it streams an upload
                    made = await handler(Visit(self, request, FormData()))
                else:  # files and accounts are read: not on the loop
                    async with request.form(max_files=1, max_fields=_MOST_FIELDS) as form:
                        made = await run_in_threadpool(handler, Visit(self, request, form))
            except (DiscreetError, HTTPException):
                raise
            except Exception as error:  # whatever it is: a trace would quote what was worked on, and that may be rows
                if self.raises:
                    raise
                made = self._broken(request, error)
            return made

        return answer

    def compile(self) -> None:
        """Read all templates of pages, so that none waits for its own; of those of reports, pages use the parts."""
        for name in (*PackageLoader("discreet.studio").list_templates(), "parts.html"):
            self._templates.get_template(name)

    def page(self, request: Request, template: str, status: int = 200, **content: Any) -> HTMLResponse:
        """Draw a page.

        Every template knows: ``t`` (words of the catalogue), ``tt`` (the same, with words of the glossary marked),
        ``term`` (one of those), ``language``, ``screens``, ``screen`` (the current one or ""), ``project`` (or None),
        ``version``.
        """
        language = _language(request)
        theme = request.cookies.get("theme", "")
        theme = theme if theme in THEMES else ""
        t = words.speaker(language)
        term = words.Terms(t)
        content = {"project": None, "screen": "", "own_job": "job" in content, **content}
        project = content["project"]
        job = content.pop("job", None) or (self._job(project) if project is not None else None)
        done = set() if project is None else _done(project, bool(self._job(project).text))
        if content.get("problem") or content.get("faults") or getattr(content.get("head"), "doubtful", False):
            done.discard(content["screen"])  # it says itself that something is open
        text = self._templates.get_template(template).render(
            t=t, term=term, tt=words.explained(t, term, language), in_bytes=partial(words.in_bytes, language=language),
            language=language, languages=words.LANGUAGES,
            screens=_OF_RELEASES if project is not None and not project.source else SCREENS,
            theme=theme, theme_next=THEMES[(THEMES.index(theme) + 1) % len(THEMES)],
            done=done, catalogue=words.catalogue(),
            version=__version__, path=request.url.path, job=job, **content,
        )  # fmt: skip
        return HTMLResponse(text, status_code=status)

    def _job(self, project: Project) -> Handed:
        """Return the job file as every screen shows it; made again only when something was said since."""
        schema = project.schema_file
        said: tuple[object, ...] = (repr(project), project.seen, schema.stat().st_mtime_ns if schema.is_file() else 0)
        if project.goal == "anonymize":
            said = (*said, tuple(history_of(project).entries))
        held = self._jobs.get(project.id)
        if held is None or held[0] != said:
            self._jobs = {project.id: (held := (said, next_job(project)))}
        return held[1]

    def refusal(self, request: Request, heading: str, message: str, status: int) -> HTMLResponse:
        """Say why something was refused, on the screen where it was asked; what was sent stays in the history."""
        parts = request.url.path.split("/")
        project, screen = None, ""
        if len(parts) > 3 and parts[1] == "p" and status != 500:  # what failed once is not asked again
            try:
                project = self.workspace.project(parts[2])
                screen = parts[3] if parts[3] in SCREENS else ""
            except DiscreetError:
                pass
        try:
            before = urlsplit(request.headers.get("referer", ""))
        except ValueError:
            before = urlsplit("")
        same = before.netloc == request.headers.get("host") and before.path != request.url.path
        there = f"/p/{project.id}/{screen or 'data'}" if project is not None else "/"
        back = local(before.path) if same or (before.path and request.method == "POST") else there
        said = {"heading": heading, "message": message, "back": back}
        return self.page(request, "refused.html", status, project=project, screen=screen, **said)

    async def _refused(self, request: Request, error: Exception) -> Response:
        return self.refusal(request, self.words(request)("frame.refused"), str(error), 400)

    async def _absent(self, request: Request, _: Exception) -> Response:
        t = self.words(request)
        return self.refusal(request, t("frame.missing"), t("frame.absent"), 404)

    async def _declined(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return self.refusal(request, self.words(request)("frame.refused"), error.detail, error.status_code)

    def _broken(self, request: Request, error: Exception) -> Response:
        """Say that it is our fault, and where: never with what, which may be a row."""
        sys.stderr.write(f"studio: {unforeseen(error)}\n")
        t = self.words(request)
        return self.refusal(request, t("frame.broken"), t("frame.broken_text"), 500)

    def words(self, request: Request) -> words.T:
        """Return the texts in the language of a request."""
        return words.speaker(_language(request))

    async def _static(self, request: Request) -> Response:
        content = self._assets.get(request.path_params["name"])
        if content is None:
            return Response(status_code=404)
        return Response(content, media_type=_TYPES[Path(request.path_params["name"]).suffix])

    async def _settings(self, request: Request) -> Response:
        """Keep the language and the colours that were chosen in cookies, and go back."""
        form = await request.form()
        made = seen(local(str(form.get("back", "/"))))
        language, theme = str(form.get("language", "")), str(form.get("theme", ""))
        kept = {"language": language if language in words.LANGUAGES else None,
                "theme": theme.removeprefix("auto") if theme in (*THEMES, "auto") else None}  # fmt: skip
        for name, value in kept.items():
            if value is not None:
                made.set_cookie(name, value, max_age=365 * 86400, httponly=True, samesite="strict")
        return made


class Visit:
    """A request for a page: the project that its address names, the query, and the form that was sent."""

    def __init__(self, studio: Studio, request: Request, form: FormData) -> None:
        self.studio, self.request, self.form = studio, request, form
        self.query, self.named = request.query_params, request.path_params

    @cached_property
    def project(self) -> Project:
        return self.studio.workspace.project(self.named["project"])

    @cached_property
    def t(self) -> words.T:
        return self.studio.words(self.request)

    @property
    def typed(self) -> dict[str, str]:
        return {name: value for name, value in self.form.multi_items() if isinstance(value, str)}

    def text(self, name: str) -> str:
        value = self.form.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def page(self, template: str, status: int = 200, **content: Any) -> HTMLResponse:
        return self.studio.page(self.request, template, status, project=self.project, **content)

    def to(self, place: str) -> RedirectResponse:
        return seen(f"/p/{self.project.id}/{place}")


def _language(request: Request) -> str:
    return words.chosen(request.headers.get("accept-language", ""), request.cookies.get("language", ""))


def _done(project: Project, whole: bool) -> set[str]:
    """Return the screens on which everything is said, or something was done for the goal that is chosen now."""
    schema = project.schema_file
    said = schema.is_file()
    done = {"goal"} if project.goal else set()
    done |= {"account"} if project.account else set()
    done |= {"data"} if said or project.written or project.artifact else set()
    done |= {"columns"} if said and _whole(schema, schema.stat().st_mtime_ns) else set()
    done |= {"plan"} if whole and project.source else set()
    made = [r for r in runs_of(project) if r.state == "done" and r.asked["kind"] in (project.goal, "")]
    done |= {"release"} if made else set()
    checked = (check for run in made for check in runs_of(replace(project, folder=run.folder / "evidence")))
    return done | ({"evidence"} if any(check.state == "done" for check in checked) else set())


@lru_cache(8)
def _whole(schema: Path, written: int) -> bool:
    try:
        Domain.from_toml(schema)
    except DiscreetError:
        return False
    return True


def seen(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303)
