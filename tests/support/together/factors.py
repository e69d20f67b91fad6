"""The factors that are combined, and which combinations are impossible, with the reason and who refuses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from together.people import SOURCES

SYNOPSES = ("grid", "tree", "marginals", "k-means")
CENTRAL = (*SYNOPSES, "lloyd", "regression", "session", "ordered")
CELLS = ("density tree", "mondrian", "generalization")
TABLES = (*CELLS, "microaggregation")
METHODS = (*CENTRAL, "perturb", "oracle", "distinct", *TABLES, "sampled")

FACTORS: dict[str, tuple[str, ...]] = {
    "method": METHODS,
    "option": ("plain", "delta", "rho", "l", "t", "suppress", "blanks", "most rows", "keep", "escape", "hash"),
    "source": tuple(SOURCES),
    "cells": ("clean", "missing", "unreadable", "undeclared", "beyond", "mixed"),
    "after": ("nothing", "audit", "report", "risk", "ask"),
    "second": ("none", "same", "changed", "removed"),
    "unit": ("row", "person", "person, ids missing"),
    "output": ("csv", "parquet", "memory"),
    "account": ("none", "ledger", "account"),
}

SECOND = ("same", "changed", "removed")
PERSONS = ("person", "person, ids missing")
#: The options that each method has; what is not listed is refused.
OPTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("grid", "tree", "k-means", "lloyd", "regression"), ("delta", "rho")),
    "marginals": ("delta", "rho", "escape"),
    "session": ("delta",),  # with private keys
    "ordered": (),
    "perturb": ("escape",),
    "oracle": (),
    "distinct": (),
    **dict.fromkeys(CELLS, ("l", "t", "suppress", "blanks", "most rows", "keep", "escape", "hash")),
    "microaggregation": ("keep", "escape", "hash"),
    "sampled": ("delta", "escape"),
}


@dataclass(frozen=True)
class Impossible:
    """Values that do not go together, why, and what the refusal must say."""

    when: Mapping[str, tuple[str, ...]]
    why: str
    says: str

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Return whether the rule forbids a combination, which may be partial."""
        return all(given.get(name) in values for name, values in self.when.items())


def _without(option: str) -> tuple[str, ...]:
    return tuple(method for method in METHODS if option not in OPTIONS[method])


#: `says` is a pattern that the one sentence of the refusal matches.
IMPOSSIBLE: tuple[Impossible, ...] = (
    *(
        Impossible({"option": (option,), "method": _without(option)}, why, says)
        for option, why, says in (
            ("delta", "the method draws no Gaussian noise, or none at all", r"delta"),
            ("rho", "the method has no price in zCDP", r"rho"),
            ("l", "only cells of a table keep l", r"\bl\b|l_diversity"),
            ("t", "only cells of a table keep t", r"\bt\b|t_closeness"),
            ("suppress", "only cells of a table are held back", r"suppress"),
            ("blanks", "only values of cells are blanked", r"blanks"),
            ("most rows", "only rows of an anonymous table are chosen by this name", r"most_rows|most-rows"),
            ("keep", "only an anonymous table passes a column on as it is", r"keep"),
            ("escape", "the method writes no texts of its own into a CSV", r"escape_formulas|escape-formulas"),
            ("hash", "only an anonymous table follows people by hashed identifiers", r"hash_key|identifiers"),
        )
    ),
    Impossible(
        {"option": ("most rows",), "unit": ("row",), "method": CELLS}, "rows belong to no one", r"most_rows|most-rows"
    ),
    Impossible(
        {"option": ("escape",), "output": ("parquet",)},
        "a Parquet file is run by no spreadsheet",
        r"escape_formulas|escape-formulas",
    ),
    Impossible(
        {"account": ("ledger",), "method": (*TABLES, "perturb", "oracle")},
        "k-anonymity has no price; rows and reports that users randomise are listed in accounts, not charged",
        r"account|ledger",
    ),
    Impossible({"account": ("none",), "method": ("session",)}, "every question is bought from somebody", r"account"),
    Impossible(
        {"unit": PERSONS, "method": ("perturb",)},
        "a promise about a row that is handed back says nothing about all rows of a person",
        r"person",
    ),
    Impossible({"unit": PERSONS, "method": ("oracle",)}, "one report of one user is the unit", r"person"),
    Impossible(
        {"unit": PERSONS, "method": ("sampled",)}, "several rows of a person would move several counts", r"person"
    ),
    Impossible(
        {"second": SECOND, "method": ("microaggregation", "sampled")},
        "means can be subtracted, drawn rows have a price and no history",
        r"history",
    ),
    Impossible(
        {"unit": PERSONS, "method": ("microaggregation",)}, "groups of means count rows, not persons", r"person"
    ),
    Impossible(
        {"after": ("report",), "method": ("lloyd", "regression", "session", "distinct")},
        "a page is made of a synopsis, of counts or of a table with its promise",
        r"neither a synopsis nor counts",
    ),
    Impossible(
        {"output": ("csv", "parquet"), "method": ("lloyd", "regression", "session")},
        "centres, coefficients and answers stay in the program that asked for them",
        r"save",
    ),
    Impossible({"after": ("ask",), "method": tuple(m for m in METHODS if m not in SYNOPSES)},
        "questions in words are put to a synopsis", r"synopsis"),
    Impossible({"after": ("risk",), "method": (*CENTRAL[:-1], "oracle", "distinct")},
        "people hide in tables of rows", r"has no column 'age'|is not a table"),
    Impossible({"source": ("german csv",), "method": ("oracle",)},
        "a device randomises its own value: of a file of values the job reads plain CSV only", r"column"),
)  # fmt: skip


def possible(given: Mapping[str, Any]) -> bool:
    """Return whether a combination, which may be partial, is possible."""
    return not any(rule.fits(given) for rule in IMPOSSIBLE)


#: What everything else is where one impossible combination is tried.
PLAIN: dict[str, str] = {
    "option": "plain", "source": "parquet", "cells": "clean", "after": "nothing", "second": "none", "unit": "row",
    "output": "csv",
}  # fmt: skip


def refused() -> list[tuple[dict[str, str], str]]:
    """Return every forbidden combination of the table, all else plain, with what the refusal must say."""
    found = []
    for rule in IMPOSSIBLE:
        for values in product(*rule.when.values()):
            given = {**PLAIN, **dict(zip(rule.when, values, strict=True))}
            given.setdefault("method", "density tree")
            if given["method"] in ("lloyd", "regression", "session") and "output" not in rule.when:
                given["output"] = "memory"
            given.setdefault("account", "ledger" if given["method"] == "session" else "none")
            found.append((given, rule.says))
    return found
