"""The job `plan`: expected errors of each method, without any data."""

from dataclasses import replace

from discreet.core import RHO, SURE_DELTA
from discreet.jobs.declare import Kind
from discreet.jobs.options import EPSILON, LANGUAGE, declared, option, output

KIND = Kind(
    name="plan",
    summary="compare the expected errors of methods",
    help="Compare the expected errors of methods, and see how they fall with epsilon. No data are read. Errors are "
    "shares: of all rows (counts), of the declared ranges (places), or of the squared error of k-means on the raw rows "
    "(clusters). Compare methods only within a group.",
    schema="optional",
    own=(
        option("rows", "whole", "Number of rows, or people.", 10000, required=True, low=1, short="-n",
            arguments=("n",)),
        option("columns", "whole", "Number of numeric columns; by default those of the schema.", 2, low=1, short="-d",
            arguments=("d",)),
        replace(EPSILON, required=False, default=1.0),
        declared("rho", RHO),
        option("delta", "number", "The delta of the guarantee; synthetic data are more accurate with one.", 1e-6,
            default=0.0, low=0, high=SURE_DELTA),
        option("n_clusters", "whole", "Number of clusters to find.", 8, default=8, low=1, arguments=("clusters",)),
        option("k", "whole", "Group size of anonymous tables.", 10, default=10, low=1, short="-k"),
        option("values", "whole", "Number of values of a column whose frequencies are estimated.", 100, default=100,
            low=2),
        option("radius", "number", "Distance at which the epsilon of metric noise holds, in declared ranges.", 0.1,
            default=0.1, above=0),
        option("persons", "whole", "Number of persons: adds the cost of bounding the rows per person.", 1000, low=1),
        option("population", "whole", "Number of people that the weights of a survey add up to.", 100000, low=1),
        option("leave", "number", "Share of people who leave or change from one anonymous table to the next.", 0.02,
            low=0, high=1),
        option("come", "number", "Share of new people from one anonymous table to the next.", 0.1, low=0, high=1),
        option("target_error", "number", "Wanted error: adds the epsilon that each method needs.", 0.01, above=0),
        LANGUAGE,
    ),
    outputs=(output("html", "Page with table and curves.", "plan.html", streams=True),),
    examples=(
        "plan --rows 100000 --columns 2 --epsilon 0.5",
        "plan -n 5000 -d 3 --target-error 0.01 --html plan.html --language de",
        "plan -n 5000 -d 3 --k 5 --leave 0.02 --come 0.1",
        "plan -n 5000 --schema schema.toml --rho 0.05 --delta 1e-6",
    ),
)  # fmt: skip
