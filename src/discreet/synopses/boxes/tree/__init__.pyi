from . import estimator as estimator
from .axes import tie_order as tie_order
from .budgets import LevelBudgets as LevelBudgets
from .estimator import TreeSynopsis as TreeSynopsis
from .own import Offers as Offers
from .settings import TreeSettings as TreeSettings
