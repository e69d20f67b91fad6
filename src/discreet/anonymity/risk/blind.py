"""Cells that reveal nothing by the way they were found: split without the sensitive columns, then checked.

If a method does not split a cell because of l or t, that reveals something about the values inside. With
``blind=True``, splits, merges and suppression look at quasi-identifiers and persons only; l and t are checked at the
end, on whole cells. The release then does not change if the sensitive values of a cell are dealt to its rows in another
way. An attacker who knows the algorithm and all quasi-identifiers learns no more than the shares of the values in a
cell. If cells fail, the whole release is refused: leaving out only these cells would reveal that their values are
alike.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.rules import Rules
from discreet.core import option
from discreet.errors import InvalidArgument

BLIND: Any = option(
    default=False, example=True,
    help="Split, merge and suppress without the sensitive columns; check l and t at the end.",
    details="A release that fails them is refused. Otherwise a cell that was not split because of l or t reveals more "
    "about its values than how often each occurs. See docs/risk.md for the cost.",
)  # fmt: skip


def growth_rules(rules: Rules, blind: bool) -> Rules:
    """Return the rules that may decide where to split, merge and suppress."""
    return replace(rules, l_diversity=None, t_closeness=None) if blind else rules


def check_blind(rules: Rules, of: Any, sensitive: Sequence[CodedColumn], persons: Any = None, rows: Any = None) -> None:
    """Refuse cells that fail l or t."""
    found = rules.measure(of, sensitive, persons, rows)
    if not found.ok:
        reached = {name: value for name, value in found.to_dict().items() if name in ("l", "t")}
        raise InvalidArgument(
            "blind", True, f"used with cells that keep l and t; blind splits at k={rules.k} reach {reached}",
            f"k={2 * rules.k}, chosen once: raising k until it fits reveals that smaller values did not",
        )  # fmt: skip
