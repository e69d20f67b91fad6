"""What verbs about released tables and about single figures show: anonymize, perturb, risk, attack, report."""

from typing import Any

from rich.markup import escape

from discreet.cli.common import console, measures, preview, show_account, show_files, show_promise, warn_if_seeded
from discreet.core import counted


def show_anonymous(result: Any) -> None:
    """Show the promise, the groups, and the first rows of an anonymous table."""
    release = result.artifact
    show_promise(release.guarantee)
    if release.guarantee.model == "central":
        told = counted(len(release), "drawn row")
        if "groups" in result.figures:
            told += f" in {counted(result.figures['groups'], 'group')}"
        console.print(f"[bold]The table.[/] {told}; divide counts by {result.job.parameters['sample']:g}")
        _files(result)
        show_account(result.figures)
        preview(release.table)
        return
    left_out, gone = result.figures["left_out"], result.figures["without_value"]
    facts = release.guarantee.parameters
    why = "" if not gone else " for missing values" if gone == left_out else f", {gone:,} of them for missing values"
    console.print(
        f"[bold]The table.[/] {counted(len(release), 'row')} in "
        f"{counted(facts.get('cells', facts.get('groups')), 'group')}; "
        + (f"{counted(left_out, 'row')} {'was' if left_out == 1 else 'were'}" if left_out else "no row was")
        + f" left out{why}"
    )
    if gone:
        console.print('A schema with [cyan]missing = "own"[/] keeps rows without a value.')
    if facts.get("earlier_releases") and facts.get("leaves_merged", 0) > facts["cells"]:
        console.print(
            f"{counted(facts['leaves_merged'], 'cell')} had to be merged for the rules to hold with the earlier "
            "releases too. A table of the newcomers alone may have finer groups."
        )
    way = "--method density-tree " if facts["method"] == "Microaggregation" else ""
    for name, share in result.figures["given_away"].items():
        console.print(
            f"[yellow]{100 * share:.1f} % of the rows lie in groups that give their {escape(name)} away:[/] "
            f"everyone in the group has the same. Try [cyan]{way}--l 2[/].",
            highlight=False,
        )
    _files(result)
    preview(release.table if hasattr(release, "table") else release.head)  # of a large table the first rows are held


def show_perturbed(result: Any) -> None:
    """Show the promise, what it means, and the first rows of a perturbed table."""
    from discreet.jobs.work import distances
    from discreet.metric import MISSING_VALUES

    noisy = result.artifact
    show_promise(result.guarantee)
    if meaning := distances(result.guarantee):
        console.print(f"[bold]In other words.[/] {escape(meaning)}")
    console.print(f"[bold]The table.[/] {counted(noisy.n_rows, 'row')}, {counted(len(noisy.names), 'column')}")
    # Always the same words: how many there were is a raw count, which only the holder of the rows can know.
    console.print(f"[bold]Missing values.[/] {escape(MISSING_VALUES[:1].upper() + MISSING_VALUES[1:])}.")
    _files(result)
    preview(noisy.head)
    warn_if_seeded(result.guarantee.seeded)


def _files(result: Any) -> None:
    target = result.files["release"]
    console.print(
        f"[bold]The files.[/] [cyan]{escape(str(target))}[/] and [cyan]{escape(target.name)}.guarantee.json[/]",
        soft_wrap=True,
    )
    show_files(*(result.files.get(name) for name in ("report", "guarantee")))


def show_risk(result: Any) -> None:
    """Show how well people hide in a table, and what was required and is not met."""
    measures("Risk", result.artifact.to_rows())
    for note in result.artifact.notes:
        console.print(f"[bold yellow]Note:[/] {escape(note)}", highlight=False)
    for line in result.more:
        console.print(f"[bold red]Not met:[/] {escape(line)}")
    required = result.job.parameters.get("require")
    if required and not result.more:
        console.print(f"[green]Met:[/] {escape(','.join(f'{k}={v:g}' for k, v in required.items()))}")


def show_attack(result: Any) -> None:
    """Show what somebody with the release could find out about people in it."""
    found = result.artifact
    title = f"{found.name}: {len(found.scores):,} people in the release, {len(found.control_scores):,} others"
    measures(title, found.rows())
    verdict = "finds people beyond chance" if found.advantage_interval[0] > 0 else "is no better than guessing"
    console.print(f"The attack {verdict} ({found.confidence:.0%} intervals in brackets).")


def show_report(result: Any) -> None:
    """Show what the page says first, and where it is."""
    facts = result.figures
    if result.failed:
        from discreet.reporting.pages import contradictions

        for text in contradictions(facts):
            console.print(f"[bold red]{escape(text)}[/]", highlight=False)
        console.print("[bold red]It claims:[/]", highlight=False)
    for line in facts["promise"]["plain"]:
        console.print(escape(line))
    page = escape(str(result.files["report"]))
    console.print(f"[bold]The page.[/] [cyan]{page}[/] (self-contained; open it in any browser)")
    if "against" in result.job.parameters:
        if found := facts["comparison"].get("together"):
            from discreet.evaluation.comparison import comparison_rows

            measures("The release and the raw table", comparison_rows(found))
        console.print("[bold red]It compares with the raw table: keep it inside.[/]")
    if facts["checks"]["seeded"]:
        console.print("[bold red]Seeded: this release must not be published.[/]")
    if result.failed:
        console.print("[bold red]Do not believe it.[/]", highlight=False)
