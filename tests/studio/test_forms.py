"""Options of jobs as fields: every one has words, and what is written into a field is read back."""

import math
from typing import Any

import pytest

from discreet.jobs.declare import check
from discreet.jobs.kinds import KINDS
from discreet.studio import forms, words

GOALS = ("synopsis", "synthesize", "cluster", "anonymize", "perturb", "sketch")
OPTIONS = [(KINDS[goal], option) for goal in GOALS for option in KINDS[goal].parameters]
EN, DE = words.speaker("en"), words.speaker("de")


def test_every_option_has_a_label_and_a_help_in_every_language_and_the_english_one_is_its_own() -> None:
    for kind, option in OPTIONS:
        assert forms.texts(kind.name, option, EN)[1].lower().rstrip(".") == option.help.lower().rstrip("."), (
            kind.name,
            option.name,
        )
        assert forms.texts(kind.name, option, DE)[1] != forms.texts(kind.name, option, EN)[1], (kind.name, option.name)
        assert forms.texts(kind.name, option, DE)[0]


def test_an_example_that_is_written_into_a_field_is_read_back() -> None:
    for kind, option in OPTIONS:
        made = forms.field(kind, option, EN, {option.name: option.example})
        read = forms.read(kind, option, made.text, DE)
        assert read == check(kind, option, option.example), (kind.name, option.name)
        assert type(read) is type(check(kind, option, option.example)) or isinstance(read, (int, float))
        if option.default is not None:
            assert forms.read(kind, option, made.default, DE) == option.default


@pytest.mark.parametrize(
    ("goal", "name", "text", "value"),
    [
        ("synopsis", "epsilon", "0,5", 0.5),
        ("synopsis", "epsilon", " 1e-1 ", 0.1),
        ("synopsis", "rows", "1 000 000", 1_000_000),
        ("synopsis", "rows", "1.000.000", 1_000_000),
        ("anonymize", "k", "1.500", 1500),
        ("synopsis", "epsilon", "1.1250", 1.125),
        ("synopsis", "shares", "0,2; 0,3; 0,5", [0.2, 0.3, 0.5]),
        ("synopsis", "rule", "12", 12),
        ("synopsis", "rule", "adaptive", "adaptive"),
        ("cluster", "n_clusters", "auto", "auto"),
        ("anonymize", "widths", "age=5,10\r\nincome = 100", {"age": [5, 10], "income": [100]}),
        ("anonymize", "sensitive", '"pay, gross", illness', ["pay, gross", "illness"]),
        ("synopsis", "shares", "0.2, 0.3, 0.5", [0.2, 0.3, 0.5]),
        ("synopsis", "partitioner", "median, binary", ["median", "binary"]),
        ("synopsis", "partitioner", "median", "median"),
        ("synopsis", "delta", "", None),
        ("synopsis", "epsilon", "∞", math.inf),
    ],
)
def test_numbers_and_lists_are_read_as_people_type_them(goal: str, name: str, text: str, value: Any) -> None:
    kind = KINDS[goal]
    assert forms.read(kind, kind.option(name), text) == value


@pytest.mark.parametrize(
    ("goal", "name", "text", "said"),
    [
        ("synopsis", "epsilon", "much", "keine Zahl"),
        ("synopsis", "epsilon", "1,000", "Schreiben Sie 1000, .* oder 1,0 "),
        ("synopsis", "epsilon", "1.125", "Schreiben Sie 1125, .* oder 1,1250 "),
        ("synopsis", "rows", "20.000", "Schreiben Sie 20000, .* oder 20,0 "),
        ("synopsis", "shares", "0,5", "Strichpunkt"),
        ("synopsis", "epsilon", "0", "mehr als 0"),
        ("synopsis", "delta", "1", "weniger als 1"),
        ("anonymize", "k", "2.5", "ganze Zahl"),
        ("anonymize", "k", "1", "mindestens 2"),
        ("anonymize", "k", "", "ausgefüllt"),
        ("anonymize", "method", "magic", "density-tree"),
        ("cluster", "n_clusters", "many", "auto, oder eine Zahl"),
        ("anonymize", "grid", "age", "age=12"),
        ("anonymize", "grid", "age=0", "mindestens 1"),
        ("anonymize", "t", "2", "höchstens 1"),
    ],
)
def test_what_cannot_be_used_is_said_in_the_language_of_the_page(goal: str, name: str, text: str, said: str) -> None:
    kind = KINDS[goal]
    with pytest.raises(forms.Wrong, match=said):
        forms.read(kind, kind.option(name), text, DE)


def test_an_error_about_two_options_calls_them_as_the_page_does() -> None:
    kind = KINDS["synopsis"]
    error = kind.wrong("rule", 8, lambda say: f"used with {say('method', 'grid')}", ("method", "grid"))
    assert forms.said(error, EN) == "“Rule” can only be used with “Method”: grid; try “Method”: grid"
    flag = kind.wrong("fresh", 1, "true or false")
    assert "„Erneut freigeben“ ankreuzen" in forms.said(flag, DE)


def test_a_number_is_never_written_so_that_it_is_asked_back() -> None:
    option = KINDS["synopsis"].option("epsilon")
    for value in (1.125, 0.125, 12.345, 1.5, 2e-7):
        assert forms.read(KINDS["synopsis"], option, forms.write(option, value), DE) == value
