from .declared import undeclared as undeclared
from .recount import recount as recount
from .shape import broken_facts as broken_facts
from .shape import misshapen as misshapen
