"""The verb `choose`: which command to use, and what it does not promise."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from discreet.cli.common import app, console
from discreet.cli.verbs import verb
from discreet.core import Option
from discreet.errors import InvalidArgument
from discreet.jobs import choosing, option


def _questions() -> Iterator[Option]:
    said = {"want": "What is wanted.", "who": "Who receives it.", "often": "How often it is released."}
    for name, answers in choosing.QUESTIONS.items():
        yield option(name, "text", said[name], answers[0], choices=answers)


@verb(
    app,
    option("data", "text", "The table, for the commands.", "people.csv", section="data", default="people.csv"),
    *_questions(),
    option("schema", "text", "The schema file, for the commands.", "schema.toml", default="schema.toml"),
    option("column", "text", "For telemetry: the column of the values.", "word", default="word"),
    examples=("choose", "choose people.csv --want rows --who partners --often monthly"),
)
def choose(*, data: str, schema: str, column: str, **answers: str | None) -> Iterator[dict[str, Any]]:
    """Recommend a command: what is wanted, who receives it, and how often? Questions without a flag are asked.

    It reads no data. Two other commands follow, each with what it does not promise.
    """
    texts = {name: said["en"] for name, said in choosing.held()["texts"].items()}
    said = {name: answers[name] or _asked(name, listed, texts) for name, listed in choosing.QUESTIONS.items()}
    found = []
    for goal in choosing.goals(said["want"], said["who"]):
        model = choosing.held()["models"][goal]
        less = [texts[f"open_{model}"], texts[f"not_{goal}"]]
        less += [texts[f"again_{model}"]] if said["often"] == "monthly" else []
        lines = choosing.commands(goal, said["who"], said["often"], data, schema, column)
        found.append({"goal": goal, "commands": lines, "promised": texts[f"promise_{model}"], "not_promised": less})
    yield {**said, "recommended": found[0], "alternatives": found[1:]}
    for title, each in zip(("Recommended", "Or instead", "Or"), found, strict=True):
        console.print(f"\n[bold]{title}[/]")
        for line in each["commands"]:
            console.print(f"  [cyan]{escape(line)}[/]", highlight=False, soft_wrap=True)
        console.print(f"Promised: {escape(each['promised'])}", highlight=False)
        console.print(f"[yellow]Not promised:[/] {escape(' '.join(each['not_promised']))}", highlight=False)
    if not Path(schema).exists() and any("account create" in line for each in found for line in each["commands"]):
        console.print("\nIf the schema will name a person, add its column to [cyan]account create[/]: --person COLUMN")
    roles = ", with roles for an anonymous table" if "anonymize" in [each["goal"] for each in found] else ""
    console.print(f"\nThe schema declares the columns{roles}. This drafts one:")
    draft = f"discreet schema {shlex.quote(data)} -o {shlex.quote(schema)}"
    console.print(f"  [cyan]{escape(draft)}[/]", highlight=False, soft_wrap=True)


def _asked(name: str, answers: tuple[str, ...], texts: dict[str, str]) -> str:
    """Ask at a terminal; elsewhere a flag is needed."""
    if not sys.stdin.isatty():
        raise InvalidArgument(f"--{name}", None, f"given: one of {', '.join(answers)}", f"--{name} {answers[0]}")
    console.print(f"\n[bold]{texts[name]}[/]")
    for number, answer in enumerate(answers, start=1):
        console.print(f"  {number}  {answer}: {texts[f'{name}_{answer}']}", highlight=False)
    while True:
        typed = typer.prompt("Number").strip()
        if typed in answers:
            return str(typed)
        if typed.isdecimal() and 1 <= int(typed) <= len(answers):
            return answers[int(typed) - 1]
