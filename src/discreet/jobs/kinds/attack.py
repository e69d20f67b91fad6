"""The job `attack`: measure what an outsider can learn about people from a release."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind
from discreet.jobs.options import EPSILON, SEED, data, option, release

#: The attacks: what each asks, the kinds of release that it applies to, and what it needs besides the original.
ATTACKS = {
    "membership": ("Is this person in the release?", ("table", "points", "synopsis", "centers"), ("control",)),
    "singling-out": ("Does a description made from the release fit exactly one person?", ("table",), ()),
    "linkability": ("Can two sources about a person be joined through it?", ("table",), ()),
    "inference": ("Does it reveal one more column of a person?", ("table",), ()),
    "attribute": ("Does it reveal one more column of a person?", ("points", "synopsis"), ("control",)),
    "reconstruction": ("How near does a guess come to the record behind a point?", ("points",), ("control", "order")),
    "best-guess": ("Which value is behind a report?", ("reports",), ("order",)),
}


def _together(job: Any) -> None:
    given = job.parameters
    if not given.get("list") and "against" not in given:
        raise KIND.wrong("against", None, "given: the raw records behind the release")
    if job.data is None and not given.get("list"):
        raise KIND.wrong("data", None, "given: the release to attack")
    kind = "points" if {"epsilon", "radius"} & set(given) else given.get("kind", "")
    for name in ("epsilon", "radius") if kind == "points" else ():
        if name not in given:
            raise KIND.wrong(name, None, "given for points whose guarantee is not next to them")
    if kind in ("points", "centers") and job.schema is None:
        raise KIND.wrong("schema", None, lambda say: f"given with {say('kind', kind)}")


KIND = Kind(
    name="attack",
    summary="attack a release",
    help="Attack a release as an outsider would, and compare with a control group. The kind of release is recognised, "
    "and all attacks that apply to it are made. They read raw records: keep the results inside.",
    data=data("table", "The release: an anonymous, synthetic or perturbed table, a synopsis, or reports.", "safe.csv",
        required=False, shown=True),
    schema="optional",
    own=(
        option("against", "table", "The raw records behind the release: CSV or Parquet.", "people.csv", shown=True),
        option("control", "table", "Records of similar people who are not in the release.", "others.csv", shown=True),
        option("list", "flag", "List the attacks, or those that apply to this release, and what each needs.", True),
        option("method", "text", "The only attack to make; by default all that apply.", "membership", arguments=(),
            choices=tuple(ATTACKS)),
        option("column", "text", "Column to guess from others, or column of the values behind reports.", "illness"),
        option("known", "names", "Columns that the attacker knows; by default quasi-identifiers.", ["age", "town"]),
        option("kind", "text", "Kind of a release without a guarantee; by default a table.", "table",
            choices=("table", "points", "synopsis", "centers")),
        replace(EPSILON, help="For points without a guarantee: epsilon of the noise, at the distance radius.",
            required=False),
        option("radius", "number", "For points without a guarantee: that distance, in shares of the ranges.", 0.1,
            above=0),
        option("reference", "table", "Public records of similar people, for points and synopses; by default half of "
            "the control group.", "public.csv"),
        option("linked", "flag", "Points are in the order of the records, and the attacker knows it.", True,
            default=None, off="unlinked"),
        option("within", "number", "Largest error of a correct guess; for points in shares of the ranges.", 0.1,
            above=0),
        option("attacks", "whole", "Most people to attack in a table.", 2000, default=2000, low=1),
        option("confidence", "number", "Confidence level of the intervals.", 0.95, default=0.95, above=0, below=1),
        replace(SEED, help="Make the run repeatable. An attack is never for publication."),
    ),
    outputs=(release("The results as JSON, for 'discreet report --attack'.", "attack.json", "results", required=False,
        streams=True),),
    together=_together,
    examples=(
        "attack safe.csv --against people.csv --control others.csv --schema schema.toml",
        "attack safe.csv --against people.csv -o attack.json",
        "attack safe.csv --list",
    ),
)  # fmt: skip
