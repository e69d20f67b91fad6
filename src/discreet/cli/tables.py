"""Output of `anonymize`, `perturb`, `risk`, `attack` and `report`."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.markup import escape

from discreet.cli.common import (
    app,
    console,
    measures,
    preview,
    show_files,
    show_promise,
    show_table,
    warn_if_seeded,
)
from discreet.cli.verbs import verb
from discreet.core import counted, percent_up
from discreet.errors import InvalidArgument
from discreet.jobs import option


def show_anonymous(result: Any) -> None:
    """Show the guarantee, the groups, and the first rows of an anonymous table."""
    release = result.artifact
    show_promise(release.guarantee)
    if release.guarantee.model == "central":
        told = counted(len(release), "sampled row")
        if "groups" in result.figures:
            told += f" in {counted(result.figures['groups'], 'group')}"
        console.print(f"[bold]Table.[/] {told}; for totals, divide counts by {result.job.parameters['sample']:g}")
        _files(result)
        preview(release.table)
        return
    left_out, gone = result.figures["left_out"], result.figures["without_value"]
    facts = release.guarantee.parameters
    causes = (
        (gone, "for missing values"),
        (facts.get("left_out_without_person"), "because they have no person"),
        (facts.get("left_out_over_most_rows"), "because their person has more"),
    )
    why = "".join(f" {said}" if n == left_out else f", {n:,} of them {said}" for n, said in causes if n)
    console.print(
        f"[bold]Table.[/] {counted(len(release), 'row')} in "
        f"{counted(facts.get('cells', facts.get('groups')), 'group')}; "
        + (f"{counted(left_out, 'row')} {'was' if left_out == 1 else 'were'}" if left_out else "no row was")
        + f" left out{why}"
        + (f", {counted(facts['blanked'], 'row')} kept with blanks" if facts.get("blanked") else "")
    )
    for line in _advice(result, facts):
        console.print(line, highlight=False, soft_wrap="discreet withdraw" in line)
    _files(result)
    preview(release.table if hasattr(release, "table") else release.head)


def _advice(result: Any, facts: Any) -> Iterator[str]:
    """Yield what was lost and what is still weak in an anonymous table, each with what helps."""
    if result.figures["without_value"]:
        yield 'To keep rows with missing values, declare [cyan]missing = "own"[/] in the schema.'
    for note in result.artifact.guarantee.assumptions:
        if found := re.match(r"categories of '(.+?)'.* were grouped by how often", note):
            told = escape(shlex.quote(f"{found[1]}=groups.csv"))
            told = f"To group categories by meaning, give [cyan]--hierarchy {told}[/]"
            yield f'{told}; if their order means something, declare [cyan]kind = "ordered"[/] in the schema.'
    if facts.get("suppressed") and "blanked" not in facts and facts.get("on_conflict") != "new":
        yield "To keep rows that were left out, with single values blanked, give [cyan]--blanks[/]."
    share, k = facts["reached"].get("largest_share", 0), facts["reached"].get("k") or 0
    if share * k > 1 + 1e-9 and facts["output"] != "sample" and facts.get("most_rows") != 1:
        told = f"[yellow]One person has {percent_up(share)} of the rows of a group,[/] and is found more easily than "
        yield told + "k says. Release fewer rows of each: [cyan]--most-rows 1[/]."
    folder = result.job.parameters.get("history")
    if facts.get("earlier_releases"):
        yield from _earlier(facts)
    elif folder and facts["method"] == "DensityTree" and "max_depth" not in result.job.parameters:
        told = "This is the first release of its history. Coarser groups last longer: with [cyan]--max-depth 5[/], "
        yield told + "fewer rows will be left out later."
    for name, n in result.figures.get("blank", {}).items():
        rows = len(result.artifact)
        part = "every row" if n == rows else f"{n:,} of {counted(rows, 'row')}"
        why = " Look at decimal and thousands marks." * (n == rows)
        yield f"[yellow]{escape(name)} is blank in {part}:[/] it was missing there, or not as declared.{why}"
    for name, share in facts.get("nearly_unique", {}).items():
        told = (
            f"[yellow]{100 * share:.0f} % of the rows have a value of {escape(name)} that occurs once:[/] who knows it "
        )
        yield told + "finds the row. Round it before the release."
    way = "--method density-tree " if facts["method"] == "Microaggregation" else ""
    for name, share in result.figures["given_away"].items():
        told = f"[yellow]{100 * share:.1f} % of the rows are in groups that reveal {escape(name)}:[/] everyone in the "
        yield f"{told}group has the same value. Try [cyan]{way}--l 2[/]."
    if folder:
        typed = ["discreet", "withdraw", str(result.files["release"]), "--history", str(folder)]
        typed += ["--account", str(book)] if (book := result.job.parameters.get("account")) else []
        told = "The table is in the history now. To change something before anyone receives it, take it back first: "
        yield f"{told}[cyan]{escape(shlex.join(typed))}[/]"


def _earlier(facts: Any) -> Iterator[str]:
    """Yield what the earlier releases cost: rows left out, and why, and merged cells."""
    before, new = facts["left_out_published_before"], facts["left_out_never_published"]
    only_new = facts["on_conflict"] == "new"
    reason = "with the earlier tables the rules would not hold: someone left, changed, or was grouped otherwise"
    reason = "only people who were never published were asked for" if only_new else reason
    why = [f"{before:,} published before, because {reason}"] * bool(before)
    why += [f"{new:,} never published, because too few new people are in their groups"] * bool(new)
    if why:
        much = not only_new and before + new > 0.1 * (facts["rows"] + before + new)
        told = f"Left out because of the {counted(facts['earlier_releases'], 'earlier release')}: {'; '.join(why)}."
        yield f"[yellow]{told}[/]" if much else told
    if facts.get("leaves_merged", 0) > facts["cells"]:
        told = f"{counted(facts['leaves_merged'], 'cell')} had to be merged, so that the rules hold with the earlier "
        finer = " New people alone may have finer groups: [cyan]--on-conflict new[/]."
        yield f"{told}releases too.{'' if only_new else finer}"


@verb(
    app,
    option("table", "file", "The table that no one received.", "safe.csv", required=True, positional=True),
    option("history", "folder", "The release history that it is in.", "people.history", required=True),
    option("account", "file", "The account that lists it, for a note there.", "people.account"),
    examples=("withdraw february.csv --history people.history --account people.account",),
)
def withdraw(*, table: Path, history: Path, account: str | None) -> Iterator[Any]:
    """Take back a table that no one received: it is deleted, and releases from now on are not checked with it.

    Never use it for a table that was handed out: anyone who has it could compare it with the next one. An account keeps
    the entry, with a note that it was withdrawn.
    """
    from discreet.accounts import Account
    from discreet.anonymity import ReleaseHistory
    from discreet.core import Guarantee

    found, own = ReleaseHistory(history), table.expanduser().absolute()
    book = None if account is None else Account(account)
    noted: int | None = None

    def note(promise: Guarantee) -> None:
        nonlocal noted
        charged = promise.parameters.get("account")
        if book is not None:
            noted = book.withdraw(str(promise.digest))
        if charged and noted is None:
            named = f" {charged['dataset']!r}" if isinstance(charged, dict) and "dataset" in charged else ""
            expected = f"the account{named} that lists the table, so that it says that the table was withdrawn"
            raise InvalidArgument("--account", account and str(account), expected, "--account people.account")

    listed = any(entry.is_at(own) for entry in found.tables)  # and not a folder with tables in it
    if not (listed and found.withdraw(own, note)):
        known = ", ".join(repr(entry.table) for entry in found.tables) or "none"
        raise InvalidArgument("TABLE", str(table), f"a table of the history {str(history)!r}, which has: {known}")
    left = found.entries
    yield {"table": str(own), "history": str(history), "releases": len(left), "entry": noted}
    told = f"[bold]Withdrawn[/] and deleted: [cyan]{escape(str(table))}[/]. The next release is checked with "
    told += f"{counted(len(left), 'earlier release')}."
    if noted is not None:
        told += f" Entry {noted} of the account stays, with a note that it was withdrawn."
    if any(entry.is_at(own) for entry in found.tables):
        told += " One of them is a table that this one replaced: if no one received that either, repeat this."
    console.print(f"{told} If there is a page about the withdrawn table, delete that too.", highlight=False)


def show_masked(result: Any) -> None:
    """Show that a masking promises nothing, what was measured, and the first rows."""
    show_promise(result.guarantee)
    linked = result.figures["linked"]
    console.print(f"[bold]Table.[/] {counted(result.figures['rows'], 'row')}", highlight=False)
    if result.figures["promises_nothing"]:
        console.print(
            "[yellow]This table promises nothing.[/] It is not k-anonymous and has no epsilon. Publish it only if its "
            "people may be found; otherwise use [cyan]discreet anonymize[/] or [cyan]synthesize[/]."
        )
    if linked is not None:
        told = f"[yellow]{100 * linked:.1f} % of the rows were linked with their originals[/] by distance alone."
        console.print(told)
    _files(result)
    preview(result.artifact.table)
    warn_if_seeded(result.guarantee.seeded)


def show_perturbed(result: Any) -> None:
    """Show the guarantee, its meaning, and the first rows of a noisy table."""
    from discreet.jobs.work import distances
    from discreet.metric import MISSING_VALUES

    noisy = result.artifact
    show_promise(result.guarantee)
    if meaning := distances(result.guarantee):
        console.print(f"[bold]Meaning.[/] {escape(meaning)}")
    console.print(f"[bold]Table.[/] {counted(len(noisy), 'row')}, {counted(len(noisy.names), 'column')}")
    # Always the same words: the number of missing values must not appear.
    console.print(f"[bold]Missing values.[/] {escape(MISSING_VALUES[:1].upper() + MISSING_VALUES[1:])}.")
    _files(result)
    preview(noisy.table if hasattr(noisy, "table") else noisy.head)
    warn_if_seeded(result.guarantee.seeded)


def _files(result: Any) -> None:
    target = result.files["release"]
    told = f"[bold]Files[/] [cyan]{escape(str(target))}[/] and [cyan]{escape(target.name)}.guarantee.json[/]"
    console.print(told, soft_wrap=True)
    show_files(*(result.files.get(name) for name in ("report", "guarantee", "signature")))


def show_risk(result: Any) -> None:
    """Show which requirements are not met, then the risk of a table."""
    for line in result.more:
        console.print(f"[bold red]Not met:[/] {escape(line)}")
    required = result.job.parameters.get("require")
    if required and not result.more:
        met = ",".join(f"{k}={v:g}" for k, v in required.items())
        whom = f" (k counts {result.artifact.counted})" if "k" in required else ""
        console.print(f"[green]Met:[/] {escape(met + whom)}", highlight=False)
    for note in result.artifact.notes:
        console.print(f"[bold yellow]Note:[/] {escape(note)}", highlight=False)
    measures("Risk", result.artifact.to_rows())


def show_attack(result: Any) -> None:
    """List the attacks on a release, or show their results."""
    facts = result.figures
    lacking = [each for each in facts["applicable"] if each["needs"]]
    if result.job.parameters.get("list"):
        rows = [(each["attack"], each["question"], each["needs"]) for each in facts["applicable"]]
        show_table(f"Attacks on {facts['release']}", ("attack", "question", "lacks"), rows, prose=("question", "lacks"))
        lacking = []
    for found, about in result.artifact:
        title = f"{found.name}: {about['column']}" if "column" in about else found.name
        measures(title, found.rows())
        brackets = f"({found.confidence:.0%} intervals in brackets)"
        console.print(f"[bold]{escape(found.verdict)}[/] {brackets}", highlight=False)
        if gone := {**found.facts, **about}.get("left_out", 0):
            console.print(f"[bold yellow]Left out:[/] {gone:,} with a missing or undeclared value.", highlight=False)
    if facts["none"]:
        console.print(escape(facts["none"]), highlight=False)
    for each in lacking:
        console.print(f"[bold yellow]Left out:[/] {each['attack']} {escape(each['needs'])}.", highlight=False)
    if result.artifact:
        console.print("[bold red]Not for publication: these figures come from raw records.[/]")
    show_files(*result.files.values())


def show_report(result: Any) -> None:
    """Show the guarantee, and where the page is."""
    from discreet.reporting import translated

    facts, language = result.figures, result.job.parameters.get("language", "en")
    if result.failed:
        from discreet.reporting.pages import contradictions

        for text in contradictions(facts):
            console.print(f"[bold red]{escape(text)}[/]", highlight=False)
        console.print("[bold red]The file claims:[/]", highlight=False)
    for line in facts["promise"]["plain"] if result.job.kind == "report" else ():
        console.print(escape(translated(line, language)))
    record = result.job.parameters.get("format") == "json"
    for name, page in result.files.items():
        named, end = ("Record", "") if record else ("Page", " (open it in a browser)")
        named, end = ("Signature", "") if name == "signature" else (named, end)
        console.print(f"[bold]{named}[/] [cyan]{escape(str(page))}[/]{end}")
    if "comparison" in facts:
        if found := facts["comparison"].get("together"):
            from discreet.evaluation import comparison_rows

            measures("The release and the raw table", comparison_rows(found))
        from discreet.anonymity.risk import loss_rows

        if found := loss_rows(facts["comparison"].get("information_loss")):
            measures("What the cells leave open", found)
        console.print(
            "[bold red]Not for publication: these figures come from the raw table. Keep them confidential.[/]"
        )
    if facts["checks"]["seeded"]:
        console.print("[bold red]Seeded: this release must not be published.[/]")
    if result.failed:
        console.print("[bold red]Do not trust this release.[/]", highlight=False)
