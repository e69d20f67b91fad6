from .declared import undeclared as undeclared
from .neighbours import NeighbourPair as NeighbourPair
from .recount import recount as recount
from .shape import misshapen as misshapen
