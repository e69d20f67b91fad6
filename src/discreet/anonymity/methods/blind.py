"""Cells that tell nothing by how they were found: cut without looking at the sensitive columns, then checked.

A method that does not cut a cell because of l or t tells something of the values inside. If cuts, merges and
suppression look at quasi-identifiers and persons alone, and l and t are only checked at the end, on whole cells, then
nothing about a release changes when the sensitive values of a cell are dealt to its rows in another way. So to whoever
knows the algorithm and everybody's quasi-identifiers, all deals fit equally well, and a row's value is as likely as its
share in the cell says. A release whose cells fail is refused as a whole: leaving out cells that fail would tell, of the
people in them, that their values are alike.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.anonymity.release.table import CodedColumn
from discreet.anonymity.risk.rules import Rules
from discreet.errors import InvalidArgument


def growth_rules(rules: Rules, blind: bool) -> Rules:
    """Return the rules that may decide where to cut, merge and suppress."""
    return replace(rules, l_diversity=None, t_closeness=None) if blind else rules


def check_blind(rules: Rules, of: Any, sensitive: Sequence[CodedColumn], persons: Any = None, rows: Any = None) -> None:
    """Refuse cells that fail l or t: they were cut without asking."""
    found = rules.measure(of, sensitive, persons, rows)
    if not found.ok:
        reached = {name: value for name, value in found.to_dict().items() if name in ("l", "t")}
        raise InvalidArgument(
            "blind", True, f"used with cells that keep l and t; blind cuts at k={rules.k} reach {reached}",
            f"k={2 * rules.k}, chosen once: a k that was raised until it fitted tells that smaller ones did not",
        )  # fmt: skip


def check_settings(blind: Any, supervised: bool, relaxed: bool) -> None:
    """Refuse settings under which cells depend on more than quasi-identifiers."""
    if blind and supervised:
        raise InvalidArgument("blind", True, "left out: supervised cuts look at the target", "supervised=False")
    if blind and relaxed:
        raise InvalidArgument("blind", True, "used with strict cells", 'mode="strict"')
