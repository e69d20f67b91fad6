from .local import of_mechanism as of_mechanism
from .mechanisms import AuditedMechanism as AuditedMechanism
from .mechanisms import audited_mechanism as audited_mechanism
from .mechanisms import audited_mechanisms as audited_mechanisms
from .tables import audited_tables as audited_tables
