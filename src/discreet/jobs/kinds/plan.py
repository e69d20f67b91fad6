"""The job `plan`: what to expect from which method, before any data are touched."""

from dataclasses import replace

from discreet.core import SURE_DELTA
from discreet.jobs.declare import Kind
from discreet.jobs.options import EPSILON, RHO, option, output

KIND = Kind(
    name="plan",
    summary="say what to expect from which method",
    help="Say what to expect from each method, and how the error falls with epsilon. No data are touched. Errors are "
    "shares: of all rows (counts), of the declared widths (places), or by how much the squared error exceeds that of "
    "k-means on the raw rows (clusters). Methods can be compared within a question only.",
    schema="optional",
    parameters=(
        option("rows", "whole", "rows, or people", 10000, required=True, low=1, short="-n", arguments=("n",)),
        option("columns", "whole", "numeric columns; by default those of the schema", 2, low=1, short="-d",
            arguments=("d",)),
        replace(EPSILON, required=False, default=1.0),
        RHO,
        option("delta", "number", "the delta beside it; a marginal synopsis measures more with one", 1e-6, default=0.0,
            low=0, high=SURE_DELTA),
        option("n_clusters", "whole", "clusters to be found", 8, default=8, low=1, arguments=("clusters",)),
        option("k", "whole", "anonymous tables: everyone hides among this many rows", 10, default=10, low=1),
        option("values", "whole", "values of a column whose frequencies are asked for", 100, default=100, low=2),
        option("radius", "number", "metric noise: the distance at which epsilon holds, in declared widths", 0.1,
            default=0.1, above=0),
        option("persons", "whole", "persons that the rows belong to: adds what bounding their rows costs", 1000, low=1),
        option("target_error", "number", "a wanted error: adds the epsilon that each method needs", 0.01, above=0),
    ),
    outputs=(output("html", "one page with table and curves", "plan.html", streams=True),),
    examples=(
        "plan --rows 100000 --columns 2 --epsilon 0.5",
        "plan -n 5000 -d 3 --target-error 0.01 --html plan.html",
        "plan -n 5000 --schema schema.toml --rho 0.05 --delta 1e-6",
    ),
)  # fmt: skip
