"""Verbs made from declarations: options, help and completion of a kind of job, and what starts it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from discreet.cli import look
from discreet.cli.common import epilog, tell, working
from discreet.errors import DiscreetError
from discreet.jobs import REPEATED, SHELL, Kind, Option, read, spoken

#: Shows the result of a job.
Show = Callable[[Any], None]


def add(app: typer.Typer, kind: Kind, show: Show, extra: Mapping[str, Callable[[bool], None]] | None = None) -> None:
    """Add the verb of a kind of job.

    Parameters
    ----------
    app : Typer
        Where to.
    kind : Kind
        The declaration.
    show : callable
        What to do with the result.
    extra : mapping, optional
        Flags that do something else instead, and what.
    """
    by_name = {_variable(o): o for o in kind.options()}

    def verb(**typed: Any) -> None:
        try:
            act_on(typed)
        except DiscreetError as error:
            raise spoken(error, SHELL) from None

    def act_on(typed: dict[str, Any]) -> None:
        as_json = typed.pop("as_json")
        for flag, act in (extra or {}).items():
            if typed.pop(f"flag_{flag}"):
                if any(value not in (None, []) for value in typed.values()):
                    raise kind.wrong(
                        "data", f"more than --{flag}", f"left out, and all else, with --{flag}", f"--{flag}"
                    )
                act(as_json)
                return
        given = {}
        for name, value in typed.items():
            if name in by_name and value not in (None, []):
                option = by_name[name]
                texts = value if isinstance(value, list) else [value]
                given[name] = value if isinstance(value, bool) else read(kind, option, texts)
        for flag, (name, value, _) in kind.shortcuts.items():
            if typed.get(f"short_{flag}") and given.setdefault(f"p_{name}", value) != value:
                raise kind.wrong(name, given[f"p_{name}"], f"left out with --{flag}", f"--{flag}")
        look.look([(by_name[name], value) for name, value in given.items()])
        with working(f"{kind.summary[0].upper()}{kind.summary[1:]} ...", as_json=as_json):
            result = start(kind, {by_name[name]: value for name, value in given.items()})
        tell(show, result, as_json)
        if result.failed:
            raise typer.Exit(1)

    parameters = [_parameter(kind, o) for o in kind.options()]
    parameters += [_flag(f"short_{flag}", flag, text) for flag, (_, _, text) in kind.shortcuts.items()]
    parameters += [_flag(f"flag_{flag}", flag, str(act.__doc__)) for flag, act in (extra or {}).items()]
    parameters.append(_flag("as_json", "json", "Print the figures as JSON instead."))
    verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    verb.__annotations__ = {p.name: p.annotation for p in parameters}
    verb.__doc__ = kind.help
    app.command(kind.words.split()[-1], epilog=epilog(*kind.examples, failed=kind.failed))(verb)


def start(kind: Kind, given: Mapping[Option, Any]) -> Any:
    """Build the job from what was typed, and run it."""
    return build(kind, given).run()


def build(kind: Kind, given: Mapping[Option, Any]) -> Any:
    """Build the job from what was typed."""
    from discreet.jobs import Job

    parts: dict[str, Any] = {"parameters": {}, "outputs": {}}
    for option, value in given.items():
        if option.section in parts:
            parts[option.section][option.name] = value
        else:
            parts[option.name] = value
    return Job(kind.name, **parts)


def _variable(option: Option) -> str:
    return f"{option.section[0]}_{option.name}"


def _parameter(kind: Kind, option: Option) -> inspect.Parameter:
    many = bool(set(option.takes) & set(REPEATED))
    hint: Any = bool | None if option.takes == ("flag",) else list[str] | None if many else str | None
    if option.section == "data" or option.positional:
        metavar = "DATA" if option.section == "data" else option.name.upper()
        info: Any = typer.Argument(help=_sentence(option), metavar=metavar, show_default=False)
    else:
        names = [
            f"{option.flag}/--{option.off}" if option.off else option.flag,
            *([option.short] if option.short else []),
        ]
        completed: dict[str, Any] = {"autocompletion": completion(option.choices)} if option.choices else {}
        shown = None if option.takes == ("flag",) else option.metavar
        info = typer.Option(*names, help=_sentence(option), metavar=shown, show_default=False, **completed)
    return inspect.Parameter(
        _variable(option), inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[hint, info]
    )


def _flag(name: str, flag: str, text: str) -> inspect.Parameter:
    hint = Annotated[bool, typer.Option(f"--{flag}", help=f"{text[0].upper()}{text[1:].rstrip('.')}.")]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=hint)


def _sentence(option: Option) -> str:
    end = " (required)" if option.required else "" if option.default is None else f" (default: {option.default})"
    text = f"{option.meaning}{end}."
    return escape(text[0].upper() + text[1:])


def completion(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """Return the completion of an option."""

    def matches(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return matches
