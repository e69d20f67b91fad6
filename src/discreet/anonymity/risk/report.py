"""The risk of a table: the rules its classes keep, and who could be identified in it, from one pass (`counts.py`)."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet import engines
from discreet.anonymity.risk.counts import Entries
from discreet.anonymity.risk.loss import information_loss, loss_rows
from discreet.anonymity.risk.population import estimate_rows, household_risk, individual_risk, sampled_share, summary
from discreet.anonymity.risk.printed import PROMISE_KEY, quasi_of
from discreet.core import Guarantee, IntArray, checks, found_at_most, html, percent_up, plural, promise_place
from discreet.errors import DiscreetError, InvalidArgument, InvalidType

MISSING = ("own", "wildcard", "drop")


@dataclass(frozen=True)
class SensitiveRisk:
    """The risk of a sensitive column: the worst value of each measure over all classes.

    ``distinct_l``, ``entropy_l`` (e^H) and ``recursive_c`` measure diversity; ``t_equal`` and ``t_ordered`` (None
    without an order) the distance from the whole table; ``alpha`` is the largest share p of one value, ``beta`` the
    largest gain (p - q)/q over its share q in the table, ``enhanced_beta`` the same capped at -ln q, ``delta`` the
    largest abs(ln(p/q)). ``homogeneous`` is the share of rows in classes with a single value, which anyone who finds
    the class learns.
    """

    distinct_l: int
    entropy_l: float
    recursive_c: float
    t_equal: float
    t_ordered: float | None
    alpha: float
    beta: float
    enhanced_beta: float
    delta: float
    homogeneous: float


@dataclass(frozen=True)
class RiskReport:
    """The risk of a table, measured by `discreet.anonymity.risk`. Shares are shares of the rows.

    Attributes
    ----------
    rows, classes, k : int
        Rows, classes of equal quasi-identifiers, and rows (or persons) of the smallest class.
    prosecutor : dict
        An attacker who knows that a person is in the table: ``max`` and ``mean`` risk of identification, and the
        ``share`` of rows above ``threshold``.
    journalist : dict or None
        An attacker who knows only that the person is in the population; None without a population table.
    marketer : float
        Share of rows that an attacker who matches all of them gets right.
    k_map : int or None
        Fewest people of the population who match a class.
    unique : float
        Share of rows that are alone in their class.
    columns : dict
        By quasi-identifier, and for all together under ``*``: distinction (distinct values per row) and separation
        (share of pairs of rows that differ).
    sensitive : dict of SensitiveRisk
        By sensitive column: l, t, alpha, beta, delta and the share of homogeneous rows.
    missing : dict
        The rule for missing quasi-identifiers, the rows that had one, and the rows left out.
    person : str or None
        The column by which k, uniqueness and probabilities count persons instead of rows.
    called : str
        The name of what that column identifies: "person" or "household".
    population, households : dict or None
        Estimates from weights, and for households (`discreet.anonymity.risk.population`): the largest risk (``max``),
        the number ``expected`` to be re-identified and its share (``mean``), and the ``share`` above the threshold.
    information_loss : dict or None
        Mean share of a column's values that a row leaves open (normalised certainty penalty): as ``printed``, and of
        the ``occurring`` values of the original rows in each class, if they are given; also by column. None for a table
        of bounds.
    promised : dict or None
        For a released file whose guarantee counts persons: their ``k``, and the largest share ``found`` of one person.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ill = ["no", "yes", "no", "yes", "no", "no", "no", "yes"]
    >>> report = risk(pa.table({"age": ["[30, 40)"] * 4 + ["[40, 50)"] * 4, "ill": ill}), ["age"], ["ill"])
    >>> report.k, report.sensitive["ill"].distinct_l, report.prosecutor["max"]
    (4, 2, 0.25)
    >>> report.check(k=5)
    ['k is 4, required is at least 5']
    """

    rows: int
    classes: int
    k: int
    prosecutor: dict[str, float]
    journalist: dict[str, float] | None
    marketer: float
    k_map: int | None
    unique: float
    columns: dict[str, dict[str, float]]
    sensitive: dict[str, SensitiveRisk]
    missing: dict[str, Any]
    recursive_l: int = 2
    notes: tuple[str, ...] = field(default=())
    person: str | None = None
    promised: dict[str, float] | None = None
    information_loss: dict[str, Any] | None = None
    called: str = "person"
    population: dict[str, Any] | None = None
    households: dict[str, float] | None = None

    @property
    def counted(self) -> str:
        """What the required k counts."""
        if self.promised is not None:
            return "persons, by the promise next to the file"
        return "rows" if self.person is None else plural(self.called)

    def _repr_html_(self) -> str:
        title = f"Risk: {self.rows:,} rows in {self.classes:,} classes, k = {self.k:,}"
        return html.table(title, ["measure", "value", "meaning"], self.to_rows(), " ".join(self.notes))

    def check(self, **required: float) -> list[str]:
        """Compare with requirements and return the failures in words; an empty list is a pass.

        Parameters
        ----------
        **required : float
            Any of ``k``, ``k_map``, ``l`` (distinct), ``entropy_l``, ``c`` (recursive), ``t`` (ordered for numbers,
            otherwise equal), ``t_equal``, ``t_ordered``, ``alpha``, ``beta``, ``enhanced_beta``, ``delta``, ``unique``,
            ``prosecutor``, ``journalist``, ``marketer``, ``homogeneous``, ``individual``, ``household``, ``global``.
        """
        failed = []
        for name, bound in required.items():
            limit = checks.finite(name, bound, fix=f"{name}=2")
            least = name in ("k", "k_map", "l", "entropy_l")
            for label, value in self._measures(name).items():
                if value is None:
                    failed.append(f"{label} is not known here")
                elif value < limit if least else value > limit:
                    words = "at least" if least else "at most"
                    failed.append(f"{label} is {_short(value)}, required is {words} {_short(limit)}")
        return failed

    def _measures(self, name: str) -> dict[str, float | None]:
        """Return the values of a requirement, by label."""
        estimated = {name: None if (told := getattr(self, of)) is None else told[key] for name, of, key in _ESTIMATED}
        if name in estimated:
            return {name: estimated[name]}
        if self.promised is not None and name in ("k", "prosecutor"):  # a group has no more persons than rows
            by_person = min(self.k, self.promised["k"]), max(self.prosecutor["max"], self.promised["found"])
            return {f"{name} of persons": by_person[name != "k"]}
        if name in ("k", "k_map", "unique", "marketer", "prosecutor", "journalist"):
            found = getattr(self, name)
            return {name: found["max"] if isinstance(found, dict) else found}
        fields = {"l": "distinct_l", "c": "recursive_c"}
        known = {*SensitiveRisk.__dataclass_fields__, *fields, "t"} - set(fields.values())
        if name not in known:
            listed = ", ".join(
                sorted({"k", "k_map", "unique", "marketer", "prosecutor", "journalist", *known, *estimated})
            )
            raise InvalidArgument("requirement", name, f"one of {listed}", "k=5")
        if not self.sensitive:
            raise InvalidArgument("requirement", name, "used with a sensitive column", 'sensitive=["disease"]')
        if name == "t":
            pairs = {c: (v.t_equal if v.t_ordered is None else v.t_ordered) for c, v in self.sensitive.items()}
        else:
            pairs = {c: getattr(v, fields.get(name, name)) for c, v in self.sensitive.items()}
        return {f"{name} of {column!r}": value for column, value in pairs.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data; an infinite one is the text "inf"."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    def to_json(self, *, indent: int | None = None) -> str:
        """Return all figures as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_rows(self) -> list[tuple[str, str, str]]:
        """Return the figures for a table: measure, value, meaning."""
        counted = "rows" if self.person is None else plural(self.called)
        of_rows = "" if self.promised is None else " of rows"
        whose = "" if self.person is None else f", but for others of the same {self.called}"
        threshold = _percent(self.prosecutor["threshold"])
        rows = [
            ("rows", f"{self.rows:,}", "rows looked at"),
            ("classes", f"{self.classes:,}", "groups of rows with equal quasi-identifiers"),
            (f"k{of_rows}", f"{self.k:,}", f"{counted} of the smallest group"),
            ("unique rows", _percent(self.unique), f"rows alone in their group{whose}"),
            ("prosecutor, worst", percent_up(self.prosecutor["max"]), "chance to pick the right row, worst group"),
            ("prosecutor, mean", _percent(self.prosecutor["mean"]), "the same, mean over rows"),
            ("prosecutor, at risk", _percent(self.prosecutor["share"]), f"rows whose chance is above {threshold}"),
            ("marketer", _percent(self.marketer), "expected share of right matches, if an attacker matches all rows"),
        ]
        if self.promised is not None:
            said = "by the promise next to the file"
            rows[:0] = [
                ("k of persons", f"{self.promised['k']:,}", f"persons of the smallest group, {said}"),
                (
                    "prosecutor of persons, worst",
                    percent_up(self.promised["found"]),
                    f"largest share of one person's rows in a group, {said}",
                ),
            ]
        if self.journalist is not None:
            worst = percent_up(self.journalist["max"])
            rows.append(("journalist, worst", worst, "as prosecutor, person from the population"))
            rows.append(("k-map", f"{self.k_map:,}", "people of the population who match the rarest group"))
        if self.population is not None:
            rows += estimate_rows("individual", "rows", self.population, threshold)
        if self.households is not None:
            rows += estimate_rows("household", "households", self.households, threshold)
        rows += loss_rows(self.information_loss)
        for column, found in self.sensitive.items():
            for name, label, write, meaning in _SHOWN:
                value = getattr(found, name)
                if value is not None:
                    rows.append((f"{column}: {label}", write(value), meaning.format(l=self.recursive_l)))
        return rows

    def __str__(self) -> str:
        rows = self.to_rows()
        widths = [max(len(r[i]) for r in rows) for i in range(2)]
        return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c}" for a, b, c in rows)


def _short(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else f"{value:.4g}"


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


#: Requirements from estimates: name, field of the report, figure.
_ESTIMATED = (("individual", "population", "max"), ("global", "population", "mean"), ("household", "households", "max"))
_NORMALISED = "the weights in {!r} add up to about the number of rows: give weights that add up to the population"
#: The rows of a sensitive column: field, label, how it is written, meaning.
_SHOWN = (
    ("distinct_l", "distinct l", str, "fewest values in a group"),
    ("entropy_l", "entropy l", _short, "diversity by entropy: that many equally likely values, worst group"),
    ("recursive_c", "recursive c", _short, "the table is (c, {l})-diverse for every c above this"),
    ("t_equal", "t, equal", _short, "farthest group from the whole table"),
    ("alpha", "alpha", percent_up, "largest share of one value in a group"),
    ("beta", "beta", _short, "largest relative gain of belief"),
    ("delta", "delta", _short, "largest change of belief, as a logarithm"),
    ("homogeneous", "homogeneous", _percent, "rows whose value the group gives away"),
    ("t_ordered", "t, ordered", _short, "farthest group, by the order of values"),
)


def with_promise(report: RiskReport, data: Any) -> RiskReport:
    """Add the figures of a guarantee next to the file that counts persons; nothing without one."""
    if not isinstance(data, (str, Path)) or not promise_place(data).is_file():
        return report
    try:
        guarantee = Guarantee.from_json(promise_place(data).read_bytes())
        most = found_at_most(guarantee)
    except (DiscreetError, OSError, TypeError, ValueError, ArithmeticError):
        said = f"{promise_place(data).name} cannot be read as a promise; look at it with 'discreet audit'"
        return replace(report, notes=(*report.notes, said))
    if most is None:
        return report
    k = guarantee.parameters["reached"]["k"]
    said = (
        f"these figures count rows, while the promise next to this file counts persons: its k is {k}, and the risk of "
        f"being found is up to {percent_up(most)}; the table does not show whose rows they are, so this was not "
        "recounted"
    )
    return replace(report, notes=(*report.notes, said), promised={"k": k, "found": most})


def risk(
    table: Any, quasi_identifiers: Sequence[str] | None = None, sensitive: Sequence[str] | str | None = None, *,
    population: Any = None, missing: str = "own", threshold: float = 0.2, recursive_l: int = 2,
    person: str | None = None, original: Any = None, weight: str | None = None, household: str | None = None,
    called: str = "person",
) -> RiskReport:  # fmt: skip
    """Measure the risk of publishing a table.

    Parameters
    ----------
    table : Release, data frame, Arrow table or path
        The table as it would be released.
    quasi_identifiers : list of str, optional
        Columns that an attacker may know; by default those that the guarantee of a release names.
    sensitive : list of str, optional
        Columns that must stay secret.
    population : data frame, Arrow table or path, optional
        The people from whom the rows come, with the same quasi-identifiers: gives k-map and the journalist's risk.
    missing : {"own", "wildcard", "drop"}
        A missing quasi-identifier is a value of its own; or matches any value (sensitive measures still use the first
        rule); or removes the row.
    threshold : float
        A row is at risk if its probability of identification is above it.
    recursive_l : int
        The l of recursive (c, l)-diversity.
    person : str, optional
        The column that identifies the person of a row: k, uniqueness and probabilities then count the distinct persons
        of a class. A row without a person may belong to any of them, so it hides no one and is not counted as a person.
        ``7``, ``" 7"``, ``7.0`` and ``07`` are one person, so k can be too small, never too large
        (`discreet.engines.tables.same`).
    original : data frame, Arrow table or path, optional
        The records that the table was made from: gives the information loss of occurring values, which is not private.
    weight : str, optional
        The column of population weights: gives individual and global risk (`discreet.anonymity.risk.population`).
    household : str, optional
        The column that identifies the household of a row: gives the risk that one of its members is re-identified.
    called : str, default "person"
        The name of what ``person`` identifies, for the report.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["10", "10", "20"], "ill": ["no", "yes", "no"]})
    >>> report = risk(table, ["zip"], "ill")
    >>> report.k, report.unique.__round__(2), report.sensitive["ill"].homogeneous.__round__(2)
    (1, 0.33, 0.33)
    """
    known = quasi_of(table) if quasi_identifiers is None else []
    if hasattr(table, "guarantee"):
        table = table.table.replace_schema_metadata({PROMISE_KEY: table.guarantee.to_json()})
    quasi = _listed("quasi_identifiers", known or quasi_identifiers)
    secret = _listed("sensitive", sensitive)
    if not quasi:
        fix = 'quasi_identifiers=["age"]'
        raise InvalidArgument("quasi_identifiers", quasi_identifiers, "at least one column", fix)
    for name in set(secret) & set(quasi):
        fix = f"leaving {name!r} out of one of them"
        raise InvalidArgument("sensitive", name, "not a quasi-identifier at the same time", fix)
    rule = checks.choice("missing", missing, MISSING)
    level = float(checks.probability("threshold", threshold, closed=True))
    l_wanted = checks.whole("recursive_l", recursive_l, low=2)
    whose = _listed("person", person)
    if len(whose) > 1 or set(whose) & {*quasi, *secret}:
        raise InvalidArgument("person", person, "one column, of no other role", 'person="patient"')
    if whose and rule == "wildcard":
        raise InvalidArgument("missing", rule, '"own" or "drop" where persons are counted', 'missing="own"')
    weighed, homes = _listed("weight", weight), _listed("household", household)
    for name, given in (("weight", weighed), ("household", homes)):
        if len(given) > 1 or set(given) & {*quasi, *secret, *(() if name == "household" else (*whose, *homes))}:
            raise InvalidArgument(name, given, "one column, of no other role", f'{name}="{name}"')
    source = engines.open(table)
    entries = Entries.read(source, quasi, [*secret, *weighed], [*whose, *homes])
    absent = entries.gaps
    with_gaps = int(entries.counts[absent].sum())
    facts = {"rule": rule, "rows_with_missing": with_gaps, "left_out": with_gaps if rule == "drop" else 0}
    if rule == "drop":
        entries = entries.only(~absent)
    if not entries.n:
        raise InvalidArgument("table", "no rows", "a table with rows to look at", "a table with rows")
    classes = entries.classes()
    wild = rule == "wildcard" and bool(absent.any())
    own = entries.compatible() if wild else entries.persons(classes, whose[0] if whose else None)
    matches = None if population is None else entries.matches(population)
    chances, estimated, notes = 1.0 / own, None, tuple[str, ...]()
    if weighed:
        values, codes = entries.values[weighed[0]].array(), entries.codes[weighed[0]]
        share, people = sampled_share(values, codes, entries.counts, classes, source.dialect)
        chances = individual_risk(own, share)
        estimated = {"weight": weight, "people": people, **summary(chances, entries.counts, level)}
        notes = (_NORMALISED.format(weight),) if people < 1.5 * entries.n else ()
    if whose and (unnamed := int(entries.counts[entries.codes[whose[0]] < 0].sum())):
        notes += (f"Rows without a value in {person!r}: {unnamed:,}. They hide no one and count as no person.",)
    met = household_risk(chances, entries.counts, entries.codes[homes[0]], level) if homes else None
    return RiskReport(
        rows=entries.n,
        classes=int(classes.max()) + 1,
        k=int(own.min()),
        prosecutor=_attacker(entries, own, level),
        journalist=None if matches is None else _attacker(entries, np.maximum(matches, 1), level),
        marketer=entries.mean_chance(own if matches is None else np.maximum(matches, own)),
        k_map=None if matches is None else int(matches.min()),
        unique=entries.share(own == 1),
        columns=entries.separations(classes),
        sensitive={name: _sensitive(entries, classes, name, l_wanted) for name in secret},
        missing=facts,
        recursive_l=l_wanted,
        person=person,
        information_loss=information_loss(table, entries, classes, original),
        called=called,
        population=estimated,
        households=met,
        notes=notes,
    )


def _attacker(entries: Entries, sizes: IntArray, threshold: float) -> dict[str, float]:
    mean, at_risk = entries.mean_chance(sizes), entries.share(1.0 / sizes > threshold)
    return {"max": 1.0 / float(sizes.min()), "mean": mean, "share": at_risk, "threshold": threshold}


def _sensitive(entries: Entries, classes: IntArray, name: str, l_wanted: int) -> SensitiveRisk:
    joint, coded = entries.joint(classes, name)
    gains, caps = joint.gains()
    alone = joint.distinct() == 1
    return SensitiveRisk(
        distinct_l=int(joint.distinct().min()),
        entropy_l=float(joint.entropy().min()),
        recursive_c=float(joint.recursive(l_wanted).max()),
        t_equal=float(joint.equal_distance().max()),
        t_ordered=float(joint.ordered_distance().max()) if coded.ordered else None,
        alpha=float(joint.share.max()),
        beta=float(gains.max(initial=0.0)),
        enhanced_beta=float(np.minimum(gains, caps).max(initial=0.0)) + 0.0,  # not -0.0
        delta=float(joint.disclosure().max()),
        homogeneous=float(joint.size[alone].sum() / joint.size.sum()),
    )


def _listed(name: str, given: Any) -> list[str]:
    listed = [] if given is None else [given] if isinstance(given, str) else list(given)
    for column in listed:
        if not isinstance(column, str):
            raise InvalidType(name, column, "column names", f'{name}=["age"]')
    if len(set(listed)) < len(listed):
        raise InvalidArgument(name, listed, "columns named once", f"{name}={sorted(set(listed))}")
    return listed


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return "inf" if isinstance(value, float) and math.isinf(value) else value
