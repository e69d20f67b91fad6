from . import deconvolution as deconvolution
