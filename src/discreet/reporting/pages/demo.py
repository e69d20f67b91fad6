"""The page of the demonstration: the raw rows, and what is published of them, with the centres found in each."""

from typing import Any

from discreet.core import FloatArray
from discreet.datasets import Dataset
from discreet.reporting import views, words
from discreet.reporting.pages import plane
from discreet.reporting.pages.frame import PROMISED, RELEASED, WORRYING, Answer, render
from discreet.synopses import Synopsis


def demo_page(synopsis: Synopsis, private: FloatArray, plain: FloatArray, table: Dataset, ratio: float) -> str:
    """Return the page with two panels; ``ratio`` is the squared error of the private centres over the plain ones'."""
    promise, marks = synopsis.guarantee, [(plain, "ring"), (private, "cross")]
    how: dict[str, Any] = {"x": "age (years)", "y": "cost (1,000 euro per year)", "marks": marks}
    how |= {"low": table.domain.low, "high": table.domain.high}
    found = views.plane(synopsis)
    drawn = [(plane.cloud(table.X, title="The raw rows", **how), "The raw rows (never released)")]
    if found is not None:
        how["gaps"] = found["gaps"]
        picture = plane.boxes(found["lower"], found["upper"], found["density"], title="What is published", **how)
        drawn.append((picture, "What is published: noisy counts of cells; grey is below zero, which only noise makes"))
    level, rows = words.number(promise.epsilon), f"{len(table):,}"
    worries = [("bad", "The noise was seeded: this release must not be published.")] if promise.seeded else []
    worries.append(
        ("", "The first picture and the comparison look at the raw rows: possible here because they are invented.")
    )
    answers = [
        Answer(RELEASED, f"{synopsis.n_leaves:,} cells with a noisy count each",
               [("", f"about {max(synopsis.total, 0):,.0f} rows, by the noisy counts; two columns, age and cost")]),
        Answer(PROMISED, f"ε = {level} to {promise.unit}", [("", text) for text in words.for_lawyers(promise)[:1]]),
        Answer(WORRYING, "Seeded" if promise.seeded else "Nothing: the rows are invented", worries),
    ]  # fmt: skip
    seen = (
        "First, every dot is a patient. Then, cells of stronger colour hold more, by the noisy counts. Rings are "
        f"the {len(plain)} centres that plain k-means finds in the raw rows, crosses those found in the release: "
        "where both lie together, nothing was lost. The squared error of the crosses is "
        f"{ratio:.3f} times that of the rings."
    )
    title = f"{rows} invented patients, before and after (ε = {level})"
    return render("demo.html", title, "Demonstration", answers, drawn=drawn, seen=seen)
