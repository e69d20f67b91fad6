"""The declared columns while a steward edits them."""

from discreet.studio.schema.sheet import Sheet, declared
from discreet.studio.schema.typed import Fault

__all__ = ["Fault", "Sheet", "declared"]
