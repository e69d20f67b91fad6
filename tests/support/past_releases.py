"""A release history in memory, for tests that compare many releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.anonymity import Release, ReleaseHistory
from discreet.anonymity.release.history import complete
from discreet.anonymity.release.record import ReleaseRecord


class Past(ReleaseHistory):
    """The records of some releases; a release that is made with it can be looked at, not saved."""

    def __init__(self, *releases: Release | ReleaseRecord) -> None:
        super().__init__(Path("/nowhere"))
        self._held = [getattr(each, "record", each) for each in releases]

    def records(self) -> list[Any]:
        return complete(self._held)
