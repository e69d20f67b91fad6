"""Questions in words: what they mean, what is refused, and that no text does anything else."""

from __future__ import annotations

import ast
import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, InvalidArgument, InvalidType
from discreet.synopses import BoxSynopsis, Synopsis
from discreet.synopses.queries.ask import _HINTS, parse
from handmade_synopses import promise

DOMAIN = dc.Domain(
    {
        "age": dc.Integer(0, 9),
        "sex": {"categories": ["f", "m"], "missing": "own"},
        "cost": (0, 4),
        "born": ("2000-01-01", "2000-01-04"),
        "marital-status": ["single", "it's complicated"],
        "code": [1, 2, 3],
    }
)


def fine() -> Synopsis:
    """Return one leaf for every age, sex (or none) and unit of cost, each with a weight of its own."""
    leaves = list(itertools.product(range(10), (0, 1, math.nan), range(4)))
    rest = [(DOMAIN.low[j], DOMAIN.high[j]) for j in (3, 4, 5)]
    return BoxSynopsis(
        DOMAIN,
        lower=[[a - 0.5, s, c, *(low for low, _ in rest)] for a, s, c in leaves],
        upper=[[a + 0.5, s + 1, c + 1, *(high for _, high in rest)] for a, s, c in leaves],
        weights=[1000 + i * i for i in range(len(leaves))],
        variances=[1.0] * len(leaves),
        guarantee=promise(),
    )


def truth(told: str) -> float:
    """Return the count by going through the leaves with Python's own logic."""
    found = 0
    for i, (a, s, c) in enumerate(itertools.product(range(10), ("f", "m", None), range(4))):
        if eval(told, {}, {"age": a, "sex": s, "cost": c + 0.5}):
            found += 1000 + i * i
    return found


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("age between 3 and 5 and sex = 'f'", "3 <= age <= 5 and sex == 'f'"),
        ("age < 3 or age > 7", "age < 3 or age > 7"),
        ("age <= 3 AND NOT age = 2", "age <= 3 and age != 2"),
        ("3 <= age < 6", "3 <= age < 6"),
        ("6 > age", "age < 6"),
        ("age in (1, 3, 5)", "age in (1, 3, 5)"),
        ("age not in (1, 3, 5) and age not between 7 and 8", "age not in (1, 3, 5, 7, 8)"),
        ("age != 4", "age != 4"),
        ("age < 2.5", "age < 2.5"),
        ("age = 2.5", "False"),
        ("age > 100 or age < -3", "False"),
        ("sex != 'f'", "sex == 'm'"),
        ("not sex = 'f'", "sex == 'm'"),
        ("sex is missing", "sex is None"),
        ("sex is null or sex = 'm'", "sex != 'f'"),
        ("not (sex is missing)", "sex is not None"),
        ("sex is not missing and age = 1", "sex is not None and age == 1"),
        ("sex = 'f' or age < 3", "sex == 'f' or age < 3"),  # true of a row whose sex is missing and whose age is 2
        ("not (sex = 'f' or age < 3)", "sex == 'm' and age >= 3"),
        (
            "(sex = 'f' and cost < 2) or (age = 1 and cost >= 1)",
            "(sex == 'f' and cost < 2) or (age == 1 and cost >= 1)",
        ),
        ("sex in ('f', 'm') and cost between 1 and 3", "sex is not None and 1 <= cost <= 3"),
        ('"age" == 3 and `sex` <> "m"', "age == 3 and sex == 'f'"),
        ("born >= '2000-01-01'", "True"),
        ("age is not missing", "True"),
        ("age is missing", "False"),
    ],
)
def test_a_question_counts_the_rows_it_is_true_of(question: str, told: str) -> None:
    answer = fine().ask(question)
    assert answer.value == pytest.approx(truth(told))
    assert answer.evenness_error == 0


def test_days_names_and_numbered_categories_are_read() -> None:
    assert parse(DOMAIN, "born = '2000-01-02'") == [{3: [(10957.5, 10958.5)]}]
    assert parse(DOMAIN, "born <= '2000-01-02'") == [{3: [(-math.inf, 10958.5)]}]
    assert parse(DOMAIN, "born > '2000-01-02'") == [{3: [(10958.5, math.inf)]}]
    assert parse(DOMAIN, "`marital-status` = 'it''s complicated'") == [{4: [(1.0, 2.0)]}]
    assert parse(DOMAIN, "code in (1, 3)") == [{5: [(0.0, 1.0), (2.0, 3.0)]}]
    assert parse(DOMAIN, "code = '2'") == [{5: [(1.0, 2.0)]}]
    assert parse(DOMAIN, "age > 3 or age <= 3") == [{}]


WORDS = ["age", "sex", "cost", "born", "code", "and", "or", "not", "between", "in", "is", "missing", "(", ")", ",", "<"]
WORDS += [
    "<=",
    "=",
    "!=",
    ">",
    "'f'",
    "'m'",
    "'2000-01-02'",
    "3",
    "2.5",
    "-1e400",
    "'",
    '"',
    "`",
    ";",
    "agee",
    "1_0",
    "٣",
]


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)))
@settings(max_examples=200, deadline=None)
def test_any_text_is_answered_or_refused_with_a_question_that_can_be_asked(text: str) -> None:
    try:
        boxes = parse(DOMAIN, text)
    except DiscreetError as error:
        said = str(error)
        if said.endswith(tuple(f"try {hint}" for hint in _HINTS)):
            return
        boxes = parse(DOMAIN, ast.literal_eval(said[said.rindex("try question=") + len("try question=") :]))
    for one, other in itertools.combinations(boxes, 2):  # they do not overlap
        assert any(
            all(b <= c or d <= a or math.isnan(a) != math.isnan(c) for a, b in one[axis] for c, d in other[axis])
            for axis in one.keys() & other.keys()
        )


NUMBERS = st.integers(-2, 11).map(str)
SIMPLE = st.one_of(
    st.builds("age {} {}".format, st.sampled_from(["<", "<=", ">", ">=", "=", "!="]), NUMBERS),
    st.builds("cost {} {}".format, st.sampled_from(["<", "<=", ">", ">="]), st.integers(0, 4)),
    st.sampled_from(["sex = 'f'", "sex != 'f'", "sex is missing", "sex in ('f', 'm')"]),
)
TREES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner), st.builds("({} or {})".format, inner, inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=6,
)  # fmt: skip


def three_valued(text: str, row: dict[str, object]) -> bool | None:
    """Return what SQL makes of a question, by a reader of its own."""
    said = text.replace("sex is missing", "MISSING").replace("sex in ('f', 'm')", "SOME")
    said = re.sub(r"(age|cost) (<=|>=|!=|<|>|=) (-?\d+)", lambda m: f"V({m[1]} {m[2].replace('!=', '≠')} {m[3]})", said)
    said = re.sub(r"(?<![<>])=", "==", said).replace("≠", "!=").replace("<==", "<=").replace(">==", ">=")
    said = said.replace("sex !== 'f'", "NOT_F").replace("sex == 'f'", "IS_F")
    said = said.replace(" and ", " & ").replace(" or ", " | ").replace("not (", "~(")

    class V:
        def __init__(self, value: object) -> None:
            self.v = 0 if value is None else 1 if value else -1

        def __and__(self, other: V) -> V:
            return made(min(self.v, other.v))

        def __or__(self, other: V) -> V:
            return made(max(self.v, other.v))

        def __invert__(self) -> V:
            return made(-self.v)

    def made(v: int) -> V:
        out = V(None)
        out.v = v
        return out

    sex = row["sex"]
    names = {
        **row, "V": V, "MISSING": V(sex is None), "SOME": V(None if sex is None else True),
        "IS_F": V(None if sex is None else sex == "f"), "NOT_F": V(None if sex is None else sex != "f"),
    }  # fmt: skip
    return bool(eval(said, {}, names).v == 1)


@given(TREES)
@settings(max_examples=60, deadline=None)
def test_and_or_not_and_missing_values_follow_the_logic_of_sql(question: str) -> None:
    found = 0
    for i, (a, s, c) in enumerate(itertools.product(range(10), ("f", "m", None), range(4))):
        if three_valued(question, {"age": a, "sex": s, "cost": c + 0.5}):
            found += 1000 + i * i
    assert fine().ask(question).value == pytest.approx(found)


@pytest.mark.parametrize(
    ("question", "words", "fix"),
    [
        ("agee < 3", "'agee' is none", "agee < 3".replace("agee", "age")),
        ("AGE < 3", "'AGE' is none", "age < 3"),
        ("age < 3 and Marital-Status = 'single'", "back quotes", "age < 3 and `marital-status` = 'single'"),
        ("sex = 'x'", "declared categories of sex", None),
        ("`marital-status` = 'It''s complicated'", "declared categories", "`marital-status` = 'it''s complicated'"),
        ("sex = f", "quotation marks", "sex = 'f'"),
        ("`marital-status` = singel", "declared categories", "`marital-status` = 'single'"),
        ("age > NaN", "a number for age, which has no 'NaN'", "age < 9"),
        ("age > inf and sex = 'f'", "a number for age", "age < 9"),
        ("age = True", "a number for age", "age < 9"),
        ("sex is true", "declared categories of sex", None),
        ("born > soon", "dates such as", "born < '2000-01-04'"),
        ("age => 65", "written with '>='", "age >= 65"),
        ("age ≤ 65 and age = > 3", "written with", "age <= 65 and age >= 3"),
        ("age >= 65 & sex='f'", "written with 'and', not '&'", "age >= 65 and sex='f'"),
        ("age<3 || !sex = 'f' && Age > 4", r"'or', not '\|\|'", "age<3 or not sex = 'f' and age > 4"),
        ("sex like 'F%'", "'like' is not possible", None),
        ("age > 3 and sex LIKE 'f%'", "'LIKE' is not possible", "age > 3 and sex in ('f')"),
        ("sex not ilike '_'", "= or in for sex", "sex not in ('f', 'm')"),
        ("sex = 'f", "closed", "sex = 'f'"),
        ("(age < 3", r"'\)' after '\('", "(age < 3)"),
        ("cost = 3", "a stretch of cost", "cost between 3 and 4"),
        ("age between 5 and 3", "smaller end", "age between 3 and 5"),
        ("born < 1980", "dates such as '1980-01-01'", "born < '1980-01-01'"),
        ("sex < 'f'", "which has categories", "sex = 'f'"),
        ("age < 'f'", "a number for age", None),
        ("code = -1e400", "declared categories of code", None),
        ("code = 1.5", "declared categories of code", None),
        ("age < 1e400", "a number for age", None),
        ("age < cost", "one column with one value", None),
        ("3 < 4", "one column with one value", None),
        ("age < 3 sex = 'f'", "'and' or 'or' between them", None),
        ("age", "a comparison such as", None),
        ("", "a comparison of a column", None),
        ("age < ", "ends where", None),
        ("age is 3", "'missing' after 'is'", None),
        ("age < 3; drop table x", "';' is none", None),
        ("__import__('os')", "is none", None),
        ("not " * 60 + "age < 3", "at most 50", None),
        ("(" * 3000 + "age < 3" + ")" * 3000, "at most 50", None),
        ("age < 3 or " * 2000 + "age < 4", "at most 10,000 characters", None),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(question: str, words: str, fix: str | None) -> None:
    with pytest.raises(InvalidArgument, match=words) as caught:
        parse(DOMAIN, question)
    assert fix is None or caught.value.fix == f"question={fix!r}"


@pytest.mark.parametrize(
    ("question", "words", "fix"),
    [
        ("age like '1%'", "=, !=, <, <=, >, >=, between or in; 'like' is not possible", "one of these comparisons"),
        ("sex = 'x'", r"categories of sex \('f', 'm'\); 'x' is none", "one of these"),
        ("height < 3", "'height' is none", "one of these columns"),
        ("income < 3", "'income' is none", "one of these columns"),  # near to code, which has categories
    ],
)
def test_a_question_that_cannot_be_corrected_is_answered_by_what_is_possible(
    question: str, words: str, fix: str
) -> None:
    with pytest.raises(InvalidArgument, match=words) as caught:
        parse(DOMAIN, question)
    assert caught.value.fix == fix


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidType, match="a text"):
        fine().ask(3)  # type: ignore[arg-type]


def test_a_question_of_too_many_combinations_is_refused() -> None:
    wide = dc.Domain.box(np.zeros(6), np.ones(6))
    many = " or ".join(f"({' and '.join(f'x{j} < 0.{i}{j}1' for j in range(6))})" for i in range(1, 9))
    with pytest.raises(InvalidArgument, match="about fewer"):
        parse(wide, many)


def test_a_category_that_is_spelled_otherwise_is_recognised() -> None:
    """The first of the list may be the opposite of what was meant."""
    s = fine()
    with pytest.raises(InvalidArgument) as told:
        s.count(**{"marital-status": "It's Complicated"})
    assert told.value.fix == 'marital-status=["it\'s complicated"]'
    with pytest.raises(InvalidArgument) as told:
        s.count(sex="M")
    assert told.value.fix == "sex=['m']"


def test_a_name_that_a_synopsis_does_not_have_is_answered_by_those_it_has() -> None:
    with pytest.raises(
        AttributeError, match=r"has no sums; multiply a count by a mean: s\.count\(\)\.value \* s\.mean"
    ):
        fine().sum("cost")
    with pytest.raises(AttributeError, match="'median': a synopsis has count, share, mean, quantile"):
        fine().median  # noqa: B018


@pytest.mark.parametrize("own", [[False, True], ["False", "True"], ["FALSE", "TRUE"]])
def test_truth_values_are_written_in_any_case_with_or_without_quotation_marks(own: list[bool] | list[str]) -> None:
    domain = dc.Domain({"smoker": own, "age": (0, 9)})
    for text in ("true", "True", "TRUE"):
        for question in (f"smoker == {text}", f"{text} = smoker", f"smoker in ({text})", f"smoker is {text}",
                         f"smoker = '{text}'", f"smoker in ('{text}')", f"not smoker != '{text}'"):  # fmt: skip
            assert parse(domain, question) == [{0: [(1, 2)]}], question
