"""The pages of `discreet audit`: a checked file, and an audited mechanism."""

import math
from typing import Any

import numpy as np

from discreet.reporting.language import translated
from discreet.reporting.pages import svg
from discreet.reporting.pages.frame import Answer, render
from discreet.reporting.words import number, plain

_NO_PROOF = "A refutation is a proof, at the stated confidence. "
_NO_PROOF += "A pass is not a proof: only these inputs, features and runs were examined."


def mechanism_page(facts: dict[str, Any], language: str = "en") -> str:
    """Return the page of an audited mechanism."""
    results, passed, exact = facts["results"], facts["passed"], facts.get("exact_result")
    claim = f"ε = {number(facts['claimed'], 6)}" if "claimed" in facts else "k, l and t, counted again"
    if facts.get("delta"):
        claim += f", δ = {number(facts['delta'])}"
    found = [("bad", text) for text in facts.get("failures", ())]
    found += [("" if r.passed is not False else "bad",
               f"{name}: ε is at least {number(r.epsilon_lower)}, with {number(r.confidence, 6)} confidence")
              for name, r in results]  # fmt: skip
    runs = f"{max((r.trials for _, r in results), default=0):,} runs on each of two inputs"
    runs = runs if results else "every table was counted again"
    answers = [
        Answer("What was audited?", facts["mechanism"], [("", f"claimed: {claim}"), ("soft", runs)]),
        Answer("What was found?", "Not refuted" if passed else "REFUTED",
               found or [("good", "k, l and t held in every table that was counted")]),
        Answer("What should worry me?", "A pass is not a proof" if passed else "The claim does not hold",
               [("" if passed else "bad", _NO_PROOF)]),
    ]  # fmt: skip
    rows = [
        (name, number(r.epsilon_lower), r.passed, f"{r.trials:,}",
         f"{r.event}: {r.counts['data']:,} and {r.counts['neighbour']:,} of {r.counted:,}")
        for name, r in results
    ]  # fmt: skip
    pictures = [(_power(name, r), _seen(name, r)) for name, r in results]
    if exact is not None:
        end = number(exact.epsilon_at(0.0))
        said = f"The exact distribution of the first pair: the smallest δ at each ε. It reaches 0 at ε = {end}."
        pictures.append((svg.curve(*exact.curve(), title="the exact promise", x="ε", y="δ"), said))
    page = render("audit.html", f"Audit of {facts['mechanism']}", "Audit", answers, rows=rows, checks=[], said=[],
                  drawn=pictures)  # fmt: skip
    named = (text for name, r in results for text in (name, r.event))  # names of inputs and features stay as they are
    return translated(page, language, [facts["mechanism"], *named], page=True)


def _power(name: str, r: Any) -> Any:
    """Draw the leaks that a run of this size would have detected, where the curve rises."""
    xs, ys = np.asarray(r.power.epsilons), np.asarray(r.power.chances)
    marks = [(r.epsilon_lower, f"at least {number(r.epsilon_lower)}", "broken" if r.passed is False else "found")]
    if r.claimed is not None and math.isfinite(r.claimed):
        marks.append((r.claimed, f"claimed {number(r.claimed, 3)}", "claim"))
    reach = [r.power.detectable] if math.isfinite(r.power.detectable) else []
    end = 1.1 * max([m[0] for m in marks] + reach) + 0.05
    near = np.unique(np.append(np.linspace(float(xs[0]), max(end, float(xs[0])), 60), xs[xs <= end]))
    return svg.curve(near, np.interp(near, xs, ys), title=name, x="true ε, for an event of this frequency",
                     y="probability of a refutation", top=1.0, upright=marks)  # fmt: skip


def _seen(name: str, r: Any) -> str:
    reach = r.power.detectable
    text = f"{name}: the probability that a run of this size refutes the claim, by the true ε."
    if math.isfinite(reach):
        text += f" At ε = {number(reach, 3)} it is 90 %."
    return f"{text} The vertical line is the result: the true ε is at least {number(r.epsilon_lower)}."


def artifact_page(facts: dict[str, Any], language: str = "en") -> str:
    """Return the page of a checked file."""
    # Without a budget there is no ledger to check.
    free = [c for c in facts["checks"] if c["check"] == "ledger" and c["holds"] is None]
    booked = [c for c in facts["checks"] if c["check"] == "account"]  # for the reader to judge
    passed, checks = facts["passed"], [c for c in facts["checks"] if c not in free and c not in booked]
    worries = [("bad", f"{c['check']}: {c['detail']}") for c in checks if c["holds"] is False]
    if facts["seeded"]:
        worries.append(("bad", "Seeded: do not publish it."))
    worries += [("soft", f"{c['detail'][:1].upper()}{c['detail'][1:]}.") for c in booked]
    worries += [("soft", f"Not checked: {c['check']}, {c['detail']}") for c in checks if c["holds"] is None]
    if passed:
        worries.append(("soft", "Only the file was examined: how it was made cannot be seen in it."))
    if passed and facts["digest"]:
        again = "Anyone who changes a file can seal it again. Compare the seal with one that you received separately."
        worries.append(("soft", again))
    held = sum(c["holds"] is True for c in checks)
    none = "none: the promise is about the table itself" if free else "none stated"
    epsilon = none if facts["epsilon"] is None else plain(facts["epsilon"])
    answers = [
        Answer("What was checked?", f"{facts['file']}: {facts['kind']}", [("", f"ε: {epsilon}")]),
        Answer("What was found?", "All checks hold" if passed else "REFUSED",
               [("good", f"{held} of {len(checks)} checks hold; the others could not be made" if held < len(checks) else
               f"all {held} checks hold")] if passed else [("", f"{held} of {len(checks)} checks hold")]),
        Answer("What should worry me?", "Something does not hold" if not passed else "Do not publish"
               if facts["seeded"] else "A pass is not a proof", worries),
    ]  # fmt: skip
    said = [("kind", facts["kind"]), ("ε", epsilon), ("seal", facts["digest"] or "none")]
    said += [(c["check"], c["detail"]) for c in (*free, *booked)]
    page = render("audit.html", f"Audit of {facts['file']}", "Audit", answers, rows=[], checks=checks, said=said,
                  drawn=[])  # fmt: skip
    return translated(page, language, [facts["file"], facts["digest"]], page=True)
