"""All attacks on releases in one place; what each sees, and what it is judged by, is told in its own file."""

from discreet.evaluation.attacks.attribute import attribute_attack
from discreet.evaluation.attacks.averaging import AveragingResult, averaging_attack
from discreet.evaluation.attacks.distinguishing import advantage_bound, best_advantage, distinguishing_attack
from discreet.evaluation.attacks.guesses import GuessResult
from discreet.evaluation.attacks.laws import NoiseLaw
from discreet.evaluation.attacks.membership import membership_attack
from discreet.evaluation.attacks.reconstruction import ReconstructionResult, reconstruction_attack
from discreet.evaluation.attacks.roc import ScoredAttack
from discreet.evaluation.attacks.semi_supervised import RepeatedAttack, forest_attack

__all__ = [
    "AveragingResult",
    "GuessResult",
    "NoiseLaw",
    "ReconstructionResult",
    "RepeatedAttack",
    "ScoredAttack",
    "advantage_bound",
    "attribute_attack",
    "averaging_attack",
    "best_advantage",
    "distinguishing_attack",
    "forest_attack",
    "membership_attack",
    "reconstruction_attack",
]
