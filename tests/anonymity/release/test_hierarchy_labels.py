"""Released cells that are groups of the hierarchy print the group's name, and readers know its members."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.anonymity import DensityTree, Generalization, Hierarchy, Microaggregation, Mondrian
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.risk.printed import legend_of, read_sets
from discreet.errors import InvalidArgument
from discreet.evaluation import recount
from past_releases import Past

JOBS = {
    "office": ["clerk", "manager"],
    "craft": {"wood": ["joiner", "cooper"], "metal": ["smith"], "food": ["cook", "baker"]},
}
NAMES = ["clerk", "manager", "joiner", "cooper", "smith", "cook", "baker"]
DOMAIN = dc.Domain({"age": dc.Integer(0, 99), "job": {"categories": NAMES[::-1], "missing": "own"}})


def people(n: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    jobs = [None if rng.random() < 0.05 else str(j) for j in rng.choice(NAMES, n)]
    return pa.table({"age": rng.integers(0, 100, n), "job": pa.array(jobs, pa.string())})


def test_every_run_prints_what_the_reader_understands() -> None:
    tree = Hierarchy(JOBS)
    column = DOMAIN.column("job")
    order = tree.order(column.categories)  # type: ignore[union-attr]
    grid = make_grid(column, None, order, tree.labels("job", column.categories))  # type: ignore[union-attr]
    listed = [column.categories[i] for i in order]  # type: ignore[union-attr]
    groups = {label: [str(c) for c in listed[a : b + 1]] for a, b, label in grid.labels}
    texts = set()
    for first in range(8):
        for last in range(first, 8):
            text = grid.text(first, last)
            texts.add(text)
            sets = read_sets(pa.chunked_array([[text]]), [str(c) for c in listed], groups)
            assert set(np.flatnonzero(sets.members[0])) == set(range(first, last + 1)), text
    assert len(texts) == 8 * 9 // 2  # no two runs look alike
    assert {"office", "craft", "wood", "food or missing", "{wood, office}", "{smith, cooper}", "*"} <= texts
    assert "metal" not in texts  # one category is that category


def test_every_method_prints_labels_and_says_what_they_stand_for(tmp_path: Path) -> None:
    table, trees = people(400), {"job": Hierarchy(JOBS)}
    for method in (
        Generalization(5, domain=DOMAIN, hierarchies=trees, levels={"age": 5, "job": 1}, suppress=1.0),
        DensityTree(25, domain=DOMAIN, hierarchies=trees),
        Mondrian(25, domain=DOMAIN, hierarchies=trees),
        Microaggregation(40, domain=DOMAIN, hierarchies=trees),
    ):
        release = method.fit_transform(table, random_state=3)
        legend = legend_of(release)["job"]
        assert set(legend) <= {"office", "craft", "wood", "food"}
        assert legend  # something was printed by its name
        shown = release.table["job"].to_pylist()
        assert all(any(label in text for text in shown) for label in legend)
        sets = read_sets(release.table["job"], NAMES, legend)
        for row, source in enumerate(release.rows):
            value = table["job"][int(source)].as_py()
            assert sets.members[sets.code[row], 7 if value is None else NAMES.index(value)]
        # The table, its copies and its files know it too.
        release.save(tmp_path / "a.csv")
        release.save(tmp_path / "a.parquet")
        assert legend_of(tmp_path / "a.csv") == legend_of(tmp_path / "a.parquet") == {"job": legend}
        (tmp_path / "a.parquet.guarantee.json").unlink()
        assert legend_of(str(tmp_path / "a.parquet")) == legend_of(pq.read_table(tmp_path / "a.parquet"))
        assert legend_of(pq.read_table(tmp_path / "a.parquet")) == {"job": legend}
        assert legend_of(release.table) == legend_of(release.to_pandas()) == {"job": legend}


def test_a_streamed_file_has_the_labels_of_the_release_in_memory(tmp_path: Path) -> None:
    table = people(500)
    for method in (
        Generalization(5, domain=DOMAIN, hierarchies={"job": JOBS}, levels={"age": 5, "job": 1}, suppress=1.0),
        DensityTree(20, domain=DOMAIN, hierarchies={"job": JOBS}),
    ):
        release = method.fit_transform(table, random_state=3)
        pq.write_table(table, tmp_path / "raw.parquet", row_group_size=120)
        method.fit(str(tmp_path / "raw.parquet"))  # grown from the file, too
        written = method.transform_file(str(tmp_path / "raw.parquet"), tmp_path / "b.csv", random_state=3)
        assert written.guarantee.parameters["labels"] == release.guarantee.parameters["labels"]
        assert pa_csv.read_csv(tmp_path / "b.csv")["job"].to_pylist() == release.table["job"].to_pylist()


def test_bounds_list_the_categories_and_a_table_without_hierarchies_is_as_before(tmp_path: Path) -> None:
    table = people(200)
    method = Generalization(5, domain=DOMAIN, hierarchies={"job": JOBS}, levels={"age": 7, "job": 2})
    release = method.fit_transform(table)
    sets = {tuple(s) for s in release.bounds["job_set"].to_pylist()}
    assert ("manager", "clerk") in sets  # as declared
    plain = DensityTree(30, domain=DOMAIN).fit_transform(table)
    assert "labels" not in plain.guarantee.parameters
    assert plain.table.schema.metadata is None
    merged = DensityTree(30, domain=DOMAIN, hierarchies={"job": "merge"}).fit_transform(table)
    assert "labels" not in merged.guarantee.parameters  # no one named those groups
    assert all(text[0] in "{*" or text.split(" or ")[0] in NAMES for text in merged.table["job"].to_pylist()
               if text != "missing")  # fmt: skip


def test_attacks_read_labels_as_they_read_lists() -> None:
    domain = dc.Domain({"age": (0, 100), "zip": ["1010", "1020", "2010", "2020"]})
    rng = np.random.default_rng(5)
    crowd = pa.table({"age": rng.integers(0, 100, 600), "zip": rng.choice(["1010", "1020", "2010", "2020"], 600)})
    truth, control = crowd.slice(0, 300), crowd.slice(300)
    # One label looks like a number that it is not.
    method = Generalization(2, domain=domain, grid=20, levels={"zip": 1}, suppress=0.5)
    named = method.set_params(hierarchies={"zip": {"1": ["1010", "1020"], "2": ["2010", "2020"]}})
    release = named.fit_transform(truth, random_state=1)
    assert set(release.table["zip"].to_pylist()) == {"1", "2"}
    lists = {"1": "{1010, 1020}", "2": "{2010, 2020}"}
    spelled = [lists[z] for z in release.table["zip"].to_pylist()]
    listed = pa.table({"age": release.table["age"], "zip": spelled})
    as_declared: Any = {"domain": domain, "random_state": 1}
    for attack in (
        lambda shown: dc.evaluation.singling_out(shown, truth, control, **as_declared),
        lambda shown: dc.evaluation.linkability(shown, truth, control, columns=(["age"], ["zip"]), **as_declared),
        lambda shown: dc.evaluation.inference(shown, truth, control, secret="zip", known=["age"], **as_declared),
    ):
        assert attack(release).to_dict() == attack(listed).to_dict() == attack(release.table).to_dict()
    own = dc.anonymity.record_linkage(truth, release)
    own_columns = ["age", "zip"]
    ordered = truth.take(pa.array(release.rows))
    assert dc.anonymity.record_linkage(ordered, release.table, columns=own_columns).rows == own.rows == len(release)
    assert (
        dc.anonymity.record_linkage(ordered, release.table, columns=own_columns).share
        == dc.anonymity.record_linkage(ordered, listed, columns=own_columns).share
    )


def test_risk_and_house_take_labels_for_what_they_print(tmp_path: Path) -> None:
    table = people(300).append_column("id", pa.array(range(300)))
    domain = dc.Domain(
        {
            "age": {"kind": "integer", "bounds": [0, 99], "role": "quasi-identifier"},
            "job": {"categories": NAMES, "missing": "own", "role": "quasi-identifier"},
            "id": {"role": "identifier"},
        }
    )
    tree = DensityTree(20, domain=domain, hierarchies={"job": JOBS}).fit(table)
    first = tree.transform(table.slice(0, 200))
    first.save(tmp_path / "a.csv")
    found = dc.anonymity.risk(tmp_path / "a.csv", ["age", "job"])
    assert found.k == first.guarantee.parameters["reached"]["k"]
    assert any("job office" in words for words in first.record.records["published"].to_pylist())
    again = tree.transform(table, history=Past(first))
    assert again.guarantee.parameters["reached_together"]["k"] >= 20
    assert not recount(pa_csv.read_csv(tmp_path / "a.csv"), first.guarantee).failures


def test_labels_with_commas_stand_alone_or_not_at_all() -> None:
    names = ["a", "b", "c", "d", "e"]
    tree = Hierarchy({"a, b, or so": ["a", "b"], "rest": ["c", "d"], "last": ["e"]})
    grid = make_grid(dc.Categorical("g", names), None, tree.order(names), tree.labels("g", names))
    assert grid.text(0, 1) == "a, b, or so"
    assert grid.text(0, 3) == "{a, b, rest}"
    odd = ["a", "rest, x", "c", "d", "x"]
    other = Hierarchy({"rest": ["c", "d"], "more": ["x", "rest, x", "a"]})
    grid = make_grid(dc.Categorical("g", odd), None, other.order(odd), other.labels("g", odd))
    assert grid.text(0, 2) == "{c, d, x}"  # and not {rest, x}, which is a category


def test_a_group_of_categories_that_read_like_cells_is_read_whole() -> None:
    names = ["a or missing", "*", "b", "{c", "d"]
    tree = {"odd": ["a or missing", "*", "b"], "even": ["{c", "d"]}
    rows = pa.table({"g": names * 8, "s": ["x", "y"] * 20})
    domain = dc.Domain({"g": names, "s": {"categories": ["x", "y"], "role": "sensitive"}})
    release = Generalization(2, domain=domain, hierarchies={"g": tree}, levels={"g": 1}).fit_transform(rows)
    found = read_sets(release.table["g"], names, legend_of(release)["g"])
    texts = release.table["g"].to_pylist()
    for label, held in (("odd", [1, 1, 1, 0, 0, 0]), ("even", [0, 0, 0, 1, 1, 0])):
        assert found.members[found.code[texts.index(label)]].astype(int).tolist() == held


@pytest.mark.parametrize(
    ("tree", "wrong"),
    [
        ({"a": ["a", "b"], "y": ["c", "d"]}, "'a'"),
        ({"x": {"o": ["a", "b"], "p": ["e"]}, "y": {"o": ["c", "d"], "q": ["f"]}}, "'o'"),
        ({"missing": ["a", "b"], "y": ["c", "d"]}, "'missing'"),
        ({"*": ["a", "b"], "y": ["c", "d"]}, r"'\*'"),
        ({"b or missing": ["a", "b"], "y": ["c", "d"]}, "'b or missing'"),
        ({"{a, b}": ["a", "b"], "y": ["c", "d"]}, "'{a, b}'"),
    ],
)
def test_a_label_that_could_be_taken_for_something_else_is_refused(tree: Any, wrong: str) -> None:
    names = Hierarchy(tree).categories
    domain = dc.Domain({"g": list(names), "s": {"categories": list(names), "role": "sensitive"}})
    method = Generalization(2, domain=domain, hierarchies={"g": tree})
    with pytest.raises(InvalidArgument, match=rf"hierarchy of column 'g' must be .* got {wrong}; try"):
        method.check()  # before any row
    Generalization(2, domain=domain, hierarchies={"s": tree}).check()  # nothing is printed of it


def test_the_suggested_name_is_accepted() -> None:
    with pytest.raises(InvalidArgument, match=r"try the name 'o \(y\)'"):
        Hierarchy({"x": {"o": ["a", "b"], "p": ["e"]}, "y": {"o": ["c", "d"], "q": ["f"]}}).labels("g", "abcdef")
    mended = Hierarchy({"x": {"o": ["a", "b"], "p": ["e"]}, "y": {"o (y)": ["c", "d"], "q": ["f"]}})
    assert [label for _, _, label in mended.labels("g", "abcdef")] == ["x", "o", "y", "o (y)"]


def test_what_is_printed_of_booleans_is_read_as_them() -> None:
    domain = dc.Domain({"age": (0, 100), "ill": {"kind": "boolean"}})
    table = pa.table({"age": [10, 11, 80, 81, 12, 82], "ill": [True, True, False, False, True, False]})
    release = Generalization(2, domain=domain, grid=2, levels={}).fit_transform(table, order="input")
    assert release.table["ill"].to_pylist() == ["True", "True", "False", "False", "True", "False"]
    assert read_sets(release.table["ill"], ["false", "true"]).members.tolist() == [
        [False, True, False],
        [True, False, False],
    ]
    assert dc.anonymity.record_linkage(table, release).share == pytest.approx(1 / 3)
