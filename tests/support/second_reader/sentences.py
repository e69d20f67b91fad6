"""Every sentence that a guarantee or a report may say, with its check, or with the reason why a reader has none."""

# ruff: noqa: E501
# Sentences stay whole, so that they can be searched for.

from __future__ import annotations

import math
import re
from fractions import Fraction

from second_reader.printed import NUM as _NUM
from second_reader.printed import says
from second_reader.printed import value_of as _float
from second_reader.reading import Case, Check, Objections, kept_sentence, total


def _only(model: str, **facts: object) -> Check:
    def check(case: Case, m: re.Match[str]) -> Objections:
        if case.promise["model"] != model:
            yield f"it belongs to the {model} model"
        for name, value in facts.items():
            if case.facts.get(name) != value:
                yield f"it belongs to {name} = {value}, not {case.facts.get(name)}"

    return check


def _factor(case: Case, m: re.Match[str]) -> Objections:
    """'At most so many times' must not be less than e^ε, nor far above."""
    if m["factor"] == "an astronomically large number":
        if case.epsilon < 50:
            yield f"e^{case.epsilon} is a number that can be said"
    elif not math.exp(case.epsilon) <= _float(m["factor"]) <= math.exp(case.epsilon) * 1.011:
        yield f"e^ε is {math.exp(case.epsilon):.6g}"
    if m.groupdict().get("near"):
        yield from _radius(case, m)


def _radius(case: Case, m: re.Match[str]) -> Objections:
    """A promise is made up to the radius: a distance beyond it must not be named."""
    radius = case.facts["radius"]
    if not radius * (1 - 1e-5) <= _float(m["near"]) <= radius:
        yield f"the radius is {radius}"


def _lattice(case: Case, m: re.Match[str]) -> Objections:
    facts, rounding = case.facts, case.facts["rounding"]
    if abs(_float(m["step"]) / facts["step"] - 1) > 0.006:
        yield f"the step is {facts['step']}"
    if m["c"]:
        if not rounding <= _float(m["c"]) <= rounding * 1.011:
            yield f"c is {rounding}"
        if len({m["near"], m["near2"], m["near3"]}) != 1:
            yield "it names several distances"
        yield from _radius(case, m)
    elif case.epsilon != math.inf:
        yield "what rounding costs is not said"


def _pair(case: Case, m: re.Match[str]) -> Objections:
    yield from _factor(case, m)
    if bool(m["other"]) != bool(case.facts.get("category_epsilon")):
        yield "whether categories differ is told wrongly"
    yield from _things(case, m)


def _things(case: Case, m: re.Match[str]) -> Objections:
    if (m["things"] == "trajectories") != (case.promise["unit"] == "one user's trajectory"):
        yield f"the unit is {case.promise['unit']!r}"


def _whole(case: Case) -> float:
    """The level between the farthest rows: numbers by the rate (which the bytes' reader holds to ε), and all categories."""
    return float(case.facts["epsilon_at_diameter"]) + sum(
        map(_rational, case.facts.get("category_epsilon", {}).values())
    )


def _farthest(case: Case, m: re.Match[str]) -> Objections:
    level = _whole(case)
    if not level <= _float(m["level"]) <= level * 1.011:
        yield f"it is {level:.6g}"
    yield from _things(case, m)


def _rational(text: str) -> float:
    return math.inf if text == "inf" else float(Fraction(text))


def _alike(case: Case, m: re.Match[str]) -> Objections:
    facts = case.facts
    if _float(m["others"]) != (k := min(facts[n]["k"] for n in ("reached", "reached_together") if n in facts)) - 1:
        yield f"it is {k - 1} others"
    if (m["each"] == "person") != (case.promise["unit"] == "one person"):
        yield "it speaks of another unit than the promise"
    if ("only in those" in m["where"]) != bool(facts.get("kept")):
        yield "kept columns are left out of account"
    if bool(m["drawn"]) != (facts["output"] == "sample"):
        yield "whether rows were drawn is told wrongly"


def _several(case: Case, m: re.Match[str]) -> Objections:
    """Rounded up, and of persons; the share itself is recounted where the table shows whose rows are whose."""
    share = 100 * case.facts["reached"]["largest_share"]
    if case.promise["unit"] != "one person" or not share - 1e-6 <= float(m["share"]) < share + 0.1 + 1e-6:
        yield f"it is {share} %"
    if _float(m["k"]) != (k := min(case.facts[n]["k"] for n in ("reached", "reached_together") if n in case.facts)):
        yield f"k is {k} for a reader of all releases"


def _unbounded(case: Case, m: re.Match[str]) -> Objections:
    """Said only where rows give more away than k, and no bound was set."""
    if "most_rows" in case.facts or case.facts["reached"]["largest_share"] * case.facts["reached"]["k"] <= 1:
        yield "a bound would not help"


def _most_rows(case: Case, m: re.Match[str]) -> Objections:
    """With so many rows of each, one of k persons has no more than this share of a group; the rest is recounted."""
    most, k = _float(m["most"]), case.facts["reached"]["k"]
    if most != case.facts["most_rows"] or case.facts["reached"]["largest_share"] > most / (most + k - 1) + 1e-9:
        yield f"at most {case.facts.get('most_rows')} rows per person are told"


def _kept(case: Case, m: re.Match[str]) -> Objections:
    yield from kept_sentence(case, m[0])


def _hides(case: Case, m: re.Match[str]) -> Objections:
    if case.facts["reached"]["k"] is None:
        yield "nothing is promised that would hide who is who"


def _changed(case: Case, m: re.Match[str]) -> Objections:
    if case.facts["reached"]["k"] is not None or case.facts["required"].get("k") is not None:
        yield "k is promised"


def _symbols_k(case: Case, m: re.Match[str]) -> Objections:
    if case.facts["reached"]["k"] is None:
        yield "no k is promised"
    if (m["each"] == "s") != (case.promise["unit"] != "one person"):
        yield "it counts something else than k does"


def _in_each_group(case: Case, m: re.Match[str]) -> Objections:
    """A rule of sensitive columns is told as it was required, of the columns it was reached for."""
    name = m["name"] or "l"
    rule, reached = case.facts["required"].get(name), case.facts["reached"].get(name)
    if not isinstance(rule, dict) or not isinstance(reached, dict):
        yield f"{name} is not required"
        return
    if m["columns"] != ", ".join(reached):
        yield f"the columns are {list(reached)}"
    if m["least"] and (rule.get("kind") != "distinct" or float(m["least"]) != rule["least"]):
        yield f"required is {rule}"
    if m["amount"] and float(m["amount"]) != rule.get("least", rule.get("most")):
        yield f"required is {rule}"


def _told_apart(case: Case, m: re.Match[str]) -> Objections:
    facts = case.facts
    alone = facts["reached"]["k"]
    if (_float(m["alone"]) if m["alone"] else facts["reached_together"]["k"]) != alone:
        yield f"it is {alone} in this table alone"
    if _float(m["k"]) != facts["reached_together"]["k"] or int(m["n"]) != facts["earlier_releases"]:
        yield f"it is {facts['reached_together']['k']} with {facts['earlier_releases']}"
    if bool(m["other"]) != bool({"l", "t"} & set(facts["required"])):
        yield "whether there are other rules is told wrongly"


def _required(case: Case, m: re.Match[str]) -> Objections:
    name = m["name"] or ("probabilistic_k" if m["chance"] else "k_by_columns")
    rule = case.facts["required"].get(name)
    parts = rule if isinstance(rule, dict) else {"least": rule}
    amount = parts.get("least", parts.get("most"))
    if amount is None or float(amount) != float(m["amount"] or m["chance"] or m["each"]):
        yield f"required is {rule}"
    if m["groups"] and m["groups"] != "; ".join(", ".join(group) for group in parts["columns"]):
        yield f"the groups of columns are {parts['columns']}"
    notes = {str(value) for key, value in parts.items() if key not in ("least", "most", "columns")}
    if {
        note.removeprefix("counted in ").rpartition(" = ")[2] for note in (m["notes"] or "").split(", ") if note
    } != notes:
        yield f"required is {rule}"


def _with_kept(case: Case, m: re.Match[str]) -> Objections:
    if int(m["k"]) != case.facts["kept"]["k"] or m["names"] != ", ".join(case.facts["kept"]["columns"]):
        yield "kept columns differ"


def _strength(low: float, high: float) -> Check:
    def check(case: Case, m: re.Match[str]) -> Objections:
        # What common practice speaks of is the level about all that a row holds.
        level = _whole(case) if case.promise["model"] == "metric" and case.epsilon < math.inf else case.epsilon
        if not low < level <= high:
            yield f"the level is {level}"

    return check


def _spent(case: Case, m: re.Match[str]) -> Objections:
    exact = total(case.promise["ledger"])
    spent = math.inf if m["spent"] == "inf" else Fraction(m["spent"])
    near = exact <= spent <= exact * Fraction(100002, 100000) if m["up"] else spent == exact
    if not near or case.promise["spent"] != str(exact):
        yield f"it is {case.promise['spent']}"
    if m["how"].startswith("zCDP") != (case.promise["accounting"] == "rho"):
        yield f"it is in {case.promise['accounting']}"
    if m["how"] == "pure ε" or m["delta"]:
        yield from _delta(case, m["delta"])


def _delta(case: Case, text: str | None) -> Objections:
    if (_float(text) if text else 0.0) != case.promise["delta"]:
        yield f"δ is {case.promise['delta']}"


def _but_for(case: Case, m: re.Match[str]) -> Objections:
    yield from _people(case, m)
    yield from _delta(case, m["delta"])


def _loss_but_for(case: Case, m: re.Match[str]) -> Objections:
    yield from _loss(case, m)
    yield from _delta(case, m["delta"])


def _at_delta(case: Case, m: re.Match[str]) -> Objections:
    """A level is a bound: it may be rounded up, and never down."""
    yield from _delta(case, m["delta"])
    if not case.epsilon <= _float(m["level"]) <= case.epsilon * 1.0001:
        yield f"it is {case.epsilon}"


def _same(case: Case, m: re.Match[str]) -> Objections:
    if not says(m["value"], case.facts[m["name"]]):
        yield f"it is {case.facts[m['name']]}"


def _no_less(case: Case, m: re.Match[str]) -> Objections:
    """A level is a bound: it may be rounded up, and never down."""
    level = case.facts["epsilon_at_diameter"]
    if not (says(m["value"], level) if level == math.inf else level <= _float(m["value"]) <= level * 1.011):
        yield f"it is {level}"


def _reaches(case: Case, m: re.Match[str]) -> Objections:
    """The distance up to which a promise holds is written as it is."""
    radius = case.facts["radius"]
    if m["value"] != "none" if radius is None else _float(m["value"]) != radius:
        yield f"it is {radius}"


def _neighbours(case: Case, m: re.Match[str]) -> Objections:
    if m["what"] != case.promise["neighbours"]:
        yield f"they are {case.promise['neighbours']!r}"


def _rows_only(case: Case, m: re.Match[str]) -> Objections:
    if case.promise["unit"] != "one row":
        yield f"the unit is {case.promise['unit']!r}"


def _people_only(case: Case, m: re.Match[str]) -> Objections:
    if not re.match(r"one person, with all their rows \(at most [\d,]+ used", case.promise["unit"]):
        yield f"the unit is {case.promise['unit']!r}"


def _people(case: Case, m: re.Match[str]) -> Objections:
    if m["unit"] != case.promise["unit"]:
        yield f"the unit is {case.promise['unit']!r}"
    yield from _factor(case, m)


def _unit_is(unit: str) -> Check:
    def check(case: Case, m: re.Match[str]) -> Objections:
        if case.promise["unit"] != unit:
            yield f"the unit is {case.promise['unit']!r}"

    return check


def _in_order(case: Case, m: re.Match[str]) -> Objections:
    if case.facts["order"] != "input":
        yield f"the order is {case.facts['order']!r}"


def _persons(case: Case, m: re.Match[str]) -> Objections:
    if case.promise["unit"] != "one row":
        yield "the unit is no row"
    if any(c["role"] == "person" for c in case.columns.values()):
        yield "the person is an axis"


def _loss(case: Case, m: re.Match[str]) -> Objections:
    facts, walk = case.facts, "point_rate" in case.facts
    want = "ε"
    if case.promise["model"] == "metric":
        more = " + Σ category_epsilon" if "category_epsilon" in facts else ""
        want = f"rate · radius · (d(x, x′) + rounding)/(radius + rounding){more}"
        if walk:
            want = "ε · max((d(x, x′) + rounding)/(radius + rounding), d(x, x′)/radius)"
        elif "rounding" not in facts:
            want = "rate · d(x, x′)" + more
    if m["loss"] != want:
        yield f"the loss is {want}"


def _minimal(case: Case, m: re.Match[str]) -> Objections:
    if not {"l", "t"} & set(case.facts["required"]):
        yield "neither l nor t is required"


def _linked(case: Case, m: re.Match[str]) -> Objections:
    if case.facts["identifiers"] != "hash":
        yield "nothing is hashed"


def _grouped(case: Case, m: re.Match[str]) -> Objections:
    """Only categories of quasi-identifiers are grouped, and by an earlier release only if there is one."""
    columns = case.promise["domain"]["columns"]
    for name in re.findall(r"'([^']+)'", m["names"]):
        if name not in case.facts["quasi_identifiers"] or "categories" not in columns.get(name, {}):
            yield f"{name} is no quasi-identifier of categories"
    if m["where"] == "an earlier release" and not case.facts.get("earlier_releases"):
        yield "there is no earlier release"


def _listed(case: Case, m: re.Match[str]) -> Objections:
    if m["names"].split(", ") != case.facts["kept"]["columns"]:
        yield f"kept are {case.facts['kept']['columns']}"


def _nearly_unique(case: Case, m: re.Match[str]) -> Objections:
    if m["names"].split(", ") != list(case.facts["nearly_unique"]):
        yield f"nearly unique are {case.facts['nearly_unique']}"


def _nothing(case: Case, m: re.Match[str]) -> Objections:
    held = case.facts.get("rows", case.made.rows) if m["what"] == "rows" else _reports(case)
    if held:
        yield f"there are {held}"


def _reports(case: Case) -> int:
    data = case.made.payload
    header = int.from_bytes(data[8:12], "little")
    return int.from_bytes(data[12 + header : 20 + header], "little")


def _lifetime(case: Case, m: re.Match[str]) -> Objections:
    if _float(m["most"]) not in (10**6, 1234567.5):
        yield "it is not what the ledger was made with"


_TIMES = rf"(?P<factor>{_NUM}|an astronomically large number)"
_OUTSIDE = r"The promise is against anyone who sees only the result, not against a party that holds the true values\."
SENTENCES: list[tuple[str, Check | str]] = [
    # ---- assumptions, central
    (r"the declared bounds and categories are public", "what is public is the user's word"),
    (r"the number of rows, N, was given as public", "what is public is the user's word"),
    (r"one row is what is to be hidden: the schema names a person \(.+\), and somebody with m rows is protected at m times "
     r"the epsilon only", _persons),
    (r"the categories of a column were selected privately, at a separate price that adds to this one: .+",
     "what was bought before is the schema's word"),
    (r"levels, hierarchies, widths, thresholds and grid were fixed without looking at the rows",
     "how levels were chosen is not in the bytes"),
    (r"nothing else about these rows leaves: not how many there are, who was drawn, or what was left out",
     "what else leaves is not in the bytes"),
    (r"the declared columns, bounds and categories are public and were not chosen by looking at the data",
     "what is public is the user's word"),
    (r"no privacy rests on the hash key, which is public", "a caveat: it promises nothing"),
    # ---- assumptions, local
    (r"every user sends one report", _only("local")),
    (r"every user sends one report: r reports cost r times epsilon, and linked ones let the noise be averaged away",
     _only("local", memoised=False)),
    (r"every report of a user is made with one client secret, which never leaves the device: .+",
     "what happens on a device is not in its reports"),
    (r"a user holds one value: .+", "what a user holds is not in the reports"),
    (r"the pattern of changes is not covered: .+", "a caveat: it promises nothing"),
    (r"HMAC-SHA256 and SipHash-2-4 cannot be told from random functions", "an assumption of cryptography"),
    # ---- assumptions, metric
    (r"the declared bounds, categories and metric are public", "what is public is the user's word"),
    (r"missing and unreadable values are not told apart from others: whatever the rule 'missing' of a column is, a number "
     r"without a value counts as the middle of its bounds, a category as one drawn at random, and no row is left out",
     "that no row is left out is held to the bytes; what was missing is not in them"),
    (r"every person is in one row, perturbed once; further rows and further calls about a person add up", _rows_only),
    (r"every row is perturbed once; further calls about a row add up", _rows_only),
    (r"every user has one trajectory, reported once; further ones add up", _unit_is("one user's trajectory")),
    (r"how many places a user reports, and when, is public", _unit_is("one user's trajectory")),
    (r"rows of one user add up; the user ledger lets them cost at most (?P<most>" + _NUM + r") together", _lifetime),
    (r"rows come out in the order they went in: the order itself is not protected", _in_order),
    (rf"values are (read \(of dates the day, of times the whole second\) and |read as doubles and )?rounded to a lattice of step (?P<step>{_NUM})( degrees)?( and distances tested in steps of {_NUM}( m)?)?"
     rf"(, which may move two of them apart by c = (?P<c>{_NUM})( m)?: the noise makes up for it at distance "
     rf"(?P<near>{_NUM})( m)? and beyond, and at a smaller distance r the level is at most \(r \+ c\)/\((?P<near2>{_NUM}) \+ "
     rf"c\) of that at (?P<near3>{_NUM})( m)?)?", _lattice),
    (r"the earth is a sphere: true distances differ by up to 0\.56 %", "geodesy, not in the bytes"),
    (r"values lie within the declared bounds; one beyond them counts as the nearest, and distances so",
     "true values are not in the bytes"),
    (r"how long the drawing took is not seen: .+", "time is not in the bytes"),
    (r"the prior is public, or was released with a budget of its own", "what is public is the user's word"),
    # ---- assumptions, tables
    (r"an attacker knows nothing of a person but the quasi-identifiers; that a person is in the table, and what the group "
     r"has in common, is not hidden", "what attackers know is not in the bytes"),
    (r"an attacker does not know several rows of one person: hashed identifiers show .+", _linked),
    (r"an attacker does not use how the cells were made: .+", _minimal),
    (r"categories of (?P<names>.+) were grouped by how often they occur in (?P<where>the records|an earlier release), not "
     r"by meaning", _grouped),
    (r"an attacker knows nothing of a person from (column|the columns) (?P<names>.+), passed on unchanged", _listed),
    (r"an attacker does not know anyone's value in (column|the columns) (?P<names>.+): more than half of the rows have a "
     r"value that occurs once and identifies them", _nearly_unique),
    (r"readers know that the rows were drawn .+, but are not k-anonymous themselves", _only("syntactic", output="sample")),
    (r"the table stays with whoever holds the data: its rows are in the order of the input, and .+", _in_order),
    (r"nobody relies on it for privacy: the values are changed, but neither k nor l nor t holds, and .+", _changed),
    (r"a mean can give away an extreme value .+", _only("syntactic", output="mean")),
    (r"no other release is made of the same people: the means of two releases can be subtracted",
     _only("syntactic", output="mean")),
    (r"no more is promised: neither that nobody can tell who is in the table, nor differential privacy",
     "a caveat: it promises nothing"),
    (r"(?:Each group has at least (?P<least>[\d.e-]+) different values of each of|In each group, "
     r"(?P<name>\w+) = (?P<amount>[\d.e-]+)(?: \(.+\))? holds for) these columns: (?P<columns>.+)\.", _in_each_group),
    (r"No group of fewer than ((?P<alone>[\d,]+) \w+ can be told apart in this table alone, )?(?P<k>[\d,]+) "
     r"(\w+ can be told apart with the help of|with) earlier releases \((?P<n>\d+)\)\."
     r"(?P<other> The other rules hold in each of them\.)?", _told_apart),
    (r"the release history holds all earlier releases about these people, and .+",
     "releases that are not in the history are not in the bytes"),
    # ---- the words of reports
    (r"This release has no privacy guarantee\. Do not publish it\.", _strength(1e300, math.inf)),
    (rf"With and without one row in the table, the probabilities of any possible release differ by a factor of at most "
     rf"{_TIMES}\.", _factor),
    (rf"With and without (?P<unit>one person, .+\)), in the table, the probabilities of any possible release differ by a factor "
     rf"of at most {_TIMES}\.", _people),
    (rf"With and without (?P<unit>one row|one person, .+\)),? in the table, the probabilities of any possible release differ by "
     rf"a factor of at most {_TIMES}, plus a probability of at most (?P<delta>{_NUM})\.", _but_for),
    (r"This limits what anyone can learn from the release about any single row: .+", _rows_only),
    (r"This limits what anyone can learn from the release about any single person: .+", _people_only),
    (r"If a person has more rows than are used, the rows to use are drawn at random\. Counts include only rows that were used, "
     r"so they are lower than in the table\.", _people_only),
    (r"This is a promise about rows\. For someone with m rows, ε is m times as large\.", _rows_only),
    (rf"Each row was randomised separately, before it entered this file\. {_OUTSIDE}", _only("local")),
    (rf"Each row was moved at random, separately, before it entered this file\. {_OUTSIDE}", _rows_only),
    (r"Each place of a trajectory was moved at random\. A place near the last one may be shown as the last one again\. "
     rf"{_OUTSIDE}", _unit_is("one user's trajectory")),
    (rf"Any two true rows lead to the same published row with probabilities that differ by a factor of at most {_TIMES}\.",
     _factor),
    (r"Each value was randomised separately, before it was counted\. The promise is against anyone who sees the reports: "
     r"against the collector too, if users randomised their own values\.", _only("local")),
    (r"Further reports of the same user add up: r of them cost r times ε\. .+", _only("local")),
    (rf"Any two values lead to the same report with probabilities that differ by a factor of at most {_TIMES}\.", _factor),
    (rf"Any two true (?P<things>rows|trajectories) (that are always )?within a distance of (?P<near>{_NUM}) of each other"
     rf"(?P<other> \(and any two of their categories\))? lead to the same published (row|trajectory) with probabilities that "
     rf"differ by a factor of at most {_TIMES}\. (Rows|Trajectories) that are farther apart are easier to distinguish, in "
     r"proportion to their distance\.", _pair),
    (rf"For the two most different (?P<things>rows|trajectories) within the declared bounds and categories, the level is at "
     rf"most ε = (?P<level>{_NUM})\. This is the protection of the whole (row|trajectory)\.", _farthest),
    (r"By common practice this is a strong level \(ε at most 1\)\.", _strength(0, 1)),
    (r"This level is often used in practice \(ε between 1 and 5\)\. .+", _strength(1, 5)),
    (r"This level is weak on its own \(ε above 5\)\. .+", _strength(5, math.inf)),
    (rf"Each (?P<each>row|person) of the table (?P<drawn>from which these rows were drawn )?is identical to at least "
     rf"(?P<others>{_NUM}) others in (?P<where>.+)\.", _alike),
    (rf"A person may have several rows, so there are two chances: a guess among the persons of a group is right once in "
     rf"(?P<k>{_NUM}) times at most, and a guess among its rows (?P<share>[\d.]+) % of the time at most, because one person "
     r"has so many of them\.", _several),
    (r"A bound on the rows per person \(most_rows\) brings the second chance down towards the first\.", _unbounded),
    (rf"At most (?P<most>{_NUM}) rows? per person (was|were) released, chosen at random\.", _most_rows),
    (r"Columns? .+ passed on as (it is|they are).*\.", _kept),
    (r"This hides who is who\. .+", _hides),
    (r"The values of the quasi-identifiers were changed\. Nothing else is promised: .+", _changed),
    (r"The published rows are synthetic: they were drawn at random within the groups\.",
     _only("syntactic", output="sample")),
    (r"for all neighbours x, x′ and all sets S:  P\[M\(x\) ∈ S\] <= exp\((?P<loss>.+)\) · P\[M\(x′\) ∈ S\]", _loss),
    (r"neighbours: (?P<what>.+)", _neighbours),
    (r"for all neighbours x, x′ and all sets S:  P\[M\(x\) ∈ S\] <= exp\((?P<loss>.+)\) · P\[M\(x′\) ∈ S\] \+ (?P<delta>\S+)",
     _loss_but_for),
    (r"spent: (?P<spent>[^\s,]+)(?P<up>, rounded up)? \((?P<how>pure ε|zCDP, ρ|ε, with δ = (?P<delta>\S+))\)", _spent),
    (rf"ε at δ = (?P<delta>{_NUM}): (?P<level>{_NUM})", _at_delta),
    (r"(?P<name>rate|noise_rate|rounding|diameter|step): (?P<value>.+)", _same),
    (rf"radius: (?P<value>{_NUM}|none)", _reaches),
    (rf"epsilon_at_diameter: (?P<value>{_NUM}|∞)", _no_less),
    (r"for all rows r: \|\{(?P<each>s|person\(s\)) : QI\(s\) = QI\(r\)\}\| >= k", _symbols_k),
    (r"nothing is promised about groups of rows", _changed),
    (
        r"required: (?:(?P<name>\w+) = (?P<amount>[\d.e-]+)(?: \((?P<notes>.+)\))?"
        r"|probabilistic k-anonymity with k = (?P<chance>\d+)"
        r"|k = (?P<each>\d+) in each of these groups of columns by itself, and not in whole rows: (?P<groups>.+))",
        _required,
    ),
    (r"QI without (?P<names>.+); with them: k = (?P<k>\d+)", _with_kept),
    (r"the number of rows cannot be told from zero \(about .+ rows?, standard error .+\)\. .+",
     "held to the released total, where the bytes are read"),
    (r"there are no (?P<what>rows|reports), so nothing was released", _nothing),
]  # fmt: skip
