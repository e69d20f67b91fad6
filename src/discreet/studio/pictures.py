"""Pictures of a release: columns, two of them against each other, groups, the size of the noise, clusters.

Drawn from facts that may be published (`discreet.reporting.report_facts`) and from released synopses, never from rows.
Unknown values are hatched. ``t`` returns texts in a language.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from discreet.core import Categorical, noise_width
from discreet.reporting import number, translated, views
from discreet.reporting.pages import clusters, intervals, plane, svg, whole
from discreet.studio.words import T, written

#: A picture and its caption.
Picture = tuple[Markup, str]
#: Charts of columns on one page, bins of two columns against each other, names along an axis.
MOST, _BINS, _NAMES = 12, 16, 12


def localised(pictures: list[Picture], t: T, own: Iterable[Any] = ()) -> list[Picture]:
    """Write pictures and captions in the language of the page; texts in ``own`` are the user's."""
    spoken, known = t.language, list(own)  # type: ignore[attr-defined]
    return [(Markup(translated(str(picture), spoken, known, page=True)), translated(text, spoken, known))
            for picture, text in pictures]  # fmt: skip


def pair(t: T, synopsis: Any, names: Sequence[str], found: dict[str, Any] | None = None) -> Picture:
    x, y = names
    title = t("results.against", x=x, y=y)
    both = all(isinstance(c, Categorical) for c in synopsis.domain.select(list(names)))
    said: dict[str, Any] = {"unit": "rows"} if both else {}
    if synopsis.modelled:
        return _modelled(t, synopsis, names, title, said)
    facts = None if x == y else views.plane(synopsis, names)
    if facts is None:
        return svg.unknown(t("results.not_divided_pair"), title=title, ends=("", "")), title
    marks = clusters.marks(found, list(names))
    ends = [_ends(synopsis.domain.column(name), facts["ends"][i]) for i, name in enumerate(names)]
    picture = plane.boxes(
        facts["lower"], facts["upper"], facts["density"], title=title, x=x, y=y, low=facts["low"], high=facts["high"],
        ends=ends, gaps=facts["gaps"], marks=marks, **said,
    )  # fmt: skip
    text = title + "; " + t("results.below_zero")
    text += "; " + t("results.gaps") if facts["gaps"] else ""
    return picture, text + ("; " + t("results.crosses") if marks else "")


def _modelled(t: T, synopsis: Any, names: Sequence[str], title: str, said: dict[str, Any]) -> Picture:
    """Count two columns in the model; hatched over if they were not measured together."""
    chosen = [synopsis.domain.column(name) for name in names]
    bins = {c.name: _BINS for c in chosen if not isinstance(c, Categorical)}
    table = synopsis.table(*names, bins=bins)
    sides = [[(a, b) for a, b in side if not math.isnan(a)] for side in table.bins]
    lower, upper = (
        np.array([[a[end], b[end]] for a in sides[0] for b in sides[1]], dtype=np.float64) for end in (0, 1)
    )
    counts = np.asarray(table.counts)[: len(sides[0]), : len(sides[1])].ravel()
    areas = np.prod(upper - lower, axis=1)
    together = synopsis.measured.says(names) == "measured"
    picture = plane.boxes(
        lower, upper, counts / areas, title=title, x=names[0], y=names[1], low=lower.min(axis=0),
        high=upper.max(axis=0), ends=[_ends(c, views.marks(c)) for c in chosen],
        assumed="" if together else t("results.not_together"), **said,
    )  # fmt: skip
    error = whole(noise_width(0.95) * float(np.median(table.std_errors)))
    return picture, f"{title}; {t('results.cell_error', n=error) if together else t('results.not_together')}"


def _ends(column: Any, usual: Any) -> Any:
    if not isinstance(column, Categorical):
        return usual
    step = math.ceil(len(column.categories) / _NAMES)
    return [(i + 0.5, str(c)) for i, c in enumerate(column.categories) if i % step == 0]


def moved(t: T, facts: dict[str, Any]) -> list[Picture]:
    """Draw how far the noise moves a point: the law of the distance, which is public. Raw points are not needed."""
    from scipy.special import gammainc, gammaincinv

    told = facts["parameters"]
    mechanism, rate = told.get("mechanism"), told.get("noise_rate", told.get("rate"))
    if facts["promise"]["model"] != "metric" or mechanism not in ("NDLaplace", "SphericalLaplace") or not rate:
        return []
    # In d dimensions, the length of this noise has a gamma distribution of shape d: density exp(-rate r) r^(d-1).
    places = int(told.get("dimension", 2))
    far = float(gammaincinv(places, 0.995)) / rate
    xs = np.linspace(0.0, far, 80)
    half = float(gammaincinv(places, 0.5)) / rate
    unit = t("results.metres" if mechanism == "SphericalLaplace" else "results.metric")
    picture = svg.curve(
        xs, 100 * gammainc(places, rate * xs), title=t("results.moved"), x=unit, y=t("results.moved_share"),
        upright=[(half, t("results.half_moved", n=written(number(half, 3), t)), "claim")], top=100.0,
    )  # fmt: skip
    remap = told.get("remap", "none")
    text = t("results.moved_law", n=written(number(half, 3), t), unit=unit)
    return [(picture, text + ("" if remap == "none" else " " + t("results.before_remap")))]


def attack(t: T, found: dict[str, Any]) -> list[Picture]:
    if isinstance(found.get("attacks"), list):
        return [picture for each in found["attacks"] for picture in attack(t, each)]
    drawn = list(intervals(found))
    if not drawn:
        return []
    names, values, low, high = zip(*drawn, strict=True)
    known = {"on released": "released", "on control": "control", "baseline": "baseline", "risk": "risk"}
    labels = [t(f"evidence.figure_{known[name]}") if name in known else name for name in names]
    picture = svg.ranked(
        labels, values, low, high, title=str(found.get("attack", "")), axis=t("evidence.share_or_advantage"),
        letters=28,
    )  # fmt: skip
    return [(picture, t("evidence.with_intervals", level=written(number(100 * found.get("confidence", 0.95)), t)))]
