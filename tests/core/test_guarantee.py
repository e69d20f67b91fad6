"""A guarantee tells the truth about itself, survives storage, and shows tampering."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest

import discreet as dc
from discreet.errors import DiscreetError, FormatError, InvalidType


@pytest.fixture
def promise() -> dc.Guarantee:
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("size", 0.03)
    with ledger.parallel("leaves") as leaves:
        leaves.spend("early", 0.5)
        leaves.spend("late", 0.97, "parallel")
    return dc.Guarantee.from_ledger(
        ledger,
        model="central",
        parameters={"method": "grid", "cells": [16, 16]},
        domain=dc.Domain({"age": (0, 120), "sex": ["f", "m"]}),
        assumptions=["the bounds were declared without looking at the data"],
    )


def test_it_reads_like_a_sentence_an_auditor_could_sign(promise: dc.Guarantee) -> None:
    assert str(promise) == (
        "This release satisfies 1-differential privacy in the central model (neighbours: add or remove one row): no "
        "outcome is more than e^1 = 2.718 times as likely for one neighbour as for the other. The unit of privacy is "
        "one row. It was spent on size 0.03 (external); leaves 0.97 (parallel composition, the largest of early 0.5 "
        "(external), late 0.97 (parallel composition) (external)). It assumes that the bounds were declared "
        "without looking at the data. The noise was drawn outside of Discreet, so how it was drawn is not known. "
        f"Made by Discreet {dc.__version__}."
    )


def test_caveats_are_not_among_the_assumptions() -> None:
    caveat = "that a person is in the table, and what the group has in common, is not hidden"
    stated = ["an attacker knows nothing else; " + caveat, "no more is promised", "the bounds are public"]
    said = str(dc.Guarantee(model="syntactic", assumptions=tuple(stated)))
    assert "It assumes that an attacker knows nothing else; the bounds are public. That a person is in" in said
    assert "is not hidden. No more is promised." in said


def test_the_text_without_the_ledger(promise: dc.Guarantee) -> None:
    whole, brief = str(promise), promise.brief()
    start, end = whole.index(" It was spent on"), whole.index(" It assumes that")
    assert brief == whole[:start] + whole[end:]


def test_json_round_trip_keeps_everything(promise: dc.Guarantee) -> None:
    again = dc.Guarantee.from_json(promise.to_json(indent=2))
    assert again == promise
    assert again.domain == promise.domain
    assert again.parameters["cells"] == [16, 16]
    unnamed = dc.Guarantee("central", domain=dc.Domain.box([0, 0], [1, 1]))
    assert dc.Guarantee.from_json(unnamed.to_json()) == unnamed


def test_epsilon_is_what_the_ledger_adds_up_to_not_what_was_typed() -> None:
    ledger = dc.Ledger(epsilon=8)
    ledger.spend("count", 0.25)
    assert dc.Guarantee.from_ledger(ledger, model="central", parameters={"epsilon": 8}).epsilon == 0.25
    assert dc.Guarantee("central").epsilon == 0


def test_any_change_to_the_stated_facts_is_refused(promise: dc.Guarantee) -> None:
    facts = promise.to_dict()
    changes: list[tuple[list[Any], Any]] = [
        (["epsilon"], 0.5),
        (["spent"], "1/2"),
        (["ledger", 0, "amount"], "1/100"),
        (["ledger", 0, "amount"], "-3/100"),
        (["ledger", 0, "amount"], "1/0"),
        (["ledger", 0, "amount"], None),
        (["ledger", 0, "label"], 7),
        (["ledger", 1, "parts", 1, "amount"], "1/2"),
        (["ledger", 1, "kind"], "free"),
        (["ledger"], 3),
        (["model"], "trust me"),
        (["accounting"], "none"),
        (["seeded"], "no"),
        (["delta"], "much"),
        (["domain", "columns", "age", "bounds"], [5, 5]),
        (["domain"], []),
        (["format"], "something else"),
        (["format_version"], 99),
        (["parameters"], 3),
    ]
    for path, value in changes:
        bad = copy.deepcopy(facts)
        place = bad
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        with pytest.raises(FormatError):
            dc.Guarantee.from_dict(bad)
    for name in facts:
        less = {k: v for k, v in facts.items() if k != name}
        with pytest.raises(FormatError):
            dc.Guarantee.from_dict(less)
    for text in ["", "[]", "null", "{", '{"format": 1}', "\x00"]:
        with pytest.raises(FormatError):
            dc.Guarantee.from_json(text)


def test_the_seal_covers_payload_ledger_and_domain(promise: dc.Guarantee) -> None:
    sealed = promise.seal(b"weights")
    assert sealed.verify(b"weights")
    assert not sealed.verify(b"weightz")
    assert not promise.verify(b"weights")
    again = dc.Guarantee.from_json(sealed.to_json())
    assert again.verify(b"weights")
    for change in ('"seeded": false', '"seeded": true'), ("120.0", "121.0"), ('"size"', '"Size"'):
        text = sealed.to_json()
        assert change[0] in text
        assert not dc.Guarantee.from_json(text.replace(*change)).verify(b"weights")


def test_a_seeded_run_is_marked_and_the_seed_is_not_kept() -> None:
    promise = dc.Guarantee("central", seeded=True)
    assert "must not be published" in str(promise)
    assert "seed" not in {k for k in promise.to_dict() if k != "seeded"}


def test_each_model_has_its_neighbour_relation() -> None:
    relations = {m: dc.Guarantee(m).neighbours for m in ("central", "local", "metric", "shuffled", "syntactic")}  # type: ignore[arg-type]
    assert relations["central"] == "add or remove one row"
    assert len(set(relations.values())) == 5


def test_a_syntactic_promise_has_no_epsilon() -> None:
    promise = dc.Guarantee("syntactic", parameters={"k": 10, "l": None})
    assert promise.epsilon is None
    assert "k = 10" in str(promise)
    assert "no differential privacy" in str(promise)
    assert dc.Guarantee.from_json(promise.to_json()) == promise


def test_only_plain_data_can_be_promised() -> None:
    import numpy as np

    for bad in ({"rows": np.arange(3)}, {"x": math.nan}, {"x": math.inf}, {"x": object()}, [1]):
        with pytest.raises(InvalidType):
            dc.Guarantee("central", parameters=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidType):
        dc.Guarantee.from_ledger(3, model="central")  # type: ignore[arg-type]
    with pytest.raises(InvalidType):
        dc.Guarantee.from_ledger(dc.Ledger(1), model="central", epsilon=3)
    with pytest.raises(DiscreetError):
        dc.Guarantee("strong")  # type: ignore[arg-type]


def test_it_cannot_be_changed_after_the_fact(promise: dc.Guarantee) -> None:
    with pytest.raises(AttributeError):
        promise.seeded = False  # type: ignore[misc]
    with pytest.raises(TypeError):
        promise.parameters["cells"] = 0  # type: ignore[index]
    assert json.loads(promise.to_json())["epsilon"] == 1.0


def test_odd_facts_are_refused_not_crashed_on(promise: dc.Guarantee) -> None:
    facts = promise.to_dict()
    deep: dict[str, Any] = {"label": "x", "amount": "1", "kind": "sequential"}
    for _ in range(3000):
        deep = {"label": "x", "amount": "1", "kind": "sequential", "parts": [deep]}
    for change in (
        {"ledger": [{"label": "x", "amount": "1e400", "kind": "sequential"}]},
        {"ledger": [deep]},
        {"delta": 5.0},
        {"delta": math.nan},
        {"certified": True},
    ):
        with pytest.raises(FormatError):
            dc.Guarantee.from_dict({**facts, **change})


def test_the_stated_epsilon_is_never_rounded_down() -> None:
    ledger = dc.Ledger(epsilon=2)
    ledger.spend("count", 1.0000004)
    assert "1.00001-differential privacy" in str(dc.Guarantee.from_ledger(ledger, model="central"))


def test_it_survives_pickling(promise: dc.Guarantee) -> None:
    import pickle

    assert pickle.loads(pickle.dumps(promise)) == promise
