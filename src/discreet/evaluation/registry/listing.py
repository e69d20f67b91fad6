"""The list of all audited mechanisms."""

from functools import cache

from discreet.errors import InvalidArgument
from discreet.evaluation.registry import central, local, metric, noise
from discreet.evaluation.registry.mechanisms import AuditedMechanism


@cache
def _listed() -> dict[str, AuditedMechanism]:
    rooms = (noise, central, local, metric)
    return {entry.name: entry for room in rooms for entry in room.entries()}


def audited_mechanisms() -> dict[str, AuditedMechanism]:
    """Return every mechanism that promises an ε, by name. For anonymous tables see `audited_tables`.

    Examples
    --------
    >>> names = list(audited_mechanisms())
    >>> names[0], "local.DirectResponse" in names, len(names) > 60
    ('noise.discrete_laplace', True, True)
    """
    return dict(_listed())


def audited_mechanism(name: str) -> AuditedMechanism:
    """Return one mechanism; the error lists similar names.

    Examples
    --------
    >>> audited_mechanism("metric.Piecewise/duchi").epsilon
    1.0
    """
    listed = _listed()
    if name in listed:
        return listed[name]
    word = str(name).lower()
    near = [n for n in listed if word in n.lower() or n.partition("/")[0].lower() in word][:6]
    shown = ", ".join(near) if near else ", ".join(sorted({n.partition(".")[0] + ".*" for n in listed}))
    raise InvalidArgument("mechanism", name, f"a name of the list, such as {shown}", "discreet audit --list")
