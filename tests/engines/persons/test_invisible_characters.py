"""Invisible characters do not turn one person into two: in keys, releases, `risk` and ledgers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.engines.tables.same import same_key
from discreet.errors import InvalidArgument
from discreet.metric import UserLedger

#: A character of every kind that is not seen.
UNSEEN = "\u200b\u200d\u2060\ufeff\ufe0f\ufe00\u034f\u3164\u115f\u1160\uffa0\u180b\u180d\u17b4\u2065\x00\x01\x7f\x9f"
UNSEEN += "\U000e0101\U000e0041\u00ad"
JOSE = ["José", *(f"Jose{c}\u0301" for c in UNSEEN), *(f"{c}José{c}" for c in UNSEEN), "\u2028José\u2800"]
FORMS = [
    JOSE,
    ["7", "７", "\ufe0f０７", "⑦", "7\u200b.0", "7\u2060e\u20600"],
    ["-7", "\u22127", "－7", "\u20137.0"],
    ["1000", "1e3", "1e0000000003", "1e+00000000000000000000003", "１０００"],
    ["1e400", "10e399", "0.1e401"],
    ["1e1000000000000000000000", "10e999999999999999999999"],
    ["fig", "ﬁg"],
    ["Ann-Lee", "Ann\u2010Lee", "Ann\u2011Lee"],
    ["inf", "+Infinity", "INF"],
]


@pytest.mark.parametrize("names", FORMS, ids=lambda names: ascii(names[0]))
def test_spellings_that_look_alike_have_one_key(names):
    assert len(set(same_key(pa.array(names)).to_pylist())) == 1


def test_what_is_no_number_is_no_one():
    assert same_key(pa.array(["nan", "-nan", "+NaN", "\u2212nan", "\u200b", "\u3164 ", None])).null_count == 7


def test_different_people_stay_different():
    names = ["José", "Jose", "jose", "7", "-7", "70", "1e3", "1e-3", "inf", "-inf", "nano", "Ann Lee", "AnnLee", "𝟟a"]
    assert len(set(same_key(pa.array(names)).to_pylist())) == len(names)


pieces = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from(
        [*UNSEEN, *" \n\u2003\u2800¨´\u0301\u0308\u0338-\u2212\u2013eE+.017７", "00000", "nan", "inf", "가"]
    ),
)


HARD = ["1e" + "9" * 1200, "e\u200b\u0301", "-1" + "0" * 35, "0." + "0" * 34 + "1", "1e35", "-1e-34", "\x00nan\x00"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(pieces, max_size=12).map("".join), min_size=1, max_size=20))
@example(HARD)
def test_the_key_of_a_key_is_itself(texts):
    once = same_key(pa.array(texts, pa.large_string()))
    assert same_key(once).equals(once)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.data())
def test_an_unseen_character_anywhere_changes_no_key(text, data):
    at = data.draw(st.integers(0, len(text)))
    spelled = text[:at] + data.draw(st.sampled_from(UNSEEN)) + text[at:]
    first, second = same_key(pa.array([text, spelled], pa.large_string())).to_pylist()
    assert first == second


@pytest.mark.parametrize("names", FORMS[:4], ids=lambda names: ascii(names[0]))
def test_no_crowd_is_made_of_one_person(names, tmp_path):
    domain = {"age": {"bounds": [0, 99], "role": "quasi-identifier"}, "who": {"bounds": [0, 9], "role": "person"}}
    table = pa.table({"age": [30] * len(names), "who": names})
    with pytest.raises(InvalidArgument, match=r"number of persons in the release \(1\)"):
        dc.anonymity.DensityTree(k=2, domain=dc.Domain(domain)).fit_transform(table)
    assert dc.anonymity.risk(table, ["age"], person="who").k == 1
    if "\x00" not in "".join(names):
        pa_csv.write_csv(table, tmp_path / "t.csv")
        assert dc.anonymity.risk(tmp_path / "t.csv", ["age"], person="who").k == 1


def test_no_budget_is_gained_by_an_unseen_character():
    ledger = UserLedger(lifetime=1)
    ledger.charge(["José"], 1)
    assert not ledger.allowed(JOSE, 1).any()
    ledger.charge(["7"], 1)
    assert not ledger.allowed(["７"], 1)[0]


def test_declared_categories_still_keep_apart_what_only_their_text_tells():
    declared = dc.Domain({"who": {"categories": ["x²", "x2"]}}).column("who")
    keys = same_key(pa.array(["x²", "x2", "x\u200b2", "x²"]), declared).to_pylist()
    assert keys[0] == keys[3]
    assert keys[0] != keys[1]
