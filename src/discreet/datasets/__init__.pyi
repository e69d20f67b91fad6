from .dataset import Dataset as Dataset
from .generators import anglicisms as anglicisms
from .generators import mixture as mixture
from .generators import patients as patients
from .generators import s_like as s_like
from .practice import practice as practice
from .records import Records as Records
from .records import people as people
