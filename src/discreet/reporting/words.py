"""The promise in plain sentences and in symbols; numbers as people write them."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.core import (
    Guarantee,
    as_it_is,
    at_most,
    counted,
    hidden_among,
    kept_text,
    percent_up,
    person_column,
    plural,
    promises_nothing,
    rule_text,
    unit_kind,
    unit_noun,
)

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 4) -> str:
    """Write a number for people: with thousands separators and powers of ten."""
    if value is None or math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size, sign = abs(value), "−" if value < 0 else ""
    if size == 0:
        return "0"
    if not 1e-4 <= size < 1e15:
        mantissa, _, power = f"{size:.{max(digits - 2, 0)}e}".partition("e")
        power = f"10{str(int(power)).translate(SUPERSCRIPT)}"
        short = f"{float(mantissa):g}"
        return sign + (power if short == "1" else f"{short} × {power}")
    text = f"{size:.{digits}g}"
    return sign + (f"{size:,.0f}" if size >= 1000 else f"{float(text):,.0f}" if "e" in text else text)


def unbroken(value: Any) -> Any:
    """Return an interval with a no-break space; anything else unchanged."""
    interval = isinstance(value, str) and re.fullmatch(r"[\[(][^,]*, [^,]*[\])]", value)
    return value.replace(", ", ",\u00a0") if interval else value


def decimal(exact: Fraction | float, digits: int = 6) -> str:
    """Write an exact amount of a budget as a decimal: rounded up, and marked so, unless it is short."""
    text = at_most(exact, digits)
    return text if math.isinf(exact) or Fraction(text) == exact else f"{text}, rounded up"


def prose(text: str) -> str:
    """Rewrite numbers such as 3.81e-06 in a sentence."""
    return re.sub(r"(?<![\w.])\d+(\.\d+)?e[+-]\d+", lambda found: number(float(found[0])), text)


def share(value: float) -> str:
    return f"{number(100 * value, 3)} %"


def plain(value: Any) -> str:
    """Write any value for people."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{str(k).replace('_', ' ')} {plain(v)}" for k, v in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        more = f", … (+{len(value) - 12})" if len(value) > 12 else ""  # in every language
        return ", ".join(map(plain, value[:12])) + more or "none"
    return number(value) if isinstance(value, (int, float)) else str(value)


def flat(value: Mapping[str, Any], name: str = "", users: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield nested settings or results by name, without long lists of numbers (curves); the ``users`` names stay."""
    for key, inner in value.items():
        key = str(key) if key in users else str(key).replace("_", " ")
        own = f"{name} · {key}" if name else key
        if isinstance(inner, Mapping) and inner:
            yield from flat(inner, own, users)
        elif isinstance(inner, (list, tuple)) and any(isinstance(v, Mapping) for v in inner):
            for i, each in enumerate(inner[:12], 1):
                yield from flat(each if isinstance(each, Mapping) else {"": each}, f"{own} {i}", users)
        elif not (isinstance(inner, (list, tuple)) and len(inner) > 12 and isinstance(inner[0], float)):
            yield own, plain(inner)


def for_lawyers(guarantee: Guarantee) -> list[str]:
    """Return the promise in plain sentences."""
    epsilon = guarantee.epsilon
    if epsilon is None:
        return _of_tables(guarantee)
    if math.isinf(epsilon):
        return ["This release has no privacy guarantee. Do not publish it."]
    factor = "an astronomically large number" if epsilon >= 50 else _times(math.exp(epsilon))
    said = _OPENINGS[guarantee.model](guarantee, factor)
    if guarantee.model == "metric":
        whole = whole_level(guarantee)
        return said if whole is None else [*said, *_strength(whole)]
    return [*said, *_strength(epsilon)]


def _times(bound: float) -> str:
    """Write a bound with three digits, rounded up."""
    rounded = float(at_most(bound, 3))
    return f"{rounded:,.0f}" if 1000 <= rounded < 1e9 else at_most(bound, 3)


def _central(guarantee: Guarantee, factor: str) -> list[str]:
    apart = "," if "," in guarantee.unit else ""
    whose = "their" if unit_kind(guarantee.unit) == "person" else "its"
    told = guarantee.parameters.get("weight")
    weighed = (
        f"Counts are weighted by {told['column']}; a row counts as {number(told['most'])} at most." if told else ""
    )
    return [
        f"With and without {guarantee.unit}{apart} in the table, the probabilities of any possible release differ by a "
        f"factor of at most {factor}{_slack(guarantee)}.",
        f"This limits what anyone can learn from the release about {_given(guarantee)}: {whose} presence in the table, "
        "and what is recorded there. The limit holds whatever else they know and whatever they compute.",
        *_rows_only(guarantee),
        *filter(None, [weighed]),
    ]


def _slack(guarantee: Guarantee) -> str:
    return f", plus a probability of at most {at_most(guarantee.delta, 1)}" if guarantee.delta else ""


def _given(guarantee: Guarantee) -> str:
    """Return the unit for use in a sentence: "one row" becomes "any single row"."""
    noun = guarantee.unit.partition(",")[0]
    return f"any single {noun.removeprefix('one ')}" if noun.startswith("one ") else guarantee.unit


def _rows_only(guarantee: Guarantee) -> list[str]:
    """Return what a promise about rows means for people, or a promise about people for counts of rows."""
    if unit_kind(guarantee.unit) == "person" and guarantee.model == "central":
        return [
            f"If a {unit_noun(guarantee.unit)} has more rows than are used, the rows to use are drawn at random. "
            "Counts include only rows that were used, so they are lower than in the table."
        ]
    if guarantee.unit != "one row":
        return []
    return ["This is a promise about rows. For someone with m rows, ε is m times as large."]


#: Rows may be randomised by their owners or by someone who holds all of them: the file does not show which.
_OUTSIDE = "The promise is against anyone who sees only the result, not against a party that holds the true values."


def _local(guarantee: Guarantee, factor: str) -> list[str]:
    if guarantee.unit == "one row":
        return [
            f"Each row was randomised separately, before it entered this file. {_OUTSIDE}",
            f"Any two true rows lead to the same published row with probabilities that differ by a factor of at most "
            f"{factor}.",
            *_rows_only(guarantee),
        ]
    again = (
        "Further reports of the same user add up: r of them cost r times ε. This file does not limit them. If a task "
        "collected them, the task states how much a user may spend per day."
    )
    return [  # counts show neither where the values were randomised nor how many reports a user sent
        "Each value was randomised separately, before it was counted. The promise is against anyone who sees the "
        "reports: against the collector too, if users randomised their own values.",
        f"Any two values lead to the same report with probabilities that differ by a factor of at most {factor}.",
        *([again] if guarantee.unit == "one report of one user" else []),
    ]


def _metric(guarantee: Guarantee, factor: str) -> list[str]:
    facts = guarantee.parameters
    radius = facts.get("radius")
    near = "the stated distance" if radius is None else f"a distance of {as_it_is(radius)}"
    other = " (and any two of their categories)" if facts.get("category_epsilon") else ""
    walks = guarantee.unit == "one user's trajectory"
    things, thing = ("trajectories", "trajectory") if walks else ("rows", "row")
    within = f"that are always within {near} of each other" if walks else f"within {near} of each other"
    alike = (
        f"Any two true {things} {within}{other} lead to the same published {thing} with probabilities that differ by a "
        f"factor of at most {factor}. {things.capitalize()} that are farther apart are easier to distinguish, in "
        "proportion to their distance."
    )
    if "min_people" in facts:
        alike = (
            f"The published place of a row is almost equally likely from the places of at least "
            f"{as_it_is(facts['min_people'])} people, by the public density{other}: the probabilities differ "
            f"by a factor of at most {factor}. Places farther away in the stated elastic metric are easier to "
            "distinguish."
        )
    lines = [
        "Each place of a trajectory was moved at random. A place near the last one may be shown as the last one again. "
        f"{_OUTSIDE}"
        if walks
        else f"Each row was moved at random, separately, before it entered this file. {_OUTSIDE}",
        alike,
    ]
    farthest = whole_level(guarantee)
    if farthest is not None:
        lines.append(
            f"For the two most different {things} within the declared bounds and categories, the level is at most "
            f"ε = {at_most(farthest, 4)}. This is the protection of the whole {thing}."
        )
    return lines + _rows_only(guarantee)


def whole_level(guarantee: Guarantee) -> float | None:
    """Return the ε between the two most different rows: the farthest points, and other categories in all columns."""
    farthest = guarantee.parameters.get("epsilon_at_diameter")
    if not isinstance(farthest, (int, float)):
        return None
    return float(farthest) + category_level(guarantee)


def category_level(guarantee: Guarantee) -> float:
    """Return the ε that the categories of a row add at any distance; 0 without any."""
    found = guarantee.parameters.get("category_epsilon")
    if not isinstance(found, Mapping):
        return 0.0
    return sum(math.inf if part == "inf" else float(Fraction(str(part))) for part in found.values())


def _shuffled(guarantee: Guarantee, factor: str) -> list[str]:
    return [
        "Each person randomised their report. The reports were then shuffled, so no one knows whose is whose.",
        f"Replacing one person's value changes the probability of any set of reports by a factor of at most {factor}"
        f"{_slack(guarantee)}.",
    ]


def _of_tables(guarantee: Guarantee) -> list[str]:
    facts = guarantee.parameters
    reached: dict[str, Any] = dict(facts.get("reached", {}))
    k, kept, drawn = reached.get("k"), facts.get("kept"), facts.get("output") == "sample"
    lines = []
    if k is not None:
        each = unit_noun(guarantee.unit)
        known = plain(named) if (named := facts.get("quasi_identifiers")) else ""
        where = "all columns that could identify someone (quasi-identifiers)" + f": {known}" * bool(known)
        if kept:
            where = "the generalised columns" + (f" ({known})" if known else "") + ", and only in those"
        together = hidden_among(facts) or int(k)
        table = "of the table from which these rows were drawn" if drawn else "of the table"
        lines.append(f"Each {each} {table} is identical to at least {together - 1:,} others in {where}.")
        if isinstance(share := reached.get("largest_share"), (int, float)) and not drawn:
            if (most := facts.get("most_rows")) != 1 and share * k > 1 + 1e-9:
                lines.append(
                    f"A {each} may have several rows, so there are two chances: a guess among the {plural(each)} of a "
                    f"group is right once in {together:,} times at most, and a guess among its rows "
                    f"{percent_up(share)} of the time at most, because one {each} has so many of them."
                )
            if most is not None:
                released = f"{counted(most, 'row')} per {each} {'was' if most == 1 else 'were'} released"
                lines.append(f"At most {released}, chosen at random.")
            elif share * k > 1 + 1e-9:
                lines.append(
                    f"A bound on the rows per {each} (most_rows) brings the second chance down towards the first."
                )
        lines[1:1] = [] if drawn else _besides_k(facts, each)
        if kept:
            lines.append(kept_text(kept))
    if isinstance(apart := reached.get("k_by_columns"), dict):
        parts = "; ".join(", ".join(map(str, part)) for part in apart["columns"])
        lines.append(
            f"In each of these groups of columns, taken separately, each row is identical to at least "
            f"{int(apart['least']) - 1:,} others: {parts}. Someone who knows columns of several groups may find a "
            f"single row: the smallest group in all columns together has {reached.get('k_of_rows')}."
        )
    elif isinstance(chance := reached.get("probabilistic_k"), int):
        lines.append(
            f"The values of the quasi-identifiers were swapped at random in groups of at least {chance:,} rows. "
            "Someone who knows these columns for everyone, and no others, links a row with its person with a "
            f"probability of at most 1 in {chance:,}. Each value is a true value of some person. Rows need not be "
            "alike."
        )
    elif k is None:
        lines.append(
            "The values of the quasi-identifiers were changed. Nothing else is promised: rows need not be alike, and "
            "people may be found again as often as the disclosure measures say, or more often."
        )
    else:
        lines.append(
            "This hides who is who. It does not hide that a person is in the table, or what all rows of a group have "
            "in common. It promises nothing against someone who knows more than those columns."
        )
        if drawn:
            lines.append("The published rows are synthetic: they were drawn at random within the groups.")
    return lines


def _besides_k(facts: Mapping[str, Any], each: str) -> list[str]:
    """Return what a table promises besides k: its rules of sensitive columns, and what holds with earlier releases."""
    lines = []
    for name, value in dict(facts.get("required", {})).items():
        if isinstance(named := dict(facts["reached"]).get(name), Mapping):
            said = f"In each group, {rule_text(name, value)} holds for"
            if isinstance(value, Mapping) and value.get("kind") == "distinct":
                said = f"Each group has at least {value['least']:g} different values of each of"
            lines.append(f"{said} these columns: {', '.join(map(str, named))}.")
    if n := facts.get("earlier_releases"):
        k = int(facts["reached_together"]["k"])
        told = f"{k:,} {plural(each)} can be told apart with the help of"
        if (alone := int(facts["reached"]["k"])) > k:
            told = f"{alone:,} {plural(each)} can be told apart in this table alone, {k:,} with"
        told = f"No group of fewer than {told} earlier releases ({n:,})."
        lines.append(told + " The other rules hold in each of them." * bool(lines))
    return lines


_OPENINGS = {"central": _central, "local": _local, "metric": _metric, "shuffled": _shuffled}


def _strength(epsilon: float) -> list[str]:
    """Return how strong a level is by common practice."""
    if epsilon <= 1:
        return ["By common practice this is a strong level (ε at most 1)."]
    if epsilon <= 5:
        return ["This level is often used in practice (ε between 1 and 5). It protects, but not fully."]
    return [
        "This level is weak on its own (ε above 5). Before you rely on it, measure how far attacks get "
        "(`discreet attack`)."
    ]


def for_experts(guarantee: Guarantee) -> list[str]:
    """Return the promise in symbols."""
    epsilon = guarantee.epsilon
    if epsilon is None:
        required = guarantee.parameters.get("required", {})
        asked = {name: value for name, value in dict(required).items() if value is not None}
        each = "s" if person_column(guarantee) is None else f"{unit_noun(guarantee.unit)}(s)"
        lines = [f"for all rows r: |{{{each} : QI(s) = QI(r)}}| >= k"]
        lines = lines if asked else ["nothing is promised about groups of rows"]
        if "probabilistic_k" in asked:
            lines = ["for all rows r and persons i: P[r is of i | QI of all persons, QI of all rows] <= 1/k"]
        if "k_by_columns" in asked:
            lines = ["for all rows r and each group of columns G: |{s : G(s) = G(r)}| >= k"]
        lines += [f"required: {rule_text(name, value)}" for name, value in asked.items()]
        kept = guarantee.parameters.get("kept")
        if kept and "k" in kept:
            lines.append(f"QI without {', '.join(map(str, kept['columns']))}; with them: k = {kept['k']}")
        return lines
    loss = _loss(guarantee) if guarantee.model == "metric" else "ε"
    slack = f" + {at_most(guarantee.delta)}" if guarantee.delta else ""
    lines = [f"for all neighbours x, x′ and all sets S:  P[M(x) ∈ S] <= exp({loss}) · P[M(x′) ∈ S]{slack}"]
    lines.append(f"neighbours: {guarantee.neighbours}")
    lines.append(f"spent: {decimal(guarantee.spent.exact)} ({_unit(guarantee)})")
    if guarantee.accounting == "rho":
        lines.append(f"ε at δ = {as_it_is(guarantee.delta)}: {at_most(epsilon)}")
    for name in ("rate", "noise_rate", "radius", "rounding", "diameter", "epsilon_at_diameter", "step"):
        if name in guarantee.parameters:
            lines.append(f"{name}: {_setting(name, guarantee.parameters[name])}")
    return lines


def _setting(name: str, value: Any) -> str:
    """Write a setting: a level is rounded up, the distance up to which it holds is exact."""
    if name == "epsilon_at_diameter" and isinstance(value, (int, float)):
        return number(float(at_most(value, 4)))
    return as_it_is(value) if name == "radius" and isinstance(value, (int, float)) else plain(value)


def _loss(guarantee: Guarantee) -> str:
    """Return the loss at a distance; rounding to the lattice counts as distance."""
    facts = guarantee.parameters
    if "min_people" in facts:
        return "D(x, x′)" + (" + Σ category_epsilon" if "category_epsilon" in facts else "")
    if "rate" not in facts:  # a trajectory: several roundings, the largest of which holds below the radius
        return "ε · max((d(x, x′) + rounding)/(radius + rounding), d(x, x′)/radius)"
    more = " + Σ category_epsilon" if "category_epsilon" in facts else ""
    return f"rate · radius · (d(x, x′) + rounding)/(radius + rounding){more}"


def spent_on(facts: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the lines of a ledger: step, how it is composed, amount."""
    promise = facts["promise"]
    unit = "epsilon" if promise.get("rho") is None else "rho"
    joint = {("sequential", True): "the sum of its parts", ("parallel", True): "the largest of its parts",
             ("pure", True): "half the square of the sum of its parts, which are in ε",
             ("sequential", False): "one step", ("parallel", False): "one step over disjoint cells"}  # fmt: skip
    rows = []
    for line in facts["ledger"]:
        paid = unit if unit in line else "epsilon"
        how = joint[line["composition"], line["parts"] > 0] + ", in ε" * (paid != unit)
        rows.append(("\u2003" * line["depth"] + line["step"], how, _spent(line[paid])))
    return [*rows, ("total", "the sum", _spent(promise[unit]))] if rows else []


def _spent(amount: float) -> str:
    """Write an amount of a ledger, rounded up as in the promise."""
    return number(float(at_most(amount)), 6)


def _unit(guarantee: Guarantee) -> str:
    if guarantee.accounting == "rho":
        return "zCDP, ρ"
    return f"ε, with δ = {as_it_is(guarantee.delta)}" if guarantee.delta else "pure ε"


def table_kind(guarantee: Guarantee) -> str:
    """Return the kind of a released table, from its promise."""
    if guarantee.model == "central":
        method = guarantee.parameters.get("method")
        return {"SampledGeneralization": "drawn rows", "QuerySession": "answer"}.get(str(method), "synthetic rows")
    if guarantee.model == "syntactic":
        return "masked table" if promises_nothing(guarantee) else "anonymous table"
    return "perturbed table"
