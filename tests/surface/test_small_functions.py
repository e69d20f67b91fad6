"""Functions inside the rooms do what the examples in ``tests/ROOM/small_functions.txt`` show."""

import doctest
from pathlib import Path

import pytest

EXAMPLES = sorted(Path(__file__).parents[1].glob("*/small_functions.txt"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.parent.name)
def test_examples(file: Path) -> None:
    found = doctest.testfile(str(file), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert not found.failed
