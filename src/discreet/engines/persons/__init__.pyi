from .bounded import PersonKeys as PersonKeys
from .bounded import PersonTable as PersonTable
from .bounded import check_person as check_person
from .kernels import plain_texts as plain_texts
from .weighted import Weights as Weights
