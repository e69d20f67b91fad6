"""Settings of mechanisms at the shell: lists work, and what an error suggests works when it is typed back."""

import json
import re
import shlex
from pathlib import Path

import pytest

import discreet as dc
from command_line import output, run
from discreet.errors import DiscreetError

CREATE = ("collect", "task", "create", "--name", "x", "--epsilon", "2", "--wanted", "1000")
ENCODE = ("sketch", "encode", "numbers.txt", "--epsilon", "2", "-o", "out.bin")
WAVE = ("-m", "square-wave")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("numbers.txt").write_text("1\n2\n")
    Path("two.csv").write_text("a,b\n" + "40,0.5\n" * 4000)
    Path("colours.txt").write_text("red\ngreen\nblue\n")


def refused(*words: str) -> str:
    """Return the error of a command."""
    with pytest.raises(DiscreetError) as error:
        run(*words)
    return str(error.value)


@pytest.mark.parametrize("low", ["0,0", "[0.0, 0.0]"])
def test_the_bounds_of_several_numbers_are_lists(low: str) -> None:
    bounds = ("-m", "mean-vector", "--set", f"low={low}", "--set", "high=100,1")
    assert json.loads(output(*CREATE, *bounds, "--json"))["description"]["mechanism"]["high"] == ["100", "1"]
    output("sketch", "encode", "two.csv", "--epsilon", "2", *bounds, "-o", "all.bin", "--json")
    output("sketch", "encode", "two.csv", "--epsilon", "2", *bounds, "--column", "a,b", "-o", "named.bin", "--json")
    for file in ("all.bin", "named.bin"):
        reports = dc.local.Reports.from_bytes(Path(file).read_bytes())
        found = reports.mechanism.estimate(reports.mechanism.aggregate(reports))
        assert all(abs(found.mean - [40, 0.5]) < 6 * found.std_error)  # fails by chance once in 10^8 runs


@pytest.mark.parametrize(
    ("words", "keep", "expected"),
    [
        ((*WAVE, "--set", "width=1024"), (*WAVE, "--set", "low=0", "--set", "high=9"), "leaving it out"),
        ((*WAVE, "--set", "low=1", "--set", "hgh=60000"), (*WAVE, "--set", "low=1"), "--set high=60000"),
        ((*WAVE, "--set", "low=1"), (*WAVE, "--set", "low=1"), "--set high=2"),
        ((*WAVE, "--set", "low=5", "--set", "high=5"), (*WAVE, "--set", "low=5"), "--set high=10"),
        (WAVE, WAVE, "--set low=0 --set high=100"),
        (("-m", "mean-vector", "--set", "low=0,3"), ("-m", "mean-vector", "--set", "low=0,3"), "--set high=1,6"),
        (("-m", "mean-vector"), ("-m", "mean-vector"), "--set low=0,0 --set high=100,100"),
        (("-m", "squarewave", "--set", "low=1", "--set", "high=2"), ("--set", "low=1", "--set", "high=2"),
         "--mechanism square-wave"),
        (("--set", "low=1", "--set", "high=2"), ("--set", "low=1", "--set", "high=2"), "--mechanism square-wave"),
        (("--domain", "colours.txt", "--set", "width=64"), ("--domain", "colours.txt"), "leaving it out"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verb", [CREATE, ENCODE])
def test_what_an_error_suggests_works_when_it_is_typed_back(
    verb: tuple[str, ...], words: tuple[str, ...], keep: tuple[str, ...], expected: str
) -> None:
    told = refused(*verb, *words)
    fix = re.sub(r"\s+", " ", told).rsplit("; try ", 1)[1].strip()
    assert fix == expected
    more = () if fix == "leaving it out" else tuple(shlex.split(fix))
    if verb == ENCODE and "mean-vector" in words:
        verb = (*verb[:2], "two.csv", *verb[3:])
    output(*verb, *keep, *more, "--json")


def test_settings_are_refused_next_to_a_file_that_has_them() -> None:
    output(*ENCODE, *WAVE, "--set", "low=0", "--set", "high=9", "--json")
    assert "left out" in refused(*ENCODE[:-1], "more.bin", "-m", "out.bin", "--set", "high=5")


def test_a_task_is_not_offered_a_mechanism_that_it_cannot_have() -> None:
    assert "fragment-puzzle" not in refused(*CREATE, "-m", "none")
    assert "fragment-puzzle" not in refused(*CREATE, "-m", "fragment-puzzle").split("got")[0]


def test_fewer_honest_devices_than_a_batch_has_are_suggested() -> None:
    key = json.loads(output("collect", "key", "--data", "shuffled", "--json"))["keys"][-1]
    words = (*CREATE, "--domain", "colours.txt", "--shuffler", key, "--batch", "500")
    assert "honest=250" in refused(*words, "--honest", "600").replace("--honest ", "honest=")
