"""The studio: a page on this computer that leads from a table to a release with evidence.

It holds no method of its own. What it starts is the same `Job` that the command line and job files start; what it
draws comes from `reporting`, `planning` and released artifacts.
"""

__all__ = ["Studio", "serve"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name == "Studio":
        from discreet.studio.app import Studio

        return Studio
    if name == "serve":
        from discreet.studio.serve import serve

        return serve
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
