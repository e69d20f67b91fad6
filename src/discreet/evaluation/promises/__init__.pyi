from .declared import broken_facts as broken_facts
from .declared import misshapen as misshapen
from .declared import undeclared as undeclared
from .recount import recount as recount
from .stated import least_variance as least_variance
from .stated import misstated as misstated
from .stated import too_sure as too_sure
