from . import estimator as estimator
from .budgets import LevelBudgets as LevelBudgets
from .estimator import TreeSynopsis as TreeSynopsis
from .own import Offers as Offers
from .partitioners import tie_order as tie_order
from .settings import TreeSettings as TreeSettings
