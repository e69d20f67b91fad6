"""The unit of privacy that a schema states: what may be said of it, and how it is refused."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from discreet.errors import InvalidArgument, InvalidType, SchemaError

Unit: TypeAlias = Literal["row"]
#: What may be said of the unit of privacy.
UNITS: tuple[Unit, ...] = ("row",)


def read_unit(unit: Any) -> Unit | None:
    """Check what a user or a file says of the unit; None where nothing is said.

    Examples
    --------
    >>> read_unit("row")
    'row'
    """
    if unit is None:
        return None
    if isinstance(unit, Mapping):
        if "person" in unit:
            raise SchemaError(
                "[unit] person: promises about persons with a bounded number of rows are not there yet; write "
                "'unit = \"row\"' for a promise about one row"
            )
        raise InvalidType("unit", sorted(map(str, unit)), "the text 'row'", "unit='row'")
    if not isinstance(unit, str):
        raise InvalidType("unit", type(unit).__name__, "the text 'row'", "unit='row'")
    if unit not in UNITS:
        raise InvalidArgument("unit", unit, "'row'", "unit='row'")
    return "row"
