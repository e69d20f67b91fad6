from . import deconvolution as deconvolution
from .kmeans import read_law as read_law
