"""Metrics for Prometheus: numbers of frames and reports, times of commits. Never the content of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.collector.service.committer import Committer


class Numbers:
    """Counters of one process since it started."""

    def __init__(self) -> None:
        self.frames: Counter[str] = Counter()
        self.reports: Counter[str] = Counter()
        self.again: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()

    def took(self, task: str, n: int) -> None:
        """Count a frame that was written."""
        self.frames[task] += 1
        self.reports[task] += n

    def text(self, committer: Committer) -> str:
        """Return the counters in the text format of Prometheus."""
        return "\n".join(self._lines(committer)) + "\n"

    def _lines(self, committer: Committer) -> Iterator[str]:
        for name, meaning, values in (
            ("frames", "Frames that were written.", self.frames),
            ("reports", "Reports in those frames.", self.reports),
            ("repeated_frames", "Frames that had come before, acknowledged and not counted again.", self.again),
        ):
            yield from _head(f"{name}_total", "counter", meaning)
            for task, n in values.items():
                yield f'discreet_collector_{name}_total{{task="{task[:12]}"}} {n}'
        yield from _head("refused_total", "counter", "Frames that were refused, by reason.")
        for (task, reason), n in self.refused.items():
            yield f'discreet_collector_refused_total{{task="{task[:12]}",reason="{reason}"}} {n}'
        for name, kind, meaning, value in (
            ("commits_total", "counter", "Transactions.", committer.commits),
            ("commit_seconds_total", "counter", "Seconds spent in transactions.", round(committer.commit_seconds, 6)),
            ("waiting_bytes", "gauge", "Reports that wait to be written.", committer.waiting_bytes),
            ("ready", "gauge", "1 if the store takes reports.", int(committer.ready)),
        ):
            yield from _head(name, kind, meaning)
            yield f"discreet_collector_{name} {value}"


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP discreet_collector_{name} {meaning}"
    yield f"# TYPE discreet_collector_{name} {kind}"
