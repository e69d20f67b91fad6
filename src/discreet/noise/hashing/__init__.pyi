from . import hash_kernels as hash_kernels
from .families import Words as Words
from .families import fingerprint as fingerprint
from .hash_kernels import TAG_BYTES as TAG_BYTES
from .hash_kernels import absorb as absorb
from .hash_kernels import begin as begin
from .hash_kernels import finish as finish
from .hash_kernels import siphash_bytes as siphash_bytes
