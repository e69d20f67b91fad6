"""The description of a marginal synopsis: names, units, short texts, and shares that stay shares."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InvalidArgument, InvalidType
from discreet.reporting import report_facts
from discreet.reporting.pages.report import report_page
from discreet.synopses import Marginal
from discreet.synopses.marginals.synopsis import ModelSynopsis
from discreet.synopses.queries import evenness

NAMES = ("time", "venue", "lat", "kind", "sort", "class")


@lru_cache
def made(delta: float = 1e-6, epsilon: float = 1.0) -> dc.Synopsis:
    rng = np.random.default_rng(0)
    base = rng.integers(0, 4, 2000)
    table = pd.DataFrame({name: (base + rng.integers(0, 2, 2000)) % 4 for name in NAMES})
    domain = dc.Domain({name: dc.Integer(0, 3) for name in NAMES})
    return dc.MarginalSynopsis(epsilon, domain, delta=delta, random_state=0).fit(table).synopsis_


def test_columns_are_named_as_well_as_numbered():
    measured = made().measured
    assert measured is not None
    pair = next(m.columns for m in measured.measured if len(m.columns) == 2)
    assert measured.says([NAMES[c] for c in pair]) == measured.says(pair) == "measured"
    assert measured.says("time") == "measured"
    with pytest.raises(InvalidArgument, match=r"did you mean 'venue'\?"):
        measured.says(["venu"])
    for wrong in ("nonsense", 6, -1, True, None):
        with pytest.raises(InvalidArgument, match="columns of the synopsis"):
            measured.says([wrong])


def test_names_are_no_part_of_the_seal(tmp_path: Path):
    made().save(tmp_path / "s.parquet")
    again = dc.Synopsis.load(tmp_path / "s.parquet")
    assert again == made()
    assert again.measured is not None
    assert again.measured.says(["time"]) == "measured"


def test_texts_are_short_and_say_delta_and_model_rows():
    s = made()
    assert len(repr(s.measured)) < 100
    for text in (repr(s), re.sub("<[^>]*>", " ", s._repr_html_())):
        assert re.search(r"epsilon\s+[\d.]+ at delta 1e-06", text)
        assert "model row" in text
        assert "leaves" not in text
    pure = made(delta=0)
    assert "delta" not in repr(pure)


@pytest.mark.parametrize("delta", [1e-6, 0])
def test_the_promise_groups_marginals_and_the_ledger_keeps_them(delta: float):
    promise = made(delta, 20.0).guarantee
    text = str(promise)
    sign = "ρ " if delta else ""
    columns = promise.ledger[0]
    assert f"6 marginals of one column, {sign}{float(columns.amount):.6g} in all" in text
    assert f"{columns.label} {sign}{float(columns.amount):.6g} (the sum of" in text
    for line in promise.ledger[1:]:
        pairs = [part for part in line.parts if part.label.count(" by ") == 1]
        if len(pairs) > 4:
            told = f"{len(pairs)} marginals of two columns, {sign}{float(sum(p.amount for p in pairs)):.6g} in all"
            assert told in text
            assert pairs[0].label not in text
    assert "marginals of two columns" in text
    assert len(columns.parts) == len(NAMES)


def test_the_ledger_of_a_page_is_in_the_unit_it_was_paid_in(tmp_path: Path):
    made().save(tmp_path / "s.parquet")
    facts = report_facts(tmp_path / "s.parquet")
    promise = made().guarantee
    assert all("epsilon" not in line for line in facts["ledger"])
    top = [line["rho"] for line in facts["ledger"] if line["depth"] == 0]
    assert sum(top) == pytest.approx(float(promise.spent)) == facts["promise"]["rho"]
    # Marginals of the same rows add up, whatever their own composition is.
    below = [line["rho"] for line in facts["ledger"] if line["depth"] == 1]
    assert sum(below) == pytest.approx(float(promise.spent))
    page = report_page(facts)
    section = page[page.index("The ledger</h2>") :].partition("</section>")[0]
    assert re.search(r"<th[^>]*>ρ</th>", section)
    assert not re.search(r"<th[^>]*>ε</th>", section)
    assert "dearest" not in section
    assert "one step over disjoint cells" in section
    assert "parallel" not in section


def test_rows_are_as_many_as_the_release_says():
    assert made().sample(rng=0).num_rows == round(made().total)


def test_bins_that_are_no_mapping_are_refused_with_what_works():
    with pytest.raises(InvalidType, match=r"bins=\{'lat': 4\}"):
        made().table("lat", bins=4)  # type: ignore[arg-type]
    assert len(made().table("lat", bins={"lat": 4}).to_dict()["count"]) == 4


def test_shares_stay_between_zero_and_one_and_say_that_they_are_modelled():
    s = made(0, 0.05)
    few = dict.fromkeys(NAMES, (0, 1))
    found = s.share(few)
    reach = 2.5 * found.std_error
    assert found.value - reach < 0
    low, high = found.interval(0.99)
    assert 0 <= low <= high <= 1
    count = s.count(few)
    assert "modelled" in count.note
    assert found.note == found.to_dict()["note"] == count.note
    assert count.note in repr(found)
    assert (count / s.count()).note == count.note


def test_the_error_of_the_model_is_called_that():
    s = made()
    base = s.count(time=(0, 1))
    answers = [base, base + s.count(kind=(1, 2)), 2 * base, base / s.count(kind=(0, 2)), s.ask("lat >= 2 and kind = 1"),
               s.share({"time": (0, 1)}), s.mean("lat"), s.quantile("lat", 0.5), s.cdf("lat", 2)]  # fmt: skip
    for answer in answers:
        assert answer.modelled
        assert answer.model_error == answer.evenness_error
        assert (", model " in repr(answer)) == (answer.model_error > 0)
        told = f"{answer!r} {answer.note} {answer._repr_html_()} {answer.to_dict()}"
        assert "evenness" not in told
        assert "leaves" not in told
        assert answer.to_dict()["model_error"] == answer.model_error
    assert sum(answer.model_error > 0 for answer in answers) > 2
    for table in (s.marginal("time"), s.table("time", "kind")):
        names = table.to_arrow().column_names
        assert "model_error" in names
        assert "evenness_error" not in names
    assert "evenness" not in str(s.marginal("time").to_dict())
    boxes = dc.GridSynopsis(1.0, s.domain.select(["time"]), rule=2, random_state=0).fit([[1]] * 99).synopsis_
    cut = boxes.count(time=(0, 0))
    assert ", non-uniformity " in repr(cut)
    assert (cut.model_error, cut.modelled) == (0, False)


def test_ends_of_bins_are_distinguished_in_a_notebook():
    def seen(bins, kind="numeric"):
        counts = np.ones(len(bins) - 1)
        found = Marginal("x", np.array(bins), None, counts, counts, None, kind=kind)._repr_html_()
        rows = [re.findall(r"<td[^>]*>([^<]*)<", line)[:2] for line in found.split("</tr>")]
        return [tuple(row) for row in rows if row]

    assert seen([40.46, 40.52, 41.0]) == [("40.46", "40.52"), ("40.52", "41")]
    assert seen([39.5, 40.5, 42.5, 1000.5], "integer") == [("40", "40"), ("41", "42"), ("43", "1,000")]
    day = float(np.datetime64("2025-01-01").astype(int))
    assert seen([day, day + 31, day + 59], "date")[1] == ("2025-02-01", "2025-02-28")


def test_a_question_looks_at_what_was_measured_once(monkeypatch: pytest.MonkeyPatch):
    s, looks = made(), []

    look = ModelSynopsis._of_model

    def watched(*given):
        looks.append(given)
        return look(*given)

    monkeypatch.setattr(ModelSynopsis, "_of_model", watched)
    s.count(time=(0, 1))
    assert len(looks) == 1
    looks.clear()
    assert len(s.marginal("time").counts) == len(looks)
    looks.clear()
    found = s.quantile("lat", 0.5)
    assert len(looks) <= len(found.curve[0]) + 2  # places around it, the quantile itself and the number of rows


def test_a_mean_does_not_search_for_what_lies_next_to_the_rows_of_a_model(monkeypatch: pytest.MonkeyPatch):
    """Among 30,000 rows of 15 columns that search took seconds, and the error of the model does not use it."""
    s = made()
    expected = s.mean("lat")
    monkeypatch.setattr(evenness, "of_values", lambda *given: pytest.fail("searched"))
    assert s.mean("lat") == expected
    assert expected.evenness_error > 0
