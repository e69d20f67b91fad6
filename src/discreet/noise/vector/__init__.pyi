from . import isotropic as isotropic
from .caps import CapLaw as CapLaw
from .caps import cap_law as cap_law
from .caps import unit as unit
from .isotropic import IsotropicNoise as IsotropicNoise
from .isotropic import isotropic_laplace as isotropic_laplace
from .spherical import SphericalNoise as SphericalNoise
