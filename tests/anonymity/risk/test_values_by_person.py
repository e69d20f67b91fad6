"""If the unit is a person, l and t count persons, each with weight one."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.anonymity import DensityTree, Generalization, Mondrian
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.rules import Rules
from discreet.errors import InvalidArgument

QUASI = ["age", "job"]
DOMAIN = dc.Domain(
    {
        "age": {"bounds": (0, 64), "role": "quasi-identifier"},
        "job": {"categories": list("pqrs"), "role": "quasi-identifier"},
        "ill": {"categories": list("abcde"), "role": "sensitive"},
    },
    unit=dc.Person("who", rows=3),
)


def table(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    who = rng.zipf(1.7, n) % (n // 3)
    return pd.DataFrame(
        {
            "who": who,
            "age": rng.integers(0, 64, n).astype(float),
            "job": rng.choice(list("pqrs"), n),
            "ill": rng.choice(list("abcde"), n, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
        }
    )


def matching(pairs: set[tuple[Any, Any]]) -> int:
    """The largest matching of values and persons, by trying paths one by one."""
    given: dict[Any, Any] = {}

    def place(value: Any, tried: set[Any]) -> bool:
        for v, p in sorted(pairs, key=str):
            if v == value and p not in tried:
                tried.add(p)
                if p not in given or place(given[p], tried):
                    given[p] = v
                    return True
        return False

    return sum(place(v, set()) for v in sorted({v for v, _ in pairs}))


def weights(rows: pd.DataFrame) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for _, own in rows.groupby("who"):
        for value in own["ill"]:
            found[value] += 1 / len(own)
    people = rows["who"].nunique()
    return {value: w / people for value, w in found.items()}


def levels(rows: pd.DataFrame, classes: list[pd.DataFrame], kind: str) -> tuple[float, float]:
    whole = weights(rows)
    far = max(sum(max(0.0, p - whole[v]) for v, p in weights(c).items()) for c in classes)
    if kind == "distinct":
        return min(matching(set(zip(c["ill"], c["who"], strict=True))) for c in classes), far
    if kind == "entropy":
        return min(math.exp(-sum(p * math.log(p) for p in weights(c).values())) for c in classes), far
    ratios = []
    for c in classes:
        falling = sorted(weights(c).values(), reverse=True)
        ratios.append(falling[0] / sum(falling[1:]) if len(falling) > 1 else math.inf)
    return max(ratios), far


METHODS = {
    "tree": lambda **rules: DensityTree(k=3, domain=DOMAIN, **rules),
    "tree with suppression": lambda **rules: DensityTree(k=3, domain=DOMAIN, suppress=0.1, **rules),
    "mondrian": lambda **rules: Mondrian(k=3, domain=DOMAIN, **rules),
    "generalization": lambda **rules: Generalization(k=3, domain=DOMAIN, suppress=0.2, **rules),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_every_group_keeps_l_and_t_of_persons(method: str, kind: str) -> None:
    for seed in range(3):
        rows = table(240, seed)
        release = METHODS[method](l_diversity=2, l_kind=kind, t_closeness=0.5).fit_transform(rows)
        shown = release.table.select(QUASI).to_pandas().astype(str)
        true = rows.iloc[release.rows].reset_index(drop=True)
        classes = [true.iloc[found] for found in shown.groupby(QUASI).indices.values()]
        reached = release.guarantee.parameters["reached"]
        l_found, t_found = levels(true, classes, kind)
        assert reached["l"]["ill"] == pytest.approx(l_found)
        assert reached["t"]["ill"] == pytest.approx(t_found)
        assert l_found < 3.0 if kind == "recursive" else l_found >= 2 - 1e-9
        assert t_found <= 0.5 + 1e-9
        assert reached["k"] == min(c["who"].nunique() for c in classes) >= 3


def test_values_of_one_person_are_one() -> None:
    ill = CodedColumn("ill", np.array([0, 1, 2, 0, 0, 1], np.int32), list("abc"), False)
    people = np.array([0, 0, 0, 1, 2, 2])
    of = np.zeros(6, int)
    rows, persons = Rules(2, 2), Rules(2, 2, per_person=True)
    assert rows.measure(of, [ill], people).l["ill"] == 3
    assert persons.measure(of, [ill], people).l["ill"] == 3  # a of the second, b of the third, c of the first
    alone = np.where(people == 0, 0, -1)
    assert rows.measure(alone, [ill], people).l["ill"] == 3
    assert persons.measure(alone, [ill], people).l["ill"] == 1


def test_the_matching_is_the_largest_there_is() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        n = int(rng.integers(1, 14))
        codes, people = rng.integers(0, 5, n), rng.integers(0, 5, n)
        ill = CodedColumn("ill", codes.astype(np.int32), list("abcde"), False)
        found = Rules(2, 2, per_person=True).measure(np.zeros(n, int), [ill], people).l["ill"]
        pairs = set(zip(codes.tolist(), people.tolist(), strict=True))
        values = sorted({v for v, _ in pairs})
        best = max(
            len(chosen)
            for size in range(len(values) + 1)
            for chosen in itertools.combinations(values, size)
            if any(
                all((v, p) in pairs for v, p in zip(chosen, order, strict=True))
                for order in itertools.permutations(range(5), size)
            )
        )
        assert found == best


def test_a_person_with_many_rows_cannot_feign_diversity() -> None:
    """One person has every value, the others one and the same: by rows diverse, by persons hardly."""
    rows = pd.DataFrame({"who": ["x"] * 5 + list("abcdefgh"), "age": 10.0, "job": "p", "ill": [*"abcde", *"a" * 8]})
    by_row = DOMAIN.with_unit("row")
    columns = {**by_row.to_dict(), "who": {"role": "person"}}
    assert (
        DensityTree(3, 5, domain=dc.Domain(columns)).fit_transform(rows).guarantee.parameters["reached"]["l"]["ill"]
        == 5
    )
    with pytest.raises(InvalidArgument, match="l_diversity"):
        DensityTree(3, 5, domain=DOMAIN).fit_transform(rows)
    assert DensityTree(3, 2, domain=DOMAIN).fit_transform(rows).guarantee.parameters["reached"]["l"]["ill"] == 2


def test_the_promise_says_so_and_the_file_can_be_audited(tmp_path: Path) -> None:
    from discreet.cli.app import main

    release = DensityTree(3, 2, 0.5, domain=DOMAIN).fit_transform(table(300))
    assert "l = 2 (distinct, counted in persons)" in str(release.guarantee)
    release.save(tmp_path / "safe.csv")
    facts = json.loads((tmp_path / "safe.csv.guarantee.json").read_text(encoding="utf-8"))
    assert facts["parameters"]["required"]["t"]["counts"] == "persons"
    with pytest.raises(SystemExit) as done:
        main(["audit", str(tmp_path / "safe.csv")])
    assert not done.value.code


def test_a_file_written_in_two_passes_reaches_the_same(tmp_path: Path) -> None:
    rows = table(300)
    model = DensityTree(3, 2, 0.5, domain=DOMAIN).fit(rows)
    reached = model.transform_file(rows, tmp_path / "out.csv").guarantee.parameters["reached"]
    assert reached == model.transform(rows).guarantee.parameters["reached"]


def test_a_later_release_keeps_it_next_to_an_earlier_one() -> None:
    rows = table(400)
    first = DensityTree(3, 2, domain=DOMAIN).fit_transform(rows.iloc[:300].assign(who=np.arange(300)))
    assert first.record.rules.per_person


def test_a_class_one_value_short_of_l_is_not_fine() -> None:
    from discreet.anonymity.risk.persons import people_ok

    limits, fine = Rules(2, l_diversity=3).limits([]), np.ones(2, bool)
    people_ok(np.array([[[3.0], [2.0]], [[0.0], [0.0]]]), np.array([4, 4]), limits._replace(l_on=True), fine)
    assert fine.tolist() == [True, False]
