from .declared import broken_facts as broken_facts
from .declared import misshapen as misshapen
from .declared import undeclared as undeclared
from .recount import recount as recount
from .stated import misstated as misstated
