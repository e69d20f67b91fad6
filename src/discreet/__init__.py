"""Discreet: turn a table of sensitive records into something that may be published.

>>> import discreet as dc
>>> domain = dc.Domain({"age": (0, 120), "income": (0, 1e6), "sex": ["f", "m"]})
>>> ledger = dc.Ledger(epsilon=1.0)
>>> noisy = 1000 + dc.noise.discrete_laplace(scale=1 / ledger.spend("count", 0.25))
>>> float(ledger.remaining)
0.75

Names load on first use, so that ``discreet --help`` does not wait for the numerical libraries.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from discreet._version import __version__ as __version__
from discreet.core import door
from discreet.errors import MissingStudies


def _elsewhere(name: str) -> str:
    """Name the room that has what was looked for here."""
    for room in __all__:
        if find_spec(f"discreet.{room}") and name in getattr(import_module(f"discreet.{room}"), "__all__", ()):
            return f"; try discreet.{room}.{name}"
    return ""


_load, __dir__, __all__ = door(__name__, __file__, _elsewhere)
if find_spec("discreet_studies") is None:  # a package of its own: help and dir list only what can be loaded
    __all__.remove("studies")


def __getattr__(name: str) -> Any:
    if name != "studies":
        return _load(name)
    if find_spec("discreet_studies") is None:
        raise MissingStudies
    return import_module("discreet_studies")
