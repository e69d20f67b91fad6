"""All kinds of job, by name: one file each, which declares its options."""

from discreet.jobs.declare import Kind
from discreet.jobs.kinds import (
    anonymize,
    ask,
    attack,
    audit,
    cluster,
    distinct,
    mask,
    perturb,
    plan,
    query,
    report,
    risk,
    sketch,
    synopsis,
    synthesize,
)

#: Kinds that release something, then those that look at releases or plan them.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        synopsis.KIND, synthesize.KIND, cluster.KIND, anonymize.KIND, mask.KIND, perturb.KIND, sketch.KIND,
        sketch.AGGREGATE, sketch.MERGE, sketch.ESTIMATE, sketch.PLAN, distinct.KIND, distinct.OVERLAP,
        ask.KIND, query.KIND, risk.KIND, attack.KIND, audit.KIND, report.KIND, report.COMPARE, plan.KIND,
    )
}  # fmt: skip
