"""The promise in words that a lawyer can read, and in symbols that an expert can check."""

import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from discreet.core import Guarantee, as_it_is, at_most, kept_text, unit_kind

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 4) -> str:
    """Write a number for people: thousands set apart, no exponents of programs, no negative nothing.

    Examples
    --------
    >>> number(16670.4), number(-0.0), number(1e-6), number(0.12345), number(1.5e18), number(163.7, 2)
    ('16,670', '0', '10⁻⁶', '0.1235', '1.5 × 10¹⁸', '160')
    """
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
    """Return an interval with a space at which no line ends; anything else as it is.

    Examples
    --------
    >>> unbroken("[35, 100]"), unbroken("{a, b}")
    ('[35,\\xa0100]', '{a, b}')
    """
    interval = isinstance(value, str) and re.fullmatch(r"[\[(][^,]*, [^,]*[\])]", value)
    return value.replace(", ", ",\u00a0") if interval else value


def prose(text: str) -> str:
    """Write the numbers of a sentence for people.

    Examples
    --------
    >>> prose("a lattice of step 3.81e-06")
    'a lattice of step 3.81 × 10⁻⁶'
    """
    return re.sub(r"(?<![\w.])\d+(\.\d+)?e[+-]\d+", lambda found: number(float(found[0])), text)


def share(value: float) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> share(0.01234), share(2.5)
    ('1.23 %', '250 %')
    """
    return f"{number(100 * value, 3)} %"


def plain(value: Any) -> str:
    """Write a value of a program for people.

    Examples
    --------
    >>> plain(True), plain(None), plain([1, 2]), plain({"least": 2, "kind": "entropy"})
    ('yes', 'none', '1, 2', 'least 2, kind entropy')
    """
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{str(k).replace('_', ' ')} {plain(v)}" for k, v in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        more = f" and {len(value) - 12:,} more" if len(value) > 12 else ""
        return ", ".join(map(plain, value[:12])) + more or "none"
    return number(value) if isinstance(value, (int, float)) else str(value)


def flat(value: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested settings or results by name; long lists of numbers, which are curves, are left out.

    Examples
    --------
    >>> list(flat({"k": 8, "t": {"ill_ness": 0.25}}))
    [('k', '8'), ('t · ill ness', '0.25')]
    """
    for key, inner in value.items():
        own = f"{name} · {key}" if name else str(key)
        if isinstance(inner, Mapping) and inner:
            yield from flat(inner, own)
        elif isinstance(inner, (list, tuple)) and any(isinstance(v, Mapping) for v in inner):
            for i, each in enumerate(inner[:12], 1):
                yield from flat(each if isinstance(each, Mapping) else {"": each}, f"{own} {i}")
        elif not (isinstance(inner, (list, tuple)) and len(inner) > 12 and isinstance(inner[0], float)):
            yield own.replace("_", " "), plain(inner)


def for_lawyers(guarantee: Guarantee) -> list[str]:
    """Return the promise in plain sentences.

    Examples
    --------
    >>> from discreet.core.budget.guarantee import Ledger
    >>> ledger = Ledger(epsilon=1)
    >>> _ = ledger.spend("cells", 1, "parallel")
    >>> for_lawyers(Guarantee.from_ledger(ledger, model="central"))[0][:71]
    'Whether or not one row is in the table, every possible release is almos'
    """
    epsilon = guarantee.epsilon
    if epsilon is None:
        return _of_tables(guarantee)
    if math.isinf(epsilon):
        return ["This release carries no privacy guarantee. It must not leave the building."]
    factor = _times(math.exp(epsilon)) if epsilon < 50 else "astronomically many"
    said = _OPENINGS[guarantee.model](guarantee, factor)
    if guarantee.model == "metric":
        # The level at a small distance is not what common practice speaks of.
        whole = whole_level(guarantee)
        return said if whole is None else [*said, *_strength(whole)]
    return [*said, *_strength(epsilon)]


def _times(bound: float) -> str:
    """Write a bound with three digits, rounded up: what is "at most" this much must not be more."""
    rounded = float(at_most(bound, 3))
    return f"{rounded:,.0f}" if 1000 <= rounded < 1e9 else at_most(bound, 3)


def _central(guarantee: Guarantee, factor: str) -> list[str]:
    slack = (
        f" This holds but for events of a total probability of {at_most(guarantee.delta, 1)}."
        if guarantee.delta
        else ""
    )
    apart = "," if "," in guarantee.unit else ""
    return [
        f"Whether or not {guarantee.unit}{apart} is in the table, every possible release is almost equally likely: at "
        f"most {factor} times as likely in the one case as in the other.{slack}",
        f"So nobody who reads the release can be much surer than before that {_given(guarantee)} is in the table, or "
        "of what is recorded there, whatever else they know and whatever they compute from it.",
        *_rows_only(guarantee),
    ]


def _given(guarantee: Guarantee) -> str:
    """Return the unit as the subject of a sentence: "one row" becomes "a given row"."""
    noun = guarantee.unit.partition(",")[0]
    return f"a given {noun.removeprefix('one ')}" if noun.startswith("one ") else guarantee.unit


def _rows_only(guarantee: Guarantee) -> list[str]:
    """Say what a promise about rows is to people, and what a promise to people is to the counts of rows."""
    if unit_kind(guarantee.unit) == "person" and guarantee.model == "central":
        return [
            "Of people with more rows than were used, those that count were drawn at random; counts are of the rows "
            "that were used, so they are lower than in the table."
        ]
    if guarantee.unit != "one row":
        return []
    return [
        "This is a promise about rows: whoever has several in the table is protected less, m rows at m times the ε."
    ]


def _local(guarantee: Guarantee, factor: str) -> list[str]:
    if guarantee.unit == "one row":
        return [
            "Every row was randomised by itself. The true row was not kept.",
            f"Whatever was published of a row, no true row explains it more than {factor} times better than another.",
            *_rows_only(guarantee),
        ]
    return [
        "Every person's value was randomised before it left their hands. The collector never held a true value.",
        f"Whatever a person reported, no value of theirs explains it more than {factor} times better than another.",
    ]


def _metric(guarantee: Guarantee, factor: str) -> list[str]:
    facts = guarantee.parameters
    radius = facts.get("radius")
    near = "the stated distance" if radius is None else f"a distance of {as_it_is(radius)}"
    other = ", and any two categories of theirs," if facts.get("category_epsilon") else ""
    walks = guarantee.unit == "one user's trajectory"
    things, thing = ("trajectories", "trajectory") if walks else ("rows", "row")
    within = f"that are at all times within {near}" if walks else f"within {near}"
    alike = (
        f"Of two true {things} {within} of each other{other} the one explains what was published at most {factor} "
        f"times better than the other. {things.capitalize()} farther apart can be told apart more easily, in "
        "proportion."
    )
    if "min_people" in facts:
        alike = (
            f"The places of at least {as_it_is(facts['min_people'])} people, by the public density, explain what was "
            f"published of a row{other} at most {factor} times better or worse than its own place. Other places can be "
            "told from it more easily, the farther they are in the stated elastic metric."
        )
    lines = [
        "Every trajectory was moved at random, from place to place; a place that was near the last may have been shown "
        "as the last again. No true place was kept."
        if walks
        else "Every row was moved at random by itself. The true row was not kept.",
        alike,
    ]
    farthest = whole_level(guarantee)
    if farthest is not None:
        lines.append(
            f"Between the two most different {things} that the declared bounds and categories allow, the level is at "
            f"most ε = {at_most(farthest, 3)}: whatever the promise is at a small distance, this is what it is about "
            f"the whole {thing}."
        )
    return lines + _rows_only(guarantee)


def whole_level(guarantee: Guarantee) -> float | None:
    """Return the ε between the two most different rows: the farthest points, and other categories in all columns.

    Examples
    --------
    >>> facts = {"epsilon_at_diameter": 40.0, "category_epsilon": {"sex": "1", "ill": "1/2"}}
    >>> whole_level(Guarantee("metric", parameters=facts))
    41.5
    """
    farthest = guarantee.parameters.get("epsilon_at_diameter")
    if not isinstance(farthest, (int, float)):
        return None
    return float(farthest) + category_level(guarantee)


def category_level(guarantee: Guarantee) -> float:
    """Return what the categories of a row add to the level at any distance; 0 without any."""
    found = guarantee.parameters.get("category_epsilon")
    if not isinstance(found, Mapping):
        return 0.0
    return sum(math.inf if part == "inf" else float(Fraction(str(part))) for part in found.values())


def _shuffled(guarantee: Guarantee, factor: str) -> list[str]:
    return [
        "Reports were randomised by each person and then mixed, so that nobody knows whose is whose.",
        f"Replacing one person's value makes any collection of reports at most {factor} times as likely"
        + (f", but for events of a total probability of {at_most(guarantee.delta, 1)}." if guarantee.delta else "."),
    ]


def _of_tables(guarantee: Guarantee) -> list[str]:
    reached: dict[str, Any] = dict(guarantee.parameters.get("reached", {}))
    k = reached.get("k")
    lines = []
    if k is not None:
        each = "person" if guarantee.unit == "one person" else "row"
        kept = guarantee.parameters.get("kept")
        known = ", ".join(map(str, guarantee.parameters.get("quasi_identifiers", ())))
        where = "all the columns by which somebody could be recognised"
        if kept:
            where = "the columns that were generalised" + (f" ({known})" if known else "") + ", and only in those"
        drawn = guarantee.parameters.get("output") == "sample"
        table = "of the table from which these rows were drawn" if drawn else "of the table"
        lines.append(f"Every {each} {table} looks exactly like at least {int(k) - 1:,} others in {where}.")
        if isinstance(share := reached.get("largest_share"), (int, float)) and not drawn:
            lines.append(
                f"Somebody may have several rows: in one group {_share(share)} of the rows are of one and the same "
                "person, so whoever looks for that person there and picks a row is right that often."
            )
        if kept:
            lines.append(kept_text(kept))
    if isinstance(apart := reached.get("k_by_columns"), dict):
        parts = "; ".join(", ".join(map(str, part)) for part in apart["columns"])
        lines.append(
            f"Every row of the table looks exactly like at least {int(apart['least']) - 1:,} others in each of these "
            f"groups of columns by itself: {parts}. Whoever knows columns of several groups may find a single row: in "
            f"all of them together the smallest group has {reached.get('k_of_rows')}."
        )
        return lines
    if isinstance(chance := reached.get("probabilistic_k"), int):
        lines.append(
            "The values of the columns by which somebody could be recognised were swapped at random in groups of at "
            f"least {chance:,} rows. Whoever knows these columns of everybody, and no others, links a row with its "
            f"person with a chance of at most 1 in {chance:,}. Every value is somebody's own; rows need not be alike."
        )
        return lines
    if k is None:
        lines.append(
            "The values of the columns by which somebody could be recognised were changed, and that is all: no group "
            "of rows that look alike is promised, and people may be found again as often as the disclosure measures "
            "say, or more often."
        )
        return lines
    lines.append(
        "This hides who is who. It does not hide that a person is in the table, nor what all the rows of a group have "
        "in common, and it makes no promise against somebody who knows more than those columns."
    )
    if guarantee.parameters.get("output") == "sample":
        lines.append("The rows were drawn inside the groups: they are invented, like people of their group.")
    return lines


def _share(share: float) -> str:
    """Write a share in percent, rounded up."""
    return f"{math.ceil(share * 1000 - 1e-9) / 10:g} %"


_OPENINGS = {"central": _central, "local": _local, "metric": _metric, "shuffled": _shuffled}


def _strength(epsilon: float) -> list[str]:
    """Say how strong a level is, in the words of common practice."""
    if epsilon <= 1:
        return ["This is a strong level by common practice (ε of at most 1)."]
    if epsilon <= 5:
        return ["This is a level often used in practice (ε between 1 and 5): useful, with a margin that is not small."]
    return [
        "This level is weak on its own (ε above 5): it rests on what an attacker can do in practice, so measure how "
        "far attacks get before relying on it."
    ]


def for_experts(guarantee: Guarantee) -> list[str]:
    """Return the promise in symbols."""
    epsilon = guarantee.epsilon
    if epsilon is None:
        required = guarantee.parameters.get("required", {})
        asked = {name: value for name, value in dict(required).items() if value is not None}
        lines = ["for all rows r: |{s : QI(s) = QI(r)}| >= k" if asked else "no relation between rows is promised"]
        if "probabilistic_k" in asked:
            lines = ["for all rows r and persons i: P[r is of i | QI of all persons, QI of all rows] <= 1/k"]
        if "k_by_columns" in asked:
            lines = ["for all rows r and each group of columns G: |{s : G(s) = G(r)}| >= k"]
        lines += [f"required: {name} = {plain(value)}" for name, value in asked.items()]
        kept = guarantee.parameters.get("kept")
        if kept and "k" in kept:
            lines.append(f"QI without {', '.join(map(str, kept['columns']))}; with them: k = {kept['k']}")
        return lines
    loss = _loss(guarantee) if guarantee.model == "metric" else "ε"
    slack = f" + {at_most(guarantee.delta)}" if guarantee.delta else ""
    lines = [f"for all neighbours x, x′ and all sets S:  P[M(x) ∈ S] <= exp({loss}) · P[M(x′) ∈ S]{slack}"]
    lines.append(f"neighbours: {guarantee.neighbours}")
    exact = guarantee.spent.exact
    lines.append(f"spent, exactly: {exact} ({_unit(guarantee)})")
    if guarantee.accounting == "rho":
        lines.append(f"ε at δ = {as_it_is(guarantee.delta)}: {at_most(epsilon)}")
    for name in ("rate", "noise_rate", "radius", "rounding", "diameter", "epsilon_at_diameter", "step"):
        if name in guarantee.parameters:
            lines.append(f"{name}: {_setting(name, guarantee.parameters[name])}")
    return lines


def _setting(name: str, value: Any) -> str:
    """Write a setting for people; a level is a bound and rounded up, the distance up to which it holds is exact."""
    if name == "epsilon_at_diameter" and isinstance(value, (int, float)):
        return number(float(at_most(value, 3)))
    return as_it_is(value) if name == "radius" and isinstance(value, (int, float)) else plain(value)


def _loss(guarantee: Guarantee) -> str:
    """Say what is promised at a distance: rounding to the lattice counts as distance."""
    facts = guarantee.parameters
    if "rounding" not in facts:  # a release of before rounding was part of the noise
        return "rate · d(x, x′)"
    if "min_people" in facts:
        return "D(x, x′)" + (" + Σ category_epsilon" if "category_epsilon" in facts else "")
    if "rate" not in facts:  # a trajectory: several roundings, the largest of which holds below the radius
        return "ε · max((d(x, x′) + rounding)/(radius + rounding), d(x, x′)/radius)"
    more = " + Σ category_epsilon" if "category_epsilon" in facts else ""
    return f"rate · radius · (d(x, x′) + rounding)/(radius + rounding){more}"


def spent_on(facts: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the lines of a ledger with what each of them is, in the unit that they were paid in."""
    promise = facts["promise"]
    unit = "epsilon" if promise.get("rho") is None else "rho"
    joint = {("sequential", True): "the sum of its parts", ("parallel", True): "the dearest of its parts",
             ("pure", True): "half the square of the sum of its parts, which are in ε",
             ("sequential", False): "one step", ("parallel", False): "one step over disjoint cells"}  # fmt: skip
    rows = []
    for line in facts["ledger"]:
        paid = unit if unit in line else "epsilon"
        how = joint[line["composition"], line["parts"] > 0] + ", in ε" * (paid != unit)
        rows.append(("\u2003" * line["depth"] + line["step"], how, number(line[paid], 6)))
    return [*rows, ("spent in all", "the sum", number(promise[unit], 6))] if rows else []


def _unit(guarantee: Guarantee) -> str:
    if guarantee.accounting == "rho":
        return "zCDP, ρ"
    return f"ε, beside δ = {as_it_is(guarantee.delta)}" if guarantee.delta else "pure ε"


def table_kind(guarantee: Guarantee) -> str:
    """Say what a released table is, by its promise.

    Examples
    --------
    >>> table_kind(Guarantee("syntactic")), table_kind(Guarantee("metric"))
    ('anonymous table', 'perturbed table')
    """
    if guarantee.model == "central":
        drawn = guarantee.parameters.get("method") == "SampledGeneralization"
        return "drawn rows" if drawn else "invented rows"
    return "anonymous table" if guarantee.model == "syntactic" else "perturbed table"
