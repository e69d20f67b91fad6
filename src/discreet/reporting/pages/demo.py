"""The page of the demonstration: raw rows and release, with the cluster centres of each."""

from typing import Any

from discreet.core import FloatArray
from discreet.datasets import Dataset
from discreet.reporting import views, words
from discreet.reporting.pages import plane
from discreet.reporting.pages.frame import PROMISED, RELEASED, WORRYING, Answer, render
from discreet.synopses import Synopsis


def demo_page(synopsis: Synopsis, private: FloatArray, plain: FloatArray, table: Dataset, ratio: float) -> str:
    """Return the page with two panels; ``ratio`` is the squared error relative to plain k-means."""
    promise, marks = synopsis.guarantee, [(plain, "ring"), (private, "cross")]
    how: dict[str, Any] = {"x": "age (years)", "y": "cost (1,000 euro per year)", "marks": marks}
    how |= {"low": table.domain.low, "high": table.domain.high}
    found = views.plane(synopsis)
    drawn = [(plane.cloud(table.X, title="The raw rows", **how), "The raw rows (never released)")]
    if found is not None:
        how["gaps"] = found["gaps"]
        picture = plane.boxes(found["lower"], found["upper"], found["density"], title="What is published", **how)
        drawn.append((picture, "What is published: a noisy histogram; grey is below zero, which only noise causes"))
    level, rows = words.number(promise.epsilon), f"{len(table):,}"
    worries = [("bad", "The noise was seeded: do not publish this release.")] if promise.seeded else []
    worries.append(
        ("", "The first picture and the comparison use the raw rows. That is fine here because the table is synthetic.")
    )
    answers = [
        Answer(RELEASED, f"{synopsis.n_leaves:,} cells with a noisy count each",
               [("", f"about {max(synopsis.total, 0):,.0f} rows, by the noisy counts; two columns, age and cost")]),
        Answer(PROMISED, f"ε = {level} to {promise.unit}", [("", text) for text in words.for_lawyers(promise)[:1]]),
        Answer(WORRYING, "Seeded" if promise.seeded else "Nothing: the table is synthetic", worries),
    ]  # fmt: skip
    seen = (
        "In the first picture, each dot is a patient. In the second, darker cells hold more patients, by the noisy "
        f"counts. Rings are the {len(plain)} centres that plain k-means finds in the raw rows. Crosses are the centres "
        "found in the release. Where they coincide, nothing was lost. The squared error of the crosses is "
        f"{ratio:.3f} times that of the rings."
    )
    title = f"{rows} synthetic patients, before and after (ε = {level})"
    return render("demo.html", title, "Demonstration", answers, drawn=drawn, seen=seen)
