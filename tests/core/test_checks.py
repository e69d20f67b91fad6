"""Checks of arguments that reach the operating system."""

from __future__ import annotations

import pytest

from discreet.core import checks
from discreet.errors import DataSourceError


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70000), ("127.0.0.1", -1), ("x" * 300, 80)])
def test_a_port_that_does_not_exist_is_refused_and_not_wrapped(host: str, port: int) -> None:
    with pytest.raises(DataSourceError, match="cannot serve on"):
        checks.free_port(host, port)


def test_port_0_means_any_free_one() -> None:
    assert 0 < checks.free_port("127.0.0.1", 0) < 2**16
