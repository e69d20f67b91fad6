"""Metrics for Prometheus: numbers of frames and reports, times of commits. Never the content of a report."""

from collections import Counter
from collections.abc import Iterator

from discreet.collector.service.committer import Committer


class Numbers:
    """Counters of one process since it started."""

    def __init__(self, service: str = "collector") -> None:
        self.service = service
        #: Of a shuffler: batches delivered, reports deleted, reports that wait for a batch, batches that wait.
        self.batches: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.waiting: Counter[str] = Counter()
        self.waiting_batches = 0
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
        mixes = self.service == "shuffler"
        for name, kind, meaning, values in (
            ("frames_total", "counter", "Frames that were written.", self.frames),
            ("reports_total", "counter", "Reports in those frames.", self.reports),
            ("repeated_frames_total", "counter", "Frames that had come before; not counted again.", self.again),
            *((("batches_total", "counter", "Batches that the collector has taken.", self.batches),
               ("lost_reports", "gauge", "Reports deleted so far: too small a batch, or a closed task.", self.lost),
               ("waiting_reports", "gauge", "Reports that wait for a batch.", self.waiting)) if mixes else ()),
        ):  # fmt: skip
            yield from self._head(name, kind, meaning)
            for task, n in values.items():
                yield f'discreet_{self.service}_{name}{{task="{task[:12]}"}} {n}'
        yield from self._head("refused_total", "counter", "Frames that were refused, by reason.")
        for (task, reason), n in self.refused.items():
            yield f'discreet_{self.service}_refused_total{{task="{task[:12]}",reason="{reason}"}} {n}'
        for name, kind, meaning, value in (
            ("commits_total", "counter", "Transactions.", committer.commits),
            ("commit_seconds_total", "counter", "Seconds spent in transactions.", round(committer.commit_seconds, 6)),
            ("waiting_bytes", "gauge", "Reports that wait to be written.", committer.waiting_bytes),
            ("ready", "gauge", "1 if the store takes reports.", int(committer.ready)),
            *((("waiting_batches", "gauge", "Batches that the collector has not taken.", self.waiting_batches),)
              if mixes else ()),
        ):  # fmt: skip
            yield from self._head(name, kind, meaning)
            yield f"discreet_{self.service}_{name} {value}"

    def _head(self, name: str, kind: str, meaning: str) -> Iterator[str]:
        yield f"# HELP discreet_{self.service}_{name} {meaning}"
        yield f"# TYPE discreet_{self.service}_{name} {kind}"
