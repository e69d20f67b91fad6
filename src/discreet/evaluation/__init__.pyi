from .attacks.attribute import attribute_attack as attribute_attack
from .attacks.laws import NoiseLaw as NoiseLaw
from .attacks.membership import membership_attack as membership_attack
from .attacks.reconstruction import GuessResult as GuessResult
from .attacks.reconstruction import ReconstructionResult as ReconstructionResult
from .attacks.reconstruction import reconstruction_attack as reconstruction_attack
from .attacks.reports import best_guess as best_guess
from .attacks.roc import AttackResult as AttackResult
from .attacks.roc import Rate as Rate
from .attacks.roc import ScoredAttack as ScoredAttack
from .audits.bit_patterns import BitPatterns as BitPatterns
from .audits.black_box import audit as audit
from .audits.exact import ExactAudit as ExactAudit
from .audits.exact import exact_audit as exact_audit
from .audits.neighbours import NeighbourPair as NeighbourPair
from .audits.neighbours import neighbour_pairs as neighbour_pairs
from .audits.result import AuditResult as AuditResult
from .audits.result import Power as Power
from .centers import CenterErrors as CenterErrors
from .centers import ClusterComparison as ClusterComparison
from .centers import center_errors as center_errors
from .centers import centroid_index as centroid_index
from .centers import compare_centers as compare_centers
from .centers import nicv as nicv
from .centers import nicv_ratio as nicv_ratio
from .centers import read_matrix as read_matrix
from .comparison.compare import TableComparison as TableComparison
from .comparison.compare import compare_tables as compare_tables
from .comparison.compare import comparison_rows as comparison_rows
from .promises.declared import broken_facts as broken_facts
from .promises.recount import Recount as Recount
from .promises.recount import recount as recount
from .registry.local import of_mechanism as of_mechanism
from .registry.mechanisms import AuditedMechanism as AuditedMechanism
from .registry.mechanisms import audited_mechanism as audited_mechanism
from .registry.mechanisms import audited_mechanisms as audited_mechanisms
from .registry.tables import audited_tables as audited_tables
from .table_attacks.attacks import inference as inference
from .table_attacks.attacks import linkability as linkability
from .table_attacks.attacks import nearest_record as nearest_record
from .table_attacks.attacks import singling_out as singling_out
from .threads import one_thread as one_thread

# What users see. The other names are for other rooms.
__all__ = [
    "AttackResult",
    "AuditResult",
    "AuditedMechanism",
    "BitPatterns",
    "CenterErrors",
    "ClusterComparison",
    "ExactAudit",
    "GuessResult",
    "NeighbourPair",
    "NoiseLaw",
    "Power",
    "Rate",
    "ReconstructionResult",
    "Recount",
    "ScoredAttack",
    "TableComparison",
    "attribute_attack",
    "audit",
    "audited_mechanism",
    "audited_mechanisms",
    "audited_tables",
    "best_guess",
    "center_errors",
    "centroid_index",
    "compare_centers",
    "compare_tables",
    "exact_audit",
    "inference",
    "linkability",
    "membership_attack",
    "nearest_record",
    "neighbour_pairs",
    "nicv",
    "nicv_ratio",
    "reconstruction_attack",
    "recount",
    "singling_out",
]
