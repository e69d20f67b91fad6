"""Fixtures of the tests of anonymous tables."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _small_tables_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grow the small tables of each test as in a new process."""
    monkeypatch.setattr("discreet.anonymity.growth.grow._plain_steps", [0])


@pytest.fixture(autouse=True)
def _kernels_if_indices_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grow small tables with kernels too where `test_array_bounds` checks every index."""
    if os.environ.get("NUMBA_BOUNDSCHECK"):
        monkeypatch.setattr("discreet.anonymity.growth.grow._SMALL", 0)
