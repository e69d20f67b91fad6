"""Options that several clusterers share."""

from typing import Any

from discreet.core import option

SCALE: Any = option(
    default="none",
    choices=("none", "domain"),
    help='Unit of distances: "none" for the columns\' own units, "domain" for shares of their declared ranges.',
)
COLUMNS: Any = option(
    default=None,
    takes="names",
    example=["age", "income"],
    help="Columns to cluster on; by default all but categories.",
    details="A category named here counts by its place in the declared order, which suits ordered ones only.",
)
AUTO_CLUSTERS: Any = option(
    default="auto", takes=("whole", "text"), choices=("auto",), low=1, example=8,
    help='Number of clusters; "auto" asks `suggest_k`.',
)  # fmt: skip
MAX_CLUSTERS: Any = option(default=20, takes="whole", low=1, help='Largest number of clusters that "auto" looks for.')
N_INIT: Any = option(default=10, takes="whole", low=1, help="Starts of k-means.")
SEED: Any = option(
    default=0, takes="whole", low=0, job="seed", help="Seed of the search, which sees published values only."
)
