"""What all verbs share: how they speak, wait, complete, warn, and which exit codes they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

console = Console()

_CODES = "Exit codes: 0 done, 2 bad usage or input."
_CODES_CHECKED = "Exit codes: 0 done, 1 {failed}, 2 bad usage or input."

#: What may stand after an option, for the shell. The jobs check for themselves; a test holds the two together.
CHOICES = {
    "synopsis": ("grid", "tree"),
    "rule": ("rugnik", "eugkm", "adaptive"),
    "refine": ("auto", "consistent", "project", "threshold", "mixture", "none"),
    "partitioner": ("binary", "median", "quantile", "uniform", "privtree", "density"),
    "anonymize": ("density-tree", "mondrian", "microaggregation", "generalization"),
    "form": ("interval", "center", "sample"),
    "perturb": ("nd-laplace", "column-laplace", "piecewise", "hybrid", "duchi", "square-wave", "priv-unit"),
    "order": ("shuffled", "input"),
    "remap": ("none", "clip", "grid", "bayes", "resample"),
    "attack": ("membership", "reconstruction", "attribute"),
    "kind": ("points", "synopsis", "centers"),
    "missing": ("own", "wildcard", "drop"),
    "consistency": ("simplex", "base-cut", "norm-cut", "likelihood"),
    "unit": ("row",),
    "job": ("synopsis", "cluster", "anonymize", "perturb", "sketch"),
}


def complete(name: str) -> Callable[[str], list[str]]:
    """Return the completion of an option."""

    def matches(incomplete: str) -> list[str]:
        return [choice for choice in CHOICES[name] if choice.startswith(incomplete)]

    return matches


#: Options that every verb with such an option spells the same way.
Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON instead.")]
Unit = Annotated[
    str | None,
    typer.Option(
        help="row: one row is what is hidden; needed where the schema names a person.", autocompletion=complete("unit")
    ),
]
Seed = Annotated[int | None, typer.Option(help="Repeat a run. Its result must not be published.")]


def epilog(*examples: str, failed: str = "") -> str:
    """Return the foot of a help page: examples, then exit codes.

    Parameters
    ----------
    *examples : str
        Command lines without the leading ``discreet``.
    failed : str
        What exit code 1 means; empty if there is none.
    """
    lines = [f"Example:  discreet {escape(example)}" for example in examples]
    return "\n\n".join([*lines, _CODES_CHECKED.format(failed=failed) if failed else _CODES])


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is going on: on the error stream, and on a terminal only, so that pipes stay clean."""
    with Console(stderr=True).status(what):
        yield


def warn_if_seeded(seeded: bool) -> None:
    """Say that a repeatable result is not for publication."""
    if seeded:
        console.print("\n[bold red]Seeded: this run can be repeated and undone. Do not publish its result.[/]")


def warn(messages: Sequence[str]) -> None:
    """Say last, and on the error stream, what should worry: also beside figures as JSON."""
    for text in messages:
        Console(stderr=True).print(f"[bold yellow]Warning:[/] {escape(text)}.", highlight=False, soft_wrap=True)


def show_promise(guarantee: Any) -> None:
    """Show what is promised, in red if it does not hold."""
    from rich.panel import Panel

    kept = guarantee.parameters.get("kept")
    if kept:
        from discreet.core.guarantee import kept_text

        console.print(f"[bold yellow]What it costs.[/] {escape(kept_text(kept))}")
    colour = "red" if guarantee.seeded else "yellow" if kept else "green"
    console.print(Panel(escape(str(guarantee)), title="What is promised", border_style=colour))


def show_files(*paths: Any) -> None:
    """Name the files that were written."""
    for path in paths:
        if path is not None:
            console.print(f"[bold]The file.[/] [cyan]{escape(str(path))}[/]", soft_wrap=True)
