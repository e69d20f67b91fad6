"""The unit of work: what the command line, a job file, a page and a notebook start."""

from discreet.jobs.job import Job

__all__ = ["Job"]


def __dir__() -> list[str]:
    return __all__
