from .frames import impossible as impossible
from .frames import split_frame as split_frame
