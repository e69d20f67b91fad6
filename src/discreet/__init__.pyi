from types import ModuleType

from . import accounts as accounts
from . import anonymity as anonymity
from . import cli as cli
from . import clustering as clustering
from . import collector as collector
from . import core as core
from . import datasets as datasets
from . import demo as demo
from . import engines as engines
from . import errors as errors
from . import evaluation as evaluation
from . import jobs as jobs
from . import local as local
from . import mechanisms as mechanisms
from . import metric as metric
from . import models as models
from . import noise as noise
from . import planning as planning
from . import reporting as reporting
from . import studio as studio
from . import synopses as synopses
from ._version import __version__ as __version__
from .accounts import Account as Account
from .clustering import DomainScaler as DomainScaler
from .clustering import DPLloyd as DPLloyd
from .clustering import PrivateKMeans as PrivateKMeans
from .clustering import private_pipeline as private_pipeline
from .core import Box as Box
from .core import Categorical as Categorical
from .core import Code as Code
from .core import Date as Date
from .core import Domain as Domain
from .core import Guarantee as Guarantee
from .core import Integer as Integer
from .core import Ledger as Ledger
from .core import Numeric as Numeric
from .core import Person as Person
from .core import Time as Time
from .core import categories_from as categories_from
from .core.schema import Dialect as Dialect
from .jobs import Job as Job
from .mechanisms import private_bounds as private_bounds
from .mechanisms import private_categories as private_categories
from .models import PrivateLinearRegression as PrivateLinearRegression
from .models import PrivateLogisticRegression as PrivateLogisticRegression
from .models import PrivatePCA as PrivatePCA
from .synopses import GridSynopsis as GridSynopsis
from .synopses import MarginalSynopsis as MarginalSynopsis
from .synopses import QuerySession as QuerySession
from .synopses import Synopsis as Synopsis
from .synopses import TreeSynopsis as TreeSynopsis

#: The package discreet-studies, where it is installed.
studies: ModuleType

# What users see. The other names are for other rooms.
__all__ = [
    "Account",
    "Box",
    "Categorical",
    "Code",
    "DPLloyd",
    "Date",
    "Dialect",
    "Domain",
    "DomainScaler",
    "GridSynopsis",
    "Guarantee",
    "Integer",
    "Job",
    "Ledger",
    "MarginalSynopsis",
    "Numeric",
    "Person",
    "PrivateKMeans",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivatePCA",
    "QuerySession",
    "Synopsis",
    "Time",
    "TreeSynopsis",
    "__version__",
    "accounts",
    "anonymity",
    "categories_from",
    "clustering",
    "datasets",
    "engines",
    "errors",
    "evaluation",
    "local",
    "metric",
    "models",
    "noise",
    "planning",
    "private_bounds",
    "private_categories",
    "private_pipeline",
    "reporting",
    "studies",
    "synopses",
]
