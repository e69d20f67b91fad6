"""Verbs made from declarations: help, options, completion, checks and errors.

`add` makes the verb of a kind of job, `verb` one of a function. Options are read when a verb is used, because those of
estimators need the numerical libraries.
"""

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand

from discreet.cli import look
from discreet.cli.common import USAGE, Untyped, echo, epilog, show_result, working
from discreet.core import Option
from discreet.errors import DiscreetError
from discreet.jobs import REPEATED, SHELL, Kind, check, must_give, read, spoken

#: Whether this process runs a command and nothing else.
alone = False
Act = Callable[[dict[Option, Any], bool], None]
JSON = "Print the result as JSON."


#: A command line that cannot be read.
_UsageError: Any = typer.BadParameter.__base__


class _LateCommand(Untyped, TyperCommand):
    """A command whose parameters are made when they are needed."""

    _made: Any = None

    def __init__(self, *args: Any, **more: Any) -> None:
        self._verb = more["callback"].__wrapped__
        super().__init__(*args, **more)

    @property
    def params(self) -> list[Any]:
        if self._made is None:
            alone = typer.Typer(add_completion=False)
            alone.command()(self._verb.made())
            self._made = typer.main.get_command(alone)
            self.callback = self._made.callback
        return self._made.params  # type: ignore[no-any-return]

    @params.setter
    def params(self, none: Any) -> None:
        """Take none: they follow from the declaration."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for the files that are named before the parameters are made."""
        look.look_at_words(self._verb.kind, args)
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            error.exit_code = USAGE.get(self._verb.kind.words, 2)
            raise


def take_as_typed(command: Any) -> Any:
    """Take texts and flags of a command as they are: declarations check them. Typer would load Pydantic for it."""
    if getattr(command, "_takes_as_typed", False):  # a group gives the same command each time
        return command
    params, inner = command.get_params, getattr(command, "get_command", None)

    def get_params(context: Any) -> list[Any]:
        found: list[Any] = params(context)
        for each in found:
            if not isinstance(each.process_value, _AsTyped):
                each.process_value = _AsTyped(each)
        return found

    command.get_params, command._takes_as_typed = get_params, True
    if inner is not None:  # a group
        command.get_command = lambda context, name: (found := inner(context, name)) and take_as_typed(found)
    return command


class _AsTyped:
    """Reads a parameter: nothing that was typed is nothing, and the rest is a text."""

    def __init__(self, parameter: Any) -> None:
        self._parameter, self._usual = parameter, parameter.process_value

    def __call__(self, context: Any, value: Any) -> Any:
        if self._parameter.callback is None:
            return () if value is None and (self._parameter.multiple or self._parameter.nargs == -1) else value
        return value if value is None else self._usual(context, value)


def _register(app: typer.Typer, kind: Kind, act: Act, extra: Any = None, *, door: Any = SHELL) -> None:
    """Add a verb that reads its options and acts on them."""
    extra = extra or {}

    def late() -> None:
        raise AssertionError  # replaced when the parameters are made

    def made() -> Callable[..., None]:
        by_name = {_variable(o): o for o in kind.options()}

        def typed_verb(**typed: Any) -> None:
            try:
                as_json = typed.pop("as_json")
                for flag, instead in extra.items():
                    if typed.pop(f"flag_{flag}"):
                        if any(value not in (None, [], False) for value in typed.values()):
                            expected = f"left out, like all other options, with --{flag}"
                            raise kind.wrong("data", "more", expected, f"--{flag}")
                        instead(as_json)
                        return
                act(_given(kind, by_name, typed), as_json)
            except DiscreetError as error:
                raise spoken(error, door) from None

        parameters = [_parameter(o) for o in kind.options()]
        parameters += [_flag(f"short_{flag}", flag, text) for flag, (_, _, text) in kind.shortcuts.items()]
        parameters += [_flag(f"flag_{flag}", flag, str(instead.__doc__)) for flag, instead in extra.items()]
        parameters.append(_flag("as_json", "json", JSON))
        typed_verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        typed_verb.__annotations__ = {p.name: p.annotation for p in parameters}
        return typed_verb

    late.made, late.kind = made, kind  # type: ignore[attr-defined]
    late.__doc__ = kind.help if "\n" in kind.help else re.sub(r"(?<=\.) ", "\n\n", kind.help, count=1)
    foot = epilog(*kind.examples, failed=kind.failed, usage=USAGE.get(kind.words, 2))
    app.command(kind.words.split()[-1], epilog=foot, cls=_LateCommand)(late)


class _NoPandas:
    """Finds no pandas."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        """Answer the import system."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _spare_pandas() -> None:
    """Let pyarrow find no pandas. It looks once, with the first array, and imports it to recognise frames."""
    if "pandas" not in sys.modules:
        import pyarrow

        sys.meta_path.insert(0, _NoPandas)
        try:
            pyarrow.array([0])
        finally:
            sys.meta_path.remove(_NoPandas)


def _given(kind: Kind, by_name: Mapping[str, Option], typed: Mapping[str, Any]) -> dict[Option, Any]:
    """Return the options that were typed, as values."""
    given = {}
    for name, value in typed.items():
        if name in by_name and value not in (None, []):
            texts = value if isinstance(value, list) else [value]
            given[name] = value if isinstance(value, bool) else read(kind, by_name[name], texts)
    for flag, (name, value, _) in kind.shortcuts.items():
        if typed.get(f"short_{flag}") and given.setdefault(f"p_{name}", value) != value:
            raise kind.wrong(name, given[f"p_{name}"], f"left out with --{flag}", f"--{flag}")
    return {by_name[name]: value for name, value in given.items()}


def add(app: typer.Typer, kind: Kind, show: Callable[[Any], None], extra: Mapping[str, Any] | None = None) -> None:
    """Add the verb of a kind of job."""

    def act(given: dict[Option, Any], as_json: bool) -> None:
        look.look(list(given.items()))
        with working(f"{kind.summary[0].upper()}{kind.summary[1:]} ...", as_json=as_json):
            job = build(kind, given)
            if alone:
                _spare_pandas()
            result = job.run()
        show_result(show, result, as_json)
        if result.failed:
            raise typer.Exit(1)

    _register(app, kind, act, extra)


def verb(
    app: typer.Typer,
    *options: Option,
    name: str = "",
    examples: Sequence[str] = (),
    failed: str = "",
    door: Any = SHELL,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function a verb: its options come by name, checked, with their defaults; paths as `Path`.

    A function that yields its result prints it afterwards, unless JSON is asked for. Others take ``as_json``. Errors
    about options of jobs are spelled for ``door``.
    """

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        named = name or function.__name__.rstrip("_")
        kind = Kind(named, named, str(inspect.getdoc(function)), options, examples=tuple(examples), failed=failed)

        def act(given: dict[Option, Any], as_json: bool) -> None:
            values = {}
            for each in options:
                value = check(kind, each, given[each]) if each in given else each.default
                if value is None and each.required:
                    raise kind.wrong(each.name, None, must_give(each))
                path = isinstance(value, str) and set(each.takes) & {"file", "output", "folder"}
                simple = each.takes == ("flag",) and not each.off
                values[each.name] = Path(value) if path else bool(value) if simple else value
            try:
                if not inspect.isgeneratorfunction(function):
                    function(**values, as_json=as_json)
                    return
                for result in function(**values):
                    if as_json:
                        echo(result)
                        break
            except DiscreetError as error:
                raise (kind.translated(error) if door is SHELL else error) from None

        _register(app, kind, act, door=door)
        return function

    return made


def build(kind: Kind, given: Mapping[Option, Any]) -> Any:
    """Build a job."""
    from discreet.jobs import Job

    parts: dict[str, Any] = {"parameters": {}, "outputs": {}}
    for option, value in given.items():
        parts.get(option.section, parts)[option.name] = value
    return Job(kind.name, **parts)


def _variable(option: Option) -> str:
    return f"{option.section[0]}_{option.name}"


def _parameter(option: Option) -> inspect.Parameter:
    many = bool(set(option.takes) & set(REPEATED))
    hint: Any = bool | None if option.takes == ("flag",) else list[str] | None if many else str | None
    if option.section == "data" or option.positional:
        metavar = "DATA" if option.section == "data" else option.name.upper()
        info: Any = typer.Argument(help=sentence(option), metavar=metavar, show_default=False)
    else:
        names = [f"{option.flag}/--{option.off}" if option.off else option.flag, *option.short.split()]
        more: dict[str, Any] = {"autocompletion": _completion(option)} if option.choices else {}
        shown = None if option.takes == ("flag",) else SHELL.metavar(option)
        more |= {"help": sentence(option), "metavar": shown, "rich_help_panel": _panel(option)}
        info = typer.Option(*names, show_default=False, **more)
    return inspect.Parameter(
        _variable(option), inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[hint, info]
    )


def _flag(name: str, flag: str, text: str) -> inspect.Parameter:
    hint = Annotated[bool, typer.Option(f"--{flag}", help=text)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=hint)


def _panel(option: Option) -> str:
    if option.section == "outputs":
        return "Files to write"
    return f"Only with method {option.owners}" if option.methods else "Options"


def sentence(option: Option) -> str:
    """Return the help of an option on a command line."""
    more = ["required"] if option.required else []
    if SHELL.metavar(option) == option.name.upper() and option.choices:
        more.append(f"one of {', '.join(option.choices)}")
    shown = f"{option.default:g}" if isinstance(option.default, float) else option.default
    more += [f"default: {shown}"] if shown is not None and shown is not False and shown != "" else []
    return escape(f"{option.help.removesuffix('.')} ({'; '.join(more)})." if more else option.help)


def _completion(option: Option) -> Callable[[str], list[str]]:
    return lambda incomplete: [choice for choice in option.choices if choice.startswith(incomplete)]
