"""Every public mechanism is in the list of audits, and keeps what it claims there."""

from __future__ import annotations

import inspect
import json
import math
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc
from discreet.evaluation.audits.neighbours import NeighbourPair
from discreet.evaluation.registry.mechanisms import AuditedMechanism
from discreet.local.mechanism import mechanisms

ROOT = Path(__file__).parents[2]
LISTED = dc.evaluation.audited_mechanisms()
TABLES = dc.evaluation.audited_tables()
ROOMS = ("noise", "synopses", "clustering", "models", "local", "metric", "anonymity")
#: Many audits are made here: with a miss of 1 in 10,000 each, exact mechanisms raise an alarm in at most 2 % of seeds.
CONFIDENCE = 0.9999
#: Public names with a Privacy section that cannot be audited by runs, and why.
EXEMPT: dict[str, str] = {
    "noise.bernoulli": "a building block: it is given no data",
    "clustering.DenoisingKMeans": "works on what was already released",
    "clustering.suggest_k": "works on what was already released",
    "clustering.DensityClusters": "works on what was already released",
    "clustering.GaussianClusters": "works on what was already released",
    "local.Task": "a public description of what is asked; its mechanism is audited by itself",
    "local.Client": "sends what a mechanism of a task drew, which is audited by itself",
    "local.Shuffle": "a public description of who mixes reports; what mixing promises is audited as local.shuffled",
    "metric.UserLedger": "adds up what reports cost and draws nothing",
    "synopses.open_release": "the beginning of every synopsis, query and clustering, which are audited",
    "synopses.OwnBudget": "divides the budget of a tree that is audited, by public values",
    "synopses.OwnPartitioner": "a user's own way to split, charged to the ledger of a tree that is audited",
    "anonymity.Hierarchy": "public groups of categories, part of a method's settings",
    "anonymity.Rules": "what a table must satisfy, part of a method's settings",
    "anonymity.MultiplicativeNoise": "promises no figure that could be refuted; its attacks are in the guarantee",
    "anonymity.k_curve": "a curve for internal use; the table that is released with such a k is audited by itself",
    "anonymity.NoiseAddition": "promises no figure that could be refuted; its attacks are in the guarantee",
    "anonymity.RankSwapping": "its k is a chance over swaps that no table shows; a law test enumerates it",
    "anonymity.Sampling": "promises no figure that could be refuted; its attacks are in the guarantee",
    "anonymity.TopBottomCoding": "promises no figure that could be refuted; its attacks are in the guarantee",
}


def public_mechanisms() -> set[str]:
    """All exported names that make a promise: by their docstring, by their verbs, or by the local register."""
    found = set()
    for room in ROOMS:
        for name in getattr(dc, room).__all__:
            thing = getattr(getattr(dc, room), name)
            verbs = any(hasattr(thing, verb) for verb in ("fit", "transform", "encode"))
            spends = inspect.isclass(thing) and verbs and "epsilon" in inspect.signature(thing).parameters
            if "Privacy\n-------" in (inspect.getdoc(thing) or "") or spends:
                found.add(f"{room}.{name}")
    found |= {name for name in dc.__all__ if "Privacy\n-------" in (inspect.getdoc(getattr(dc, name)) or "")} & {
        "private_bounds",
        "private_categories",
    }
    return found | {f"local.{kind.__name__}" for kind in mechanisms().values()}


def audited() -> set[str]:
    return {entry.public for entry in LISTED.values()} | {entry.public for entry in TABLES.values()}


def test_no_public_mechanism_is_missing() -> None:
    assert public_mechanisms() - audited() - set(EXEMPT) == set()


def test_no_entry_is_left_over_and_no_exemption_is_stale() -> None:
    assert audited() <= public_mechanisms()
    assert set(EXEMPT) <= public_mechanisms()
    assert not set(EXEMPT) & audited()
    assert all(len(reason) > 20 for reason in EXEMPT.values())


def test_every_rule_partitioner_remap_and_method_is_there() -> None:
    from discreet.local.numbers.means import METHODS
    from discreet.local.oracles.unary import VARIANTS
    from discreet.metric import NDLaplace, SphericalLaplace
    from discreet.synopses.boxes.tree.settings import PARTITIONERS

    for partitioner in PARTITIONERS:
        assert f"synopses.TreeSynopsis/{partitioner}" in LISTED
    for rule in ("rugnik", "eugkm", "adaptive", "fixed"):
        assert f"synopses.GridSynopsis/{rule}" in LISTED
    for remap in NDLaplace.declared["remap"].choices:
        assert f"metric.NDLaplace/{remap}" in LISTED
    for remap in SphericalLaplace.declared["remap"].choices:
        assert f"metric.SphericalLaplace/{remap}" in LISTED
    for method in METHODS:
        assert f"local.MeanResponse/{method}" in LISTED
    for variant in VARIANTS:
        assert f"local.UnaryEncoding/{variant}" in LISTED


#: Seconds each. Their laws, which find more, are run always; or they only work on what another entry releases.
SLOW = (
    "synopses.TreeSynopsis/mixed",
    "synopses.TreeSynopsis/leaf means",
    "synopses.TreeSynopsis/density",
    "synopses.TreeSynopsis/quantile",
    "synopses.TreeSynopsis/uniform",
    "synopses.TreeSynopsis/binary",
    "synopses.GridSynopsis/leaf means",
    "synopses.GridSynopsis/bought bound",
    "synopses.GridSynopsis/eugkm",
    "synopses.GridSynopsis/hidden cells",
    "clustering.PrivateKMeans/grid",
    "clustering.PrivateKMeans/lift, pure",
    "clustering.DPLloyd",
    "local.BitFlip/stored",
    "noise.quantiles/recursive",
    "synopses.MarginalSynopsis/pure",
    "synopses.MarginalSynopsis/concentrated",
    "synopses.TreeSynopsis/persons",
    "synopses.TreeSynopsis/persons, median",
    "clustering.PrivateKMeans/tree",
    "clustering.PrivateKMeans/persons",
    "clustering.PrivateKMeans/lift, concentrated",
    "clustering.DPLloyd/persons",
    "local.Rappor/five reports",
    "metric.NDLaplace/bayes",
    "synopses.TreeSynopsis/above privtree",
    "synopses.TreeSynopsis/median",
    "synopses.GridSynopsis/private bound",
    "synopses.GridSynopsis/rugnik",
    "clustering.PrivateKMeans/auto",
    "local.DistinctSketch/persons",
    "private_categories",
    "synopses.TreeSynopsis/privtree",
    "synopses.GridSynopsis/adaptive",
    "synopses.GridSynopsis/persons",
    "synopses.QuerySession/quantile",
    "synopses.QuerySession/quantiles",
    "anonymity.SampledGeneralization",
    "metric.NDLaplace/resample",
    "metric.ElasticLaplace/country",
    "models.PrivateLogisticRegression",
)


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """Return the mark of slow audits, and of those that the exact law below makes superfluous."""
    return [pytest.mark.slow] if name in SLOW or (LISTED[name].law and not LISTED[name].tight) else []


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in LISTED])
def test_a_quick_audit_refutes_no_claim(name: str) -> None:
    """Slow ones, and those whose exact law is checked below, run on their first pair here; the long audit has all."""
    entry = LISTED[name]
    slow = not entry.batch or name.endswith("/bayes")
    pairs = 1 if slow or entry.law is not None else None
    trials = max(100, entry.trials // 2) if slow else None  # an audit takes no fewer than 100
    for found in entry.audit(trials, CONFIDENCE, pairs=pairs, random_state=1):
        assert found.passed, str(found)
        assert found.claimed == entry.epsilon
    if entry.tight:
        tried = entry.audit(20_000, pairs=1, random_state=2)[0]
        assert tried.epsilon_lower > 0.75 * entry.epsilon, str(tried)


@pytest.mark.parametrize("name", [n for n, e in LISTED.items() if e.law is not None])
def test_the_law_of_a_local_mechanism_keeps_the_claim_exactly(name: str) -> None:
    exact = LISTED[name].exact()
    assert exact is not None
    assert exact.passed, str(exact)
    assert exact.epsilon == pytest.approx(LISTED[name].epsilon, rel=1e-9)


@pytest.mark.parametrize("name", TABLES)
def test_anonymous_tables_stand_up_to_a_recount(name: str) -> None:
    assert TABLES[name].check() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTED)
def test_a_long_audit_refutes_no_claim(name: str) -> None:
    """Every pair, with 200,000 runs where releases are small."""
    entry = LISTED[name]
    for found in entry.audit(200_000 if entry.batch else None, CONFIDENCE, workers=None, random_state=3):
        assert found.passed, str(found)
    if entry.tight:
        assert entry.audit(1_000_000, pairs=1, random_state=4)[0].epsilon_lower > 0.85 * entry.epsilon


@pytest.mark.parametrize(
    "name",
    ["noise.discrete_laplace", "noise.max_norm_laplace", "local.DirectResponse", "local.Rappor/one report",
     "local.CountMeanSketch", "metric.NDLaplace/none", "metric.SphericalLaplace/none", "metric.PrivUnit",
     "metric.ElasticLaplace/town"],
)  # fmt: skip
def test_half_the_claim_would_be_refuted(name: str) -> None:
    """The audits of this list are able to fail."""
    entry = LISTED[name]
    half = AuditedMechanism(
        name, entry.mechanism, entry.pairs, entry.epsilon / 2, features=entry.features, batch=entry.batch
    )
    assert half.audit(20_000, pairs=1, random_state=5)[0].passed is False


def test_a_leak_in_a_synopsis_or_in_centres_is_seen_with_few_runs() -> None:
    class Leaky:
        """Publishes how many rows it was given, as the name of a leaf count."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __call__(self, rows: Any, rng: Any) -> Any:
            made = self.inner(rows, rng)
            return made.replace(weights=made.weights * 0 + len(rows))

    entry = LISTED["synopses.GridSynopsis/fixed"]
    leaky = AuditedMechanism(
        "leaky", Leaky(entry.mechanism), entry.pairs, entry.epsilon, batch=False, features=entry.features
    )
    found = leaky.audit(entry.trials, CONFIDENCE, pairs=1, random_state=1)[0]
    assert found.passed is False, str(found)


def test_a_name_that_is_not_listed_is_met_with_near_ones() -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=r"local.Rappor/one report"):
        dc.evaluation.audited_mechanism("local.rappor")
    with pytest.raises(dc.errors.InvalidArgument, match=r"noise\.\*"):
        dc.evaluation.audited_mechanism("nonsense")


def test_seeds_repeat_an_audit_and_pairs_differ() -> None:
    entry = LISTED["noise.randomized_response"]
    first, again, other = (entry.audit(1000, random_state=seed) for seed in (1, 1, 2))
    assert [f.counts for f in first] == [f.counts for f in again]
    assert [f.counts for f in first] != [f.counts for f in other]
    assert len(first) == len(entry.pairs) == 2
    assert all(isinstance(p, NeighbourPair) for p in entry.pairs)


# --- the recount


def promise(**parameters: Any) -> dc.Guarantee:
    return dc.Guarantee("syntactic", parameters={"quasi_identifiers": ["age"], **parameters})


def test_the_recount_finds_a_class_too_small_and_values_too_alike() -> None:
    table = pa.table({"age": ["[0, 9]"] * 3 + ["[10, 19]"], "ill": ["no", "no", "no", "yes"]})
    required = {"k": 2, "l": {"kind": "distinct", "least": 2}, "t": {"kind": "auto", "most": 0.2}}
    reached = {"k": 2, "l_kind": "distinct", "l": {"ill": 2.0}, "t_kind": {"ill": "equal"}, "t": {"ill": 0.2}}
    found = dc.evaluation.recount(table, promise(required=required, reached=reached, rows=5))
    assert found.found["k"] == 1
    assert found.found["l"] == {"ill": 1}
    assert found.found["t"]["ill"] == pytest.approx(0.75)
    words = " ".join(found.failures)
    assert all(text in words for text in ("k is 1", "l of ill is 1", "t of ill is 0.75", "4 rows, stated 5"))


@pytest.mark.parametrize(("kind", "least", "holds"), [("entropy", 1.8, True), ("entropy", 2.1, False)])
def test_entropy_is_counted_again(kind: str, least: float, holds: bool) -> None:
    table = pa.table({"age": ["a"] * 4, "ill": ["x", "x", "y", "y"]})
    required = {"k": 2, "l": {"kind": kind, "least": least}}
    reached = {"k": 4, "l_kind": kind, "l": {"ill": 2.0}, "t_kind": {"ill": "equal"}, "t": {"ill": 0.0}}
    found = dc.evaluation.recount(table, promise(required=required, reached=reached))
    assert (not found.failures) is holds
    assert found.found["l"]["ill"] == pytest.approx(2.0)


def test_ordered_distances_and_recursive_diversity_agree_with_the_package() -> None:
    people = dc.datasets.people(300, seed=3)
    for kind in ("distinct", "entropy", "recursive"):
        model = dc.anonymity.DensityTree(k=5, l_diversity=2, l_kind=kind, t_closeness=0.6, domain=people.domain)
        release = model.fit_transform(people.table)
        found = dc.evaluation.recount(release.table, release.guarantee)
        assert found.failures == ()
        reached = release.guarantee.parameters["reached"]
        assert found.found["k"] == reached["k"]
        assert math.isclose(found.found["l"]["illness"], reached["l"]["illness"], rel_tol=1e-6)
        assert math.isclose(found.found["t"]["illness"], reached["t"]["illness"], rel_tol=1e-6)


def test_drawn_rows_and_persons_are_not_called_k_anonymous() -> None:
    table = pa.table({"age": [1, 2]})
    drawn = dc.evaluation.recount(table, promise(required={"k": 2}, output="sample"))
    assert drawn.failures == ()
    assert "drawn" in drawn.notes[0]
    facts = {"required": {"k": 2}, "reached": {"k": 2}, "k_counts": "persons, by column 'who'"}
    assert dc.evaluation.recount(table, promise(**facts)).failures == ("k is at most 1, required 2",)
    (note,) = dc.evaluation.recount(pa.table({"age": [1, 1]}), promise(**facts)).notes
    assert note.startswith("not checkable: k counts persons")


def test_the_figures_of_other_libraries_are_those_of_the_result_file() -> None:
    rows = json.loads((ROOT / "studies" / "measures" / "results" / "audit.json").read_text(encoding="utf-8"))["rows"]
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    assert {row["library"] for row in rows} >= {"discreet", "diffprivlib", "opendp", "pure-ldp", "multi-freq-ldpy"}
    for row in rows:
        shown = f"**{row['measured']:.2f}**" if row["exceeds_claim"] else f"{row['measured']:.2f}"
        pattern = rf"^\| {row['library']} \| {re.escape(row['mechanism'])} \| [^|]+ \| {re.escape(shown)} \|$"
        assert re.search(pattern, page, re.M), row
        assert row["library"] != "discreet" or not row["exceeds_claim"]
