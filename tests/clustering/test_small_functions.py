"""Small functions do what their examples in small_functions.txt show."""

import doctest
from pathlib import Path


def test_examples() -> None:
    found = doctest.testfile(str(Path(__file__).with_name("small_functions.txt")), module_relative=False)
    assert found.attempted > 50
    assert not found.failed
