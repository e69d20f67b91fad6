"""The job `audit`: check a released file against its guarantee, or run a mechanism to test its claim."""

from dataclasses import replace
from typing import Any

from discreet.jobs.declare import Kind
from discreet.jobs.options import LANGUAGE, SEED, data, option, output


def _together(job: Any) -> None:
    named = "mechanism" in job.parameters
    if (job.data is not None) == named:
        value = job.data if named else None

        def one(say: Any) -> str:
            return f"either a file or {say('mechanism', 'NAME')}"

        raise KIND.wrong("data", value, one, ("data", "s.parquet"))
    for name in ("epsilon", "delta"):
        if name in job.parameters and ":" not in job.parameters.get("mechanism", ""):
            expected = "left out: the claim of a listed mechanism is known"
            raise KIND.wrong(name, job.parameters[name], expected, ("mechanism", "module:function"))


KIND = Kind(
    name="audit",
    summary="check a release, or the claim of a mechanism",
    help="Check a released file against its guarantee, or run a mechanism to test its claim.",
    data=data("file", "A synopsis, reports, counts, a guarantee, or a table next to its .guarantee.json.", "s.parquet",
        required=False, shown=True),
    own=(
        option("mechanism", "text", "A mechanism that 'discreet audit --list' names, or module:function for your own.",
            "noise.discrete_laplace"),
        option("epsilon", "budget", "Claimed epsilon of your own mechanism; overrides the one it states.", 1.0),
        option("delta", "number", "Claimed delta of your own mechanism; overrides the one it states.", 1e-6, default=0,
            low=0, below=1),
        option("trials", "whole", "Runs of the mechanism on each of two neighbouring inputs.", 100000, default=100000,
            low=100),
        option("confidence", "number", "Confidence level of each bound.", 0.99, default=0.99, above=0, below=1),
        option("seconds", "number", "Stop each pair of inputs after so many seconds, with fewer runs.", 60, above=0,
            arguments=("time_budget",)),
        replace(SEED, help="Make the runs of a mechanism repeatable, to repeat an audit."),
        LANGUAGE,
    ),
    outputs=(output("html", "Page with the results and curves.", "audit.html", streams=True),),
    together=_together,
    examples=("audit s.parquet", "audit s.parquet --html audit.html --language de",
        "audit --mechanism noise.discrete_laplace --trials 100000",
        "audit --mechanism my_module:my_function --epsilon 1"),
    failed="the file was changed, or the claim is refuted",
)  # fmt: skip
