from .answer import Answer as Answer
from .plan import QueryPlan as QueryPlan
from .session import QuerySession as QuerySession
