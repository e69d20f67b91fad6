"""A server of files on this computer, for anyone who downloads."""

from collections.abc import Iterator

import pytest

from file_server import FileServer, serving


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as found:
        yield found
