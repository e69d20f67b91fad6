"""Forecasts of a release from public guesses alone, in words and as a curve.

The errors are those of `discreet.planning.outlook`; here they are put into people, shares or metres, for the one method
that a goal uses. Nothing is counted: how many rows there are is what the steward types.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from discreet.core import NAMING, Categorical, Domain, Person, at_most
from discreet.planning import outlook
from discreet.reporting import number
from discreet.reporting.pages import svg
from discreet.studio.words import T, written

#: The method of `outlook` that forecasts a goal.
_METHODS = {"synopsis": "grid synopsis", "synthesize": "marginal synopsis", "cluster": "private k-means",
            "anonymize": "anonymous table", "perturb": "metric noise", "sketch": "local reports"}  # fmt: skip
#: Settings that are forecast, the usual one first.
_USUAL: dict[str, dict[str, tuple[str, ...]]] = {
    "cluster": {"method": ("auto",), "algorithm": ("k-means",)}, "sketch": {"mechanism": ("auto",)},
    "perturb": {"method": ("nd-laplace", "sphere")},
}  # fmt: skip
#: Goals whose errors are numbers of people.
PEOPLE = ("synopsis", "synthesize", "sketch")


@dataclass(frozen=True)
class Forecast:
    """A forecast of the error of a release."""

    error: float  # in people, or as a share (of widths, of the squared error), or in metres
    figure: str  # the error as it is shown
    sentences: tuple[str, ...]
    picture: Markup  # the error against ε, or against k
    solved: float | None = None  # the ε, or k, at which the wanted error is reached
    hint: str = ""  # if the wanted error is not reached


#: More would be tried for minutes before a page is there.
_MOST_CLUSTERS = 1000


def known(goal: str, parameters: Mapping[str, Any]) -> bool:
    usual, clusters = _USUAL.get(goal, {}), parameters.get("n_clusters")
    if isinstance(clusters, int) and clusters > _MOST_CLUSTERS:
        return False
    return "rho" not in parameters and all(parameters.get(name, fits[0]) in fits for name, fits in usual.items())


def forecast(
    goal: str, parameters: Mapping[str, Any], domain: Domain | None, planned: Mapping[str, Any], t: T
) -> Forecast:
    n = int(planned.get("rows") or 10_000)
    if goal == "anonymize":
        return _anonymous(parameters, domain, n, planned, t)
    sphere = parameters.get("method") == "sphere"
    d, values = _axes(goal, parameters, domain), _values(parameters, domain)
    used = _rows_of_a_person(goal, domain, n, planned)
    epsilon = float(parameters.get("epsilon", 1.0))
    radius = float(parameters.get("radius", 0.1))
    clusters = parameters.get("n_clusters", 8)
    method = "tree synopsis" if goal == "synopsis" and parameters.get("method") == "tree" else _METHODS[goal]
    delta = float(parameters.get("delta", 0.0)) if goal == "synthesize" else 0.0
    # Answers of a weighted histogram are people: noise is as wide as the largest weight, whatever the others are.
    weight = next((c.high for c in domain or () if c.role == "weight"), 1.0) if goal == "synopsis" else 1.0
    found = outlook(
        n, 2 if sphere else d, only=method, epsilon=epsilon, radius=radius, values=values, delta=delta,
        clusters=clusters if isinstance(clusters, int) else 8, rows_each=used, heaviest=weight,
    )  # fmt: skip
    scale = float(n) if goal in PEOPLE else 1.0
    line = found[method]
    unit = "metres" if sphere else goal if goal in ("cluster", "perturb") else "people"
    error = line.error * scale
    others = ((b, e * scale) for b, e in zip(found.budgets, line.curve, strict=True))
    curve = dict(sorted([(epsilon, error), *others]))
    budgets, errors = [*curve], [*curve.values()]
    solved, hint = _solved(planned, unit, budgets, errors, t)
    said = [_sentence(goal, unit, error, line.sense, n, values, used > 1 and weight == 1, t)]
    said += [t("plan.person_rows", n=used)] if used > 1 else []
    said += [t(f"plan.besides_{goal}")] if goal in ("synopsis", "synthesize", "sketch", "perturb") else []
    wanted = _wanted(planned, unit)
    picture = svg.curve(
        budgets, errors, title=t("plan.curve"), x="ε", y=t(f"plan.axis_{unit}"), log=True, form=_former(unit),
        dot=(epsilon, error, f"ε = {epsilon:g}: {_written(error, unit)}"),
        level=None if wanted is None else (wanted, t("plan.wanted_at", value=_written(wanted, unit))),
    )  # fmt: skip
    return _spoken(Forecast(error, _written(error, unit), tuple(said), picture, solved, hint), t)


def _sentence(goal: str, unit: str, error: float, sense: str, n: int, values: int, rows: bool, t: T) -> str:
    about = t(f"plan.sense_{sense.replace(' ', '_')}")
    said = written(_written(error, unit, bare=True), t)
    counted = {"n": written(f"{n:,}", t), "values": written(f"{values:,}", t)}
    counted["who"] = t("plan.who_rows" if rows else "plan.who_people")
    return t(f"plan.says_{'metres' if unit == 'metres' else goal}", error=said, about=about, **counted)


def _axes(goal: str, parameters: Mapping[str, Any], domain: Domain | None) -> int:
    if domain is None:
        return 2
    chosen = parameters.get("columns")
    columns = [c for c in domain if c.role not in (*NAMING, "weight") and (not chosen or c.name in chosen)]
    if goal in ("cluster", "perturb"):
        columns = [c for c in columns if not isinstance(c, Categorical)]
    return max(1, len(columns))


def _values(parameters: Mapping[str, Any], domain: Domain | None) -> int:
    listed = parameters.get("domain")
    if isinstance(listed, list):
        return max(2, len(listed))
    sizes = [len(c.categories) for c in domain or () if isinstance(c, Categorical) and c.role not in NAMING]
    return max([2, *sizes]) if sizes else 100


def _rows_of_a_person(goal: str, domain: Domain | None, n: int, planned: Mapping[str, Any]) -> int:
    """Return by how much noise grows because persons are hidden with several rows each, by default all but a tenth."""
    unit = None if domain is None else domain.unit
    if not isinstance(unit, Person) or goal not in ("synopsis", "synthesize", "cluster"):
        return 1
    if unit.rows != "auto":
        return int(unit.rows)
    share = min(1.0, int(planned.get("persons") or max(1, n // 8)) / n)
    return 1 if share >= 1 else max(1, math.ceil(math.log(0.1) / math.log1p(-share)))


def counts_persons(parameters: Mapping[str, Any], domain: Domain | None) -> bool:
    return "person" in parameters or any(c.role == "person" for c in domain or ())


def _anonymous(
    parameters: Mapping[str, Any], domain: Domain | None, n: int, planned: Mapping[str, Any], t: T
) -> Forecast:
    """Forecast a table in which everyone hides among k: how wide a group is, were rows spread evenly."""
    k = int(parameters.get("k", 10))
    known = [c for c in domain or () if c.role == "quasi-identifier"]
    d = max(1, len(known)) if domain is not None else 2
    leave, come = (None if planned.get(name) is None else planned[name] / 100 for name in ("leave", "come"))
    found = outlook(n, d, k=min(k, n), only="anonymous table", leave=leave, come=come)
    error, later = found["anonymous table"].error, found.later
    sizes = sorted({min(n, round(2 * 1.6**i)) for i in range(14)} | {min(k, n)})
    spreads = [(size / n) ** (1 / d) for size in sizes]
    solved, hint = None, ""
    if (wanted := _wanted(planned, "widths")) is not None:
        reached = math.floor(n * min(1.0, wanted) ** d + 1e-9)
        solved, hint = (float(reached), "") if reached >= 2 else (None, t("plan.not_reached_k"))
    picture = svg.curve(
        sizes, spreads, title=t("plan.curve_k"), x="k", y=t("plan.axis_widths"), log=True, form=_former("widths"),
        dot=(min(k, n), error, f"k = {k:,}: {_written(error, 'widths')}"),
        level=None if wanted is None else (wanted, t("plan.wanted_at", value=_written(wanted, "widths"))),
    )  # fmt: skip
    told = {"others": f"{k - 1:,}", "groups": f"{max(1, n // k):,}", "error": _written(error, "widths"), "d": str(d)}
    said: tuple[str, ...] = (
        t(
            "plan.says_anonymize" + ("_persons" if counts_persons(parameters, domain) else ""),
            **{name: written(text, t) for name, text in told.items()},
        ),
        t("plan.besides_anonymize"),
    )
    if later is not None:
        shown = {name: _written(later[name], "widths") for name in ("second", "sixth")} | {
            "group": f"{later['group']:,}"
        }
        said += (t("plan.says_later", **{name: written(text, t) for name, text in shown.items()}),)
    if domain is not None and not known:
        said = (t("plan.no_known"), *said)
    return _spoken(Forecast(error, _written(error, "widths"), said, picture, solved, hint), t)


def _spoken(made: Forecast, t: T) -> Forecast:
    picture = re.sub(r">([^<]+)</text>", lambda found: f">{written(found[1], t)}</text>", made.picture)
    return replace(made, figure=written(made.figure, t), picture=Markup(picture))


def _wanted(planned: Mapping[str, Any], unit: str) -> float | None:
    """Return the wanted error in the unit of the curve: people and metres are typed as such, shares in per cent."""
    wanted = planned.get("wanted")
    return None if not wanted else float(wanted) * (1.0 if unit in ("people", "metres") else 0.01)


def _solved(
    planned: Mapping[str, Any], unit: str, xs: Sequence[float], errors: Sequence[float], t: T
) -> tuple[float | None, str]:
    """Return where a falling curve meets the wanted error, by straight lines between its logarithms."""
    wanted = _wanted(planned, unit)
    if wanted is None:
        return None, ""
    if errors[0] <= wanted:
        return xs[0], ""
    for i in range(1, len(xs)):
        if errors[i] <= wanted < errors[i - 1]:
            a, b = math.log(errors[i - 1]), math.log(max(errors[i], 1e-300))
            share = 1.0 if a == b else (a - math.log(wanted)) / (a - b)
            exact = math.exp(math.log(xs[i - 1]) + share * (math.log(xs[i]) - math.log(xs[i - 1])))
            return float(at_most(exact, 2)), ""
    return None, t("plan.not_reached", value=f"{xs[-1]:g}")


def _former(unit: str) -> Callable[[float], str]:
    return number if unit in ("people", "metres") else (lambda value: f"{number(100 * value, 3)} %")


def _written(value: float, unit: str, *, bare: bool = False) -> str:
    """Write an error for people: not finer than it is known."""
    if unit == "people":
        return number(float(f"{value:.2g}")) if value >= 1 else "< 1"
    text = number(float(f"{value if unit == 'metres' else 100 * value:.2g}"))
    return f"{text} m" if unit == "metres" and not bare else text if unit == "metres" else f"{text} %"
