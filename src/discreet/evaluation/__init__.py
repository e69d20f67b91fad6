"""Evaluation: what a release costs in accuracy, and what it leaks. It looks at the raw data: not for publication.

>>> from discreet import evaluation
>>> evaluation.nicv([[0.0], [2.0]], [[1.0]])
1.0
"""

from discreet.evaluation.agreement import (
    Agreement,
    CenterErrors,
    ClusterComparison,
    center_errors,
    clustering_agreement,
    compare_centers,
)
from discreet.evaluation.attacks.attribute import attribute_attack
from discreet.evaluation.attacks.averaging import AveragingResult, averaging_attack
from discreet.evaluation.attacks.distinguishing import advantage_bound, best_advantage, distinguishing_attack
from discreet.evaluation.attacks.laws import NoiseLaw
from discreet.evaluation.attacks.membership import membership_attack
from discreet.evaluation.attacks.rates import AttackResult, Rate
from discreet.evaluation.attacks.reconstruction import GuessResult, ReconstructionResult, reconstruction_attack
from discreet.evaluation.attacks.roc import ScoredAttack
from discreet.evaluation.attacks.semi_supervised import RepeatedAttack, forest_attack
from discreet.evaluation.audits.bit_patterns import BitPatterns, bit_pattern_audit
from discreet.evaluation.audits.black_box import audit
from discreet.evaluation.audits.bounds import Power
from discreet.evaluation.audits.exact import ExactAudit, exact_audit
from discreet.evaluation.audits.neighbours import NeighbourPair, NeighbourSearch, audit_neighbours, neighbour_pairs
from discreet.evaluation.audits.one_run import OneRunResult, one_run_audit, one_run_epsilon
from discreet.evaluation.audits.recount import Recount, recount
from discreet.evaluation.audits.result import AuditResult
from discreet.evaluation.comparison.compare import TableComparison, compare_tables
from discreet.evaluation.discretizers import Discretizer, compare_discretizers
from discreet.evaluation.estimates import correlation, mean_error, precision_at, recall_at, rmse
from discreet.evaluation.metrics import (
    Spread,
    centroid_index,
    nicv,
    nicv_ratio,
    perturbation_distance,
    range_query_error,
)
from discreet.evaluation.registry.mechanisms import (
    AuditedMechanism,
    audited_mechanism,
    audited_mechanisms,
    audited_tables,
)
from discreet.evaluation.table_attacks.attacks import inference, linkability, singling_out

__all__ = [
    "Agreement",
    "AttackResult",
    "AuditResult",
    "AuditedMechanism",
    "AveragingResult",
    "BitPatterns",
    "CenterErrors",
    "ClusterComparison",
    "Discretizer",
    "ExactAudit",
    "GuessResult",
    "NeighbourPair",
    "NeighbourSearch",
    "NoiseLaw",
    "OneRunResult",
    "Power",
    "Rate",
    "ReconstructionResult",
    "Recount",
    "RepeatedAttack",
    "ScoredAttack",
    "Spread",
    "TableComparison",
    "advantage_bound",
    "attribute_attack",
    "audit",
    "audit_neighbours",
    "audited_mechanism",
    "audited_mechanisms",
    "audited_tables",
    "averaging_attack",
    "best_advantage",
    "bit_pattern_audit",
    "center_errors",
    "centroid_index",
    "clustering_agreement",
    "compare_centers",
    "compare_discretizers",
    "compare_tables",
    "correlation",
    "distinguishing_attack",
    "exact_audit",
    "forest_attack",
    "inference",
    "linkability",
    "mean_error",
    "membership_attack",
    "neighbour_pairs",
    "nicv",
    "nicv_ratio",
    "one_run_audit",
    "one_run_epsilon",
    "perturbation_distance",
    "precision_at",
    "range_query_error",
    "recall_at",
    "reconstruction_attack",
    "recount",
    "rmse",
    "singling_out",
]


def __dir__() -> list[str]:
    return __all__
