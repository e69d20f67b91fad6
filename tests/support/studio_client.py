"""A browser that is signed in to a studio of its own, without a network."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.studio.app import Studio
from discreet.studio.guard import Guard

with warnings.catch_warnings():  # it asks for the successor of httpx, which few have yet
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

#: Where the studio seems to be served.
ORIGIN = "http://127.0.0.1:8000"


class Browser(TestClient):
    """A signed-in client; ``studio`` is what it talks to."""

    studio: Studio


@contextmanager
def browser(home: Path, language: str = "en", *, signed_in: bool = True) -> Iterator[Browser]:
    """Open a studio in a folder; redirects are followed, errors of the server are raised."""
    studio = Studio(home, Guard([ORIGIN.removeprefix("http://")]))
    studio.raises = True
    with Browser(studio.app, base_url=ORIGIN, headers={"origin": ORIGIN, "accept-language": language}) as client:
        client.studio = studio
        if signed_in:
            client.get("/", params={"token": studio.guard.token})
        yield client
