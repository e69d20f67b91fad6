"""The job `audit`: check a released file against its promise, or run a mechanism against its claim."""

from typing import Any

from discreet.jobs.declare import Kind
from discreet.jobs.options import SEED, option, output


def _together(job: Any) -> None:
    named = "mechanism" in job.parameters
    if (job.data is not None) == named:
        value = job.data if named else None

        def one(say: Any) -> str:
            return f"a file, or {say('mechanism', 'NAME')}, and one of them only"

        raise KIND.wrong("data", value, one, ("data", "s.parquet"))
    for name in ("epsilon", "delta"):
        if name in job.parameters and ":" not in job.parameters.get("mechanism", ""):
            expected = "left out: the claim of a listed mechanism is known"
            raise KIND.wrong(name, job.parameters[name], expected, ("mechanism", "module:function"))


KIND = Kind(
    name="audit",
    summary="check what was released, or what a mechanism claims",
    help="Check what was released, or what a mechanism claims. Exit code 1 if something does not hold.",
    data=option(
        "data", "file", "a synopsis, reports or counts, a guarantee, or a table with its .guarantee.json", "s.parquet",
        section="data", shown=True,
    ),
    parameters=(
        option("mechanism", "text", "a listed mechanism, or module:function for one of your own",
            "noise.discrete_laplace"),
        option("epsilon", "budget", "the claim of your own mechanism, if the function does not have it", 1.0),
        option("delta", "number", "likewise", 1e-6, default=0, low=0, below=1, expected="a number from 0 to below 1"),
        option("trials", "whole", "mechanism: runs on each of two neighbouring inputs", 100000, default=100000,
            low=100),
        option("confidence", "number", "mechanism: of every bound", 0.99, default=0.99, above=0, below=1),
        option("seconds", "number", "mechanism: time for each pair of inputs; fewer runs", 60, above=0,
            arguments=("time_budget",)),
        option("seed", "whole", "mechanism: repeat an audit", 1, low=0, arguments=SEED.arguments),
    ),
    outputs=(output("html", "one page, with the curves; it needs nothing else", "audit.html", streams=True),),
    together=_together,
    examples=("audit s.parquet", "audit --mechanism noise.discrete_laplace --trials 100000",
        "audit --mechanism my_module:my_function --epsilon 1"),
    failed="the file was changed, or the claim is refuted",
)  # fmt: skip
