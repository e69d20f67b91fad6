from .blind import check_blind as check_blind
from .blind import growth_rules as growth_rules
from .partitioner import Partitioner as Partitioner
