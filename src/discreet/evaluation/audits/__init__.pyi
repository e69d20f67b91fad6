from .neighbours import NeighbourPair as NeighbourPair
