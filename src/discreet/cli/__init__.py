"""The command line: one file per verb. Each builds a job and shows what came of it."""

from collections.abc import Sequence

__all__ = ["main"]


def __dir__() -> list[str]:
    return __all__


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; the entry point of ``discreet``."""
    from discreet.cli.app import main as run

    run(args)
