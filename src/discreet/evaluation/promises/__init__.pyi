from .declared import undeclared as undeclared
from .kept_facts import broken_facts as broken_facts
from .recount import recount as recount
from .shape import misshapen as misshapen
