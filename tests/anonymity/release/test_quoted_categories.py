"""Categories named `*`, `missing` or like a list print in quotes: no cell of a released table looks like another."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import run
from discreet.anonymity import DensityTree, Generalization, Hierarchy, Mondrian, SampledGeneralization
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.risk.printed import read_sets
from discreet.errors import InvalidArgument

ODD = ["a", "*", "b", "missing", "{a, b}", "> 90", "b or missing", '"*"', "{}", "* or missing"]
DOMAIN = dc.Domain({
    "age": {"kind": "integer", "bounds": [0, 99], "role": "quasi-identifier"},
    "mark": {"categories": ODD, "missing": "own", "role": "quasi-identifier"},
})  # fmt: skip


def people(n: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    marks = [None if rng.random() < 0.1 else str(m) for m in rng.choice(ODD, n)]
    return pa.table({"age": rng.integers(0, 100, n), "mark": pa.array(marks, pa.string())})


def test_no_two_runs_look_alike_and_each_is_read_as_what_it_is() -> None:
    grid = make_grid(DOMAIN.column("mark"))
    runs = [(first, last) for first in range(len(ODD) + 1) for last in range(first, len(ODD) + 1)]
    texts = [grid.text(*run) for run in runs]
    assert len(set(texts)) == len(runs)
    sets = read_sets(pa.chunked_array([texts]), ODD)
    for row, (first, last) in enumerate(runs):
        assert np.flatnonzero(sets.members[sets.code[row]]).tolist() == [*range(first, last + 1)], texts[row]
    assert {'"*"', "*", '"missing"', "missing", '"{a, b}"', "> 90", "a"} <= set(texts)


def test_what_is_printed_is_what_was_grouped(tmp_path: Path) -> None:
    table = people(3000)
    for method in (
        DensityTree(8, domain=DOMAIN),
        Mondrian(8, domain=DOMAIN),
        Generalization(8, domain=DOMAIN, levels={"age": 4, "mark": 0}, suppress=1.0),
    ):
        release = method.fit_transform(table)
        release.save(tmp_path / "safe.csv")
        written = pa_csv.read_csv(tmp_path / "safe.csv", convert_options=pa_csv.ConvertOptions(
            column_types={"age": pa.string(), "mark": pa.string()}))  # fmt: skip
        assert written["mark"].to_pylist() == release.table["mark"].to_pylist()
        classes = set(zip(*(written[name].to_pylist() for name in ("age", "mark")), strict=True))
        assert len(classes) == release.cells.n_cells
        assert dc.anonymity.risk(written, ["age", "mark"]).k == release.guarantee.parameters["reached"]["k"]
        assert release.guarantee.parameters["reached"]["k"] >= 8
        assert run("audit", tmp_path / "safe.csv", catch=True).exit_code == 0


def test_a_table_of_single_values_may_mean_the_category_or_the_cell() -> None:
    """Such a table prints `*` for the category; anyone who cannot tell which it is admits both."""
    found = read_sets(pa.chunked_array([["*", "missing", "{a, b}", "b or missing", "b"]]), ODD).members
    admitted = [{[*ODD, None][i] for i in np.flatnonzero(row)} for row in found]
    assert admitted == [set(ODD), {"missing", None}, {"{a, b}", "a", "b"}, {"b or missing", "b", None}, {"b"}]


def test_a_group_is_not_named_like_a_category_in_quotes() -> None:
    with pytest.raises(InvalidArgument, match="text that no category and no other group has"):
        Hierarchy({'"*"': ["a", "b"], "y": ["*", "d"]}).labels("mark", ["a", "b", "*", "d"])


def test_an_audit_knows_the_cells_of_drawn_rows(tmp_path: Path) -> None:
    """They have an epsilon, as tables of single values have, but print cells."""
    place = tmp_path / "drawn.csv"
    plain = dc.Domain({"age": dc.Integer(0, 99), "mark": {"categories": ["a", "b", "> 90"], "missing": "own"}})
    for domain, level in ((DOMAIN, 0), (plain, 0), (plain, 1)):
        method = SampledGeneralization(20, 0.2, domain=domain, levels={"age": 6, "mark": level})
        release = method.release_file(people(4000), place)
        done = run("audit", place, catch=True)
        assert done.exit_code == 0, done.output
    forged = release.table.set_column(1, "mark", pa.array(["zebra"] * len(release)))
    pa_csv.write_csv(forged, place)
    done = run("audit", place, catch=True, COLUMNS="200")
    assert done.exit_code != 0
    assert "column 'mark' holds a value that is not declared" in done.output
